"""Other scales: their likelihood by the formula, what they make Gaussian, and that they keep the order of values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dagtune.conditional.transforms import fit_bounded, fit_normal_scores


def logit_normal(n=2000, seed=0, low=-3.0, high=7.0, spread=1.2):
    z = np.random.default_rng(seed).normal(0.4, spread, n)
    return low + (high - low) * special.expit(z), z


def change_at(x, low, high):
    """-2 / n times what the Gaussian log likelihood gains by y = log((x - low) / (high - x)), from densities."""
    y = np.log((x - low) / (high - x))
    slope = 1 / (x - low) + 1 / (high - x)
    with_it = np.sum(stats.norm.logpdf(y, y.mean(), y.std()) + np.log(slope))
    without = np.sum(stats.norm.logpdf(x, x.mean(), x.std()))
    return -2 / len(x) * (with_it - without)


@pytest.mark.parametrize("draw", ["logit-normal", "normal", "exponential", "beta"])
def test_the_change_is_that_of_the_likelihood(draw):
    rng = np.random.default_rng(1)
    x = {
        "logit-normal": logit_normal(500)[0],
        "normal": rng.normal(5, 2, 500),
        "exponential": rng.exponential(size=500),
        "beta": rng.beta(0.5, 0.5, 500) * 1e4,
    }[draw]
    found = fit_bounded(x)
    assert found.low < x.min() < x.max() < found.high
    assert found.change == pytest.approx(change_at(x, found.low, found.high), abs=1e-9)
    span = np.ptp(x)  # nor are bounds nearby much better than those of the grid
    for low in x.min() - span * np.geomspace(1e-3, 3, 6):
        for high in x.max() + span * np.geomspace(1e-3, 3, 6):
            assert found.change < change_at(x, low, high) + 0.05


def test_logit_normal_data_become_gaussian_and_others_gain_next_to_nothing():
    x, z = logit_normal()
    found = fit_bounded(x)
    y = found(x)
    assert found.change < -0.1
    assert abs(np.corrcoef(y, z)[0, 1]) > 0.999
    assert stats.shapiro(y[:500]).pvalue > 0.01
    assert y.mean() == pytest.approx(0, abs=1e-9)
    assert y.std() == pytest.approx(1)
    normal = np.random.default_rng(2).normal(size=2000)
    assert abs(fit_bounded(normal).change) < 0.02


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_units_of_the_column_mean_nothing(shift, scale):
    x, _ = logit_normal(200)
    grid = np.round(x * 64) / 64
    assert fit_bounded(grid * scale + shift * scale).change == pytest.approx(fit_bounded(grid).change, abs=1e-5)


def test_a_bounded_transform_keeps_the_order_and_moves_what_lies_outside_to_its_ends():
    x, _ = logit_normal(300)
    found = fit_bounded(x)
    grid = np.linspace(found.low, found.high, 1001)
    y = found(grid)
    assert np.isfinite(y).all()
    assert (np.diff(y) > 0).all()
    assert found(np.array([found.low - 5]))[0] == y[0]
    assert found(np.array([found.high + 1e9]))[0] == y[-1]


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=60).filter(lambda v: len(set(v)) > 1))
def test_normal_scores_are_quantiles_of_the_middle_ranks(values):
    x = np.array(values, dtype=float)
    found = fit_normal_scores(x)
    y = found(x)
    raw = stats.norm.ppf((stats.rankdata(x) - 0.5) / len(x))
    scale = np.sqrt(np.mean(raw**2))
    if scale > 1e-9:
        np.testing.assert_allclose(y, raw / scale, atol=1e-9)
        assert np.mean(y**2) == pytest.approx(1)
    assert all(y[a] == y[b] for a in range(len(x)) for b in range(len(x)) if x[a] == x[b])
    assert (np.diff(y[np.argsort(x, kind="stable")]) >= 0).all()


def test_normal_scores_interpolate_between_values_and_stop_at_the_last():
    x = np.array([0.0, 1.0, 3.0, 4.0])
    found = fit_normal_scores(x)
    lowest, second = found(x[:2])
    assert found(np.array([0.5]))[0] == pytest.approx((lowest + second) / 2)
    assert found(np.array([-10.0]))[0] == lowest
    assert found(np.array([10.0]))[0] == found(x[3:])[0]


def test_any_increasing_change_of_scale_leaves_normal_scores_alone():
    x = np.random.default_rng(0).normal(size=200)
    np.testing.assert_array_equal(fit_normal_scores(x)(x), fit_normal_scores(np.exp(3 * x))(np.exp(3 * x)))
    assert stats.shapiro(fit_normal_scores(np.exp(x))(np.exp(x))).pvalue > 0.9
