"""The dense path: kernel matrices tile by tile, for any kernel and any tails.

It costs time quadratic in the rows, keeps to the memory allowed, and forms only the upper half of each matrix.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dagtune.engine.features import add_up
from dagtune.engine.kernels import Kernel
from dagtune.engine.problem import Found, Problem, Scaled, bandwidths, combinations, notes, refuse_if_larger, scale
from dagtune.parallel import parallel_map
from dagtune.progress import Progress

__all__ = ["Dense", "DenseProducts", "PointSide", "Side", "dense_products"]


class Side(Protocol):
    """A sample whose kernel matrix is computed tile by tile."""

    def tile(self, rows: slice, columns: slice) -> np.ndarray: ...


@dataclass(frozen=True)
class PointSide:
    """Kernel matrix of points (n, p), in units of the bandwidth."""

    kernel: Kernel
    points: np.ndarray

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        return self.kernel.matrix(self.points[rows], self.points[columns])


@dataclass(frozen=True)
class SumSide:
    """Kernel matrix of X_j + X_k + ..., added up when a tile is asked for."""

    kernel: Kernel
    data: np.ndarray
    column: Scaled

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        x, y = (add_up(self.data[:, part], self.column.members) / self.column.bandwidth for part in (rows, columns))
        return self.kernel(x[:, None], y[None, :])


@dataclass(frozen=True)
class ProductSide:
    """The elementwise product of kernel matrices."""

    parts: tuple[Side, ...]

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        return np.prod([part.tile(rows, columns) for part in self.parts], axis=0)


class Dense:
    """Kernel matrices tile by tile: any kernel, any tails, quadratic in rows, within the memory allowed."""

    name = "dense"

    def __init__(self, problem: Problem, sample: np.ndarray, reason: str) -> None:
        self.reason = reason
        self.notes = notes(problem)
        self._problem = problem
        self._sample = sample
        self._data = problem.rows.block(slice(None))
        self._singles = scale(problem, combinations(problem.rows.width, 1), sample, error=None)
        self._children = [SumSide(problem.kernel, self._data, one) for one in self._singles]

    def bandwidths(self) -> np.ndarray:
        return bandwidths(self._problem, self._singles)

    def values(self, members: np.ndarray) -> Found:
        candidates: list[Side]
        if self._problem.combine == "joint" and len(members[0]) > 1:
            candidates = [ProductSide(tuple(self._children[m] for m in some)) for some in members]
        else:
            scaled = scale(self._problem, members, self._sample, error=None)
            candidates = [SumSide(self._problem.kernel, self._data, one) for one in scaled]
        problem = self._problem
        dense = dense_products(
            problem.rows.count, self._children, candidates, problem.threads, problem.memory, problem.progress
        )
        return Found(
            values=dense.products / (self._problem.rows.count - 1) ** 2,
            bound=0.0,
            ranks=np.zeros(0, dtype=np.int64),
            traces=dense.traces,
            diagonal_squares=dense.diagonal_squares,
        )

    def blocks(self, members: np.ndarray, order: int) -> Iterator[tuple[np.ndarray, Found]]:
        for start in range(0, len(members), 4096):
            yield members[start : start + 4096], self.values(members[start : start + 4096])


@dataclass(frozen=True)
class DenseProducts:
    """Products (children, candidates), and for each child the trace and the sum of the squared diagonal."""

    products: np.ndarray
    traces: np.ndarray
    diagonal_squares: np.ndarray


def dense_products(
    count: int,
    children: Sequence[Side],
    candidates: Sequence[Side],
    threads: int,
    memory: int,
    progress: Progress,
) -> DenseProducts:
    """tr(H K_i H L_c) for every child and candidate, the children's traces, and the sums of their squared diagonals.

    H is idempotent, so centring the children is enough. From each candidate a constant near its mean is subtracted all
    the same, because otherwise rounding would hide a kernel that hardly varies. Both matrices are symmetric, so tiles
    above the diagonal count twice and those below it are never formed.
    """
    batch = 8
    # a tile of each child, and for each thread a batch of candidates with the temporaries of a kernel
    a_value = 8 * (len(children) + threads * (batch + 4))
    side = min(int(math.sqrt(memory / 2 / a_value)), 1024)
    if side < min(count, 16):
        refuse_if_larger(memory, 2 * a_value * 16**2)
    spans = [slice(start, min(start + side, count)) for start in range(0, count, side)]
    tiles = list(itertools.combinations_with_replacement(spans, 2))
    sums = np.zeros((len(children), count))
    diagonal = np.zeros((len(children), count))

    def add_rows(i: int) -> None:
        for a, b in tiles:
            tile = children[i].tile(a, b)
            sums[i, a] += tile.sum(axis=1)
            if a == b:
                diagonal[i, a] = tile.diagonal()
            else:
                sums[i, b] += tile.sum(axis=0)

    parallel_map(add_rows, range(len(children)), threads)
    means = sums / count
    grand = means.mean(axis=1)
    diagonal += grand[:, None] - 2 * means
    corner = slice(0, min(count, 64))
    constants = parallel_map(lambda candidate: float(candidate.tile(corner, corner).mean()), candidates, threads)
    products = np.zeros((len(children), len(candidates)))
    batches = [range(start, min(start + batch, len(candidates))) for start in range(0, len(candidates), batch)]
    for t, (a, b) in enumerate(tiles):
        progress("dense tiles", t / len(tiles))
        left = np.empty((len(children), (a.stop - a.start) * (b.stop - b.start)))

        def fill(i: int, a: slice = a, b: slice = b, left: np.ndarray = left) -> None:
            tile = children[i].tile(a, b)
            left[i] = (tile + (grand[i] - means[i, a][:, None] - means[i, b][None, :])).ravel()

        def multiply(some: range, a: slice = a, b: slice = b, left: np.ndarray = left) -> None:
            right = np.stack([candidates[c].tile(a, b).ravel() - constants[c] for c in some])
            products[:, some.start : some.stop] += (1 if a == b else 2) * (left @ right.T)

        parallel_map(fill, range(len(children)), threads)
        parallel_map(multiply, batches, threads)
    progress("dense tiles", 1.0)
    return DenseProducts(products, diagonal.sum(axis=1), np.einsum("it,it->i", diagonal, diagonal))
