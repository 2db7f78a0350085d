"""First and second order HSIC: of all variables, of a pair, and whether it could be chance.

``HSIC(x, y) = tr(K H L H) / (n - 1)^2`` with kernel matrices K and L of the two samples and the centring matrix H.
First order: ``HSIC(X_i, X_j)``. Second order: ``HSIC(X_i, X_j + X_k)``, the paper's Proposition 2, or with
``combine="joint"`` the product of the two kernels. Third order likewise.

Two paths give the same numbers. *Low rank*: features of every column, one blocked matrix product, linear in rows.
*Dense*: kernel matrices tile by tile, quadratic in rows, for kernels and samples that have no short expansion.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import gamma, norm

from dagtune.engine.dense import Dense, PointSide, dense_products
from dagtune.engine.kernels import Kernel, as_kernel, bandwidth_of, check_bandwidth
from dagtune.engine.lowrank import LowRank
from dagtune.engine.paths import choose_path
from dagtune.engine.problem import combinations, exact_shift, pose, refuse_if_larger, symmetric
from dagtune.parallel import count_threads, one_blas_thread
from dagtune.pictures import draw_dependence
from dagtune.progress import Progress, silent
from dagtune.tables import check_vector_pair
from dagtune.validation import InputError, check_choice, check_count, format_bytes

__all__ = [
    "Dependence",
    "IndependenceTest",
    "dependence_blocks",
    "hsic",
    "hsic_test",
    "independence_pvalues",
    "measure_dependence",
]

#: Above this many variables the (d, d, d) array is not formed; blocks of it are handed out instead.
MAX_WIDTH = {2: 200, 3: 50}


@dataclass(repr=False, eq=False)
class Dependence:
    """Dependence of every variable on every other, and on every combination of others.

    ``first[i, j]`` = HSIC(X_i, X_j). ``second[child, j, k]`` = HSIC(X_child, X_j + X_k), symmetric in j and k, filled
    everywhere; with ``combine="joint"`` the product kernel stands in for the sum. ``third`` likewise, if asked for.

    ``engine`` and ``reason`` say which path was taken and why. ``error_bound`` bounds the error of every entry relative
    to sqrt(HSIC(x, x) HSIC(y, y)), before rounding. ``ranks`` are those of the single variables (empty on the dense
    path). ``notes`` say what else a reader should know.
    """

    first: np.ndarray
    names: tuple[str, ...]
    kernel: str
    bandwidth: str | float
    bandwidths: np.ndarray
    combine: str
    engine: str
    reason: str
    n_samples: int
    error_bound: float
    ranks: np.ndarray
    notes: tuple[str, ...]
    traces: np.ndarray
    diagonal_squares: np.ndarray
    higher: dict[int, np.ndarray] = field(default_factory=dict)
    source: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray]]] | None = None

    def __repr__(self) -> str:
        kernel = (
            f"{self.kernel} kernel" if np.isnan(self.bandwidths).all() else f"{self.kernel} kernel, {self.bandwidth}"
        )
        return (
            f"Dependence of {len(self.names)} variables in {self.n_samples} rows ({kernel}; orders 1 to "
            f"{max([1, *self.higher])}): {self.engine} path, {self.reason}; error at most {self.error_bound:.1e}"
        )

    @property
    def second(self) -> np.ndarray:
        """(d, d, d): ``second[child, j, k]`` = HSIC(X_child, X_j + X_k)."""
        return self._of_order(2)

    @property
    def third(self) -> np.ndarray:
        """(d, d, d, d): ``third[child, j, k, l]`` = HSIC(X_child, X_j + X_k + X_l)."""
        return self._of_order(3)

    def _of_order(self, order: int) -> np.ndarray:
        if order in self.higher:
            return self.higher[order]
        if len(self.names) > MAX_WIDTH[order]:
            raise InputError(
                f"{len(self.names)} variables have too many combinations to hold at once (limit {MAX_WIDTH[order]} for "
                f"order {order}): iterate over blocks({order}) instead, or measure fewer variables"
            )
        raise InputError(f"order {order} was not measured: pass order={order} to measure_dependence")

    def blocks(self, order: int = 2) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks ``(members, values)``: members (b, order) with j <= k, values (d, b), for any number of variables.

        Up to 200 variables they come from ``second``; above that they are computed as they are asked for.
        """
        if order in self.higher:
            members = combinations(len(self.names), order)
            for start in range(0, len(members), 4096):
                some = members[start : start + 4096]
                yield some, self.higher[order][(slice(None), *some.T)]
        elif self.source is not None:
            yield from self.source(order)
        else:
            self._of_order(order)

    def pvalues(self) -> np.ndarray:
        """(d, d) p-values of independence for the first order, by the gamma approximation; 0 on the diagonal."""
        scale = (self.n_samples - 1) ** 2
        null = _NullMoments(self.n_samples, self.traces, np.diagonal(self.first) * scale, self.diagonal_squares)
        values = null.pvalues(self.first * scale, null)
        np.fill_diagonal(values, 0.0)
        return values

    def plot(self, ax: Any = None) -> Any:
        """Draw the first order as a heat map with matplotlib; returns the axes."""
        return draw_dependence(self.first, self.names, ax=ax, title=f"HSIC, {self.kernel} kernel")


