import functools
import itertools
import math
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagtune
from dagtune import OptimalTuning
from dagtune.engine import dependence
from dagtune.engine.dependence import dependence_blocks, independence_pvalues, measure_dependence
from dagtune.engine.independence import NullMoments, hsic, hsic_test
from dagtune.engine.kernels import KERNELS
from dagtune.engine.packed import with_second
from dagtune.engine.problem import scale
from dagtune.validation import InputError
from oracles import hsic_by_trace, kernel_matrix

SMOOTH = ["gaussian", "sigmoid", "rational-quadratic"]
DATA = {
    "random": lambda rng, n: rng.normal(size=(n, 3)),
    "heavy tails": lambda rng, n: rng.standard_cauchy((n, 3)),
    "huge offsets": lambda rng, n: 1e9 + rng.normal(size=(n, 3)),
    "integers with ties": lambda rng, n: rng.integers(-2, 3, (n, 3)).astype(float),
    "a 20 % binary column": lambda rng, n: np.column_stack([np.arange(n) % 5 == 0, rng.normal(size=(n, 2))]).astype(
        float
    ),
    "skewed, tiny": lambda rng, n: 1e-7 * rng.exponential(size=(n, 3)),
}


def data(kind, n, seed=0):
    """Three columns, the third depending on the first two; drawn again until no column is constant."""
    rng = np.random.default_rng(seed)
    while True:
        X = DATA[kind](rng, n)
        if kind in ("random", "integers with ties", "a 20 % binary column"):
            X[:, 2] += X[:, 0] * X[:, 1]
        if (X.max(axis=0) > X.min(axis=0)).all():
            return X


class Oracle:
    """Every HSIC by the trace formula, the sums formed in extended precision so that an offset costs nothing."""

    def __init__(self, X, kernel, rule):
        self.X = np.asarray(X, dtype=np.longdouble)
        self.kernel, self.rule = kernel, rule
        self.matrix = functools.cache(self.matrix)
        self.hsic = functools.cache(self.hsic)

    def matrix(self, members, combine="sum"):
        if combine == "joint":
            return math.prod(self.matrix((m,)) for m in members)
        return kernel_matrix(sum(self.X[:, m] for m in members), self.kernel, self.rule)

    def hsic(self, one, two):
        return hsic_by_trace(self.matrix(*one), self.matrix(*two))

    def errors(self, found, child, members, combine="sum"):
        """Error of a found value, the scale it is relative to, and what rounding alone does to the trace."""
        one, two = ((child,), "sum"), (tuple(sorted(members)), combine)
        norms = [math.sqrt(abs(self.hsic(side, side))) for side in (one, two)]
        heights = [1e-15 * np.abs(self.matrix(*side)).max() for side in (one, two)]
        rounding = heights[0] * norms[1] + heights[1] * norms[0] + 10 * heights[0] * heights[1]
        return abs(found - self.hsic(one, two)), norms[0] * norms[1], rounding


def check_all(dep, X, kernel, rule, tolerance=1e-8):
    oracle = Oracle(X, kernel, rule)
    d = X.shape[1]
    cases = [(dep.first[i, j], i, [j]) for i, j in itertools.product(range(d), repeat=2)]
    cases += [(dep.second[i, j, k], i, [j, k]) for i, j, k in itertools.product(range(d), repeat=3)]
    for found, child, members in cases:
        error, scale, rounding = oracle.errors(found, child, members)
        assert error <= tolerance * scale + rounding, (child, members)


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
@pytest.mark.parametrize("kernel", SMOOTH)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("n", [5, 61, 150])
def test_both_paths_agree_with_the_trace_formula(engine, kernel, kind, n):
    X = data(kind, n)
    dep = measure_dependence(X, kernel=kernel, engine=engine)
    assert dep.engine == engine
    check_all(dep, X, kernel, "median")


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
@pytest.mark.parametrize("rule", ["paper", "unit", 0.3, 25.0, 900.0])
def test_every_bandwidth_rule_agrees_with_the_trace_formula(engine, rule):
    X = data("random", 80)
    check_all(measure_dependence(X, bandwidth=rule, engine=engine), X, "gaussian", rule)


