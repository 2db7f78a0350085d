"""Rows drawn together: blocks of successive rows and subjects, in the learner's resamples and in the bootstrap."""

import json

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from dagtune.audit import audit
from dagtune.cli import main
from dagtune.conditional.resamples import draw_weights
from dagtune.tables import block_length, draw_rows, lag_correlation, read_table
from dagtune.tables.labels import labels_of
from dagtune.tables.together import blocks_of
from dagtune.validation import InputError


def walks(seed, n=300, memory=0.95):
    """Two columns that have nothing to do with each other, each like its own past."""
    noise = np.random.default_rng(seed).normal(size=(n, 2))
    for t in range(1, n):
        noise[t] += memory * noise[t - 1]
    return pd.DataFrame(noise, columns=["a", "b"])


def joined(frame, **options):
    result = ConditionalTuning(random_state=0, threads=1, **options).fit(frame).result_
    return (result.probability + result.probability.T)[0, 1]


# --- which rows are drawn together ------------------------------------------------------------------------------------


def test_a_block_has_as_many_successive_rows_as_asked_and_of_one_group():
    frame = walks(0, 200)
    found = blocks_of(10, frame.to_numpy(), None)
    assert np.bincount(found).tolist() == [10] * 20
    assert (np.diff(found) >= 0).all()
    groups = labels_of(np.arange(200) % 2, 200, "groups")
    parted = blocks_of(10, frame.to_numpy(), groups)
    assert np.bincount(parted).tolist() == [10] * 20
    for block in range(20):
        assert len(set(groups.codes[parted == block])) == 1


def test_the_length_that_data_tell_grows_with_dependence_and_with_rows():
    assert block_length(0.0, 1000) == 1
    assert block_length(0.5, 1000) < block_length(-0.9, 1000) == block_length(0.9, 1000)
    assert block_length(0.9, 1000) < block_length(0.9, 8000)
    assert block_length(1.0, 1000) == 100
    frame = walks(1)
    lag = max(lag_correlation(frame[name].to_numpy()) for name in frame)
    assert blocks_of("auto", frame.to_numpy(), None).max() + 1 == round(300 / block_length(lag, 300))


@pytest.mark.parametrize(
    ("blocks", "words"), [(50, "makes 6 blocks of 300 rows.*blocks=15"), ("weekly", "blocks='auto'"), (0, "blocks")]
)
def test_blocks_that_tell_nothing_are_refused_with_what_helps(blocks, words):
    with pytest.raises(InputError, match=words):
        read_table(walks(0), blocks=blocks)


def test_what_is_drawn_is_whole_blocks():
    together = np.repeat(np.arange(12), 5)[np.random.default_rng(0).permutation(60)]
    drawn = draw_rows(together, 60, np.random.default_rng(1))
    times = np.bincount(drawn, minlength=60)
    assert len(drawn) == 60
    assert all(len(set(times[together == block])) == 1 for block in range(12))
    assert times.max() > 1


def test_rows_of_a_block_weigh_alike_and_neither_order_nor_numbers_of_blocks_matter():
    X = np.random.default_rng(0).normal(size=(3, 60))
    together = np.repeat(np.arange(12), 5)
    one = draw_weights(X, 4, np.random.default_rng(7), together)
    assert all(len(np.unique(one[k, together == block])) == 1 for k in range(4) for block in range(12))
    assert np.array_equal(one.sum(axis=1), np.zeros(4))
    order = np.random.default_rng(1).permutation(60)
    other = draw_weights(X[:, order], 4, np.random.default_rng(7), 11 - together[order])
    assert np.array_equal(one[:, order], other)
    alone = draw_weights(X, 4, np.random.default_rng(7), np.arange(60))
    assert np.array_equal(alone, draw_weights(X, 4, np.random.default_rng(7)))


def test_rows_that_are_dropped_leave_their_block_shorter():
    frame = walks(0, 200)
    frame.loc[3:5, "a"] = np.nan
    table = read_table(frame, blocks=10, missing="drop")
    assert np.bincount(table.blocks).tolist() == [7] + [10] * 19
    assert np.array_equal(table.take(np.arange(7, 27)).blocks, np.repeat([0, 1], 10))


def test_many_groups_are_subjects_and_few_are_not():
    frame = walks(0, 240)
    many, few = (read_table(frame, groups=np.arange(240) % count) for count in (40, 4))
    assert np.array_equal(many.together, np.arange(240) % 40)
    assert few.together is None
    assert read_table(frame, groups=np.arange(240) % 40, blocks=3).together.max() + 1 == 80


# --- what they are good for -------------------------------------------------------------------------------------------


def test_blocks_make_less_sure_of_columns_that_only_resemble_their_own_past():
    """Drawn one by one, the rows make chance sure: 0.47 of at most 0.5 in the mean over six tables, 0.35 in blocks."""
    alone = [joined(walks(seed)) for seed in range(6)]
    together = [joined(walks(seed), blocks="auto") for seed in range(6)]
    sure = [np.abs(np.array(found) - 0.5).mean() for found in (alone, together)]
    assert sure[1] < sure[0] - 0.05


def test_blocks_leave_independent_rows_as_sure_as_they_were():
    x = np.random.default_rng(0).normal(size=300)
    frame = pd.DataFrame({"x": x, "y": np.tanh(2 * x) + 0.4 * np.random.default_rng(1).normal(size=300)})
    assert joined(frame, blocks=10) > 0.99


def test_the_bootstrap_draws_blocks_too():
    shares = []
    for options in ({}, {"blocks": 30}):
        learner = OptimalTuning(kernel="gaussian", alpha=0.01, random_state=0, **options)
        shares.append([learner.bootstrap(walks(seed), 30).adjacency.iloc[0, 1] for seed in range(6)])
    assert np.mean(shares[1]) != np.mean(shares[0])


def test_the_audit_names_the_option_with_a_number_that_is_taken():
    found = [each for each in audit(walks(0)).findings if each.code == "serial-dependence"]
    assert found
    for each in found:
        number = int(each.cure.partition("blocks=")[2].partition(")")[0])
        assert read_table(walks(0), blocks=number).blocks.max() + 1 == round(300 / number)


def test_blocks_mean_the_same_on_the_command_line(tmp_path, monkeypatch, capsys):
    frame = walks(2)
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "data.csv", "--blocks", "20", "--out", "out", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["blocks"] == 15
    result = ConditionalTuning(random_state=0, blocks=20).fit(tmp_path / "data.csv").result_
    stored = json.loads((tmp_path / "out" / "graph.json").read_text())
    assert np.allclose(np.array(stored["probability"], dtype=float), result.probability)
