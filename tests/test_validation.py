import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagtune import validation
from dagtune.tables import read_table
from dagtune.validation import (
    InputError,
    check_choice,
    check_count,
    check_names,
    format_bytes,
    parse_memory,
    read_entries,
)

GOOD = pd.DataFrame({"age": [1, 2, 4], "height": [0.5, 0.25, 1.0], "well": [True, False, True]})


def test_the_same_numbers_come_from_an_array_a_frame_and_a_file(tmp_path):
    for ending, write in {
        "a.csv": lambda path: GOOD.to_csv(path, index=False),
        "a.tsv": lambda path: GOOD.to_csv(path, index=False, sep="\t"),
        "a.parquet": GOOD.to_parquet,
        "a.feather": GOOD.to_feather,
    }.items():
        write(tmp_path / ending)
        table = read_table(tmp_path / ending)
        assert table.names == ("age", "height", "well")
        assert (table.values == GOOD.to_numpy(dtype=float)).all()
    assert (read_table(GOOD.to_numpy(dtype=float)).values == GOOD.to_numpy(dtype=float)).all()
    assert read_table(GOOD.to_numpy(dtype=float)).names == ("x0", "x1", "x2")
    GOOD.to_csv(tmp_path / "b.csv", index=False, sep=";")
    assert read_table(tmp_path / "b.csv", sep=";").names == ("age", "height", "well")


def with_column(values):
    return GOOD.assign(bad=values)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (with_column([1.0, np.nan, 2.0]), r"'bad' has 1 missing \(NaN\) of 3 values, the first in row 1.*draw"),
        (with_column([1.0, 2.0, -np.inf]), r"'bad' has 1 infinite of 3 values, the first in row 2.*clip"),
        (with_column(["u", "v", "w"]), "'bad' is not numeric.*'u'.*drop"),
        (with_column(["1", "2", "3"]), "'bad' is not numeric"),
        (with_column([1.0, None, "w"]), "'bad' is not numeric.*'w'"),
        (with_column([1 + 1j, 2, 3]), "'bad' is not numeric"),
        (with_column([7, 7, 7]), r"'bad' is constant \(7 in all 3 rows\).*drop_constant=True"),
        (with_column(pd.Categorical(["u", "v", "u"])), "'bad' is not numeric"),
        (GOOD.iloc[:1], "1 row, but at least 2"),
        (GOOD[["age"]], "1 column, but at least 2"),
        (GOOD.set_axis(["a", "a", "b"], axis=1), "duplicate column name 'a'"),
        (np.zeros(3), "2 dimensions"),
        (np.zeros((3, 2, 2)), "2 dimensions"),
        (np.array([["a", "b"], ["c", "d"]]), "'x0' is not numeric"),
        (np.ones((3, 2)) * 1j, "not real numbers"),
        (np.array([[np.nan, np.nan], [1.0, 2.0]]), "'x0' has 1 missing.*'x1' has 1 missing"),
    ],
)
def test_bad_data_are_refused_with_the_column_and_the_cure(data, words):
    with pytest.raises(InputError, match=words):
        read_table(data)


def test_bad_files_are_refused_with_the_cure(tmp_path):
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "model.pkl").write_bytes(b"nothing")
    with pytest.raises(InputError, match="ending"):
        read_table(tmp_path / "model.pkl")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="can't read"):
        read_table(tmp_path / "empty.csv")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 9)
    with pytest.raises(InputError):
        read_table(tmp_path / "binary.csv")
    (tmp_path / "other.parquet").write_text("no parquet")
    with pytest.raises(InputError, match="can't read"):
        read_table(tmp_path / "other.parquet")
    (tmp_path / "semicolons.csv").write_text("a;b\n1;2\n3;4\n")
    assert read_table(tmp_path / "semicolons.csv").names == ("a", "b")
    with pytest.raises(InputError, match="sep="):
        read_table(tmp_path / "semicolons.csv", sep=",")


def test_constant_columns_can_be_left_out():
    table = read_table(with_column([7, 7, 7]), drop_constant=True)
    assert table.names == ("age", "height", "well")
    assert table.dropped == ("bad",)


def test_huge_finite_values_are_no_infinity():
    table = read_table(np.array([[1e308, 1.0], [1.5e308, 2.0]]))
    assert table.values[1, 0] == 1.5e308


def test_choices_counts_and_names_say_what_would_work():
    with pytest.raises(InputError, match="did you mean 'gaussian'"):
        check_choice("kernel", "gausian", ["gaussian", "sigmoid"])
    for bad in (0, 2.5, True, "3"):
        with pytest.raises(InputError, match="whole number at least 1"):
            check_count("n", bad)
    with pytest.raises(InputError, match="from 1 to 3"):
        check_count("order", 4, most=3)
    with pytest.raises(InputError, match="2 names for 3 columns"):
        check_names("ab", count=3)


@given(st.integers(1, 2**50))
def test_a_size_reads_back_within_its_rounding(count):
    assert parse_memory(format_bytes(count)) == pytest.approx(count, rel=0.06, abs=1)
    assert parse_memory(count) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1B", 1),
        ("2kB", 2000),
        ("500MB", 5e8),
        ("2GB", 2e9),
        (" 1.5 kib ", 1536),
        ("1MiB", 2**20),
        ("1GiB", 2**30),
        ("1TiB", 2**40),
        ("7", 7),
        ("1", 1),
        (1, 1),
    ],
)
def test_sizes_have_units(text, count):
    assert parse_memory(text) == count


def test_a_file_of_entries_may_have_32_mebibytes_and_no_more(tmp_path, monkeypatch):
    path = tmp_path / "known.json"
    with path.open("wb") as file:
        file.truncate(2**25 + 1)
    with pytest.raises(InputError, match=r"it is longer than 32\.0 MiB"):
        read_entries(path, "knowledge")
    monkeypatch.setattr(validation, "_LONGEST", 64)
    path.write_text("{}".ljust(64))
    assert read_entries(path, "knowledge") == {}
    path.write_text("{}".ljust(65))
    with pytest.raises(InputError, match="it is longer than 64 B"):
        read_entries(path, "knowledge")


def test_brackets_may_be_fifty_deep_and_keys_ten_thousand_long(tmp_path):
    json_file, toml_file = tmp_path / "known.json", tmp_path / "known.toml"
    for text in ("[" * 50 + "]" * 50, "[" + "[{}], " * 100 + "[]]"):
        json_file.write_text(text)
        assert read_entries(json_file, "knowledge") == json.loads(text)
    json_file.write_text("[" * 51 + "]" * 51)
    with pytest.raises(InputError, match="more than 50 brackets are open at once"):
        read_entries(json_file, "knowledge")
    toml_file.write_text("a" * 9998 + ".b=1")
    assert read_entries(toml_file, "knowledge") == {"a" * 9998: {"b": 1}}
    toml_file.write_text("a" * 9999 + ".b=1")
    with pytest.raises(InputError, match="a key has more than 10 000 characters"):
        read_entries(toml_file, "knowledge")


def test_a_size_is_told_in_the_largest_unit_that_fits():
    assert [format_bytes(count) for count in (1, 1023, 1024)] == ["1 B", "1023 B", "1.0 KiB"]
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        assert format_bytes(512 * 1024**power) == (f"512 {unit}" if power == 0 else f"512.0 {unit}")
    assert format_bytes(1024**4) == "1.0 TiB"


@pytest.mark.parametrize("bad", ["", "lots", "-1GiB", "1 parsec", 0, -5, True])
def test_what_is_no_size_is_refused(bad):
    with pytest.raises(InputError, match="size such as '1GiB'"):
        parse_memory(bad)
