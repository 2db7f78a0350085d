"""SCORE and NoGAM: the score against its definition, predictions against scikit-learn, orders on their ground."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, cross_val_predict

from dagtune import InputError
from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError
from dagtune.baselines.score_matching import _predict, _stein
from dagtune.graph import is_dag
from dagtune.metrics import order_divergence
from dagtune.simulate import random_dag, sample


def stein_by_definition(x, ridge):
    """Score and diagonal of its Jacobian, row by row and column by column."""
    n, d = x.shape
    distance = np.array([[np.linalg.norm(a - b) for b in x] for a in x])
    b = np.median(distance[np.triu_indices(n, 1)])
    K = np.exp(-(distance**2) / (2 * b**2))
    first, second = np.zeros((n, d)), np.zeros((n, d))
    for t in range(n):
        for other in range(n):
            gap = x[t] - x[other]
            first[t] -= gap / b**2 * K[t, other]  # gradient of the kernel in its first argument
            second[t] += (gap**2 / b**4 - 1 / b**2) * K[t, other]
    inverse = np.linalg.inv(K + ridge * np.eye(n))
    score = inverse @ first
    return score, inverse @ second - score**2


def test_the_score_is_steins_estimator():
    x = np.random.default_rng(0).normal(size=(25, 3)) * [1.0, 2.0, 0.5]
    for ours, theirs in zip(_stein(x, 0.01), stein_by_definition(x, 0.01)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def test_the_score_of_a_gaussian_falls_along_it():
    x = np.random.default_rng(1).normal(size=(600, 1))
    assert np.corrcoef(_stein(x, 0.1)[0][:, 0], -x[:, 0])[0, 1] > 0.9


def test_predictions_are_those_of_scikit_learns_kernel_ridge():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 2))
    y = np.sin(x[:, 0]) + rng.normal(size=60)
    theirs = cross_val_predict(KernelRidge(kernel="rbf", gamma=0.1, alpha=0.01), x, y, cv=KFold(5))
    np.testing.assert_allclose(_predict(x, y, 0.1, 0.01, 5), theirs, rtol=1e-8)


def test_orders_are_right_on_additive_processes_of_equal_noise():
    """The ground of both papers: twelve tables, seven nodes, seven edges, raw."""
    wrong = {"score": 0, "nogam": 0}
    for seed in range(12):
        truth = random_dag(7, 7, rng=seed)
        X = sample(truth, "gp", n=300, rng=seed)
        for name in ("score",) if seed > 3 else ("score", "nogam"):
            found = LEARNERS[name](X)
            assert is_dag(found.graph)
            wrong[name] += order_divergence(truth, found.order)
    assert wrong["score"] <= 6  # of 84 edges; a random order turns half of them
    assert wrong["nogam"] <= 8  # of 28


@pytest.mark.parametrize("name", ["score", "nogam"])
def test_time_limit_and_wrong_arguments(name):
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(TimeLimitError, match=f"{name} did not finish"):
        BASELINES[name](X, time_limit=1e-9)
    with pytest.raises(InputError, match="alpha must be above 0"):
        LEARNERS[name](X, alpha=0)
