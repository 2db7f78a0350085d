"""The screen of candidate neighbours: what is looked at for edges where there are very many pairs."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, Knowledge
from dagtune.conditional.design import measure
from dagtune.conditional.numbers import EDGE_RATES
from dagtune.conditional.parents import Prior
from dagtune.conditional.problem import Offer
from dagtune.conditional.score import Score
from dagtune.conditional.screen import CANDIDATES, RIDGE, Screened, candidates, score_of
from dagtune.conditional.search import total
from dagtune.metrics import f1


def sparse_table(d=30, n=600, seed=0):
    """(n, d) linear, two causes a variable on average, and the (d, d) true graph."""
    rng = np.random.default_rng(seed)
    truth = np.triu(rng.random((d, d)) < 4 / d, 1)
    X = rng.uniform(-1, 1, size=(n, d))
    for j in range(d):
        X[:, j] += X[:, truth[:, j]] @ rng.choice([-1.0, 1.0], truth[:, j].sum())
    return X, truth


def partial_by_regression(X):
    """(d, d) squared partial correlations, from what regressions on all other columns leave of each pair."""
    d = X.shape[1]
    C = np.corrcoef(X.T) + RIDGE * np.eye(d)
    found = np.zeros((d, d))
    for i in range(d):
        for j in range(i):
            pair, rest = [i, j], [k for k in range(d) if k not in (i, j)]
            weights = np.linalg.solve(C[np.ix_(rest, rest)], C[np.ix_(rest, pair)])
            left = C[np.ix_(pair, pair)] - C[np.ix_(pair, rest)] @ weights
            found[i, j] = found[j, i] = left[0, 1] ** 2 / (left[0, 0] * left[1, 1])
    return found


def canonical_by_angles(design):
    """(d, d) sums of squared canonical correlations, from orthonormal bases of the functions at the rows."""
    starts = design.sums.starts
    bases = [np.linalg.qr(design.rows.F[a:b].T)[0] for a, b in pairwise(starts.tolist())]
    return np.array([[np.sum((x.T @ y) ** 2) for y in bases] for x in bases])


def test_candidates_are_the_first_by_lines_given_all_and_by_curves_alone():
    X, _ = sparse_table(d=14)
    found = candidates(measure(X).sums, count=5)
    lines, curves = partial_by_regression(X), canonical_by_angles(measure(X))
    own = np.zeros((14, 14), dtype=bool)
    for i in range(14):
        others = [j for j in range(14) if j != i]
        first = [sorted(others, key=lambda j: -score[i, j]) for score in (lines, curves)]
        place = {j: min(one.index(j) for one in first) for j in others}
        last = sorted(place.values())[4]
        own[i, [j for j in others if place[j] <= last]] = True
    assert np.array_equal(found, own | own.T)


def test_what_cancels_and_what_is_bent_are_candidates():
    rng = np.random.default_rng(1)
    X, _ = sparse_table(d=40, seed=1)
    n = len(X)
    X[:, 1] = X[:, 0] + rng.uniform(-1, 1, n)
    X[:, 2] = X[:, 0] - X[:, 1] + rng.uniform(-1, 1, n)  # 0 -> 2 and 0 -> 1 -> 2 cancel
    X[:, 4] = X[:, 3] ** 2 - np.mean(X[:, 3] ** 2) + 0.3 * rng.uniform(-1, 1, n)  # no line at all
    assert abs(np.corrcoef(X[:, 0], X[:, 2])[0, 1]) < 0.1
    found = candidates(measure(X).sums, count=4)
    assert found[0, 2]
    assert found[3, 4]
    assert found.sum(axis=1).mean() < 10


def test_nothing_is_screened_where_all_others_are_candidates():
    X, _ = sparse_table(d=CANDIDATES + 1, n=200)
    found = candidates(measure(X).sums)
    assert np.array_equal(found, ~np.eye(CANDIDATES + 1, dtype=bool))


def test_each_has_at_least_so_many_and_pairs_have_no_direction():
    X, _ = sparse_table(d=50, n=300)
    found = candidates(measure(X).sums, count=7)
    assert np.array_equal(found, found.T)
    assert not found.diagonal().any()
    assert found.sum(axis=1).min() >= 7


def test_candidates_move_with_the_columns():
    X, _ = sparse_table(d=30)
    mixed = np.random.default_rng(2).permutation(30)
    found = candidates(measure(X).sums, count=6)
    assert np.array_equal(candidates(measure(X[:, mixed]).sums, count=6), found[np.ix_(mixed, mixed)])


def test_more_variables_than_rows_and_columns_of_a_few_values_are_screened():
    X, truth = sparse_table(d=60, n=40)
    X[:, :20] = np.round(X[:, :20])
    kinds = ["categorical"] * 5 + ["continuous"] * 55
    X[:, :5] -= X[:, :5].min(axis=0)
    found = candidates(measure(X, kinds).sums, count=10)
    chance = found[~np.eye(60, dtype=bool)].mean()
    assert found[truth].mean() > chance + 0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_edges_of_sparse_tables_are_among_few_candidates(seed):
    X, truth = sparse_table(d=80, n=700, seed=seed)
    found = candidates(measure(X).sums, count=15)
    assert found[truth].mean() > 0.95
    assert found.mean() < 0.3


# --- the score where some edges are not looked at ---------------------------------------------------------------------


def asked(design, count, odds=None, required=(), forbidden=()):
    """The screened score with so many candidates, and what it leaves out."""
    d = design.width
    prior = Prior(np.zeros((d, d)) if odds is None else odds, ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool))
    for i, j in required:
        prior.required[i, j] = True
    for i, j in forbidden:
        prior.allowed[i, j] = False
    none = np.zeros((d, d), dtype=bool)
    score = score_of(design, Offer(joint=False), shared="mixed", prior=prior, must_precede=none, count=count)
    return score, prior


def test_a_screened_score_is_that_of_a_table_where_what_is_left_out_is_forbidden():
    X, _ = sparse_table(d=12, n=300)
    design = measure(X)
    score, prior = asked(design, count=3)
    assert isinstance(score, Screened)
    without = Score(design, Offer(joint=False), prior=prior._replace(allowed=prior.allowed & ~score.left_out))
    rng = np.random.default_rng(0)
    for order in (rng.permutation(12).tolist() for _ in range(3)):
        assert total(score, order) == pytest.approx(total(without, order), rel=1e-12)
        before = sum(1 << i for i in order[:8])
        assert not score.local(order[8], before).parents[score.left_out[:, order[8]]].any()


def test_all_pairs_count_when_the_rate_of_edges_is_learned():
    X, _ = sparse_table(d=12, n=300)
    design = measure(X)
    score, prior = asked(design, count=3)
    assert score.left_out.sum() > 40
    forbidding = Score(design, Offer(joint=False), prior=prior._replace(allowed=prior.allowed & ~score.left_out))
    order, found = list(range(12)), []
    for rate in EDGE_RATES:
        forbidding.set_rate(rate)
        found.append(total(forbidding, order) + 12 * 11 / 2 * np.log1p(-rate))
    assert score.learn_rate(order) == pytest.approx(max(found))
    assert score.rate == EDGE_RATES[int(np.argmax(found))]
    forbidding.learn_rate(order)
    assert score.rate < forbidding.rate  # the same edges among fewer pairs seem more common


def test_what_is_known_is_looked_at():
    X, _ = sparse_table(d=12, n=300)
    design = measure(X)
    left_out = np.argwhere(asked(design, count=3)[0].left_out)
    (a, b), (c, e) = left_out[0], left_out[len(left_out) // 2]
    odds = np.zeros((12, 12))
    odds[c, e] = 4.0
    score, _ = asked(design, count=3, odds=odds, required=[(a, b)], forbidden=[tuple(left_out[-1])])
    assert not score.left_out[[a, b, c, e], [b, a, e, c]].any()
    assert not score.left_out[tuple(left_out[-1])]  # forbidden, and so it does not count among what could be
    every = (1 << 12) - 1
    assert score.local(int(b), every & ~(1 << int(b))).parents[a] == 1.0
    assert score.local(int(e), every & ~(1 << int(e))).parents[c] > 0.0


def test_a_table_of_few_variables_has_the_plain_score():
    X, _ = sparse_table(d=12, n=300)
    assert type(asked(measure(X), count=11)[0]) is Score


def test_what_would_gain_in_an_order_that_was_found_is_looked_at_after_all():
    X, truth = sparse_table(d=16, n=500, seed=3)
    design, order = measure(X), list(range(16))
    score, _ = asked(design, count=2)
    missed = truth & score.left_out
    before = score.left_out.copy()
    assert missed.sum() > 3
    assert score.offer_dear([order])
    found = before & ~score.left_out
    assert found[missed].mean() > 0.8
    assert np.array_equal(found, found.T)
    assert score.left_out.sum() > 20  # what would not gain is left alone
    last = np.flatnonzero(missed.any(axis=0))[-1]
    earlier = sum(1 << int(i) for i in range(last))
    parents = score.local(int(last), earlier).parents
    assert (parents[missed[:, last] & found[:, last]] > 0.9).all()


@pytest.mark.slow
def test_sixty_variables_are_learned_with_what_is_known():
    X, truth = sparse_table(d=60, n=600, seed=4)
    names = [f"x{j}" for j in range(60)]
    far = np.argwhere(np.triu(~candidates(measure(X).sums), 1))[0]
    required = (names[far[0]], names[far[1]])
    found = ConditionalTuning(random_state=0, knowledge=Knowledge(required=[required])).fit(
        pd.DataFrame(X, columns=names)
    )
    graph = found.adjacency_matrix_.to_numpy().astype(bool)
    assert graph[tuple(far)]
    graph[tuple(far)] = False
    assert f1(truth, graph) > 0.95
    assert ((found.result_.probability >= 0) & (found.result_.probability <= 1)).all()
