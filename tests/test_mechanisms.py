"""Log evidence of the mechanisms against dense (n, n) Gaussian densities, and flips against evidence computed anew."""

import numpy as np
import pytest
from scipy import special

from dagtune.conditional.cholesky import solve
from dagtune.conditional.mechanisms import (
    _JOINT_VARIANCES,
    BENDS,
    FIRST,
    LINES,
    QUADRATIC,
    Sums,
    additive,
    fitted,
    flips,
    functions,
    joint,
    kernel,
)
from dagtune.conditional.numbers import BEND_VARIANCES, LEAST_SHARE, LINE_VARIANCES, SMOOTHNESS

WIDTHS = (3, 1, 4, 3, 2)
ROUGH = np.concatenate([np.r_[0.0, 1.0, 2.5, 7.0][:width] for width in WIDTHS])
STARTS = np.cumsum([0, *WIDTHS])


def some_rows(seed, n=60, strength=1.0):
    """Functions (D, n) that are correlated, and a target that three of five variables explain."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(len(ROUGH), n)) + 0.7 * rng.normal(size=n)
    y = strength * (F[0] + 0.7 * F[2] - F[4] + 0.5 * F[8]) + rng.normal(size=n)
    return F, y


def sums_of(F, *targets):
    return Sums(
        n=float(F.shape[1]),
        G=F @ F.T,
        C=np.array([F @ y for y in targets]),
        power=np.array([y @ y for y in targets]),
        starts=STARTS,
        rough=ROUGH,
    )


def variances(S, setting):
    """(D,) prior variances of the weights of the functions, 0 where a function has none."""
    line, bend = LINE_VARIANCES[setting // BENDS], BEND_VARIANCES[setting % BENDS]
    v = np.zeros(len(ROUGH))
    for j in S:
        for k in range(STARTS[j], STARTS[j + 1]):
            v[k] = line if ROUGH[k] == 0 else bend / ROUGH[k]
    return v


def dense(y, covariance):
    """The greatest log density over s2 of y ~ N(0, s2 covariance), and that s2."""
    n = len(y)
    s2 = y @ np.linalg.solve(covariance, y) / n
    return -0.5 * (n * np.log(2 * np.pi * s2) + np.linalg.slogdet(covariance)[1] + n), s2


def at_setting(F, y, S, setting):
    return dense(y, np.eye(len(y)) + (F.T * variances(S, setting)) @ F)


def test_solve_is_numpys():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 9))
    H, g = B @ B.T, rng.normal(size=5)
    expected, log_det = np.linalg.solve(H, g), np.linalg.slogdet(H)[1]
    lower = np.tril(H) + np.triu(np.full((5, 5), np.nan), 1)  # the upper half is not looked at
    assert solve(lower, g) == pytest.approx(log_det)
    np.testing.assert_allclose(g, expected, rtol=1e-9)


# --- additive -------------------------------------------------------------------------------------------------------

SETS = [(0,), (1,), (0, 2), (2, 3, 4), (0, 1, 2, 3, 4)]


def over_settings(every):
    """Mean and variance of log V, each setting with its evidence for a weight."""
    weight = special.softmax(every[:, 0])
    mean = weight @ np.log(every[:, 1])
    return mean, weight @ (np.log(every[:, 1]) - mean) ** 2


@pytest.mark.parametrize("S", SETS)
@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0, 30.0])
def test_the_additive_evidence_is_the_mean_of_dense_ones_over_all_settings(S, strength):
    F, y = some_rows(len(S), strength=strength)
    every = np.array([at_setting(F, y, S, k) for k in range(LINES * BENDS)])
    value, log_v, vague, best, other = additive(sums_of(F, y), 0, np.array(S), FIRST)
    exact = special.logsumexp(every[:, 0]) - np.log(LINES * BENDS)
    # Where no function is bent, all settings of the bend are one; the climb sees some of them only.
    missing = 0.5 if ROUGH[np.flatnonzero(variances(S, FIRST))].any() else np.log(BENDS)
    assert exact - missing < value < exact + 1e-6
    assert every[best, 0] == pytest.approx(every[:, 0].max(), abs=1e-6)
    mean, variance = over_settings(every)
    assert log_v == pytest.approx(mean, abs=0.05)
    assert vague == pytest.approx(variance, abs=0.02)
    assert (other % BENDS == 0) == (best % BENDS > 0) or other == best


@pytest.mark.parametrize(("S", "strength", "seed"), [((2, 3, 4), 0.0, 0), (SETS[-1], 1.0, 0), (SETS[-1], 1.0, 1)])
def test_few_rows_leave_log_v_open(S, strength, seed):
    """With 20 rows the settings differ by tenths, by all of them as by those that the climb sees."""
    F, y = some_rows(seed, n=20, strength=strength)
    _, variance = over_settings(np.array([at_setting(F, y, S, k) for k in range(LINES * BENDS)]))
    assert variance > 0.05
    assert additive(sums_of(F, y), 0, np.array(S), FIRST)[2] == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize("first", [0, BENDS - 1, FIRST, LINES * BENDS - 1])
def test_where_the_climb_begins_hardly_matters(first):
    F, y = some_rows(1)
    sums, S = sums_of(F, y), np.array([0, 2, 3])
    here, there = additive(sums, 0, S, FIRST), additive(sums, 0, S, first)
    assert there[0] == pytest.approx(here[0], abs=0.1)
    assert there[3] == here[3]
    np.testing.assert_allclose(there[1:3], here[1:3], atol=0.05)


def test_of_all_settings_the_climb_sees_enough():
    """Over many tables the mean that the climb gives is close to that of the whole grid."""
    missing = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        F, y = some_rows(seed, n=int(rng.integers(20, 60)), strength=float(rng.choice([0.0, 0.1, 0.5, 3.0])))
        S = np.flatnonzero(rng.random(5) < 0.5)
        every = [at_setting(F, y, S, k)[0] for k in range(LINES * BENDS)]
        exact = special.logsumexp(every) - np.log(LINES * BENDS)
        missing.append(exact - additive(sums_of(F, y), 0, S, FIRST)[0])
    assert min(missing) > -1e-6
    assert np.mean(missing) < 0.15
    assert max(missing) < 0.6


def test_without_causes_the_evidence_is_the_gaussians():
    F, y = some_rows(0)
    value, log_v, *_ = additive(sums_of(F, y), 0, np.array([], dtype=np.int64), FIRST)
    assert value == pytest.approx(dense(y, np.eye(len(y)))[0])
    assert log_v == pytest.approx(np.log(np.mean(y**2)))


def test_a_noiseless_target_keeps_the_least_share_of_its_variance():
    """What sums over rows can't tell from nothing counts as the least share, not as log 0."""
    F, _ = some_rows(0)
    y = F[0] - 2 * F[4]
    value, log_v, *_ = additive(sums_of(F, y), 0, np.array([0, 2]), FIRST)
    assert np.isfinite(value)
    assert log_v - np.log(np.mean(y**2)) == pytest.approx(np.log(LEAST_SHARE), abs=3)
    assert log_v - np.log(np.mean(y**2)) >= np.log(LEAST_SHARE) - 1e-9