def test_a_kernel_with_a_kink_takes_the_dense_path():
    X = data("random", 100)
    dep = measure_dependence(X, kernel="laplace", engine="dense")
    check_all(dep, X, "laplace", "median")
    many = np.random.default_rng(0).normal(size=(1500, 3))
    assert measure_dependence(many, kernel="laplace", order=1).engine == "dense"
    with pytest.raises(InputError, match="engine='dense'"):
        measure_dependence(np.random.default_rng(0).normal(size=(5000, 2)), kernel="laplace", engine="lowrank")


@settings(max_examples=60)
@given(
    n=st.integers(2, 90),
    d=st.integers(2, 4),
    law=st.sampled_from(["normal", "standard_cauchy", "exponential", "uniform", "few"]),
    kernel=st.sampled_from(SMOOTH),
    rule=st.sampled_from(["median", "paper", "unit", 0.05, 3.0, 400.0]),
    seed=st.integers(0, 999),
)
def test_the_error_bound_is_honoured_whatever_the_shape(n, d, law, kernel, rule, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float) if law == "few" else getattr(rng, law)(size=(n, d))
    X[0] += 1.0  # no constant column, however few the rows
    if (X.max(axis=0) == X.min(axis=0)).any():
        return
    dep = measure_dependence(X, kernel=kernel, bandwidth=rule, engine="lowrank")
    check_all(dep, X, kernel, rule, tolerance=dep.error_bound)


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
@pytest.mark.parametrize("kernel", SMOOTH)
def test_the_joint_kernel_is_the_product_of_the_two(engine, kernel):
    X = data("random", 120)
    dep = measure_dependence(X, kernel=kernel, engine=engine, combine="joint")
    oracle = Oracle(X, kernel, "median")
    for i, j, k in itertools.product(range(3), repeat=3):
        error, scale, _ = oracle.errors(dep.second[i, j, k], i, [j, k], "joint")
        assert error <= 1e-8 * scale


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
def test_the_third_order_adds_three(engine):
    X = np.random.default_rng(1).normal(size=(70, 4))
    dep = measure_dependence(X, engine=engine, order=3)
    oracle = Oracle(X, "gaussian", "median")
    for i, j, k, m in [(0, 1, 2, 3), (3, 2, 0, 1), (1, 1, 1, 1), (2, 0, 0, 3)]:
        error, scale, _ = oracle.errors(dep.third[i, j, k, m], i, [j, k, m])
        assert error <= 1e-8 * scale
    assert dep.second.shape == (4, 4, 4)


def test_the_second_order_does_not_care_who_is_named_first():
    second = measure_dependence(data("random", 150), engine="lowrank").second
    assert (second == second.swapaxes(1, 2)).all()
    assert second.shape == (3, 3, 3)


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
def test_any_number_of_threads_gives_the_same_numbers(engine):
    X = np.random.default_rng(2).normal(size=(1100, 20))  # large enough for more than one thread
    one, three = (measure_dependence(X, engine=engine, threads=threads) for threads in (1, 3))
    assert np.abs(one.second - three.second).max() <= 1e-10 * one.second.max()
    assert np.abs(one.first - three.first).max() <= 1e-10 * one.first.max()


@pytest.mark.parametrize(("engine", "memories"), [("lowrank", ("11MiB", "30MiB")), ("dense", ("120KiB", "600KiB"))])
def test_any_amount_of_memory_gives_the_same_numbers(engine, memories):
    """Chunks of rows, tiles, and groups of columns are cut to fit: here into some, elsewhere into one."""
    X = data("random", 4000 if engine == "lowrank" else 700)
    one = measure_dependence(X, engine=engine)
    for memory in memories:
        other = measure_dependence(X, engine=engine, memory=memory)
        np.testing.assert_allclose(other.second, one.second, rtol=1e-9)
        np.testing.assert_allclose(other.first, one.first, rtol=1e-9)


