"""First and second order HSIC from moments; the dense path; Dependence.

``HSIC(x, y) = tr(K H L H) / (n - 1)^2`` with kernel matrices K and L of the two samples and the centring matrix H.
First order: ``HSIC(X_i, X_j)``. Second order: ``HSIC(X_i, X_j + X_k)``, the paper's Proposition 2, or with
``combine="joint"`` the product of the two kernels. Third order likewise.

Two paths give the same numbers. *Low rank*: features of every column, one blocked matrix product, linear in rows.
*Dense*: kernel matrices tile by tile, quadratic in rows, for kernels and samples that have no short expansion.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import gamma, norm

from dagtune.features import (
    NOTHING,
    TOLERANCE,
    Column,
    Expansion,
    Features,
    JointColumn,
    Sample,
    SumColumn,
    add_up,
    expand,
)
from dagtune.kernels import MEDIAN_ROWS, Kernel, as_kernel, bandwidth_of, check_bandwidth
from dagtune.moments import BATCH, CHUNK_ROWS, Rows, compress_columns, cross_products, extremes
from dagtune.parallel import count_threads, one_blas_thread, parallel_map
from dagtune.validation import (
    InputError,
    check_choice,
    check_count,
    check_vector_pair,
    format_bytes,
    parse_memory,
    read_table,
)

__all__ = [
    "Dependence",
    "IndependenceTest",
    "dependence_blocks",
    "hsic",
    "hsic_test",
    "independence_pvalues",
    "measure_dependence",
]

Progress = Callable[[str, float], None]

#: Above this many variables the (d, d, d) array is not formed; blocks of it are handed out instead.
MAX_WIDTH = {2: 200, 3: 50}
#: Rates for choosing a path, per thread: floating-point operations and kernel values a second.
_FLOPS, _KERNEL_VALUES = 2e10, 1e8
#: "auto" refuses a dense run that would take longer than this.
_MAX_HOURS = 2.0


@dataclass(frozen=True)
class _Problem:
    """What is asked: whose dependence on what, through which kernel, with which means."""

    rows: Rows
    names: tuple[str, ...]
    kernel: Kernel
    bandwidth: str | float
    combine: Literal["sum", "joint"]
    threads: int
    memory: int
    progress: Progress

    def label(self, members: Sequence[int]) -> str:
        return " + ".join(repr(self.names[m]) for m in members)


@dataclass(frozen=True)
class _Scaled:
    """A column seen by its kernel: which variables are added, where its middle is, and in which unit."""

    members: tuple[int, ...]
    origin: float
    bandwidth: float
    expansion: Expansion | None


def _silent(phase: str, done: float) -> None:
    pass


# --------------------------------------------------------------------------------------------------------- results


@dataclass
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
    higher: dict[int, np.ndarray] = field(default_factory=dict, repr=False)
    source: Callable[[int], Iterator[tuple[np.ndarray, np.ndarray]]] | None = field(default=None, repr=False)

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
            members = _combinations(len(self.names), order)
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
    problem = _pose(X, kernel, bandwidth, combine, memory, threads, progress)
    d = problem.rows.width
    held = [o for o in range(2, order + 1) if d <= MAX_WIDTH[o]]
    _refuse_if_larger(problem.memory, sum(8 * d ** (o + 1) for o in held))
    check_choice("engine", engine, ("auto", "dense", "lowrank"))
    with one_blas_thread():
        plan = _plan(problem, engine, [_combinations(d, o) for o in range(1, order + 1)])
        found = plan.values(_combinations(d, 1))
        first = _symmetric(found.values)
        higher: dict[int, np.ndarray] = {}
        bound = found.bound
        for o in held:
            cube = np.empty((d,) * (o + 1))
            for members, block in plan.blocks(_combinations(d, o), o):
                for shuffled in set(itertools.permutations(range(o))):
                    cube[(slice(None), *members.T[list(shuffled)])] = block.values
                bound = max(bound, block.bound)
            higher[o] = cube
    return Dependence(
        first=first,
        names=problem.names,
        kernel=problem.kernel.name,
        bandwidth=problem.bandwidth,
        bandwidths=plan.bandwidths(),
        combine=combine,
        engine=plan.name,
        reason=plan.reason,
        n_samples=problem.rows.count,
        error_bound=2 * bound + bound * bound,
        ranks=found.ranks,
        notes=plan.notes,
        traces=found.traces,
        diagonal_squares=found.diagonal_squares,
        higher=higher,
        source=plan.stream,
    )


def dependence_blocks(X: Any, *, order: int = 2, **options: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks ``(members, values)`` of HSIC(X_child, X_j + X_k): members (b, order) with j <= k, values (d, b).

    For more variables than the (d, d, d) array of :func:`measure_dependence` can hold. Options are the same.
    """
    problem = _pose(
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
        plan = _plan(problem, engine, [_combinations(d, 1), _combinations(d, order)])
    yield from plan.stream(order)


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
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = gamma.sf(statistics, mean**2 / variance, scale=variance / mean)
        # an indefinite kernel can have a mean of 0 or below, where there is no gamma law
        return np.where(mean > 0, tail, norm.sf((statistics - mean) / np.sqrt(variance)))


# ------------------------------------------------------------------------------------------------ posing the problem


def _pose(
    X: Any,
    kernel: Any,
    bandwidth: Any,
    combine: Any,
    memory: str | int,
    threads: int | None,
    progress: Progress | None,
) -> _Problem:
    table = read_table(X)
    found = as_kernel(kernel)
    return _Problem(
        rows=Rows(table.values, _exact_shift(table.values) if found.of == "difference" else None),
        names=table.names,
        kernel=found,
        bandwidth=check_bandwidth(bandwidth),
        combine=combine,
        threads=count_threads(threads),
        memory=parse_memory(memory),
        progress=progress or _silent,
    )


def _exact_shift(values: np.ndarray) -> np.ndarray:
    """A shift near the middle of each column that costs no digit: a multiple of a power of two above the range.

    Values around 1e9 come near 0 exactly, as multiples of their own last bit; ordinary columns and integers are left
    as they are, so sums of them keep their ties.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    unit = 2.0 ** np.ceil(np.log2(high - low))
    return np.round((low / 2 + high / 2) / unit) * unit


def _combinations(d: int, order: int) -> np.ndarray:
    """(count, order) of positions j <= k <= ..., lexicographic."""
    return np.array(list(itertools.combinations_with_replacement(range(d), order)), dtype=np.int64).reshape(-1, order)


def _symmetric(values: np.ndarray) -> np.ndarray:
    return (values + values.T) / 2


def _refuse_if_larger(memory: int, needed: float) -> None:
    if needed > memory:
        raise InputError(
            f"this needs about {format_bytes(needed)} and memory={format_bytes(memory)!r} is allowed: pass "
            f"memory='{math.ceil(needed / 2**20)}MiB', or fewer columns"
        )


# ------------------------------------------------------------------------------------------------ choosing the path


@dataclass(frozen=True)
class _Found:
    """tr(K_i L_c) / (n - 1)^2 for every variable i and candidate c, with the error bound of one side."""

    values: np.ndarray
    bound: float
    ranks: np.ndarray
    traces: np.ndarray
    diagonal_squares: np.ndarray


def _scale(problem: _Problem, members: np.ndarray, sample: np.ndarray, *, expanded: bool) -> list[_Scaled]:
    """Each column X_j + X_k + ... with its origin and bandwidth, and if asked for its expansion."""
    found = extremes(problem.rows, members, problem.threads) if expanded else None

    def one(c: int) -> _Scaled:
        column = tuple(int(m) for m in members[c])
        x = add_up(sample, column)
        if x.max() - x.min() <= 8 * np.finfo(float).eps * np.abs(sample[list(column)]).max():
            return _Scaled(column, 0.0, math.inf, NOTHING)  # such as x + (-x): nothing depends on a constant
        bandwidth = bandwidth_of(x, problem.bandwidth) if problem.kernel.takes_bandwidth else 1.0
        if found is None:
            return _Scaled(column, 0.0, bandwidth, None)
        what = Sample(bandwidth, float(found.low[c]), float(found.high[c]), float(found.smallest[c]), x)
        return _Scaled(column, what.origin(problem.kernel), bandwidth, expand(problem.kernel, what))

    return parallel_map(one, range(len(members)), problem.threads)


def _plan(problem: _Problem, engine: str, wanted: Sequence[np.ndarray]) -> _LowRank | _Dense:
    """The path to take for the combinations ``wanted``, the first of them the single variables."""
    problem.progress("bandwidths", 0.0)
    sample = problem.rows.sample(MEDIAN_ROWS)
    if engine == "dense":
        return _Dense(problem, sample, "engine='dense' was asked for")
    count = sum(map(len, wanted))
    dense_seconds = _dense_seconds(problem, count)
    try:
        scaled, looked = _look(problem, sample, wanted)
        seconds = _lowrank_seconds(problem, scaled, looked, count)
        if engine == "lowrank":
            return _LowRank(problem, sample, scaled, "engine='lowrank' was asked for")
        if min(seconds, dense_seconds) > 3600 * _MAX_HOURS:
            widest = max(looked, key=lambda one: 0 if one.expansion is None else len(one.expansion.signs))
            raise InputError(_too_slow(problem, widest, sample, seconds, dense_seconds))
        against = f"about {_say_seconds(seconds)} against {_say_seconds(dense_seconds)} on the dense path"
        if seconds <= dense_seconds:
            return _LowRank(problem, sample, scaled, against)
        return _Dense(
            problem, sample, f"about {_say_seconds(dense_seconds)} against {_say_seconds(seconds)} in low rank"
        )
    except _NoExpansionError as error:
        rough = error.column
    column = problem.label(rough.members)
    if engine == "lowrank":
        raise InputError(
            f"kernel {problem.kernel.name!r} has no low-rank expansion for column {column}: use engine='dense', or "
            "engine='auto' to let the cost decide"
        )
    if dense_seconds > 3600 * _MAX_HOURS:
        raise InputError(_too_slow(problem, rough, sample, math.inf, dense_seconds))
    why = f"kernel {problem.kernel.name!r} has no short expansion for column {column}"
    return _Dense(problem, sample, f"{why} (heavy tails, or a kernel that is not smooth)")


def _look(problem: _Problem, sample: np.ndarray, wanted: Sequence[np.ndarray]) -> tuple[list[_Scaled], list[_Scaled]]:
    """The single variables, and some of the combinations: enough to know what all of them cost."""
    scaled = _scale(problem, wanted[0], sample, expanded=True)
    looked = list(scaled)
    for one in scaled:
        if one.expansion is None:
            raise _NoExpansionError(one)
    if problem.combine == "sum":
        for members in wanted[1:]:
            looked += _scale(problem, members[:: max(len(members) // 32, 1)], sample, expanded=True)
    return scaled, looked


def _too_slow(problem: _Problem, rough: _Scaled, sample: np.ndarray, seconds: float, dense_seconds: float) -> str:
    x = add_up(sample, rough.members)
    wide = "has no low-rank expansion" if math.isinf(seconds) else f"would take {_say_seconds(seconds)} in low rank"
    return (
        f"column {problem.label(rough.members)} spreads over {np.ptp(x) / rough.bandwidth:.3g} bandwidths and {wide}, "
        f"and the dense path would take {_say_seconds(dense_seconds)} for {problem.rows.count} rows: winsorise the "
        "column or replace it by ranks, pass a wider bandwidth, take a sample of the rows, or insist with engine="
    )


def _say_seconds(seconds: float) -> str:
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} seconds"


def _dense_seconds(problem: _Problem, count: int) -> float:
    """n^2 / 2 kernel values of each column (twice for the variables), and as many products for each pair."""
    half = problem.rows.count**2 / 2
    d = problem.rows.width
    work = half * (count + 2 * d) / _KERNEL_VALUES + half * 2 * d * count / _FLOPS
    return (work + 2e-5 * count) / problem.threads


def _lowrank_seconds(problem: _Problem, singles: Sequence[_Scaled], looked: Sequence[_Scaled], count: int) -> float:
    """Terms and features of each column, twice, and the product of all features."""
    n = problem.rows.count

    def sizes(columns: Sequence[_Scaled]) -> tuple[float, float]:
        found = [one.expansion for one in columns if one.expansion is not None]
        return float(np.mean([len(e.weights) for e in found])), float(np.mean([len(e.signs) for e in found]))

    terms, rank = sizes(looked)
    variables = sizes(singles)[1] * len(singles)
    if problem.combine == "joint":  # products of features: about a third of them matter
        terms, rank = rank**2 / 3, rank**2 / 3
    features = n * count * (4 * terms * rank + 2 * rank * rank) + count * 20 * rank**3
    return ((features + 2 * n * variables * rank * count) / _FLOPS + 3e-4 * count) / problem.threads


# ------------------------------------------------------------------------------------------------ the low-rank path


class _NoExpansionError(Exception):
    """A variable turned out to have no short expansion."""

    def __init__(self, column: _Scaled) -> None:
        super().__init__(column)
        self.column = column


class _LowRank:
    """Features of every column, one blocked matrix product: linear in rows, no n x n matrix."""

    name = "lowrank"

    def __init__(self, problem: _Problem, sample: np.ndarray, scaled: list[_Scaled], reason: str) -> None:
        self.reason = reason
        self._problem = problem
        self._sample = sample
        self._scaled = scaled
        self._rows = problem.rows
        self._children = self._features_of_variables(centred=True)
        self._parts = self._features_of_variables(centred=False) if problem.combine == "joint" else []
        self._rank = sum(child.rank for child in self._children)
        self._rows = self._choose_chunks()
        self._rough = 0  # sums that had to take the dense path

    @property
    def notes(self) -> tuple[str, ...]:
        rough = f"{self._rough} sums have no short expansion and were measured densely" if self._rough else ""
        return (*_notes(self._problem), *([rough] if rough else []))

    def bandwidths(self) -> np.ndarray:
        return _bandwidths(self._problem, self._scaled)

    def values(self, members: np.ndarray) -> _Found:
        """All variables against the columns ``members``, in one pass over the rows."""
        columns: dict[int, Column] = {}
        rough: list[int] = []
        if len(members[0]) == 1:
            candidates = {c: self._children[int(m)] for c, (m,) in enumerate(members)}
        elif self._problem.combine == "joint":
            height = float(np.abs(self._problem.kernel(self._sample[:, :256], self._sample[:, :256])).max())
            for c, (j, k) in enumerate(members):
                columns[c] = JointColumn.of(self._parts[j], self._parts[k], self._problem.rows.count, max(height, 1.0))
            candidates = dict(zip(columns, compress_columns(self._rows, list(columns.values()), self._problem.threads)))
        else:
            found = self._features(_scale(self._problem, members, self._sample, expanded=True))
            candidates = {c: one for c, one in enumerate(found) if one is not None}
            rough = [c for c, one in enumerate(found) if one is None]
        values = np.empty((len(self._children), len(members)))
        products, diagonal_squares = cross_products(
            self._rows, self._children, list(candidates.values()), self._problem.threads
        )
        values[:, list(candidates)] = products / (self._problem.rows.count - 1) ** 2
        if rough:
            self._rough += len(rough)
            values[:, rough] = _Dense(self._problem, self._sample, "").values(members[rough]).values
        return _Found(
            values=values,
            bound=max((one.bound for one in (*self._children, *candidates.values())), default=0.0),
            ranks=np.array([child.rank for child in self._children]),
            traces=np.array([child.signs @ child.sizes for child in self._children]),
            diagonal_squares=diagonal_squares,
        )

    def blocks(self, members: np.ndarray, order: int) -> Iterator[tuple[np.ndarray, _Found]]:
        """The columns ``members`` in blocks whose products fit the memory allowed."""
        size = self._group_size()
        for start in range(0, len(members), size):
            self._problem.progress(f"order {order}", start / len(members))
            yield members[start : start + size], self.values(members[start : start + size])
        self._problem.progress(f"order {order}", 1.0)

    def stream(self, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return _stream(self, self._problem, order)

    def pair(self) -> _Pair:
        """The two variables of a problem of two, for :func:`hsic` and its test."""
        children = self._children
        products, diagonal_squares = cross_products(self._rows, children, children, self._problem.threads)

        def shuffler() -> Callable[[np.ndarray], float]:
            x, y = (child.values(self._problem.rows.block(slice(None))) for child in children)
            signs = np.multiply.outer(children[0].signs, children[1].signs)
            return lambda order: float(np.vdot(signs, (x @ y[:, order].T) ** 2))

        traces = np.array([child.signs @ child.sizes for child in children])
        return _Pair(self._problem.rows.count, _symmetric(products), traces, diagonal_squares, shuffler)

    def _features_of_variables(self, *, centred: bool) -> list[Features]:
        found = self._features(self._scaled, centred=centred)
        for one, scaled in zip(found, self._scaled):
            if one is None:
                raise _NoExpansionError(scaled)
        return [one for one in found if one is not None]

    def _features(self, scaled: Sequence[_Scaled], *, centred: bool = True) -> list[Features | None]:
        """Features of each column; those whose bound is not met at first come from a finer expansion.

        None for a column without expansion, or whose landmarks miss some of the rows.
        """
        tolerance = TOLERANCE if centred else TOLERANCE / 20
        found: list[Features | None] = [None] * len(scaled)
        todo = [c for c, one in enumerate(scaled) if one.expansion is not None]
        for fine in (not centred, True):
            columns = [self._column(scaled[c], centred=centred, fine=fine) for c in todo]
            better = compress_columns(self._rows, columns, self._problem.threads, centred=centred, tolerance=tolerance)
            for c, one in zip(todo, better):
                lost = columns[todo.index(c)].expansion.diagonal is not None and one.bound > TOLERANCE
                found[c] = None if lost else one
            todo = [c for c, one in zip(todo, better) if one.bound > tolerance / 2]
            if fine or not todo:
                break
        return found

    def _column(self, one: _Scaled, *, centred: bool, fine: bool) -> SumColumn:
        expansion = one.expansion
        if expansion is not NOTHING and (fine or not centred):
            found = extremes(self._problem.rows, np.array([one.members]), 1)
            what = Sample(
                one.bandwidth,
                float(found.low[0]),
                float(found.high[0]),
                float(found.smallest[0]),
                add_up(self._sample, one.members),
            )
            expansion = expand(self._problem.kernel, what, centred=centred, fine=fine) or expansion
        assert expansion is not None
        return SumColumn(one.members, one.origin, one.bandwidth, expansion)

    def _choose_chunks(self) -> Rows:
        """Rows in chunks whose features fit a third of the memory; a chunk of 256 rows that does not is refused."""
        problem = self._problem
        a_row = 8 * (3 * self._rank + problem.threads * 2 * BATCH * self._widest())
        fits = int(problem.memory / 3 / a_row)
        if fits < min(256, problem.rows.count):
            _refuse_if_larger(problem.memory, 3 * a_row * 256)
        return problem.rows.rechunked(max(min(CHUNK_ROWS, fits), 1))

    def _group_size(self) -> int:
        """Candidates whose products with all children fit a third of the memory."""
        a_candidate = 8 * 2 * max(self._rank, 1) * self._widest()
        size = int(self._problem.memory / 3 / a_candidate)
        if size < 1:
            _refuse_if_larger(self._problem.memory, 3 * a_candidate)
        return max(size // BATCH * BATCH, size if size < BATCH else BATCH)

    def _widest(self) -> int:
        ranks = [child.rank for child in self._children]
        if self._problem.combine == "joint":
            return max(max(ranks) ** 2 // 2, 1)
        return max(ranks) + 4


# --------------------------------------------------------------------------------------------------- the dense path


class _Side(Protocol):
    """A sample whose kernel matrix can be had tile by tile."""

    def tile(self, rows: slice, columns: slice) -> np.ndarray: ...


@dataclass(frozen=True)
class _PointSide:
    """Kernel matrix of points (n, p), in units of the bandwidth."""

    kernel: Kernel
    points: np.ndarray

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        return self.kernel.matrix(self.points[rows], self.points[columns])


@dataclass(frozen=True)
class _SumSide:
    """Kernel matrix of X_j + X_k + ..., added up when a tile is asked for."""

    kernel: Kernel
    data: np.ndarray
    column: _Scaled

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        x, y = (add_up(self.data[:, part], self.column.members) / self.column.bandwidth for part in (rows, columns))
        return self.kernel(x[:, None], y[None, :])


@dataclass(frozen=True)
class _ProductSide:
    """The elementwise product of kernel matrices."""

    parts: tuple[_Side, ...]

    def tile(self, rows: slice, columns: slice) -> np.ndarray:
        return np.prod([part.tile(rows, columns) for part in self.parts], axis=0)


class _Dense:
    """Kernel matrices tile by tile: any kernel, any tails, quadratic in rows, within the memory allowed."""

    name = "dense"

    def __init__(self, problem: _Problem, sample: np.ndarray, reason: str) -> None:
        self.reason = reason
        self.notes = _notes(problem)
        self._problem = problem
        self._sample = sample
        self._data = problem.rows.block(slice(None))
        self._singles = _scale(problem, _combinations(problem.rows.width, 1), sample, expanded=False)
        self._children = [_SumSide(problem.kernel, self._data, one) for one in self._singles]

    def bandwidths(self) -> np.ndarray:
        return _bandwidths(self._problem, self._singles)

    def values(self, members: np.ndarray) -> _Found:
        candidates: list[_Side]
        if self._problem.combine == "joint" and len(members[0]) > 1:
            candidates = [_ProductSide(tuple(self._children[m] for m in some)) for some in members]
        else:
            scaled = _scale(self._problem, members, self._sample, expanded=False)
            candidates = [_SumSide(self._problem.kernel, self._data, one) for one in scaled]
        problem = self._problem
        dense = _dense_products(
            problem.rows.count, self._children, candidates, problem.threads, problem.memory, problem.progress
        )
        return _Found(
            values=dense.products / (self._problem.rows.count - 1) ** 2,
            bound=0.0,
            ranks=np.zeros(0, dtype=np.int64),
            traces=dense.traces,
            diagonal_squares=dense.diagonal_squares,
        )

    def blocks(self, members: np.ndarray, order: int) -> Iterator[tuple[np.ndarray, _Found]]:
        for start in range(0, len(members), 4096):
            yield members[start : start + 4096], self.values(members[start : start + 4096])

    def stream(self, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return _stream(self, self._problem, order)


@dataclass(frozen=True)
class _DenseProducts:
    products: np.ndarray
    traces: np.ndarray
    diagonal_squares: np.ndarray


def _dense_products(
    count: int,
    children: Sequence[_Side],
    candidates: Sequence[_Side],
    threads: int,
    memory: int,
    progress: Progress,
) -> _DenseProducts:
    """tr(H K_i H L_c) for every child and candidate, the children's traces, and the sums of their squared diagonals.

    H is idempotent, so centring the children is enough. Both matrices are symmetric: tiles above the diagonal count
    twice, those below are never formed.
    """
    batch = 8
    # a tile of each child, and for each thread a batch of candidates with the temporaries of a kernel
    a_value = 8 * (len(children) + threads * (batch + 4))
    side = min(int(math.sqrt(memory / 2 / a_value)), 1024)
    if side < min(count, 16):
        _refuse_if_larger(memory, 2 * a_value * 16**2)
    spans = [slice(start, min(start + side, count)) for start in range(0, count, side)]
    tiles = list(itertools.combinations_with_replacement(spans, 2))
    sums = np.zeros((len(children), count))
    diagonal = np.zeros((len(children), count))

    def add_rows(i: int) -> None:
        for a, b in tiles:
            tile = children[i].tile(a, b)
            sums[i, a] += tile.sum(axis=1)
            if a == b:
                diagonal[i, a] = tile.diagonal()
            else:
                sums[i, b] += tile.sum(axis=0)

    parallel_map(add_rows, range(len(children)), threads)
    means = sums / count
    grand = means.mean(axis=1)
    diagonal += grand[:, None] - 2 * means
    products = np.zeros((len(children), len(candidates)))
    batches = [slice(start, start + batch) for start in range(0, len(candidates), batch)]
    for t, (a, b) in enumerate(tiles):
        progress("dense tiles", t / len(tiles))
        left = np.empty((len(children), (a.stop - a.start) * (b.stop - b.start)))

        def fill(i: int, a: slice = a, b: slice = b, left: np.ndarray = left) -> None:
            tile = children[i].tile(a, b)
            left[i] = (tile + (grand[i] - means[i, a][:, None] - means[i, b][None, :])).ravel()

        def multiply(some: slice, a: slice = a, b: slice = b, left: np.ndarray = left) -> None:
            right = np.stack([candidate.tile(a, b).ravel() for candidate in candidates[some]])
            products[:, some] += (1 if a == b else 2) * (left @ right.T)

        parallel_map(fill, range(len(children)), threads)
        parallel_map(multiply, batches, threads)
    progress("dense tiles", 1.0)
    return _DenseProducts(products, diagonal.sum(axis=1), np.einsum("it,it->i", diagonal, diagonal))


def _stream(plan: _LowRank | _Dense, problem: _Problem, order: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    with one_blas_thread():
        for members, found in plan.blocks(_combinations(problem.rows.width, order), order):
            yield members, found.values


def _notes(problem: _Problem) -> tuple[str, ...]:
    notes = []
    if problem.kernel.takes_bandwidth:
        if problem.rows.count > MEDIAN_ROWS and problem.bandwidth in ("median", "paper"):
            notes.append(f"bandwidths are medians over a seeded sample of {MEDIAN_ROWS} of {problem.rows.count} rows")
    elif not isinstance(problem.bandwidth, str):
        notes.append(f"kernel {problem.kernel.name!r} takes no bandwidth: bandwidth={problem.bandwidth:g} was not used")
    return tuple(notes)


def _bandwidths(problem: _Problem, scaled: Sequence[_Scaled]) -> np.ndarray:
    return np.array([one.bandwidth if problem.kernel.takes_bandwidth else np.nan for one in scaled])


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
            problem = _pose(np.hstack(sides), found, rule, "sum", _PAIR_MEMORY, None, None)
            plan = _plan(problem, "auto", [_combinations(2, 1)])
            if isinstance(plan, _LowRank):
                return plan.pair()
        return _dense_pair([_PointSide(found, _in_bandwidths(side, found, rule)) for side in sides])


def _in_bandwidths(points: np.ndarray, kernel: Kernel, rule: str | float) -> np.ndarray:
    """Points (n, p) in units of their bandwidth."""
    if kernel.of == "difference":
        points = points - _exact_shift(points)
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


def _dense_pair(sides: Sequence[_PointSide]) -> _Pair:
    count = len(sides[0].points)
    found = _dense_products(count, sides, sides, count_threads(), _PAIR_MEMORY, _silent)

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

    return _Pair(count, _symmetric(found.products), found.traces, found.diagonal_squares, shuffler)
