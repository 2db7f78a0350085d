"""Columns as effects: jacobians against numerical derivatives, the density of a column against the true one."""

import numpy as np
import pytest
from scipy import special, stats

from dagtune.conditional.columns import OWN, SCORES, Column, fit_normal_scores, margin
from dagtune.conditional.noise import shaped, tilt
from dagtune.conditional.numbers import DISCRETE

LAWS = {
    "normal": stats.norm(),
    "uniform": stats.uniform(),
    "exponential": stats.expon(),
    "laplace": stats.laplace(),
    "t4": stats.t(4),
    "log-normal": stats.lognorm(0.7),
    "logit-normal": None,
    "gamma": stats.gamma(2.0),
    "beta": stats.beta(2.0, 3.0),
    "gumbel": stats.gumbel_r(),
}


def draw(name, n, seed=0):
    """Rows and the sum of their true log densities."""
    rng = np.random.default_rng(seed)
    if name == "logit-normal":
        w = 1.5 * rng.normal(size=n)
        x = special.expit(w)
        return x, stats.norm.logpdf(w, scale=1.5).sum() - np.log(x * (1 - x)).sum()
    x = LAWS[name].rvs(size=n, random_state=rng)
    return x, LAWS[name].logpdf(x).sum()


def gaussian(x):
    return stats.norm.logpdf(x, x.mean(), x.std()).sum()


# --- normal scores --------------------------------------------------------------------------------------------------


def test_normal_scores_are_gaussian_quantiles_of_ranks():
    x = np.random.default_rng(0).exponential(size=101)
    expected = stats.norm.ppf((stats.rankdata(x) - 0.5) / 101)
    found = fit_normal_scores(x)
    np.testing.assert_allclose(found(x), expected / expected.std(), atol=1e-9)
    np.testing.assert_allclose(fit_normal_scores(np.exp(x))(np.exp(x)), found(x), atol=1e-9)  # any monotone scale
    assert found(np.array([-5.0]))[0] == found(x).min()
    between = np.sort(x)[[40, 41]]
    assert found(between)[0] < found(between.mean(keepdims=True))[0] < found(between)[1]


def test_equal_values_share_the_middle_of_their_ranks():
    x = np.array([1.0, 2.0, 2.0, 2.0, 5.0, 7.0])
    expected = stats.norm.ppf((stats.rankdata(x) - 0.5) / 6)
    np.testing.assert_allclose(fit_normal_scores(x)(x), expected / np.sqrt(np.mean(expected**2)), atol=1e-12)


# --- the density of a column ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 2000])
@pytest.mark.parametrize("name", LAWS)
def test_the_density_of_a_column_is_close_below_the_true_one(name, n):
    """Three hundredths of a nat a row and some nats for what must be learned; above only by fitting the rows."""
    lost = []
    for seed in range(3):
        x, truth = draw(name, n, seed)
        z = (x - x.mean()) / x.std()
        lost.append(truth - gaussian(x) - margin(z))
    assert min(lost) > -4
    assert max(lost) < 20 + 0.03 * n


@pytest.mark.parametrize("name", LAWS)
def test_the_density_of_a_column_is_a_mean_over_forms(name):
    """A tilted Gaussian, shaped densities, and scipy's exponential from either end, its end charged by BIC."""
    for sign in (1, -1):
        x = sign * draw(name, 200)[0]
        z = np.ascontiguousarray((x - x.mean()) / x.std())
        sides = [stats.expon.logpdf(side, scale=side.mean()).sum() for side in (z - z.min(), z.max() - z)]
        forms = [tilt(z), shaped(z), *(side - gaussian(z) - 0.5 * np.log(200) for side in sides)]
        assert margin(z) == pytest.approx(special.logsumexp(forms) - np.log(4), abs=1e-6)


def test_the_density_of_a_column_does_not_know_units():
    z = draw("gamma", 200)[0]
    for unit in (0.01, 5.0):
        assert margin(unit * z - 2) == pytest.approx(margin(z), abs=1e-4)


def test_normal_scores_gain_the_density_of_the_column():
    z = draw("gamma", 300)[0]
    z = (z - z.mean()) / z.std()
    effects = {effect.scale: effect for effect in Column.of(z, "continuous", (OWN, SCORES)).effects}
    assert effects[SCORES].jacobian == margin(z)
    assert effects[OWN].jacobian == 0
    np.testing.assert_array_equal(effects[OWN].transform(z), z)
    assert [effect.scale for effect in Column.of(z, "continuous", (OWN,)).effects] == [OWN]


# --- kinds ----------------------------------------------------------------------------------------------------------


def kind(x, kind="continuous"):
    return Column.of(np.asarray(x, dtype=float), kind, (OWN, SCORES))


def test_measurements_of_few_digits_are_no_categories():
    """However many rows repeat them: else a long table would never be asked for its noise's distribution."""
    x = np.random.default_rng(0).normal(size=6000)
    assert kind(np.round(x, 1)).kind == "continuous"
    assert kind(np.round(x)).kind == "discrete"
    assert kind(np.arange(DISCRETE).repeat(50)).kind == "discrete"
    assert kind(np.arange(DISCRETE + 1).repeat(50)).kind == "continuous"


def test_discrete_and_categorical_columns_stand_on_their_own_scale_only():
    levels = np.random.default_rng(0).integers(0, 3, 200)
    for column, name, count in ((kind(levels), "discrete", 1), (kind(levels, "categorical"), "categorical", 2)):
        assert column.kind == name
        assert [effect.scale for effect in column.effects] == [OWN] * count
