"""Joint regressions against kernel ridge regression with an intercept, solved densely."""

import numpy as np
import pytest

from dagtune.conditional import joint
from dagtune.conditional.joint import Joint, _arcsine
from dagtune.regression import ROOM


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, -1] = X[:, 0] * X[:, 1] + 0.4 * X[:, -1]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def kernel(X):
    """The neural network kernel from its formula, in double precision."""
    p = joint.SPREAD * X @ X.T / X.shape[1] + 1
    own = np.sqrt(1 + 2 * np.diag(p))
    return np.arcsin(2 * p / np.outer(own, own))


def test_the_kernel_is_that_of_the_formula():
    X = rows(60).astype(np.float32)
    for width in (1, 2, 4):
        P = X[:, :width] @ X[:, :width].T
        squares = (X[:, :width] ** 2).sum(axis=1)
        _arcsine(P, squares, squares, np.float32(joint.SPREAD / width))
        np.testing.assert_allclose(P, kernel(X[:, :width].astype(float)), atol=3e-4)
    far = np.array([[50.0], [-50.0], [0.0]], dtype=np.float32)
    P = far @ far.T
    _arcsine(P, (far**2).ravel(), (far**2).ravel(), np.float32(joint.SPREAD))
    np.testing.assert_allclose(P, kernel(far.astype(float)), atol=2e-3)


def dense(X, y, S):
    """The best of the ridges for y on the columns S by GCV, solved on all rows."""
    n, K = len(X), kernel(X[:, S])
    H = np.eye(n) - 1 / n
    variance = np.diag(K).mean() - K.mean()
    found = []
    for ridge in joint.RIDGES:
        strength = ridge * variance / n
        jittered = K + 1e-5 * np.eye(n)
        # minimise |y - H K w|^2 / n + strength w' (K + jitter) w
        A = K @ H @ K / n + strength * jittered
        hat = H @ K @ np.linalg.solve(A, K @ H) / n
        V, edf = np.mean((y - hat @ y) ** 2), np.trace(hat)
        found.append(np.log(V) - 2 * np.log(max(1 - (1 + edf) / n, ROOM)))
    return min(found)


def bordered(X, y, S, strength):
    """Fitted values of kernel ridge regression with a free intercept: (K + n strength) w + b = y, sum w = 0."""
    n, K = len(X), kernel(X[:, S])
    system = np.block([[K + n * strength * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0))
    return K @ solved[:n] + solved[n]


def test_the_dense_oracle_is_kernel_ridge_regression_with_an_intercept():
    X = rows(80)
    n, y, S = len(X), X[:, 3], [0, 1]
    K, H = kernel(X[:, S]), np.eye(len(X)) - 1 / len(X)
    for strength in (1e-3, 1e-1):
        w = np.linalg.solve(K @ H @ K / n + strength * (K + 1e-12 * np.eye(n)), K @ H @ y / n)
        np.testing.assert_allclose(H @ K @ w, bordered(X, y, S, strength), atol=1e-4)


@pytest.mark.parametrize("S", [[0], [0, 1], [2, 0, 1]])
def test_with_all_rows_as_landmarks_it_is_exact_kernel_ridge_regression(S):
    X = rows()
    model = Joint(X, X.T, landmarks=len(X), rng=np.random.default_rng(0))
    found = model.costs([np.array(S)], np.array([3]))[0]
    assert found == pytest.approx(dense(X, X[:, 3], S), abs=0.03)


def test_a_product_of_parents_is_seen_and_noise_is_not():
    X = rows(500)
    model = Joint(X, X.T, landmarks=100, rng=np.random.default_rng(0))
    empty, alone, both, idle = model.costs([np.array(S, dtype=int) for S in ([], [0], [0, 1], [2])], np.full(4, 3))
    assert empty == pytest.approx(0, abs=1e-6)
    assert both < alone - 0.3
    assert abs(idle) < 0.1


def test_half_of_the_rows_as_landmarks_are_nearly_as_good_as_all():
    X = rows(200)
    sets, children = [np.array([0, 1]), np.array([0, 1, 2])], np.array([3, 3])
    whole, half = (Joint(X, X.T, landmarks=m, rng=np.random.default_rng(1)).costs(sets, children) for m in (200, 100))
    np.testing.assert_allclose(half, whole, atol=0.15)


def test_a_set_is_solved_once_whatever_the_order_of_its_members(monkeypatch):
    X = rows()
    model = Joint(X, X.T, landmarks=40, rng=np.random.default_rng(0))
    solved, real = [], Joint._solve
    monkeypatch.setattr(Joint, "_solve", lambda self, S: solved.append(tuple(S)) or real(self, S))
    first = model.costs([np.array([0, 1]), np.array([1, 0]), np.array([2])], np.array([3, 3, 3]))
    again = model.costs([np.array([2]), np.array([1, 0])], np.array([3, 3]))
    assert len(solved) == 2
    assert first[0] == first[1] == again[1]
    assert first[2] == again[0]
    # a model that never solved the others says the same
    fresh = Joint(X, X.T, landmarks=40, rng=np.random.default_rng(0))
    assert fresh.costs([np.array([0, 1])], np.array([3]))[0] == first[0]


def test_threads_do_not_change_the_numbers():
    X = rows(150, d=6)
    rng = np.random.default_rng(2)
    sets = [rng.permutation(6)[: rng.integers(0, 6)] for _ in range(40)]
    children = rng.integers(0, 6, 40)
    one, two = (
        Joint(X, X.T, landmarks=50, rng=np.random.default_rng(0), threads=t).costs(sets, children) for t in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_copies_and_two_values_are_no_obstacle():
    X = rows(100)
    X = np.column_stack([X[:, :2], X[:, 0], np.sign(X[:, 1]), X[:, 3]])
    model = Joint(X, X.T, landmarks=100, rng=np.random.default_rng(0))
    sets = [np.array([0, 2]), np.array([3]), np.array([0, 1, 2, 3])]
    assert np.isfinite(model.costs(sets, np.array([4, 4, 4]))).all()