@pytest.mark.parametrize("setting", [0, FIRST, 4 * BENDS + 6])
def test_the_fit_is_the_posterior_mean(setting):
    F, y = some_rows(3)
    S = (0, 3)
    out = np.full(len(y), np.nan)
    used = fitted(sums_of(F, y), 0, np.array(S), setting, F, out)
    v = variances(S, setting)
    prior = (F.T * v) @ F
    np.testing.assert_allclose(out, prior @ np.linalg.solve(prior + np.eye(len(y)), y), atol=1e-8)
    np.testing.assert_array_equal(used, np.flatnonzero(v))


def test_the_second_target_has_its_own_sums():
    F, y = some_rows(4)
    S = np.array([0, 2])
    both, alone = sums_of(F, F[1], y), sums_of(F, y)
    assert additive(both, 1, S, FIRST) == additive(alone, 0, S, FIRST)


@pytest.mark.parametrize("S", [(), (1,), (0, 2), (0, 3, 4)])
@pytest.mark.parametrize(
    "pair", [(FIRST, FIRST), (3 * BENDS, 2 * BENDS + 4), (BENDS, BENDS)], ids=["bent", "both sorts", "straight"]
)
def test_flips_are_the_differences_of_evidence_computed_anew(S, pair):
    """At each of the two settings, the better one counting, before and after."""
    F, y = some_rows(5)
    out = np.full(5, np.nan)
    flips(sums_of(F, y), 0, np.array(S, dtype=np.int64), pair, out)
    base = max(at_setting(F, y, S, k)[0] for k in pair)
    for j in range(5):
        flipped = tuple(sorted(set(S) ^ {j}))
        assert out[j] == pytest.approx(max(at_setting(F, y, flipped, k)[0] for k in pair) - base, abs=1e-6)


