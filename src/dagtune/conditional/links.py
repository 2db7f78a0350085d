"""What only rows can tell of an additive fit: a bent link, and noise that is not Gaussian.

An additive fit u = sum_j f_j(x_j) of y leaves e = y - u. Where y = g(u') + noise with a bent g, as in tanh of a sum, a
spline in u explains a part of e; :func:`judge` measures that part, less the straight line in u, so that undoing the
shrinkage of u is not taken for a bend. The negentropy of what remains says how far the noise is from Gaussian.

Both are sums over rows that fall into bins: the spline is a small regression on 64 bins of u, and the negentropy is
the divergence of a histogram from the Gaussian with the residuals' mean and variance,

    J = sum_b p_b log(p_b / q_b) - (m - 3) / (2 n),

over m bins, equally likely under that Gaussian except in the tails, where heavy ones show (the subtracted term is what
chance adds, two bins fewer because mean and variance are fitted). Binning can only lower a divergence: J is cautious.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from dagtune.compiled import compiled

__all__ = ["LINK_FREEDOM", "equal_bins", "judge", "link_fit", "negentropy"]

#: The link's spline lives on this many bins over +-_REACH standard deviations of u; beyond, it is constant.
_BINS, _REACH = 64, 2.5
_KNOTS = (-1.2, -0.4, 0.4, 1.2)
#: Degrees of freedom that a bent link costs beyond the straight line.
LINK_FREEDOM = 2 + len(_KNOTS)
#: Resolution of the table that finds a Gaussian bin: cells a standard deviation, standard deviations on each side. With
#: coarse cells the bins are not equally likely, and a Gaussian seems to be none.
_CELLS, _SIDE = 512, 8
#: Beyond the first of these, in standard deviations, bins are not equally likely, but reach to the next: there heavy
#: tails show.
_TAILS = np.array([2.5, 3.2, 4.0, 5.0, 6.5])
_TAIL_SHARES = -np.diff(special.ndtr(-np.append(_TAILS, np.inf)))
_TAIL_TOTAL = float(_TAIL_SHARES.sum())


def _link_basis() -> np.ndarray:
    """(bins, 8): 1, v, v^2, v^3 and four truncated cubes, made orthonormal in this order under a Gaussian weight."""
    v = (np.arange(_BINS) + 0.5) / _BINS * 2 * _REACH - _REACH
    raw = np.stack([np.ones(_BINS), v, v**2, v**3, *(np.maximum(v - knot, 0) ** 3 for knot in _KNOTS)], axis=1)
    weight = np.exp(-(v**2) / 4)[:, None]
    Q, _ = np.linalg.qr(raw * weight)
    return np.ascontiguousarray(Q / weight)


_BASIS = _link_basis()


def equal_bins(n: int) -> np.ndarray:
    """Table of cells -> bin. Bins are equally likely under a Gaussian, their number grows as n^0.4; then the tails'.

    First the bins of the lower tail, outwards, then those of the upper one: the last cell has the last bin.
    """
    bins = int(np.clip(2 * n**0.4, 8, 64))
    centres = (np.arange(2 * _SIDE * _CELLS) + 0.5) / _CELLS - _SIDE
    table = np.minimum((special.ndtr(centres) * bins).astype(np.int16), np.int16(bins - 1))
    tail = np.searchsorted(_TAILS, np.abs(centres)).astype(np.int16)
    return np.where(tail > 0, bins - 1 + tail + np.where(centres > 0, len(_TAILS), 0), table).astype(np.int16)


@compiled(fastmath=True)
def _bin_sums(u: np.ndarray, e: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bin of each row, and rows and sum of e in each bin."""
    where = np.empty(len(u), np.int64)
    count, total = np.zeros(_BINS), np.zeros(_BINS)
    step = _BINS / (2 * _REACH * spread)
    for t in range(len(u)):
        b = min(max(int(u[t] * step + _BINS / 2), 0), _BINS - 1)
        where[t] = b
        count[b] += 1.0
        total[b] += e[t]
    return where, count, total


