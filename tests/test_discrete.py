"""Effects that are no numbers: likelihoods against scipy and brute force, directions, and what must not break them."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

from dagtune import ConditionalTuning
from dagtune.conditional.cells import CELLS, evidence
from dagtune.conditional.design import measure
from dagtune.conditional.discrete import by_family, by_table, fit_rows, log_likelihoods, of_kinds, quantile_residuals
from dagtune.conditional.likelihoods import COUNTS, LEVELS, first_weights, fit
from dagtune.conditional.numbers import DISPERSIONS, INDEX_LINES
from dagtune.conditional.score import Score

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, N))
U = X[0] - 0.5 * X[1]
VALUES = {
    "binary": (U + RNG.logistic(size=N) > 0).astype(float),
    "ordinal": np.digitize(U + RNG.logistic(size=N), [-1, 0.5, 2]).astype(float),
    "categorical": np.argmax(np.array([0 * U, U, -U]) + RNG.gumbel(size=(3, N)), axis=0).astype(float),
    "count": RNG.poisson(np.exp(0.5 * U) * RNG.gamma(2, 0.5, size=N)).astype(float),
}
LINES = np.zeros(2)


def discrete_of(kind):
    return of_kinds(VALUES[kind][None], [kind])


@pytest.mark.parametrize("kind", VALUES)
def test_probabilities_of_rows_are_the_likelihood_and_better_than_without_causes(kind):
    discrete = discrete_of(kind)
    family = int(discrete.family[0])
    fitted = fit_rows(discrete, 0, family, X, LINES)
    rows = log_likelihoods(discrete, 0, fitted, X)
    assert rows.shape == (N,)
    assert rows.sum() == pytest.approx(by_family(discrete, 0, family, X, LINES)[1], abs=0.05)
    alone = log_likelihoods(discrete, 0, fit_rows(discrete, 0, family, X[:0], LINES[:0]), X[:0])
    assert rows.sum() > alone.sum() + 10
    assert by_family(discrete, 0, family, X, LINES)[0] > by_family(discrete, 0, family, X[:0], LINES[:0])[0] + 5


def test_evidence_of_two_levels_is_the_integral():
    """One cause, one setting: Laplace's approximation against numbers on a grid of threshold and weight."""
    y = VALUES["binary"].astype(np.int64)
    one = X[:1]
    found = fit(LEVELS, y, 2, np.empty(0), one, np.zeros(1), first_weights(LEVELS, y, 2, 1))[0]
    t, w = np.linspace(-2, 2, 401), np.linspace(-1, 4, 501)
    total = []
    for v in INDEX_LINES:
        eta = w[:, None, None] * one[0] - t[:, None]
        log = (y * eta - np.logaddexp(0, eta)).sum(axis=-1)
        log += stats.norm.logpdf(w, scale=np.sqrt(v))[:, None] + stats.norm.logpdf(t, scale=10)
        total.append(special.logsumexp(log) + np.log((t[1] - t[0]) * (w[1] - w[0])))
    assert found == pytest.approx(special.logsumexp(total) - np.log(len(INDEX_LINES)), abs=0.3)


def test_ordered_levels_are_fitted_as_by_a_general_optimiser():
    y = VALUES["ordinal"].astype(np.int64)
    w = first_weights(LEVELS, y, 4, 2)
    likelihood = fit(LEVELS, y, 4, np.empty(0), X, LINES, w)[1]

    def minus(v):
        below = special.expit(np.sort(v[:3])[:, None] - v[3:] @ X)
        P = np.diff(np.concatenate([np.zeros((1, N)), below, np.ones((1, N))]), axis=0)
        return -np.log(np.maximum(P[y, np.arange(N)], 1e-300)).sum()

    best = optimize.minimize(minus, [-1, 0, 1, 0, 0], method="Nelder-Mead", options={"maxiter": 5000, "maxfev": 9000})
    assert likelihood == pytest.approx(-best.fun, abs=0.1)
    np.testing.assert_allclose(w, best.x, atol=0.1)


def test_counts_find_their_dispersion():
    y = np.random.default_rng(1).negative_binomial(2, 2 / (2 + 3), size=4000)
    discrete = of_kinds(y[None].astype(float), ["count"])
    fitted = fit_rows(discrete, 0, 3, X[:0, :1].repeat(4000, axis=1), LINES[:0])
    assert fitted.dispersion == 2.0
    assert fitted.dispersion in DISPERSIONS
    assert np.exp(fitted.weights[0][0]) == pytest.approx(3, rel=0.1)
    assert COUNTS != LEVELS


