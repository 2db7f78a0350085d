"""NPVAR: its order against hat matrices on the rows, its promise on data of equal noise variances."""

import numpy as np
import pytest

import oracles
from dagtune import InputError
from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError, run
from dagtune.baselines.npvar import learn_npvar
from dagtune.graph import complete, is_dag, topological_order
from dagtune.metrics import f1, order_divergence
from dagtune.regression import P_SPLINE, fit, measure_gram
from dagtune.simulate import random_dag, sample


def sines(graph, n, seed):
    """The paper's SIN model: X_j = sum over parents of sin(X_k) + e, every e ~ N(0, 1/2)."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, len(graph)))
    for j in topological_order(graph):
        X[:, j] = np.sin(X[:, graph[:, j]]).sum(axis=1) + np.sqrt(0.5) * rng.normal(size=n)
    return X


GRAPH = random_dag(7, 10, rng=2)
X = sines(GRAPH, 300, 2)


@pytest.mark.parametrize("seed", range(6))
def test_the_order_is_that_of_regressions_on_the_rows(seed):
    data = sample(random_dag(6, 9, rng=seed), ["gp", "tanh", "abs"][seed % 3], 150, rng=seed).to_numpy()
    assert list(learn_npvar(data).order) == oracles.npvar_order(data)


def test_edges_are_the_predecessors_that_are_significant():
    found = learn_npvar(X, alpha=0.01)
    gram = measure_gram(X, P_SPLINE)
    for position in range(1, 7):
        child, before = found.order[position], found.order[:position]
        p = fit(gram, int(child), before, smoothing=0.6 / 16 / len(X)).p_values
        np.testing.assert_array_equal(found.graph[before, child], p < 0.01)
    np.testing.assert_array_equal(learn_npvar(X, prune=False).graph, complete(found.order))


def test_the_order_is_right_on_equal_variances():
    """20 seeds, n = 1000, the paper's SIN model, ten nodes, ten and twenty edges."""
    for edges in (10, 20):
        wrong, scores = 0, []
        for seed in range(20):
            truth = random_dag(10, edges, rng=seed)
            found = learn_npvar(sines(truth, 1000, seed))
            wrong += order_divergence(truth, found.order) > 0
            scores.append(f1(truth, found.graph))
        assert wrong <= 1
        assert np.mean(scores) > 0.98


def test_standardised_columns_take_its_assumption_away():
    """Not scale-invariant, and meant so: equal noise variances are what it reads."""
    raw, standardised = 0, 0
    for seed in range(8):
        truth = random_dag(10, 20, rng=seed)
        data = sines(truth, 500, seed)
        raw += order_divergence(truth, learn_npvar(data).order)
        standardised += order_divergence(truth, learn_npvar(data / data.std(axis=0)).order)
    assert raw < 3 < standardised


def test_layers_hold_all_within_eta_of_the_smallest():
    one_by_one = learn_npvar(X)
    assert list(learn_npvar(X, eta=0.0).order) == list(one_by_one.order)
    everyone = learn_npvar(X, eta=1e6)
    assert list(everyone.order) == list(range(7))
    assert everyone.notes == ("1 layers of 7 columns",)
    roots = np.flatnonzero(~GRAPH.any(axis=0))
    layered = learn_npvar(sines(GRAPH, 5000, 3), eta=0.08)
    assert set(layered.order[: len(roots)]) == set(roots)  # equal variances: the first layer is the roots


def test_moving_columns_about_moves_the_graph_about():
    shuffle = np.random.default_rng(0).permutation(7)
    np.testing.assert_array_equal(run("npvar", X[:, shuffle]), run("npvar", X)[np.ix_(shuffle, shuffle)])


def test_the_same_dag_every_time():
    found = run("npvar", X, rng=0)
    assert is_dag(found)
    np.testing.assert_array_equal(found, run("npvar", X, rng=1))


def test_too_few_rows_for_nine_functions_get_fewer_and_a_note():
    found = learn_npvar(np.random.default_rng(0).normal(size=(30, 7)))
    assert found.notes == ("only 2 functions of each column, because 30 rows are too few for nine",)


def test_knowledge_is_obeyed():
    last, first = topological_order(GRAPH)[[-1, 0]]
    required, forbidden = np.zeros((2, 7, 7), dtype=bool)
    required[last, first] = True
    found = learn_npvar(X, required=required)
    assert found.graph[last, first]
    assert list(found.order).index(last) < list(found.order).index(first)
    cause, effect = np.argwhere(learn_npvar(X).graph)[0]
    forbidden[cause, effect] = True
    assert not learn_npvar(X, forbidden=forbidden).graph[cause, effect]
    tiers = np.zeros((7, 7), dtype=bool)
    tiers[:3, 3:] = True  # 0, 1, 2 come last
    assert set(learn_npvar(X, forbidden=tiers).order[4:]) == {0, 1, 2}


def test_progress_and_time_limit():
    lines = []
    LEARNERS["npvar"](X, progress=lambda phase, share: lines.append(phase))
    assert lines[0] == "0 of 7 columns in order"
    assert lines[-1] == "pruning, column 7 of 7"
    with pytest.raises(TimeLimitError, match="npvar did not finish within"):
        BASELINES["npvar"](X, time_limit=1e-9)


def test_bad_input_and_options_are_refused():
    for bad, message in ((np.zeros(5), "2 dimensions"), (np.ones((9, 3)), "constant"), (X[:, :1], "1 column")):
        with pytest.raises(InputError, match=message):
            run("npvar", bad)
    for option, message in (
        ({"smoothing": 0}, "smoothing must be positive"),
        ({"eta": -1}, "eta must be None or a variance"),
        ({"alpha": 0}, "alpha must be above 0"),
        ({"required": np.eye(3, k=1)}, "3 nodes for 7 columns"),
    ):
        with pytest.raises(InputError, match=message):
            learn_npvar(X, **option)


def test_columns_that_nearly_copy_sums_of_others_are_no_accident():
    """Sums of sums, as in the released mlp-tanh at d = 40: effective degrees of freedom lose all their digits."""
    graph = random_dag(40, 400, rng=2)
    X = sample(graph, "mlp-tanh", n=400, recipe="released", rng=2).to_numpy()
    assert is_dag(BASELINES["npvar"](X, rng=0))


def test_equal_variances_are_told_apart_by_the_seed_and_not_by_the_last_digits():
    """All columns that were standardised have variance 1, but for digits that another machine writes otherwise."""
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    orders = {seed: tuple(learn_npvar(standardised, rng=seed).order) for seed in range(6)}
    assert len({order[0] for order in orders.values()}) > 1
    shaken = standardised * (1 + 1e-13 * np.random.default_rng(0).normal(size=7))
    assert orders == {seed: tuple(learn_npvar(shaken, rng=seed).order) for seed in range(6)}
