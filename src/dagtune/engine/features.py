"""One variable + kernel -> signed low-rank features with an error bound.

A smooth kernel of one variable is a short sum of products, ``k(x, x') = sum_a s_a phi_a(x) phi_a(x')``, with signs
s_a = +-1 that carry kernels which are not positive semi-definite. Two ways lead there:

- **Series.** On an interval the kernel is a Chebyshev series in each argument; the eigenvectors of its coefficient
  matrix give the phi. Intervals are rounded outwards, so that many columns share one series. The sigmoid kernel is
  sharp where one argument is large, but in log coordinates, ``tanh(x x') = sign(x) sign(x') tanh(exp(p + p'))`` with
  ``p = log|x|``, it is analytic and stays so for huge values.
- **Landmarks.** Where the range is so large that a series would be long (heavy tails), pivoted Cholesky picks points
  of the sample, ``phi(x) = k(x, P) L^-T``. For positive semi-definite kernels what it leaves out is known exactly.

:func:`compress` then turns phi, by the centred Gram matrix of its values over the rows, into features F of the
smallest rank that keeps the promised error: ``H K H = F^T diag(signs) F + error``, in the Frobenius norm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.fft import dctn
from scipy.linalg import solve_triangular

from dagtune.compiled import compiled
from dagtune.engine.kernels import Kernel

__all__ = [
    "NOTHING",
    "TOLERANCE",
    "Column",
    "Expansion",
    "Features",
    "JointColumn",
    "Sample",
    "SumColumn",
    "compress",
    "expand",
]

#: The promise: HSIC to this error, relative to sqrt(HSIC(x, x) HSIC(y, y)). Each side may spend half.
TOLERANCE = 1e-8
#: What an expansion may leave out, in units of the kernel; the second is taken where the first is too coarse.
_ERRORS = (1e-11, 1e-14)
#: A series longer than this is no longer short; landmarks or the dense path take over.
_DEGREES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
#: More landmarks than this and the features are no longer low rank.
_MAX_LANDMARKS = 1024
#: More occupied half bandwidths than this in a long sample, and landmarks are not worth looking for.
_MAX_OCCUPIED = 256


@dataclass(frozen=True)
class Sample:
    """What is known of a column before it is expanded: bandwidth, extremes, smallest |x|, and some of its values."""

    bandwidth: float
    low: float
    high: float
    smallest: float
    values: np.ndarray

    def origin(self, kernel: Kernel) -> float:
        """Where the kernel's own coordinate has its zero: the middle of the range, if a shift costs nothing."""
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


class _Place(NamedTuple):
    """Where a series stands: at ``(X_j + X_k + ... - origin) scale`` for the ``members`` j, k, ...; then see Series."""

    members: np.ndarray
    origin: float
    scale: float
    centre: float
    half: float
    floor: float


@compiled(fastmath=True)
def _series_values(
    chunk: np.ndarray, place: _Place, combination: np.ndarray, offset: np.ndarray, out: np.ndarray
) -> None:
    """out (r, n) = combination (r, m) of the terms of a series at the rows of a (d, n) chunk, less the offset.

    The terms are T_(k+1) = 2 t T_k - T_(k-1). One call a column, so that threads do not wait.
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
def _moments(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def expand(kernel: Kernel, sample: Sample, *, centred: bool = True, fine: bool = False) -> Expansion | None:
    """An expansion of ``kernel`` on the range of a sample, in units of the bandwidth and from the sample's origin.

    ``centred`` leaves out the constant term, which centring removes anyway. ``fine`` asks for the smaller of the two
    errors. None where the kernel has no short expansion on this range.
    """
    low, high = sample.low / sample.bandwidth, sample.high / sample.bandwidth
    error = _ERRORS[fine]
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
    """The next of 16 steps an octave: at most 6 % above, so that columns of about one width share a series."""
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
    """Of a series, (m, m); what it leaves out; and what rounding does to a value of the kernel."""

    matrix: np.ndarray
    left_out: float
    rounding: float


def _coefficients(values: Callable[[np.ndarray], np.ndarray], error: float, centred: bool) -> _Coefficients | None:
    """The shortest series within ``error``; None if none is short.

    ``error`` is relative to the series itself: a kernel that hardly varies over the range is met as well as any.
    """
    for degree in _DEGREES:
        nodes = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
        sampled = values(nodes)
        rounding = np.finfo(float).eps * float(np.abs(sampled).max())
        full = dctn(sampled, type=2) / degree**2
        full[0, :] /= 2
        full[:, 0] /= 2
        if centred:  # what is constant in one argument is gone once that argument is centred
            full[0, :] = full[:, 0] = 0.0
        size = np.abs(full)
        scale = max(float(size.max()), rounding)
        if size[-2:].sum(axis=1).max() > max(0.01 * error * scale, degree * rounding):
            continue  # still falling at its end: raise the degree
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

    A smooth kernel needs a few landmarks for each half bandwidth that is occupied. None where that would be too many,
    or where it turns out not to be enough.
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
        return None  # well met at the thinned points, but not between them: a kernel with a kink
    return Expansion(basis, weights, np.ones(len(chosen)), 0.0, np.finfo(float).eps * diagonal, diagonal)


class Column(Protocol):
    """A function of the rows with a kernel of its own: one variable, or several combined."""

    @property
    def signs(self) -> np.ndarray: ...

    @property
    def error(self) -> float: ...

    @property
    def rounding(self) -> float: ...

    @property
    def landmarks(self) -> bool:
        """Whether the error is known at the rows only."""
        ...

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Sums over the rows of a (d, n) chunk: of phi (r0,), of phi phi^T, of what they leave out of the diagonal."""
        ...

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        """out (r, n) = rotation^T phi - offset for a rotation (r0, r)."""
        ...


