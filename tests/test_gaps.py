"""Missing values: refused, left out, filled in, or drawn from what the other columns tell."""

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from dagtune.tables import DRAWS, look_at_gaps, read_table
from dagtune.tables.completing import completed
from dagtune.validation import InputError


def table_with_gaps(seed=0, n=400, share=0.15):
    """x -> y -> z, and a category; gaps anywhere."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.tanh(2 * x) + 0.3 * rng.normal(size=n)
    z = y**2 + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "y": y, "z": z, "c": np.where(x + rng.normal(size=n) > 0, "up", "down")})
    return frame.mask(rng.random(frame.shape) < share)


def test_draws_keep_what_is_known_and_follow_the_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    full = np.column_stack([x, 2 * x + 0.1 * rng.normal(size=2000), x**2 + 0.1 * rng.normal(size=2000), x > 0])
    gone = rng.random(full.shape) < 0.1
    kinds = ["continuous"] * 3 + ["categorical"]
    tables = list(completed(np.where(gone, np.nan, full), kinds, np.random.default_rng(1), 3))
    assert len(tables) == 3
    for found in tables:
        np.testing.assert_array_equal(found[~gone], full[~gone])
        assert np.isfinite(found).all()
        assert set(found[:, 3]) == {0.0, 1.0}
        # As near to the line, and to the parabola, which has two answers for x, as the rows without gaps.
        assert np.std(found[:, 1] - 2 * found[:, 0]) < 0.25
        assert np.std(found[:, 2] - found[:, 0] ** 2) < 0.5
        assert np.mean((found[:, 0] > 0) == found[:, 3]) > 0.95
        assert abs(found[:, 0].std() - 1) < 0.05
    assert not np.array_equal(tables[0], tables[1])


def test_all_rows_stay_and_the_result_says_what_was_done():
    frame = table_with_gaps()
    result = ConditionalTuning(random_state=0, threads=1, missing="model").fit(frame).result_
    assert result.settings["rows"] == len(frame)
    assert f"mean over {DRAWS} draws" in result.probability_words
    assert any("were drawn from what the other columns tell" in warning for warning in result.warnings)
    assert any("of the cells are missing" in warning for warning in result.warnings)
    assert result.probability[0, 1] > 0.8 < result.probability[1, 2]
    again = ConditionalTuning(random_state=0, threads=1, missing="model").fit(frame).result_
    np.testing.assert_array_equal(result.probability, again.probability)


def test_one_word_means_the_same_everywhere():
    frame = table_with_gaps().drop(columns="c")
    for learner in (ConditionalTuning(threads=1), OptimalTuning()):
        with pytest.raises(InputError, match="missing='drop' or 'model'"):
            learner.fit(frame)
        with pytest.raises(InputError, match="'error', 'drop', 'impute', 'model'"):
            type(learner)(missing="guess").fit(frame)
    dropped = OptimalTuning(missing="drop").fit(frame).result_
    assert any(f"{len(frame.dropna())} are left" in warning for warning in dropped.warnings)
    np.testing.assert_array_equal(
        OptimalTuning(missing="model").fit(frame).result_.matrix,
        OptimalTuning().fit(read_table(frame, missing="model")).result_.matrix,
    )
    nullable = frame.convert_dtypes()
    masked = np.ma.masked_invalid(frame.to_numpy())
    for other in (nullable, masked):
        np.testing.assert_array_equal(read_table(other, missing="model").gone, frame.isna().to_numpy())


def test_a_resample_keeps_its_gaps():
    frame = table_with_gaps(n=150)
    table = read_table(frame, missing="model", infer=True)
    taken = table.take(np.arange(50))
    np.testing.assert_array_equal(taken.gone, frame.isna().to_numpy()[:50])
    found = ConditionalTuning(random_state=0, threads=1, missing="model").bootstrap(frame, 2)
    assert found.n_samples == 2


def test_share_pattern_and_whether_gaps_can_be_predicted():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 4))
    gone = np.zeros(values.shape, dtype=bool)
    gone[:, 1] = (values[:, 0] > 0) & (rng.random(1000) < 0.4)
    gone[:, 2] = gone[:, 3] = rng.random(1000) < 0.1
    seen = look_at_gaps(gone, np.where(gone, np.nan, values), ["a", "b", "c", "d"])
    assert seen.complete == (~gone.any(axis=1)).sum()
    assert seen.cells == gone.mean()
    assert {(one.column, one.by) for one in seen.predictable} == {("b", "a"), ("c", "d"), ("d", "c")}
    (b,) = [one for one in seen.predictable if one.column == "b"]
    assert b.above > 0.3
    assert b.below < 0.05
    assert "above its median" in str(b)
    assert look_at_gaps(np.zeros((5, 2), bool), np.ones((5, 2)), ["a", "b"]) is None


def test_gaps_anywhere_are_not_said_to_be_predictable():
    alarms = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(200, 5))
        gone = rng.random(values.shape) < 0.15
        alarms += bool(look_at_gaps(gone, np.where(gone, np.nan, values), list("abcde")).predictable)
    assert alarms <= 1
