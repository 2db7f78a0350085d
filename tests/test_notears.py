"""Linear NOTEARS: its formulas on rows and by finite differences, the authors' data, and what it promises of tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from dagtune.baselines import BASELINES, TimeLimitError, run
from dagtune.baselines.notears import _lagrangian, acyclicity, cut_to_dag, learn_notears_linear
from dagtune.graph import is_dag
from dagtune.metrics import f1
from dagtune.simulate import SIZES, random_dag, sample
from dagtune.validation import InputError
from oracles import acyclicity_by_walks, linear_notears_by_rows


def covariance(X):
    return np.cov(X, rowvar=False, ddof=0)


def authors_data(seed, d=20, edges=20, n=1000):
    """The authors' recipe: weights from +-U(0.5, 2), Gaussian noise of one variance."""
    graph = random_dag(d, edges, rng=seed)
    return graph, sample(graph, "linear", n=n, rng=seed)


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_acyclicity_sums_closed_walks_and_its_gradient_is_that_of_finite_differences(seed, d):
    A = np.random.default_rng(seed).random((d, d))
    h, gradient = acyclicity(A)
    assert h == pytest.approx(acyclicity_by_walks(A), rel=1e-9)
    numeric = approx_fprime(A.ravel(), lambda flat: acyclicity_by_walks(flat.reshape(d, d)), 1e-6)
    assert gradient.ravel() == pytest.approx(numeric, rel=1e-3)


def test_acyclicity_is_zero_for_dags_alone():
    dag = random_dag(8, 20, rng=0)
    assert acyclicity(dag * 3.0)[0] == pytest.approx(0.0, abs=1e-9)
    order = np.flatnonzero(dag.any(axis=1))
    closed = dag.astype(float)
    child = np.flatnonzero(dag[order[0]])[0]
    closed[child, order[0]] = 0.1
    assert acyclicity(closed)[0] > 0.01


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_needs_no_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 3.0, (40, 5))
    w = rng.random(50)
    W = (w[:25] - w[25:]).reshape(5, 5)
    value, _ = _lagrangian(w, covariance(X), 0.1, 3.0, 0.7)
    # the split pays for both halves; the paper's |W| is what is left when the smaller one is 0
    overlap = 2 * 0.1 * np.minimum(w[:25], w[25:]).sum()
    assert value - overlap == pytest.approx(linear_notears_by_rows(X, W, 0.1, 3.0, 0.7), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    C, w = covariance(rng.normal(size=(30, 5))), rng.random(50)
    numeric = approx_fprime(w, lambda flat: _lagrangian(flat, C, 0.1, 3.0, 0.7)[0], 1e-7)
    assert _lagrangian(w, C, 0.1, 3.0, 0.7)[1] == pytest.approx(numeric, rel=1e-3, abs=1e-4)


def scores_on_authors_data(seeds):
    scores = []
    for seed in seeds:
        graph, X = authors_data(seed)
        learned = learn_notears_linear(X)
        assert learned.converged
        assert learned.settings["h"] <= 1e-8
        scores.append(f1(graph, learned.graph))
    return scores


def test_it_recovers_the_authors_own_kind_of_data():
    assert min(scores_on_authors_data(range(3))) >= 0.95


@pytest.mark.slow
def test_it_recovers_the_authors_own_kind_of_data_over_20_seeds():
    # the lowest, 0.87 on seed 3, is also what the authors' loop on rows scores there
    scores = scores_on_authors_data(range(20))
    assert np.mean(scores) >= 0.97
    assert np.median(scores) == 1.0


def test_at_its_end_no_neighbouring_weights_with_the_same_zeros_are_better():
    # by another optimiser on rows: given its own graph, the L1 least squares can't be improved by more than rounding
    _, X = authors_data(0, d=8, edges=10, n=300)
    learned = learn_notears_linear(X, threshold=1e-3)
    centred = X.to_numpy() - X.to_numpy().mean(axis=0)

    def loss(values):
        W = np.zeros((8, 8))
        W[learned.graph] = values
        return np.sum((centred - centred @ W) ** 2) / (2 * len(X)) + 0.1 * np.abs(values).sum()

    found = learned.weights[learned.graph]
    better = minimize(loss, found, method="Powell", options={"xtol": 1e-8, "ftol": 1e-12})
    assert loss(found) <= better.fun * (1 + 1e-4)


def test_weights_are_those_of_the_graph():
    _, X = authors_data(1, d=8, edges=10, n=300)
    learned = learn_notears_linear(X)
    assert ((learned.weights != 0) == learned.graph).all()
    assert (np.abs(learned.weights[learned.graph]) >= 0.3).all()


def test_forbidden_edges_are_never_there_and_required_ones_are_refused():
    graph, X = authors_data(2, d=8, edges=10, n=300)
    forbidden = np.zeros((8, 8), dtype=bool)
    forbidden[tuple(np.argwhere(graph)[0])] = True
    assert learn_notears_linear(X).graph[forbidden].all()
    assert not learn_notears_linear(X, forbidden=forbidden).graph[forbidden].any()
    with pytest.raises(InputError, match="can't require"):
        learn_notears_linear(X, required=graph)


@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(0, 1))
def test_the_cut_is_the_least_one_that_leaves_a_dag(seed, d, threshold):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.6) * ~np.eye(d, dtype=bool)
    graph, cut_at = cut_to_dag(W, threshold)
    assert is_dag(graph)
    size = np.abs(W)
    if cut_at == threshold:
        assert (graph == ((size >= threshold) & (size > 0))).all()
    else:  # the weakest edge that was cut would close a cycle
        assert (graph == (size > cut_at)).all()
        assert not is_dag(size >= cut_at)


