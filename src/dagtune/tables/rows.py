"""Sums over rows; nothing else knows where rows live.

All that the learners need of the data is an extreme over the rows, a seeded sample of them, or a sum over them of some
statistic of a chunk. :class:`Rows` offers just that for rows in memory; rows in files or on a cluster need no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dagtune.compiled import compiled
from dagtune.parallel import parallel_map

__all__ = ["CHUNK_ROWS", "Extremes", "Rows", "extremes"]

#: Rows in a chunk: enough for an efficient matrix product, few enough for a column's terms to stay in cache.
CHUNK_ROWS = 4096


class Rows:
    """The rows of a table in memory, in chunks of shape (d, rows), each variable moved by ``shift`` first."""

    def __init__(self, values: np.ndarray, shift: np.ndarray | None = None, chunk_rows: int = CHUNK_ROWS) -> None:
        self._values = values
        self._shift = np.zeros(values.shape[1]) if shift is None else shift
        self._chunk_rows = chunk_rows

    @property
    def count(self) -> int:
        return len(self._values)

    @property
    def width(self) -> int:
        return self._values.shape[1]

    def rechunked(self, chunk_rows: int) -> Rows:
        """The same rows in chunks of another length."""
        return Rows(self._values, self._shift, chunk_rows)

    def block(self, rows: slice | np.ndarray) -> np.ndarray:
        """(d, rows) of a stretch or a selection of rows."""
        return np.ascontiguousarray((self._values[rows] - self._shift).T)

    def chunks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.count, self._chunk_rows):
            yield self.block(slice(start, start + self._chunk_rows))

    def sum(
        self, statistic: Callable[[np.ndarray], Sequence[np.ndarray]], done: Callable[[float], None] | None = None
    ) -> list[np.ndarray]:
        """The statistics of all chunks, added up in the order of the rows; ``done`` hears the share of rows behind."""
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
        """(d, size) of a seeded sample of the rows, or of all rows where there are no more."""
        if size >= self.count:
            return self.block(slice(None))
        chosen = np.random.default_rng(seed).choice(self.count, size, replace=False)
        return self.block(np.sort(chosen))


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest value, and smallest absolute value, of each column."""

    low: np.ndarray
    high: np.ndarray
    smallest: np.ndarray


def extremes(rows: Rows, members: np.ndarray, threads: int) -> Extremes:
    """Extremes over the rows of the sums X_j + X_k + ...; ``members`` is (columns, order) with -1 for nobody."""
    found = np.empty((3, len(members)))
    found[:] = np.array([np.inf, -np.inf, np.inf])[:, None]
    parts = np.array_split(np.arange(len(members)), threads)
    members = np.ascontiguousarray(members)  # or numba would compile for each layout
    for chunk in rows.chunks():
        parallel_map(lambda part, chunk=chunk: _extremes(chunk, members, part, found), parts, threads)  # type: ignore[misc]
    return Extremes(*found)


@compiled
def _extremes(chunk: np.ndarray, members: np.ndarray, part: np.ndarray, found: np.ndarray) -> None:
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
