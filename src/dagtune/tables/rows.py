"""Where rows live: the one interface between a table's rows and everything that is computed from them.

The learners need only a few things of the data: a sum over the rows of some statistic, ranges, a seeded sample, or a
block of rows. :class:`Rows` offers them, and derives them all from three members that a new place for rows has to
provide: how many rows there are, how many columns, and the values of some rows. Rows are cut into chunks by their
number alone, so a sum has the same digits wherever the rows live; a sample depends on the seed and on row numbers.

Everything that looks at all rows is a :meth:`Rows.reduce`: arrays for each chunk, combined in the order of the rows.
That is what a cluster does on its workers (:mod:`dagtune.tables.cluster`) and what a checkpoint keeps
(:mod:`dagtune.tables.checkpoint`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from dagtune.parallel import parallel_map
from dagtune.validation import InputError, format_bytes

__all__ = ["CHUNK_ROWS", "FEW_VALUES", "SAMPLES", "Extremes", "MemoryRows", "Ranges", "Rows", "sample_positions"]

#: Rows in a chunk: enough for an efficient matrix product, few enough for a column's terms to stay in cache.
CHUNK_ROWS = 4096
#: Sizes of the samples that are drawn anywhere: where rows are read from end to end, one pass serves them all.
SAMPLES = (5_000, 50_000, 100_000)
#: Different values of a column that are kept; a column with more has many.
FEW_VALUES = 42

Statistic = Callable[[np.ndarray], Sequence[np.ndarray]]
Combine = Callable[[list[np.ndarray], Sequence[np.ndarray]], list[np.ndarray]]
Done = Callable[[float], None]


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


@dataclass(frozen=True)
class Ranges:
    """What one pass over the rows tells of each column.

    Attributes
    ----------
    count : int
        Number of rows.
    missing, infinite : ndarray of int, shape (columns,)
        How many values are NaN, and how many infinite.
    low, high : ndarray of shape (columns,)
    mean : ndarray of shape (columns,)
    covariance : ndarray of shape (columns, columns)
        With the divisor ``count``.
    values : tuple of ndarray
        The different values of each column, ascending; of one that has more than ``FEW_VALUES``, none.
    """

    count: int
    missing: np.ndarray
    infinite: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    values: tuple[np.ndarray, ...]

    @property
    def scale(self) -> np.ndarray:
        """Standard deviation of each column, with the divisor ``count``."""
        return np.sqrt(self.covariance.diagonal())

    def moved(self, shift: np.ndarray | float, scale: np.ndarray | float) -> Ranges:
        """Of the columns less ``shift`` and divided by ``scale``."""
        width = len(self.low)
        by, size = np.broadcast_to(shift, width), np.broadcast_to(scale, width)
        return replace(
            self,
            low=(self.low - by) / size,
            high=(self.high - by) / size,
            mean=(self.mean - by) / size,
            covariance=self.covariance / np.outer(size, size),
            values=tuple((few - by[j]) / size[j] for j, few in enumerate(self.values)),
        )


class Rows(ABC):
    """The rows of a table, handed out in blocks of shape (columns, rows).

    A subclass provides ``count``, ``width`` and ``read``; it may override ``stretches`` where reading one
    at a time is slow.

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

    #: Whether all values are in memory, so that a second look costs nothing.
    in_memory: bool = False
    #: Whether statistics are computed by other processes, so that threads here are of no use.
    elsewhere: bool = False
    #: Bytes that may be held at once, if somebody said so.
    memory: int | None = None
    #: Where finished and half-finished passes are kept, if anywhere; see :mod:`dagtune.tables.checkpoint`.
    store: Any = None
    _shift: np.ndarray | float = 0.0
    _scale: np.ndarray | float = 1.0
    _chunk_rows: int = CHUNK_ROWS
    _ranges: Ranges

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
        moved._shift = self._shift + shift * self._scale
        return moved

    def standardized(self, shift: np.ndarray, scale: np.ndarray) -> Self:
        """The rows as they are read, less ``shift`` (columns,) and divided by ``scale`` (columns,)."""
        moved = copy(self)
        moved._shift, moved._scale = shift, scale
        return moved

    def restated(self, shift: np.ndarray, scale: np.ndarray) -> Rows:
        """Rows whose values as they are read are these, less ``shift`` (columns,) and divided by ``scale``."""
        return MemoryRows((self.read(slice(None)) - shift) / scale)

    def rechunked(self, chunk_rows: int) -> Self:
        """The same rows in chunks of ``chunk_rows`` rows."""
        cut = copy(self)
        cut._chunk_rows = chunk_rows
        return cut

    def only(self, keep: np.ndarray) -> Rows:
        """The columns ``keep``, boolean (columns,), of the rows as they are read."""
        return _SomeColumns(self, np.flatnonzero(keep))

    def block(self, rows: slice | np.ndarray) -> np.ndarray:
        """Values of a stretch or a selection of rows, (columns, rows), in memory of its own."""
        return self._handed_out(self.read(rows))

    def _handed_out(self, values: np.ndarray) -> np.ndarray:
        """Values (rows, columns) as they are read, as a block (columns, rows)."""
        moved = values - self._shift
        if self._scale is not Rows._scale:
            moved /= self._scale
        return np.ascontiguousarray(moved.T)

    def stretches(self, start: int = 0) -> Iterator[np.ndarray]:
        """All rows from ``start`` on, as they are read, in arrays (some rows, columns) of any length."""
        for first in range(start, self.count, self._chunk_rows):
            yield self.read(slice(first, first + self._chunk_rows))

    def chunks(self, start: int = 0) -> Iterator[np.ndarray]:
        """All rows from ``start`` on in order, as blocks of equal length; the last may be shorter."""
        size = self._chunk_rows
        left: list[np.ndarray] = []
        held = 0
        for piece in self.stretches(start):
            begin = 0
            while held + len(piece) - begin >= size:
                end = begin + size - held
                part = piece[begin:end] if not left else np.concatenate([*left, piece[begin:end]])
                yield self._handed_out(part)
                left, held, begin = [], 0, end
            if begin < len(piece):
                left.append(piece[begin:])
                held += len(piece) - begin
        if left:
            yield self._handed_out(np.concatenate(left) if len(left) > 1 else left[0])

    def reduce(self, statistic: Statistic, combine: Combine, done: Done | None = None) -> list[np.ndarray]:
        """Statistics of all chunks, combined in the order of the rows.

        Parameters
        ----------
        statistic : callable
            Takes a chunk (columns, rows) and returns arrays.
        combine : callable
            Takes the arrays of the rows so far, which it may write to, and those of the rows that follow, and returns
            the arrays of both together.
        done : callable, optional
            Called with the share of the rows that are behind, from 0 to 1.

        Returns
        -------
        list of ndarray
        """
        if self.store is not None:
            return self.store.reduce(self, statistic, combine, done)
        return self.combined(statistic, combine, done)

    def combined(
        self,
        statistic: Statistic,
        combine: Combine,
        done: Done | None = None,
        *,
        totals: list[np.ndarray] | None = None,
        behind: int = 0,
        keep: Callable[[list[np.ndarray], int], None] | None = None,
    ) -> list[np.ndarray]:
        """The same from row ``behind`` on, with the ``totals`` so far; ``keep`` is told both after every chunk."""
        for chunk in self.chunks(behind):
            found = statistic(chunk)
            behind += chunk.shape[1]
            if done is not None:
                done(behind / self.count)
            totals = list(found) if totals is None else combine(totals, found)
            if keep is not None:
                keep(totals, behind)
        assert totals is not None
        return totals

    def sum(self, statistic: Statistic, done: Done | None = None) -> list[np.ndarray]:
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
        return self.reduce(statistic, _add, done)

    def sample(self, size: int, seed: int = 0) -> np.ndarray:
        """A random sample of ``size`` rows in their order, (columns, size); all rows if there are no more.

        Which rows they are depends on the seed and on how many rows there are, on nothing else.
        """
        return self._handed_out(self._sampled(min(size, self.count), seed))

    def _sampled(self, size: int, seed: int) -> np.ndarray:
        """The rows of the sample as they are read."""
        return self.read(slice(0, size) if size == self.count else sample_positions(self.count, size, seed))

    def ranges(self, done: Done | None = None) -> Ranges:
        """Ranges, moments and the few different values of the columns; one pass over the rows, the first time."""
        known: Ranges | None = self.__dict__.get("_ranges")
        if known is None:
            plain = copy(self)
            plain._shift, plain._scale, plain._chunk_rows = 0.0, Rows._scale, CHUNK_ROWS
            known = self._ranges = _as_ranges(plain.reduce(_range_statistic, _merge_ranges, done))
        return known.moved(self._shift, self._scale)

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
        return Extremes(*self.reduce(partial(_chunk_extremes, members, threads), _merge_extremes))

    def refuse_if_too_many(self) -> None:
        """Refuse to bring all rows into memory if that is more than was allowed."""
        needed = 8 * self.count * self.width
        if self.memory is not None and needed > self.memory:
            raise InputError(
                f"all {self.count} rows at once need {format_bytes(needed)}, but only memory="
                f"{format_bytes(self.memory)!r} is allowed: pass more memory=, or a sample of the rows"
            )