def test_columns_and_rows_in_another_order_give_the_same_numbers():
    X = data("random", 150)
    dep = measure_dependence(X, engine="lowrank")
    order = [2, 0, 1]
    moved = measure_dependence(X[:, order], engine="lowrank")
    assert moved.second == pytest.approx(dep.second[np.ix_(order, order, order)], rel=1e-9)
    shuffled = measure_dependence(np.random.default_rng(0).permutation(X), engine="lowrank")
    assert shuffled.second == pytest.approx(dep.second, rel=1e-9)


def test_a_sum_that_is_constant_depends_on_nothing():
    x, y = np.random.default_rng(3).normal(size=(2, 100))
    for engine in ("lowrank", "dense"):
        dep = measure_dependence(np.column_stack([x, -x, y]), engine=engine)
        assert abs(dep.second[2, 0, 1]) < 1e-15


def test_a_sum_that_is_constant_up_to_rounding_depends_on_nothing():
    """x + (1 - x) is 1, or the number beside it; which of them must not matter."""
    x = np.random.default_rng(3).normal(size=100)
    assert len(np.unique(x + (1 - x))) > 1
    for engine in ("lowrank", "dense"):
        dep = measure_dependence(np.column_stack([x, 1 - x, x**2]), engine=engine)
        assert abs(dep.second[2, 0, 1]) < 1e-15


def test_a_measurement_that_would_take_days_names_the_widest_column(monkeypatch):
    monkeypatch.setattr("dagtune.engine.paths._MAX_HOURS", 0.0)
    X = np.random.default_rng(3).normal(size=(2000, 3)).cumsum(axis=0) * [1.0, 1.0, 1.0]
    X[:, 1] = X[:, 1] ** 3
    with pytest.raises(InputError, match=r"column 'x1' spreads over .* would take .* in low rank"):
        measure_dependence(X, order=1)


def test_more_variables_than_are_held_are_refused_at_exactly_that_width():
    small = measure_dependence(data("random", 20))
    for width, words in ((200, "order 2 was not measured"), (201, r"limit 200 for order 2")):
        with pytest.raises(InputError, match=words):
            _ = replace(small, names=tuple(map(str, range(width))), higher={}).second


def test_auto_says_which_path_and_why():
    rng = np.random.default_rng(4)
    few = measure_dependence(rng.normal(size=(20, 3)))
    assert few.engine == "dense"
    assert "so small a table" in few.reason
    many = measure_dependence(rng.normal(size=(3000, 6)))
    assert many.engine == "lowrank"
    assert "on the dense path" in many.reason
    heavy = measure_dependence(rng.standard_cauchy((1500, 2)) ** 3, order=1)
    assert heavy.engine == "dense"
    assert "'x" in heavy.reason or "against" in heavy.reason
    forced = measure_dependence(rng.normal(size=(20, 3)), engine="lowrank")
    assert "asked for" in forced.reason


def test_a_result_introduces_itself_in_a_line():
    told = repr(measure_dependence(data("random", 40)))
    assert told.startswith("Dependence of 3 variables in 40 rows (gaussian kernel, median; orders 1 to 2): dense path")
    assert "\n" not in told


def test_a_million_rows_with_cauchy_tails_are_refused_with_a_cure():
    X = np.random.default_rng(5).standard_cauchy((10**6, 3))
    with pytest.raises(InputError, match=r"'x\d' spreads over .* bandwidths .* hours for 1000000 rows: winsorise"):
        measure_dependence(X)


