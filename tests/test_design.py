"""The design: sums over rows against the rows themselves, and what a long table counts as."""

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from dagtune.conditional.columns import OWN, SCORES, Column, fit_normal_scores
from dagtune.conditional.design import SCALES, measure, row_margin
from dagtune.conditional.mechanisms import BENDS, FIRST, LINES, additive
from dagtune.conditional.numbers import FUNCTIONS, LANDMARKS, ROWS
from dagtune.conditional.problem import Offer
from dagtune.conditional.score import posed


def table(n=400, seed=0):
    """Gaussian, bounded, heavy-tailed, counts, and three categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] = special.expit(X[:, 0] + X[:, 1])
    X[:, 2] = 1e3 * X[:, 2] ** 3
    X[:, 3] = rng.poisson(2, n)
    X[:, 4] = rng.integers(0, 3, n)
    return X


KINDS = np.array(["continuous"] * 4 + ["categorical"])


def test_sums_are_those_of_the_rows():
    design = measure(table(), KINDS)
    sums, F = design.sums, design.rows.F
    assert sums.n == 400 == design.count
    np.testing.assert_allclose(sums.G, F @ F.T, atol=1e-6)
    np.testing.assert_allclose(sums.C, design.rows.Y @ F.T, atol=1e-6)
    np.testing.assert_allclose(sums.power, (design.rows.Y**2).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(F.mean(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(design.rows.Y.mean(axis=1), 0, atol=1e-9)


def test_a_number_has_a_line_and_bent_functions_of_ascending_roughness():
    design = measure(table(), KINDS)
    sums, F = design.sums, design.rows.F
    X = table()
    for j in range(3):
        own = slice(sums.starts[j], sums.starts[j + 1])
        rough = sums.rough[own]
        assert len(rough) == FUNCTIONS[1]
        assert rough[0] == 0
        assert rough[1] == 1
        assert (np.diff(rough[1:]) >= 0).all()
        assert abs(np.corrcoef(F[own][0], X[:, j])[0, 1]) == pytest.approx(1, abs=1e-6)
    own = slice(sums.starts[4], sums.starts[5])
    assert own.stop - own.start == 2  # of three categories
    assert not sums.rough[own].any()
    dummies = pd.get_dummies(X[:, 4]).to_numpy(dtype=float)
    spanned = dummies @ np.linalg.lstsq(dummies, F[own].T, rcond=None)[0]
    np.testing.assert_allclose(spanned, F[own].T, atol=1e-9)


def test_targets_are_the_columns_on_their_scales():
    X = table()
    design = measure(X, KINDS)
    targets = design.targets
    assert [column.kind for column in design.columns] == ["continuous"] * 3 + ["discrete", "categorical"]
    np.testing.assert_array_equal(np.diff(targets.starts), [2, 2, 2, 1, 2])  # an indicator for each category but one
    assert targets.own.tolist() == [True, False] * 3 + [True, False, False]  # categories have no noise scale
    assert targets.smooth.tolist() == [True] * 6 + [False] * 3
    assert not targets.joint.any()
    for j, column in enumerate(design.columns):
        for k, effect in enumerate(column.effects):
            assert targets.jacobian[targets.starts[j] + k] == effect.jacobian
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(design.rows.Y[targets.starts[:4]], Z[:, :4].T, atol=1e-9)
    for j in range(3):
        scores = fit_normal_scores(X[:, j])(X[:, j])
        np.testing.assert_allclose(design.rows.Y[targets.starts[j] + 1], scores - scores.mean(), atol=1e-9)
    np.testing.assert_allclose(design.rows.Z[:4], Z[:, :4].T, atol=1e-6)
    np.testing.assert_allclose(design.log_variance[:4], np.log(X.var(axis=0))[:4])
    assert design.discrete.size.tolist() == [0, 0, 0, 0, 3]


def test_only_scales_that_are_asked_for():
    assert measure(table(), KINDS, (OWN,)).rows.Y.shape[0] == 6
    assert measure(table(), KINDS, (OWN, SCORES)).rows.Y.shape[0] == 9


def test_a_long_table_counts_as_fewer_rows_but_its_sums_are_those_of_all():
    n = 3 * ROWS + 17
    X = table(n)
    X[-1000:] *= 1.5  # what a sample may miss
    design = measure(X, KINDS)
    assert design.count == ROWS
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sums = design.sums
    assert sums.n == ROWS
    assert sums.power[0] == pytest.approx(ROWS)
    np.testing.assert_allclose(np.diag(sums.G)[sums.starts[:3]], ROWS, rtol=1e-6)
    line = sums.starts[1]
    expected = ROWS * np.corrcoef(Z[:, 0], Z[:, 1])[0, 1]
    assert abs(sums.C[0, line]) == pytest.approx(abs(expected), rel=1e-6)
    assert all(part.shape[1] == ROWS for part in (design.rows.F, design.rows.Z, design.rows.Y))


def test_landmarks_are_the_same_rows_however_rows_and_columns_are_sorted():
    X = table()
    rng = np.random.default_rng(1)
    p, q = rng.permutation(len(X)), rng.permutation(5)
    here = measure(X, KINDS)
    there = measure(X[p][:, q], KINDS[q])
    assert len(here.rows.marks) == min(LANDMARKS, 400)
    assert set(p[there.rows.marks]) == set(here.rows.marks)


@pytest.mark.parametrize("tail", [1, 3, 6, 10])
@pytest.mark.parametrize("n", [5, 8, 50, 300])
def test_functions_of_a_very_long_tail_are_sound(tail, n):
    """Knots that lie from 1e-5 to 1e5 apart: no function without variance, none rougher than nothing."""
    for seed in range(3):
        x = np.exp(tail * np.random.default_rng(seed).normal(size=n))
        design = measure(np.column_stack([x, np.arange(n)]))
        assert np.isfinite(design.sums.G).all()
        assert np.isfinite(design.sums.rough).all()
        np.testing.assert_allclose(np.diag(design.sums.G), n, rtol=1e-3)
        assert np.isfinite(design.rows.Y).all()
        np.testing.assert_allclose(design.rows.F[0], (x - x.mean()) / x.std(), atol=1e-3 * n)


def test_climbs_begin_where_the_likeliest_causes_end():
    design = measure(table(), KINDS)
    first = design.targets.first
    assert len(first) == len(design.rows.Y)
    assert ((first >= 0) & (first < LINES * BENDS)).all()
    strong = design.targets.starts[1]
    assert first[strong] == additive(design.sums, strong, np.array([0, 2, 3, 4]), FIRST)[3]


@pytest.mark.parametrize("law", [stats.uniform(), stats.gamma(2.0), stats.laplace(), stats.t(4), stats.norm()])
def test_what_a_scale_adds_to_a_row_is_the_ratio_of_true_densities_up_to_a_constant(law):
    """Log density of the column, less that of its scores; the ends, where few rows are, are left out."""
    x = law.rvs(size=4000, random_state=np.random.default_rng(0))
    z = (x - x.mean()) / x.std()
    own, scores = Column.of(z, "continuous", SCALES).effects
    assert not row_margin(own, "continuous", z).any()
    assert not row_margin(scores, "ordinal", z).any()
    exact = law.logpdf(x) - stats.norm.logpdf(scores.transform(z))
    inner = (x > np.quantile(x, 0.02)) & (x < np.quantile(x, 0.98))
    off = row_margin(scores, "continuous", z)[inner] - exact[inner]
    assert off.std() < 0.25


@pytest.mark.parametrize("kind", ["categorical", "binary", "count"])
def test_compiled_functions_see_one_type_whatever_the_kinds(kind):
    """Another layout of an array would be compiled for anew, which takes minutes."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2 if kind == "binary" else 3, size=(200, 2)).astype(float)
    numbers = rng.normal(size=(200, 2))
    types = set()
    for X, kinds in (
        (numbers, ["continuous"] * 2),
        (values, [kind] * 2),
        (np.column_stack([numbers, values]), ["continuous"] * 2 + [kind] * 2),
    ):
        design = measure(X, kinds)
        problem = posed(design, Offer())
        types.add(str(numba.typeof(problem)))
    assert len(types) == 1
