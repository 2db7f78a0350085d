"""Additive regressions from one Gram matrix, against least squares on the rows and what is known of splines."""

import numpy as np
import pytest
from scipy import integrate, interpolate, optimize, stats

import oracles
from dagtune import InputError
from dagtune.regression import (
    LEAST,
    P_SPLINE,
    THIN_PLATE,
    Growing,
    Spline,
    fit,
    fitted,
    measure_gram,
    try_each,
)
from dagtune.regression.fits import _Problem


def table(n=120, seed=0):
    """Four columns of different shapes; the last depends on the first two."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.exponential(size=n), rng.uniform(-3, 3, n), rng.normal(size=n)])
    X[:, 3] = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * X[:, 3]
    return X


X = table()
GRAM = measure_gram(X)
UNIFORM = Spline(12, knots="uniform", penalty="difference")


def functions_at_rows(gram, X):
    return np.concatenate([curve.values(x) for curve, x in zip(gram.curves, (X - gram.shift).T)])


# --- functions and Gram matrix --------------------------------------------------------------------------------------


@pytest.mark.parametrize("spline", [THIN_PLATE, P_SPLINE, Spline(30), Spline(6)])
def test_functions_are_uncorrelated_standardised_and_start_with_the_line(spline):
    gram = measure_gram(X, spline)
    for j in range(4):
        F = gram.curves[j].values(X[:, j] - gram.shift[j])
        np.testing.assert_allclose(F.mean(axis=1), 0, atol=1e-10)
        np.testing.assert_allclose(F @ F.T / len(X), np.eye(len(F)), atol=1e-8)
        np.testing.assert_allclose(F[0], (X[:, j] - X[:, j].mean()) / X[:, j].std(), atol=1e-7)
        rough = gram.curves[j].roughness
        assert rough[0] == 0
        assert (np.diff(rough) > 0).all()


def test_roughness_is_the_integral_of_the_squared_second_derivative():
    for j in range(4):
        curve, scale = GRAM.curves[j], GRAM.scale[j]
        grid = np.linspace(curve.knots[0], curve.knots[-1], 40_001)
        second = np.gradient(np.gradient(curve.values(grid), grid / scale, axis=1), grid / scale, axis=1)
        found = integrate.trapezoid(second[:, 5:-5] ** 2, grid[5:-5] / scale, axis=1)
        np.testing.assert_allclose(found, curve.roughness, rtol=2e-3, atol=1e-3)


def test_the_gram_matrix_is_the_product_over_the_rows_however_many_chunks():
    rows = table(9001, seed=3)
    gram = measure_gram(rows)
    F = functions_at_rows(gram, rows)
    Z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    np.testing.assert_allclose(gram.products, F @ F.T / 9001, atol=1e-10)
    np.testing.assert_allclose(gram.cross, F @ Z / 9001, atol=1e-10)


def test_scales_and_offsets_of_columns_change_nothing():
    moved = measure_gram(X * [1e-6, 3.0, 1e8, 1.0] + [0.0, -7.0, 1e9, 1e3])
    np.testing.assert_allclose(moved.products, GRAM.products, atol=1e-6)
    np.testing.assert_allclose(moved.roughness, GRAM.roughness, rtol=1e-6, atol=1e-6)


def test_a_column_has_no_more_functions_than_values_to_tell_apart():
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.integers(0, m, 300) for m in (2, 3, 5)] + [rng.normal(size=300)]).astype(float)
    for spline in (THIN_PLATE, P_SPLINE):
        assert list(np.diff(measure_gram(columns, spline).starts)) == [1, 2, 4, 9]


def test_functions_keep_their_last_value_beyond_the_rows():
    curve = GRAM.curves[0]
    low, high = X[:, 0].min() - GRAM.shift[0], X[:, 0].max() - GRAM.shift[0]
    inside = curve.values(np.array([low, high]))
    np.testing.assert_allclose(curve.values(np.array([low - 5, high + 5])), inside, atol=1e-9)


# --- one regression -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-4, 0.0375, 1.0, 300.0])
@pytest.mark.parametrize("parents", [(0,), (0, 1, 2)])
def test_a_fit_is_penalised_least_squares_on_the_rows(penalty, parents):
    gram = measure_gram(X, UNIFORM)
    found = fit(gram, 3, parents, smoothing=penalty / len(X))
    hat = oracles.additive_hat(X[:, list(parents)], penalty, 12)
    values = hat @ X[:, 3]
    np.testing.assert_allclose(fitted(gram, found, X), values, atol=1e-5)
    assert found.variance == pytest.approx(np.mean((X[:, 3] - values) ** 2), rel=1e-5)
    assert found.total_edf == pytest.approx(np.trace(hat), rel=1e-5)
    assert found.explained == pytest.approx(values.var() / X[:, 3].var(), rel=1e-5)
    assert found.gcv == pytest.approx(
        np.mean((X[:, 3] - values) ** 2) / X[:, 3].var() / (1 - np.trace(hat) / len(X)) ** 2, rel=1e-5
    )


@pytest.mark.parametrize("lam", [0.1, 3.0, 100.0])
def test_with_many_knots_a_fit_is_the_smoothing_spline(lam):
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-2, 2, 150))
    y = np.sin(3 * x) + 0.3 * rng.normal(size=150)
    gram = measure_gram(np.column_stack([x, y]), Spline(60))
    scipys = interpolate.make_smoothing_spline(x, y, lam=lam)(x)
    # |y - f|^2 + lam int f''(x)^2 dx, and int f''(x)^2 dx = int f''(z)^2 dz / sd^3
    ours = fitted(gram, fit(gram, 1, [0], smoothing=lam / x.std() ** 3 / 150), np.column_stack([x, y]))
    assert np.abs(ours - scipys).max() < 0.01


def test_known_functions_are_recovered():
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, (1500, 3))
    truth = np.sin(2 * x[:, 0]) + x[:, 1] ** 2 / 2
    rows = np.column_stack([x, truth + 0.5 * rng.normal(size=1500)])
    gram = measure_gram(rows)
    found = fit(gram, 3, [0, 1, 2])
    assert np.sqrt(np.mean((fitted(gram, found, rows) - truth) ** 2)) < 0.06
    assert found.variance / (1 - found.total_edf / 1500) == pytest.approx(0.25, rel=0.1)
    assert found.edf[2] < 2
    assert list(found.p_values < 1e-6) == [True, True, False]


def test_no_parents_leave_the_variance():
    found = fit(GRAM, 2, [])
    assert found.variance == pytest.approx(X[:, 2].var())
    assert found.total_edf == 1
    assert len(found.p_values) == 0
    assert fitted(GRAM, found, X) == pytest.approx(np.full(len(X), X[:, 2].mean()))


def test_a_copy_of_a_parent_leaves_next_to_nothing():
    rows = np.column_stack([X, 2 * X[:, 0] - 1])
    gram = measure_gram(rows)
    assert fit(gram, 4, [0, 1]).relative < 1e-9
    both = fit(gram, 3, [0, 1, 4])  # two columns that say the same
    assert both.relative == pytest.approx(fit(gram, 3, [0, 1]).relative, rel=1e-2)
    assert fit(gram, 4, [0]).relative >= LEAST


# --- smoothing by GCV -----------------------------------------------------------------------------------------------


def test_gradient_and_hessian_of_gcv_are_its_finite_differences():
    problem = _Problem(GRAM, 3, (0, 1, 2), None)
    rng = np.random.default_rng(0)
    for _ in range(5):
        rho = rng.uniform(-12, 3, 3)
        _, gradient, hessian = problem.derivatives(rho)
        steps = 1e-4 * np.eye(3)
        slopes = [(problem.log_gcv(rho + e) - problem.log_gcv(rho - e)) / 2e-4 for e in steps]
        bends = [(problem.derivatives(rho + e)[1] - problem.derivatives(rho - e)[1]) / 2e-4 for e in steps]
        np.testing.assert_allclose(gradient, slopes, atol=1e-8)
        np.testing.assert_allclose(hessian, bends, atol=1e-8)


def test_no_search_from_elsewhere_finds_a_clearly_better_gcv():
    """GCV can have several local minima; the one found is a minimum, and within a hundredth of the best."""
    rng = np.random.default_rng(2)
    for seed in range(5):
        gram = measure_gram(table(seed=seed))
        problem = _Problem(gram, 3, (0, 1, 2), None)
        found = fit(gram, 3, (0, 1, 2))
        assert found.converged
        low, high = problem.bounds
        rho = np.log(found.smoothing)
        slope = problem.derivatives(rho)[1]
        assert np.abs(slope[(rho > low + 1e-9) & (rho < high - 1e-9)]).max(initial=0) < 1e-4
        for _ in range(3):
            other = optimize.minimize(
                problem.log_gcv, rng.uniform(low + 6, high - 6), method="L-BFGS-B", bounds=list(zip(low, high))
            )
            assert np.log(found.gcv) <= other.fun + 1e-2


@pytest.mark.parametrize("seed", range(4))
def test_a_sweep_finds_the_best_change_of_one_parameter(seed):
    problem = _Problem(measure_gram(table(seed=seed)), 3, (0, 1, 2), None)
    rho = np.random.default_rng(seed).uniform(*problem.bounds)
    changed = []
    for k in range(3):
        for value in np.linspace(*problem.bounds[:, k], 150):
            changed.append(rho.copy())
            changed[-1][k] = value
    there = problem.sweep(rho)
    assert np.count_nonzero(there != rho) == 1
    assert problem.log_gcv(there) <= min(map(problem.log_gcv, changed)) + 1e-6
    found = np.log(fit(problem.gram, 3, (0, 1, 2)).smoothing)
    assert problem.sweep(found) is None


def test_gcv_is_near_the_error_of_left_out_rows():
    gram = measure_gram(X, UNIFORM)
    for penalty in (0.05, 5.0, 500.0):
        hat = oracles.additive_hat(X[:, [0, 1]], penalty, 12)
        residual = X[:, 3] - hat @ X[:, 3]
        left_out = np.mean((residual / (1 - np.diag(hat))) ** 2) / X[:, 3].var()
        assert fit(gram, 3, [0, 1], smoothing=penalty / len(X)).gcv == pytest.approx(left_out, rel=0.15)


def test_fewer_functions_are_the_smoothest():
    found = fit(GRAM, 3, [0, 2], functions=3, smoothing=1e-9)
    F = functions_at_rows(GRAM, X)[np.r_[0:3, GRAM.starts[2] : GRAM.starts[2] + 3]]
    y = X[:, 3] - X[:, 3].mean()
    assert found.variance == pytest.approx(np.mean((y - F.T @ np.linalg.lstsq(F.T, y, rcond=None)[0]) ** 2), rel=1e-5)


# --- p-values -------------------------------------------------------------------------------------------------------


def nested_f_test(full, reduced, y):
    """p-value of the columns that only the full design has."""

    def rss(design):
        design = np.column_stack([np.ones(len(y)), design])
        return np.sum((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)

    q, residual = full.shape[1] - reduced.shape[1], len(y) - full.shape[1] - 1
    return stats.f.sf((rss(reduced) - rss(full)) / q / (rss(full) / residual), q, residual)


def weak_effects():
    """A child whose p-values are neither 0 nor 1."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(150, 4))
    rows[:, 3] += 0.2 * rows[:, 0] + 0.25 * rows[:, 1] ** 2
    return rows


