"""Likelihoods of effects that are no numbers: levels with an order, and counts. Each gives a log evidence in nats.

*Levels* 0 < 1 < ... < K - 1, the cumulative logit: with s the logistic function, thresholds t_1 < ... < t_{K-1} and the
index u = sum over the parents' functions of w_k F_k,

    P(level <= k) = s(t_{k+1} - u).

Two levels are logistic regression. *Counts*, the negative binomial: mean mu = exp(b + u), variance mu + mu^2 / r, with
r averaged over a grid that ends near Poisson's. Weights have priors w_k ~ N(0, v_k), v_k = line for a straight line or
a category and bend / rough_k for a bent function, as for numbers but on the fixed scale of the index; thresholds and
intercept have a wide one, with every set of causes, the empty one too. Newton's method finds the top of likelihood
times prior, and with gradient g and curvature H of the log likelihood there, b = g + H w,

    log p(y | S, line, bend) = l - g'w - w'H w / 2 + b' (H + 1/V)^-1 b / 2 - 1/2 log det(I + V^1/2 H V^1/2)

(Laplace's approximation), averaged over the grid of (line, bend): from one H, taken at the best of the grid, for that
and its neighbours. What H promises is believed no further than one step: where causes nearly separate the levels,
likelihoods are far from quadratic, and a climb over the whole grid from one H ended at evidences above 0. The priors
keep weights finite where causes separate the levels perfectly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagtune.compiled import compiled
from dagtune.conditional.mechanisms import solve
from dagtune.conditional.numbers import DISPERSIONS, INDEX_BENDS, INDEX_LINES

__all__ = ["COUNTS", "LEVELS", "SETTINGS", "first_weights", "fit", "rows_of"]

#: The two families.
LEVELS, COUNTS = 0, 1
_LINES, _BENDS = len(INDEX_LINES), len(INDEX_BENDS)
#: The number of settings (line, bend), and the one at which Newton's method begins: 1 and 0.1.
SETTINGS = _LINES * _BENDS
_FIRST = 2 * _BENDS + 2
#: Prior variance of thresholds and intercept.
_WIDE = 100.0
#: Nats by which a step of Newton's method must promise to gain, to be made.
_ENOUGH = 0.01
_NEVER = -1e300


@compiled
def _softplus(x: float) -> float:
    """log(1 + exp(x))."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@compiled
def _of_levels(
    y: np.ndarray, K: int, X: np.ndarray, w: np.ndarray, g: np.ndarray, H: np.ndarray, kept: np.ndarray
) -> float:
    """Log likelihood of levels; ``g`` and ``H`` become its gradient and curvature, ``kept`` (rows,) each row's part.

    A row of level k has log s(t_{k+1} - u) + log s(u - t_k) + log(1 - exp(t_k - t_{k+1})), each only if there is such a
    threshold: the difference of two logistic functions as a product.
    """
    q, m, n = K - 1, len(X), len(y)
    for k in range(1, q):
        if w[k] <= w[k - 1] + 1e-9:
            return _NEVER
    g[:] = 0.0
    H[:] = 0.0
    first, second = np.empty(n), np.empty(n)
    cross = np.zeros((q, m))
    u = np.dot(np.ascontiguousarray(w[q:]), X) if m else np.zeros(n)
    upper, lower = np.zeros(n), np.zeros(n)
    total = 0.0
    gaps = np.zeros(K)
    for k in range(1, q):
        gaps[k] = np.log(-np.expm1(w[k - 1] - w[k]))
    for t in range(n):
        k, value = y[t], 0.0
        first[t], second[t] = 0.0, 0.0
        if k < q:
            above = w[k] - u[t]
            p = 1 / (1 + np.exp(-above)) if above > -700 else 0.0
            value -= _softplus(-above)
            upper[t] = p * (1 - p)
            first[t] -= 1 - p
            second[t] += upper[t]
            g[k] += 1 - p
            H[k, k] += upper[t]
        if k > 0:
            below = u[t] - w[k - 1]
            p = 1 / (1 + np.exp(-below)) if below > -700 else 0.0
            value -= _softplus(-below)
            lower[t] = p * (1 - p)
            first[t] += 1 - p
            second[t] += lower[t]
            g[k - 1] -= 1 - p
            H[k - 1, k - 1] += lower[t]
        if 0 < k < q:
            value += gaps[k]
            e = np.exp(w[k - 1] - w[k])
            slope, bend = e / (1 - e), e / (1 - e) ** 2
            g[k] += slope
            g[k - 1] -= slope
            H[k, k] += bend
            H[k - 1, k - 1] += bend
            H[k, k - 1] -= bend
            H[k - 1, k] -= bend
        kept[t] = value
        total += value
    if m:
        g[q:] = np.dot(X, first)
        H[q:, q:] = np.dot(X * second, X.T)
        for a in range(m):
            row = X[a]
            for t in range(n):
                k = y[t]
                if k < q:
                    cross[k, a] -= upper[t] * row[t]
                if k > 0:
                    cross[k - 1, a] -= lower[t] * row[t]
        H[:q, q:] = cross
        H[q:, :q] = cross.T
    return total