@dataclass(frozen=True)
class SumColumn:
    """X_j, or X_j + X_k + ..., through the kernel: ``members`` are the variables that are added."""

    members: tuple[int, ...]
    origin: float
    bandwidth: float
    expansion: Expansion

    @property
    def signs(self) -> np.ndarray:
        return self.expansion.signs

    @property
    def error(self) -> float:
        return self.expansion.error

    @property
    def rounding(self) -> float:
        return self.expansion.rounding

    @property
    def landmarks(self) -> bool:
        return self.expansion.diagonal is not None

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        combination = np.ascontiguousarray(self.expansion.weights.T)
        basis = self.expansion.basis
        if isinstance(basis, Series):
            phi = np.empty((len(combination), chunk.shape[1]))
            _series_values(chunk, self._place(basis), combination, np.zeros(len(combination)), phi)
            return *_moments(phi), 0.0
        phi = self._landmark_values(chunk, basis, combination)
        diagonal = self.expansion.diagonal or 0.0
        rest = float(np.maximum(diagonal - np.einsum("an,an->n", phi, phi), 0.0).sum())
        return phi.sum(axis=1), phi @ phi.T, rest

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        combination = rotation.T @ self.expansion.weights.T
        basis = self.expansion.basis
        if isinstance(basis, Series):
            _series_values(chunk, self._place(basis), combination, offset, out)
        else:
            np.subtract(self._landmark_values(chunk, basis, combination), offset[:, None], out=out)

    def _place(self, basis: Series) -> _Place:
        members = np.array(self.members)
        return _Place(members, self.origin, 1.0 / self.bandwidth, basis.centre, basis.half, basis.floor)

    def _landmark_values(self, chunk: np.ndarray, basis: Landmarks, combination: np.ndarray) -> np.ndarray:
        x = (add_up(chunk, self.members) - self.origin) / self.bandwidth
        return combination @ basis.terms(x, combination.shape[1])


