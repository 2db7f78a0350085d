"""What is left of a fit: its link, its spread and its distribution, each as nats beyond Gaussian noise of one variance.

A mechanism explains a variable y by u and leaves e = y - u. With Gaussian noise of one variance the log likelihood of
n rows is -n/2 (log 2 pi V + 1), V the mean square of e. The cells here say how many nats another model of the same e
adds, its parameters integrated out by Laplace's approximation, so that no further penalty is needed:

- *link*: y = g(u) + noise with a bent g; a cubic spline in u with six bent functions, charged 1/2 log n each.
- *spread*: e = exp(h / 2) w with log variance h, a sum of functions of the parents with Gaussian priors.
- *distribution*, any: the density of e is the Gaussian's times exp(theta . t(e)) / Z, with eleven functions t, three
  for the tails and eight cosines of the Gaussian distribution function, and priors theta_k ~ N(0, (s / k)^2), s
  averaged over two values. The rows enter by a histogram, each shared out between the middles of the two bins next to
  it: with whole rows in bins, a shift of many equal values by next to nothing would be worth many nats.
- *distribution*, shaped: exp(-|e / s|^b), one scale parameter as the Gaussian, for edges sharper than any smooth
  function has.
"""

from __future__ import annotations

import math
from math import lgamma
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dagtune.compiled import compiled
from dagtune.conditional.cholesky import factor, solve, substitute
from dagtune.conditional.numbers import NEGLIGIBLE, SHAPES, SPREADS, TILTS

__all__ = ["Spreading", "link", "shaped", "spread", "spreading", "tilt", "tilt_rows"]

# --- link -----------------------------------------------------------------------------------------------------------

#: The link's spline lives on this many bins over +-_REACH standard deviations of u; beyond, it is constant.
_BINS, _REACH = 64, 2.5
_KNOTS = (-1.2, -0.4, 0.4, 1.2)


def _link_basis() -> np.ndarray:
    """(bins, 8): 1, v, v^2, v^3 and four truncated cubes, made orthonormal in this order under a Gaussian weight."""
    v = (np.arange(_BINS) + 0.5) / _BINS * 2 * _REACH - _REACH
    raw = np.stack([np.ones(_BINS), v, v**2, v**3, *(np.maximum(v - knot, 0) ** 3 for knot in _KNOTS)], axis=1)
    weight = np.exp(-(v**2) / 4)[:, None]
    Q, _ = np.linalg.qr(raw * weight)
    return np.ascontiguousarray(Q / weight)


_BASIS = _link_basis()


@compiled(fastmath=True)
def link(u: np.ndarray, e: np.ndarray, out: np.ndarray) -> tuple[float, float]:
    """Nats of a bent link, and the fall of log V by it; ``out`` becomes what it leaves of e.

    The bent part of the spline alone counts: undoing the shrinkage of u, a line in u, is no bend.
    """
    rows = len(u)
    n = float(rows)
    mean, square, left = 0.0, 0.0, 0.0
    for t in range(rows):
        mean += u[t]
        square += u[t] * u[t]
        left += e[t] * e[t]
    mean /= rows
    deviation = np.sqrt(max(square / rows - mean * mean, 0.0))
    p = _BASIS.shape[1]
    if deviation * deviation * rows < 1e-6 * left:
        out[:] = e
        return -0.5 * (p - 2) * np.log(n), 0.0
    where = np.empty(rows, np.int64)
    count, total = np.zeros(_BINS), np.zeros(_BINS)
    step = _BINS / (2 * _REACH * deviation)
    for t in range(rows):
        b = min(max(int((u[t] - mean) * step + _BINS / 2), 0), _BINS - 1)
        where[t] = b
        count[b] += 1.0
        total[b] += e[t]
    A, z = np.zeros((p, p)), np.zeros(p)
    for b in range(_BINS):
        if count[b] > 0:
            for i in range(p):
                z[i] += _BASIS[b, i] * total[b]
                scaled = _BASIS[b, i] * count[b]
                for j in range(i + 1):
                    A[i, j] += scaled * _BASIS[b, j]
    explained = 0.0
    for i in range(p):  # Cholesky in the basis' order: constant and line first, the rest is what is bent
        A[i, i] += 1e-4 * rows
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = np.sqrt(max(s, 1e-9 * rows)) if i == j else s / A[j, j]
        for j in range(i):
            z[i] -= A[i, j] * z[j]
        z[i] /= A[i, i]
        if i >= 2:
            explained += z[i] * z[i]
    z[0] = z[1] = 0.0
    for i in range(p - 1, -1, -1):
        for j in range(i + 1, p):
            z[i] -= A[j, i] * z[j]
        z[i] /= A[i, i]
    values = np.zeros(_BINS)
    for b in range(_BINS):
        for i in range(p):
            values[b] += _BASIS[b, i] * z[i]
    for t in range(rows):
        out[t] = e[t] - values[where[t]]
    fall = -np.log(max(1 - explained / max(left, 1e-300), 1e-9))
    return 0.5 * n * fall - 0.5 * (p - 2) * np.log(n), fall


