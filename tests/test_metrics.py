"""SID by its definition, AuPR by its formula, and every refusal with its cure."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import oracles
from dagtune import InputError, metrics
from dagtune.graph import complete, to_frame, to_networkx
from dagtune.simulate import random_dag


def graph(d, *edges):
    matrix = np.zeros((d, d), dtype=bool)
    for i, j in edges:
        matrix[i, j] = True
    return matrix


def random_graph(rng, d):
    return random_dag(d, int(rng.integers(0, d * (d - 1) // 2 + 1)), rng=rng)


# The paper's Fig. 4: what OT learned from a graph of 5 nodes and 7 edges, scored in Table II.
FIG4_RIGHT = [(0, 1), (1, 3), (2, 1), (2, 3), (4, 0), (4, 1)]
FIG4_TRUTH = graph(5, *FIG4_RIGHT, (4, 3))
FIG4_GUESS = graph(5, *FIG4_RIGHT, (0, 2), (0, 3))


def test_sid_equals_the_definition_on_500_random_pairs():
    rng = np.random.default_rng(3)
    for _ in range(500):
        d = int(rng.integers(2, 8))
        truth, guess = random_graph(rng, d), random_graph(rng, d)
        assert metrics.sid(truth, guess) == oracles.sid_by_paths(truth, guess)


def test_sid_equals_the_definition_on_every_pair_of_three_node_dags():
    dags = list(oracles.all_dags(3))
    assert len(dags) == 25
    for truth in dags:
        for guess in dags:
            assert metrics.sid(truth, guess) == oracles.sid_by_paths(truth, guess)


def test_sid_counts_the_wrong_effects_of_a_linear_gaussian_model():
    rng = np.random.default_rng(4)
    for _ in range(100):
        truth, guess = random_graph(rng, 6), random_graph(rng, 6)
        assert metrics.sid(truth, guess) == oracles.sid_by_linear_gaussian(truth, guess, rng)


def test_sid_of_peters_and_buhlmanns_example():
    """Their Figure 1: an edge too many costs nothing, one turned round costs 8 of 20 effects; both have SHD 1."""
    truth = graph(5, (0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4))
    extra, turned = truth.copy(), truth.copy()
    extra[2, 3] = True
    turned[0, 1], turned[1, 0] = False, True
    assert (metrics.sid(truth, extra), metrics.shd(truth, extra)) == (0, 1)
    assert (metrics.sid(truth, turned), metrics.shd(truth, turned)) == (8, 1)


# Graphs 20003, 20004, 20009, 20010 of the gadjid project's test data (nodes from 1), and what R's SID package says.
R_GRAPHS = {
    3: "3-1 3-2 4-2 8-2 10-2 6-5 8-5 10-5 8-9 9-10",
    4: "9-2 1-3 10-3 7-4 9-4 10-4 3-5 6-5 7-6 9-7 1-8 6-8 7-8 10-8",
    9: "9-1 1-3 7-4 10-5 5-6 3-7 4-8 2-9 8-10",
    10: "9-1 4-2 10-3 1-5 6-5 8-6 2-7 3-8 7-9",
}
R_VALUES = [  # truth, guess, SHD, SID
    (3, 4, 21, 24), (4, 3, 21, 53), (9, 3, 15, 60), (3, 9, 15, 27), (9, 4, 16, 44), (4, 9, 16, 53),
    (10, 3, 15, 20), (3, 10, 15, 19), (10, 4, 17, 33), (4, 10, 17, 45), (10, 9, 15, 33), (9, 10, 15, 52),
]  # fmt: skip


@pytest.mark.parametrize(("truth", "guess", "shd", "sid"), R_VALUES)
def test_sid_and_shd_are_those_of_the_r_package(truth, guess, shd, sid):
    truth, guess = (
        graph(10, *((int(a) - 1, int(b) - 1) for a, b in (edge.split("-") for edge in R_GRAPHS[name].split())))
        for name in (truth, guess)
    )
    assert metrics.sid(truth, guess) == sid
    assert metrics.sid_mistakes(truth, guess).sum() == sid
    assert metrics.shd(truth, guess) == shd


def test_the_papers_figure_4_scores_as_its_table_2_says():
    assert metrics.sid(FIG4_TRUTH, FIG4_GUESS) == 1
    assert round(metrics.aupr(FIG4_TRUTH, FIG4_GUESS), 2) == 0.82


def test_sid_is_0_for_every_graph_that_contains_the_truth_and_keeps_its_order():
    truth = random_dag(12, 20, rng=5)
    order = nx.topological_sort(nx.from_numpy_array(truth, create_using=nx.DiGraph))
    assert metrics.sid(truth, complete(list(order))) == 0


def test_sid_mistakes_names_the_pairs():
    rng = np.random.default_rng(6)
    for _ in range(50):
        truth, guess = random_graph(rng, 5), random_graph(rng, 5)
        pairs = {(int(i), int(j)) for i, j in np.argwhere(metrics.sid_mistakes(truth, guess))}
        assert pairs == oracles.sid_mistakes_by_paths(truth, [np.flatnonzero(guess[:, i]) for i in range(5)])


def test_a_cyclic_guess_is_refused_with_its_cycle_or_scored_from_its_parent_sets():
    truth, cyclic = graph(4, (0, 1), (1, 2)), graph(4, (0, 1), (1, 2), (2, 0))
    with pytest.raises(InputError, match=r'guess has a cycle \(0 -> 1 -> 2 -> 0\): pass cyclic="parents"'):
        metrics.sid(truth, cyclic)
    named = to_frame(cyclic, list("abcd")).loc[list("dcba"), list("dcba")]
    for measure in (metrics.sid, metrics.evaluate):
        with pytest.raises(InputError, match=r"guess has a cycle \(a -> b -> c -> a\)"):
            measure(to_frame(truth, list("abcd")), named)
    with pytest.raises(InputError, match=r"\(0 -> 1 -> 0\)"):  # gadjid would panic past `except Exception`
        metrics.sid(truth, graph(4, (0, 1), (1, 0)))
    rng = np.random.default_rng(7)
    for _ in range(100):
        d = int(rng.integers(2, 7))
        truth, guess = random_graph(rng, d), rng.random((d, d)) < rng.random()
        np.fill_diagonal(guess, False)
        assert metrics.sid(truth, guess, cyclic="parents") == oracles.sid_by_paths(truth, guess)


def test_sid_bounds_are_the_best_and_worst_dag_of_the_class():
    rng = np.random.default_rng(8)
    seen = 0
    while seen < 100:
        d = int(rng.integers(2, 7))
        truth, dag = random_graph(rng, d), random_graph(rng, d)
        cpdag = metrics.cpdag(dag)
        if (cpdag & cpdag.T).sum() > 20:
            continue
        seen += 1
        dags = list(oracles.dags_of_cpdag(cpdag))
        assert any((dag == one).all() for one in dags)
        values = [oracles.sid_by_paths(truth, one) for one in dags]
        bounds = metrics.sid_bounds(truth, cpdag)
        assert (bounds.lower, bounds.upper, bounds.exact) == (min(values), max(values), True)
        sampled = metrics.sid_bounds(truth, cpdag, limit=1, samples=20, rng=rng)
        assert bounds.lower <= sampled.lower <= sampled.upper <= bounds.upper


def test_sid_bounds_say_when_they_were_sampled():
    truth, everything = random_dag(14, 40, rng=1), ~np.eye(14, dtype=bool)
    bounds = metrics.sid_bounds(truth, everything, limit=50, samples=30, rng=0)
    assert not bounds.exact
    assert "from 30 sampled DAGs, the true range may be wider" in str(bounds)
    assert metrics.sid_bounds(truth[:5, :5], everything[:5, :5], limit=2).sampled == 1000
    assert bounds == metrics.sid_bounds(truth, everything, limit=50, samples=30)
    assert len({metrics.sid_bounds(truth, everything, limit=50, samples=30, rng=seed) for seed in range(5)}) > 1
    exact = metrics.sid_bounds(truth[:5, :5], everything[:5, :5])
    assert (exact.lower, exact.exact, exact.sampled) == (0, True, 0)
    assert "exact" in str(exact)


def test_sid_bounds_of_a_dag_are_its_sid():
    truth, guess = random_dag(8, 12, rng=2), random_dag(8, 12, rng=3)
    assert metrics.sid_bounds(truth, guess) == metrics.SidBounds(
        metrics.sid(truth, guess), metrics.sid(truth, guess), True, 0
    )
    assert metrics.sid([[0]], [[0]]) == 0


def test_what_bounds_and_mistakes_can_not_be_computed_of_is_refused():
    both_ways = np.array([[0, 1], [1, 0]])
    for count in ("limit", "samples"):
        with pytest.raises(InputError, match=f"{count} must be a whole number at least 1"):
            metrics.sid_bounds([[0, 1], [0, 0]], both_ways, **{count: 0})
    for measure in (metrics.sid_mistakes, metrics.sid_bounds):
        with pytest.raises(InputError, match="SID needs a DAG as truth"):
            measure(both_ways, both_ways)


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ([(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 0), (0, 3)], "without a chord"),
        ([(0, 1), (1, 2), (2, 1)], "directed edges are not the ones"),  # 0 -> 1 forces 1 -> 2
        ([(0, 1), (1, 2), (2, 0), (2, 3), (3, 2)], "directed edges are not the ones"),  # a directed cycle
    ],
)
def test_what_is_no_cpdag_is_refused(edges, reason):
    with pytest.raises(InputError, match=rf"no CPDAG.*{reason}.*metrics\.cpdag\(dag\)"):
        metrics.sid_bounds(graph(4), graph(4, *edges))


def test_a_cpdag_directs_exactly_what_its_class_agrees_on():
    classes = {}
    for dag in oracles.all_dags(4):
        key = ((dag | dag.T).tobytes(), tuple(sorted(oracles.v_structures(dag, dag | dag.T))))
        classes.setdefault(key, []).append(dag)
    assert len(classes) == 185  # Markov equivalence classes of 4 nodes
    for dags in classes.values():
        union = np.any(dags, axis=0)
        for dag in dags:
            np.testing.assert_array_equal(metrics.cpdag(dag), union)


def test_aupr_of_a_graph_is_its_formula_and_scikit_learns_area():
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve

    rng = np.random.default_rng(9)
    for _ in range(200):
        d = int(rng.integers(2, 12))
        truth = random_dag(d, int(rng.integers(1, d * (d - 1) // 2 + 1)), rng=rng)
        guess = random_graph(rng, d)
        P, R, base = metrics.precision(truth, guess), metrics.recall(truth, guess), truth.sum() / d**2
        if not guess.any():
            P = 1.0
        area = metrics.aupr(truth, guess)
        assert area == pytest.approx(R * (1 + P) / 2 + (1 - R) * (P + base) / 2, abs=1e-15)
        scores = np.where(guess, rng.random((d, d)).round(1), 0.0)
        for one in (guess.astype(float), scores):
            found, recalled, _ = precision_recall_curve(truth.ravel(), one.ravel())
            assert metrics.aupr(truth, one) == pytest.approx(auc(recalled, found), abs=1e-14)
            expected = average_precision_score(truth.ravel(), one.ravel())
            assert metrics.average_precision(truth, one) == pytest.approx(expected, abs=1e-14)


def test_the_empty_graph_gets_more_than_half_from_aupr():
    truth = random_dag(10, 40, rng=0)
    assert metrics.aupr(truth, np.zeros((10, 10))) == (1 + 40 / 100) / 2
    assert metrics.average_precision(truth, np.zeros((10, 10))) == 40 / 100


def test_undefined_measures_are_nan():
    truth, nothing = random_dag(5, 4, rng=0), graph(5)
    assert np.isnan(metrics.precision(truth, nothing))
    assert np.isnan(metrics.recall(nothing, truth))
    assert np.isnan(metrics.aupr(nothing, truth))
    assert np.isnan(metrics.average_precision(nothing, truth))
    assert np.isnan(metrics.f1(nothing, nothing))
    assert metrics.f1(truth, nothing) == 0


def test_shd_counts_a_reversal_once_or_twice():
    truth, guess = graph(4, (0, 1), (1, 2), (2, 3)), graph(4, (1, 0), (1, 2), (0, 3))
    assert metrics.shd(truth, guess) == 3  # one turned, one missing, one too many
    assert metrics.shd(truth, guess, reversal=2) == 4
    assert metrics.shd(truth, metrics.cpdag(truth)) == 3  # three directed edges against undirected ones
    with pytest.raises(InputError, match="must be 1 or 2, not 3"):
        metrics.shd(truth, guess, reversal=3)


def test_precision_recall_and_f1_for_edges_and_skeleton():
    truth, guess = graph(4, (0, 1), (1, 2), (2, 3)), graph(4, (1, 0), (1, 2))
    assert metrics.precision(truth, guess) == 1 / 2
    assert metrics.recall(truth, guess) == 1 / 3
    assert metrics.f1(truth, guess) == 2 / 5
    assert metrics.precision(truth, guess, skeleton=True) == 1
    assert metrics.recall(truth, guess, skeleton=True) == 2 / 3
    assert metrics.f1(truth, guess, skeleton=True) == 4 / 5


def test_order_divergence_counts_the_true_edges_an_order_turns_round():
    truth = to_frame(graph(4, (0, 1), (1, 2), (2, 3)), ["a", "b", "c", "d"])
    assert metrics.order_divergence(truth, [0, 1, 2, 3]) == 0
    assert metrics.order_divergence(truth, ["d", "c", "b", "a"]) == 3
    assert metrics.order_divergence(truth, ["b", "a", "c", "d"]) == 1
    rng = np.random.default_rng(1)
    for _ in range(20):
        dag, order = random_graph(rng, 7), rng.permutation(7)
        rank = {int(node): place for place, node in enumerate(order)}
        turned = sum(rank[int(i)] > rank[int(j)] for i, j in np.argwhere(dag))
        assert metrics.order_divergence(dag, order) == turned == metrics.order_divergence(dag, complete(order))
    with pytest.raises(InputError, match="each of its 4 nodes exactly once"):
        metrics.order_divergence(truth, [0, 1, 2])
    with pytest.raises(InputError, match="'e', which is not a node"):
        metrics.order_divergence(truth, ["a", "b", "c", "e"])


def test_names_are_matched_when_both_sides_have_them():
    truth, guess = random_dag(6, 8, rng=0), random_dag(6, 7, rng=1)
    names = list("abcdef")
    plain = metrics.evaluate(truth, guess)
    shuffled = to_frame(guess, names).loc[names[::-1], names[::-1]]
    assert metrics.evaluate(to_frame(truth, names), shuffled) == plain
    assert metrics.evaluate(to_networkx(truth, names), shuffled) == plain
    assert metrics.evaluate(truth, to_frame(guess, names)) == plain  # names on one side: by position
    scores = pd.DataFrame(np.where(guess, 0.7, 0.1), index=names, columns=names)
    turned = scores.loc[names[::-1], names[::-1]]
    assert metrics.aupr(to_frame(truth, names), turned) == metrics.aupr(truth, scores.to_numpy())


def test_different_names_and_sizes_are_refused():
    truth = to_frame(random_dag(3, 2, rng=0), ["a", "b", "c"])
    with pytest.raises(InputError, match="the guess has nodes 'z' where the truth has 'c'"):
        metrics.shd(truth, to_frame(random_dag(3, 2, rng=0), ["a", "b", "z"]))
    with pytest.raises(InputError, match="the truth has 3 nodes and the guess 4"):
        metrics.evaluate(truth, np.zeros((4, 4)))


@pytest.mark.parametrize("measure", [metrics.sid, metrics.shd, metrics.evaluate, metrics.aupr, metrics.sid_bounds])
def test_bad_matrices_are_refused_by_every_measure(measure):
    truth = random_dag(4, 3, rng=0)
    with pytest.raises(InputError, match="square"):
        measure(truth, np.zeros((4, 3)))
    with pytest.raises(InputError, match=r"number|text"):
        measure(truth, np.full((4, 4), "a"))


def test_self_loops_weights_and_a_cyclic_truth_are_refused():
    truth = random_dag(4, 3, rng=0)
    with pytest.raises(InputError, match="edge to itself"):
        metrics.sid(truth, np.eye(4))
    with pytest.raises(InputError, match="threshold"):
        metrics.sid(truth, np.full((4, 4), 0.3))
    with pytest.raises(InputError, match="truth has a cycle"):
        metrics.sid(graph(4, (0, 1), (1, 0)), truth)
    with pytest.raises(InputError, match=r"entry \[1, 2\] is -1.0: take absolute values"):
        metrics.aupr(truth, np.where(graph(4, (1, 2)), -1.0, 0.0))
    with pytest.raises(InputError, match="did you mean 'parents'"):
        metrics.sid(truth, truth, cyclic="parent")


def test_evaluate_holds_every_measure_and_prints_a_table():
    result = metrics.evaluate(FIG4_TRUTH, FIG4_GUESS)
    assert result.as_dict() == {
        "nodes": 5,
        "true_edges": 7,
        "guessed_edges": 8,
        "sid": 1,
        "shd": 3,
        "order_divergence": 0,
        "aupr": metrics.aupr(FIG4_TRUTH, FIG4_GUESS),
        "average_precision": metrics.average_precision(FIG4_TRUTH, FIG4_GUESS),
        "precision": 6 / 8,
        "recall": 6 / 7,
        "f1": 12 / 15,
        "skeleton_precision": 6 / 8,
        "skeleton_recall": 6 / 7,
        "skeleton_f1": 12 / 15,
    }
    text = str(result)
    assert all(len(line) < 80 for line in text.splitlines())
    for word in ("SID", "0.82", "the empty graph gets 0.64", "of 20 effects"):
        assert word in text
    assert " - " in str(metrics.evaluate(FIG4_TRUTH, graph(5)))


def test_evaluate_ranks_by_scores_when_there_are_any():
    scores = np.where(FIG4_TRUTH, 0.9, 0.0)
    result = metrics.evaluate(FIG4_TRUTH, FIG4_GUESS, scores=scores)
    assert result.aupr == pytest.approx(1.0)
    assert result.precision == 6 / 8


def test_evaluate_scores_a_cyclic_guess_on_request():
    cyclic = FIG4_GUESS.copy()
    cyclic[3, 4] = True
    with pytest.raises(InputError, match="cycle"):
        metrics.evaluate(FIG4_TRUTH, cyclic)
    assert metrics.evaluate(FIG4_TRUTH, cyclic, cyclic="parents").sid == oracles.sid_by_paths(FIG4_TRUTH, cyclic)


def test_evaluate_agrees_with_the_definition_far_beyond_small_graphs():
    """500 nodes, 1000 edges: gadjid's count and ours by parent sets are two implementations."""
    truth, guess = random_dag(500, 1000, rng=1), random_dag(500, 1000, rng=2)
    assert metrics.evaluate(truth, guess).sid == metrics.sid_mistakes(truth, guess).sum()
