"""CAM: each of its three steps by another road, and its promise on additive Gaussian-process data."""

import numpy as np
import pytest

import oracles
from dagtune import InputError
from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError, run
from dagtune.baselines.cam import BOOSTING_SPLINE as BOOSTING
from dagtune.baselines.cam import (
    _boost,
    _functions,
    _IncEdge,
    _shrinkage,
    learn_cam,
    learn_cam_r_defaults,
    select_neighbours,
)
from dagtune.datasets import load
from dagtune.graph import complete, is_dag, topological_order
from dagtune.metrics import f1, order_divergence, shd
from dagtune.regression import fit, measure_gram
from dagtune.simulate import random_dag, sample

NAMES = ("cam", "cam-no-selection", "cam-r-defaults")
GRAPH = random_dag(7, 9, rng=4)
X = sample(GRAPH, "gp", 250, rng=4).to_numpy()


def quiet(d, edges, n, seed):
    """Gaussian-process functions, roots with variance U(1, sqrt 2), other noise with variance U(1, sqrt 2) / 5."""
    truth = random_dag(d, edges, rng=seed)
    variance = np.random.default_rng(1000 + seed).uniform(1, np.sqrt(2), d)
    variance[truth.any(axis=0)] /= 5
    return truth, sample(truth, "gp", n, rng=seed, noise_scale=np.sqrt(variance)).to_numpy()


# --- step 1 ---------------------------------------------------------------------------------------------------------


def boosting(data):
    """(d, d) how often column i is taken for column j."""
    gram = measure_gram(data, BOOSTING)
    shrinkage = np.concatenate([_shrinkage(curve.roughness) for curve in gram.curves])
    return _boost(gram.products, gram.cross, shrinkage, gram.starts, 100, 0.1)


def test_boosting_takes_what_smoothers_on_the_rows_take():
    data = X[:120, :5]
    taken = boosting(data)
    for child in range(5):
        np.testing.assert_array_equal(taken[:, child], oracles.boosting_counts(data, child))


def test_neighbours_are_taken_often_and_are_the_most_often_taken():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(300, 15))
    data[:, 0] = np.sin(data[:, 1:13]).sum(axis=1) + 0.1 * rng.normal(size=300)
    chosen = select_neighbours(data)
    assert chosen[:, 0].sum() == 10
    assert not chosen[13:, 0].any()
    assert select_neighbours(data, most=14)[1:13, 0].all()
    assert not select_neighbours(data, least_share=1.0).any()
    taken = boosting(data)
    assert (taken == 2).any()
    np.testing.assert_array_equal(select_neighbours(data, most=14), taken > 2)  # more than 0.02 of 100 steps


def test_the_true_parents_are_among_the_neighbours():
    found = []
    for seed in range(5):
        truth, data = quiet(10, 10, 200, seed)
        found.append(select_neighbours(data)[truth].mean())
    assert np.mean(found) > 0.95


# --- step 2 ---------------------------------------------------------------------------------------------------------