def test_bandwidths_of_many_rows_come_from_a_seeded_sample_and_the_result_says_so(monkeypatch):
    for room in ("paths", "problem"):
        monkeypatch.setattr(f"dagtune.engine.{room}.MEDIAN_ROWS", 500)
    X = np.random.default_rng(6).normal(size=(2000, 2))
    one, two = (measure_dependence(X, engine=engine) for engine in ("lowrank", "dense"))
    assert one.notes == two.notes
    assert "500 of 2000 rows" in one.notes[0]
    assert (one.bandwidths == two.bandwidths).all()
    assert one.second == pytest.approx(two.second, rel=1e-7)


def test_the_sigmoid_kernel_says_that_it_uses_no_bandwidth():
    dep = measure_dependence(data("random", 40), kernel="sigmoid", bandwidth=0.5)
    assert "takes no bandwidth" in dep.notes[0]
    assert np.isnan(dep.bandwidths).all()


@pytest.mark.parametrize("engine", ["lowrank", "dense"])
def test_no_more_memory_is_used_than_allowed(engine):
    X = np.random.default_rng(7).normal(size=(3000, 8))
    measure_dependence(X[:50], engine=engine)  # compiled and cached
    tracemalloc.start()
    try:
        measure_dependence(X, engine=engine, memory="24MiB")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 * 2**20


