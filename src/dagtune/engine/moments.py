"""What the low-rank path needs from the rows, as sums over them: the features of each column, and their products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dagtune.compiled import compiled
from dagtune.engine.features import TOLERANCE, Column, Features, compress, stack
from dagtune.parallel import parallel_map
from dagtune.tables.rows import Rows

__all__ = [
    "BATCH",
    "block_sums",
    "compress_columns",
    "cross_products",
    "diagonal_squares",
    "signs_of",
    "starts_of",
]

#: Columns handled together by one thread.
BATCH = 32


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
    child_starts = starts_of(children)
    child_signs = signs_of(children)
    batches = [range(start, min(start + BATCH, len(candidates))) for start in range(0, len(candidates), BATCH)]

    def statistic(chunk: np.ndarray) -> list[np.ndarray]:
        left = np.concatenate(parallel_map(lambda child: child.values(chunk), children, threads))

        def product(batch: range) -> np.ndarray:
            return left @ stack([candidates[c] for c in batch], chunk).T

        return [diagonal_squares(left, child_starts, child_signs), *parallel_map(product, batches, threads)]

    squares, *products = rows.sum(statistic, done)

    def reduce(batch_and_product: tuple[range, np.ndarray]) -> np.ndarray:
        batch, product = batch_and_product
        some = [candidates[c] for c in batch]
        return block_sums(product, child_starts, starts_of(some), child_signs, signs_of(some))

    nothing = np.empty((len(children), 0))
    reduced = parallel_map(reduce, list(zip(batches, products)), threads)
    return np.concatenate([nothing, *reduced], axis=1), squares


def diagonal_squares(values: np.ndarray, starts: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """For each column the sum of (K)_tt^2 over the rows t, from the features of all of them, (total rank, n)."""
    diagonals = np.add.reduceat(np.vstack([values * values * signs[:, None], np.zeros(values.shape[1])]), starts[:-1])
    diagonals[np.diff(starts) == 0] = 0.0
    return np.einsum("it,it->i", diagonals, diagonals)


def starts_of(features: Sequence[Features]) -> np.ndarray:
    """Where the features of each column begin, one below the other; the last is how many there are."""
    return np.cumsum([0, *(one.rank for one in features)])


def signs_of(features: Sequence[Features]) -> np.ndarray:
    """The signs of all features."""
    return np.concatenate([one.signs for one in features])


@compiled
def block_sums(
    product: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    row_signs: np.ndarray,
    column_signs: np.ndarray,
) -> np.ndarray:
    """(children, candidates): sums of the squares of ``product`` over the blocks, each with its signs."""
    out = np.zeros((len(rows) - 1, len(columns) - 1))
    for i in range(len(rows) - 1):
        for a in range(rows[i], rows[i + 1]):
            for c in range(len(columns) - 1):
                total = 0.0
                for b in range(columns[c], columns[c + 1]):
                    total += column_signs[b] * product[a, b] * product[a, b]
                out[i, c] += row_signs[a] * total
    return out
