"""One kernel on the range of one variable -> a short signed expansion with an error bound.

A smooth kernel of one variable is a short sum of products, ``k(x, x') = sum_a s_a phi_a(x) phi_a(x')``. The signs
s_a = +-1 allow for kernels that are not positive semi-definite. There are two ways to find the phi:

- **Series.** On an interval the kernel is a Chebyshev series in each argument; the eigenvectors of its coefficient
  matrix give the phi. Intervals are rounded outwards, so that many columns share one series. The sigmoid kernel is
  sharp where one argument is large, but in log coordinates, ``tanh(x x') = sign(x) sign(x') tanh(exp(p + p'))`` with
  ``p = log|x|``, it is analytic, also for huge values.
- **Landmarks.** Where the range is so large that a series would be long (heavy tails), pivoted Cholesky picks points
  of the sample, ``phi(x) = k(x, P) L^-T``. For positive semi-definite kernels what it leaves out is known exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.fft import dctn
from scipy.linalg import solve_triangular

from dagtune.compiled import compiled
from dagtune.engine.kernels import Kernel

__all__ = [
    "COARSE",
    "FINE",
    "NOTHING",
    "USUAL",
    "Expansion",
    "Landmarks",
    "Place",
    "Sample",
    "Series",
    "expand",
    "moments",
    "series_values",
]

#: What an expansion may leave out, in units of the kernel: of a sum that is used as it is, of a column whose features
#: are compressed, and of one for which that is too coarse.
COARSE, USUAL, FINE = 1e-9, 1e-11, 1e-14
#: Degrees that are tried; a kernel that needs more is left to landmarks or to the dense path.
_DEGREES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
#: With more landmarks than this, features would no longer be of low rank.
_MAX_LANDMARKS = 1024
#: In a long sample that occupies more half bandwidths than this, landmarks are not worth looking for.
_MAX_OCCUPIED = 256


class Sample(NamedTuple):
    """What is known about a column before its expansion: bandwidth, extremes, smallest |x|, and some of its values."""

    bandwidth: float
    low: float
    high: float
    smallest: float
    values: np.ndarray

    def origin(self, kernel: Kernel) -> float:
        """The zero of the kernel's coordinate: the middle of the range if the kernel allows a shift, otherwise 0."""
        return self.low / 2 + self.high / 2 if kernel.of == "difference" else 0.0


@dataclass(frozen=True)
class Series:
    """Chebyshev polynomials T_0, T_1, ... on the interval ``centre`` +- ``half``.

    With a ``floor`` above 0 they are taken in log coordinates, sign(x) T_k(log|x|), and are linear in x where |x| is
    below the floor.
    """

    centre: float
    half: float
    floor: float = 0.0


@dataclass(frozen=True)
class Landmarks:
    """k(x, P) for points P of the sample."""

    kernel: Kernel
    points: np.ndarray

    def terms(self, x: np.ndarray, count: int) -> np.ndarray:
        """(count, n) values of the first ``count`` terms at n points."""
        return self.kernel(self.points[:count, None], x[None, :])


class Place(NamedTuple):
    """A series and its argument ``(X_j + X_k + ... - origin) scale``, j, k, ... being the ``members``; see Series."""

    members: np.ndarray
    origin: float
    scale: float
    centre: float
    half: float
    floor: float


@compiled(fastmath=True)
def series_values(
    chunk: np.ndarray, place: Place, combination: np.ndarray, offset: np.ndarray, out: np.ndarray
) -> None:
    """out (r, n) = combination (r, m) of the terms of a series at the rows of a (d, n) chunk, less the offset.

    The terms are T_(k+1) = 2 t T_k - T_(k-1). One call per column, so threads do not wait.
    """
    n, count = chunk.shape[1], combination.shape[1]
    terms, t = np.empty((count, n)), np.empty(n)
    for i in range(n):
        x = 0.0
        for member in place.members:
            x += chunk[member, i]
        x = (x - place.origin) * place.scale
        if place.floor > 0.0:
            weight = 1.0 if x > 0.0 else -1.0
            x = abs(x)
            if x < place.floor:
                weight *= x / place.floor
                x = place.floor
            terms[0, i] = weight
            t[i] = (np.log(x) - place.centre) / place.half
        else:
            terms[0, i] = 1.0
            t[i] = (x - place.centre) / place.half
    if count > 1:
        for i in range(n):
            terms[1, i] = t[i] * terms[0, i]
    for k in range(2, count):
        for i in range(n):
            terms[k, i] = 2.0 * t[i] * terms[k - 1, i] - terms[k - 2, i]
    np.dot(combination, terms, out)
    for a in range(len(offset)):
        for i in range(n):
            out[a, i] -= offset[a]


