"""HSIC of two samples, and whether it could be chance.

``HSIC(x, y) = tr(K H L H) / (n - 1)^2`` with kernel matrices K and L of the two samples and the centring matrix H.
Under independence every permutation of the rows of y is equally likely, which gives p-values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import gamma, norm

from dagtune.engine.dense import PointSide, dense_products
from dagtune.engine.kernels import Kernel, as_kernel, bandwidth_of, check_bandwidth
from dagtune.engine.lowrank import LowRank
from dagtune.engine.paths import choose_path
from dagtune.engine.problem import combinations, exact_shift, pose, symmetric
from dagtune.parallel import count_threads, one_blas_thread
from dagtune.progress import silent
from dagtune.tables import check_vector_pair
from dagtune.validation import InputError, check_choice, check_count, format_bytes

__all__ = ["IndependenceTest", "NullMoments", "hsic", "hsic_test"]


@dataclass(frozen=True)
class IndependenceTest:
    """Outcome of :func:`hsic_test`.

    Parameters
    ----------
    statistic : float
        HSIC of the two samples.
    pvalue : float
        Probability that independent samples have an HSIC at least as large.
    method : {"gamma", "permutation"}
        How the p-value was computed.
    """

    statistic: float
    pvalue: float
    method: str


def hsic(
    x: Any,
    y: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
) -> float:
    """HSIC(x, y) = tr(K H L H) / (n - 1)^2 of two samples.

    Parameters
    ----------
    x, y : array-like, shape (n,) or (n, p)
        The two samples, row by row. For matrices the Gaussian, Laplace and rational quadratic kernels take the
        Euclidean distance and the sigmoid kernel takes the inner product.
    kernel : str, Kernel or callable
        As in :func:`dagtune.measure_dependence`.
    bandwidth : {"median", "paper", "unit"} or float
        As in :func:`dagtune.measure_dependence`. The median distance of matrices is over at most 2000 rows, drawn with
        a fixed seed.

    Returns
    -------
    float
        At least 0 for positive semi-definite kernels; the sigmoid kernel is not one.

    Raises
    ------
    InputError
        If the samples differ in length, have missing values or are constant, or an option is unknown.

    References
    ----------
    Gretton, Bousquet, Smola and Schoelkopf 2005, "Measuring statistical dependence with Hilbert-Schmidt norms".

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import hsic
    >>> x = np.linspace(-1, 1, 100)
    >>> print(f"{hsic(x, x**2):.4f}")
    0.0324
    """
    pair = _pair(x, y, kernel, bandwidth)
    return float(pair.products[0, 1]) / (pair.count - 1) ** 2


def hsic_test(
    x: Any,
    y: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
    method: Literal["gamma", "permutation"] = "gamma",
    n_permutations: int = 999,
    rng: Any = None,
) -> IndependenceTest:
    """Test whether two samples are independent, by HSIC.

    Parameters
    ----------
    x, y : array-like, shape (n,) or (n, p)
        The two samples, row by row.
    kernel, bandwidth
        As in :func:`hsic`.
    method : {"gamma", "permutation"}
        "gamma" fits a gamma distribution to the exact mean and variance of the statistic over all permutations of the
        rows. "permutation" draws permutations: p = (1 + how many have an HSIC as large) / (1 + n_permutations).
    n_permutations : int
        How many permutations are drawn.
    rng : int or Generator, optional
        Seed of the permutations.

    Returns
    -------
    IndependenceTest

    Raises
    ------
    InputError
        If the samples can't be compared, or an option is unknown.

    References
    ----------
    Kazi-Aoual, Hitier, Sabatier and Lebreton 1995, "Refined approximations to permutation tests for multivariate
    inference".

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import hsic_test
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> hsic_test(x, x**2 + rng.normal(size=200)).pvalue < 0.001
    True
    """
    check_choice("method", method, ("gamma", "permutation"))
    pair = _pair(x, y, kernel, bandwidth)
    statistic = float(pair.products[0, 1])
    if method == "gamma":
        sides = [
            NullMoments(pair.count, pair.traces[[s]], pair.products[[s], [s]], pair.diagonal_squares[[s]])
            for s in (0, 1)
        ]
        pvalue = float(sides[0].pvalues(np.array([[statistic]]), sides[1])[0, 0])
    else:
        check_count("n_permutations", n_permutations)
        generator = np.random.default_rng(rng)
        shuffled = pair.shuffler()
        with one_blas_thread():
            drawn = [shuffled(generator.permutation(pair.count)) for _ in range(n_permutations)]
        larger = int(np.sum(np.array(drawn) >= statistic - 1e-12 * abs(statistic)))
        pvalue = (1 + larger) / (1 + n_permutations)
    return IndependenceTest(statistic / (pair.count - 1) ** 2, pvalue, method)


@dataclass(frozen=True)
class NullMoments:
    """What the distribution of tr(K L) over all permutations of the rows depends on, for several centred matrices K.

    Parameters
    ----------
    count : int
        Number of rows.
    traces, squares, diagonal_squares : ndarray, shape (m,)
        tr K, tr K^2 and the sum of K_tt^2 of each matrix.
    """

    count: int
    traces: np.ndarray
    squares: np.ndarray
    diagonal_squares: np.ndarray

    def mean_and_variance(self, other: NullMoments) -> tuple[np.ndarray, np.ndarray]:
        """Exact mean and variance of tr(K L) over all permutations of the rows (Kazi-Aoual et al. 1995)."""
        n = self.count
        mean = np.multiply.outer(self.traces, other.traces) / (n - 1)
        spread = [(n - 1) * side.squares - side.traces**2 for side in (self, other)]
        fourth = [
            n * (n + 1) * side.diagonal_squares - (n - 1) * (side.traces**2 + 2 * side.squares)
            for side in (self, other)
        ]
        variance = 2 * np.multiply.outer(*spread) / ((n - 1) ** 2 * (n + 1) * (n - 2))
        variance += np.multiply.outer(*fourth) / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
        return mean, np.maximum(variance, np.finfo(float).tiny)

    def pvalues(self, statistics: np.ndarray, other: NullMoments) -> np.ndarray:
        """Upper tail of the gamma distribution with that mean and variance."""
        if self.count < 5:
            return np.ones_like(statistics)
        mean, variance = self.mean_and_variance(other)
        with np.errstate(all="ignore"):
            tail = gamma.sf(statistics, mean**2 / variance, scale=variance / mean)
        # An indefinite kernel can have a mean of 0 or below, for which there is no gamma distribution.
        return np.where(mean > 0, tail, norm.sf((statistics - mean) / np.sqrt(variance)))


@dataclass(frozen=True)
class _Pair:
    """Two centred kernel matrices by their products: ``products[a, b]`` = tr(K_a K_b) for a, b in (x, y).

    ``shuffler()`` gives a function that returns tr(K_x K_y) with the rows of y in another order.
    """

    count: int
    products: np.ndarray
    traces: np.ndarray
    diagonal_squares: np.ndarray
    shuffler: Callable[[], Callable[[np.ndarray], float]]


#: Up to this many rows one dense kernel matrix is cheaper than features.
_SMALL = 300
#: The quick median of distances works for one column only: that of several columns is over at most this many rows.
_POINT_ROWS = 2000
_PAIR_MEMORY = 2**30


def _pair(x: Any, y: Any, kernel: Any, bandwidth: Any) -> _Pair:
    """The two samples by the low-rank path if it is the cheaper one, otherwise by the dense path."""
    sides = check_vector_pair(x, y)
    found, rule = as_kernel(kernel), check_bandwidth(bandwidth)
    with one_blas_thread():
        if len(sides[0]) > _SMALL and all(side.shape[1] == 1 for side in sides):
            problem = pose(np.hstack(sides), found, rule, "sum", _PAIR_MEMORY, None, None)
            path = choose_path(problem, "auto", [combinations(2, 1)])
            if isinstance(path, LowRank):
                return _lowrank_pair(path)
        return _dense_pair([PointSide(found, _in_bandwidths(side, found, rule)) for side in sides])


def _in_bandwidths(points: np.ndarray, kernel: Kernel, rule: str | float) -> np.ndarray:
    """Points (n, p) in units of their bandwidth."""
    if kernel.of == "difference":
        points = points - exact_shift(points.min(axis=0), points.max(axis=0))
    if not kernel.takes_bandwidth:
        return points
    if points.shape[1] == 1 or rule == "unit" or not isinstance(rule, str):
        return points / bandwidth_of(points[:, 0], rule)
    if len(points) > _POINT_ROWS:
        sample = points[np.random.default_rng(0).choice(len(points), _POINT_ROWS, replace=False)]
    else:
        sample = points
    squares = pdist(sample, "sqeuclidean")
    median = np.median(squares) or np.median(squares[squares > 0])
    return points / (median if rule == "paper" else np.sqrt(median))


def _dense_pair(sides: Sequence[PointSide]) -> _Pair:
    count = len(sides[0].points)
    found = dense_products(count, sides, sides, count_threads(), _PAIR_MEMORY, silent)

    def shuffler() -> Callable[[np.ndarray], float]:
        if 32 * count**2 > _PAIR_MEMORY:
            raise InputError(
                f"permuting {count} rows needs {format_bytes(32 * count**2)} for the kernel matrices: pass "
                "method='gamma', or a sample of the rows"
            )
        first, second = (side.tile(slice(0, count), slice(0, count)) for side in sides)
        means = first.mean(axis=0)
        first = first - means[:, None] - means[None, :] + means.mean()
        return lambda order: float(np.vdot(first, second[np.ix_(order, order)]))

    return _Pair(count, symmetric(found.products), found.traces, found.diagonal_squares, shuffler)


def _lowrank_pair(path: LowRank) -> _Pair:
    x, y = path.variables
    found = path.values(combinations(2, 1))
    count = path.rows.count

    def shuffler() -> Callable[[np.ndarray], float]:
        left, right = (one.values(path.rows.block(slice(None))) for one in (x, y))
        signs = np.multiply.outer(x.signs, y.signs)
        return lambda order: float(np.vdot(signs, (left @ right[:, order].T) ** 2))

    return _Pair(count, symmetric(found.values) * (count - 1) ** 2, found.traces, found.diagonal_squares, shuffler)
