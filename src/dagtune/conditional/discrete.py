"""Variables that are no numbers, as effects: levels with an order, categories, counts; each with its own likelihood.

- *binary, ordinal*: cumulative logit (:mod:`dagtune.conditional.likelihoods`).
- *categorical*: one category after the other, the frequent ones first: whether a row has this one, among those that
  have none of the earlier ones, is a logistic regression. The likelihood of the whole is the product.
- *count*: negative binomial; and, because few real counts are, the cumulative logit of at most LEVELS levels that
  stretches of counts are pooled to, times the share of each count within its level, which no cause changes.
- *table* (all kinds): if all causes are discrete too, a probability for each combination of their levels with a
  Dirichlet prior (BDeu). It treats both directions between discrete columns alike, which the others do not, and sees
  interactions.

Everything here is a function of (child, set of causes) and of nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from dagtune.compiled import compiled
from dagtune.conditional.likelihoods import COUNTS, LEVELS, first_weights, fit, rows_of
from dagtune.conditional.numbers import DISPERSIONS, MOST_LEVELS

__all__ = [
    "CATEGORIES",
    "COUNT",
    "NUMBER",
    "ORDERED",
    "Discrete",
    "Fitted",
    "by_family",
    "by_table",
    "fit_rows",
    "log_likelihoods",
    "of_kinds",
    "quantile_residuals",
    "rows_by_family",
    "rows_by_table",
]

#: Families of effects; NUMBER is a continuous effect, which cells.py treats.
NUMBER, ORDERED, CATEGORIES, COUNT = 0, 1, 2, 3
_FAMILY = {"binary": ORDERED, "ordinal": ORDERED, "categorical": CATEGORIES, "count": COUNT}


class Discrete(NamedTuple):
    """What the variables are as discrete effects, at the sampled rows.

    Parameters
    ----------
    family : ndarray of int, shape (d,)
    size : ndarray of int, shape (d,)
        The number of levels; 0 for numbers.
    level : ndarray of int, shape (d, rows)
        Ordered as the values, for categories the most frequent first.
    times : ndarray of int, shape (d, rows)
        Counts themselves.
    fixed : ndarray, shape (d, dispersions)
        See :mod:`dagtune.conditional.likelihoods`.
    within : ndarray, shape (d,)
        Log likelihood of counts within their levels.
    """

    family: np.ndarray
    size: np.ndarray
    level: np.ndarray
    times: np.ndarray
    fixed: np.ndarray
    within: np.ndarray


def of_kinds(rows: np.ndarray, kinds: Sequence[str]) -> Discrete:
    """The discrete effects among columns (d, rows) in the units of the table."""
    d, n = rows.shape
    family = np.array([_FAMILY.get(kind, NUMBER) for kind in kinds])
    size, level, count = np.zeros(d, np.int64), np.zeros((d, n), np.int64), np.zeros((d, n), np.int64)
    fixed, within = np.zeros((d, len(DISPERSIONS))), np.zeros(d)
    for j in np.flatnonzero(family != NUMBER):
        values, level[j], times = np.unique(rows[j], return_inverse=True, return_counts=True)
        if family[j] == CATEGORIES:
            rank = np.argsort(np.argsort(-times, kind="stable"), kind="stable")
            level[j] = rank[level[j]]
        elif family[j] == COUNT:
            count[j] = np.round(rows[j])
            for k, r in enumerate(DISPERSIONS):
                fixed[j, k] = _gammas(count[j], r).sum()
            level[j] = _pooled(times)[level[j]]
            within[j] = _within(level[j], rows[j]).sum()
        elif len(values) > MOST_LEVELS:
            level[j] = _pooled(times)[level[j]]
        size[j] = level[j].max() + 1
    return Discrete(family, size, level, count, fixed, within)


def _gammas(count: np.ndarray, r: float) -> np.ndarray:
    """log Gamma(y + r) / (Gamma(r) y!)."""
    return special.gammaln(count + r) - special.gammaln(r) - special.gammaln(count + 1)


def _pooled(times: np.ndarray) -> np.ndarray:
    """A level for each of the ascending values: neighbours share one, so that no more than MOST_LEVELS are left."""
    if len(times) <= MOST_LEVELS:
        return np.arange(len(times))
    middle = (np.cumsum(times) - times / 2) / times.sum()
    return np.unique((middle * MOST_LEVELS).astype(np.int64), return_inverse=True)[1]


def _within(level: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(rows,) log share of each value within its level, a Dirichlet prior's predictive with half a row for each."""
    codes, times = np.unique(values, return_inverse=True, return_counts=True)[1:]
    rows = np.bincount(level)[level]
    alike = np.array([len(np.unique(codes[level == k])) for k in range(level.max() + 1)])[level]
    return np.log((times[codes] + 0.5) / (rows + 0.5 * alike))


