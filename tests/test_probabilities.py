"""Brier score and calibration of edge probabilities, against scikit-learn and by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from dagtune import InputError
from dagtune.metrics import brier, calibration
from dagtune.simulate import random_dag


@given(st.integers(2, 8), st.integers(0, 1000))
def test_the_brier_score_is_scikit_learns_over_ordered_pairs(nodes, seed):
    rng = np.random.default_rng(seed)
    truth = random_dag(nodes, int(rng.integers(1, nodes * (nodes - 1) // 2 + 1)), rng=rng)
    said = rng.random((nodes, nodes))
    apart = ~np.eye(nodes, dtype=bool)
    assert brier(truth, said) == pytest.approx(brier_score_loss(truth[apart], said[apart]))


def test_the_diagonal_plays_no_part_and_names_are_matched():
    truth = pd.DataFrame([[0, 1], [0, 0]], index=["a", "b"], columns=["a", "b"])
    said = pd.DataFrame([[0.5, 0.2], [0.9, 0.5]], index=["b", "a"], columns=["b", "a"])  # b -> a 0.2, a -> b 0.9
    assert brier(truth, said) == pytest.approx((0.1**2 + 0.2**2) / 2)
    assert np.isnan(brier([[0]], [[0]]))


def test_calibration_counts_each_pair_once_in_its_bin():
    rng = np.random.default_rng(3)
    truths = [random_dag(5, 6, rng=rng) for _ in range(20)]
    said = [np.round(rng.random((5, 5)), 2) for _ in truths]
    found = calibration(truths, said, bins=4)
    assert found.count.sum() == 20 * 20
    for b in range(4):
        inside = [
            (p[i, j], t[i, j])
            for t, p in zip(truths, said)
            for i in range(5)
            for j in range(5)
            if i != j and (b / 4 <= p[i, j] < (b + 1) / 4 or (b == 3 and p[i, j] == 1))
        ]
        assert found.count[b] == len(inside)
        assert found.said[b] == pytest.approx(np.mean([p for p, _ in inside]))
        assert found.right[b] == pytest.approx(np.mean([t for _, t in inside]))
    assert found.error == pytest.approx(np.average(np.abs(found.said - found.right), weights=found.count))
    assert len(str(found).splitlines()) == 5
    np.testing.assert_array_equal(found.edges, [0, 0.25, 0.5, 0.75, 1])
    one, listed = calibration(truths[0], said[0], bins=4), calibration(truths[:1], said[:1], bins=4)
    np.testing.assert_array_equal(listed.count, one.count)


def test_a_truthful_forecaster_is_calibrated():
    rng = np.random.default_rng(4)
    chance = np.array([[0, 0.3], [0.0, 0]])
    truths = [np.array([[0, rng.random() < 0.3], [0, 0]]) for _ in range(4000)]
    found = calibration(truths, [chance] * 4000)
    assert found.right[2 if found.count[2] else 3] == pytest.approx(0.3, abs=0.03)


def test_what_is_no_probability_is_refused():
    with pytest.raises(InputError, match=r"entry \[0, 1\] is 1.5"):
        brier([[0, 1], [0, 0]], [[0, 1.5], [0, 0]])
    with pytest.raises(InputError, match=r"entry \[1, 0\] is 1.5"):
        brier([[0, 1], [0, 0]], [[0, 1], [1.5, 0]])
    with pytest.raises(InputError):
        calibration([], [])
    with pytest.raises(InputError, match="2 true graphs and 1 matrices"):
        calibration([np.zeros((2, 2))] * 2, [np.zeros((2, 2))])