# --- spread ---------------------------------------------------------------------------------------------------------

#: Log variances of the noise stay within so many nats of their mean: beyond, single rows would decide.
_FAR = 6.0


class Spreading(NamedTuple):
    """What all varying spreads on the same m functions share, for each prior variance s of SPREADS.

    Parameters
    ----------
    idx : ndarray of int, shape (m,)
        The functions.
    precision : ndarray, shape (len(SPREADS), m)
        Of their coefficients before the data.
    factors : ndarray, shape (len(SPREADS), m, m)
        Cholesky factors of the precision after the data.
    log_det, half_log : ndarray, shape (len(SPREADS),)
        Log determinant of that; half the log determinant of the precision before the data.
    """

    idx: np.ndarray
    precision: np.ndarray
    factors: np.ndarray
    log_det: np.ndarray
    half_log: np.ndarray


@compiled
def spreading(idx: np.ndarray, G: np.ndarray, rough: np.ndarray) -> Spreading:
    """The varying spreads on some functions: the information of their coefficients is G / 2, whatever these are."""
    m, count = len(idx), len(SPREADS)
    lam, H = np.empty((count, m)), np.empty((count, m, m))
    log_det, half_log = np.empty(count), np.zeros(count)
    for q in range(count):
        for k in range(m):
            lam[q, k] = max(rough[idx[k]], 1.0) / SPREADS[q]
            half_log[q] += 0.5 * np.log(lam[q, k])
            for j in range(k + 1):
                H[q, k, j] = 0.5 * G[idx[k], idx[j]]
            H[q, k, k] += lam[q, k]
        log_det[q] = factor(H[q])
    return Spreading(idx, lam, H, log_det, half_log)