@compiled
def _of_counts(
    y: np.ndarray,
    fixed: np.ndarray,
    X: np.ndarray,
    w: np.ndarray,
    g: np.ndarray,
    H: np.ndarray,
    profile: np.ndarray,
) -> float:
    """Log likelihood of counts at the best dispersion; ``profile`` becomes that at each, ``g`` and ``H`` derivatives.

    ``fixed`` is, for each dispersion r, the sum over the rows of log Gamma(y + r) / (Gamma(r) y!).
    """
    m, n = len(X), len(y)
    u = np.dot(np.ascontiguousarray(w[1:]), X) if m else np.zeros(n)
    mean = np.empty(n)
    linear = 0.0
    for t in range(n):
        eta = min(max(w[0] + u[t], -30.0), 30.0)
        mean[t] = np.exp(eta)
        linear += y[t] * eta
    best = 0
    for k in range(len(DISPERSIONS)):
        r, total = DISPERSIONS[k], fixed[k] + linear
        log_r = np.log(r)
        for t in range(n):
            total += r * log_r - (r + y[t]) * np.log(r + mean[t])
        profile[k] = total
        if total > profile[best]:
            best = k
    r = DISPERSIONS[best]
    X1 = np.ones((m + 1, n))
    X1[1:] = X
    first, second = np.empty(n), np.empty(n)
    for t in range(n):
        share = r / (r + mean[t])
        first[t] = (y[t] - mean[t]) * share
        second[t] = mean[t] * share * (y[t] + r) / (r + mean[t])
    g[:] = np.dot(X1, first)
    H[:] = np.dot(X1 * second, X1.T)
    return profile[best]


class Response(NamedTuple):
    """An effect: its family, values, number of levels, and ``fixed`` of counts."""

    family: int
    y: np.ndarray
    levels: int
    fixed: np.ndarray


@compiled
def _log_likelihood(
    response: Response, X: np.ndarray, w: np.ndarray, g: np.ndarray, H: np.ndarray, kept: np.ndarray
) -> float:
    if response.family == LEVELS:
        return _of_levels(response.y, response.levels, X, w, g, H, kept)
    return _of_counts(response.y, response.fixed, X, w, g, H, kept)


@compiled
def first_weights(family: int, y: np.ndarray, K: int, m: int) -> np.ndarray:
    """Thresholds or intercept that fit the rows without causes, then a weight of 0 for each of m functions."""
    n = len(y)
    if family == COUNTS:
        w = np.zeros(1 + m)
        w[0] = np.log(max(y.mean(), 0.5 / n))
        return w
    w = np.zeros(K - 1 + m)
    below = 0.0
    for k in range(K - 1):
        for t in range(n):
            if y[t] == k:
                below += 1.0
        share = (below + 0.5 * (k + 1) / K) / (n + 0.5)
        w[k] = np.log(share / (1 - share))
    return w


