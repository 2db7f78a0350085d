import numpy as np
import pytest

from dagtune.engine.dependence import measure_dependence
from dagtune.engine.features import SumColumn
from dagtune.engine.moments import compress_columns, cross_products
from dagtune.tables.rows import MemoryRows
from test_features import column_of

X = np.random.default_rng(0).normal(loc=[0, 5, -2], size=(203, 3))


def placed(position):
    column = column_of(X[:, position], "gaussian")
    return SumColumn((position,), column.origin, column.bandwidth, column.expansion)


def test_chunks_of_any_length_add_up_to_the_same_numbers():
    columns = [placed(j) for j in range(3)]
    found = []
    for length in (1, 7, 100, 203, 4096):
        rows = MemoryRows(X).rechunked(length)
        features = compress_columns(rows, columns, threads=2)
        found.append(cross_products(rows, features, features, threads=2))
    for products, diagonals in found[1:]:
        assert products == pytest.approx(found[0][0], rel=1e-9)
        assert diagonals == pytest.approx(found[0][1], rel=1e-9)


def test_sums_over_rows_are_sums_over_rows():
    rows = MemoryRows(X).shifted(np.array([1.0, 2.0, 3.0])).rechunked(10)
    total, squares = rows.sum(lambda chunk: (chunk.sum(axis=1), chunk @ chunk.T))
    moved = X - [1, 2, 3]
    assert total == pytest.approx(moved.sum(axis=0))
    assert squares == pytest.approx(moved.T @ moved)


def test_a_sample_is_seeded_and_whole_where_there_are_few_rows():
    rows = MemoryRows(X)
    assert (rows.sample(500) == X.T).all()
    small = rows.sample(50, seed=3)
    assert small.shape == (3, 50)
    assert (small == rows.rechunked(7).sample(50, seed=3)).all()
    assert {tuple(row) for row in small.T} <= {tuple(row) for row in X}


def test_extremes_are_those_of_the_sums():
    members = np.array([[0, -1], [0, 1], [2, 2]])
    sums = np.array([X[:, 0], X[:, 0] + X[:, 1], 2 * X[:, 2]])
    for length in (9, 300):
        found = MemoryRows(X).rechunked(length).extremes(members, threads=2)
        assert found.low == pytest.approx(sums.min(axis=1))
        assert found.high == pytest.approx(sums.max(axis=1))
        assert found.smallest == pytest.approx(np.abs(sums).min(axis=1))


@pytest.mark.parametrize("kernel", ["gaussian", "rational-quadratic"])
def test_sums_in_one_pass_are_those_of_the_trace_formula_and_of_compressed_features(kernel, monkeypatch):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(150, 2)), rng.standard_t(2, size=150), rng.integers(0, 4, 150)])
    X = np.column_stack([X, -X[:, 0]])  # X_0 + X_4 is constant: nothing depends on it
    X[:, 1] += np.tanh(2 * X[:, 0])
    at_once = measure_dependence(X, kernel=kernel, engine="lowrank", threads=2)
    true = measure_dependence(X, kernel=kernel, engine="dense").second
    monkeypatch.setattr("dagtune.engine.lowrank._MOST_RANKS", 0)
    by_features = measure_dependence(X, kernel=kernel, engine="lowrank")
    assert not (at_once.second == by_features.second).all()  # two different ways
    assert (at_once.first == by_features.first).all()
    scale = true.max()
    assert np.abs(at_once.second - true).max() <= at_once.error_bound * scale
    assert np.abs(at_once.second - by_features.second).max() <= (at_once.error_bound + by_features.error_bound) * scale
    assert at_once.error_bound <= 1.01e-8
    assert (at_once.second[:, 0, 4] == 0).all()