def test_p_values_without_penalty_are_those_of_the_f_test():
    rows = weak_effects()
    gram = measure_gram(rows, P_SPLINE)
    found = fit(gram, 3, [0, 1, 2], smoothing=0.0)
    F = functions_at_rows(gram, rows).T
    for k in range(3):
        others = np.delete(np.arange(27), np.arange(9 * k, 9 * k + 9))
        expected = nested_f_test(F[:, :27], F[:, others], rows[:, 3])
        assert found.p_values[k] == pytest.approx(expected, rel=1e-3)


def test_p_values_of_lines_are_those_of_linear_regression():
    rows = weak_effects()
    found = fit(measure_gram(rows), 3, [0, 1, 2], smoothing=1e6)
    np.testing.assert_allclose(found.edf, 1, atol=1e-4)
    for k in range(3):
        expected = nested_f_test(rows[:, :3], np.delete(rows[:, :3], k, axis=1), rows[:, 3])
        assert found.p_values[k] == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize(("smoothing", "least", "most"), [("gcv", 0.03, 0.12), (1e-6, 0.03, 0.07), (0.01, 0.0, 0.05)])
def test_p_values_of_noise_are_about_uniform(smoothing, least, most):
    """Without penalty exact; with one given, cautious, because the Bayesian covariance counts a bias that noise lacks.

    Those after GCV are known to be a little too small (Wood 2013): theta was chosen on the same rows.
    """
    rng = np.random.default_rng(11)
    found = []
    for _ in range(150):
        gram = measure_gram(rng.normal(size=(200, 4)))
        found += list(fit(gram, 0, [1, 2, 3], smoothing=smoothing).p_values)
    assert least <= np.mean(np.array(found) < 0.05) <= most
    assert np.mean(np.array(found) < 0.001) < 0.01


