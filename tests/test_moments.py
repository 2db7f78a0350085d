import numpy as np
import pytest

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
