"""Residuals that depend on a parent are told, independent ones are left in peace."""

import numpy as np
import pytest
from scipy import stats

from dagtune.conditional.algorithm import conditional_tuning
from dagtune.conditional.checks import LEVEL, _holm, check_residuals
from dagtune.engine.dependence import measure_dependence


def pair(seed, n=300):
    """A cause and its bent effect."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return np.column_stack([a, a**2 + a + 0.3 * rng.normal(size=n)])


ONE_EDGE = np.array([[False, True], [False, False]])


def test_a_wrong_direction_is_flagged():
    """The required edge points from the effect to its cause: what is left of the cause still depends on the effect."""
    for seed in range(6):
        wrong = conditional_tuning(pair(seed), knowledge={"required": [["x1", "x0"]]}, noise="free", rng=0, threads=1)
        (check,) = wrong.checks
        assert check.child == "x0"
        assert check.against == ("x1",)
        assert not check.holds
        assert check.p_value < LEVEL
        assert "x0 still depends on x1" in check.words
        assert any("does not hold for 1 of 1" in warning for warning in wrong.warnings)


def test_a_right_direction_is_seldom_flagged():
    alarms = 0
    for seed in range(40):
        right = conditional_tuning(pair(seed), knowledge={"required": [["x0", "x1"]]}, noise="free", rng=0, threads=1)
        (check,) = right.checks
        alarms += not check.holds
        assert ("independent" in check.words) == check.holds
    assert alarms <= 5


def test_independent_residuals_are_flagged_no_more_often_than_the_level_says():
    graph = np.triu(np.ones((4, 4), dtype=bool), 1)
    alarms, p_values = 0, []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        checks = check_residuals(rng.normal(size=(4, 150)), rng.normal(size=(4, 150)), graph, "abcd")
        assert [check.child for check in checks] == ["b", "c", "d"]
        alarms += any(not check.holds for check in checks)
        p_values.append(checks[0].p_value)
    assert alarms <= 7
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_the_numbers_are_those_of_the_independence_test():
    rng = np.random.default_rng(1)
    values, left = rng.normal(size=(3, 100)), rng.normal(size=(3, 100))
    left[2] += 0.2 * values[1] ** 2
    graph = np.zeros((3, 3), dtype=bool)
    graph[[0, 1], 2] = True
    (check,) = check_residuals(left, values, graph, ["a", "b", "c"])
    assert check.against == ("a", "b")
    alone = [measure_dependence(np.column_stack([left[2], values[j]])) for j in (0, 1)]
    p = [one.pvalues()[0, 1] for one in alone]
    assert check.p_value == pytest.approx(min(1.0, 2 * min(p)), rel=1e-6)
    assert check.statistic == pytest.approx(alone[int(np.argmin(p))].first[0, 1], rel=1e-6)


def test_variables_without_parents_and_without_rest_are_not_checked():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 50))
    assert check_residuals(values, values, np.zeros((2, 2), dtype=bool), "ab") == ()
    nothing_left = np.vstack([values[0], np.zeros(50)])
    assert check_residuals(nothing_left, values, ONE_EDGE, "ab") == ()
    assert check_residuals(values[:, :5], values[:, :5], ONE_EDGE, "ab") == ()


def test_a_sorted_table_is_judged_like_a_shuffled_one():
    """Rows are taken from the whole table: its first ones may be no sample of it."""
    rng = np.random.default_rng(3)
    n = 4500
    a, e = rng.normal(size=n), rng.normal(size=n)
    by_effect = np.argsort(a + e)
    (check,) = check_residuals(np.array([a, e])[:, by_effect], np.array([a, a + e])[:, by_effect], ONE_EDGE, ["a", "b"])
    assert check.holds
    late = np.r_[np.zeros(2500), np.ones(2000)]
    (check,) = check_residuals(np.array([late, e]), np.array([late, e + late]), ONE_EDGE, ["a", "b"])
    assert check.holds


def test_a_rare_event_that_no_row_looked_at_shows_stops_nothing():
    rng = np.random.default_rng(4)
    rare = np.zeros(4001)
    rare[1] = 1.0
    values = np.array([rare, rng.normal(size=4001), rng.normal(size=4001)])
    graph = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    checks = check_residuals(values, values, graph, "abc")
    assert all(check.against in (("a",), ("b",), ("a", "b")) for check in checks)
    assert "c" in [check.child for check in checks]


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_the_longest_run_of_small_p_values(seed):
    """By its definition: the smallest k of m fall together if each of them passes its own bar."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0, 0.08, 5) * rng.choice([1, 0.1], 5)
    ranked = np.sort(p)
    fallen = 0
    while fallen < 5 and ranked[fallen] <= LEVEL / (5 - fallen):
        fallen += 1
    assert _holm(list(p)) == [bool(value <= ranked[fallen - 1]) if fallen else False for value in p]


def test_names_reach_the_terminal_escaped():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 60))
    (check,) = check_residuals(np.array([values[0], values[0] ** 2]), values, ONE_EDGE, ["bell\x07", "new\nline"])
    assert check.words.isprintable()
    assert not check.holds
    assert check.child == "new\nline"
