import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dagtune.engine.kernels import (
    KERNELS,
    Kernel,
    as_kernel,
    bandwidth_of,
    check_bandwidth,
    median_squared_distance,
    register_kernel,
)
from dagtune.validation import InputError
from oracles import kernel_matrix, median_of_squares


@given(arrays(float, st.integers(2, 60), elements=st.integers(-64000, 64000).map(lambda v: v / 64)))
def test_the_median_is_exact_for_any_values(x):
    if x.min() == x.max():
        assert median_squared_distance(x) == 0.0
    else:
        assert median_squared_distance(x) == pytest.approx(median_of_squares(x), rel=1e-12)


@given(arrays(float, st.integers(2, 80), elements=st.integers(0, 4).map(float)))
def test_the_median_is_exact_with_many_ties(x):
    if x.min() < x.max():
        assert median_squared_distance(x) == median_of_squares(x)


@pytest.mark.parametrize("n", [2, 3, 100, 701, 1200])
@pytest.mark.parametrize("law", ["normal", "standard_cauchy", "exponential"])
def test_the_median_is_exact_when_few_distances_are_looked_at(n, law):
    x = getattr(np.random.default_rng(n), law)(size=n)
    assert median_squared_distance(x) == median_of_squares(x)


def test_ties_within_rounding_are_ties():
    x = np.array([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 1.3])
    assert median_squared_distance(x) == pytest.approx(1.0)


def test_a_far_offset_changes_no_distance():
    x = np.random.default_rng(0).integers(0, 1000, 300) / 8
    assert median_squared_distance(x + 2.0**30) == median_squared_distance(x)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_each_kernel_is_its_formula(kernel):
    x = np.random.default_rng(1).normal(size=20) * 2
    s = 0.7 if KERNELS[kernel].takes_bandwidth else 1.0
    found = KERNELS[kernel](x[:, None] / s, x[None, :] / s)
    assert found == pytest.approx(kernel_matrix(x, kernel, 0.7), abs=1e-15)


@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if k.definite])
def test_kernels_that_promise_to_be_definite_are(kernel):
    x = np.random.default_rng(2).normal(size=60)
    assert np.linalg.eigvalsh(kernel(x[:, None], x[None, :])).min() > -1e-12


def test_the_sigmoid_kernel_is_not_definite_and_says_so():
    x = np.random.default_rng(2).normal(size=60)
    assert np.linalg.eigvalsh(KERNELS["sigmoid"](x[:, None], x[None, :])).min() < -0.01
    assert not KERNELS["sigmoid"].definite


def test_rules_give_the_bandwidths_of_the_table():
    x = np.random.default_rng(3).normal(size=50)
    median = median_of_squares(x)
    assert bandwidth_of(x, "median") ** 2 == pytest.approx(median)
    assert bandwidth_of(x, "paper") == pytest.approx(median)
    assert 2 * bandwidth_of(x, "unit") ** 2 == pytest.approx(1)
    assert bandwidth_of(x, 0.3) == 0.3


@pytest.mark.parametrize("bad", ["medain", 0, -1.0, np.nan, np.inf, True, None, [1.0]])
def test_a_wrong_bandwidth_is_refused(bad):
    with pytest.raises(InputError, match="bandwidth"):
        check_bandwidth(bad)


def test_several_columns_use_distance_or_inner_product():
    X = np.random.default_rng(4).normal(size=(6, 3))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert KERNELS["laplace"].matrix(X, X) == pytest.approx(np.exp(-distances))
    assert KERNELS["sigmoid"].matrix(X, X) == pytest.approx(np.tanh(X @ X.T))
    with pytest.raises(InputError, match="one column at a time"):
        as_kernel(lambda x, y: np.exp(-np.abs(x - y))).matrix(X, X)


def test_a_kernel_of_ones_own_is_checked_and_can_be_registered():
    with pytest.raises(InputError, match="not symmetric"):
        as_kernel(lambda x, y: x + 2 * y)
    with pytest.raises(InputError, match="elementwise"):
        as_kernel(lambda x, y: np.array(1.0))
    with pytest.raises(InputError, match="a kernel named 'gaussian' is already registered"):
        register_kernel(Kernel("gaussian", lambda x, y: x * y))
    mine = register_kernel(Kernel("mine", lambda u: 1 / np.cosh(u), of="difference", definite=True))
    try:
        assert as_kernel("mine") is mine
    finally:
        del KERNELS["mine"]
    with pytest.raises(InputError, match="did you mean 'laplace'"):
        as_kernel("laplacian")