def test_edges_are_included_as_by_trying_all_anew():
    data = X[:, :5]
    gram = measure_gram(data)
    none, off = np.zeros((5, 5), dtype=bool), ~np.eye(5, dtype=bool)

    def variance_of(child, parents):
        return fit(gram, child, parents, functions=min(9, -(-250 // (3 * max(len(parents), 1))) - 1)).variance

    graph, _ = oracles.include_edges(variance_of, 5)
    for near in (0.0, 0.5):
        search = _IncEdge(gram, off, none, 10, 4, near)
        while search.include_best_edge():
            pass
        np.testing.assert_array_equal(search.graph, graph)
        assert search.converged


@pytest.mark.parametrize(
    ("n", "parents", "functions"), [(300, 10, 9), (200, 10, 6), (100, 9, 3), (20, 10, 2), (50, 0, 9), (50, 1, 9)]
)
def test_many_parents_have_fewer_functions_each(n, parents, functions):
    """train_gam of the package: k = 10, or ceil(n / 3p) where n / p < 30; one of the k is the mean."""
    assert _functions(n, parents, 10) == functions


def test_without_selection_and_pruning_the_graph_is_complete():
    found = learn_cam_r_defaults(X)
    np.testing.assert_array_equal(found.graph, complete(found.order))
    assert learn_cam(X, selection="none", prune=False, max_parents=2).graph.sum(axis=0).max() == 2
    few_rows = learn_cam_r_defaults(X[:60])  # round(60 / 20) parents at most
    assert few_rows.graph.sum(axis=0).max() == 3


def test_refitting_only_what_is_near_the_best_hardly_matters():
    differ = 0
    for seed in range(6):
        truth, data = quiet(8, 12, 200, seed)
        some, every = (learn_cam(data, near=near) for near in (0.5, 0.0))
        differ += shd(some.graph, every.graph)
        assert abs(shd(truth, some.graph) - shd(truth, every.graph)) <= 1
    assert differ <= 2  # of 72 edges


# --- step 3 ---------------------------------------------------------------------------------------------------------


def test_kept_edges_are_those_significant_among_the_included():
    included = learn_cam(X, prune=False).graph
    kept = learn_cam(X).graph
    gram = measure_gram(X)
    for child in range(7):
        parents = np.flatnonzero(included[:, child])
        p = fit(gram, child, parents, functions=min(9, -(-250 // (3 * max(len(parents), 1))) - 1)).p_values
        np.testing.assert_array_equal(kept[parents, child], p < 0.001)
        for parent, value in zip(parents, p):
            if 1e-12 < value < 0.5:
                assert learn_cam(X, alpha=1.4 * value).graph[parent, child]
                assert not learn_cam(X, alpha=0.7 * value).graph[parent, child]
    assert not (kept & ~included).any()
    assert (learn_cam(X, alpha=0.05).graph >= kept).all()


# --- the whole ------------------------------------------------------------------------------------------------------


def test_order_and_graph_are_right_on_sparse_additive_data():
    """d = 10, 10 edges, n = 200: measured over seeds 0 to 49, mean SHD 0.64 (error 0.11) and F1 0.96 (0.01)."""
    wrong, distance, score = [], [], []
    for seed in range(12):
        truth, data = quiet(10, 10, 200, seed)
        found = learn_cam(data)
        wrong.append(order_divergence(truth, found.order))
        distance.append(shd(truth, found.graph))
        score.append(f1(truth, found.graph))
    assert np.mean(wrong) < 0.6
    assert np.mean(distance) < 1.5
    assert np.mean(score) > 0.92


def test_more_than_ten_parents_are_found_only_without_selection():
    truth = random_dag(20, 120, rng=0)
    data = sample(truth, "gp", 600, rng=0)
    assert f1(truth, run("cam-no-selection", data)) > f1(truth, run("cam", data)) + 0.02


@pytest.mark.parametrize("name", NAMES)
def test_scales_and_offsets_change_nothing(name):
    moved = X * np.geomspace(1e-4, 1e4, 7) + np.arange(7.0)
    np.testing.assert_array_equal(run(name, moved), run(name, X))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_dag_every_time_and_moved_with_its_columns(name):
    found = LEARNERS[name](X, rng=0)
    assert found.method == name
    assert found.converged
    assert is_dag(found.graph)
    np.testing.assert_array_equal(found.graph, run(name, X, rng=1))
    shuffle = np.random.default_rng(0).permutation(7)
    np.testing.assert_array_equal(run(name, X[:, shuffle]), found.graph[np.ix_(shuffle, shuffle)])


@pytest.mark.parametrize("name", NAMES)
def test_odd_columns_still_give_a_dag(name):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 3))
    odd = np.column_stack([z, z[:, 0], z[:, 1] > 0, rng.integers(0, 3, 60), rng.standard_cauchy(60), z[:, 2] ** 2])
    assert is_dag(run(name, odd))
    assert is_dag(run(name, z[:4]))
    assert is_dag(run(name, rng.normal(size=(20, 30))))


@pytest.mark.parametrize("name", NAMES)
def test_knowledge_is_obeyed(name):
    order = topological_order(GRAPH)
    required, forbidden = np.zeros((2, 7, 7), dtype=bool)
    required[order[-1], order[0]] = True
    cause, effect = np.argwhere(GRAPH & ~required.T)[0]
    forbidden[cause, effect] = True
    found = LEARNERS[name](X, required=required, forbidden=forbidden)
    assert found.graph[order[-1], order[0]]
    assert not found.graph[cause, effect]
    assert is_dag(found.graph)


def test_progress_and_time_limit():
    lines = []
    learn_cam(X, progress=lambda phase, share: lines.append(phase))
    assert lines[0] == "selecting neighbours"
    assert lines[-1].endswith("edges in")
    for name in NAMES:
        with pytest.raises(TimeLimitError, match="did not finish within"):
            BASELINES[name](X, time_limit=1e-9)


def test_bad_input_and_options_are_refused():
    for bad, message in ((np.zeros(5), "2 dimensions"), (np.ones((9, 3)), "constant"), (X[:, :1], "1 column")):
        with pytest.raises(InputError, match=message):
            run("cam", bad)
    for option, message in (
        ({"selection": "bosting"}, "did you mean 'boosting'"),
        ({"near": 2}, "near must be a share"),
        ({"alpha": 2}, "alpha must be above 0"),
        ({"basis": 2}, "basis must be"),
        ({"max_parents": 0}, "max_parents must be"),
        ({"forbidden": np.eye(3, k=1)}, "3 nodes for 7 columns"),
    ):
        with pytest.raises(InputError, match=message):
            learn_cam(X, **option)


@pytest.mark.slow
def test_the_figures_in_the_docs_come_out_again():
    """docs/baselines.md: mean SHD and F1, seeds 0 to 49."""
    for edges, n, expected_shd, expected_f1 in ((10, 200, 0.64, 0.96), (18, 300, 1.26, 0.96)):
        found = []
        for seed in range(50):
            truth, data = quiet(10, edges, n, seed)
            guess = run("cam", data)
            found.append((shd(truth, guess), f1(truth, guess)))
        assert np.mean(found, axis=0)[0] == pytest.approx(expected_shd, abs=0.06)
        assert np.mean(found, axis=0)[1] == pytest.approx(expected_f1, abs=0.01)


def test_as_many_edges_as_published_for_the_r_packages_on_sachs():
    """The OT paper, Table III, from the R programs: CAM 27 edges, NPVAR 43, on the table that we bundle."""
    X = load("sachs").X
    assert run("cam", X).sum() == 27
    assert abs(run("npvar", X).sum() - 43) <= 3