@compiled(fastmath=True)
def spread(F: np.ndarray, given: Spreading, e: np.ndarray, out: np.ndarray) -> float:
    """Nats of a noise variance that varies with the parents; ``out`` becomes the residuals brought to one variance.

    log variance = mu + sum_k b_k F_k, b_k ~ N(0, s / rough_k), mu at its maximum. Fisher scoring: the information of b
    is G / 2 whatever b is, so one factor serves all steps. Averaged over two values of s. Where the first step
    promises nothing, no second is made: the evidence is negligible then, and so is its error.
    """
    idx = given.idx
    rows, m = len(e), len(idx)
    n = float(rows)
    v = 0.0
    for t in range(rows):
        v += e[t] * e[t]
    v /= rows
    w = np.empty(rows)
    for t in range(rows):
        w[t] = 0.5 * (e[t] * e[t] / v - 1)
    first = np.empty(m)
    for k in range(m):
        row, s = F[idx[k]], 0.0
        for t in range(rows):
            s += row[t] * w[t]
        first[k] = s
    best, evidence = -1e300, np.empty(len(SPREADS))
    b, step, gradient = np.empty(m), np.empty(m), np.empty(m)
    h, tried = np.empty(rows), np.empty(rows)
    for q in range(len(SPREADS)):
        lam, log_det, half_log = given.precision[q], given.log_det[q], given.half_log[q]
        b[:] = 0.0
        gradient[:] = first
        h[:] = 0.0
        value = 0.0  # beyond a constant variance
        for turn in range(8):
            rise = 0.0
            step[:] = gradient
            substitute(given.factors[q], step)
            for k in range(m):
                rise += 0.5 * gradient[k] * step[k]
            if rise < 0.05 or (turn == 0 and 2 * rise + half_log - 0.5 * log_det < -NEGLIGIBLE):
                break
            length, fit, mu = 1.0, 0.0, 0.0
            for _ in range(6):
                tried[:] = 0.0
                fit = 0.0
                for k in range(m):
                    c, row = b[k] + length * step[k], F[idx[k]]
                    fit -= 0.5 * lam[k] * c * c
                    for t in range(rows):
                        tried[t] += c * row[t]
                s, total = 0.0, 0.0
                for t in range(rows):
                    x = min(max(tried[t], -_FAR), _FAR)
                    tried[t] = x
                    total += x
                    w[t] = e[t] * e[t] * np.exp(-x)
                    s += w[t]
                mu = s / rows
                fit -= 0.5 * total + 0.5 * n * np.log(mu / v)
                if fit >= value - 1e-9:
                    break
                length *= 0.5
            if fit < value:
                break
            h, tried = tried, h
            done = fit - value < 0.05
            value = fit
            for k in range(m):
                b[k] += length * step[k]
            if done:
                break
            for t in range(rows):
                w[t] = 0.5 * (w[t] / mu - 1)
            for k in range(m):
                row, s = F[idx[k]], 0.0
                for t in range(rows):
                    s += row[t] * w[t]
                gradient[k] = s - lam[k] * b[k]
        evidence[q] = value + half_log - 0.5 * log_det
        if evidence[q] > best:
            best = evidence[q]
            if value > 0:
                for t in range(rows):
                    out[t] = e[t] * np.exp(-0.5 * h[t])
            else:
                out[:] = e
    total = 0.0
    for q in range(len(SPREADS)):
        total += np.exp(evidence[q] - best)
    return best + np.log(total / len(SPREADS))


# --- distribution ---------------------------------------------------------------------------------------------------


#: Table that finds a bin: cells a standard deviation, standard deviations on each side.
_CELLS, _SIDE = 64, 8


def _bin_edges(equal: int = 48) -> np.ndarray:
    """Equally likely bins under the Gaussian, finer ones in the tails, where heavy ones show; each of whole cells."""
    inner = ndtri(np.arange(1, equal) / equal)
    tails = np.array([2.4, 2.8, 3.2, 3.7, 4.3, 5.0, 6.0, 7.0])
    return np.round(np.concatenate([-tails[::-1], inner[np.abs(inner) < 2.3], tails]) * _CELLS) / _CELLS


_EDGES = _bin_edges()
_SHARE = np.diff(np.r_[0.0, ndtr(_EDGES), 1.0])
_LOG_SHARE = np.log(np.maximum(_SHARE, 1e-300))
_MIDDLES = np.r_[_EDGES[0] - 0.5, (_EDGES[1:] + _EDGES[:-1]) / 2, _EDGES[-1] + 1.0]


