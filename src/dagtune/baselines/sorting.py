"""Sorting controls: order the columns by one number each, then regress each on those before it.

Reisach, Seiler, Weichwald 2021 ("Beware of the simulated DAG!") for variances; Reisach, Tami, Seiler, Chambaz,
Weichwald 2023 ("A scale-invariant sorting criterion to find a causal order in additive noise models") for R^2. What
can't beat them reads the order off the scale, or off how predictable a column is.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dagtune.baselines.common import Learned, read_knowledge
from dagtune.graph import complete, reachability
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.tables import read_table
from dagtune.validation import InputError

__all__ = ["learn_r2_sorted", "learn_r2_sortnregress", "learn_sortnregress", "precedence", "r2_of_each", "sort_columns"]


def learn_sortnregress(X: Any, *, rng: Any = None, **options: Any) -> Learned:
    """Columns by ascending variance, then pruned; see :func:`_sort_and_regress`. Draws nothing."""
    return _sort_and_regress("sortnregress", X, "variance", **options)


def learn_r2_sortnregress(X: Any, *, rng: Any = None, **options: Any) -> Learned:
    """Columns by ascending R^2 on all others, then pruned; see :func:`_sort_and_regress`. Draws nothing."""
    return _sort_and_regress("r2-sortnregress", X, "r2", **options)


def learn_r2_sorted(X: Any, *, rng: Any = None, **options: Any) -> Learned:
    """Complete DAG of the columns by ascending R^2 on all others; its brother is ``variance-sorted``. Draws nothing."""
    return _sort_and_regress("r2-sorted", X, "r2", prune=False, **options)


def _sort_and_regress(
    method: str,
    X: Any,
    by: str,
    *,
    prune: bool = True,
    required: Any = None,
    forbidden: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Order by one number a column, then an adaptive Lasso of each column on those before it.

    The Lasso is that of the authors' package CausalDisco: predecessors multiplied by the absolute coefficients of
    their least squares fit, then scikit-learn's LassoLarsIC with criterion BIC; what stays is a parent. Ties in the
    order go by position.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    prune : false gives the complete DAG of the order
    required, forbidden : boolean (d, d); see :func:`precedence` for what they mean for an order
    time_limit : seconds, or None
    progress : called with one line now and then
    """
    clock = Clock(method, time_limit, progress)
    table = read_table(X)
    values = table.values
    n, d = values.shape
    must, mustnt = read_knowledge(d, required, forbidden)
    if prune and n < d + 2:
        raise InputError(
            f"{method} chooses parents by BIC, which needs at least {d + 2} rows for {d} columns, not {n}: "
            "add rows, or drop columns"
        )
    with one_blas_thread():
        scores = values.var(axis=0) if by == "variance" else r2_of_each(values)
        order = sort_columns(scores, precedence(must, mustnt))
        weights = None
        graph = complete(order) & ~mustnt
        if prune:
            weights = np.zeros((d, d))
            for position in range(1, d):
                clock.tell(f"column {position} of {d - 1}")
                child = order[position]
                before = order[:position][graph[order[:position], child]]
                if len(before):
                    weights[before, child] = _adaptive_lasso(values[:, before], values[:, child])
            graph = (weights != 0) | must
    settings = {"by": by, "prune": prune, "regression": "LassoLarsIC(bic), adaptive" if prune else None}
    return Learned(method, graph, table.names, order, clock.seconds, weights=weights, settings=settings)


def _adaptive_lasso(predictors: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Coefficients of a Lasso on predictors scaled by their least squares coefficients, its penalty chosen by BIC."""
    from sklearn.exceptions import ConvergenceWarning  # here, because importing scikit-learn takes a second
    from sklearn.linear_model import LassoLarsIC

    X, y = _standardised(predictors), _standardised(target)  # changes nothing but the rounding: first undoes scales
    slopes = np.linalg.lstsq(X, y, rcond=None)[0]
    if np.mean((y - X @ slopes) ** 2) < 1e-20:  # a sum of others, without noise for BIC to weigh against
        chosen = np.where(np.abs(slopes) > 1e-8, slopes, 0.0)
    else:
        with warnings.catch_warnings():  # a predictor that copies another is dropped, as it should be
            warnings.simplefilter("ignore", ConvergenceWarning)
            chosen = LassoLarsIC(criterion="bic").fit(X * np.abs(slopes), y).coef_ * np.abs(slopes)
    return chosen * target.std() / predictors.std(axis=0)


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def r2_of_each(X: np.ndarray) -> np.ndarray:
    """(d,) R^2 of each column regressed linearly on all others: 1 - 1 / (C^-1)_jj, C the correlation matrix."""
    C = np.corrcoef(X, rowvar=False)
    if np.linalg.matrix_rank(C, hermitian=True) == len(C):
        return 1 - 1 / np.diag(np.linalg.inv(C))
    Z = _standardised(X)  # copies and sums of other columns: column by column
    found = np.empty(len(C))
    for j in range(len(C)):
        others = np.delete(Z, j, axis=1)
        found[j] = 1 - np.mean((Z[:, j] - others @ np.linalg.lstsq(others, Z[:, j], rcond=None)[0]) ** 2)
    return found


def precedence(required: np.ndarray, forbidden: np.ndarray) -> np.ndarray:
    """Boolean (d, d): ``B[i, j]`` when i must stand before j in every order that obeys what is known.

    A required path leads from i to j; or edges that aren't forbidden lead from i to j by some path and from j to i by
    none, so that j can't be a cause of i however indirect (tiers are of this kind). One forbidden edge i -> j says
    nothing about the order while i may still cause j through others.
    """
    off = ~np.eye(len(required), dtype=bool)
    possible = reachability(~forbidden & off)
    return (reachability(required) | (possible & ~possible.T)) & off


def sort_columns(scores: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Positions by ascending score, ties by position, none ahead of one that must stand before it."""
    order: list[int] = []
    left = np.ones(len(scores), dtype=bool)
    while left.any():
        ready = left & ~before[left].any(axis=0)
        node = int(np.argmin(np.where(ready, scores, np.inf)))
        order.append(node)
        left[node] = False
    return np.array(order, dtype=np.intp)
