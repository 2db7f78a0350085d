"""Where rows live: the one interface between a table's rows and everything that is computed from them.

The engine needs only a few things of the data: a sum over the rows of some statistic, the extremes, a seeded sample, or
a block of rows. :class:`Rows` offers them, and derives them all from three members that a new place for rows (a Parquet
file, a Dask frame) has to provide: how many rows there are, how many columns, and the values of some rows. Rows are cut
into chunks by their number alone, so a sum has the same digits wherever the rows live.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np

from dagtune.compiled import compiled
from dagtune.parallel import parallel_map

__all__ = ["CHUNK_ROWS", "Extremes", "MemoryRows", "Rows"]

#: Rows in a chunk: enough for an efficient matrix product, few enough for a column's terms to stay in cache.
CHUNK_ROWS = 4096


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest value, and smallest absolute value, of each column.

    Attributes
    ----------
    low, high, smallest : ndarray of shape (columns,)
    """

    low: np.ndarray
    high: np.ndarray
    smallest: np.ndarray


class Rows(ABC):
    """The rows of a table, handed out in blocks of shape (columns, rows).

    A subclass provides ``count``, ``width`` and ``read``; it may override ``chunks`` where reading a stretch at a time
    is slow, as long as the chunks stay the same.

    Examples
    --------
    A table whose values follow from the row number needs no memory at all:

    >>> import numpy as np
    >>> class Squares(Rows):
    ...     count, width = 10_000, 2
    ...     def read(self, rows):
    ...         number = np.arange(self.count)[rows]
    ...         return np.column_stack([number, number**2]).astype(float)
    >>> Squares().sum(lambda chunk: [chunk.sum(axis=1)])[0].tolist()
    [49995000.0, 333283335000.0]
    """

    _shift: np.ndarray | float = 0.0
    _chunk_rows: int = CHUNK_ROWS

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns."""

    @abstractmethod
    def read(self, rows: slice | np.ndarray) -> np.ndarray:
        """Values of some rows as they are.

        Parameters
        ----------
        rows : slice or ndarray of int
            A stretch of rows, or their positions in ascending order.

        Returns
        -------
        ndarray of shape (rows, columns), float64
            It may be the memory of the table itself, so it must not be written to.
        """

    def shifted(self, shift: np.ndarray) -> Self:
        """The same rows, with ``shift`` (columns,) subtracted from each when they are handed out."""
        moved = copy(self)
        moved._shift = self._shift + shift
        return moved

    def rechunked(self, chunk_rows: int) -> Self:
        """The same rows in chunks of ``chunk_rows`` rows."""
        cut = copy(self)
        cut._chunk_rows = chunk_rows
        return cut

    def block(self, rows: slice | np.ndarray) -> np.ndarray:
        """Values of a stretch or a selection of rows, (columns, rows), in memory of its own."""
        return np.ascontiguousarray((self.read(rows) - self._shift).T)

    def chunks(self) -> Iterator[np.ndarray]:
        """All rows in order, as blocks of equal length; the last may be shorter."""
        for start in range(0, self.count, self._chunk_rows):
            yield self.block(slice(start, start + self._chunk_rows))

    def sum(
        self, statistic: Callable[[np.ndarray], Sequence[np.ndarray]], done: Callable[[float], None] | None = None
    ) -> list[np.ndarray]:
        """Sums over all rows.

        Parameters
        ----------
        statistic : callable
            Takes a chunk (columns, rows) and returns arrays, each a sum over the rows of the chunk.
        done : callable, optional
            Called with the share of the rows that are behind, from 0 to 1.

        Returns
        -------
        list of ndarray
            The statistics of all chunks, added up in the order of the rows.
        """
        totals: list[np.ndarray] | None = None
        behind = 0
        for chunk in self.chunks():
            found = statistic(chunk)
            behind += chunk.shape[1]
            if done is not None:
                done(behind / self.count)
            if totals is None:
                totals = list(found)
            else:
                for total, value in zip(totals, found):
                    total += value
        assert totals is not None
        return totals

    def sample(self, size: int, seed: int = 0) -> np.ndarray:
        """A random sample of ``size`` rows in their order, (columns, size); all rows if there are no more."""
        if size >= self.count:
            return self.block(slice(None))
        chosen = np.random.default_rng(seed).choice(self.count, size, replace=False)
        return self.block(np.sort(chosen))

    def extremes(self, members: np.ndarray | None = None, threads: int = 1) -> Extremes:
        """Extremes of the columns, or of sums of columns X_j + X_k + ...

        Parameters
        ----------
        members : ndarray of int, shape (sums, terms), optional
            The columns that each sum adds up, -1 for none. Default: each column alone.
        threads : int
            How many threads share the sums.
        """
        if members is None:
            members = np.arange(self.width)[:, None]
        members = np.ascontiguousarray(members)  # or numba would compile for each layout
        found = np.empty((3, len(members)))
        found[:] = np.array([np.inf, -np.inf, np.inf])[:, None]
        parts = np.array_split(np.arange(len(members)), threads)
        for chunk in self.chunks():
            parallel_map(lambda part, chunk=chunk: _extremes(chunk, members, part, found), parts, threads)  # type: ignore[misc]
        return Extremes(*found)


class MemoryRows(Rows):
    """Rows in memory.

    Parameters
    ----------
    values : ndarray of shape (rows, columns), float64
    """

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    @property
    def count(self) -> int:
        return len(self._values)

    @property
    def width(self) -> int:
        return self._values.shape[1]

    def read(self, rows: slice | np.ndarray) -> np.ndarray:
        return self._values[rows]


@compiled
def _extremes(chunk: np.ndarray, members: np.ndarray, part: np.ndarray, found: np.ndarray) -> None:
    """Extend the extremes ``found`` so far of the sums ``part`` by those of a chunk."""
    for column in part:
        low, high, smallest = found[0, column], found[1, column], found[2, column]
        for i in range(chunk.shape[1]):
            x = 0.0
            for m in range(members.shape[1]):
                if members[column, m] >= 0:
                    x += chunk[members[column, m], i]
            low = min(low, x)
            high = max(high, x)
            smallest = min(smallest, abs(x))
        found[0, column], found[1, column], found[2, column] = low, high, smallest
