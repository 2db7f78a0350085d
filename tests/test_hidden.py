"""Hidden common causes: found where they can be, not found where there are none, and said where they can't be told."""

import numpy as np
import pytest

from dagtune import ConditionalTuning, Result
from dagtune.tables import read_table
from dagtune.trust.hidden import draw_noises, find_hidden_causes

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


def judge(X, graph, **options):
    graph, table = np.asarray(graph, dtype=bool), read_table(X, **options)
    return find_hidden_causes(*draw_noises(table, graph), graph, table.names)


def chain(seed, strength, draw="exponential", rows=800):
    """a -> b -> c; a hidden cause of b and c if the strength is not 0."""
    rng = np.random.default_rng(seed)
    noise = getattr(rng, draw)
    a, hidden = noise(size=rows), noise(size=rows)
    b = a + noise(size=rows) + strength * hidden
    return np.column_stack([a, b, b + noise(size=rows) + strength * hidden])


@pytest.mark.parametrize("draw", ["exponential", "uniform", "laplace"])
def test_a_hidden_cause_of_a_joined_pair_is_found(draw):
    found = [judge(chain(seed, 1.0, draw, rows=2000), CHAIN) for seed in range(4)]
    assert sum(test.suspected for test, _ in found) >= 3
    named = [pair.pair for _, pairs in found for pair in pairs if pair.suspected]
    assert ("x1", "x2") in named


def test_no_alarm_where_nothing_is_hidden():
    alarms = [
        judge(chain(seed, 0.0, draw), CHAIN)[0].suspected for seed in range(5) for draw in ("exponential", "uniform")
    ]
    assert sum(alarms) <= 2


def test_independent_noise_gives_p_values_that_are_seldom_small():
    rng = np.random.default_rng(0)
    empty = np.zeros((5, 5), dtype=bool)
    tests = [
        find_hidden_causes(rng.normal(size=(5, 400)), rng.normal(size=(20, 5, 400)), empty, "abcde")[0]
        for _ in range(60)
    ]
    assert sum(test.worst <= 0.05 for test in tests) <= 8  # 3 are expected
    assert sum(test.together <= 0.05 for test in tests) <= 8
    assert sum(test.together <= 0.5 for test in tests) >= 18


def test_gaussian_pairs_that_are_joined_can_not_be_told_and_it_is_said():
    test, (pair,) = judge(chain(0, 1.0, "normal")[:, 1:], [[0, 1], [0, 0]])
    assert not test.suspected
    assert pair.blind
    assert "can't be told" in pair.words


def test_categories_have_noise_too():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 500)
    y = group + rng.exponential(size=500)
    test, pairs = judge(
        np.column_stack([y, group, rng.normal(size=500)]), [[0, 0, 0], [1, 0, 0], [0, 0, 0]], categorical="x1"
    )
    assert not test.suspected
    assert len(pairs) == 3


def test_a_saved_result_still_says_whether_something_is_hidden(tmp_path):
    result = ConditionalTuning(random_state=0).fit(chain(1, 1.5)).result_
    result.save(tmp_path)
    again = Result.load(tmp_path)
    assert again.hidden_cause_test == result.hidden_cause_test
    assert again.hidden_causes == result.hidden_causes
    if result.hidden_cause_test.suspected:
        assert again.verdict().headline.startswith("Do not act")


def test_too_few_rows_are_not_judged():
    assert judge(chain(0, 0.0, rows=99), CHAIN) == (None, ())
