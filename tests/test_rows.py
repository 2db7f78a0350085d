"""One table, wherever its rows live: the same sums, samples, knots and graphs as in memory; and what is refused."""

import os
import re
import subprocess
import sys

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from dagtune.conditional.design import measure
from dagtune.conditional.numbers import ROWS
from dagtune.engine.kernels import MEDIAN_ROWS
from dagtune.regression.gram import _SAMPLE
from dagtune.tables import SOME_ROWS, MemoryRows, read_table
from dagtune.tables.rows import SAMPLES
from dagtune.tables.streams import StreamedRows
from dagtune.validation import InputError

#: So little that no table here is read whole.
LITTLE = "700KiB"


def numbers(n=6000, seed=0):
    """A chain with a second cause, 4 columns; more rows than the conditional learner looks at one by one."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + rng.uniform(-1, 1, size=n)
    c = a * np.abs(a) + rng.laplace(size=n) / 2
    e = b + np.sin(2 * c) + rng.uniform(-1, 1, size=n)
    return np.column_stack([e, b, a, c])


NAMES = ["x0", "x1", "x2", "x3"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The same table in every place that rows can live in."""
    folder, X = tmp_path_factory.mktemp("rows"), numbers()
    frame = pd.DataFrame(X, columns=NAMES)
    frame.to_csv(folder / "t.csv", index=False, float_format="%.17g")
    pq.write_table(pa.Table.from_pandas(frame), folder / "one.parquet", row_group_size=777)
    (folder / "many").mkdir()
    for k, (start, end) in enumerate([(0, 1000), (1000, 1001), (1001, 4500), (4500, 6000)]):
        part = pa.Table.from_pandas(frame[start:end])
        pq.write_table(part, folder / "many" / f"part-{k}.parquet", row_group_size=999)
    np.save(folder / "t.npy", X)
    return {
        "csv": str(folder / "t.csv"),
        "parquet": folder / "one.parquet",
        "folder": folder / "many",
        "pattern": str(folder / "many" / "*.parquet"),
        "arrow": ds.dataset(folder / "many", format="parquet"),
        "polars": pl.scan_parquet(folder / "one.parquet"),
        "polars csv": pl.scan_csv(folder / "t.csv"),
        "memmap": np.load(folder / "t.npy", mmap_mode="r"),
        "dask array": da.from_array(X, chunks=(1300, 2)),
        "dask frame": dd.from_pandas(frame, npartitions=3),
    }


PLACES = (
    "csv",
    "parquet",
    "folder",
    "pattern",
    "arrow",
    "polars",
    "polars csv",
    "memmap",
    "dask array",
    "dask frame",
)