def test_a_table_is_alike_in_both_directions():
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 200)
    b = (rng.random(200) < 0.2 + 0.3 * a).astype(int)
    discrete = of_kinds(np.array([a, b], dtype=float), ["categorical", "binary"])
    none = np.empty(0, np.int64)
    there = by_table(discrete, 0, none) + by_table(discrete, 1, np.array([0]))
    back = by_table(discrete, 1, none) + by_table(discrete, 0, np.array([1]))
    assert there == pytest.approx(back, abs=1e-9)
    assert there > by_table(discrete, 0, none) + by_table(discrete, 1, none) + 3
    numbers = of_kinds(np.array([a, b], dtype=float), ["continuous", "binary"])
    assert np.isnan(by_table(numbers, 1, np.array([0])))


@pytest.mark.parametrize("kind", VALUES)
def test_quantile_residuals_are_standard_normal_and_independent_of_causes(kind):
    discrete = discrete_of(kind)
    fitted = fit_rows(discrete, 0, int(discrete.family[0]), X, LINES)
    left = quantile_residuals(discrete, 0, fitted, X, np.random.default_rng(0))
    assert stats.kstest(left, "norm").pvalue > 0.01
    assert abs(np.corrcoef(left, X[0])[0, 1]) < 0.15


def test_separation_rare_levels_and_constants_within_a_category_give_finite_evidence():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    rare = np.zeros(200)
    rare[:2] = 1
    group = rng.integers(0, 3, 200).astype(float)
    level = np.where(group == 1, 2.0, rng.integers(0, 4, 200))  # constant within a category
    table = np.column_stack([x, (x > 0.3).astype(float), rare, group, level])
    score = Score(measure(table, ["continuous", "binary", "binary", "categorical", "ordinal"]))
    for child in range(5):
        for S in ([], [j for j in range(5) if j != child]):
            assert np.isfinite(score.record(child, S)).all()
    cells = np.empty((1, CELLS))
    assert evidence(score.problem, 1, np.array([0]), cells).value > score.record(1, [])[0] + 50


@pytest.mark.parametrize("seed", [0, 3])
def test_a_cause_that_nearly_separates_the_levels_does_not_make_noise_a_cause(seed):
    """A skewed cause, levels in its middle: far from quadratic. A log probability is never above 0."""
    rng = np.random.default_rng(seed)
    x = rng.lognormal(size=400)
    y = (rng.random(400) < special.expit(2.5 - (x - 1) ** 2)).astype(float)
    noise = rng.choice(4, size=400, p=[0.4, 0.3, 0.2, 0.1]).astype(float)
    count = rng.poisson(np.exp(np.clip(2.5 - (x - 1) ** 2, -4, 4))).astype(float)
    values = np.column_stack([y, count, x, noise])
    score = Score(measure(values, ("binary", "count", "continuous", "ordinal")))
    for effect in (0, 1):
        alone, with_noise = (score.record(effect, S)[0] for S in ([2], [2, 3]))
        assert with_noise < alone + 1
        assert score.record(effect, [])[0] < alone < 0


def test_every_kind_is_cause_and_effect_in_the_right_direction():
    rng = np.random.default_rng(4)
    n = 1500
    group = rng.integers(0, 3, n)
    x = np.array([0, 2.0, -1.5])[group] + rng.normal(size=n)
    yes = (1.5 * x + rng.logistic(size=n) > 0).astype(int)
    y = 2.0 * yes + rng.normal(size=n)
    level = np.digitize(1.5 * y + rng.logistic(size=n), [0, 1.5, 3])
    visits = rng.poisson(np.exp(0.4 * y))
    frame = pd.DataFrame(
        {"visits": visits, "level": level, "y": y, "yes": yes, "x": x, "group": np.array(["a", "b", "c"])[group]}
    )
    result = ConditionalTuning(random_state=0).fit(frame).result_
    graph = result.to_frame()
    for cause, effect in (("group", "x"), ("x", "yes"), ("yes", "y"), ("y", "level"), ("y", "visits")):
        assert graph.loc[cause, effect] == 1, (cause, effect)
    assert result.settings["kinds"]["group"] == "categorical"
    assert any("negative binomial" in words or "count" in words for words in result.cells)