# --- joint ----------------------------------------------------------------------------------------------------------


def prior_by_rows(X, parents, marks):
    """(n, n) prior covariance of the joint function: Williams' kernel and a quadratic one, by landmarks, centred."""

    def p(a, b):
        return SMOOTHNESS * a @ b / parents + 1

    def k(a, b):
        return np.arcsin(2 * p(a, b) / np.sqrt((1 + 2 * p(a, a)) * (1 + 2 * p(b, b)))) + QUADRATIC * p(a, b) ** 2

    K = np.array([[k(a, b) for b in X.T] for a in X.T[marks]])
    own = K[:, marks] + 1e-5 * np.eye(len(marks))
    K = K - K.mean(axis=1, keepdims=True)
    return K.T @ np.linalg.solve(own, K)


@pytest.mark.parametrize("parents", [2, 3])
def test_the_kernel_is_williams_and_a_quadratic_one(parents):
    """To the accuracy of its arcsine."""
    X = 2 * np.random.default_rng(0).normal(size=(3, 40))
    marks = np.array([3, 11, 30])
    found = kernel(X, parents, marks)
    exact = prior_by_rows(X, parents, marks)
    B = functions(found)
    np.testing.assert_allclose(B.T @ B, exact, atol=1e-5 * np.abs(exact).max())
    np.testing.assert_allclose(found.products, B @ B.T, rtol=1e-6, atol=1e-9 * np.abs(found.products).max())


def test_landmarks_that_copy_each_other_are_no_obstacle():
    X = np.random.default_rng(0).normal(size=(2, 30)).repeat(2, axis=1)
    found = kernel(X, 2, np.arange(20))
    assert np.isfinite(functions(found)).all()
    assert np.isfinite(joint(found, X[0] * X[1], np.empty(60))[0])


@pytest.mark.parametrize("strength", [0.0, 1.0, 40.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_joint_evidence_is_the_mean_of_dense_ones_over_its_variances(seed, strength):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2, 70))
    y = strength * X[0] * X[1] + rng.normal(size=70)
    y -= y.mean()
    given = kernel(X, 2, np.arange(0, 70, 4))
    prior = functions(given).T @ functions(given)
    every = np.array([dense(y, np.eye(70) + v * prior) for v in _JOINT_VARIANCES])
    out = np.full(70, np.nan)
    value, log_v, vague = joint(given, y, out)
    exact = special.logsumexp(every[:, 0]) - np.log(len(_JOINT_VARIANCES))
    assert exact - 0.3 < value < exact + 1e-4
    best = int(np.argmax(every[:, 0]))
    mean, variance = over_settings(every)
    assert log_v == pytest.approx(mean, abs=0.05)
    assert vague == pytest.approx(variance, abs=0.02)
    mean = _JOINT_VARIANCES[best] * prior @ np.linalg.solve(np.eye(70) + _JOINT_VARIANCES[best] * prior, y)
    np.testing.assert_allclose(out, mean, atol=1e-3 * np.abs(y).max())


def test_a_product_is_seen_by_the_joint_mechanism_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 300))
    y = X[0] * X[1] + 0.3 * rng.normal(size=300)
    y -= y.mean()
    value, log_v, _ = joint(kernel(X, 2, np.arange(0, 300, 5)), y, np.empty(300))
    assert value > dense(y, np.eye(300))[0] + 100
    assert log_v < np.log(0.3)