# --- log evidence -----------------------------------------------------------------------------------------------------


@compiled
def by_family(discrete: Discrete, child: int, family: int, X: np.ndarray, rough: np.ndarray) -> tuple[float, float]:
    """Log evidence and greatest log likelihood of a child with the functions X (m, rows) of its causes.

    ``family`` is the child's own, or ORDERED for the levels of a count.
    """
    size, level = discrete.size[child], discrete.level[child]
    none = np.empty(0)
    if family == COUNT:
        w = first_weights(COUNTS, discrete.times[child], 0, len(X))
        found = fit(COUNTS, discrete.times[child], 0, discrete.fixed[child], X, rough, w)
        return found[0], found[1]
    if family == ORDERED:
        w = first_weights(LEVELS, level, size, len(X))
        found = fit(LEVELS, level, size, none, X, rough, w)
        return found[0] + discrete.within[child], found[1] + discrete.within[child]
    value, top = 0.0, 0.0
    for k in range(size - 1):
        y, part = _after(level, X, k)
        w = first_weights(LEVELS, y, 2, len(X))
        found = fit(LEVELS, y, 2, none, part, rough, w)
        value += found[0]
        top += found[1]
    return value, top


@compiled
def rows_by_family(
    discrete: Discrete, child: int, family: int, X: np.ndarray, rough: np.ndarray, out: np.ndarray
) -> None:
    """``out`` (rows,) becomes the log likelihood of each row at the top that :func:`by_family` finds.

    What no cause changes, the share of a count within its level, is left out.
    """
    size, level, none = discrete.size[child], discrete.level[child], np.empty(0)
    if family == COUNT:
        w = first_weights(COUNTS, discrete.times[child], 0, len(X))
        fit(COUNTS, discrete.times[child], 0, discrete.fixed[child], X, rough, w)
        rows_of(COUNTS, discrete.times[child], 0, discrete.fixed[child], X, w, out)
        return
    if family == ORDERED:
        w = first_weights(LEVELS, level, size, len(X))
        fit(LEVELS, level, size, none, X, rough, w)
        rows_of(LEVELS, level, size, none, X, w, out)
        return
    out[:] = 0.0
    for k in range(size - 1):
        y, part = _after(level, X, k)
        w = first_weights(LEVELS, y, 2, len(X))
        fit(LEVELS, y, 2, none, part, rough, w)
        some = np.empty(len(y))
        rows_of(LEVELS, y, 2, none, part, w, some)
        at = 0
        for t in range(len(level)):
            if level[t] >= k:
                out[t] += some[at]
                at += 1


@compiled
def rows_by_table(discrete: Discrete, child: int, S: np.ndarray, out: np.ndarray) -> None:
    """The same for the table of :func:`by_table`."""
    times, total, where = _table(discrete, child, S)
    cells, K = times.shape
    for t in range(len(where)):
        share = (times[where[t], discrete.level[child, t]] + 1 / (cells * K)) / (total[where[t]] + 1 / cells)
        out[t] = np.log(share)