@pytest.mark.parametrize("place", PLACES)
def test_rows_are_the_same_wherever_they_live(sources, place):
    X = numbers()
    table = read_table(sources[place], memory=LITTLE, infer=True)
    assert isinstance(table.rows, StreamedRows)
    assert table.names == tuple(NAMES)
    assert table.kinds == ("continuous",) * 4
    assert (table.count, table.width) == X.shape
    here = MemoryRows(X)
    np.testing.assert_array_equal(table.rows.sample(50), here.sample(50))
    np.testing.assert_array_equal(table.rows.sample(5000), here.sample(5000))
    np.testing.assert_array_equal(table.rows.read(slice(990, 1010)), X[990:1010])
    np.testing.assert_array_equal(table.rows.read(np.array([0, 999, 1000, 1001, 5999])), X[[0, 999, 1000, 1001, 5999]])
    np.testing.assert_array_equal(table.rows.extremes().low, X.min(axis=0))
    np.testing.assert_array_equal(table.rows.extremes().high, X.max(axis=0))
    there, expected = table.rows.ranges(), here.ranges()
    np.testing.assert_allclose(there.mean, X.mean(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(there.covariance, np.cov(X.T, ddof=0), rtol=1e-11)
    np.testing.assert_array_equal(there.low, expected.low)
    if not place.startswith("dask"):  # chunks by row number: not a digit differs
        np.testing.assert_array_equal(there.covariance, expected.covariance)


@pytest.mark.parametrize("place", PLACES)
def test_both_learners_find_the_same_from_the_same_sums(sources, place):
    X = numbers()
    rows = read_table(sources[place], memory=LITTLE, infer=True).rows
    there, here = measure(rows), measure(X)
    for name in ("G", "C", "power", "rough"):
        expected = getattr(here.sums, name)
        np.testing.assert_allclose(getattr(there.sums, name), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(there.rows.F, here.rows.F, atol=1e-9)
    np.testing.assert_allclose(there.rows.Y, here.rows.Y, atol=1e-9)
    np.testing.assert_array_equal(there.rows.marks, here.rows.marks)
    sums = OptimalTuning(memory="32MiB", threads=1).fit(read_table(sources[place], memory=LITTLE))
    same = OptimalTuning(memory="32MiB", threads=1).fit(X)
    assert sums.adjacency_matrix_.equals(same.adjacency_matrix_)
    np.testing.assert_allclose(sums.result_.opening, same.result_.opening, rtol=1e-9)


@pytest.mark.parametrize("place", ["csv", "folder", "polars", "dask array"])
def test_the_conditional_learner_finds_the_same_graph(sources, place):
    told = []
    learner = ConditionalTuning(random_state=0, progress=lambda phase, _: told.append(phase))
    there = learner.fit(read_table(sources[place], memory=LITTLE, infer=True))
    here = ConditionalTuning(random_state=0).fit(numbers())
    assert there.adjacency_matrix_.equals(here.adjacency_matrix_)
    np.testing.assert_allclose(there.result_.probability, here.result_.probability, atol=1e-6)
    assert any("seeded sample" in warning for warning in there.result_.warnings)
    assert there.n_features_in_ == 4
    assert any(phase.startswith("sums: about") and "MiB" in phase for phase in told)
    with pytest.raises(InputError, match=r"this needs about .* but only memory='700.0 KiB'"):
        ConditionalTuning(memory=LITTLE).fit(sources[place])
    with pytest.raises(InputError, match=r"a sample of 6000 rows and 4 columns needs 375.0 KiB"):
        ConditionalTuning(memory="300KiB").fit(sources[place])


@pytest.mark.parametrize("place", ["csv", "folder", "pattern", "polars", "dask array", "arrow", "memmap"])
def test_what_fits_into_memory_is_read_whole(sources, place):
    table = read_table(sources[place])
    assert isinstance(table.rows, MemoryRows)
    np.testing.assert_array_equal(table.values, numbers())
    some = read_table(sources[place], drop="x1", memory="10MiB")
    np.testing.assert_array_equal(some.values, numbers()[:, [0, 2, 3]])


def test_every_sample_that_is_drawn_is_among_those_drawn_together():
    assert {ROWS, MEDIAN_ROWS, _SAMPLE, SOME_ROWS} <= set(SAMPLES)


def test_all_rows_at_once_are_refused_where_they_do_not_fit(sources):
    table = read_table(sources["parquet"], memory=LITTLE)
    table.rows.memory = 100 * 1024
    with pytest.raises(InputError, match=r"all 6000 rows at once need .* memory='100.0 KiB'"):
        _ = table.values
    assert table.some(100).values.shape == (100, 4)


def other_kinds(n=8800):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n),
            "place": rng.choice(["north", "south", "east"], n, p=[0.5, 0.499, 0.001]),
            "visits": rng.poisson(3, n),
            "size": rng.choice(["small", "middle", "large"], n),
            "age": rng.normal(size=n),
        }
    )


