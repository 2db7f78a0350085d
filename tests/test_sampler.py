"""The sampler of orders against the exact posterior of every order."""

from itertools import pairwise

import numpy as np
import pytest

from dagtune.conditional import sampler
from dagtune.conditional.sampler import sample
from dagtune.conditional.search import Optimum, search, total
from oracles import TableScore, edges_by_subsets, every_order, posterior_by_every_order, random_score

CASES = [
    pytest.param({"seed": seed, "d": d, "spread": spread, "grid": grid, "constrained": constrained}, id=f"{seed}")
    for seed, (d, spread, grid, constrained) in enumerate(
        [
            (4, 1.0, 0, False),
            (5, 3.0, 0, False),
            (5, 2.0, 7, False),
            (5, 2.0, 0, True),
            (6, 2.0, 6, True),
            (6, 4.0, 0, False),
        ]
    )
]


def draw(score, seed=0, sweeps=300, chains=4, **how):
    rng = np.random.default_rng(seed)
    return sample(score, search(score, rng, count=8), rng, sweeps=sweeps, chains=chains, **how)


def two_optima(d=5, gap=1.0, depth=30.0):
    """One order and its reverse, ``gap`` nats apart; every other order is about ``depth`` below.

    All but the first variable of each gain ``depth`` by having exactly those before them as parents: an order that
    begins with another variable, or leaves the way, loses at least one gain.
    """
    table = np.full((d, 1 << d), -2 * depth)
    table[:, 0] = 0.0
    for order, extra in ((list(range(d)), gap), (list(range(d))[::-1], 0.0)):
        for k, i in enumerate(order[1:], start=1):
            table[i, sum(1 << j for j in order[:k])] = depth + (extra if k == d - 1 else 0.0)
    return TableScore(table)


@pytest.mark.parametrize("seed", range(3))
def test_the_two_oracles_agree(seed):
    score = random_score(seed, 4)
    assert edges_by_subsets(score.L) == pytest.approx(posterior_by_every_order(score)[0], abs=1e-10)


@pytest.mark.parametrize("width", [3, sampler.WIDTH])
@pytest.mark.parametrize("how", CASES)
def test_probabilities_are_those_of_all_orders(how, width, monkeypatch):
    monkeypatch.setattr(sampler, "WIDTH", width)
    score = random_score(**how)
    edges, ancestry, _ = posterior_by_every_order(score)
    found = draw(score, sweeps=1000)
    assert found.probability == pytest.approx(edges, abs=0.04)
    assert found.ancestry == pytest.approx(ancestry, abs=0.06)
    assert found.graphs.mean(axis=0) == pytest.approx(edges, abs=0.06)
    assert found.disagreement < 0.06


@pytest.mark.parametrize("gap", [0.0, 1.0, 2.0])
def test_two_optima_with_a_valley_between_get_their_weights(gap):
    score = two_optima(gap=gap)
    _, ancestry, _ = posterior_by_every_order(score)
    assert ancestry[0, 1] == pytest.approx(1 / (1 + np.exp(-gap)), abs=1e-3)
    found = draw(score, sweeps=400)
    assert found.probability == pytest.approx(posterior_by_every_order(score)[0], abs=0.06)


def test_without_jumps_optima_start_chains_by_their_weight(monkeypatch):
    """Nothing crosses the valley here, so the share of an optimum is that of the chains that started in it."""
    monkeypatch.setattr(sampler._Chain, "_jump", lambda self, heat: None)
    score = two_optima(gap=1.0)
    share = draw(score, sweeps=5, chains=40).ancestry[0, 1]
    assert share == pytest.approx(1 / (1 + np.exp(-1.0)), abs=0.03)


def test_an_optimum_thirty_nats_below_does_not_count():
    score = two_optima(gap=30.0, depth=60.0)
    found = draw(score, sweeps=10)
    assert found.ancestry[0, 1] == 1.0
    assert found.disagreement < 1e-3


def test_chains_leave_a_poor_start():
    score = random_score(seed=1, d=5, spread=3.0)
    worst, value = min(every_order(score), key=lambda pair: pair[1])
    found = sample(score, [Optimum(worst, value)], np.random.default_rng(0), sweeps=300)
    assert found.probability == pytest.approx(posterior_by_every_order(score)[0], abs=0.03)


@pytest.mark.parametrize("how", CASES)
def test_orders_and_graphs_are_legal_and_scored(how):
    score = random_score(**how)
    found = draw(score, sweeps=10)
    assert len(found.orders) == len(found.values) == len(found.graphs) == 4 * 8
    for order, value, graph in zip(found.orders, found.values, found.graphs):
        place = np.argsort(order)
        assert sorted(order) == list(range(score.width))
        assert all(place[i] < place[j] for i, j in np.argwhere(score.must_precede))
        assert all(place[i] < place[j] for i, j in np.argwhere(graph))
        assert value == pytest.approx(total(score, order))


