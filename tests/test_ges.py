"""GES: the package's CPDAGs, brute force over all DAGs, and what it promises of every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError, run
from dagtune.baselines.ges import PHASES, learn_ges
from dagtune.baselines.pdag import consistent_extension, cpdag_of_dag, nearest_dag
from dagtune.graph import is_dag, skeleton
from dagtune.metrics import cpdag
from dagtune.simulate import SIZES, random_dag, sample
from dagtune.validation import InputError
from oracles import all_dags, dags_of_cpdag, gaussian_bic, v_structures


def linear(d, edges, n, seed):
    graph = random_dag(d, edges, rng=seed)
    return graph, sample(graph, "linear", n=n, rng=seed).to_numpy()


def random_sizes(seed):
    rng = np.random.default_rng([7, seed])
    d = int(rng.integers(4, 11))
    return d, int(rng.integers(1, min(2 * d, d * (d - 1) // 2))), 500, seed


def package_cpdag(X, phases):
    ges = pytest.importorskip("ges", reason="pip install 'dagtune[baselines]'")
    return ges.fit_bic(X, phases=list(phases))[0].astype(bool)


@pytest.mark.parametrize("phases", [PHASES[:2], PHASES], ids=" ".join)
@pytest.mark.parametrize("seed", range(10))
def test_the_cpdag_is_that_of_the_package_ges(seed, phases):
    _, X = linear(*random_sizes(seed))
    assert (learn_ges(X, phases=phases).cpdag == package_cpdag(X, phases)).all()


@pytest.mark.slow
@pytest.mark.parametrize("phases", [PHASES[:2], PHASES], ids=" ".join)
def test_the_cpdags_of_100_sparse_graphs_are_those_of_the_package_ges(phases):
    for seed in range(100):
        _, X = linear(*random_sizes(seed))
        assert (learn_ges(X, phases=phases).cpdag == package_cpdag(X, phases)).all(), seed


@pytest.mark.slow
@pytest.mark.parametrize("model", ["linear", "tanh", "mlp100"])
def test_dense_and_nonlinear_data_give_the_packages_cpdag_too(model):
    X = sample(random_dag(14, 40, rng=3), model, n=400, rng=3).to_numpy()
    assert (learn_ges(X).cpdag == package_cpdag(X, PHASES)).all()


@pytest.mark.parametrize("seed", range(6))
def test_with_many_rows_no_dag_of_four_nodes_scores_better(seed):
    _, X = linear(4, 3, 5_000, 20 + seed)
    best = max(gaussian_bic(X, dag) for dag in all_dags(4))
    assert gaussian_bic(X, learn_ges(X).graph) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_no_single_edge_more_or_less_in_any_dag_of_the_class_scores_better(seed):
    # what greedy search means, by rows and least squares: a local optimum of its own neighbourhood
    _, X = linear(6, 8, 300, 40 + seed)
    learned = learn_ges(X, phases=PHASES[:2], iterate=True)
    reached = gaussian_bic(X, learned.graph)
    for dag in dags_of_cpdag(learned.cpdag):
        assert gaussian_bic(X, dag) == pytest.approx(reached, abs=1e-6)  # BIC is equal within a class
        for i, j in np.argwhere(~np.eye(6, dtype=bool)):
            changed = dag.copy()
            changed[i, j] = not dag[i, j]
            if is_dag(changed):
                assert gaussian_bic(X, changed) <= reached + 1e-5


@pytest.mark.parametrize("seed", range(3))
def test_each_further_phase_and_round_never_lowers_the_score(seed):
    _, X = linear(9, 20, 200, 60 + seed)
    runs = [learn_ges(X, phases=PHASES[:k]) for k in (1, 2, 3)] + [learn_ges(X, iterate=True)]
    scores = [gaussian_bic(X, learned.graph) for learned in runs]
    assert (np.diff(scores) >= -1e-6).all()


def test_the_graph_is_a_member_of_the_class():
    _, X = linear(8, 14, 400, 1)
    learned = learn_ges(X)
    assert (cpdag(learned.graph) == learned.cpdag).all()


def test_scales_and_shifts_of_columns_change_nothing():
    _, X = linear(7, 10, 300, 2)
    moved = X * np.logspace(-3, 3, 7) + np.arange(7) * 10
    assert (learn_ges(X).cpdag == learn_ges(moved).cpdag).all()


def test_the_order_of_columns_changes_nothing():
    _, X = linear(8, 12, 500, 3)
    turn = np.random.default_rng(0).permutation(8)
    assert (learn_ges(X[:, turn]).cpdag == learn_ges(X).cpdag[np.ix_(turn, turn)]).all()


def test_a_larger_penalty_leaves_fewer_edges_and_a_huge_one_none():
    _, X = linear(8, 14, 400, 4)
    edges = [int(learn_ges(X, penalty=price).graph.sum()) for price in (1.0, 10.0, 1e9)]
    assert edges[0] > edges[1] > edges[2] == 0


def test_pairs_kept_apart_are_never_joined():
    _, X = linear(8, 14, 400, 5)
    apart = np.zeros((8, 8), dtype=bool)
    i, j = np.argwhere(np.triu(skeleton(learn_ges(X).graph)))[0]
    apart[i, j] = apart[j, i] = True
    graph = learn_ges(X, forbidden=apart).graph
    assert not (graph & apart).any()
    assert graph.any()


def test_knowledge_that_a_class_can_not_hold_is_refused():
    _, X = linear(5, 5, 100, 6)
    one = np.zeros((5, 5), dtype=bool)
    one[0, 1] = True
    with pytest.raises(InputError, match="can't forbid 0 -> 1 alone"):
        learn_ges(X, forbidden=one)
    with pytest.raises(InputError, match="can't require"):
        learn_ges(X, required=one)


def test_copies_and_sums_of_columns_end_in_a_dag():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X = np.column_stack([X, X[:, 0], X[:, 0] + X[:, 1], 2 * X[:, 2] - 1])
    learned = learn_ges(X)
    assert is_dag(learned.graph)
    assert (learned.graph | learned.graph.T)[0, 3]  # a copy is joined to what it copies


def test_more_columns_than_rows_end_in_a_dag():
    assert is_dag(learn_ges(np.random.default_rng(0).normal(size=(8, 12))).graph)


def test_time_out_is_an_error_not_a_graph():
    _, X = linear(10, 30, 200, 7)
    with pytest.raises(TimeLimitError, match=r"ges did not finish within 1e-09 seconds.*larger time_limit"):
        learn_ges(X, time_limit=1e-9)


def test_progress_tells_each_step():
    _, X = linear(6, 6, 200, 8)
    told = []
    learned = learn_ges(X, progress=lambda phase, share: told.append(phase))
    assert len(told) == learned.settings["steps"]
    assert told[0] == "forward, step 1, 1 edges"


def test_bad_input_gets_the_house_errors():
    with pytest.raises(InputError, match="constant"):
        run("ges", np.ones((10, 3)))
    with pytest.raises(InputError, match="unknown phase 'sideways'"):
        learn_ges(np.eye(5), phases=["sideways"])
    with pytest.raises(InputError, match="phases is empty"):
        learn_ges(np.eye(5), phases=[])
    with pytest.raises(InputError, match="penalty"):
        learn_ges(np.eye(5), penalty=-1.0)


def test_the_papers_dense_40_nodes_take_seconds_not_minutes():
    size = SIZES["d40"]
    graph = random_dag(size.nodes, size.edges, rng=0)
    learned = learn_ges(sample(graph, "mlp100", n=size.rows, rng=0), time_limit=120)
    assert learned.converged
    assert (cpdag(learned.graph) == learned.cpdag).all()


def test_the_plain_call_and_the_richer_one_agree():
    _, X = linear(6, 8, 200, 9)
    assert (BASELINES["ges"](X, rng=0) == LEARNERS["ges"](X, rng=1).graph).all()


@given(st.integers(0, 10_000), st.integers(2, 9), st.floats(0, 1))
def test_labelled_edges_are_those_of_v_structures_and_meeks_rules(seed, d, share):
    dag = random_dag(d, int(share * d * (d - 1) / 2), rng=seed)
    assert (cpdag_of_dag(dag) == cpdag(dag)).all()


@given(st.integers(0, 10_000), st.integers(2, 8), st.floats(0, 1))
def test_an_extension_of_a_cpdag_is_one_of_its_dags(seed, d, share):
    pattern = cpdag(random_dag(d, int(share * d * (d - 1) / 2), rng=seed))
    dag = consistent_extension(pattern)
    assert is_dag(dag)
    assert (cpdag(dag) == pattern).all()


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_any_pattern_ends_in_a_dag_of_its_skeleton_consistent_exactly_when_one_is(seed, d):
    rng = np.random.default_rng(seed)
    pattern = (rng.random((d, d)) < 0.4) & ~np.eye(d, dtype=bool)
    dag, consistent = nearest_dag(pattern)
    assert is_dag(dag)
    assert (skeleton(dag) == skeleton(pattern)).all()
    adjacent = skeleton(pattern)
    possible = any(
        (dag >= (pattern & ~pattern.T)).all()
        and v_structures(dag, adjacent) == v_structures(pattern & ~pattern.T, adjacent)
        for dag in _orientations(pattern)
    )
    assert consistent == possible


def _orientations(pattern):
    """Acyclic ways to direct the undirected edges, by brute force."""
    loose = [(i, j) for i, j in np.argwhere(pattern & pattern.T) if i < j]
    for bits in range(2 ** len(loose)):
        dag = pattern.copy()
        for k, (i, j) in enumerate(loose):
            dag[(i, j) if bits >> k & 1 else (j, i)] = False
        if is_dag(dag):
            yield dag
