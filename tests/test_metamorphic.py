"""What must not matter does not: names, order, units where so claimed, a column or some rows more or less, types."""

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, OptimalTuning

NAMES = ["a", "b", "c", "d"]


def table(seed=0, n=400):
    """a -> b -> d <- c, with noise that is not Gaussian."""
    rng = np.random.default_rng(seed)
    a, c = rng.laplace(size=(2, n))
    b = np.tanh(1.5 * a) + 0.4 * rng.laplace(size=n)
    d = b - 0.8 * c + 0.4 * rng.uniform(-1.7, 1.7, size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def conditional(X, **options):
    return ConditionalTuning(random_state=0, **options).fit(X).result_


def optimal(X, **options):
    return OptimalTuning(**options).fit(X).result_


BOTH = pytest.mark.parametrize("learn", [conditional, optimal])


@pytest.fixture(scope="module")
def plain():
    return {learn: learn(table()) for learn in (conditional, optimal)}


def same(found, expected):
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    if expected.probability is not None:
        np.testing.assert_array_equal(found.probability, expected.probability)


@BOTH
def test_names_mean_nothing(learn, plain):
    for names in (["d", "c", "b", "a"], ["=1", "b\n", "10", "z"]):
        found = learn(table().set_axis(names, axis=1))
        assert found.names == tuple(names)
        same(found, plain[learn])


@BOTH
def test_the_order_of_rows_means_nothing(learn, plain):
    order = np.random.default_rng(1).permutation(400)
    found = learn(table().iloc[order])
    np.testing.assert_array_equal(found.matrix, plain[learn].matrix)
    if found.probability is not None:
        np.testing.assert_allclose(found.probability, plain[learn].probability, atol=0.02)


@BOTH
def test_the_order_of_columns_means_nothing(learn, plain):
    turned = ["c", "a", "d", "b"]
    found = learn(table()[turned])
    back = [turned.index(name) for name in NAMES]
    np.testing.assert_array_equal(found.matrix[np.ix_(back, back)], plain[learn].matrix)
    if found.probability is not None:
        np.testing.assert_allclose(found.probability[np.ix_(back, back)], plain[learn].probability, atol=0.1)


@BOTH
def test_the_origins_of_columns_mean_nothing(learn, plain):
    found = learn(table() + np.array([1.0, -20.0, 300.0, 0.5]))
    np.testing.assert_array_equal(found.matrix, plain[learn].matrix)


def test_one_unit_for_all_columns_means_nothing_to_the_conditional_learner(plain):
    """That noise may be equal in the units of the table is looked at in any of them."""
    found = conditional(table() * 1000)
    np.testing.assert_array_equal(found.matrix, plain[conditional].matrix)
    np.testing.assert_allclose(found.probability, plain[conditional].probability, atol=0.05)


@pytest.mark.parametrize("noise", ["free", "non-gaussian"])
def test_units_mean_nothing_where_noise_scales_are_unrelated(noise):
    one = conditional(table(), noise=noise)
    other = conditional(table() * [1e-3, 1e4, 7.0, 1.0], noise=noise)
    np.testing.assert_allclose(other.probability, one.probability, atol=0.02)


def sure(result, least=0.9):
    return {(result.names[i], result.names[j]) for i, j in np.argwhere(result.probability > least)}


def test_a_column_of_noise_changes_no_sure_edge_and_has_none(plain):
    for seed in range(3):
        X = table().assign(noise=np.random.default_rng(10 + seed).normal(size=400))
        found = conditional(X)
        position = found.names.index("noise")
        assert max(found.probability[position].max(), found.probability[:, position].max()) < 0.5
        assert sure(plain[conditional]) <= sure(found, 0.5)


def joined(result, one, other):
    i, j = result.names.index(one), result.names.index(other)
    return result.matrix[i, j] or result.matrix[j, i]


def test_a_column_of_noise_has_no_strong_edge_in_ot_and_parts_no_cause_from_its_effect(plain):
    """OT promises no more: the number of pairs in its skeleton grows with every column, so weak edges come and go."""
    strength, matrix = plain[optimal].strength, plain[optimal].matrix
    for seed in range(3):
        found = optimal(table().assign(noise=np.random.default_rng(10 + seed).normal(size=400)))
        own = found.matrix.copy()
        own[:4, :4] = False
        assert found.strength[own].max(initial=0.0) < np.median(strength[matrix])
        assert joined(found, "a", "b")
        assert joined(found, "b", "d")


def test_a_copy_of_a_column_is_told_by_ot_and_parts_no_others(plain):
    found = optimal(table().assign(copy=lambda X: X["a"]))
    assert any("copies" in words and "copy" in words for words in found.warnings)
    strength, matrix = plain[optimal].strength, plain[optimal].matrix
    strong = np.argwhere(matrix & (strength >= np.median(strength[matrix])))
    others = [(NAMES[i], NAMES[j]) for i, j in strong if "a" not in (NAMES[i], NAMES[j])]
    assert others
    assert all(joined(found, *pair) for pair in others)


def test_a_copy_of_a_column_changes_no_sure_edge_of_the_others(plain):
    found = conditional(table().assign(copy=lambda X: X["a"]))
    assert any("copy" in words for words in found.derived)
    others = {edge for edge in sure(plain[conditional]) if "a" not in edge}
    assert others
    assert others <= sure(found, 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_sure_edges_stay_without_one_row_in_a_hundred(seed, plain):
    kept = np.sort(np.random.default_rng(seed).permutation(400)[4:])
    before = sure(plain[conditional])
    assert len(before) >= 3
    assert before <= sure(conditional(table().iloc[kept]), 0.5)


def test_strong_edges_of_ot_stay_without_one_row_in_a_hundred(plain):
    """OT gives no probabilities: of its edges the stronger half must stay joined."""
    strength, matrix = plain[optimal].strength, plain[optimal].matrix
    strong = np.argwhere(matrix & (strength >= np.median(strength[matrix])))
    for seed in range(3):
        kept = np.sort(np.random.default_rng(seed).permutation(400)[4:])
        found = optimal(table().iloc[kept]).matrix
        assert all(found[i, j] or found[j, i] for i, j in strong)


@BOTH
def test_wider_types_of_the_same_numbers_mean_nothing(learn):
    rng = np.random.default_rng(3)
    X = table().round(2).astype(np.float32)
    X["e"] = rng.integers(-40, 40, 400).astype(np.int8)
    narrow = learn(X)
    same(learn(X.astype(np.float64)), narrow)
    same(learn(X.astype({"e": np.int64})), narrow)
    same(learn(X.astype({"e": "Int32"})), narrow)
