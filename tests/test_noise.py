"""Link, spread and distribution against least squares, numerical integration, and scipy's densities."""

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from dagtune.conditional.noise import _BINS, _EDGES, _KNOTS, _PRIOR, _REACH, _T, link, shaped, spread, spreading, tilt
from dagtune.conditional.numbers import NEGLIGIBLE, SHAPES, SPREADS, TILTS

DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "normal without chance": lambda rng, n: stats.norm.ppf((np.arange(n) + 0.5) / n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    "exponential": lambda rng, n: -rng.exponential(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "two humps": lambda rng, n: rng.choice([-2.0, 2.0], n) + rng.normal(size=n),
    "gumbel": lambda rng, n: rng.gumbel(size=n),
}


def log_mean(values):
    return special.logsumexp(values) - np.log(len(values))


# --- link -----------------------------------------------------------------------------------------------------------


def link_by_least_squares(u, e):
    """Nats by BIC of a cubic spline in the binned u beyond a line in it, by least squares; and what it leaves."""
    v = (u - u.mean()) / u.std()
    b = np.clip(np.floor((v + _REACH) / (2 * _REACH) * _BINS), 0, _BINS - 1)
    v = (b + 0.5) / _BINS * 2 * _REACH - _REACH
    line = np.stack([np.ones_like(v), v], axis=1)
    bent = np.stack([v**2, v**3, *(np.maximum(v - knot, 0) ** 3 for knot in _KNOTS)], axis=1)
    e = e - line @ np.linalg.lstsq(line, e, rcond=None)[0]
    left = e - np.hstack([line, bent]) @ np.linalg.lstsq(np.hstack([line, bent]), e, rcond=None)[0]
    n, fall = len(e), -np.log(np.sum(left**2) / np.sum(e**2))
    return 0.5 * n * fall - 0.5 * bent.shape[1] * np.log(n), fall, e, left


@pytest.mark.parametrize("bend", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_bent_link_gains_what_least_squares_gains_less_bics_charge(seed, bend):
    rng = np.random.default_rng(seed)
    u = 3 + 2 * rng.normal(size=400)
    e = bend * np.tanh(u - 3) ** 2 + rng.normal(size=400)
    nats, fall, e, left = link_by_least_squares(u, e)  # e has no line in u now, as what a fit leaves
    out = np.full(400, np.nan)
    found = link(u, e, out)
    assert found[0] == pytest.approx(nats, abs=0.1 + 0.01 * abs(nats))
    assert found[1] == pytest.approx(fall, abs=0.002 + 0.01 * fall)
    assert np.sqrt(np.mean((out - left) ** 2)) < 0.06 * e.std()
    assert np.log(np.mean(e**2) / np.mean(out**2)) == pytest.approx(fall, abs=0.005 + 0.02 * fall)


def test_a_line_in_the_fit_is_no_bend():
    rng = np.random.default_rng(0)
    u = rng.normal(size=500)
    noise = rng.normal(size=500)
    plain, lined = np.empty(500), np.empty(500)
    without, _ = link(u, noise, plain)
    with_line, _ = link(u, noise + 0.2 * u, lined)
    assert with_line == pytest.approx(without, abs=1.0)
    assert with_line < 0
    assert np.std(lined - plain - 0.2 * u) < 0.03  # it stays in what is left, but for the ends


def test_a_link_of_nothing_is_charged_and_changes_nothing():
    e, out = np.random.default_rng(0).normal(size=200), np.empty(200)
    nats, fall = link(np.zeros(200), e, out)
    free = link_by_least_squares(np.arange(200.0), e)
    assert fall == 0
    assert nats == pytest.approx(free[0] - 0.5 * 200 * free[1])
    np.testing.assert_array_equal(out, e)


# --- spread ---------------------------------------------------------------------------------------------------------


def log_profile(F, e, b):
    """Log likelihood of log variances mu + b F beyond one variance, mu at its maximum."""
    h = b @ F
    return -0.5 * h.sum() - 0.5 * len(e) * np.log(np.mean(e**2 * np.exp(-h)) / np.mean(e**2))


def spread_laplace(F, e, G, rough):
    """Laplace's approximation with the expected information G / 2, at the mode that scipy finds; mean over SPREADS."""
    found = []
    for s in SPREADS:
        lam = np.maximum(rough, 1.0) / s
        least = optimize.minimize(lambda b, lam=lam: -log_profile(F, e, b) + 0.5 * np.sum(lam * b**2), np.zeros(len(F)))
        log_det = np.linalg.slogdet(G / 2 + np.diag(lam))[1]
        found.append(-least.fun + 0.5 * np.log(lam).sum() - 0.5 * log_det)
    return log_mean(found)


def uneven_rows(seed, m, n=300, strength=0.8):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(m, n))
    F -= F.mean(axis=1, keepdims=True)
    return F, np.exp(0.5 * strength * F[0]) * rng.normal(size=n)


@pytest.mark.parametrize("strength", [0.3, 0.8, 1.5])
@pytest.mark.parametrize("rough", [0.0, 4.0])
def test_the_spread_with_one_function_is_the_integral_over_its_coefficient(strength, rough):
    """Laplace's approximation is not the integral, but within a fifth of a nat of it here."""
    F, e = uneven_rows(1, 1, strength=strength)
    values = []
    for s in SPREADS:
        prior = stats.norm(scale=np.sqrt(s / max(rough, 1.0)))
        at = np.linspace(-1, 3, 2001)
        logs = np.array([log_profile(F, e, np.array([b])) for b in at]) + prior.logpdf(at)
        values.append(logs.max() + np.log(integrate.simpson(np.exp(logs - logs.max()), x=at)))
    found = spread(F, spreading(np.array([0]), F @ F.T, np.array([rough])), e, np.empty(len(e)))
    assert found == pytest.approx(log_mean(values), abs=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_the_spread_with_many_functions_is_laplaces_approximation_at_the_mode(seed):
    F, e = uneven_rows(seed, 6)
    rough = np.array([0.0, 1.0, 3.0, 9.0, 0.0, 1.0])
    idx = np.array([0, 1, 3, 4])
    out = np.full(len(e), np.nan)
    found = spread(F, spreading(idx, F @ F.T, rough), e, out)
    assert found == pytest.approx(spread_laplace(F[idx], e, (F @ F.T)[np.ix_(idx, idx)], rough[idx]), abs=0.1)
    ratio = np.log(e / out)  # half the log variance that was taken out
    slope = np.linalg.lstsq(F[idx].T, 2 * (ratio - ratio.mean()), rcond=None)[0]
    assert 0.4 < slope[0] < 1.1  # towards the truth 0.8, shrunk
    assert abs(stats.spearmanr(np.abs(out), F[0])[0]) < abs(stats.spearmanr(np.abs(e), F[0])[0])


def test_functions_that_are_not_centred_over_the_rows_are_no_trouble():
    """Sums see all rows of a table, the spread a sample of them."""
    F, e = uneven_rows(2, 3)
    F += np.array([[0.5], [-0.2], [0.1]])
    found = spread(F, spreading(np.arange(3), F @ F.T, np.ones(3)), e, np.empty(len(e)))
    assert found == pytest.approx(spread_laplace(F, e, F @ F.T, np.ones(3)), abs=0.1)


@pytest.mark.parametrize("m", [1, 4])
def test_noise_of_one_variance_is_charged_for_a_varying_one(m):
    """On the mean over tables; the nats are what Laplace's approximation says, or so few that they don't matter."""
    found = []
    for seed in range(8):
        F, e = uneven_rows(seed, m, strength=0.0)
        value = spread(F, spreading(np.arange(m), F @ F.T, np.ones(m)), e, np.empty(len(e)))
        exact = spread_laplace(F, e, F @ F.T, np.ones(m))
        assert value == pytest.approx(exact, abs=0.1) or max(value, exact) < -NEGLIGIBLE
        found.append(value)
    assert np.mean(found) < -0.5 * m


def test_one_wild_row_does_not_make_the_spread_explode():
    F, e = uneven_rows(0, 1)
    F[0, 0], e[0] = 100.0, 1e-8
    out = np.empty(len(e))
    assert np.isfinite(spread(F, spreading(np.array([0]), F @ F.T, np.array([1.0])), e, out))
    assert np.isfinite(out).all()


# --- distribution, any ----------------------------------------------------------------------------------------------


def test_functions_of_the_tilt_have_mean_zero_under_the_gaussian():
    share = np.diff(np.r_[0, stats.norm.cdf(_EDGES), 1])
    np.testing.assert_allclose(share @ _T, 0, atol=1e-12)
    assert len(_T) == len(_EDGES) + 1
    assert _T.shape[1] == len(_PRIOR)
    assert np.linalg.matrix_rank(_T) == len(_PRIOR)


def tilt_posteriors(e):
    """For each prior: log of likelihood ratio times prior of theta, its mode, and the negative Hessian there."""
    middles = np.r_[_EDGES[0] - 0.5, (_EDGES[1:] + _EDGES[:-1]) / 2, _EDGES[-1] + 1.0]
    hats = np.eye(len(middles))  # linear between the middles: what a row adds to each of them
    count = np.sum([np.interp((e - e.mean()) / e.std(), middles, hat) for hat in hats], axis=1)
    log_share = np.log(np.diff(np.r_[0, stats.norm.cdf(_EDGES), 1]))
    for s in TILTS:
        lam = 1 / (s * _PRIOR) ** 2

        def value(theta, lam=lam):  # (..., p)
            tilted = theta @ _T.T + log_share
            log_p = tilted - special.logsumexp(tilted, axis=-1, keepdims=True)
            prior = 0.5 * np.log(lam / (2 * np.pi)).sum() - 0.5 * np.sum(lam * theta**2, axis=-1)
            return (log_p - log_share) @ count + prior

        theta = np.zeros(len(_PRIOR))
        for _ in range(200):
            p = special.softmax(_T @ theta + log_share)
            H = len(e) * (_T.T * p) @ _T - len(e) * np.outer(p @ _T, p @ _T) + np.diag(lam)
            step = np.linalg.solve(H, (count - len(e) * p) @ _T - lam * theta)
            while value(theta + step) < value(theta) - 1e-10:
                step = step / 2
            theta = theta + step
        yield value, theta, H


@pytest.mark.parametrize("n", [80, 1000, 5000])
@pytest.mark.parametrize("name", DRAWS)
def test_the_tilt_is_laplaces_approximation_at_the_mode(name, n):
    e = DRAWS[name](np.random.default_rng(n), n)
    exact = []
    for value, theta, H in tilt_posteriors(e):
        exact.append(value(theta) + 0.5 * len(theta) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1])
    assert tilt(e) == pytest.approx(log_mean(exact), abs=0.15)  # near the Gaussian one step is taken for all


@pytest.mark.parametrize("bend", [0.02, 0.03, 0.035])
def test_a_tilt_so_small_that_one_step_is_taken_gains_what_laplaces_approximation_says(bend):
    """Bent Gaussian quantiles: with 0.03 they gain 0.8 nats over straight ones."""
    z = stats.norm.ppf((np.arange(400) + 0.5) / 400)
    e = z + bend * (z**2 - 1)
    exact = [
        value(theta) + 0.5 * len(theta) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(H)[1]
        for value, theta, H in tilt_posteriors(e)
    ]
    assert tilt(e) == pytest.approx(log_mean(exact), abs=0.1)


@pytest.mark.parametrize("name", ["normal", "uniform", "laplace", "two humps"])
def test_the_tilt_is_the_integral_over_its_coefficients(name):
    """By importance sampling from a t distribution around the mode."""
    rng = np.random.default_rng(1)
    e = DRAWS[name](rng, 500)
    integrals = []
    for value, theta, H in tilt_posteriors(e):
        around = stats.multivariate_t(theta, np.linalg.inv(H), df=8, seed=rng)
        draws = around.rvs(20_000)
        integrals.append(log_mean(value(draws) - around.logpdf(draws)))
    assert tilt(e) == pytest.approx(log_mean(integrals), abs=0.3)


def test_the_tilt_does_not_know_units_nor_the_order_of_rows():
    e = np.random.default_rng(0).exponential(size=300)
    assert tilt(1e6 * e + 5e6) == pytest.approx(tilt(e), abs=1e-6)
    assert tilt(e[::-1].copy()) == pytest.approx(tilt(e), abs=1e-9)
    assert tilt(np.full(50, 3.0)) == 0


def test_gaussian_rows_are_charged_for_a_tilt_and_others_gain():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        assert tilt(DRAWS["normal"](rng, 500)) < 0
        for name in ("uniform", "laplace", "exponential", "two humps"):
            assert tilt(DRAWS[name](rng, 500)) > 5


# --- distribution, shaped -------------------------------------------------------------------------------------------


def shaped_by_scipy(e):
    """The likelihood of each shape at its best scale beyond the Gaussian's, and of exponentials with a blurred edge."""
    n, z = len(e), e - e.mean()
    gaussian = stats.norm.logpdf(z, scale=z.std()).sum()
    found = []
    for b in SHAPES:

        def loss(log_scale, b=b):
            return -stats.gennorm.logpdf(z, b, scale=np.exp(log_scale)).sum()

        least = optimize.minimize_scalar(loss, bounds=np.log(z.std()) + np.array([-4, 4]), method="bounded")
        found.append(-least.fun - gaussian)
    sign = np.sign(stats.skew(z))
    for r in (0.1, 0.3):  # one exponential variable and Gaussian noise r times as wide, brought to the variance of e
        wide = np.sqrt(1 + r**2) / z.std()
        log_density = stats.exponnorm.logpdf(sign * z * wide + 1, 1 / r, scale=r) + np.log(wide)
        found.append(log_density.sum() - gaussian - np.log(2) if abs(stats.skew(z)) >= 0.5 else -np.inf)
    return special.logsumexp(found) - np.log(len(found)), n


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [60, 700])
def test_shaped_noise_gains_what_scipys_densities_do(name, n):
    e = 7 * DRAWS[name](np.random.default_rng(n), n) + 2
    exact, _ = shaped_by_scipy(e)
    assert shaped(e) == pytest.approx(exact, abs=1e-3 + 1e-5 * abs(exact))


def test_no_row_is_too_far_for_a_blurred_edge():
    """scipy's density is 0 there in floating point; ours goes on."""
    rng = np.random.default_rng(0)
    e = np.r_[rng.exponential(size=400), -4.0]
    assert np.isfinite(shaped(e))
    assert shaped(np.full(30, 2.0)) == 0


def test_a_shift_of_equal_values_by_next_to_nothing_is_worth_next_to_nothing():
    """Many equal values lie in one bin: moved over its edge they must not bring nats."""
    rng = np.random.default_rng(0)
    e = np.r_[np.zeros(300), rng.exponential(size=300)]
    shifted = [tilt(e + 0.002 * rng.normal(size=len(e))) for _ in range(20)]
    assert max(abs(value - tilt(e)) for value in shifted) < 2
