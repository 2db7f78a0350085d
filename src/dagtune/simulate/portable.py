"""exp, log, tanh, sigmoid, sin, cos and normal draws that are identical on every machine, to the last bit.

The ``exp`` or ``sin`` of a library differs in the last digit between processors, and deep graphs amplify that: one
wrong last digit grew to 1e-11 of a column's size at 40 nodes. Everything here consists of additions, multiplications,
divisions and square roots of whole arrays, which IEEE 754 defines to the last bit, and of sums in a fixed order, so
simulated data need no tolerance. Each function agrees with numpy's to 1e-15, as the tests check.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["cos", "exp", "left_sum", "log", "mean_and_spread", "normal", "sigmoid", "sin", "tanh", "uniform"]

# ln 2 and pi as sums of pieces; all but the last end in zero bits, so that k times a piece is exact for |k| < 2^20.
_LN2 = (float.fromhex("0x1.62e42fefp-1"), float.fromhex("0x1.473de6af278edp-34"))
_PI = (float.fromhex("0x1.921fb544p+1"), float.fromhex("0x1.0b4611a6p-33"), float.fromhex("0x1.3198a2e037073p-68"))


def exp(x: np.ndarray) -> np.ndarray:
    """e^x = 2^k e^r with |r| <= ln 2 / 2 and the Taylor series of e^r; x is clipped to [-745, 709]."""
    x = np.clip(x, -745.0, 709.0)
    k = np.rint(x / (_LN2[0] + _LN2[1]))
    r = (x - k * _LN2[0]) - k * _LN2[1]
    return np.ldexp(_horner(r, [1.0 / math.factorial(n) for n in range(15)]), k.astype(np.int64))


def log(x: np.ndarray) -> np.ndarray:
    """ln x = k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), for x = m 2^k > 0 with m between sqrt(1/2) and sqrt(2)."""
    m, k = np.frexp(x)
    small = m < math.sqrt(0.5)
    m, k = np.where(small, 2.0 * m, m), np.where(small, k - 1, k).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    series = s * _horner(s * s, [2.0 / (2 * n + 1) for n in range(12)])
    return k * _LN2[0] + (k * _LN2[1] + series)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + e^-x), without overflow for large |x|."""
    shrunk = exp(-np.abs(x))
    return np.where(x >= 0, 1.0, shrunk) / (1.0 + shrunk)


def tanh(x: np.ndarray) -> np.ndarray:
    """(1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x."""
    shrunk = exp(-2.0 * np.abs(x))
    return np.copysign((1.0 - shrunk) / (1.0 + shrunk), x)


def sin(x: np.ndarray) -> np.ndarray:
    """sin x = +-sin r with |r| <= pi / 2 and the Taylor series of sin r; to 1e-15 for |x| < 10^6."""
    k, r = _fold(x)
    return k * (r * _horner(r * r, [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(13)]))


def cos(x: np.ndarray) -> np.ndarray:
    """cos x = +-cos r with |r| <= pi / 2 and the Taylor series of cos r; to 1e-15 for |x| < 10^6."""
    k, r = _fold(x)
    return k * _horner(r * r, [(-1.0) ** n / math.factorial(2 * n) for n in range(13)])


def uniform(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Uniform on [0, 1)."""
    return rng.random(shape)


def normal(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Standard normal by Box and Muller: sqrt(-2 ln u) cos(2 pi v), u uniform on (0, 1], v on [0, 1)."""
    shape = (shape,) if isinstance(shape, int) else shape
    pair = uniform(rng, (*shape, 2))
    return np.sqrt(-2.0 * log(1.0 - pair[..., 0])) * cos(2.0 * math.pi * pair[..., 1])


def left_sum(terms: np.ndarray) -> np.ndarray:
    """Sum over the last axis from first to last; the order of numpy's own summation depends on the processor."""
    total = np.zeros(terms.shape[:-1])
    for term in np.moveaxis(terms, -1, 0):
        total += term
    return total


def mean_and_spread(x: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (divisor n) of a vector, from exactly rounded sums."""
    mean = math.fsum(x) / len(x)
    return mean, math.sqrt(math.fsum((x - mean) ** 2) / len(x))


def _fold(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sign (-1)^k and remainder r = x - k pi with |r| <= pi / 2; past 10^6, whole turns of the float 2 pi go first."""
    x = np.where(np.abs(x) > 1e6, np.fmod(x, 2.0 * math.pi), x)
    k = np.rint(x / math.pi)
    r = ((x - k * _PI[0]) - k * _PI[1]) - k * _PI[2]
    return 1.0 - 2.0 * (k - 2.0 * np.floor(k / 2.0)), r


def _horner(x: np.ndarray, coefficients: list[float]) -> np.ndarray:
    """Polynomial with these coefficients, lowest power first."""
    total = np.full_like(x, coefficients[-1], dtype=np.float64)
    for coefficient in reversed(coefficients[:-1]):
        total *= x
        total += coefficient
    return total