@pytest.mark.parametrize("how", ["csv", "parquet", "dask"])
def test_kinds_and_codes_are_those_of_the_table_in_memory(tmp_path, how):
    frame = other_kinds()
    kinds = {"size": ["small", "middle", "large"]}
    here = read_table(frame, kinds=kinds, infer=True)
    if how == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False, float_format="%.17g")
    elif how == "parquet":
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", row_group_size=500)
    data = dd.from_pandas(frame, npartitions=4) if how == "dask" else tmp_path / f"t.{how}"
    there = read_table(data, kinds=kinds, infer=True, memory=LITTLE)
    assert isinstance(there.rows, StreamedRows)
    assert there.kinds == here.kinds
    assert dict(there.labels) == dict(here.labels)
    np.testing.assert_array_equal(there.rows.read(np.arange(8800)), here.values)
    assert any("rare categories of place" in note for note in there.notes)


def test_rows_with_gaps_are_left_out_or_refused(tmp_path):
    frame = pd.DataFrame(numbers(), columns=NAMES)
    frame.loc[[5, 3000, 5999], "x1"] = np.nan
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", row_group_size=700)
    with pytest.raises(InputError, match="column 'x1' has 3 missing"):
        read_table(tmp_path / "t.parquet", memory=LITTLE)
    for data in (tmp_path / "t.parquet", dd.from_pandas(frame, npartitions=3)):
        table = read_table(data, memory=LITTLE, missing="drop")
        assert (table.count, table.lost_rows) == (5997, 3)
        np.testing.assert_array_equal(table.rows.read(np.arange(5997)), frame.dropna().to_numpy())
        np.testing.assert_array_equal(table.rows.read(np.array([4990, 5996])), frame.dropna().to_numpy()[[4990, 5996]])
    with pytest.raises(InputError, match="missing='impute' needs the table in memory"):
        read_table(tmp_path / "t.parquet", memory=LITTLE, missing="impute")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "asked",
    [
        {"missing": "impute"},
        {"missing": "model"},
        {"merge": {"m": ["x0", "x1"]}},
        {"groups": "x0"},
        {"conditions": "x0"},
    ],
)
def test_what_needs_all_rows_is_refused_before_any_is_read(tmp_path, monkeypatch, suffix, asked):
    frame, path = pd.DataFrame(np.round(numbers(), 12), columns=NAMES), tmp_path / f"t{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)

    def read(*_, **__):
        raise AssertionError("rows were read")

    monkeypatch.setattr("dagtune.tables.opening.spool_text", read)
    monkeypatch.setattr("dagtune.tables.streams.ParquetPart.frames", read)
    name = {"conditions": "experiments"}.get(next(iter(asked)), next(iter(asked)))
    with pytest.raises(InputError, match=f"^{name}.* needs the table in memory.*: pass more memory=, or"):
        read_table(path, memory="100KiB", **asked)


def test_a_large_text_table_is_tidied_as_a_small_one_is(tmp_path, monkeypatch):
    monkeypatch.setattr("dagtune.tables.spool._ROWS", 2500)
    frame = pd.DataFrame(np.round(numbers(), 6), columns=NAMES)
    frame = frame.assign(id=range(1, 6001), who=[f"p{k}" for k in range(6000)])
    names, rows = frame.to_csv(index=False, sep=";", decimal=",").split("\n", 1)
    units, empty = ";".join("mg" for _ in frame), ";" * (frame.shape[1] - 1)
    (tmp_path / "t.csv").write_text(f"{names}\n{units}\n{rows}{empty}\nTotal{empty}\n")
    whole = read_table(tmp_path / "t.csv")
    for checkpoint in (None, tmp_path / "there", tmp_path / "there"):  # the last time from what was kept
        pieces = read_table(tmp_path / "t.csv", memory=LITTLE, checkpoint=checkpoint)
        assert not pieces.rows.in_memory
        assert pieces.names == whole.names == tuple(NAMES)
        assert pieces.count == whole.count == 6000
        said = [sorted(re.sub(r"\b(row|line) \d+", "there", note) for note in table.notes) for table in (whole, pieces)]
        assert [note for note in said[1] if "do not fit into memory" not in note] == said[0]
        ranges = pieces.rows.ranges(None)
        np.testing.assert_allclose(ranges.low, whole.values.min(axis=0))
        np.testing.assert_allclose(ranges.high, whole.values.max(axis=0))


