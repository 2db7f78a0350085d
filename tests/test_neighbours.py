"""Likely neighbours, and the search that regresses on them alone: against its own definition, solved by brute force."""

from itertools import permutations

import numpy as np
import pytest

from dagtune.conditional.data import measure
from dagtune.conditional.neighbours import find_neighbours, search_near
from dagtune.conditional.orders import Objective
from dagtune.simulate import random_dag, sample


def table(model="gp", d=6, edges=6, n=200, seed=0, **how):
    return measure(sample(random_dag(d, edges, rng=seed), model, n, "printed", rng=seed, **how).to_numpy()).table


def pairs(d, seed, share=0.5):
    """Some symmetric relation."""
    near = np.triu(np.random.default_rng(seed).random((d, d)) < share, 1)
    return near | near.T


def total(objective, order, near):
    """The sum of costs, each variable given those before it that are near."""
    found = 0.0
    for t, x in enumerate(order):
        known = np.array([j for j in order[:t] if near[j, x]], dtype=np.intp)
        cost = objective.given(known, np.array([len(known)]), np.array([x]))
        found += float(objective.scaled(cost, np.array([x]))[0])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_search_ends_where_no_single_insertion_helps(seed):
    d = 6
    T, near = table(seed=seed), pairs(d, seed)
    for objective in (Objective(T, link=False), Objective(T), Objective(T, variance=np.linspace(0.5, 2, d))):
        objective = objective.only(objective.settings(np.arange(d)))
        order = search_near(objective, np.random.default_rng(seed).permutation(d), near, np.zeros((d, d), dtype=bool))
        assert sorted(order) == list(range(d))
        reached = total(objective, order, near)
        for x in order:
            rest = [y for y in order if y != x]
            for place in range(d):
                other = [*rest[:place], x, *rest[place:]]
                assert total(objective, other, near) >= reached - 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_what_must_come_before_what_is_kept(seed):
    rng = np.random.default_rng(seed)
    d = 5
    rank = np.argsort(rng.permutation(d))
    before = (rank[:, None] < rank) & (rng.random((d, d)) < 0.4)
    for k in range(d):
        before |= before[:, [k]] & before[[k]]
    fitting = [np.array(p) for p in permutations(range(d)) if not np.tril(before[np.ix_(p, p)]).any()]
    T, near = table(d=d, edges=5, seed=seed), pairs(d, seed, 0.7)
    for start in fitting[:: max(len(fitting) // 4, 1)]:
        order = search_near(Objective(T), start, near, before)
        assert not np.tril(before[np.ix_(order, order)]).any()
    whole = rank[:, None] < rank
    np.testing.assert_array_equal(search_near(Objective(T), np.argsort(rank), near, whole), np.argsort(rank))


def test_who_has_no_neighbours_stays_where_it_is():
    order = np.array([3, 1, 0, 2])
    T, no = table(d=4, edges=3), np.zeros((4, 4), dtype=bool)
    np.testing.assert_array_equal(search_near(Objective(T), order, no, no), order)


def test_two_orders_of_two_neighbours_are_judged_by_their_costs():
    for seed in range(5):
        T, no = table(d=2, edges=1, seed=seed), np.zeros((2, 2), dtype=bool)
        objective = Objective(T).only(Objective(T).settings(np.arange(2)))
        best = min(([0, 1], [1, 0]), key=lambda order: total(objective, order, ~no))
        for start in ([0, 1], [1, 0]):
            np.testing.assert_array_equal(search_near(objective, np.array(start), ~np.eye(2, dtype=bool), no), best)


@pytest.mark.parametrize("model", ["gp", "tanh", "abs"])
def test_likely_neighbours_hold_nearly_all_true_ones(model):
    found = kept = 0
    for seed in range(4):
        truth = np.asarray(random_dag(15, 18, rng=seed)).astype(bool)
        near = find_neighbours(measure(sample(truth, model, 500, "printed", rng=seed).to_numpy()).table)
        assert near is not None
        np.testing.assert_array_equal(near, near.T)
        assert not near.diagonal().any()
        found += int(near[truth].sum())
        kept += int(near.sum()) // 2
    assert found >= 0.95 * 4 * 18
    assert kept < 0.5 * 4 * 105


@pytest.mark.parametrize("model", ["gp", "tanh", "abs-tanh", "abs"])
def test_dense_graphs_are_told_from_sparse_ones(model):
    assert all(find_neighbours(table(model, 20, 110, 400, seed)) is None for seed in range(3))
    assert all(find_neighbours(table(model, 20, 20, 400, seed)) is not None for seed in range(3))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_few_variables_are_no_obstacle(d):
    T = measure(np.random.default_rng(d).normal(size=(50, d))).table
    near = find_neighbours(T)
    assert near is not None
    assert near.shape == (d, d)
    order = search_near(Objective(T), np.arange(d), near, np.zeros((d, d), dtype=bool))
    assert sorted(order) == list(range(d))