@compiled
def _variances(setting: int, q: int, rough: np.ndarray) -> np.ndarray:
    """Prior variances of all weights; 0 for functions that the setting has not."""
    line, bend = INDEX_LINES[setting // _BENDS], INDEX_BENDS[setting % _BENDS]
    v = np.empty(q + len(rough))
    v[:q] = _WIDE
    for k in range(len(rough)):
        v[q + k] = line if rough[k] == 0.0 else bend / rough[k]
    return v


@compiled
def _laplace(value: float, g: np.ndarray, H: np.ndarray, w: np.ndarray, v: np.ndarray) -> float:
    """Log evidence with prior variances v, the log likelihood being quadratic around w."""
    p = 0
    for k in range(len(v)):
        if v[k] > 0:
            p += 1
    at = np.empty(p, np.int64)
    p = 0
    for k in range(len(v)):
        if v[k] > 0:
            at[p] = k
            p += 1
    b = g + np.dot(H, w)
    base = value - np.dot(g, w) - 0.5 * np.dot(w, np.dot(H, w))
    A, c, kept = np.empty((p, p)), np.empty(p), np.empty(p)
    for x in range(p):
        i = at[x]
        for z in range(x + 1):
            A[x, z] = np.sqrt(v[i] * v[at[z]]) * H[i, at[z]]
        A[x, x] += 1.0
        kept[x] = c[x] = np.sqrt(v[i]) * b[i]
    log_det = solve(A, c)
    return base + 0.5 * np.dot(kept, c) - 0.5 * log_det


@compiled
def _newton(
    response: Response, X: np.ndarray, v: np.ndarray, w: np.ndarray, g: np.ndarray, H: np.ndarray, kept: np.ndarray
) -> float:
    """``w`` becomes the top of likelihood times prior; the log likelihood there."""
    for k in range(len(w)):
        if v[k] == 0.0:
            w[k] = 0.0
    value = _log_likelihood(response, X, w, g, H, kept)
    p = len(w)
    inverse = np.empty(p)
    for k in range(p):
        inverse[k] = 1 / v[k] if v[k] > 0 else 1e12
    for _ in range(25):
        A, step = H.copy(), g - inverse * w
        slope = step.copy()
        for k in range(p):
            A[k, k] += inverse[k]
        solve(A, step)
        if np.dot(slope, step) < 2 * _ENOUGH:
            break
        goal = value - 0.5 * np.dot(inverse * w, w)
        length, moved = 1.0, False
        for _ in range(12):
            tried = w + length * step
            new = _log_likelihood(response, X, tried, g, H, kept)
            if new - 0.5 * np.dot(inverse * tried, tried) > goal:
                w[:], value, moved = tried, new, True
                break
            length *= 0.4
        if not moved:
            value = _log_likelihood(response, X, w, g, H, kept)
            break
    return value


@compiled
def fit(
    family: int, y: np.ndarray, K: int, fixed: np.ndarray, X: np.ndarray, rough: np.ndarray, w: np.ndarray
) -> tuple[float, float, int]:
    """Log evidence over all settings, log likelihood at the best one, and that setting.

    Parameters
    ----------
    family : {LEVELS, COUNTS}
    y : ndarray of int, shape (rows,)
    K : int
        The number of levels.
    fixed : ndarray
        Of counts, see above.
    X : ndarray, shape (m, rows)
        The functions of the causes.
    rough : ndarray, shape (m,)
    w : ndarray
        From :func:`first_weights`; becomes the top at the best setting.
    """
    q, m, response = len(w) - len(X), len(X), Response(family, y, K, fixed)
    g, H = np.empty(q + m), np.empty((q + m, q + m))
    kept = np.empty(len(y)) if family == LEVELS else np.empty(len(DISPERSIONS))
    if m == 0:
        v = _variances(0, q, rough)
        value = _newton(response, X, v, w, g, H, kept)
        return _laplace(value, g, H, w, v) + _spare(family, kept), value, 0
    bends = _BENDS if rough.max() > 0.0 else 1
    setting, own, values = _FIRST if bends > 1 else _FIRST - 2, np.full(SETTINGS, _NEVER), np.full(SETTINGS, _NEVER)
    value = 0.0
    while True:
        value = _newton(response, X, _variances(setting, q, rough), w, g, H, kept)
        own[setting] = _laplace(value, g, H, w, _variances(setting, q, rough))
        values[:] = own
        top = setting
        for move in range(4):
            line, bend = setting // _BENDS, setting % _BENDS
            if move < 2:
                line += 2 * move - 1
            else:
                bend += 2 * move - 5
            if not (0 <= line < _LINES and 0 <= bend < bends):
                continue
            k = line * _BENDS + bend
            if own[k] == _NEVER:
                values[k] = _laplace(value, g, H, w, _variances(k, q, rough))
            if values[k] > values[top]:
                top = k
        if top == setting:
            break
        seen = own[top] > _NEVER
        setting = top
        if seen:  # the two settings promise more of each other than they hold: the better one counts, by itself
            value = _newton(response, X, _variances(setting, q, rough), w, g, H, kept)
            values[:] = own
            break
    best = values.max()
    total = 0.0
    for k in range(SETTINGS):
        total += np.exp(values[k] - best)
    return best + np.log(total / (_LINES * bends)) + _spare(family, kept), value, setting


@compiled
def rows_of(
    family: int, y: np.ndarray, K: int, fixed: np.ndarray, X: np.ndarray, w: np.ndarray, out: np.ndarray
) -> None:
    """``out`` (rows,) becomes each row's log likelihood at the weights that :func:`fit` has found."""
    p = len(w)
    g, H = np.empty(p), np.empty((p, p))
    if family == LEVELS:
        _of_levels(y, K, X, w, g, H, out)
        return
    profile = np.empty(len(DISPERSIONS))
    _of_counts(y, fixed, X, w, g, H, profile)
    r = DISPERSIONS[np.argmax(profile)]
    u = np.dot(np.ascontiguousarray(w[1:]), X) if len(X) else np.zeros(len(y))
    for t in range(len(y)):
        eta = min(max(w[0] + u[t], -30.0), 30.0)
        ways = math.lgamma(y[t] + r) - math.lgamma(r) - math.lgamma(y[t] + 1.0)
        out[t] = ways + y[t] * eta + r * np.log(r) - (r + y[t]) * np.log(r + np.exp(eta))


@compiled
def _spare(family: int, profile: np.ndarray) -> float:
    """What the mean over dispersions has beyond the best of them."""
    if family == LEVELS:
        return 0.0
    best, total = profile.max(), 0.0
    for value in profile:
        total += np.exp(value - best)
    return np.log(total / len(profile))
