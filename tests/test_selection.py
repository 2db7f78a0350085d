"""Parents within an order: statistics against refits with and without, odds against a mixture that is known."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from dagtune.conditional.data import measure
from dagtune.conditional.factors import best_fit
from dagtune.conditional.selection import _backward, _pooled_odds, _statistics, residuals, select_parents
from dagtune.graph import topological_order
from dagtune.simulate import random_dag, sample


def linear(n=3000, seed=0):
    """Five causes, of which 0, 2 and 3 act on the last column; 1 is a child of 0 and acts on nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 1] += X[:, 0]
    X[:, 5] += 0.8 * X[:, 0] - 0.5 * X[:, 2] + 0.3 * X[:, 3]
    return X


def into_last(d=6):
    allowed = np.zeros((d, d), dtype=bool)
    allowed[:-1, -1] = True
    return allowed


def nothing(d=6):
    return np.zeros((d, d), dtype=bool)


def system(seed=0, d=4, n=200):
    """Normal equations with blocks of different sizes and penalty I, from rows; also the rows."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, d)
    D = int(sizes.sum())
    F = rng.normal(size=(n, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
    y = F @ rng.normal(size=D) * 0.3 + rng.normal(size=n)
    scale = rng.uniform(1, 20, D)  # of functions whose penalty became I
    F = F * scale
    return F.T @ F / n, F.T @ y / n, float(y @ y / n), sizes.astype(np.int64), F, y


def refit(F, y, columns):
    """Ridge regression with penalty I on rows: squares left over n with and without the penalty, and edf."""
    n = len(y)
    A = F[:, columns].T @ F[:, columns] / n + np.eye(len(columns))
    w = np.linalg.solve(A, F[:, columns].T @ y / n)
    left = np.mean((y - F[:, columns] @ w) ** 2)
    edf = np.trace(np.linalg.solve(A, F[:, columns].T @ F[:, columns] / n))
    return left + w @ w, left, edf


# --- statistics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_statistics_are_those_of_refits_with_and_without_each_candidate(seed):
    G, b, power, sizes, F, y = system(seed)
    rng = np.random.default_rng(seed)
    kept = rng.random(len(sizes)) < 0.5
    n, starts = len(y), np.append(0, np.cumsum(sizes))
    chi, nu, gain, room = _statistics(G, b, power, sizes, kept, n)

    def columns(members):
        return np.concatenate([np.arange(starts[k], starts[k + 1]) for k in members] or [np.zeros(0, dtype=int)])

    for k in range(len(sizes)):
        others = [j for j in np.flatnonzero(kept) if j != k]
        without, _, _ = refit(F, y, columns(others))
        with_it, _, _ = refit(F, y, columns([*others, k]))
        q = without - with_it
        assert q > -1e-12
        assert gain[k] == pytest.approx(np.log(without / with_it), rel=1e-6, abs=1e-9)
        # shares of the block's own functions that its data decide, the others given
        own, rest = F[:, columns([k])], F[:, columns(others)]
        given = own - rest @ np.linalg.solve(rest.T @ rest / n + np.eye(rest.shape[1]), rest.T @ own / n)
        share = 1 - np.linalg.eigvalsh(np.linalg.inv(own.T @ given / n + np.eye(sizes[k])))
        assert nu[k] == pytest.approx(share.sum() ** 2 / (share**2).sum(), rel=1e-5)
        assert 0 < nu[k] <= sizes[k] + 1e-9
        kept_left, kept_edf = refit(F, y, columns(np.flatnonzero(kept)))[1:]
        noise = kept_left / (1 - kept_edf / n)
        if not kept[k]:
            noise = min(noise, with_it / (1 - (kept_edf + sizes[k]) / n))
        assert chi[k] == pytest.approx(n * q / noise * share.sum() / (share**2).sum(), rel=1e-5)
        if not kept[k]:
            assert room[k] == pytest.approx(n - kept_edf)


def test_without_penalty_the_statistic_is_the_f_test():
    """Functions so large that a penalty of I means nothing."""
    rng = np.random.default_rng(0)
    F = 1e4 * rng.normal(size=(150, 5))
    y = F @ [1e-4, 0, 0, 2e-5, 0] + rng.normal(size=150)
    sizes, kept = np.array([2, 1, 2]), np.array([True, True, True])
    chi, nu, _, _ = _statistics(F.T @ F / 150, F.T @ y / 150, float(y @ y / 150), sizes, kept, 150)
    whole = np.sum((y - F @ np.linalg.lstsq(F, y, rcond=None)[0]) ** 2)
    for k, out in enumerate(([0, 1], [2], [3, 4])):
        less = np.delete(F, out, axis=1)
        alone = np.sum((y - less @ np.linalg.lstsq(less, y, rcond=None)[0]) ** 2)
        assert chi[k] / nu[k] == pytest.approx((alone - whole) / len(out) / (whole / (150 - 5)), rel=1e-4)


def test_candidates_that_explain_nothing_have_statistics_about_their_freedom():
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        F, y = 50 * rng.normal(size=(300, 6)), rng.normal(size=300)
        kept = np.zeros(3, dtype=bool)
        chi, nu, _, _ = _statistics(F.T @ F / 300, F.T @ y / 300, float(y @ y / 300), np.full(3, 2), kept, 300)
        found += list(stats.f.cdf(chi / nu, nu, 295))
    assert stats.kstest(found, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_backward_deletion_is_that_of_refits(seed):
    G, b, power, sizes, F, y = system(seed, d=5)
    n, starts = len(y), np.append(0, np.cumsum(sizes))
    required = np.random.default_rng(seed).random(5) < 0.3
    left = list(range(5))
    while True:
        at = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in left] or [np.zeros(0, dtype=int)])
        with_it, plain, edf = refit(F, y, at)
        variance = plain / (1 - edf / n)
        scores = {}
        for k in left:
            if not required[k]:
                out = [i for i in at if not starts[k] <= i < starts[k + 1]]
                own = [int(np.flatnonzero(at == i)[0]) for i in range(starts[k], starts[k + 1])]
                inverse = np.linalg.inv(F[:, at].T @ F[:, at] / n + np.eye(len(at)))
                chi = n * (refit(F, y, out)[0] - with_it) / variance
                scores[k] = chi / 2 - (sizes[k] - np.trace(inverse[np.ix_(own, own)]))
        if not scores or min(scores.values()) > 0:
            break
        left.remove(min(scores, key=scores.get))
    np.testing.assert_array_equal(np.flatnonzero(_backward(G, b, power, sizes, required, n)), left)


# --- pooled odds ----------------------------------------------------------------------------------------------------


def mixture(share=0.3, count=800, n=500, seed=0, effect=40.0):
    rng = np.random.default_rng(seed)
    real = rng.random(count) < share
    nu = rng.choice([1.0, 2.5, 5.0], count)
    room = np.full(count, n - 10.0)
    size = np.where(real, effect * rng.exponential(size=count), 0)
    return real, nu * (1 + size) * rng.f(nu, room), nu, room


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_the_share_of_edges_is_learned_from_the_candidates(share):
    for seed in range(3):
        real, chi, nu, room = mixture(share, seed=seed)
        p = special.expit(_pooled_odds(chi, nu, 500, room, 0.01)[0])
        assert abs(p.mean() - real.mean()) < 0.1 + 0.15 * share
        assert np.mean((p > 0.5) == real) > max(share, 1 - share)
        for low, high in ((0.0, 0.2), (0.8, 1.01)):  # what it says is about how often it is right
            inside = (p >= low) & (p < high)
            if inside.sum() > 30:
                assert abs(real[inside].mean() - p[inside].mean()) < 0.15


def test_odds_rise_with_the_statistic_and_fall_with_the_least_gain():
    chi = np.linspace(0.01, 80, 200)
    nu, room = np.full(200, 3.0), np.full(200, 300.0)
    odds = _pooled_odds(chi, nu, 320, room, 0.01)[0]
    assert np.isfinite(odds).all()
    assert (np.diff(odds) >= -1e-9).all()
    assert odds[0] < 0 < odds[-1]
    assert (_pooled_odds(chi, nu, 320, room, 0.05)[0] <= odds + 1e-9).all()


@pytest.mark.parametrize("chi", [[0.0], [1e9], [0.0, 0.0, 1e9], [5.0]])
def test_few_or_extreme_candidates_have_odds_too(chi):
    count = len(chi)
    for n, room in ((2, -3.0), (50, 20.0), (10**6, 1e6)):
        odds = _pooled_odds(np.array(chi), np.full(count, 2.0), n, np.full(count, room), 0.01)[0]
        assert np.isfinite(odds).all()


# --- the whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_with_many_rows_the_parents_of_a_linear_child_are_found(seed):
    T = measure(linear(seed=seed)).table
    order = np.triu(np.ones((6, 6), dtype=bool), 1)
    found = select_parents(T, order, nothing())
    expected = nothing()
    expected[[0, 2, 3], 5] = expected[0, 1] = True
    np.testing.assert_array_equal(found.graph, expected)
    odds = found.evidence.odds
    assert odds[expected].min() > odds[order & ~expected].max()
    assert np.isneginf(odds[~order]).all()
    for numbers in (found.evidence.chi, found.evidence.freedom, found.evidence.gain):
        np.testing.assert_array_equal(np.isnan(numbers), ~order)


def test_gains_are_the_partial_correlations_of_linear_effects():
    X = linear(20_000)
    found = select_parents(measure(X).table, into_last(), nothing())
    kept = [0, 2, 3]
    for j in kept:
        others = np.column_stack([np.ones(len(X)), X[:, [k for k in kept if k != j]]])
        a, b = (v - others @ np.linalg.lstsq(others, v, rcond=None)[0] for v in (X[:, j], X[:, 5]))
        assert found.evidence.gain[j, 5] == pytest.approx(-np.log(1 - np.corrcoef(a, b)[0, 1] ** 2), abs=0.01)


@pytest.mark.parametrize("least", [None, 0.0, 0.5, 1.0])
def test_required_parents_stay_and_others_than_the_allowed_never_come(least):
    T = measure(linear(300)).table
    allowed, required = into_last(), nothing()
    allowed[0, 5] = False
    required[4, 5] = True
    found = select_parents(T, allowed, required, least_probability=least)
    assert found.graph[4, 5]
    assert found.deleted[4, 5]
    assert not (found.graph & ~allowed).any()
    assert not (found.deleted & ~allowed).any()
    if least == 0.0:
        np.testing.assert_array_equal(found.graph, allowed)
    if least == 1.0:
        np.testing.assert_array_equal(found.graph, required)


def test_a_lower_least_probability_keeps_all_that_a_higher_one_does():
    T = measure(linear(150)).table
    order = np.triu(np.ones((6, 6), dtype=bool), 1)
    graphs = [select_parents(T, order, nothing(), least_probability=p).graph for p in (0.99, 0.7, 0.5, 0.1, 0.001)]
    for fewer, more in itertools.pairwise(graphs):
        assert (more | ~fewer).all()
    adapted = select_parents(T, order, nothing())
    np.testing.assert_array_equal(
        adapted.graph, select_parents(T, order, nothing(), least_probability=adapted.least_probability).graph
    )
    assert 0 < adapted.least_probability <= 0.5


def test_no_candidates_no_edges():
    found = select_parents(measure(linear(100)).table, nothing(), nothing())
    assert not found.graph.any()


# --- residuals ------------------------------------------------------------------------------------------------------


def test_residuals_of_a_linear_child_are_those_of_least_squares():
    X = linear(4000)
    T = measure(X).table
    graph = nothing()
    graph[[0, 2, 3], 5] = True
    left = residuals(T, graph)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(left[:5], Z.T[:5], atol=1e-5)
    direct = Z[:, 5] - Z[:, [0, 2, 3]] @ np.linalg.lstsq(Z[:, [0, 2, 3]], Z[:, 5], rcond=None)[0]
    assert np.corrcoef(left[5], direct)[0, 1] > 0.99
    assert left[5].var() < Z[:, 5].var() * 0.6


def test_residuals_are_what_the_best_ridge_regression_leaves():
    X = linear(500, seed=3)
    T = measure(X).table
    at = T.functions_of([0, 2])
    weights, chosen = best_fit(T, 5, np.array([0, 2]))
    A = T.products[np.ix_(at, at)] + np.diag(T.penalty[chosen][at])
    np.testing.assert_allclose(weights[at], np.linalg.solve(A, T.cross[at, 5]), atol=1e-8)
    graph = nothing()
    graph[[0, 2], 5] = True
    np.testing.assert_allclose(residuals(T, graph)[5], T.targets[5] - weights @ T.functions, atol=1e-4)


def test_a_bent_link_is_taken_out_of_residuals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    X[:, 3] = np.tanh(2 * X[:, :3].sum(axis=1)) + 0.1 * X[:, 3]
    T = measure(X).table
    graph = into_last(4)
    left = residuals(T, graph)[3]
    additive = T.targets[3] - best_fit(T, 3, np.arange(3))[0] @ T.functions
    assert left.var() < 0.5 * additive.var()


def test_a_graph_is_called_dense_only_if_that_is_sure():
    """With few pairs a share of effects a little above the limit may be chance."""
    X = sample(random_dag(10, 18, rng=0), "gp", 300, "printed", rng=0).to_numpy()
    T = measure(X).table
    rank = np.argsort(topological_order(random_dag(10, 18, rng=0)))
    found = select_parents(T, rank[:, None] < rank, np.zeros((10, 10), dtype=bool))
    assert found.least_probability == 0.5
