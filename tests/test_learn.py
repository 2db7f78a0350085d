"""The learner as a whole: always a DAG, always the same for a seed, always explained; and as good as promised."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagtune.engine.dependence import measure_dependence
from dagtune.graph import complete, is_dag
from dagtune.metrics import aupr, sid
from dagtune.ot.algorithm import ASSUMPTIONS, gaining_share, optimal_tuning
from dagtune.ot.cycles import formalize
from dagtune.ot.losses import pair_vector
from dagtune.ot.optimal import select_skeleton
from dagtune.ot.ties import tie_ranks
from dagtune.ot.tuning import add_edges, delete_edges
from dagtune.result import replay
from dagtune.simulate import random_dag, sample
from dagtune.validation import InputError
from oracles import Measured, add_by_loops, delete_by_loops, formalize_by_cycles, random_dependence


def laplacian(x, y):
    """A kernel of the user's own."""
    return np.exp(-np.abs(x - y))


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "offset": lambda rng, n: 1e9 + rng.normal(size=n),
    "tiny": lambda rng, n: 1e-12 * rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "binary": lambda rng, n: rng.integers(2, size=n).astype(float),
    "counts": lambda rng, n: rng.poisson(2.0, size=n).astype(float),
}


@st.composite
def tables(draw):
    """A table of any shape: kinds of columns mixed, some made of others, some copies; none constant."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = np.column_stack([COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))](rng, n) for _ in range(d)])
    for j in range(1, d):
        made = draw(st.sampled_from(["alone", "alone", "child", "copy", "mirror"]))
        if made == "child":
            X[:, j] += np.tanh(X[:, :j]).sum(axis=1)
        elif made != "alone":
            X[:, j] = X[:, j - 1] * (1 if made == "copy" else -1)
    X[0] += np.where(X.max(axis=0) == X.min(axis=0), 1.0 + np.abs(X[0]), 0.0)
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(d)])


@st.composite
def options(draw, d):
    """Every kernel, preset, solver and kind of knowledge."""
    preset = draw(st.sampled_from(["paper", "paper", "released"]))
    chosen = {
        "preset": preset,
        "kernel": draw(st.sampled_from(["gaussian", "sigmoid", "laplace", "rational-quadratic", "auto", laplacian])),
        "bandwidth": draw(st.sampled_from([None, "median", "paper", "unit", 0.7])),
        "edge_score": draw(st.sampled_from(["max", "mean", "min"])),
        "rng": draw(st.integers(0, 2**31)),
        "threads": 1,
    }
    if preset == "released":
        chosen["solver_options"] = {"steps": 3}
    else:
        chosen["deletion"] = draw(st.sampled_from(["min", "max"]))
        chosen |= draw(st.sampled_from([{}, {"n_pairs": 0.4}, {"n_pairs": 1}, {"alpha": 0.1}, {"penalty": 0.01}]))
        chosen |= draw(st.sampled_from([{}, {}, {"order": 3}, {"combine": "joint"}]))
        if not {"n_pairs", "alpha"} & set(chosen) and draw(st.integers(0, 4)) == 0:
            chosen |= {"solver": "gumbel", "solver_options": {"steps": 3}}
    if draw(st.booleans()):
        rank = draw(st.permutations(range(d)))
        edges = st.lists(
            st.tuples(st.integers(0, d - 1), st.integers(0, d - 1)).filter(lambda e: e[0] != e[1]), max_size=4
        )
        required = {(a, b) if rank[a] < rank[b] else (b, a) for a, b in draw(edges)}
        forbidden = {edge for edge in draw(edges) if edge not in required}
        chosen["knowledge"] = {
            "required": [[f"v{a}", f"v{b}"] for a, b in sorted(required)],
            "forbidden": [[f"v{a}", f"v{b}"] for a, b in sorted(forbidden)],
        }
        if not required:
            chosen["knowledge"]["tiers"] = [[f"v{i}" for i in range(d) if rank[i] == r] for r in range(d)]
    return chosen


def check_any_table(data):
    X = data.draw(tables())
    chosen = data.draw(options(X.shape[1]))
    result = optimal_tuning(X, **chosen)
    assert is_dag(result.matrix)
    np.testing.assert_array_equal(replay(result.history[result.phases[0]], result.changes, result.names), result.matrix)
    again = optimal_tuning(X, **chosen)
    np.testing.assert_array_equal(again.matrix, result.matrix)
    assert again.changes == result.changes
    position = {name: i for i, name in enumerate(X.columns)}
    known = chosen.get("knowledge", {})
    assert all(result.matrix[position[a], position[b]] for a, b in known.get("required", []))
    assert not any(result.matrix[position[a], position[b]] for a, b in known.get("forbidden", []))
    tier = {name: number for number, names in enumerate(known.get("tiers", [])) for name in names}
    assert all(tier.get(a, 0) <= tier.get(b, 0) for a, b in result.to_networkx().edges)
    assert result.causal_order


@given(st.data())
@settings(max_examples=50)
def test_any_table_gives_a_dag_the_same_each_time_with_a_trace_that_replays(data):
    check_any_table(data)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=1000)
def test_a_thousand_tables_give_dags_the_same_each_time_with_traces_that_replay(data):
    check_any_table(data)


@pytest.mark.parametrize("kernel", ["gaussian", "sigmoid"])
def test_the_phases_are_those_of_algorithm_one_run_by_loops_on_dense_numbers(kernel):
    """The whole road twice: HSIC as tr(K H L H) / (n - 1)^2 and Algorithm 1 triple by triple."""
    X = sample(random_dag(5, 6, rng=0), "tanh", 60, "released", rng=1).to_numpy()
    dense = dense_dependence(X, kernel)
    result = optimal_tuning(X, kernel=kernel)
    state = delete_by_loops(~np.eye(5, dtype=bool), dense)
    ranks = tie_ranks(dense.first, dense.second).tolist()
    added = add_by_loops(state, dense, ranks)
    np.testing.assert_array_equal(result.after("deletion"), state == 1)
    np.testing.assert_array_equal(result.after("addition"), added)
    np.testing.assert_array_equal(result.after("formalization"), formalize_by_cycles(added, dense, ranks))


def dense_dependence(X, kernel):
    """First and second order HSIC straight from the definition; Gaussian with s^2 the median squared distance."""
    n, d = X.shape
    H = np.eye(n) - 1 / n

    def gram(x):
        if kernel == "sigmoid":
            return np.tanh(np.outer(x, x))
        squared = (x[:, None] - x[None, :]) ** 2
        return np.exp(-squared / (2 * np.median(squared[np.triu_indices(n, 1)])))

    def hsic(x, y):
        return np.trace(gram(x) @ H @ gram(y) @ H) / (n - 1) ** 2

    first = np.array([[hsic(X[:, i], X[:, j]) for j in range(d)] for i in range(d)])
    second = np.array([[[hsic(X[:, i], X[:, j] + X[:, k]) for k in range(d)] for j in range(d)] for i in range(d)])
    return Measured(first, second)


def mean_scores(d, edges, n, seeds):
    """Mean SID and AuPR of OT on released Tanh data, and mean SID of the variance-sorted complete DAG beside it."""
    found = []
    for seed in seeds:
        truth = random_dag(d, edges, rng=seed)
        X = sample(truth, "tanh", n, "released", rng=seed + 1000)
        guess = optimal_tuning(X, kernel="sigmoid", threads=1).matrix
        by_variance = complete(np.argsort(X.var().to_numpy()))
        found.append((sid(truth, guess), aupr(truth, guess), sid(truth, by_variance)))
    return np.mean(found, axis=0)


def test_released_tanh_data_give_the_published_sid_at_ten_variables():
    """Published 37. Sorting the columns by variance does far better: the benchmark is sortable."""
    found, precision, by_variance = mean_scores(10, 40, 100, range(20))
    assert found <= 37
    assert precision >= 0.8
    assert by_variance < found


@pytest.mark.slow
def test_released_tanh_data_give_the_published_sid_at_twenty_variables():
    """Published 170.2."""
    found, precision, by_variance = mean_scores(20, 100, 400, range(20))
    assert found <= 140
    assert precision >= 0.65
    assert by_variance < found


def permuted(dependence, order):
    return Measured(dependence.first[np.ix_(order, order)], dependence.second[np.ix_(order, order, order)])


@given(st.integers(0, 2**32), st.integers(3, 7))
@settings(max_examples=100)
def test_every_step_permutes_with_the_columns(seed, d):
    """Addition and formalization once took what came first in the order of the columns."""
    rng = np.random.default_rng(seed)
    first, second = rng.random((d, d)), 1.2 * rng.random((d, d, d))
    dependence = Measured(np.maximum(first, first.T), np.maximum(second, second.transpose(0, 2, 1)))
    order = rng.permutation(d)
    graph = ~np.eye(d, dtype=bool)
    steps = (
        lambda numbers: select_skeleton(numbers.first, n_pairs=0.4),
        lambda numbers: select_skeleton(numbers.first, penalty=5.0),
        lambda numbers: delete_edges(graph, numbers)[0],
        lambda numbers: add_edges(~graph & False, numbers)[0],
        lambda numbers: formalize(graph, numbers)[0],
    )
    for step in steps:
        np.testing.assert_array_equal(step(permuted(dependence, order)), step(dependence)[np.ix_(order, order)])


@pytest.mark.parametrize("kernel", ["gaussian", "sigmoid"])
@pytest.mark.parametrize("model", ["tanh", "mlp-tanh"])
def test_the_whole_result_permutes_with_the_columns(kernel, model):
    """Failed in two of three tables before ties were broken by values."""
    for seed in range(8):
        X = sample(random_dag(8, 20, rng=seed), model, 100, "released", rng=seed + 1000).to_numpy()
        order = np.random.default_rng(seed).permutation(8)
        here = optimal_tuning(X, kernel=kernel, threads=1).matrix[np.ix_(order, order)]
        np.testing.assert_array_equal(here, optimal_tuning(X[:, order], kernel=kernel, threads=1).matrix)


def test_of_two_columns_values_choose_the_direction_not_their_places_or_names():
    rng = np.random.default_rng(0)

    def learned(X):
        (edge,) = optimal_tuning(X).edges()[["cause", "effect"]].to_numpy().tolist()
        return edge

    for _ in range(10):
        X = pd.DataFrame({"a": rng.exponential(size=40), "b": rng.normal(size=40)})
        assert learned(X) == learned(X[["b", "a"]]) == learned(X.rename(columns={"a": "b", "b": "a"}))[::-1]


def test_of_equal_pairs_values_choose_who_enters_the_skeleton():
    """Pairs (0, 1) and (2, 3) are equal; the HSIC of the columns with themselves is not."""
    first = np.full((4, 4), 0.1)
    np.fill_diagonal(first, [1.0, 0.9, 0.8, 0.7])
    first[0, 1] = first[1, 0] = first[2, 3] = first[3, 2] = 0.5
    here = select_skeleton(first, n_pairs=1)
    assert here.sum() == 2
    for order in ([2, 3, 0, 1], [3, 1, 0, 2]):
        there = select_skeleton(first[np.ix_(order, order)], n_pairs=1)
        np.testing.assert_array_equal(there, here[np.ix_(order, order)])


def test_the_result_warns_where_the_scale_of_a_column_matters():
    X = sample(random_dag(6, 8, rng=0), "tanh", 100, "released", rng=1).to_numpy()
    scaled = X * np.array([1, 1000, 1, 1, 1, 1])
    assert not np.array_equal(optimal_tuning(X).matrix, optimal_tuning(scaled).matrix)
    assert any("times as much as" in warning for warning in optimal_tuning(scaled).warnings)


def test_the_released_preset_says_that_the_order_of_the_columns_matters():
    X = sample(random_dag(4, 4, rng=0), "tanh", 60, "released", rng=1)
    told = optimal_tuning(X, preset="released", rng=0, solver_options={"steps": 2}).warnings
    assert any("order of the columns" in warning for warning in told)
    assert not any("order of the columns" in warning for warning in optimal_tuning(X).warnings)


def test_two_columns_are_enough():
    X = np.random.default_rng(0).normal(size=(30, 2))
    result = optimal_tuning(X)
    assert result.matrix.sum() == 1
    assert optimal_tuning(X, preset="released", solver_options={"steps": 2}).matrix.sum() == 1


def test_the_released_preset_starts_upper_triangular_with_the_scripts_bandwidth():
    X = sample(random_dag(6, 8, rng=0), "tanh", 80, "released", rng=1)
    result = optimal_tuning(X, preset="released", rng=0, solver_options={"steps": 50})
    assert result.phases == ("optimal", "deletion", "addition", "two-cycles", "formalization")
    assert not np.tril(result.history["optimal"]).any()
    assert result.settings["bandwidth"] == "unit"
    np.testing.assert_allclose(result.opening, measure_dependence(X, bandwidth="unit").first)
    resolved = result.history["two-cycles"]
    assert not (resolved & resolved.T).any()


def test_the_seed_decides_the_released_skeleton():
    X = sample(random_dag(6, 8, rng=0), "tanh", 80, "released", rng=1)
    first = [
        optimal_tuning(X, preset="released", rng=s, solver_options={"steps": 5}).history["optimal"] for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(first[0], first[1])
    assert (first[0] != first[2]).any()


@pytest.mark.parametrize(
    ("model", "recipe", "seed", "best"), [("abs", "printed", 0, "sigmoid"), ("abs-tanh", "released", 1, "gaussian")]
)
def test_auto_takes_the_kernel_under_which_most_triples_gain_and_says_so(model, recipe, seed, best):
    X = sample(random_dag(6, 10, rng=seed), model, 150, recipe, rng=seed + 1)
    shares = {kernel: gaining_share(measure_dependence(X, kernel=kernel)) for kernel in ("gaussian", "sigmoid")}
    assert shares[best] == max(shares.values()) > min(shares.values())
    result = optimal_tuning(X, kernel="auto")
    assert result.settings["kernel"] == best
    assert any(f"kernel='auto' chose {best}" in warning for warning in result.warnings)
    np.testing.assert_array_equal(result.matrix, optimal_tuning(X, kernel=best).matrix)


def test_the_gaining_share_counts_triples():
    rng = np.random.default_rng(0)
    dependence = random_dependence(5, rng)
    F, S = dependence.first, dependence.second
    gains = [
        S[i, j, k] > max(F[i, j], F[i, k])
        for i in range(5)
        for j in range(5)
        for k in range(j + 1, 5)
        if i not in (j, k)
    ]
    assert gaining_share(dependence) == pytest.approx(np.mean(gains))
    assert gaining_share(random_dependence(2, rng)) == 0.0


def test_alpha_keeps_the_pairs_the_independence_test_rejects():
    X = sample(random_dag(6, 5, rng=0), "tanh", 150, "released", rng=1)
    result = optimal_tuning(X, alpha=0.05)
    rejected = measure_dependence(X).pvalues() <= 0.05
    np.fill_diagonal(rejected, False)
    np.testing.assert_array_equal(result.history["optimal"], rejected)
    assert 0 < pair_vector(rejected).sum() < 15


def test_progress_is_told_phase_by_phase():
    told = []
    optimal_tuning(
        np.random.default_rng(0).normal(size=(50, 4)), progress=lambda phase, done: told.append((phase, done))
    )
    assert told[0] == ("bandwidths", 0.0)
    assert [phase for phase, done in told if done == 1.0][-4:] == ["optimal", "deletion", "addition", "formalization"]
    assert all(0 <= done <= 1 for _, done in told)


def test_numbers_that_do_not_fit_into_memory_are_refused_before_any_is_measured():
    told = []
    X = np.random.default_rng(0).normal(size=(20, 201))  # 4 million triples, 31 MiB
    with pytest.raises(InputError, match=r"needs about 3\d\.\d MiB"):
        optimal_tuning(X, memory="25MiB", progress=lambda *step: told.append(step))
    assert told == []


@pytest.mark.jax
def test_the_released_rules_tell_their_phases_too():
    told = []
    X = np.random.default_rng(0).normal(size=(50, 4))
    optimal_tuning(X, preset="released", progress=lambda phase, done: told.append((phase, done)))
    assert told[-4:] == [(phase, 1.0) for phase in ("optimal", "deletion", "addition", "formalization")]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X: X * [1, 1, 1000], "v2 varies .* times as much"),
        (lambda X: X[:20], "only 20 rows"),
        (lambda X: np.sign(X), "at most 5 distinct values"),
        (lambda X: np.column_stack([X[:, 0], X[:, 0] * 1.0001, X[:, 2]]), "nearly copies"),
        (lambda X: X, "every column looks Gaussian"),
    ],
)
def test_what_speaks_against_the_assumptions_is_said(spoil, words):
    X = np.random.default_rng(5).normal(size=(300, 3))
    result = optimal_tuning(pd.DataFrame(spoil(X), columns=["v0", "v1", "v2"]))
    assert any(re.search(words, warning) for warning in result.warnings), result.warnings
    assert result.assumptions == ASSUMPTIONS


def test_data_that_fit_the_assumptions_raise_no_warning():
    X = sample(random_dag(5, 6, rng=3), "tanh", 400, "released", rng=4, noise="exponential")
    assert optimal_tuning(X).warnings == ()


def test_constant_columns_are_left_out_when_asked():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [5.0, 5, 5, 5], "c": [1.0, 0, 1, 3]})
    with pytest.raises(InputError, match="'b' is constant"):
        optimal_tuning(X)
    result = optimal_tuning(X, drop_constant=True)
    assert result.names == ("a", "c")
    assert any("left out: b" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"preset": "papper"}, "did you mean 'paper'"),
        ({"preset": "released", "order": 3}, "no rules for order=3"),
        ({"preset": "released", "deletion": "max"}, "deletion rule of its own"),
        ({"deletion": "avg"}, "unknown deletion rule"),
        ({"edge_score": "median"}, "unknown edge_score"),
        ({"penalty": 1.0, "alpha": 0.1}, "penalty and alpha both"),
        ({"knowledge": {"required": [["x0", "y"]]}}, "'y', which is not a column"),
        ({"kernel": "gausian"}, "did you mean 'gaussian'"),
    ],
)
def test_options_that_can_not_be_meant_are_refused(options, words):
    """Before anything is measured: nothing is told of the engine's progress."""
    told = []
    with pytest.raises(InputError, match=words):
        optimal_tuning(
            np.random.default_rng(0).normal(size=(20, 3)), progress=lambda *step: told.append(step), **options
        )
    assert not told


def test_the_documented_example_runs_and_scores_fig_4_as_table_ii_does(capsys):
    """Fig. 4's final graph: SID 1, AuPR 0.82. The four-variable graph is found whole, X3 -> X1 included."""
    runpy.run_path(str(Path(__file__).parents[1] / "examples" / "four_variables.py"), run_name="__main__")
    told = capsys.readouterr().out
    assert re.search(r"formalization +SID  1  AuPR 0.82   /  SID  1  AuPR 0.82", told)
    four = told.split("Five variables")[0]
    assert [line.split()[1] for line in four.splitlines() if line.startswith("  after")] == [
        "optimal",
        "deletion",
        "addition",
        "formalization",
    ]
    assert "SID  0  AuPR 1.00  (a DAG)" in four
    assert "X3->X1*" in four


@pytest.mark.slow
def test_two_hundred_variables_finish_with_progress():
    X = sample(random_dag(200, 2000, rng=0), "tanh", 1000, "released", rng=1, standardize=True)
    told = []
    result = optimal_tuning(X, progress=lambda phase, done: told.append(phase))
    assert is_dag(result.matrix)
    assert len(told) > 20
