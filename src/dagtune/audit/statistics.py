"""Statistics of columns that the audit's checks are made of."""

from __future__ import annotations

import numpy as np
from scipy import stats

__all__ = ["RISK", "adjusted_r2", "copies", "explained_shares", "far_out", "sample", "standard_deviations"]

#: Chance that one kind of test raises a false alarm somewhere in a clean table.
RISK = 1e-3
#: Rows that are looked at for pairs of columns; more would say the same.
SAMPLE = 20_000


def far_out(column: np.ndarray, tests: int) -> np.ndarray:
    """Which values no Gaussian column of this length would have, at a risk that ``tests`` columns share.

    Distances are from the median in units of 1.4826 median absolute deviations, whose own error of about 1.17 / sqrt(n)
    widens the bound.
    """
    centre = np.median(column)
    scale = 1.4826 * np.median(np.abs(column - centre))
    if scale == 0 or len(column) < 20:
        return np.zeros(len(column), dtype=bool)
    bound = stats.norm.isf(RISK / (2 * len(column) * tests)) * (1 + 4 / np.sqrt(len(column)))
    return np.abs(column - centre) > bound * scale


def sample(values: np.ndarray) -> np.ndarray:
    """At most SAMPLE rows of a table, evenly spread."""
    if len(values) <= SAMPLE:
        return values
    return values[np.linspace(0, len(values) - 1, SAMPLE).astype(np.intp)]


def standard_deviations(values: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, without overflow for huge values; 0 if there are no rows."""
    if not len(values):
        return np.zeros(values.shape[1])
    largest = np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    return (values / largest).std(axis=0) * largest


def _unit(values: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and sum of squares 1; scaled twice, so that no square overflows."""
    centred = values / np.abs(values).max(axis=0)
    centred -= centred.mean(axis=0)
    centred /= np.abs(centred).max(axis=0)
    return centred / np.sqrt((centred**2).sum(axis=0))


def copies(values: np.ndarray) -> np.ndarray:
    """Boolean (d, d): which columns are the same up to shift and scale."""
    unit = _unit(values)
    return (np.abs(unit.T @ unit) > 1 - 1e-10) & ~np.eye(values.shape[1], dtype=bool)


def explained_shares(values: np.ndarray) -> np.ndarray:
    """(d, d): share of the variance of column b's ranks that is a smooth function of column a.

    With rows in the order of a, half the mean squared step of b from row to row estimates the variance that a leaves
    (Rice 1984). Rows with equal a come in random order, so that the order of a file is not taken for a function.
    """
    n, d = values.shape
    ranks = np.column_stack([stats.rankdata(column) for column in values.T])
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    shuffled = np.random.default_rng(0).permutation(n)
    share = np.zeros((d, d))
    for a in range(d):
        in_order = ranks[np.lexsort((shuffled, values[:, a]))]
        share[a] = 1 - (np.diff(in_order, axis=0) ** 2).mean(axis=0) / 2
    np.fill_diagonal(share, 0.0)
    return share


def adjusted_r2(values: np.ndarray) -> np.ndarray:
    """How well all other columns predict each one linearly: 1 - (1 - R2) (n - 1) / (n - d), at least 0; 0 if n <= d.

    1 - R2_j = 1 / (C^-1)_jj with C the correlation matrix; an exact relation has an eigenvalue 0, which is kept from
    dividing by zero.
    """
    n, d = values.shape
    if n <= d:
        return np.zeros(d)
    unit = _unit(values)
    weights, directions = np.linalg.eigh(unit.T @ unit)
    left = 1 / (directions**2 / np.maximum(weights, 1e-13)).sum(axis=1)
    return np.maximum(1 - left * (n - 1) / (n - d), 0.0)
