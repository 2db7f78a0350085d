"""Gaps filled by draws from what the other columns tell: chained equations with predictive mean matching.

One column after the other is regressed on functions of the others, in the rows where it is known, drawn with
replacement. All functions of the column are targets, so that the fit tells its distribution, not only its mean; a gap
gets the value of one of the few known rows whose fitted values are nearest, numbers with the difference of the two fits
added. Some rounds over all columns are one draw.

References
----------
van Buuren 2018, "Flexible imputation of missing data", chapters 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["DRAWS", "completed"]

#: Completed tables over which a posterior is averaged.
DRAWS = 5
#: Rounds over the columns before the first draw, and between two draws.
_ROUNDS, _BETWEEN = 6, 2
#: Known rows among which a gap's value is drawn.
_DONORS = 5
#: Most rows that a column is fitted to, and most columns that it is regressed on: those that go with it best.
_ROWS, _COLUMNS = 5000, 15
#: Kinds whose draws are the fit and the residual of a known row; others get the value of that row.
_NUMBERS = ("continuous", "date")
#: Quantiles where a function of a number may bend.
_BENDS = (0.1, 0.35, 0.65, 0.9)
#: Prior variance of a function's weight, in units of the noise variance of a row.
_WIDE = 10.0


def completed(values: np.ndarray, kinds: Sequence[str], rng: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
    """Tables (rows, columns) whose gaps (NaN) are filled by draws; the numbers that are known stay.

    Parameters
    ----------
    values : ndarray of shape (rows, columns)
        With NaN for gaps; each column has at least one number.
    kinds : sequence of str
        The kinds of the columns.
    rng : numpy.random.Generator
    draws : int
        How many tables.
    """
    gone = np.isnan(values)
    filled = values.copy()
    for j in map(int, np.flatnonzero(gone.any(axis=0))):
        filled[gone[:, j], j] = rng.choice(values[~gone[:, j], j], int(gone[:, j].sum()))
    order = [int(j) for j in np.argsort(gone.sum(axis=0), kind="stable") if gone[:, j].any()]
    functions = [_functions(filled[:, j], values[~gone[:, j], j], kinds[j]) for j in range(values.shape[1])]
    for draw in range(draws):
        for _ in range(_BETWEEN if draw else _ROUNDS):
            for j in order:
                filled[gone[:, j], j] = _drawn(functions, j, values[:, j], gone[:, j], kinds[j], rng)
                functions[j] = _functions(filled[:, j], values[~gone[:, j], j], kinds[j])
        yield filled.copy()


def _functions(x: np.ndarray, known: np.ndarray, kind: str) -> np.ndarray:
    """(rows, m) of a column: an indicator for each category but one, or a line and bends at quantiles."""
    if kind == "categorical":
        return (x[:, None] == np.unique(known)[1:]).astype(np.float64)
    scale = known.std() or 1.0
    z = (x - known.mean()) / scale
    bends = np.unique(np.quantile((known - known.mean()) / scale, _BENDS))
    if len(np.unique(known[:1000])) <= 2:
        return z[:, None]
    return np.column_stack([z, *(np.maximum(z - bend, 0.0) for bend in bends)])


def _drawn(
    functions: list[np.ndarray],
    j: int,
    x: np.ndarray,
    gone: np.ndarray,
    kind: str,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws for the gaps of column j."""
    known = np.flatnonzero(~gone)
    if len(known) > _ROWS:
        known = np.sort(rng.choice(known, _ROWS, replace=False))
    targets = _functions(x[known], x[known], kind)
    F = _predictors(functions, j, known, targets)
    drawn = rng.integers(len(known), size=len(known))
    sample, y = F[known][drawn], targets[drawn]
    centre, mean = sample.mean(axis=0), y.mean(axis=0)
    sample = sample - centre
    weights = np.linalg.solve(sample.T @ sample + np.eye(F.shape[1]) / _WIDE, sample.T @ (y - mean))
    fits = (F - centre) @ weights
    donors = min(_DONORS, len(known))
    from scipy.spatial import cKDTree

    near = cKDTree(fits[known]).query(fits[gone], k=donors)[1].reshape(-1, donors)
    chosen = near[np.arange(len(near)), rng.integers(donors, size=len(near))]
    if kind not in _NUMBERS:
        return x[known[chosen]]
    scale = x[known].std() or 1.0  # the first function is the standardised column
    found = x[known[chosen]] + scale * (fits[gone, 0] - fits[known[chosen], 0])
    return np.clip(found, x[known].min(), x[known].max())  # no draw runs away with the next ones


def _predictors(functions: list[np.ndarray], j: int, known: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(rows, m): functions of the columns that go with column j best, and products of two of them, as rows allow."""
    others = [k for k in range(len(functions)) if k != j and functions[k].shape[1]]
    if len(others) > _COLUMNS:
        y = targets - targets.mean(axis=0)
        share = [_share(functions[k][known], y) for k in others]
        others = [others[k] for k in np.sort(np.argsort(share)[-_COLUMNS:])]
    parts = [functions[k] for k in others]
    lines = np.column_stack([functions[k][:, 0] for k in others])
    pairs = [(a, b) for a in range(len(others)) for b in range(a)]
    if sum(part.shape[1] for part in parts) + len(pairs) <= len(known) / 5 and pairs:
        first, second = np.array(pairs).T
        parts.append(lines[:, first] * lines[:, second])
    return np.concatenate(parts, axis=1)


def _share(F: np.ndarray, y: np.ndarray) -> float:
    """Share of y (rows, t), of mean 0, that functions F (rows, m) of one column explain."""
    F = F - F.mean(axis=0)
    c = F.T @ y
    return float(np.sum(c * np.linalg.solve(F.T @ F + np.eye(F.shape[1]), c)) / max(np.sum(y**2), 1e-300))