@dataclass(frozen=True)
class IndependenceTest:
    """HSIC of two samples and the probability of one as large under independence."""

    statistic: float
    pvalue: float
    method: str


# --------------------------------------------------------------------------------------------------- the front door


def measure_dependence(
    X: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
    engine: Literal["auto", "dense", "lowrank"] = "auto",
    combine: Literal["sum", "joint"] = "sum",
    order: int = 2,
    memory: str | int = "1GiB",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Dependence:
    """HSIC of every pair of variables, and of every variable with every combination of ``order`` others.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    kernel : name in KERNELS, a Kernel, or a callable k(x, x') (elementwise, symmetric, in units of the bandwidth)
    bandwidth : "median" (s^2 = median of (x - x')^2), "paper" (s = that median), "unit" (2 s^2 = 1), or s itself. A sum
        X_j + X_k gets its own by the same rule. The sigmoid kernel takes none.
    engine : "lowrank" is linear in rows, "dense" quadratic but good for any kernel and any tails; "auto" takes the
        one with the lower estimated cost, and refuses where neither fits.
    combine : "sum" is the paper's X_j + X_k; "joint" the product of the two kernels.
    order : 1, 2 or 3 variables on the candidates' side.
    memory : most memory to use beyond the data, such as "1GiB".
    threads : default one for each processor; the numbers do not depend on it.
    progress : called as progress(phase, share done), from 0 to 1.
    """
    order = check_count("order", order, least=1, most=3)
    check_choice("combine", combine, ("sum", "joint"))
    if combine == "joint" and order == 3:
        raise InputError("combine='joint' is there for two variables: pass order=2, or combine='sum'")
    problem = pose(X, kernel, bandwidth, combine, memory, threads, progress)
    d = problem.rows.width
    held = [o for o in range(2, order + 1) if d <= MAX_WIDTH[o]]
    refuse_if_larger(problem.memory, sum(8 * d ** (o + 1) for o in held))
    check_choice("engine", engine, ("auto", "dense", "lowrank"))
    with one_blas_thread():
        path = choose_path(problem, engine, [combinations(d, o) for o in range(1, order + 1)])
        found = path.values(combinations(d, 1))
        first = symmetric(found.values)
        higher: dict[int, np.ndarray] = {}
        bound = found.bound
        for o in held:
            cube = np.empty((d,) * (o + 1))
            for members, block in path.blocks(combinations(d, o), o):
                for shuffled in set(itertools.permutations(range(o))):
                    cube[(slice(None), *members.T[list(shuffled)])] = block.values
                bound = max(bound, block.bound)
            higher[o] = cube
    return Dependence(
        first=first,
        names=problem.names,
        kernel=problem.kernel.name,
        bandwidth=problem.bandwidth,
        bandwidths=path.bandwidths(),
        combine=combine,
        engine=path.name,
        reason=path.reason,
        n_samples=problem.rows.count,
        error_bound=2 * bound + bound * bound,
        ranks=found.ranks,
        notes=path.notes,
        traces=found.traces,
        diagonal_squares=found.diagonal_squares,
        higher=higher,
        source=partial(_stream, path, d),
    )


def dependence_blocks(X: Any, *, order: int = 2, **options: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks ``(members, values)`` of HSIC(X_child, X_j + X_k): members (b, order) with j <= k, values (d, b).

    For more variables than the (d, d, d) array of :func:`measure_dependence` can hold. Options are the same.
    """
    problem = pose(
        X,
        options.pop("kernel", "gaussian"),
        options.pop("bandwidth", "median"),
        check_choice("combine", options.pop("combine", "sum"), ("sum", "joint")),
        options.pop("memory", "1GiB"),
        options.pop("threads", None),
        options.pop("progress", None),
    )
    engine = check_choice("engine", options.pop("engine", "auto"), ("auto", "dense", "lowrank"))
    if options:
        raise InputError(f"unknown option {next(iter(options))!r} for dependence_blocks")
    d = problem.rows.width
    with one_blas_thread():
        path = choose_path(problem, engine, [combinations(d, 1), combinations(d, order)])
    yield from _stream(path, d, order)


def hsic(
    x: Any,
    y: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
) -> float:
    """HSIC(x, y) = tr(K H L H) / (n - 1)^2 of two samples, each a vector (n,) or a matrix (n, p).

    For matrices the Gaussian, Laplace and rational quadratic kernels take the Euclidean distance (its median over at
    most 2000 seeded rows), the sigmoid kernel the inner product.
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
    """Test of independence by HSIC.

    "gamma" fits a gamma law to the exact mean and variance of the statistic over all permutations of the rows;
    "permutation" draws ``n_permutations`` of them, p = (1 + how many are as large) / (1 + n_permutations).
    """
    check_choice("method", method, ("gamma", "permutation"))
    pair = _pair(x, y, kernel, bandwidth)
    statistic = float(pair.products[0, 1])
    if method == "gamma":
        sides = [
            _NullMoments(pair.count, pair.traces[[s]], pair.products[[s], [s]], pair.diagonal_squares[[s]])
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


def independence_pvalues(
    X: Any,
    *,
    kernel: str | Kernel | Callable[..., np.ndarray] = "gaussian",
    bandwidth: str | float = "median",
) -> np.ndarray:
    """(d, d) p-values of pairwise independence (gamma approximation); 0 on the diagonal."""
    return measure_dependence(X, kernel=kernel, bandwidth=bandwidth, order=1).pvalues()


@dataclass(frozen=True)
class _NullMoments:
    """What the permutation law of tr(K L) needs of each centred matrix: tr K, tr K^2, and the sum of K_tt^2."""

    count: int
    traces: np.ndarray
    squares: np.ndarray
    diagonal_squares: np.ndarray

    def mean_and_variance(self, other: _NullMoments) -> tuple[np.ndarray, np.ndarray]:
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

    def pvalues(self, statistics: np.ndarray, other: _NullMoments) -> np.ndarray:
        """Upper tail of the gamma law with that mean and variance."""
        if self.count < 5:
            return np.ones_like(statistics)
        mean, variance = self.mean_and_variance(other)
        with np.errstate(all="ignore"):
            tail = gamma.sf(statistics, mean**2 / variance, scale=variance / mean)
        # an indefinite kernel can have a mean of 0 or below, where there is no gamma law
        return np.where(mean > 0, tail, norm.sf((statistics - mean) / np.sqrt(variance)))


def _stream(path: Dense | LowRank, d: int, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    with one_blas_thread():
        for members, found in path.blocks(combinations(d, order), order):
            yield members, found.values


# -------------------------------------------------------------------------------------------------- a pair of samples


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
#: Distances between points of several columns have no order: their median is over at most this many rows.
_POINT_ROWS = 2000
_PAIR_MEMORY = 2**30


def _pair(x: Any, y: Any, kernel: Any, bandwidth: Any) -> _Pair:
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
