"""The table as the search for an order wants it: sums over all rows, and some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dagtune.conditional.factors import RegressionTable, penalties
from dagtune.conditional.links import equal_bins
from dagtune.regression import Gram, Spline, measure_gram
from dagtune.tables.rows import MemoryRows

__all__ = ["Data", "Transform", "measure", "with_targets"]

#: How a variable becomes functions: the line and the five smoothest bent ones of twelve B-splines.
FUNCTIONS = Spline(12, 6)
#: Rows that links, histograms and transforms look at.
ROWS = 5000
#: A variable with fewer values, counted by how seldom two rows agree, than this share of the rows and than this many is
#: taken for discrete: measurements of three digits are none, however many rows repeat them.
DISTINCT = 0.2, 80

Transform = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Data:
    """The table as the search wants it: sums over rows, and some rows."""

    X: np.ndarray
    gram: Gram
    rows: np.ndarray
    table: RegressionTable
    #: (d,): columns whose values are categories. They only cause: what their own regressions say is nothing.
    categorical: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        return self.gram.scale**2


def measure(X: np.ndarray, categorical: np.ndarray | None = None) -> Data:
    """Functions, their Gram matrix, and the rows that links will look at."""
    n, d = X.shape
    categorical = np.zeros(d, dtype=bool) if categorical is None else categorical
    gram = measure_gram(X, FUNCTIONS, categorical)
    rows = X if n <= ROWS else MemoryRows(X).sample(ROWS).T
    targets = np.ascontiguousarray(((rows - gram.shift) / gram.scale).T)
    targets[categorical] = 0.0
    functions = np.concatenate([curve.values(rows[:, j] - gram.shift[j]) for j, curve in enumerate(gram.curves)])
    smooth = np.array([_values(column) > min(DISTINCT[0] * len(rows), DISTINCT[1]) for column in rows.T])
    smooth &= ~categorical
    table = RegressionTable(
        n=n,
        products=gram.products,
        cross=np.where(categorical, 0.0, gram.cross),
        power=np.ones(d),
        starts=gram.starts,
        penalty=penalties(gram.roughness, gram.starts, n),
        functions=functions.astype(np.float32),
        targets=targets.astype(np.float32),
        smooth=smooth,
        bins=equal_bins(len(rows)),
    )
    return Data(X, gram, rows, table, categorical)


def _values(column: np.ndarray) -> float:
    """One over the chance that two rows agree: so many equally frequent values would repeat as often."""
    count = np.unique(column, return_counts=True)[1]
    return len(column) ** 2 / float(np.sum(count.astype(np.float64) ** 2))


def with_targets(data: Data, transforms: dict[int, Transform]) -> RegressionTable:
    """The same functions, other targets for some variables."""
    table, gram = data.table, data.gram
    cross, targets, power = table.cross.copy(), table.targets.copy(), table.power.copy()
    which = np.array(sorted(transforms))
    for j in which:
        targets[j] = transforms[j](data.rows[:, j])

    def sums(chunk: np.ndarray) -> list[np.ndarray]:
        F = np.concatenate([curve.values(x - shift) for curve, x, shift in zip(gram.curves, chunk, gram.shift)])
        y = np.stack([transforms[j](chunk[j]) for j in which])
        return [F @ y.T, np.sum(y, axis=1), np.sum(y * y, axis=1)]

    products, total, squares = (one / table.n for one in MemoryRows(data.X).sum(sums))
    cross[:, which] = products  # the functions have mean 0: the targets' means play no part
    power[which] = squares - total**2
    targets[which] -= targets[which].mean(axis=1, keepdims=True)
    return replace(table, cross=cross, targets=targets, power=power)
