"""The shares of cells among the variables of a table, against the formula and against tables whose cells are known."""

import numpy as np
import pytest
from scipy import special

from dagtune.conditional.cells import JOINT
from dagtune.conditional.design import measure
from dagtune.conditional.problem import EVEN, Offer, Shares
from dagtune.conditional.score import Score, posed
from dagtune.conditional.shares import UNEVENLY, learned, lost, raw

SHARES = Shares(np.array([0.31, 0.23, 0.19, 0.16, 0.11]), np.array([0.5, 0.2, 0.3]), np.array([0.7, 0.3]))


def made(seed=0, count=7):
    rng = np.random.default_rng(seed)
    return [5 * rng.normal(size=(rng.integers(1, 3), 5, 3)) for _ in range(count)]


def weights(one, shares):
    """Posterior weights of all cells of a variable, one by one."""
    value = np.empty(one.shape)
    for t, g, k in np.ndindex(*one.shape):
        scale = shares.scale[t] if len(one) > 1 else 1.0
        value[t, g, k] = np.exp(one[t, g, k]) * scale * shares.mechanism[g] * shares.distribution[k]
    return value / value.sum()


@pytest.mark.parametrize("seed", range(5))
def test_learned_shares_are_where_the_rule_of_counts_leaves_them(seed):
    evidence = made(seed)
    shares = learned(evidence)
    found = [weights(one, shares) for one in evidence]
    mechanism = 1 + sum(w.sum(axis=(0, 2)) for w in found)
    distribution = 1 + sum(w.sum(axis=(0, 1)) for w in found)
    scale = 1 + sum(w.sum(axis=(1, 2)) for w in found if len(w) > 1)
    for own, counts in zip(shares, (mechanism, distribution, scale)):
        np.testing.assert_allclose(own, counts / counts.sum(), atol=1e-3)


def test_without_evidence_all_are_alike():
    for own, even in zip(learned([]), EVEN):
        np.testing.assert_allclose(own, even)


def test_what_most_variables_need_is_believed_of_the_others():
    evidence = [np.where(np.arange(5)[:, None] == 3, 10.0, 0.0) + np.zeros((1, 5, 3)) for _ in range(9)]
    shares = learned(evidence)
    assert shares.mechanism[3] == pytest.approx(10 / 14, abs=0.01)
    np.testing.assert_allclose(shares.distribution, 1 / 3)


@pytest.mark.parametrize("without", [UNEVENLY, (3, 4), (1,)])
def test_what_is_lost_is_the_ratio_of_likelihoods_with_and_without(without):
    evidence = made(3)
    for one in evidence:
        likelihood = np.exp(one) * SHARES.mechanism[:, None] * SHARES.distribution
        if len(one) > 1:
            likelihood = likelihood * SHARES.scale[:, None, None]
        kept = np.delete(likelihood, without, axis=1) / (1 - SHARES.mechanism[list(without)].sum())
        assert lost(one, SHARES, without) == pytest.approx(np.log(likelihood.sum() / kept.sum()))
    fewer = learned(evidence, without=without)
    assert np.all(fewer.mechanism[list(without)] == 0)
    assert fewer.mechanism.sum() == pytest.approx(1)


@pytest.mark.parametrize("causes", [0, 1, 2])
def test_raw_evidence_is_that_of_the_cells_whatever_their_prior_was(causes):
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 2] += X[:, 0] * X[:, 1]
    S = list(range(causes))
    found = []
    for shares in (EVEN, SHARES):
        score = Score(measure(X))
        score.problem = score.problem._replace(shares=shares)
        score.problem.targets.joint[:] = True
        score.problems = [score.problem] * 3
        cells = score.cells(2, S)
        found.append(raw(score.problem, 2, causes, cells))
        prior = np.log(shares.mechanism)[:, None] + np.log(shares.distribution) + np.log(shares.scale)[:, None, None]
        assert special.logsumexp(found[-1] + prior) == pytest.approx(special.logsumexp(cells))
    np.testing.assert_allclose(*found)
    if causes < 2:
        np.testing.assert_allclose(found[0][:, 3], found[0][:, 0])  # a joint function of one cause is a sum


def fitted_shares(noise, spread=None, n=800, d=6):
    rng = np.random.default_rng(5)
    X = noise(rng, (n, d))
    for i in range(1, d):
        X[:, i] = X[:, i] * (1 if spread is None else np.exp(spread * X[:, i - 1] / X[:, i - 1].std())) + X[:, i - 1]
    score = Score(measure(X))
    score.put_off()
    assert score.offer_dear([tuple(range(d))])
    return score


def test_gaussian_tables_do_without_a_varying_spread_and_others_keep_it():
    even = fitted_shares(lambda rng, shape: rng.normal(size=shape))
    assert not even.problem.targets.spread.any()
    assert even.problem.shares.mechanism[list(UNEVENLY)].sum() == 0
    assert (even.cells(3, [2])[:, [6, 7, 8]] < -1e250).all()
    uneven = fitted_shares(lambda rng, shape: rng.normal(size=shape), spread=0.8)
    assert uneven.problem.targets.spread.all()
    assert uneven.problem.shares.mechanism[list(UNEVENLY)].sum() > 0.4


def test_heavy_tails_of_all_variables_are_learned():
    score = fitted_shares(lambda rng, shape: rng.standard_t(2.5, size=shape))
    assert score.problem.shares.distribution[0] < 0.2
    assert all(problem.shares is score.problem.shares for problem in score.problems)


def test_a_problem_without_shares_of_its_own_has_even_ones():
    design = measure(np.random.default_rng(0).normal(size=(50, 2)))
    problem = posed(design, Offer())
    assert problem.shares is EVEN
    assert JOINT == 9