def test_constant_columns_are_refused_or_left_out(tmp_path):
    frame = pd.DataFrame(numbers(), columns=NAMES).assign(same=3.0)
    for data in (frame, dd.from_pandas(frame, npartitions=3)):
        if data is frame:
            pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
            data = tmp_path / "t.parquet"
        with pytest.raises(InputError, match="column 'same' is constant"):
            read_table(data, memory=LITTLE)
        table = read_table(data, memory=LITTLE, drop_constant=True)
        assert (table.names, table.dropped) == (tuple(NAMES), ("same",))
        np.testing.assert_array_equal(table.rows.sample(7), MemoryRows(numbers()).sample(7))


def test_a_part_that_does_not_fit_the_others_is_refused_by_its_name(tmp_path):
    frame = pd.DataFrame(numbers(), columns=NAMES)
    wrong = {
        "has no column 'x2'": frame.drop(columns="x2"),
        "holds text in column 'x2'": frame.assign(x2="a"),
        "has no rows": frame[:0],
        "has a column 'more'": frame.assign(more=1.0),
    }
    for k, (said, part) in enumerate(wrong.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        pq.write_table(pa.Table.from_pandas(frame), folder / "part-0.parquet")
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / "part-1.parquet")
        with pytest.raises(InputError, match=f"part-1.parquet' {said}"):
            read_table(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"is a folder without \.parquet files"):
        read_table(tmp_path / "empty")
    with pytest.raises(InputError, match="no file is called"):
        read_table(str(tmp_path / "nothing-*.parquet"))


def test_text_between_numbers_is_refused_with_its_rows(tmp_path):
    frame = pd.DataFrame(numbers(60_000), columns=NAMES)
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    lines[55_001] = "1,2,oops,4"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"'x2'.*oops"):
        read_table(tmp_path / "t.csv", memory=LITTLE)


#: A fit with little more address space than a process has that has fitted before; read whole, the table needs more.
_BOUNDED = """
import resource, sys
import numpy as np
from dagtune import ConditionalTuning, OptimalTuning
from dagtune.tables import read_table
learner = {"ot": OptimalTuning, "conditional": ConditionalTuning}[sys.argv[1]]
learner(random_state=0, threads=1).fit(sys.argv[2] + "/few.parquet")
now = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 160 * 2**20,) * 2)
if sys.argv[3] == "4GiB":
    read_table(sys.argv[2] + "/many", memory="4GiB")
found = learner(random_state=0, threads=1, memory=sys.argv[3]).fit(sys.argv[2] + "/many")
print(found.result_.settings["rows"])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are those of Linux")
@pytest.mark.parametrize("name", ["ot", "conditional"])
def test_a_fit_keeps_to_the_memory_that_the_system_grants(tmp_path, name):
    from benchmarks.large import piece, write

    write(tmp_path / "many", 600_000, 2)
    frame = pd.DataFrame(piece(99, 2000), columns=[f"v{j}" for j in range(20)])
    frame.to_parquet(tmp_path / "few.parquet")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "2"}
    command = [sys.executable, "-c", _BOUNDED, name, str(tmp_path)]
    bounded = subprocess.run([*command, "64MiB"], env=env, capture_output=True, text=True)
    assert bounded.stdout == "600000\n", bounded.stderr
    whole = subprocess.run([*command, "4GiB"], env=env, capture_output=True, text=True)
    assert "MemoryError" in whole.stderr or "Unable to allocate" in whole.stderr or "malloc" in whole.stderr
