"""Insertion search over orders: places by cumulative sums against each order scored by itself, optima by all moves."""

import itertools

import numpy as np
import pytest

from dagtune.conditional.search import LEAST_GAIN, descend, is_legal, places, search, starts, total
from oracles import every_order, random_score

SCORES = [
    pytest.param({"seed": seed, "d": d, "grid": grid, "constrained": constrained}, id=f"d{d}-H{grid}-{constrained}")
    for seed, (d, grid, constrained) in enumerate(
        [(4, 0, False), (5, 7, False), (5, 0, True), (6, 5, True), (6, 0, False)]
    )
]


def insertions(order, x):
    """The order with x at each place."""
    rest = [i for i in order if i != x]
    return [(*rest[:place], x, *rest[place:]) for place in range(len(order))]


@pytest.mark.parametrize("how", SCORES)
def test_total_is_the_score_by_definition(how):
    score = random_score(**how)
    for order, value in every_order(score):
        assert total(score, order) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("how", SCORES)
def test_places_are_the_totals_of_the_orders_they_make(how):
    score = random_score(**how)
    legal = [order for order, _ in every_order(score)]
    for order in legal[:: max(len(legal) // 20, 1)]:
        for x in order:
            expected = [total(score, other) if other in legal else -np.inf for other in insertions(order, x)]
            assert places(score, order, x) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize("how", SCORES)
def test_descend_ends_where_no_insertion_helps_and_not_below_its_start(how):
    score = random_score(**how)
    for start in starts(score, np.random.default_rng(0), 5):
        order, value = descend(score, start)
        assert value == pytest.approx(total(score, order))
        assert value >= total(score, start) - 1e-9
        assert max(places(score, order, x).max() for x in order) <= value + LEAST_GAIN + 1e-9


@pytest.mark.parametrize("how", SCORES)
def test_starts_and_optima_obey_must_precede(how):
    score = random_score(**how)
    begins = starts(score, np.random.default_rng(1), 7)
    found = search(score, np.random.default_rng(1))
    assert len(begins) == 7
    for order in [*begins, *(optimum.order for optimum in found)]:
        assert sorted(order) == list(range(score.width))
        assert is_legal(score, order)
        place = np.argsort(order)
        assert all(place[i] < place[j] for i, j in np.argwhere(score.must_precede))


def test_is_legal_says_no():
    score = random_score(seed=0, d=4, constrained=True)
    assert not is_legal(score, (1, 0, 2, 3))
    assert not is_legal(score, (0, 2, 1, 3))


@pytest.mark.parametrize("how", SCORES)
def test_search_finds_the_best_order_of_all_and_sorts(how):
    score = random_score(**how)
    found = search(score, np.random.default_rng(0), count=10)
    best, value = max(every_order(score), key=lambda pair: pair[1])
    assert found[0].order == best
    assert found[0].value == pytest.approx(value)
    values = [optimum.value for optimum in found]
    assert values == sorted(values, reverse=True)
    assert len({optimum.order for optimum in found}) == len(found)


def test_a_start_that_is_handed_in_is_used():
    score = random_score(seed=3, d=6, spread=4.0)
    best, _ = max(every_order(score), key=lambda pair: pair[1])
    assert search(score, np.random.default_rng(0), count=0, also=[best]) == [(best, total(score, best))]


def test_top_down_finds_a_chain_of_causes():
    """Each variable is explained by the one before it alone, and backwards half as well."""
    d, chain = 5, (3, 0, 4, 1, 2)
    score = random_score(seed=0, d=d, spread=0.0)
    for a, b in itertools.pairwise(chain):
        score.L[b, [S for S in range(1 << d) if S >> a & 1]] += 60.0
        score.L[a, [S for S in range(1 << d) if S >> b & 1]] += 30.0
    assert search(score, np.random.default_rng(0), count=1)[0].order == chain


@pytest.mark.parametrize("how", SCORES)
def test_renamed_variables_give_the_renamed_optima(how):
    score = random_score(**how)
    names = np.random.default_rng(5).permutation(score.width)
    here = search(score, np.random.default_rng(2))
    there = search(score.renamed(names), np.random.default_rng(2))
    assert [tuple(int(names[i]) for i in order) for order, _ in here] == [order for order, _ in there]
    assert [value for _, value in here] == pytest.approx([value for _, value in there])


def test_search_stops_when_it_is_told_to():
    class Enough(Exception):
        pass

    def stop(phase, share):
        assert phase == "searching"
        assert 0 <= share < 1
        raise Enough

    with pytest.raises(Enough):
        search(random_score(seed=0, d=5), np.random.default_rng(0), tell=stop)


def test_one_variable_has_one_order():
    assert search(random_score(seed=0, d=1), np.random.default_rng(0))[0].order == (0,)


def test_masks_reach_beyond_64_variables():
    class Wide:
        width, must_precede = 70, np.zeros((70, 70), dtype=bool)

        def local(self, child, before):
            """Variable k likes exactly k variables before it."""
            from oracles import Local

            return Local(-abs(bin(before).count("1") - child), np.zeros(70), np.zeros(0))

        def shared(self, total):
            return np.zeros(total.shape[:-1])

    order = np.arange(70)
    order[[3, 66]] = order[[66, 3]]
    assert descend(Wide(), order).order == tuple(range(70))
