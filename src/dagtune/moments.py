"""Sums over rows; nothing else knows where rows live.

Everything the low-rank path needs of the data is either an extreme over the rows, a seeded sample of them, or a sum
over them of some statistic of a chunk. :class:`Rows` offers just that for rows in memory; rows in files or on a
cluster need no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from dagtune.features import TOLERANCE, Column, Features, compress, stack
from dagtune.parallel import parallel_map

__all__ = ["BATCH", "CHUNK_ROWS", "Extremes", "Rows", "compress_columns", "cross_products", "extremes"]

#: Rows in a chunk: enough for an efficient matrix product, few enough for a column's terms to stay in cache.
CHUNK_ROWS = 4096
#: Columns handled together by one thread.
BATCH = 32


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
    for chunk in rows.chunks():
        parallel_map(lambda part, chunk=chunk: _extremes(chunk, members, part, found), parts, threads)  # type: ignore[misc]
    return Extremes(*found)


@njit(cache=True, nogil=True)
def _extremes(chunk: np.ndarray, members: np.ndarray, part: np.ndarray, found: np.ndarray) -> None:
    total = np.empty(chunk.shape[1])
    for column in part:
        total[:] = 0.0
        for member in members[column]:
            if member >= 0:
                total += chunk[member]
        low, high, smallest = found[0, column], found[1, column], found[2, column]
        for x in total:
            low = min(low, x)
            high = max(high, x)
            smallest = min(smallest, abs(x))
        found[0, column], found[1, column], found[2, column] = low, high, smallest


def compress_columns(
    rows: Rows,
    columns: Sequence[Column],
    threads: int,
    *,
    centred: bool = True,
    tolerance: float = TOLERANCE,
    done: Callable[[float], None] | None = None,
) -> list[Features]:
    """Features of each column, from the sums of phi and phi phi^T over the rows."""
    if not columns:
        return []

    def statistic(chunk: np.ndarray) -> list[np.ndarray]:
        found = parallel_map(lambda column: column.moments(chunk), columns, threads)
        return [array for total, gram, left_out in found for array in (total, gram, np.array([left_out]))]

    sums = rows.sum(statistic, done)
    return parallel_map(
        lambda c: compress(
            columns[c],
            rows.count,
            sums[3 * c],
            sums[3 * c + 1],
            float(sums[3 * c + 2][0]),
            centred=centred,
            tolerance=tolerance,
        ),
        range(len(columns)),
        threads,
    )


def cross_products(
    rows: Rows,
    children: Sequence[Features],
    candidates: Sequence[Features],
    threads: int,
    done: Callable[[float], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """tr(K_i L_c) for every child i and candidate c, and for each child the sum of (K_i)_tt^2 over the rows t.

    One blocked matrix product of all features, then its squares added up block by block with their signs:
    ``tr(K L) = sum_ab s_a t_b (F_x F_y^T)_ab^2``.
    """
    child_starts = _starts(children)
    child_signs = _signs(children)
    batches = [range(start, min(start + BATCH, len(candidates))) for start in range(0, len(candidates), BATCH)]

    def statistic(chunk: np.ndarray) -> list[np.ndarray]:
        left = np.concatenate(parallel_map(lambda child: child.values(chunk), children, threads))

        def product(batch: range) -> np.ndarray:
            return left @ stack([candidates[c] for c in batch], chunk).T

        squares = np.add.reduceat(
            np.vstack([left * left * child_signs[:, None], np.zeros(left.shape[1])]), child_starts[:-1]
        )
        squares[np.diff(child_starts) == 0] = 0.0
        return [np.einsum("it,it->i", squares, squares), *parallel_map(product, batches, threads)]

    diagonal_squares, *products = rows.sum(statistic, done)

    def reduce(batch_and_product: tuple[range, np.ndarray]) -> np.ndarray:
        batch, product = batch_and_product
        some = [candidates[c] for c in batch]
        found = np.empty((len(children), len(some)))
        _block_sums(product, child_starts, _starts(some), child_signs, _signs(some), found)
        return found

    nothing = np.empty((len(children), 0))
    reduced = parallel_map(reduce, list(zip(batches, products)), threads)
    return np.concatenate([nothing, *reduced], axis=1), diagonal_squares


def _starts(features: Sequence[Features]) -> np.ndarray:
    return np.cumsum([0, *(one.rank for one in features)])


def _signs(features: Sequence[Features]) -> np.ndarray:
    return np.concatenate([one.signs for one in features])


@njit(cache=True, nogil=True)
def _block_sums(
    product: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    row_signs: np.ndarray,
    column_signs: np.ndarray,
    out: np.ndarray,
) -> None:
    out[:] = 0.0
    for i in range(len(rows) - 1):
        for a in range(rows[i], rows[i + 1]):
            for c in range(len(columns) - 1):
                total = 0.0
                for b in range(columns[c], columns[c + 1]):
                    total += column_signs[b] * product[a, b] * product[a, b]
                out[i, c] += row_signs[a] * total