def _tilt_functions(cosines: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """(bins, 11) functions of mean 0 under the Gaussian, and the prior standard deviations of their coefficients."""
    z = _MIDDLES
    tails = [z * z / 2 - np.log1p(z * z / 2), np.sqrt(1 + z * z), z * np.sqrt(1 + z * z) / 2]
    waves = [np.cos(np.pi * k * ndtr(z)) * np.sqrt(2) for k in range(1, cosines + 1)]
    t = np.array(tails + waves).T
    return np.ascontiguousarray(t - _SHARE @ t), np.array([0.5, 1.0, 0.5] + [1.0 / k for k in range(1, cosines + 1)])


_T, _PRIOR = _tilt_functions()
_COVARIANCE = _T.T @ (_SHARE[:, None] * _T)
_CELL_BIN = np.searchsorted(_EDGES, (np.arange(2 * _SIDE * _CELLS) + 0.5) / _CELLS - _SIDE).astype(np.int64)


@compiled
def tilt(e: np.ndarray) -> float:
    """Nats of a smooth distribution of any form beyond the Gaussian with the mean and variance of e."""
    return tilt_rows(e, np.empty(0))


@compiled(fastmath=True)
def tilt_rows(e: np.ndarray, out: np.ndarray) -> float:
    """The same; ``out`` (rows,), if it is not empty, becomes the log ratio of the density to the Gaussian at each."""
    rows, bins, p = len(e), len(_SHARE), len(_PRIOR)
    mean, square = 0.0, 0.0
    for x in e:
        mean += x
        square += x * x
    mean /= rows
    variance = square / rows - mean * mean
    out[:] = 0.0
    if variance < 1e-14 * max(square / rows, 1e-300):
        return 0.0
    count = np.zeros(bins)
    n, scale, last = float(rows), 1 / np.sqrt(variance), len(_CELL_BIN) - 1
    for x in e:
        z = (x - mean) * scale
        if z <= _MIDDLES[0]:
            count[0] += 1.0
        elif z >= _MIDDLES[bins - 1]:
            count[bins - 1] += 1.0
        else:
            b = _CELL_BIN[min(max(int((z + _SIDE) * _CELLS), 0), last)]
            if z < _MIDDLES[b]:
                b -= 1
            w = (z - _MIDDLES[b]) / (_MIDDLES[b + 1] - _MIDDLES[b])
            count[b] += 1.0 - w
            count[b + 1] += w
    plain = 0.0
    for b in range(bins):
        plain += count[b] * _LOG_SHARE[b]
    theta, new, step = np.zeros(p), np.empty(p), np.zeros(p)
    lam, log_p, share = np.empty(p), np.empty(bins), np.empty(bins)
    mu, H = np.empty(p), np.empty((p, p))
    first = np.zeros(p)
    for b in range(bins):
        off = count[b] - n * _SHARE[b]
        for k in range(p):
            first[k] += off * _T[b, k]
    evidence, ratio = np.empty(len(TILTS)), np.zeros((len(TILTS), bins))
    for r in range(len(TILTS)):
        half_log, rise = 0.0, 0.0
        for k in range(p):
            lam[k] = 1 / (TILTS[r] * _PRIOR[k]) ** 2
            half_log += 0.5 * np.log(lam[k])
            step[k] = first[k]
            for j in range(k + 1):
                H[k, j] = n * _COVARIANCE[k, j]
            H[k, k] += lam[k]
        log_det = solve(H, step)
        for k in range(p):
            rise += 0.5 * first[k] * step[k]
        if rise < 2.0:  # so near the Gaussian the first step is the last
            evidence[r] = rise + half_log - 0.5 * log_det
            for b in range(bins):
                for k in range(p):
                    ratio[r, b] += _T[b, k] * step[k]
            continue
        value, log_det = -1e300, 0.0
        step[:] = 0.0
        for turn in range(12):
            length, fit, log_z = 1.0, 0.0, 0.0
            for _ in range(8):
                most = -1e300
                for k in range(p):
                    new[k] = theta[k] + length * step[k]
                for b in range(bins):
                    s = _LOG_SHARE[b]
                    for k in range(p):
                        s += _T[b, k] * new[k]
                    log_p[b] = s
                    most = max(most, s)
                z = 0.0
                for b in range(bins):
                    share[b] = np.exp(log_p[b] - most)
                    z += share[b]
                log_z = most + np.log(z)
                fit = 0.0
                for b in range(bins):
                    share[b] /= z
                    fit += count[b] * (log_p[b] - log_z)
                for k in range(p):
                    fit -= 0.5 * lam[k] * new[k] * new[k]
                if fit >= value - 1e-9:
                    break
                length *= 0.5
            done = turn > 0 and fit - value < 0.01
            theta[:] = new
            value = fit
            mu[:] = 0.0
            step[:] = 0.0
            for b in range(bins):
                off = count[b] - n * share[b]
                for k in range(p):
                    mu[k] += share[b] * _T[b, k]
                    step[k] += off * _T[b, k]
            H[:] = 0.0
            for b in range(bins):
                s = n * share[b]
                for k in range(p):
                    a = s * (_T[b, k] - mu[k])
                    for j in range(k + 1):
                        H[k, j] += a * (_T[b, j] - mu[j])
            for k in range(p):
                H[k, k] += lam[k]
                step[k] -= lam[k] * theta[k]
            log_det = solve(H, step)
            if done:
                break
        evidence[r] = value - plain + half_log - 0.5 * log_det
        for b in range(bins):
            ratio[r, b] = np.log(share[b]) - _LOG_SHARE[b]
    best = ratio[0] if evidence[0] > evidence[1] else ratio[1]
    for t in range(len(out)):
        z = min(max((e[t] - mean) * scale, _MIDDLES[0]), _MIDDLES[bins - 1])
        b = _CELL_BIN[min(max(int((z + _SIDE) * _CELLS), 0), last)]
        if z < _MIDDLES[b]:
            b -= 1
        if b >= bins - 1:
            out[t] = best[bins - 1]
        else:
            w = (z - _MIDDLES[b]) / (_MIDDLES[b + 1] - _MIDDLES[b])
            out[t] = (1 - w) * best[b] + w * best[b + 1]
    most = max(evidence[0], evidence[1])
    return most + np.log((np.exp(evidence[0] - most) + np.exp(evidence[1] - most)) / 2)


_LOG_GAMMA = np.array([lgamma(1 + 1 / b) for b in SHAPES])


@compiled(fastmath=True)
def shaped(e: np.ndarray) -> float:
    """Nats of the densities exp(-|e - m|^b / s^b), averaged over their shapes b, beyond the Gaussian; m the mean."""
    rows = len(e)
    n = float(rows)
    mean, square, low, high = 0.0, 0.0, 1e300, -1e300
    for x in e:
        mean += x
        square += x * x
        low, high = min(low, x), max(high, x)
    mean /= rows
    variance = square / rows - mean * mean
    if variance < 1e-14 * max(square / rows, 1e-300):
        return 0.0
    far = max(high - mean, mean - low)
    sums = np.zeros(3)
    for x in e:
        a = abs(x - mean) / far
        a2 = a * a
        a5 = a2 * a2 * a
        a10 = a5 * a5
        sums[0] += a
        sums[1] += a5
        sums[2] += a10 * a10
    gain, most = np.empty(5), -1e300
    root = 1 / np.sqrt(variance)
    third = 0.0
    for x in e:
        third += (x - mean) ** 3
    sign = 1.0 if third >= 0 else -1.0
    gain[3] = gain[4] = -1e300
    skewness = abs(third) / rows * root**3
    for k in range(3, 5):  # an exponential, its edge blurred by a Gaussian; no match for rows that are not skewed
        if skewness < 0.5:
            continue
        r = 0.1 if k == 3 else 0.3
        wide, total = np.sqrt(1 + r * r), 0.0
        for x in e:
            v = sign * (x - mean) * root * wide + 1
            a = v / r - r
            tail = 0.5 * math.erfc(-a * 0.7071067811865476) if a > -25 else 0.0
            if tail > 0:
                total += -v + 0.5 * r * r + np.log(tail)
            else:
                total += -v + 0.5 * r * r - 0.5 * a * a - np.log(-a * 2.5066282746310002)
        gain[k] = n * (0.5 * (np.log(2 * np.pi) + 1) + np.log(wide)) + total - np.log(2.0)
        most = max(most, gain[k])
    for k in range(3):
        b = SHAPES[k]
        log_scale = np.log(far) + np.log(b * sums[k] / rows) / b
        gain[k] = n * (0.5 * (np.log(2 * np.pi * variance) + 1) - np.log(2.0) - log_scale - _LOG_GAMMA[k] - 1 / b)
        most = max(most, gain[k])
    total = 0.0
    for k in range(5):
        total += np.exp(gain[k] - most)
    return most + np.log(total / 5)