class MemoryRows(Rows):
    """Rows in memory.

    Parameters
    ----------
    values : ndarray of shape (rows, columns), float64
    """

    in_memory = True

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


class _SomeColumns(Rows):
    """Some columns of other rows."""

    def __init__(self, rows: Rows, keep: np.ndarray) -> None:
        self._rows, self._keep = rows, keep
        self.in_memory, self.memory, self.store = rows.in_memory, rows.memory, rows.store
        known = rows.__dict__.get("_ranges")
        if known is not None:
            self._ranges = Ranges(
                count=known.count,
                missing=known.missing[keep],
                infinite=known.infinite[keep],
                low=known.low[keep],
                high=known.high[keep],
                mean=known.mean[keep],
                covariance=known.covariance[np.ix_(keep, keep)],
                values=tuple(known.values[j] for j in keep),
            )

    @property
    def count(self) -> int:
        return self._rows.count

    @property
    def width(self) -> int:
        return len(self._keep)

    def read(self, rows: slice | np.ndarray) -> np.ndarray:
        return self._rows.read(rows)[:, self._keep]

    def stretches(self, start: int = 0) -> Iterator[np.ndarray]:
        for piece in self._rows.stretches(start):
            yield piece[:, self._keep]

    def _sampled(self, size: int, seed: int) -> np.ndarray:
        return self._rows._sampled(size, seed)[:, self._keep]