@compiled(fastmath=True)
def _bend(count: np.ndarray, total: np.ndarray, n: int) -> tuple[float, np.ndarray]:
    """Squares of e that the bent part of the spline explains, and the bent part's values in the bins.

    Cholesky in the basis' order: the first two coordinates are the constant and the line, the rest is what is bent.
    """
    p = _BASIS.shape[1]
    A, z = np.zeros((p, p)), np.zeros(p)
    for b in range(_BINS):
        if count[b] > 0:
            for i in range(p):
                z[i] += _BASIS[b, i] * total[b]
                scaled = _BASIS[b, i] * count[b]
                for j in range(i + 1):
                    A[i, j] += scaled * _BASIS[b, j]
    explained = 0.0
    for i in range(p):
        A[i, i] += 1e-4 * n
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = np.sqrt(max(s, 1e-9 * n)) if i == j else s / A[j, j]
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
    return explained, values


def link_fit(u: np.ndarray, e: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Gain in log variance of e by a bent link, the bend at each row and its slope against u there."""
    n, spread = len(u), float(np.std(u))
    if spread < 1e-4:
        return 0.0, np.zeros(n), np.zeros(n)
    where, count, total = _bin_sums(u, e, spread)
    explained, values = _bend(count, total, n)
    low, high = np.maximum(np.arange(_BINS) - 1, 0), np.minimum(np.arange(_BINS) + 1, _BINS - 1)
    slope = (values[high] - values[low]) / (2 * _REACH * spread / _BINS * (high - low))
    return -np.log(max(1 - explained / max(float(e @ e), 1e-300), 1e-9)), values[where], slope[where]


@compiled(fastmath=True)
def negentropy(e: np.ndarray, table: np.ndarray) -> float:
    """J of the rows in e, in nats; about 0 if they are Gaussian."""
    n = len(e)
    mean, square = 0.0, 0.0
    for x in e:
        mean += x
        square += x * x
    mean /= n
    variance = square / n - mean * mean
    if variance < 1e-12:
        return 0.0
    scale = _CELLS / np.sqrt(variance)
    bins = table[-1] + 1
    count = np.zeros(bins)
    for x in e:
        count[table[min(max(int((x - mean) * scale + _SIDE * _CELLS), 0), len(table) - 1)]] += 1.0
    tails = len(_TAIL_SHARES)
    equal = bins - 2 * tails
    J, chance = 0.0, equal - 3.0
    for b in range(bins):
        share = 1.0 / equal
        if b >= equal:
            share = _TAIL_SHARES[(b - equal) % tails]
            few = n * share  # a bin that hardly anyone is expected in adds less by chance, about so much
            chance += 1 - np.exp(-2 * few * (1 - np.log(min(few, 1.0))))
        elif b == 0 or b == equal - 1:
            share -= _TAIL_TOTAL
        if count[b] > 0:
            J += count[b] * np.log(count[b] / (n * share))
    return J / n - chance / (2.0 * n)


@compiled(fastmath=True)
def judge(
    fits: np.ndarray,
    targets: np.ndarray,
    children: np.ndarray,
    penalty: np.ndarray,
    table: np.ndarray,
    any_noise: bool,
    smooth: np.ndarray,
) -> np.ndarray:
    """For each fit u (pairs, rows) of its child: what to take off log V.

    That is the gain by a bent link where it exceeds its ``penalty``, and with ``any_noise`` twice the negentropy of
    what remains, for children whose values are ``smooth``, not a few repeated numbers.
    """
    off = np.zeros(len(fits))
    n = fits.shape[1]
    e, u = np.empty(n), np.empty(n)
    for a in range(len(fits)):
        child = children[a]
        mean, square, left = 0.0, 0.0, 0.0
        for t in range(n):
            x = fits[a, t]
            u[t] = x
            e[t] = targets[child, t] - x
            mean += x
            square += x * x
            left += e[t] * e[t]
        spread = np.sqrt(max(square / n - (mean / n) ** 2, 0.0))
        bent = False
        if spread > 1e-4:
            where, count, total = _bin_sums(u, e, spread)
            explained, values = _bend(count, total, n)
            gain = -np.log(max(1 - explained / max(left, 1e-300), 1e-9)) - penalty[a]
            if gain > 0:
                off[a] = gain
                bent = True
        if any_noise and smooth[child]:
            if bent:
                for t in range(n):
                    e[t] -= values[where[t]]
            off[a] += 2 * negentropy(e, table)
    return off