# --- one more variable, and one after the other ---------------------------------------------------------------------


@pytest.mark.parametrize("parents", [(), (0,), (0, 1)])
def test_trying_a_candidate_is_fitting_it_with_the_others_held(parents):
    present = fit(GRAM, 3, parents)
    candidates = [j for j in range(3) if j not in parents]
    trials = try_each(GRAM, present, candidates)
    for k, candidate in enumerate(candidates):
        theta = np.append(present.smoothing, np.exp(trials.log_smoothing[k]))
        found = fit(GRAM, 3, (*parents, candidate), smoothing=theta)
        assert trials.relative[k] == pytest.approx(found.relative, rel=1e-8)
        assert trials.gcv[k] == pytest.approx(found.gcv, rel=1e-8)
        grid = np.linspace(*GRAM.bounds_of(GRAM.functions_of([candidate]))[:, 0], 200)
        tried = [
            fit(GRAM, 3, (*parents, candidate), smoothing=np.append(present.smoothing, np.exp(rho))).gcv for rho in grid
        ]
        assert trials.gcv[k] <= min(tried) * (1 + 1e-6)


def test_growing_answers_like_separate_fits():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8))
    gram = measure_gram(rows, P_SPLINE)
    growing = Growing(gram, 1e-4)
    members = []
    for member in (5, 0, 3, 7, 1):
        growing.add(member)
        members.append(member)
        for child in set(range(8)) - set(members):
            alone, together = fit(gram, child, members, smoothing=1e-4), growing.fit_of(child)
            assert together.variance == pytest.approx(alone.variance, rel=1e-8)
            assert growing.residual()[child] == pytest.approx(alone.variance, rel=1e-8)
            assert growing.explained()[child] == pytest.approx(alone.explained * rows[:, child].var(), rel=1e-8)
            np.testing.assert_allclose(together.edf, alone.edf, rtol=1e-8)
            np.testing.assert_allclose(together.p_values, alone.p_values, rtol=1e-5)


