"""Columns that are functions of others: found, named, and put where they belong."""

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning
from dagtune.result import Result
from dagtune.tables import read_table
from dagtune.tables.derived import find_derived
from dagtune.validation import InputError

RNG = np.random.default_rng(0)
N = 400
P = RNG.exponential(size=(N, 3))
HEIGHT, WEIGHT = RNG.normal(1.7, 0.1, N).round(2), RNG.normal(70, 10, N).round(1)
AGE = RNG.integers(18, 80, N).astype(float)
GRID = RNG.integers(0, 6, (N, 2)).astype(float)
SITE = RNG.integers(0, 4, N)


def found(**columns):
    frame = pd.DataFrame({"noise": RNG.normal(size=N), **columns})
    return {(one.how, one.column): one for one in find_derived(frame.to_numpy(float), list(frame.columns))}


@pytest.mark.parametrize(
    ("columns", "how", "column", "of", "known", "exact"),
    [
        ({"a": P[:, 0], "b": 3 - 2 * P[:, 0]}, "copy", "b", ("a",), False, True),
        ({"a": P[:, 0], "b": P[:, 1], "total": P[:, :2].sum(axis=1)}, "sum", "total", ("a", "b"), True, True),
        ({"a": P[:, 0] - 1, "b": P[:, 1] - 1, "c": P[:, 0] - P[:, 1]}, "sum", None, None, False, True),
        ({"a": P[:, 0], "b": P[:, 1], "c": P[:, 0] / P[:, 1] ** 2}, "product", None, None, False, True),
        ({"h": HEIGHT, "w": WEIGHT, "bmi": (WEIGHT / HEIGHT**2).round(2)}, "product", None, None, False, False),
        ({"age": AGE, "class": np.digitize(AGE, [30, 50, 65])}, "cut", "class", ("age",), True, True),
        (
            {"u": GRID[:, 0], "v": GRID[:, 1], "f": np.sin(GRID[:, 0] * 7 + GRID[:, 1] ** 2)},
            "table",
            "f",
            ("u", "v"),
            True,
            True,
        ),
    ],
)
def test_what_is_computed_from_others_is_found(columns, how, column, of, known, exact):
    (one,) = found(**columns).values()
    assert (one.how, one.known, one.exact) == (how, known, exact)
    assert {one.column, *one.of} == set(columns)
    if column is not None:
        assert (one.column, set(one.of)) == (column, set(of))


def test_indicators_are_one_variable():
    flags = {f"site{k}": (k == SITE).astype(float) for k in range(4)}
    (one,) = found(**flags).values()
    assert one.how == "indicators"
    assert {one.column, *one.of} == set(flags)
    assert "merge={" in str(one)
    del flags["site3"]  # the others still exclude each other
    assert [one.how for one in found(**flags).values()] == ["indicators"]


def test_nothing_is_found_where_nothing_is():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        parts = [rng.integers(0, 3, (300, 4)), rng.poisson(2, (300, 2)), rng.random((300, 3)) < 0.3]
        x = rng.normal(size=(300, 3))
        x[:, 2] = x[:, 0] + x[:, 1] + 0.05 * x[:, 2]  # little noise is noise
        X = np.column_stack([*parts, x]).astype(float)
        assert not find_derived(X, [f"x{j}" for j in range(X.shape[1])])


def test_a_total_comes_after_its_parts_and_the_result_says_so(tmp_path):
    frame = pd.DataFrame({"total": P[:, :2].sum(axis=1), "a": P[:, 0], "b": P[:, 1], "c": RNG.normal(size=N)})
    result = ConditionalTuning(random_state=0, threads=1).fit(frame).result_
    order = result.causal_order
    assert order.index("total") > max(order.index("a"), order.index("b"))
    assert result.derived == ("total is a sum of a, b: it was put after them",)
    assert result.derived[0] in result.warnings
    result.save(tmp_path / "saved")
    assert Result.load(tmp_path / "saved").derived == result.derived


def test_directions_between_copies_are_undecided():
    a = RNG.normal(size=N)
    frame = pd.DataFrame({"a": a, "b": np.tanh(2 * a) + RNG.normal(size=N) / 3, "again": 2 * a + 1})
    result = ConditionalTuning(random_state=0, threads=1).fit(frame).result_
    assert {"a", "again"} in [set(pair) for pair in result.undecided]


def test_indicators_have_no_edges_between_them_and_can_be_merged():
    flags = {f"site{k}": (k == SITE).astype(int) for k in range(3)}
    frame = pd.DataFrame({**flags, "y": np.array([0.0, 2.0, -1.0, 1.0])[SITE] + RNG.normal(size=N) / 2})
    result = ConditionalTuning(random_state=0, threads=1).fit(frame).result_
    assert not result.matrix[:3, :3].any()
    merge = {"site": list(flags)}
    table = read_table(frame, merge=merge, infer=True)
    assert table.names == ("site", "y")
    assert set(table.labels["site"]) == {*flags, "none"}
    one = ConditionalTuning(random_state=0, threads=1, merge=merge).fit(frame).result_
    assert one.names == ("site", "y")
    assert one.matrix[0, 1]
    for wrong in ({"site": ["site0"]}, {"site": ["site0", "nowhere"]}, {"site": ["site0", "y"]}, {"y": list(flags)}):
        with pytest.raises(InputError, match="merge="):
            read_table(frame, merge=wrong)