@dataclass(frozen=True)
class JointColumn:
    """(X_j, X_k) through the product of their kernels: the products of the uncentred features of each.

    Only products that can matter are kept: ``left`` and ``right`` index them; what the others add is summed over the
    rows. ``error`` is what the two sides leave out: |K L - K' L'| <= |K - K'| |L| + |L - L'| |K'|, entry by entry.
    """

    parts: tuple[Features, Features]
    left: np.ndarray
    right: np.ndarray
    error: float
    rounding: float
    landmarks: bool = False

    @classmethod
    def of(cls, first: Features, second: Features, count: int, height: float) -> JointColumn:
        """``height`` bounds the kernel's absolute value, ``count`` is the number of rows."""
        sizes = np.multiply.outer(first.sizes, second.sizes)
        left, right = np.nonzero(sizes > 1e-4 * TOLERANCE * sizes.max(initial=0.0))
        error = height * sum(part.bound * part.norm for part in (first, second)) / count
        return cls((first, second), left, right, error, np.finfo(float).eps * height**2)

    @property
    def signs(self) -> np.ndarray:
        return self.parts[0].signs[self.left] * self.parts[1].signs[self.right]

    def moments(self, chunk: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        first, second = (part.values(chunk) for part in self.parts)
        products = first[self.left] * second[self.right]
        everything = (first**2).sum(axis=0) @ (second**2).sum(axis=0)
        rest = max(float(everything - np.vdot(products, products)), 0.0)
        return products.sum(axis=1), products @ products.T, rest

    def rotated(self, chunk: np.ndarray, rotation: np.ndarray, offset: np.ndarray, out: np.ndarray) -> None:
        first, second = (part.values(chunk) for part in self.parts)
        np.subtract(rotation.T @ (first[self.left] * second[self.right]), offset[:, None], out=out)


@dataclass(frozen=True)
class Features:
    """F (r, n) = rotation^T (phi - mean): ``F^T diag(signs) F`` is the (centred) kernel matrix up to ``bound``.

    ``norm`` is the Frobenius norm of that matrix, ``bound`` the error relative to it, ``sizes`` the r eigenvalues'
    absolute values.
    """

    column: Column
    rotation: np.ndarray
    signs: np.ndarray
    offset: np.ndarray
    sizes: np.ndarray
    norm: float
    bound: float

    @property
    def rank(self) -> int:
        return len(self.signs)

    def values(self, chunk: np.ndarray) -> np.ndarray:
        """(r, n) features of the rows of a (d, n) chunk."""
        return stack([self], chunk)


def stack(features: Sequence[Features], chunk: np.ndarray) -> np.ndarray:
    """(sum of ranks, n): the features of several columns at the rows of a (d, n) chunk, one below the other."""
    out = np.empty((sum(one.rank for one in features), chunk.shape[1]))
    start = 0
    for one in features:
        if one.rank:
            one.column.rotated(chunk, one.rotation, one.offset, out[start : start + one.rank])
        start += one.rank
    return out


def add_up(chunk: np.ndarray, members: tuple[int, ...]) -> np.ndarray:
    """X_j + X_k + ... of the rows of a (d, n) chunk."""
    x = chunk[members[0]]
    for member in members[1:]:
        x = x + chunk[member]
    return x


def compress(
    column: Column,
    count: int,
    total: np.ndarray,
    gram: np.ndarray,
    left_out: float,
    *,
    centred: bool = True,
    tolerance: float = TOLERANCE,
) -> Features:
    """Features of the least rank within half the tolerance, from sums over ``count`` rows.

    ``total`` (r0,) is the sum of phi, ``gram`` (r0, r0) that of phi phi^T, ``left_out`` what the column reports.
    """
    mean = total / count if centred else np.zeros_like(total)
    moments = gram - count * np.outer(mean, mean)
    signs = column.signs
    squares, vectors = np.linalg.eigh(moments)
    squares = np.maximum(squares, 0.0)
    if (signs > 0).all():
        values, rotation = squares[::-1], vectors[:, ::-1]
    else:
        # K = Q (D^1/2 V^T S V D^1/2) Q^T with Q = phi V D^-1/2 orthonormal: the middle's eigenvalues are K's
        roots = np.sqrt(squares)
        inverse = np.where(squares > 1e-15 * squares.max(initial=0.0), 1.0 / np.maximum(roots, 1e-300), 0.0)
        middle = roots[:, None] * ((vectors.T * signs) @ vectors) * roots
        values, inner = np.linalg.eigh(middle)
        rotation = (vectors * inverse) @ (inner * np.sqrt(np.abs(values)))
        order = np.argsort(-np.abs(values), kind="stable")
        values, rotation = values[order], rotation[:, order]
    norm = float(np.linalg.norm(values))
    missing = count * (column.error + 8 * column.rounding) + left_out
    tails = np.append(np.sqrt(np.cumsum(values[::-1] ** 2)[::-1]), 0.0)
    allowed = max(0.49 * tolerance * norm - missing, 1e-15 * norm)
    if norm <= 64 * column.rounding * count:
        norm = 0.0  # constant up to rounding: nothing depends on it
    rank = int(np.argmax(tails <= allowed)) if norm > 0 else 0
    return Features(
        column=column,
        rotation=np.ascontiguousarray(rotation[:, :rank]),
        signs=np.where(values[:rank] < 0, -1.0, 1.0),
        offset=mean @ rotation[:, :rank],
        sizes=np.abs(values[:rank]),
        norm=norm,
        bound=(float(tails[rank]) + missing) / norm if norm > 0 else 0.0,
    )