def sample_positions(count: int, size: int, seed: int = 0) -> np.ndarray:
    """The positions, ascending, of a random sample of ``size`` among ``count`` rows."""
    if size == count:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, size, replace=False))


# --- what is combined -------------------------------------------------------------------------------------------------


def _add(totals: list[np.ndarray], found: Sequence[np.ndarray]) -> list[np.ndarray]:
    for total, value in zip(totals, found):
        total += value
    return totals


def _chunk_extremes(members: np.ndarray, threads: int, chunk: np.ndarray) -> list[np.ndarray]:
    from dagtune.tables.extremes import extend  # loads numba, which a file that is refused does not need

    found = np.empty((3, len(members)))
    found[:] = np.array([np.inf, -np.inf, np.inf])[:, None]
    parts = np.array_split(np.arange(len(members)), threads)
    parallel_map(lambda part: extend(chunk, members, part, found), parts, threads)
    return list(found)


def _merge_extremes(totals: list[np.ndarray], found: Sequence[np.ndarray]) -> list[np.ndarray]:
    for total, value, better in zip(totals, found, (np.minimum, np.maximum, np.minimum)):
        better(total, value, out=total)
    return totals


def _range_statistic(chunk: np.ndarray) -> list[np.ndarray]:
    """Of one chunk: count, missing, infinite, low, high, mean, products of deviations, different values."""
    d, n = chunk.shape
    missing, infinite = np.isnan(chunk).sum(axis=1), np.isinf(chunk).sum(axis=1)
    with np.errstate(all="ignore"):  # what is not finite is counted, and refused
        mean = chunk.mean(axis=1)
        centred = chunk - mean[:, None]
        products = centred @ centred.T
    values = np.full((d, FEW_VALUES + 1), np.nan)
    for j in range(d):
        few = np.unique(chunk[j, :256])
        if len(few) <= FEW_VALUES:
            few = np.unique(chunk[j])
        few = few[: FEW_VALUES + 1]
        values[j, : len(few)] = few
    return [np.array([n]), missing, infinite, chunk.min(axis=1), chunk.max(axis=1), mean, products, values]


def _merge_ranges(totals: list[np.ndarray], found: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same of two stretches of rows (Chan, Golub and LeVeque 1979 for the moments)."""
    n, missing, infinite, low, high, mean, products, values = totals
    here = float(found[0][0])
    every = float(n[0]) + here
    with np.errstate(all="ignore"):
        apart = found[5] - mean
        products += found[6] + np.outer(apart, apart) * (float(n[0]) * here / every)
        mean = mean + apart * (here / every)
    for j in np.flatnonzero(np.isnan(values[:, -1])):
        few = np.unique(np.concatenate([values[j], found[7][j]]))  # NaN comes last, once
        few = few[~np.isnan(few)][: FEW_VALUES + 1]
        values[j, : len(few)] = few
    return [
        n + found[0],
        missing + found[1],
        infinite + found[2],
        np.minimum(low, found[3]),
        np.maximum(high, found[4]),
        mean,
        products,
        values,
    ]


def _as_ranges(found: list[np.ndarray]) -> Ranges:
    n, missing, infinite, low, high, mean, products, values = found
    few = tuple(row[~np.isnan(row)] if np.isnan(row[-1]) else np.empty(0) for row in values)
    return Ranges(int(n[0]), missing, infinite, low, high, mean, products / int(n[0]), few)