# --- what is refused ------------------------------------------------------------------------------------------------


def test_impossible_requests_are_refused_with_their_cure():
    with pytest.raises(InputError, match="other than 1"):
        fit(GRAM, 1, [0, 1])
    with pytest.raises(InputError, match="distinct"):
        fit(GRAM, 1, [0, 0])
    with pytest.raises(InputError, match=r"unknown smoothing 'gvc'.*did you mean 'gcv'"):
        fit(GRAM, 1, [0], smoothing="gvc")
    with pytest.raises(InputError, match="uniform knots"):
        Spline(10, penalty="difference")
    with pytest.raises(InputError, match="splines must be"):
        Spline(3)
    growing = Growing(GRAM, 1.0)
    growing.add(0)
    with pytest.raises(InputError, match="add each variable once"):
        growing.add(0)
    with pytest.raises(InputError, match="one of the regressors"):
        growing.fit_of(0)


def test_columns_that_nearly_determine_one_another_still_have_answers():
    """Schur complements of about 0, where rounding decides the sign."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(400, 3))
    near = [z[:, [0]] + 10.0**-k * rng.normal(size=(400, 1)) for k in (5, 7, 9, 11)]
    rows = np.column_stack([z, *near, z.sum(axis=1), np.tanh(z[:, 0])])
    gram = measure_gram(rows)
    for child in range(9):
        others = [j for j in range(9) if j != child]
        for known in range(1, 8):
            present = fit(gram, child, others[:known])
            trials = try_each(gram, present, others[known:])
            assert np.isfinite(present.p_values).all()
            assert np.isfinite(trials.gcv).all()
            assert (trials.relative >= LEAST).all()


def test_functions_of_levels_are_uncorrelated_and_free():
    rng = np.random.default_rng(0)
    levels = rng.choice([0.0, 1.0, 2.0, 5.0], size=300, p=[0.5, 0.3, 0.15, 0.05])
    gram = measure_gram(np.column_stack([levels, rng.normal(size=300)]), categorical=np.array([True, False]))
    own = gram.products[: gram.starts[1], : gram.starts[1]]
    assert gram.starts[1] == 3
    np.testing.assert_allclose(own, np.eye(3), atol=1e-12)
    assert not gram.roughness[:3].any()
    y = np.where(levels == 2.0, 1.0, 0.0)  # any function of the levels is a sum of them
    F = gram.curves[0].values(levels - gram.shift[0])
    assert np.mean(((F @ (y - y.mean()) / 300) @ F - (y - y.mean())) ** 2) < 1e-20