@compiled
def _after(level: np.ndarray, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Of the rows of level k and above: whether they are above, and the functions there."""
    at = np.flatnonzero(level >= k)
    y, part = np.empty(len(at), np.int64), np.empty((len(X), len(at)))
    for t in range(len(at)):
        y[t] = 1 if level[at[t]] > k else 0
    for a in range(len(X)):
        for t in range(len(at)):
            part[a, t] = X[a, at[t]]
    return y, part


@compiled
def _table(discrete: Discrete, child: int, S: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How often each level has come (cells, levels), the rows of each combination of causes, and that of each row."""
    n, cells = discrete.level.shape[1], 1
    for j in S:
        cells *= discrete.size[j]
    times, total, where = np.zeros((cells, discrete.size[child])), np.zeros(cells), np.zeros(n, np.int64)
    for t in range(n):
        for j in S:
            where[t] = where[t] * discrete.size[j] + discrete.level[j, t]
        times[where[t], discrete.level[child, t]] += 1
        total[where[t]] += 1
    return times, total, where


@compiled
def by_table(discrete: Discrete, child: int, S: np.ndarray) -> float:
    """BDeu log evidence with one row's worth of prior; NaN if a cause is a number, or cells are too many."""
    K, n = discrete.size[child], discrete.level.shape[1]
    cells = 1
    for j in S:
        cells *= discrete.size[j]
        if cells == 0 or cells * 10 > n:
            return np.nan
    times, total, _ = _table(discrete, child, S)
    found = discrete.within[child]
    a, b = 1.0 / cells, 1.0 / (cells * K)
    for q in range(cells):
        if total[q] > 0:
            found += math.lgamma(a) - math.lgamma(a + total[q])
            for k in range(K):
                if times[q, k] > 0:
                    found += math.lgamma(b + times[q, k]) - math.lgamma(b)
    return found


# --- the fitted distribution of each row ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fitted:
    """A child's distribution given its causes, at the likeliest setting of the priors.

    Parameters
    ----------
    family : int
    weights : tuple of ndarray
        One array, or for categories one for each category but the last.
    dispersion : float
        Of counts.
    """

    family: int
    weights: tuple[np.ndarray, ...]
    dispersion: float = np.inf

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """(levels, rows) probability of each level where the functions of the causes are X (m, rows)."""
        if self.family == CATEGORIES:
            left, found = np.ones(X.shape[1]), []
            for w in self.weights:
                later = special.expit(w[1:] @ X - w[0])
                found.append(left * (1 - later))
                left = left * later
            return np.array([*found, left])
        (w,) = self.weights
        q = len(w) - len(X)
        below = special.expit(w[:q, None] - w[q:] @ X)
        return np.diff(np.concatenate([np.zeros_like(below[:1]), below, np.ones_like(below[:1])]), axis=0)

    def mean(self, X: np.ndarray) -> np.ndarray:
        """(rows,) mean of a count."""
        (w,) = self.weights
        return np.exp(np.clip(w[0] + w[1:] @ X, -30, 30))


def fit_rows(discrete: Discrete, child: int, family: int, X: np.ndarray, rough: np.ndarray) -> Fitted:
    """The distribution that :func:`by_family` found likeliest."""
    size, level = int(discrete.size[child]), discrete.level[child]
    none = np.empty(0)
    if family == COUNT:
        y = discrete.times[child]
        w = first_weights(COUNTS, y, 0, len(X))
        fit(COUNTS, y, 0, discrete.fixed[child], X, rough, w)
        found = Fitted(COUNT, (w,))
        mean = found.mean(X)
        likely = [stats.nbinom.logpmf(y, r, r / (r + mean)).sum() for r in DISPERSIONS]
        return Fitted(COUNT, (w,), float(DISPERSIONS[int(np.argmax(likely))]))
    if family == ORDERED:
        w = first_weights(LEVELS, level, size, len(X))
        fit(LEVELS, level, size, none, X, rough, w)
        return Fitted(ORDERED, (w,))
    weights = []
    for k in range(size - 1):
        y, part = _after(level, X, k)
        w = first_weights(LEVELS, y, 2, len(X))
        fit(LEVELS, y, 2, none, part, rough, w)
        weights.append(w)
    return Fitted(CATEGORIES, tuple(weights))


def log_likelihoods(discrete: Discrete, child: int, fitted: Fitted, X: np.ndarray) -> np.ndarray:
    """(rows,) log probability of each row's own value."""
    if fitted.family == COUNT:
        r, mean = fitted.dispersion, fitted.mean(X)
        return np.asarray(stats.nbinom.logpmf(discrete.times[child], r, r / (r + mean)))
    found = np.log(np.maximum(_own(discrete, child, fitted.probabilities(X)), 1e-300))
    if discrete.family[child] == COUNT:
        found += _within(discrete.level[child], discrete.times[child])
    return found


def quantile_residuals(
    discrete: Discrete, child: int, fitted: Fitted, X: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(rows,) randomised quantile residuals: standard normal and independent of the causes if the model holds.

    The probability of a lower value, plus a random share of that of the value itself, as a Gaussian quantile.

    References
    ----------
    Dunn and Smyth 1996, "Randomized quantile residuals".
    """
    if fitted.family == COUNT:
        y, r, mean = discrete.times[child], fitted.dispersion, fitted.mean(X)
        lower = np.asarray(stats.nbinom.cdf(y - 1, r, r / (r + mean)))
        own = np.asarray(stats.nbinom.pmf(y, r, r / (r + mean)))
    else:
        P = fitted.probabilities(X)
        own = _own(discrete, child, P)
        lower = np.take_along_axis(np.cumsum(P, axis=0), discrete.level[child][None], axis=0)[0] - own
    return special.ndtri(np.clip(lower + rng.random(len(own)) * own, 1e-12, 1 - 1e-12))


def _own(discrete: Discrete, child: int, P: np.ndarray) -> np.ndarray:
    return np.take_along_axis(P, discrete.level[child][None], axis=0)[0]
