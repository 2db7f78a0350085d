"""The posterior's margins against all orders, and the graph that is decided from probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dagtune.conditional.posterior import decide, explore, order_of, undecided
from dagtune.conditional.search import is_legal, total
from dagtune.graph import is_dag
from oracles import posterior_by_every_order, random_score

CASES = [
    {"seed": 0, "d": 4},
    {"seed": 1, "d": 5, "grid": 6},
    {"seed": 2, "d": 5, "constrained": True},
    {"seed": 3, "d": 6, "spread": 3.0, "grid": 4, "constrained": True},
]


@pytest.mark.parametrize("how", CASES)
def test_explore_finds_the_best_order_and_margins_near_those_of_all_orders(how):
    score = random_score(**how)
    edges, ancestry, best = posterior_by_every_order(score)
    found = explore(score, np.random.default_rng(0), sweeps=200)
    assert found.value == pytest.approx(best.max())
    assert found.value == pytest.approx(total(score, found.order))
    assert found.probability == pytest.approx(edges, abs=0.03)
    assert found.ancestry == pytest.approx(ancestry, abs=0.08)
    np.fill_diagonal(best, 0.0)
    exact = best - best.T
    assert np.array_equal(np.isinf(found.margin), score.must_precede | score.must_precede.T)
    assert np.array_equal(found.margin, -found.margin.T)
    finite = np.isfinite(exact)
    assert found.margin[finite] == pytest.approx(exact[finite], abs=1e-6)


@pytest.mark.parametrize("how", CASES)
def test_margins_without_luck_are_not_below_those_of_all_orders(how):
    """With hardly a sample, a direction's rival may be overlooked but not invented."""
    score = random_score(**how)
    *_, best = posterior_by_every_order(score)
    found = explore(score, np.random.default_rng(0), sweeps=1, chains=2)
    np.fill_diagonal(best, 0.0)
    exact = best - best.T
    likelier = (exact > 0) & np.isfinite(exact)
    if found.value == pytest.approx(best.max()):
        assert np.all(found.margin[likelier] >= exact[likelier] - 1e-6)


def test_one_variable_has_nothing_to_say():
    found = explore(random_score(seed=0, d=1), np.random.default_rng(0))
    assert found.order == (0,)
    assert not found.probability.any()
    assert not found.graphs.any()


def test_the_seed_reproduces():
    score = random_score(seed=6, d=5)
    one, same = (explore(score, np.random.default_rng(3), sweeps=5) for _ in range(2))
    for name in ("order", "value", "probability", "ancestry", "margin", "graphs", "disagreement", "orders"):
        assert np.array_equal(getattr(one, name), getattr(same, name))


probabilities = st.integers(2, 7).flatmap(lambda d: arrays(float, (d, d), elements=st.floats(0, 0.5)))


@given(probabilities, st.floats(0, 1))
def test_decide_is_acyclic_and_leaves_out_only_what_closes_a_cycle(P, least):
    np.fill_diagonal(P, 0.0)
    graph = decide(P, least)
    assert is_dag(graph)
    either = P + P.T
    assert not np.any(graph & (either <= least))
    assert not np.any(graph & (P < P.T))
    for i, j in np.argwhere(np.triu(either > least, 1)):
        if not graph[i, j] and not graph[j, i]:
            a, b = (i, j) if P[i, j] >= P[j, i] else (j, i)
            larger = graph & (P[a, b] <= P)
            larger[a, b] = True
            assert not is_dag(larger)


@given(probabilities, st.integers(0, 1000))
def test_decide_and_order_obey_must_precede(P, seed):
    np.fill_diagonal(P, 0.0)
    rng = np.random.default_rng(seed)
    d = len(P)
    must = np.triu(np.ones((d, d), dtype=bool), 1)
    tier = rng.integers(0, 3, d)
    must = tier[:, None] < tier[None, :]
    graph = decide(P, 0.3, must)
    order = order_of(graph, rng.random((d, d)), must)
    place = np.argsort(order)
    assert sorted(order) == list(range(d))
    assert all(place[i] < place[j] for i, j in np.argwhere(graph | must))


def test_decide_turns_the_weakest_edge_of_a_cycle_away():
    P = np.zeros((3, 3))
    P[0, 1], P[1, 2], P[2, 0] = 0.9, 0.8, 0.7
    assert decide(P).tolist() == [[False, True, False], [False, False, True], [False, False, False]]


def test_a_pair_counts_by_the_sum_of_its_directions():
    P = np.array([[0.0, 0.3], [0.25, 0.0]])
    assert decide(P).tolist() == [[False, True], [False, False]]
    assert not decide(P, least=0.6).any()


@pytest.mark.parametrize(
    ("forward", "backward", "expected"),
    [
        (0.5, 0.45, True),
        (0.88, 0.1, True),
        (0.9, 0.1, False),
        (0.1, 0.9, False),
        (0.45, 0.44, False),
        (0.95, 0.0, False),
    ],
)
def test_undecided_is_an_edge_without_a_direction(forward, backward, expected):
    assert undecided(np.array([[0.0, forward], [backward, 0.0]])) == ([(0, 1)] if expected else [])


def test_order_follows_the_graph_first_and_the_sample_otherwise():
    ancestry = np.array([[0.0, 0.9, 0.8], [0.1, 0.0, 0.7], [0.2, 0.3, 0.0]])
    nothing = np.zeros((3, 3), dtype=bool)
    assert order_of(nothing, ancestry) == (0, 1, 2)
    turned = nothing.copy()
    turned[2, 0] = True
    assert order_of(turned, ancestry) == (1, 2, 0)


def test_order_of_the_sampled_posterior_is_legal():
    score = random_score(seed=8, d=6, constrained=True)
    found = explore(score, np.random.default_rng(0), sweeps=20)
    graph = decide(found.probability, 0.5, score.must_precede)
    assert is_legal(score, order_of(graph, found.ancestry, score.must_precede))