def test_the_seed_reproduces_and_another_does_not():
    score = random_score(seed=2, d=5, spread=1.0)
    one, same, other = draw(score, seed=1, sweeps=8), draw(score, seed=1, sweeps=8), draw(score, seed=2, sweeps=8)
    for a, b in zip(one, same):
        assert np.array_equal(a, b)
    assert not np.array_equal(one.probability, other.probability)


@pytest.mark.parametrize("how", CASES)
def test_renamed_variables_give_the_renamed_probabilities(how):
    score = random_score(**how)
    names = np.random.default_rng(9).permutation(score.width)
    here, there = draw(score, sweeps=10), draw(score.renamed(names), sweeps=10)
    assert there.probability[np.ix_(names, names)] == pytest.approx(here.probability, abs=1e-9)
    assert np.array_equal(there.graphs[:, names][:, :, names], here.graphs)


def test_weights_of_the_prefixes_of_a_variable_are_the_time():
    score = random_score(seed=4, d=6, spread=1.0)
    chain = sampler._Chain(score, search(score, np.random.default_rng(0)), 0, np.random.default_rng(0))
    for _ in range(5):
        chain.sweep(1.0, 0.0, lambda phase, share: None)
    chain.probability()
    assert [sum(weight.values()) for weight in chain.weight] == pytest.approx([chain.time] * 6)


@pytest.mark.parametrize("block", [(0, 4), (0, 2), (1, 4)])
@pytest.mark.parametrize("how", [{}, {"grid": 5}, {"constrained": True}])
def test_a_step_keeps_the_posterior(how, block):
    """Every order, every variable of the block, and 100 equally likely draws of the place: pi K = pi."""
    score = random_score(seed=7, d=4, spread=1.0, **how)
    orders, values = zip(*every_order(score))
    before = np.exp(np.array(values) - max(values))
    before /= before.sum()
    after = dict.fromkeys(orders, 0.0)
    draws, positions = (np.arange(100) + 0.5) / 100, range(*block)
    for order, mass in zip(orders, before):
        chain = sampler._Chain(score, [Optimum(order, 0.0)], 0, np.random.default_rng(0))
        for at in positions:
            for place in draws:
                chain.walk.restart(order)
                chain._step(*block, at, float(place), 1.0)
                after[tuple(chain.walk.order)] += mass / len(draws) / len(positions)
    assert list(after.values()) == pytest.approx(before, abs=0.004)


def test_jumps_keep_the_posterior():
    """Jumps alone, between three optima: the share of each order that can be reached is its weight among those."""
    score = random_score(seed=11, d=4, spread=0.3)
    weights = {order: np.exp(value) for order, value in every_order(score)}
    anchors = [Optimum(order, 0.0) for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2))]
    chain = sampler._Chain(score, anchors, 0, np.random.default_rng(0))
    visits = dict.fromkeys(weights, 0)
    for _ in range(6000):
        chain._jump(1.0)
        visits[tuple(chain.walk.order)] += 1
    reached = [order for order, count in visits.items() if count]
    assert len(reached) > 2
    expected = np.array([weights[order] for order in reached])
    assert np.array([visits[order] for order in reached]) / 6000 == pytest.approx(expected / expected.sum(), abs=0.03)


def test_a_jump_is_undone_by_the_jump_back():
    score, rng = random_score(seed=4, d=6), np.random.default_rng(0)
    a, b, order = (rng.permutation(6) for _ in range(3))
    chain = sampler._Chain(score, [Optimum(tuple(a), 0.0), Optimum(tuple(b), 0.0)], 0, rng)
    for by_name in (True, False):
        there = chain._carry(order, 0, 1, by_name)
        assert np.array_equal(chain._carry(there, 1, 0, by_name), order)
        assert np.array_equal(chain._carry(a, 0, 1, by_name), b)


def test_shares_rise_and_telling_can_stop():
    score, shares = random_score(seed=0, d=5), []
    optima = search(score, np.random.default_rng(0))
    sample(score, optima, np.random.default_rng(0), sweeps=5, tell=lambda phase, share: shares.append(share))
    assert len(shares) == 4 * 5 * 5
    assert all(a <= b for a, b in pairwise(shares))
    assert 0 <= shares[0] < shares[-1] < 1


def test_the_search_and_the_sample_stay_within_their_budget():
    """Ten variables, defaults: at most 40 000 lookups."""
    score = random_score(seed=0, d=10, spread=0.0)
    score.local = _additive(score)
    draw(score, sweeps=sampler.SWEEPS)
    assert score.lookups < 40_000


def _additive(score):
    from oracles import Local

    def local(child, before):
        score.lookups += 1
        return Local(float(hash((child, before)) % 1000) / 100, np.zeros(score.width), np.zeros(0))

    return local
