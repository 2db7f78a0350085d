"""NPVAR: a causal order by smallest residual variance, layer by layer, then pruning by significance.

Gao, Ding, Aragam 2020, "A polynomial-time algorithm for learning nonparametric causal graphs" (NeurIPS), Algorithm 1,
and the authors' R code: with equal noise variances, the next variable is the one that those before it leave with the
smallest variance. Scale matters: standardised columns take its assumption away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dagtune.baselines.common import Learned, read_knowledge
from dagtune.baselines.sorting import precedence
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.regression import P_SPLINE, Fit, Gram, Growing, fit, measure_gram
from dagtune.tables import read_table
from dagtune.validation import InputError

__all__ = ["learn_npvar"]

#: Residual variances of the columns within this share of their variance are one, whatever the last digits say.
_SAME = 1e-9

#: mgcv divides a penalty by its 1-norm, 16 for second differences, times that of the design's rows squared, 1.
_MGCV_SCALE = 16.0


def learn_npvar(
    X: Any,
    *,
    rng: Any = None,
    smoothing: float = 0.6,
    eta: float | None = None,
    prune: bool = True,
    alpha: float = 0.001,
    required: Any = None,
    forbidden: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """NPVAR with the defaults of the authors' code.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    rng : draws the next variable where several have the smallest variance, as all standardised columns have at first
    smoothing : ``sp`` of the authors' ``s(x, bs = "ps", sp = 0.6)``: ten B-splines a variable, second differences,
        smoothing fixed
    eta : None takes one variable at a time (the authors' default); a number takes all whose conditional variance is
        within eta of the smallest, as one layer (Algorithm 1)
    prune : false gives the complete DAG of the order (the paper's output is the order)
    alpha : a predecessor stays when the p-value of its smooth term is below (the authors' ``prune``, cutoff 0.001)
    required, forbidden : boolean (d, d); see :func:`dagtune.baselines.sorting.precedence`. A forbidden cause is left
        out of the regressions
    time_limit : seconds, or None
    progress : called with one line now and then
    """
    clock = Clock("npvar", time_limit, progress)
    _check(smoothing, eta, alpha)
    table = read_table(X)
    n, d = table.values.shape
    must, mustnt = read_knowledge(d, required, forbidden)
    at_most, notes = _affordable(n, d)
    with one_blas_thread():
        gram = measure_gram(table.values, P_SPLINE)
        theta = smoothing / _MGCV_SCALE / n
        layers = _find_layers(gram, theta, at_most, eta, mustnt, precedence(must, mustnt), clock, rng)
        order = np.concatenate(layers)
        graph = np.zeros((d, d), dtype=bool)
        for position, (child, found) in enumerate(_regressions(gram, theta, at_most, order, mustnt)):
            clock.tell(f"pruning, column {position + 1} of {d}")
            graph[list(found.parents), child] = found.p_values < alpha if prune else True
    if eta is not None:
        notes += (f"{len(layers)} layers of {', '.join(str(len(layer)) for layer in layers)} columns",)
    settings = {"smoothing": smoothing, "eta": eta, "prune": prune, "alpha": alpha}
    return Learned("npvar", graph | must, table.names, order, clock.seconds, settings=settings, notes=notes)


def _check(smoothing: float, eta: float | None, alpha: float) -> None:
    if not smoothing > 0:
        raise InputError(f"smoothing must be positive, not {smoothing!r}: the authors use 0.6")
    if eta is not None and not eta >= 0:
        raise InputError(f"eta must be None or a variance, 0 or more, not {eta!r}")
    if not 0 < alpha <= 1:
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}: the authors use 0.001")


def _affordable(n: int, d: int) -> tuple[int | None, tuple[str, ...]]:
    """Functions of each column that n rows can bear: all nine if they are fewer than rows (else mgcv refuses)."""
    if 9 * (d - 1) + 1 < n:
        return None, ()
    at_most = max(1, (n - 1) // (2 * (d - 1)))
    return at_most, (f"only {at_most} functions of each column, because {n} rows are too few for nine",)


def _find_layers(
    gram: Gram,
    theta: float,
    at_most: int | None,
    eta: float | None,
    forbidden: np.ndarray,
    before: np.ndarray,
    clock: Clock,
    rng: Any,
) -> list[np.ndarray]:
    """Algorithm 1: repeatedly the columns whose variance given all chosen ones is smallest."""
    turns = np.random.default_rng(rng).permutation(gram.width)
    left = np.ones(gram.width, dtype=bool)
    growing = Growing(gram, theta, at_most)
    layers = []
    while left.any():
        clock.tell(f"{gram.width - left.sum()} of {gram.width} columns in order")
        variances = _conditional_variances(growing, forbidden, left)
        ready = left & ~before[left].any(axis=0)
        least = variances[ready].min()
        chosen = np.flatnonzero(ready & (variances <= least + (eta or 0.0) + _SAME * gram.scale**2))
        chosen = chosen if eta is not None else chosen[[turns[chosen].argmin()]]
        layers.append(chosen)
        left[chosen] = False
        for column in chosen:
            growing.add(int(column))
    return layers


def _conditional_variances(growing: Growing, forbidden: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Variance less variance of the fitted values, as the authors compute it, for every column not yet chosen."""
    gram = growing.gram
    variances = gram.scale**2 - growing.explained()
    for column in np.flatnonzero(left & forbidden[growing.members].any(axis=0)):
        found = _allowed_fit(growing, int(column), forbidden)
        variances[column] = gram.scale[column] ** 2 * (1 - found.explained)
    return variances


def _regressions(
    gram: Gram, theta: float, at_most: int | None, order: np.ndarray, forbidden: np.ndarray
) -> Iterator[tuple[int, Fit]]:
    """Each column with its regression on those before it that may be its causes."""
    growing = Growing(gram, theta, at_most)
    for child in order:
        yield int(child), _allowed_fit(growing, int(child), forbidden)
        growing.add(int(child))


def _allowed_fit(growing: Growing, child: int, forbidden: np.ndarray) -> Fit:
    """Regression on the members that are not forbidden; where all are allowed, what has grown answers."""
    allowed = [member for member in growing.members if not forbidden[member, child]]
    if len(allowed) == len(growing.members):
        return growing.fit_of(child)
    return fit(growing.gram, child, allowed, smoothing=growing.smoothing[allowed], functions=growing.at_most)
