"""Costs along an order against ridge regressions solved one by one, and a search that ends where no move helps."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from dagtune.conditional import factors
from dagtune.conditional.data import measure
from dagtune.conditional.factors import SETTINGS, Factor, best_fit
from dagtune.conditional.links import judge
from dagtune.conditional.orders import Objective, search, top_down
from dagtune.simulate import random_dag, sample

NOTHING = np.zeros((6, 6), dtype=bool)


def data(d=5, n=150, seed=0):
    """Columns of different distributions, each after the first bent out of those before; one with few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] += np.sin(X[:, :j]) @ rng.uniform(-1.5, 1.5, j) + 0.3 * X[:, j - 1] ** 2
    X[:, d // 2] = np.round(X[:, d // 2])
    return X


def table(**how):
    return measure(data(**how)).table


def cost(table, S, child, evidence=0.0):
    """log of the judgement of the regression of a child on a set, from the penalised normal equations themselves.

    GCV, and for weak regressions a share of the marginal likelihood; the best of the settings.
    """
    at = table.functions_of(np.sort(np.asarray(S, dtype=int)))
    G, b, n = table.products[np.ix_(at, at)], table.cross[at, child], table.n
    found = []
    for P in table.penalty[:, at]:
        A = G + np.diag(P)
        w = np.linalg.solve(A, b)
        V = table.power[child] - 2 * w @ b + w @ G @ w
        edf = np.trace(np.linalg.solve(A, G))
        gcv = np.log(max(V, factors.LEAST)) - 2 * np.log(max(1 - (1 + edf) / n, factors.ROOM))
        S = max(table.power[child] - b @ w, factors.LEAST)
        likelihood = np.log(S) + (np.linalg.slogdet(A)[1] - np.sum(np.log(P))) / n
        share = evidence * min(max(V, factors.LEAST) / (factors.WEAK * table.power[child]), 1.0)
        found.append((1 - share) * gcv + share * likelihood)
    return min(found)


def every_insertion(order):
    """All orders that one variable's move makes."""
    for x in order:
        rest = [y for y in order if y != x]
        for place in range(len(order)):
            yield np.array([*rest[:place], x, *rest[place:]])


def total(objective, order):
    return objective.total(objective.scaled(objective.along(order), order))


# --- regressions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_costs_along_an_order_are_those_of_ridge_regressions_solved_one_by_one(seed):
    T = table(d=6, seed=seed)
    order = np.random.default_rng(seed).permutation(6)
    found = Objective(T, link=False, evidence=0.0).along(order)
    np.testing.assert_allclose(found, [cost(T, order[:t], order[t]) for t in range(6)], atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_a_rearranged_window_answers_as_the_whole_order_would(seed):
    """By factoring anew (from the first place on), by rotation (later), and after windows were taken over."""
    rng = np.random.default_rng(seed)
    T = table(d=6, seed=seed)
    objective, factor = Objective(T, link=False, evidence=0.0), Factor(T, rng.permutation(6))
    for low in (2, 1, 0, 3, 1, 2):
        length = int(rng.integers(2, 7 - low))
        window = rng.permutation(factor.order[low : low + length])
        head = factor.order[:low]
        after = factor.order[low + length :]
        places = np.concatenate([np.arange(length), rng.integers(0, length + 1, len(after))])
        children = np.concatenate([window, after])
        found = objective.costs(factor.window(low, window), places, children)
        expected = [cost(T, [*head, *window[:p]], c) for p, c in zip(places, children)]
        np.testing.assert_allclose(found, expected, atol=1e-7)
        factor.rearrange(low, window)
        np.testing.assert_array_equal(factor.order, [*head, *window, *after])


def test_more_rows_than_functions_are_not_needed():
    T = table(d=6, n=12)
    order = np.arange(6)
    for evidence in (0.0, Objective(T).evidence, 1.0):
        np.testing.assert_allclose(
            Objective(T, link=False, evidence=evidence).along(order),
            [cost(T, order[:t], t, evidence) for t in range(6)],
            atol=1e-7,
        )


def test_nothing_before_leaves_the_whole_variance():
    found = Objective(table(), link=False, evidence=0.0).along(np.arange(5))
    assert found[0] == pytest.approx(-2 * np.log(1 - 1 / 150), abs=1e-12)


def test_rows_only_take_off_what_they_are_judged_by():
    """Costs with links are those without less what judge says of the fits, found here from their weights."""
    T = table(d=4, seed=3)
    S, child = np.array([0, 1, 2]), 3
    seen = {}

    class Spy(Objective):
        def _finish(self, best, children):
            seen.update(gcv=best.cost, freedom=best.freedom, weights=best.weights)
            return super()._finish(best, children)

    for any_noise in (False, True):
        found = Spy(T, any_noise=any_noise).along(np.append(S, child))[-1]
        fits = (seen["weights"][-1:] @ T.functions).astype(np.float32)
        # the fee is what it is: with none the bend is taken, with a high one it is not
        off = max(
            judge(fits, T.targets, np.array([child]), np.full(1, fee), T.bins, any_noise, T.smooth)[0]
            for fee in (0.0, 9.0)
        )
        assert seen["gcv"][-1] - off - 1e-4 <= found <= seen["gcv"][-1] + (0.5 if any_noise else 1e-9)
        assert not seen["weights"][-1][T.functions_of([child])].any()


# --- search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_search_ends_where_no_single_insertion_helps(seed, link):
    d = 5 + seed % 2
    T = table(d=d, n=80, seed=seed)
    for variance in (None, np.random.default_rng(seed).uniform(0.5, 2, d)):
        objective = Objective(T, link=link, variance=variance)
        order, costs = search(objective, np.random.default_rng(seed + 50).permutation(d), NOTHING[:d, :d])
        reached = total(objective, order)
        assert objective.total(costs) == pytest.approx(reached, abs=1e-4 if link else 1e-7)
        slack = 1e-4 if link else 1e-7  # single precision of the fits: a row may fall into the next bin
        assert min(total(objective, other) for other in every_insertion(order)) >= reached - slack


@pytest.mark.parametrize("seed", range(8))
def test_a_search_ends_only_when_every_variable_was_looked_at_since_the_last_move(seed):
    """Costs drawn at random for every (set, child): a rough landscape, in which moves open other moves."""
    d = 6
    T = table(d=d, n=40)
    made = {}

    class Rough(Objective):
        def _with_joint(self, costs, sets, children):
            rng = np.random.default_rng
            for S, c in zip(sets(), children):
                key = (frozenset(map(int, S)), int(c))
                made.setdefault(key, rng([seed, c, *sorted(map(int, S))]).normal())
            return np.array([made[frozenset(map(int, S)), int(c)] for S, c in zip(sets(), children)])

    objective = Rough(T, link=False)
    for start in range(12):
        order, costs = search(objective, np.random.default_rng(start).permutation(d), NOTHING)
        assert objective.total(costs) == pytest.approx(total(objective, order), abs=1e-9)
        assert min(total(objective, other) for other in every_insertion(order)) >= total(objective, order) - 1e-7


@pytest.mark.parametrize("window", [1, 2, 4])
def test_a_narrow_window_gives_the_same_costs_and_ends_where_no_short_move_helps(window):
    T = table(d=6, n=100, seed=8)
    objective = Objective(T, link=False, evidence=0.0)
    order, costs = search(objective, np.random.default_rng(1).permutation(6), NOTHING, window=window)
    np.testing.assert_allclose(costs, objective.along(order), atol=1e-7)
    for other in every_insertion(order):
        moved = max(abs(int(np.flatnonzero(order == x)[0]) - int(np.flatnonzero(other == x)[0])) for x in order)
        if moved <= window:
            assert total(objective, other) >= total(objective, order) - 1e-7


@pytest.mark.parametrize("seed", range(6))
def test_what_must_come_before_what_is_kept_from_any_start(seed):
    rng = np.random.default_rng(seed)
    T = table(d=6, n=100, seed=seed)
    secret = rng.permutation(6)
    rank = np.argsort(secret)
    before = (rank[:, None] < rank) & (rng.random((6, 6)) < 0.4)
    reach = before.copy()
    for k in range(6):
        reach |= reach[:, [k]] & reach[[k]]
    objective = Objective(T, link=False, evidence=0.0)
    fitting = [np.array(p) for p in permutations(range(6)) if not np.tril(reach[np.ix_(p, p)]).any()]
    start = fitting[int(rng.integers(len(fitting)))]
    for window in (None, 2):
        order, costs = search(objective, start, reach, window=window)
        assert not np.tril(reach[np.ix_(order, order)]).any()
        np.testing.assert_allclose(costs, objective.along(order), atol=1e-7)
    first = top_down(objective, np.ones(6), reach)
    assert not np.tril(reach[np.ix_(first, first)]).any()
    whole = (secret[:, None] != secret) & (rank[:, None] < rank)
    np.testing.assert_array_equal(search(objective, secret, whole)[0], secret)
    np.testing.assert_array_equal(top_down(objective, np.ones(6), whole), secret)


def test_top_down_takes_the_least_residual_variance_each_time():
    T = table(d=5, seed=2)
    variance = np.array([3.0, 0.2, 1.0, 2.0, 0.5])
    found = top_down(Objective(T, link=False, evidence=0.0), variance, NOTHING[:5, :5])
    taken, left = [], list(range(5))
    while left:
        taken.append(min(left, key=lambda j: cost(T, taken, j) + np.log(variance[j])))
        left.remove(taken[-1])
    np.testing.assert_array_equal(found, taken)


def test_two_variables_are_put_in_the_better_of_both_orders():
    for seed in range(5):
        T = table(d=2, seed=seed)
        objective = Objective(T, link=False, evidence=0.0)
        totals = {order: total(objective, np.array(order)) for order in ((0, 1), (1, 0))}
        for start in totals:
            found, _ = search(objective, np.array(start), NOTHING[:2, :2])
            assert totals[tuple(found)] == pytest.approx(min(totals.values()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: np.column_stack([X[:, :5], X[:, 0]]),
        lambda X: np.column_stack([X[:, :4], X[:, 0] * 3 + 7, -X[:, 1]]),
        lambda X: (X > 0).astype(float),
        lambda X: np.clip(np.round(X), -1, 1),
        lambda X: np.column_stack([X[:, :3], X[:, :3].sum(axis=1), X[:, 3:5]]),
        lambda X: np.column_stack([(X[:, 0] > 0), (X[:, 0] > 0), (X[:, 0] <= 0), X[:, 1:4]]),
    ],
    ids=["a copy", "scaled copies", "binary", "three values", "a sum of others", "binary copies"],
)
@pytest.mark.parametrize("link", [False, True])
def test_columns_that_repeat_each_other_or_have_few_values_are_searched_all_the_same(spoil, link):
    T = measure(spoil(data(d=6, n=120, seed=4)).astype(float)).table
    objective = Objective(T, link=link)
    order, costs = search(objective, np.arange(6), NOTHING)
    assert sorted(order) == list(range(6))
    assert np.isfinite(costs).all()
    assert objective.total(costs) <= total(objective, np.arange(6)) + 1e-6
    assert np.isfinite(search(objective, order[::-1], NOTHING, window=2)[1]).all()


def test_equal_variances_are_judged_by_the_mean_residual_variance():
    T = table(d=5, seed=6)
    variance = np.random.default_rng(0).uniform(0.5, 3, 5)
    free = Objective(T, link=False, evidence=0.0)
    order = np.array([3, 1, 0, 4, 2])
    left = np.exp(free.along(order)) * variance[order]
    assert total(replace(free, variance=variance), order) == pytest.approx(5 * np.log(np.mean(left)))
    assert total(free, order) == pytest.approx(np.sum(np.log(left / variance[order])))
    # of all tables with this product of residual variances, equal ones are the best
    assert total(replace(free, variance=variance), order) >= np.sum(np.log(left)) - 1e-9


def test_a_search_goes_without_settings_that_never_win_and_is_judged_by_all():
    T = measure(sample(random_dag(6, 9, rng=1), "mlp2", 400, rng=1).to_numpy()).table
    objective, order = Objective(T), np.arange(6)
    used = objective.settings(order)
    assert 0 < len(used) < len(SETTINGS)  # weak signals: not all of them
    np.testing.assert_array_equal(objective.only(set(range(len(SETTINGS)))).along(order), objective.along(order))
    assert (objective.only(used).along(order) >= objective.along(order) - 1e-12).all()
    found, costs = search(objective, order, np.zeros((6, 6), dtype=bool))
    np.testing.assert_array_equal(costs, objective.along(found))


def test_strong_straight_effects_are_best_fitted_by_straight_lines():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    X[:, 4] = X[:, :4] @ [3, -2, 4, 1.5] + 0.1 * X[:, 4]
    setting = best_fit(measure(X).table, 4, np.arange(4))[1]
    bent, ridge = SETTINGS[setting]
    assert max(10 * bent, ridge) < 1