def test_a_cycle_left_by_the_threshold_is_told():
    # stopped after one dual step, the weights still go both ways
    _, X = authors_data(3, d=8, edges=14, n=100)
    learned = learn_notears_linear(X, max_iter=1, threshold=0.01)
    assert not learned.converged
    assert learned.settings["cut_at"] > 0.01
    assert any("the least that leaves a DAG" in note for note in learned.notes)
    assert any("stopped at h" in note for note in learned.notes)


def test_shifts_change_nothing_and_neither_does_the_seed():
    _, X = authors_data(4, d=6, edges=6, n=200)
    graph = learn_notears_linear(X, rng=0).graph
    assert (learn_notears_linear(X + np.arange(6) * 100, rng=1).graph == graph).all()


def test_time_out_is_an_error_not_a_graph():
    _, X = authors_data(5)
    with pytest.raises(TimeLimitError, match=r"notears-linear did not finish within 0.01 seconds"):
        learn_notears_linear(X, time_limit=0.01)


def test_progress_tells_each_subproblem():
    _, X = authors_data(6, d=5, edges=5, n=100)
    told = []
    learn_notears_linear(X, progress=lambda phase, share: told.append(phase))
    assert told[0].startswith("dual step 1, rho = 1e+00, h = ")


def test_bad_input_gets_the_house_errors():
    with pytest.raises(InputError, match="missing"):
        run("notears-linear", np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]]))
    with pytest.raises(InputError, match="lambda1 must be a number of at least 0"):
        learn_notears_linear(np.eye(4), lambda1=-1)
    with pytest.raises(InputError, match="time_limit"):
        learn_notears_linear(np.eye(4), time_limit=0)


def test_copies_of_columns_end_in_a_dag():
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert is_dag(BASELINES["notears-linear"](np.column_stack([X, X])))


@pytest.mark.slow
def test_the_papers_dense_40_nodes_finish_within_ten_minutes():
    size = SIZES["d40"]
    X = sample(random_dag(size.nodes, size.edges, rng=0), "mlp100", n=size.rows, rng=0)
    learned = learn_notears_linear(X, time_limit=600)
    assert learned.converged


@pytest.mark.parametrize("scale", [np.logspace(-4, 4, 6), np.full(6, 1e6)], ids=["unlike", "huge"])
def test_scales_it_can_not_handle_end_in_a_dag_with_the_flag_down(scale):
    _, X = authors_data(0, d=6, edges=8, n=200)
    learned = learn_notears_linear(X * scale)
    assert is_dag(learned.graph)
    assert not learned.converged
    assert "stopped at h" in learned.notes[0]