@compiled
def moments(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums over the rows of phi (r,) and phi phi^T (r, r)."""
    r = len(phi)
    total, gram = np.empty(r), np.empty((r, r))
    for a in range(r):
        total[a] = 0.0
        for i in range(phi.shape[1]):
            total[a] += phi[a, i]
    np.dot(phi, phi.T, gram)
    return total, gram


@dataclass(frozen=True)
class Expansion:
    """k(x, x') = sum_a signs[a] phi_a(x) phi_a(x') + error, where phi = weights^T terms(x).

    ``error`` bounds what is left out, uniformly. Landmarks leave out an amount known only at the rows: then
    ``diagonal`` is k(x, x), and what is left out is at most the sum of k(x, x) - |phi(x)|^2 over the rows.
    """

    basis: Series | Landmarks
    weights: np.ndarray
    signs: np.ndarray
    error: float
    #: What rounding does to a kernel value.
    rounding: float
    diagonal: float | None = None


#: The expansion of a constant: no features.
NOTHING = Expansion(Series(0.0, 1.0), np.zeros((1, 0)), np.zeros(0), error=0.0, rounding=0.0)


def expand(kernel: Kernel, sample: Sample, *, centred: bool = True, error: float = USUAL) -> Expansion | None:
    """An expansion of ``kernel`` on the range of a sample, in units of the bandwidth and from the sample's origin.

    ``centred`` leaves out the constant term, which centring removes anyway. ``error`` is what may be left out, in units
    of the kernel. The result is None if the kernel has no short expansion on this range.
    """
    low, high = sample.low / sample.bandwidth, sample.high / sample.bandwidth
    if kernel.of == "difference":
        reach = _round_up((high - low) / 2)
        series = _series(kernel, -reach, reach, error, centred)
        if series is None and kernel.definite:
            points = (sample.values - sample.origin(kernel)) / sample.bandwidth
            return _landmarks(kernel, points, error)
        return series
    if kernel.name == "sigmoid":
        reach = _round_up(max(abs(low), abs(high)))
        # below the floor tanh(x x') is linear in x: off by at most (floor reach)^3 / 3, a small part of tanh(reach^2)
        floor = min((0.3 * error * min(1.0, reach**2)) ** (1 / 3) / reach, reach / 2)
        linear = sample.smallest / sample.bandwidth < floor
        if not linear:  # all values are farther from 0: a shorter interval will do
            floor = 1.0 / _round_up(sample.bandwidth / sample.smallest)
        return _log_series(floor, reach, error, linear)
    step = _round_up(high - low) / 16
    return _series(kernel, float(np.floor(low / step) * step), float(np.ceil(high / step) * step), error, centred)


def _round_up(value: float) -> float:
    """The next of 16 steps per octave, at most 6 % above: columns of about the same width then share a series."""
    step = 2.0 ** (np.floor(np.log2(value)) - 4)
    return float(np.ceil(value / step) * step)


@lru_cache(maxsize=1024)
def _series(kernel: Kernel, low: float, high: float, error: float, centred: bool) -> Expansion | None:
    """Chebyshev series of a kernel on [low, high]^2."""
    centre, half = (low + high) / 2, (high - low) / 2

    def values(nodes: np.ndarray) -> np.ndarray:
        points = centre + half * nodes
        return kernel(points[:, None], points[None, :])

    found = _coefficients(values, error, centred)
    return None if found is None else _diagonalise(found, Series(centre, half), error)


@lru_cache(maxsize=1024)
def _log_series(floor: float, reach: float, error: float, linear: bool) -> Expansion | None:
    """tanh(exp(p + p')) for p in [log floor, log reach]: analytic, however large the reach.

    ``linear`` says whether there are points below the floor.
    """
    low, high = float(np.log(floor)), float(np.log(reach))
    centre, half = (low + high) / 2, max((high - low) / 2, 1e-3)
    found = _coefficients(
        lambda nodes: np.tanh(np.exp(np.add.outer(centre + half * nodes, centre + half * nodes))), error, False
    )
    if found is None:
        return None
    return _diagonalise(found, Series(centre, half, floor), error, linear * (floor * reach) ** 3 / 3)


@dataclass(frozen=True)
class _Coefficients:
    """The (m, m) coefficients of a series, what it leaves out, and what rounding does to a value of the kernel."""

    matrix: np.ndarray
    left_out: float
    rounding: float


def _coefficients(values: Callable[[np.ndarray], np.ndarray], error: float, centred: bool) -> _Coefficients | None:
    """The shortest series within ``error``; None if no short one is.

    ``error`` is relative to the series itself, so that a kernel that hardly varies over the range is approximated as
    well as any other.
    """
    for degree in _DEGREES:
        nodes = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
        sampled = values(nodes)
        rounding = np.finfo(float).eps * float(np.abs(sampled).max())
        full = dctn(sampled, type=2) / degree**2
        full[0, :] /= 2
        full[:, 0] /= 2
        if centred:  # centring removes what is constant in one argument
            full[0, :] = full[:, 0] = 0.0
        size = np.abs(full)
        scale = max(float(size.max()), rounding)
        if size[-2:].sum(axis=1).max() > max(0.01 * error * scale, degree * rounding):
            continue  # the coefficients have not yet fallen far enough: raise the degree
        size[size < 2 * rounding] = 0.0  # allowed for below
        shells = np.array([size[k, : k + 1].sum() + size[:k, k].sum() for k in range(degree)])
        tails = np.append(np.cumsum(shells[::-1])[::-1], 0.0)
        count = max(int(np.argmax(tails <= error * scale)), 2)
        return _Coefficients(full[:count, :count], float(tails[count] + 4 * count * rounding), rounding)
    return None


def _diagonalise(series: _Coefficients, basis: Series, error: float, more: float = 0.0) -> Expansion:
    """Eigenvectors of the coefficient matrix as functions; those too small to matter anywhere are dropped.

    ``more`` is what else the basis leaves out.
    """
    values, vectors = np.linalg.eigh(series.matrix)
    largest = np.argsort(-np.abs(values), kind="stable")
    values, vectors = values[largest], vectors[:, largest]
    count = len(values)
    grid = np.cos(np.pi * np.arange(4 * count + 1) / (4 * count))
    heights = np.abs(values)[:, None] * (vectors.T @ np.polynomial.chebyshev.chebvander(grid, count - 1).T) ** 2
    # |sum of dropped s phi(x) phi(x')| <= max of sum of dropped phi^2, by Cauchy-Schwarz; 1.2 for gaps in the grid
    dropped = np.append(1.2 * np.cumsum(heights[::-1], axis=0)[::-1].max(axis=1), 0.0)
    rank = int(np.argmax(dropped <= error * heights.max()))
    weights = vectors[:, :rank] * np.sqrt(np.abs(values[:rank]))
    signs = np.where(values[:rank] < 0, -1.0, 1.0)
    return Expansion(basis, weights, signs, series.left_out + float(dropped[rank]) + more, series.rounding)


def _landmarks(kernel: Kernel, points: np.ndarray, error: float) -> Expansion | None:
    """Pivoted Cholesky over the distinct points, until no point has more than ``error`` of its variance left.

    A smooth kernel needs a few landmarks for each half bandwidth that is occupied. The result is None if that would be
    too many, or turns out not to be enough.
    """
    points = np.unique(points)
    occupied = len(np.unique(np.floor(2 * points)))
    between = points[:0]
    if len(points) > 4096:
        if occupied > _MAX_OCCUPIED:
            return None
        between = points[:: len(points) // 4096]
        points = points[np.unique(np.floor(16 * points), return_index=True)[1]]
    diagonal = float(kernel(np.zeros(1), np.zeros(1))[0])
    left = np.full(len(points), diagonal)
    most = min(len(points), 6 * occupied + 100, _MAX_LANDMARKS)
    factor = np.zeros((most, len(points)))
    chosen: list[int] = []
    while left.max() > error * diagonal:
        rank, pivot = len(chosen), int(np.argmax(left))
        if rank == most:
            return None
        factor[rank] = (kernel(points[pivot], points) - factor[:rank, pivot] @ factor[:rank]) / np.sqrt(left[pivot])
        left = np.maximum(left - factor[rank] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    lower = factor[: len(chosen), chosen].T
    weights = solve_triangular(lower, np.eye(len(chosen)), lower=True).T
    basis = Landmarks(kernel, points[chosen])
    phi = weights.T @ basis.terms(between, len(weights))
    if (diagonal - np.einsum("an,an->n", phi, phi)).max(initial=0.0) > 100 * error * diagonal:
        return None  # good at the thinned points, but not between them: a kernel with a kink
    return Expansion(basis, weights, np.ones(len(chosen)), 0.0, np.finfo(float).eps * diagonal, diagonal)