@pytest.mark.slow
def test_a_million_rows_take_less_than_a_gibibyte_beyond_the_data():
    code = """
import resource, numpy as np, psutil
from dagtune import measure_dependence
rng = np.random.default_rng(0)
measure_dependence(rng.normal(size=(60, 3)), engine="lowrank")
X = np.empty((10**6, 12))
for part in np.split(X, 10):
    part[:] = rng.standard_normal(part.shape)
before = psutil.Process().memory_info().rss
found = measure_dependence(X)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(found.engine, found.error_bound, peak - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    engine, bound, over = run.stdout.split()
    assert engine == "lowrank"
    assert float(bound) < 1e-8
    assert int(over) < 2**30


def test_too_little_memory_is_refused_with_the_number_that_would_do():
    X = np.random.default_rng(8).normal(size=(400, 30))
    for engine in ("lowrank", "dense"):
        with pytest.raises(InputError, match="memory='1MiB'"):  # the (d, d, d) array alone
            measure_dependence(X, engine=engine, memory="50KiB")
        with pytest.raises(InputError, match=r"needs about .* memory='\d+MiB'"):
            measure_dependence(X, engine=engine, memory="2KiB", order=1)
    with pytest.raises(InputError, match=r"needs about .* memory='\d+MiB'") as refusal:
        measure_dependence(X, engine="lowrank", memory="300KiB")
    enough = re.search(r"memory='(\d+MiB)'", str(refusal.value))[1]
    assert measure_dependence(X, engine="lowrank", memory=enough).second.shape == (30, 30, 30)


def test_blocks_hand_out_what_is_too_large_to_hold(monkeypatch):
    X = np.random.default_rng(9).normal(size=(120, 6))
    whole = measure_dependence(X, engine="lowrank")
    monkeypatch.setitem(dependence.MAX_WIDTH, 2, 5)
    wide = measure_dependence(X, engine="lowrank")
    with pytest.raises(InputError, match=r"blocks\(2\)"):
        _ = wide.second
    for blocks in (wide.blocks(), whole.blocks(), dependence_blocks(X, engine="dense"), dependence_blocks(X)):
        seen = np.zeros((6, 6))
        for members, values in blocks:
            for c, (j, k) in enumerate(members):
                assert values[:, c] == pytest.approx(whole.second[:, j, k], rel=1e-7)
                seen[j, k] += 1
        assert (seen == np.triu(np.ones((6, 6)))).all()


def test_progress_runs_from_nothing_to_all():
    seen = []
    measure_dependence(
        np.random.default_rng(1).normal(size=(500, 5)), engine="lowrank", progress=lambda *a: seen.append(a)
    )
    assert ("order 2", 1.0) in seen
    assert all(0 <= share <= 1 for _, share in seen)
    shares = [share for phase, share in seen if phase == "order 2"]
    assert shares == sorted(shares)


def test_a_kernel_of_ones_own_takes_either_path():
    X = data("random", 150)

    def mine(x, y):
        return np.exp(-0.5 * (x - y) ** 2)

    def rough(x, y):
        return np.minimum(np.abs(x), np.abs(y))

    reference = measure_dependence(X, bandwidth=0.8, engine="dense")
    for engine in ("lowrank", "dense"):
        assert measure_dependence(X, kernel=mine, bandwidth=0.8, engine=engine).second == pytest.approx(
            reference.second, abs=1e-8 * reference.second.max()
        )
    assert measure_dependence(np.random.default_rng(0).normal(size=(1000, 2)), kernel=rough).engine == "dense"


def test_a_kernel_of_two_arguments_far_from_zero_takes_either_path():
    """Its series is centred on the data: on an interval of another place it would be wrong."""
    X = 4 + np.tanh(data("random", 150))

    def ratio(x, y):
        return x * y / (1 + x * x * y * y)

    low, dense = (measure_dependence(X, kernel=ratio, bandwidth=2.0, engine=engine) for engine in ("lowrank", "dense"))
    np.testing.assert_allclose(low.second, dense.second, atol=1e-8 * dense.second.max())


# ------------------------------------------------------------------------------------------------- pairs and tests


@pytest.mark.parametrize("n", [5, 80, 450])
@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_hsic_of_two_vectors_is_the_trace_formula(n, kernel):
    x, y = data("random", n)[:, [0, 2]].T
    K, L = kernel_matrix(x, kernel), kernel_matrix(y, kernel)
    scale = math.sqrt(hsic_by_trace(K, K) * hsic_by_trace(L, L))
    assert hsic(x, y, kernel=kernel) == pytest.approx(hsic_by_trace(K, L), abs=1e-8 * scale)
    assert isinstance(hsic(x, y, kernel=kernel), float)
    assert hsic(x, y, kernel=kernel) == pytest.approx(hsic(y, x, kernel=kernel), rel=1e-7)


def test_hsic_of_several_columns_is_the_trace_formula():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    for kernel in ("gaussian", "sigmoid"):
        matrices = []
        for points in (x, y):
            if kernel == "sigmoid":
                matrices.append(np.tanh(points @ points.T))
            else:
                squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
                matrices.append(np.exp(-squares / (2 * np.median(squares[np.triu_indices(60, 1)]))))
        assert hsic(x, y, kernel=kernel) == pytest.approx(hsic_by_trace(*matrices), rel=1e-10)
    assert hsic(x, pd.Series(y[:, 0])) == pytest.approx(hsic(x, y[:, 0]))


@pytest.mark.parametrize("distinct", [3, 50])
def test_the_bandwidth_of_several_columns_counts_rows_that_are_equal(distinct):
    """The median of all distances; only if that is 0, of those that are not."""
    rng = np.random.default_rng(12)
    points, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    points[distinct:] = points[0]
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    between = squares[np.triu_indices(60, 1)]
    median = np.median(between if distinct == 50 else between[between > 0])
    assert (np.median(between) > 0) == (distinct == 50)
    expected = hsic_by_trace(np.exp(-squares / (2 * median)), kernel_matrix(y, "gaussian"))
    assert hsic(points, y) == pytest.approx(expected, rel=1e-9)


def test_the_null_moments_are_those_of_all_permutations():
    rng = np.random.default_rng(12)
    K, L = (kernel_matrix(rng.normal(size=6), kernel) for kernel in ("gaussian", "sigmoid"))
    H = np.eye(6) - 1 / 6
    K, L = H @ K @ H, H @ L @ H
    drawn = [np.vdot(K, L[np.ix_(p, p)]) for p in map(list, itertools.permutations(range(6)))]
    sides = [
        NullMoments(6, np.array([np.trace(M)]), np.array([np.vdot(M, M)]), np.array([(M.diagonal() ** 2).sum()]))
        for M in (K, L)
    ]
    mean, variance = sides[0].mean_and_variance(sides[1])
    assert mean[0, 0] == pytest.approx(np.mean(drawn))
    assert variance[0, 0] == pytest.approx(np.var(drawn))


@pytest.mark.parametrize("n", [100, 400])
def test_gamma_and_permutation_agree_under_independence_and_reject_dependence(n):
    rng = np.random.default_rng(13)
    small = 0
    for _ in range(20):
        x, y = rng.normal(size=n), rng.exponential(size=n)
        gamma = hsic_test(x, y).pvalue
        permutation = hsic_test(x, y, method="permutation", n_permutations=400, rng=0).pvalue
        assert gamma == pytest.approx(permutation, abs=0.1)
        small += gamma < 0.05
    assert small <= 5
    for method in ("gamma", "permutation"):
        assert hsic_test(x, x**2 + 0.1 * y, method=method, n_permutations=99, rng=0).pvalue <= 0.01


def test_pvalues_of_independence_are_uniform_enough():
    X = np.random.default_rng(14).normal(size=(200, 25))
    values = independence_pvalues(X)[np.triu_indices(25, 1)]
    assert 0.02 <= (values < 0.05).mean() <= 0.09
    assert 0.4 <= values.mean() <= 0.6
    assert independence_pvalues(X)[3, 7] == pytest.approx(hsic_test(X[:, 3], X[:, 7]).pvalue, rel=1e-5)


def test_a_seed_fixes_the_permutation_test():
    x, y = np.random.default_rng(15).normal(size=(2, 50))
    one, two = (hsic_test(x, y, method="permutation", n_permutations=50, rng=3) for _ in range(2))
    assert one == two


# ---------------------------------------------------------------------------------------------------------- refusals

GOOD = np.random.default_rng(16).normal(size=(10, 2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: measure_dependence(np.where(np.eye(10, 2), np.nan, GOOD)), "'x0' has 1 missing"),
        (lambda: measure_dependence(np.where(np.eye(10, 2), np.inf, GOOD)), "'x0' has 1 infinite"),
        (lambda: measure_dependence(pd.DataFrame({"a": list("uvw"), "b": [1, 2, 3]})), "'a' is not numeric"),
        (lambda: measure_dependence(GOOD[:1]), "1 row, but at least 2"),
        (lambda: measure_dependence(GOOD * [1.0, 1e200]), "'x1' goes from .* rescale"),
        (lambda: measure_dependence(GOOD * [1e-200, 1.0]), "'x0' goes from .* rescale"),
        (lambda: measure_dependence(np.ones((5, 2))), "'x0' is constant"),
        (lambda: measure_dependence(GOOD[:, :1]), "1 column, but at least 2"),
        (lambda: measure_dependence(GOOD, kernel="gaussien"), "did you mean 'gaussian'"),
        (lambda: measure_dependence(GOOD, bandwidth="mean"), "unknown bandwidth 'mean'"),
        (lambda: measure_dependence(GOOD, engine="gpu"), "unknown engine 'gpu'"),
        (lambda: measure_dependence(GOOD, combine="product"), "unknown combine"),
        (lambda: measure_dependence(GOOD, order=4), "order must be a whole number from 1 to 3"),
        (lambda: measure_dependence(GOOD, order=3, combine="joint"), "pass order=2"),
        (lambda: measure_dependence(GOOD, memory="big"), "size such as"),
        (lambda: measure_dependence(GOOD, threads=0), "threads"),
        (lambda: measure_dependence(GOOD, order=1).second, "pass order=2"),
        (lambda: hsic(GOOD[:, 0], GOOD[:5, 1]), "x has 10 rows and y has 5"),
        (lambda: hsic(GOOD[:, 0], np.ones(10)), "'y' is constant"),
        (lambda: hsic(GOOD[:, 0], ["a"] * 10), "not numeric"),
        (lambda: hsic(GOOD[:1, 0], GOOD[:1, 1]), "1 row"),
        (lambda: hsic_test(GOOD[:, 0], GOOD[:, 1], method="exact"), "unknown method"),
        (lambda: list(dependence_blocks(GOOD, combine="both")), "combine"),
    ],
)
def test_bad_input_is_refused_with_the_column_and_the_cure(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_engine_stands_at_the_front_door():
    assert dagtune.hsic is hsic
    assert dagtune.measure_dependence is measure_dependence


def test_pairs_that_are_held_once_are_those_of_the_whole_array(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 7))
    X[:, 3:] += np.tanh(X[:, :4])
    whole = dependence.measure_dependence(X)
    monkeypatch.setitem(dependence.MAX_WIDTH, 2, 5)
    half = with_second(dependence.measure_dependence(X), 10**6).second
    np.testing.assert_array_equal(np.stack([half[i] for i in range(7)]), whole.second)
    np.testing.assert_array_equal(half[3, 2], whole.second[3, 2])
    np.testing.assert_array_equal(half[3, 2, np.array([0, 5])], whole.second[3, 2, [0, 5]])
    for axes in ((1, 2), (0, 2)):
        np.testing.assert_allclose(half.sum(axis=axes), whole.second.sum(axis=axes), rtol=1e-12)
    with pytest.raises(InputError, match="only memory='1000 B' is allowed"):
        with_second(dependence.measure_dependence(X), 1000)


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_more_variables_than_are_held_whole_give_the_same_graph(monkeypatch, preset):
    X = np.random.default_rng(1).normal(size=(150, 8))
    X[:, 4:] += np.tanh(X[:, :4]) + np.tanh(X[:, [1, 2, 3, 0]])
    how = {"preset": preset, "solver": "exact", "threads": 1}
    whole = OptimalTuning(**how).fit(X).result_
    monkeypatch.setitem(dependence.MAX_WIDTH, 2, 5)
    half = OptimalTuning(**how).fit(X).result_
    assert whole.changes == half.changes
    assert (whole.matrix == half.matrix).all()


def test_two_threads_do_not_make_the_engine_take_the_dearer_path():
    X = np.random.default_rng(0).normal(size=(400, 20))
    X[:, 1:] += np.tanh(X[:, :-1])
    assert {dependence.measure_dependence(X, threads=threads).engine for threads in (1, 2)} == {"lowrank"}


@pytest.mark.parametrize("engine", ["auto", "dense", "lowrank"])
def test_a_small_table_is_left_to_one_thread(engine, monkeypatch):
    def no_threads(*_):
        raise AssertionError("a second thread was started")

    X = np.random.default_rng(0).normal(size=(50, 4))
    alone = measure_dependence(X, engine=engine, threads=1)
    monkeypatch.setattr("dagtune.parallel.ThreadPoolExecutor", no_threads)
    assert (measure_dependence(X, engine=engine, threads=2).second == alone.second).all()
    with pytest.raises(AssertionError, match="second thread"):
        measure_dependence(np.repeat(X, 40, axis=0), engine="dense", threads=2)


@pytest.mark.parametrize(("d", "most"), [(4, 1), (40, 14)])
def test_choosing_a_path_looks_at_few_combinations(d, most, monkeypatch):
    looked = []

    def scale_and_count(problem, members, *some, **more):
        looked.append(members)
        return scale(problem, members, *some, **more)

    monkeypatch.setattr("dagtune.engine.paths.scale", scale_and_count)
    X = np.random.default_rng(0).normal(size=(100, d))
    assert measure_dependence(X, threads=1).engine == "lowrank"
    assert sum(len(members) for members in looked if members.shape[1] == 2) in range(1, most + 1)
