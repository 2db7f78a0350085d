"""Noise with a distribution of its own in each category of a cause.

Site, batch, drug, species: what differs between categories is often not the level alone. A density for each category
treats both directions between a category and a number alike: as an effect of the number, the category may have any
smooth log odds, and so the number any density in each category. Without this cell the number looked like the cause
wherever its density differed in more than level and scale.

    sum over categories k of  form(e_k) + n_k / 2 log(V / V_k) - 1/2 log n_k

beyond a Gaussian of variance V for all; form(e_k) is the mean over smooth tilts of a Gaussian and shaped densities.
Levels are the mechanism's. Rows of categories that are too few, or have too few different values for a density, keep
the common Gaussian.
"""

from __future__ import annotations

import numpy as np

from dagtune.compiled import compiled
from dagtune.conditional.discrete import CATEGORIES, Discrete
from dagtune.conditional.noise import shaped, tilt, tilt_rows
from dagtune.conditional.numbers import DISCRETE

__all__ = ["NEVER", "any_distribution", "any_rows", "parts", "tilt_apart"]

#: What is not possible.
NEVER = -1e300
#: Rows below which a category has no density of its own.
_FEWEST = 30
#: The least share of the variance that a category may have: exp(-6), as where the spread varies smoothly.
_LEAST = 0.0025


@compiled
def tilt_apart(e: np.ndarray, level: np.ndarray, size: int, out: np.ndarray) -> float:
    """Nats of a smooth distribution of any form in each category, beyond the Gaussian with the mean and variance of e.

    ``out`` (rows,), if it is not empty, becomes the log ratio of the density to that Gaussian at each row.
    """
    rows = len(e)
    mean = e.mean()
    variance = ((e - mean) ** 2).mean()
    out[:] = 0.0
    if variance <= 0.0:
        return NEVER
    times = np.zeros(size, np.int64)
    for t in range(rows):
        times[level[t]] += 1
    gain, own, left = 0.0, 0, 0
    for k in range(size):
        if times[k] == 0:
            continue
        part, at = np.empty(times[k]), 0
        for t in range(rows):
            if level[t] == k:
                part[at] = e[t]
                at += 1
        square = ((part - mean) ** 2).mean()
        if times[k] < _FEWEST or not _many(part):
            gain += 0.5 * times[k] * (1 - square / variance)
            left += 1
            continue
        middle, n = part.mean(), float(times[k])
        spread = ((part - middle) ** 2).mean()
        v = max(spread, _LEAST * variance)
        kept = np.empty(times[k] if len(out) > 0 else 0)
        form = np.logaddexp(tilt_rows(part, kept), shaped(part)) - np.log(2.0)
        gain += form + 0.5 * n * (np.log(variance / v) + 1 - spread / v) - 0.5 * np.log(n)
        own, at = own + 1, 0
        for t in range(len(out)):
            if level[t] == k:
                out[t] = kept[at] + 0.5 * np.log(variance / v) - 0.5 * (e[t] - middle) ** 2 / v
                out[t] += 0.5 * (e[t] - mean) ** 2 / variance
                at += 1
    if own == 0 or own + left < 2:
        return NEVER
    return gain + (0.5 * np.log(rows) if left == 0 else 0.0)


@compiled
def _many(x: np.ndarray) -> bool:
    """Whether there are so many different values that a density means something."""
    seen, count = np.empty(DISCRETE), 0
    for value in x:
        known = False
        for k in range(count):
            if abs(seen[k] - value) < 1e-9:
                known = True
                break
        if not known:
            if count == DISCRETE:
                return True
            seen[count] = value
            count += 1
    return False


@compiled
def parts(discrete: Discrete, j: int) -> bool:
    """Whether a cause parts the rows into categories.

    Two values do not: two densities and one logit have about as many parameters, so that with densities of their own
    hardly a direction between a number and a yes or no would be told.
    """
    return discrete.family[j] == CATEGORIES


@compiled
def any_distribution(discrete: Discrete, S: np.ndarray, e: np.ndarray) -> float:
    """Nats of noise of any form beyond the Gaussian: the mean over one form for all rows, and one in each category of
    each cause that has categories."""
    value, count = tilt(e), 1
    none = np.empty(0)
    for j in S:
        if parts(discrete, j):
            other = tilt_apart(e, discrete.level[j], discrete.size[j], none)
            if other > NEVER:
                value, count = np.logaddexp(value, other), count + 1
    return value - np.log(count)


@compiled
def any_rows(discrete: Discrete, S: np.ndarray, e: np.ndarray, out: np.ndarray) -> None:
    """``out`` (rows,) becomes the log ratio of the likeliest of these distributions to the Gaussian at each row."""
    best, other = tilt_rows(e, out), np.empty_like(out)
    for j in S:
        if parts(discrete, j):
            value = tilt_apart(e, discrete.level[j], discrete.size[j], other)
            if value > best:
                best = value
                out[:] = other
