"""Resampled rows: likelihoods of rows against their sums and plain formulas, changes against tables drawn again."""

import numpy as np
import pytest
from scipy import stats

from dagtune.conditional.cells import CELLS, UNEVEN, evidence, evidence_and_changes
from dagtune.conditional.design import measure
from dagtune.conditional.discrete import NUMBER
from dagtune.conditional.explain import leftover
from dagtune.conditional.mechanisms import fitted
from dagtune.conditional.posterior import explore, resample
from dagtune.conditional.resamples import draw_weights, row_likelihoods
from dagtune.conditional.score import Score

KINDS = ["continuous", "continuous", "binary", "count", "categorical", "ordinal"]


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n))
    y = np.tanh(2 * x) + 0.5 * rng.laplace(size=n)
    binary = (x + rng.logistic(size=n) > 0).astype(float)
    count = rng.poisson(np.exp(0.5 * y)).astype(float)
    levels = np.digitize(x + rng.logistic(size=n), [-1, 1]).astype(float)
    category = np.where(rng.random(n) < 0.3, 2.0, (y + rng.logistic(size=n) > 0).astype(float))
    return np.column_stack([x, y, binary, count, category, levels])


def of_rows(score, child, S):
    """Row likelihoods of the likeliest cell, its name, and the evidence of all.

    A resample that has one row once more, and no other change, changes the evidence of a number by that row's.
    """
    problem, S = score.problem, np.array(S, dtype=np.int64)
    starts = problem.targets.starts
    cells = np.empty((starts[child + 1] - starts[child], CELLS))
    rows = np.empty(problem.rows.Y.shape[1])
    single = problem._replace(rows=problem.rows._replace(weights=np.eye(len(rows))))
    found = evidence_and_changes(single, child, S, cells, rows)
    if problem.discrete.family[child] != NUMBER:
        row_likelihoods(problem, child, S, found.cell, rows)
    return rows, found, problem


@pytest.mark.parametrize("S", [[], [0], [0, 1]])
def test_the_evidence_is_the_same_with_changes_and_without(S):
    score = Score(measure(table()[:, [0, 1, 1]] + np.random.default_rng(1).normal(size=(300, 3))))
    S = [j for j in S if j != 2]
    _, found, problem = of_rows(score, 2, S)
    cells = np.empty((2, CELLS))
    assert evidence(problem, 2, np.array(S, dtype=np.int64), cells) == found


def test_rows_of_uneven_noise_are_those_of_its_density():
    """The likelihoods follow from the residuals that explain.leftover fits on its own."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=600)
    score = Score(measure(np.column_stack([x, np.sin(x) + np.exp(0.7 * x) * rng.normal(size=600)])))
    rows, found, problem = of_rows(score, 1, [0])
    assert found.cell // 3 == UNEVEN // 3
    assert found.top == problem.targets.starts[1]
    even = leftover(score, 1, [0])
    u = np.empty(600)
    fitted(problem.sums, found.top, np.array([0]), found.setting, problem.rows.F, u)
    e = problem.rows.Y[found.top] - u
    away = np.abs(e) > 1e-3
    scale = e[away] / even[away]  # of each row
    density = stats.norm.logpdf(e[away], 0, scale * even.std()) + 0.5 * np.log(2 * np.pi)
    assert np.corrcoef(density, rows[away])[0, 1] > 0.9
    assert density.mean() == pytest.approx(rows[away].mean(), abs=0.1)


@pytest.mark.parametrize("child", [2, 3, 4, 5])
@pytest.mark.parametrize("S", [[], [0], [0, 1], [2, 5]])
def test_rows_of_a_discrete_effect_sum_to_a_likelihood_above_its_evidence(child, S):
    """The likelihood at the top is above the evidence, which pays for the parameters, and not far above."""
    S = [j for j in S if j != child]
    score = Score(measure(table(), KINDS))
    rows, found, problem = of_rows(score, child, S)
    within = problem.discrete.within[child] if found.cell % 3 == 1 or found.cell == 3 else 0.0
    assert np.all(rows <= 1e-9)
    assert 0 <= rows.sum() + within - found.value < 40


def test_rows_of_gaussian_noise_are_the_plain_formula():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X[:, 1] += 0.8 * X[:, 0]
    score = Score(measure(X, scales=("own",)))
    rows, found, _ = of_rows(score, 1, [0])
    assert found.cell == 0
    y = (X[:, 1] - X[:, 1].mean()) / X[:, 1].std()
    x = X[:, 0] - X[:, 0].mean()
    e = y - x * (x @ y) / (x @ x)
    plain = -0.5 * np.log(e.var()) - 0.5 * e**2 / e.var()
    assert rows == pytest.approx(plain, abs=0.05)


def test_a_change_is_near_that_of_the_resampled_table_itself():
    """The other road: the table is drawn again and everything is fitted again."""
    rng = np.random.default_rng(3)
    n = 400
    x = rng.normal(size=n)
    X = np.column_stack([x, np.sin(1.5 * x) + 0.4 * rng.laplace(size=n), rng.normal(size=n)])
    score = Score(measure(X))
    score.draw_resamples(6, np.random.default_rng(0))
    weights = score.problem.rows.weights
    said, seen = [], []
    for w in weights:
        again = Score(measure(np.repeat(X, (w + 1).astype(int), axis=0)))
        for i, S in ((0, [1]), (1, [0])):
            rows, *_ = of_rows(score, i, S)
            alone, *_ = of_rows(score, i, [])
            said.append((w @ rows) - (w @ alone))
            own = score.record(i, S)[0] - score.record(i, [])[0]
            seen.append(again.record(i, S)[0] - again.record(i, [])[0] - own)
    said, seen = np.array(said), np.array(seen)
    assert np.std(seen) > 8  # nats: there is something to be told
    assert np.corrcoef(said, seen)[0, 1] > 0.7
    assert np.std(seen - said) < 0.75 * np.std(seen)


def test_weights_belong_to_values_not_to_positions():
    X = np.random.default_rng(0).normal(size=(3, 50))
    order = np.random.default_rng(1).permutation(50)
    one = draw_weights(X, 4, np.random.default_rng(7))
    other = draw_weights(X[[2, 0, 1]][:, order], 4, np.random.default_rng(7))
    assert np.array_equal(one[:, order], other)
    assert np.array_equal(one.sum(axis=1), np.zeros(4))
    assert one.min() == -1


def test_a_resample_counts_where_it_is_asked_and_no_longer():
    score = Score(measure(table()[:, :2]))
    before = score.local(1, 1).value
    score.draw_resamples(3, np.random.default_rng(0))
    values = []
    for b in range(3):
        score.resample(b)
        values.append(score.local(1, 1).value)
    score.resample(-1)
    assert score.local(1, 1).value == before
    assert len({before, *values}) == 4


def test_resamples_make_what_rests_on_few_rows_unsure():
    """Twelve rows of a thousand carry all dependence: other rows of the same origin may have none or twice as many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    X[:12] = np.column_stack([np.linspace(2.5, 3.5, 12), np.linspace(-3.5, -2.5, 12) ** 2 / 3])
    score = Score(measure(X))
    plain = explore(score, np.random.default_rng(0))
    score.draw_resamples(8, np.random.default_rng(0))
    bagged = resample(score, plain, np.random.default_rng(0))
    assert plain.probability.sum() == pytest.approx(1, abs=0.05)
    assert plain.probability.max() > 0.98  # the posterior itself is sure of the direction
    assert bagged.probability.max() < 0.95
    assert bagged.margin is plain.margin
    assert np.all(bagged.probability + bagged.probability.T <= 1 + 1e-9)
