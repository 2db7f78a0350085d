"""SCORE and NoGAM: an order from the score of the data, leaf by leaf, then pruning by significance.

With ``p`` the density of the rows, ``s(x) = grad log p(x)`` is its score. Where noise is additive, a leaf can be read
from it: for Gaussian noise the diagonal of its Jacobian is constant at a leaf (SCORE, Rolland et al. 2022, "Score
matching enables causal discovery of nonlinear additive noise models", ICML); for noise of any distribution the score
of a leaf is a function of its residual alone (NoGAM, Montagna et al. 2023, "Causal discovery with score matching on
additive models with arbitrary noise", CLeaR). Both find a leaf, take it away, and begin again with the others; both
then keep the predecessors whose smooth terms are significant, as CAM does.

The score is estimated by Stein's identity (Li and Turner 2018): with a Gaussian kernel matrix K of bandwidth b,

    G = (K + eta I)^-1 dK,    dK = sum over rows t' of the gradient of k(x_t, x_t') in x_t',

and the diagonal of the Jacobian likewise from second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist, squareform

from dagtune.baselines.common import Learned
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.regression import THIN_PLATE, fit, measure_gram
from dagtune.tables import read_table
from dagtune.validation import InputError, check_count

__all__ = ["learn_nogam", "learn_score"]

#: Given the rows of the variables that are left, one number for each: the leaf has the smallest.
_Leafness = Callable[[np.ndarray], np.ndarray]


def learn_score(
    X: Any,
    *,
    rng: Any = None,
    ridge: float = 0.001,
    alpha: float = 0.001,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """SCORE with the settings of its paper: the leaf has the least variance of the Jacobian's diagonal.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    rng : not used; nothing is random
    ridge : eta of both linear systems
    alpha : a predecessor stays when the p-value of its smooth term is below
    time_limit : seconds, or None
    progress : called with one line now and then

    Returns
    -------
    Learned
    """

    def leafness(x: np.ndarray) -> np.ndarray:
        return _stein(x, ridge)[1].var(axis=0)

    return _learn("score", X, leafness, {"ridge": ridge, "alpha": alpha}, Clock("score", time_limit, progress))


def learn_nogam(
    X: Any,
    *,
    rng: Any = None,
    ridge: float = 0.001,
    folds: int = 5,
    regression_ridge: float = 0.01,
    regression_scale: float = 0.1,
    alpha: float = 0.001,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """NoGAM with the settings of its paper: the leaf's residual predicts its score best.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    rng : not used; folds are stretches of rows
    ridge : eta of the score's linear system
    folds : predictions are for rows that the regression did not see, in so many folds
    regression_ridge, regression_scale : of the kernel ridge regressions, ``(K + ridge I)^-1 y`` with
        ``k(x, x') = exp(-scale |x - x'|^2)``
    alpha : a predecessor stays when the p-value of its smooth term is below
    time_limit : seconds, or None
    progress : called with one line now and then

    Returns
    -------
    Learned
    """
    check_count("folds", folds, least=2)
    how = (regression_scale, regression_ridge, folds)

    def leafness(x: np.ndarray) -> np.ndarray:
        score = _stein(x, ridge)[0]
        errors = np.empty(x.shape[1])
        for j in range(x.shape[1]):
            residual = x[:, j] - _predict(np.delete(x, j, axis=1), x[:, j], *how)
            errors[j] = np.mean((score[:, j] - _predict(residual[:, None], score[:, j], *how)) ** 2)
        return errors

    settings = {
        "ridge": ridge,
        "folds": folds,
        "regression_ridge": regression_ridge,
        "regression_scale": regression_scale,
        "alpha": alpha,
    }
    return _learn("nogam", X, leafness, settings, Clock("nogam", time_limit, progress))


def _learn(method: str, X: Any, leafness: _Leafness, settings: dict[str, Any], clock: Clock) -> Learned:
    """Leaf after leaf, then pruning. Columns keep their units, as in the papers' experiments: standardised ones are
    harder for both (order errors 0.2 -> 2.3 of ten edges, additive Gaussian processes, d = 10, n = 1000).
    """
    if not 0 < settings["alpha"] <= 1:
        raise InputError(f"alpha must be above 0 and at most 1, not {settings['alpha']!r}: the papers use 0.001")
    table = read_table(X)
    x = table.values - table.values.mean(axis=0)
    left, leaves = list(range(x.shape[1])), list[int]()
    with one_blas_thread():
        while len(left) > 1:
            clock.tell(f"{len(leaves)} of {x.shape[1]} columns in order")
            leaves.append(left.pop(int(np.argmin(leafness(x[:, left])))))
        order = np.array([*left, *reversed(leaves)])
        graph = _significant_predecessors(table.values, order, settings["alpha"], clock)
    return Learned(method, graph, table.names, order, clock.seconds, settings=settings)


def _stein(x: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) score at the rows, and (n, d) diagonal of its Jacobian."""
    distances = pdist(x)
    b = np.median(distances)
    K: Any = squareform(np.exp(-(distances**2) / (2 * b**2)))  # scipy-stubs wants the number of dimensions
    np.fill_diagonal(K, 1.0)
    total, first, second = K.sum(axis=1, keepdims=True), K @ x, K @ x**2
    factor = cho_factor(K + ridge * np.eye(len(x)))
    score = cho_solve(factor, -(x * total - first) / b**2)
    curvature = (x**2 * total - 2 * x * first + second) / b**4 - total / b**2
    return score, cho_solve(factor, curvature) - score**2


def _predict(x: np.ndarray, y: np.ndarray, scale: float, ridge: float, folds: int) -> np.ndarray:
    """Kernel ridge regression of y (n,) on x (n, p): each fold predicted from the others."""
    K = np.exp(-scale * squareform(pdist(x, "sqeuclidean")))
    found = np.empty(len(y))
    for rows in np.array_split(np.arange(len(y)), folds):
        rest = np.setdiff1d(np.arange(len(y)), rows, assume_unique=True)
        weights = cho_solve(cho_factor(K[np.ix_(rest, rest)] + ridge * np.eye(len(rest))), y[rest])
        found[rows] = K[np.ix_(rows, rest)] @ weights
    return found


def _significant_predecessors(X: np.ndarray, order: np.ndarray, alpha: float, clock: Clock) -> np.ndarray:
    """Boolean (d, d), ``A[i, j]`` means ``i -> j``: smooth terms with a p-value below alpha, CAM's pruning."""
    n, d = X.shape
    gram = measure_gram(X, THIN_PLATE)
    graph = np.zeros((d, d), dtype=bool)
    for place in range(1, d):
        clock.tell(f"pruning, column {place + 1} of {d}")
        child, before = int(order[place]), order[:place]
        # CAM's rule for few rows, so that a regression on many predecessors has an answer.
        functions = min(9, max(-(-n // (3 * place)), 3) - 1)
        found = fit(gram, child, before, functions=functions)
        graph[before[found.p_values < alpha], child] = True
    return graph
