"""A table is read once, whatever it comes from: values, names, kinds of columns, and what was left out."""

import doctest
import importlib
import time

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xarray as xr

from dagtune import hsic, measure_dependence
from dagtune.audit import audit
from dagtune.baselines import BASELINES
from dagtune.bootstrap import bootstrap
from dagtune.conditional.algorithm import conditional_tuning
from dagtune.estimators import ConditionalTuning, OptimalTuning
from dagtune.graph import to_frame
from dagtune.ot.algorithm import optimal_tuning
from dagtune.report.content import page_content
from dagtune.simulate import var_sortability
from dagtune.tables import (
    FORMATS,
    KINDS,
    Kind,
    MemoryRows,
    Rows,
    Table,
    read_table,
    register_format,
    register_kind,
)
from dagtune.tables import reading as reading_module
from dagtune.validation import MAX_COLUMNS, InputError, check_names


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    b = np.tanh(a) + rng.normal(size=120)
    c = np.tanh(a) + np.tanh(b) + rng.normal(size=120)
    return pd.DataFrame({"cause": a, "middle": b, "effect": c})


def as_dataset(frame):
    return xr.Dataset({name: ("row", frame[name].to_numpy()) for name in frame})


def as_labelled_array(frame):
    return xr.DataArray(frame.to_numpy(), dims=("row", "column"), coords={"column": list(frame.columns)})


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame({name: frame[name].to_numpy() for name in frame}),
    "polars lazy": lambda frame: pl.LazyFrame({name: frame[name].to_numpy() for name in frame}),
    "pyarrow": lambda frame: pa.table({name: frame[name].to_numpy() for name in frame}),
    "dask": lambda frame: dd.from_pandas(frame, npartitions=3),
    "xarray dataset": as_dataset,
    "xarray array": as_labelled_array,
    "table": read_table,
    "structured array": lambda frame: frame.to_records(index=False),
    "columns in a dict": lambda frame: frame.to_dict("list"),
    "records": lambda frame: frame.to_dict("records"),
}


# --- frames of other libraries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", FRAMES.values(), ids=FRAMES)
def test_every_frame_keeps_its_names_and_values(frame, convert):
    table = read_table(convert(frame))
    assert table.names == ("cause", "middle", "effect")
    np.testing.assert_array_equal(table.values, frame)
    assert table.kinds == ("continuous",) * 3


@pytest.mark.parametrize("convert", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("learner", [OptimalTuning(threads=1), ConditionalTuning(threads=1, random_state=0)])
def test_both_learners_keep_the_names_of_every_frame_and_learn_the_same(frame, convert, learner):
    learner.fit(convert(frame))
    assert list(learner.feature_names_in_) == list(frame.columns)
    assert learner.n_features_in_ == 3
    assert list(learner.adjacency_matrix_) == list(frame.columns)
    found = learner.adjacency_matrix_.to_numpy()
    np.testing.assert_array_equal(found, learner.fit(frame.to_numpy()).adjacency_matrix_)


MIXED = {"n": [1, None, 3], "flag": [True, False, True], "word": ["u", "v", None]}


@pytest.mark.parametrize("library", [pl.DataFrame, pl.LazyFrame, pa.table, pd.DataFrame])
def test_missing_values_texts_and_booleans_mean_the_same_in_every_library(library):
    data = library(MIXED)
    with pytest.raises(InputError, match="'word' is not numeric"):
        read_table(data)
    with pytest.raises(InputError, match=r"'n' has 1 missing .* row 1"):
        read_table(data, categorical="word")
    filled = read_table(data, categorical="word", missing="impute")
    assert filled.values.tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert filled.filled == 2
    assert filled.kinds == ("continuous", "continuous", "categorical")


def test_ordered_dictionaries_of_arrow_keep_their_order():
    size = pd.Categorical(["low", "high", "middle"] * 20, ["low", "middle", "high"], ordered=True)
    given = pa.Table.from_pandas(pd.DataFrame({"n": np.arange(60.0), "size": size}))
    table = read_table(given, infer=True)
    assert (table.kinds[1], table.labels["size"]) == ("ordinal", ("low", "middle", "high"))


def test_what_is_no_table_is_refused_with_words_that_help():
    for data, words in ((scipy.sparse.eye(3), r"pass data\.toarray\(\)"), (iter([1]), "pass an array")):
        with pytest.raises(InputError, match=words):
            read_table(data)


def test_a_dataset_of_two_dimensions_and_an_arrow_table_with_equal_names_are_refused():
    with pytest.raises(InputError, match="dimensions"):
        read_table(xr.Dataset({"a": ("x", [1.0, 2]), "b": ("y", [1.0, 2])}))
    with pytest.raises(InputError, match="duplicate column name 'a'"):
        read_table(pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]))
    assert read_table(xr.DataArray(np.eye(3))).names == ("x0", "x1", "x2")


def test_series_of_every_library_can_be_compared(frame):
    expected = hsic(frame["cause"].to_numpy(), frame["effect"].to_numpy())
    for convert in (pl.Series, pd.Series, list, da.from_array):
        assert hsic(convert(frame["cause"].to_numpy()), convert(frame["effect"].to_numpy())) == expected
    assert hsic(read_table(frame[["cause"]], min_columns=1), frame["effect"]) == expected


# --- masks ------------------------------------------------------------------------------------------------------------


def masked(frame):
    values = np.ma.array(frame.to_numpy(), mask=False)
    values[4, 1] = np.ma.masked
    return values


@pytest.mark.parametrize(
    "read",
    [
        read_table,
        OptimalTuning().fit,
        ConditionalTuning().fit,
        measure_dependence,
        lambda data: read_table(da.from_array(data, chunks=50)),
        lambda data: OptimalTuning().fit(da.from_array(data, chunks=50)),
        lambda data: read_table(list(data)),
        lambda data: read_table(data, categorical="x0"),
    ],
)
def test_masked_values_are_missing_values(frame, read):
    with pytest.raises(InputError, match=r"'x1' has 1 missing .* row 4"):
        read(masked(frame))


def test_masked_values_can_be_dropped(frame):
    np.testing.assert_array_equal(read_table(masked(frame), missing="drop").values, frame.drop(4))


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_masked_values_are_treated_as_missing_says(frame, missing):
    """The numbers under a mask once passed for data."""
    hidden = np.ma.array(frame.to_numpy().copy(), mask=np.ma.getmaskarray(masked(frame)))
    hidden.data[4, 1] = 1e9
    gaps = frame.to_numpy().copy()
    gaps[4, 1] = np.nan
    np.testing.assert_array_equal(read_table(hidden, missing=missing).values, read_table(gaps, missing=missing).values)


def test_a_masked_object_is_missing_too():
    values = np.ma.array([["a", 1.0], ["b", 2.0], ["b", 4.0]], dtype=object, mask=[[0, 0], [0, 1], [0, 0]])
    assert read_table(values, categorical="x0", missing="drop").values.tolist() == [[0.0, 1.0], [1.0, 4.0]]


def test_a_mask_that_hides_nothing_is_no_obstacle(frame):
    values = np.ma.array(frame.to_numpy(), mask=False)
    np.testing.assert_array_equal(read_table(values).values, frame)
    assert OptimalTuning(threads=1).fit(values).n_features_in_ == 3


def test_a_mask_inside_a_frame_is_a_missing_value(frame):
    values = masked(frame)
    for data in (
        pd.DataFrame(values, columns=list("abc")),
        pl.DataFrame({k: values[:, j].tolist() for j, k in enumerate("abc")}),  # old Polars drops the mask of an array
    ):
        with pytest.raises(InputError, match=r"'b' has 1 missing .* row 4"):
            read_table(data)
    assert [finding.code for finding in audit(values).findings] == ["missing"]


# --- a table that was read --------------------------------------------------------------------------------------------


def test_a_table_comes_back_as_the_same_object_and_its_values_are_not_copied(frame):
    table = read_table(frame)
    assert read_table(table) is table
    assert read_table(table, drop_constant=True, missing="drop", min_rows=120, min_columns=3) is table
    assert np.shares_memory(table.values, table.to_frame().to_numpy())
    pd.testing.assert_frame_equal(table.to_frame(), frame)
    with pytest.raises(InputError, match="120 rows, but at least 121"):
        read_table(table, min_rows=121)


def test_what_else_is_asked_of_a_table_is_done(frame):
    table = read_table(frame.assign(group=list("uv") * 60), categorical="group")
    assert read_table(table, names=list("abcd")).names == tuple("abcd")
    assert read_table(table, categorical="group") is table
    for data in (table, frame.assign(group=1.0 * (frame["cause"] > 0))):
        some = read_table(data, columns=["group", "cause"])
        assert some.names == ("cause", "group")
        assert read_table(data, drop=["middle", "effect"]).names == some.names
    assert read_table(frame.to_numpy(), drop=["x1"]).names == ("x0", "x2")
    later = read_table(read_table(frame.round()), categorical="cause")
    np.testing.assert_array_equal(later.values, read_table(frame.round(), categorical="cause").values)
    assert later.categorical == ("cause",)
    with pytest.raises(InputError, match="no column 'grup': did you mean 'group'"):
        read_table(table, drop=["grup"])


def test_a_table_knows_what_was_left_out():
    data = pd.DataFrame({"a": [1.0, 2, np.nan, 4], "still": 3.0, "word": ["u", "v", "u", "w"], "b": [2.0, 7, 1, 8]})
    table = read_table(data, drop_constant=True, missing="drop", categorical="word")
    assert (table.names, table.dropped, table.lost_rows) == (("a", "word", "b"), ("still",), 1)
    assert table.kinds == ("continuous", "categorical", "continuous")
    assert [words.split(":")[0] for words in table.left_out()] == [
        "constant columns were left out",
        "1 rows with missing values were left out, 3 are left",
    ]


def test_codes_of_categories_have_no_holes_after_rows_were_left_out():
    data = pd.DataFrame({"word": list("uvwuw"), "n": [1, np.nan, 3, 4, 5.0]})
    table = read_table(data, categorical="word", missing="drop")
    assert table.values[:, 0].tolist() == [0, 1, 0, 1]
    assert table.take(np.array([1, 1, 3])).values.tolist() == [[0, 3], [0, 3], [0, 5]]


#: A graph whose nodes come in another order than the columns of the table.
BACKWARDS = to_frame(np.triu(np.ones((3, 3)), 1), ["effect", "middle", "cause"])


@pytest.mark.parametrize(
    "use",
    [
        lambda X: optimal_tuning(X, threads=1).to_json(),
        lambda X: conditional_tuning(X, threads=1, rng=0).to_json(),
        lambda X: OptimalTuning(threads=1).fit(X).result_.to_json(),
        lambda X: ConditionalTuning(threads=1, random_state=0).fit(X).result_.to_json(),
        lambda X: measure_dependence(X).second.tolist(),
        lambda X: bootstrap(OptimalTuning(threads=1), X, 3, random_state=0).probability.to_dict(),
        lambda X: bootstrap(OptimalTuning(threads=1, engine="dense"), X, 2, random_state=0).probability.to_dict(),
        lambda X: str(audit(X)),
        lambda X: var_sortability(X, BACKWARDS),
        lambda X: BASELINES["ges"](X).tolist(),
        lambda X: page_content(optimal_tuning(X, threads=1), data=X)["columns"],
    ],
)
def test_a_table_gives_what_its_frame_gives(frame, use):
    assert use(read_table(frame)) == use(frame)


def test_a_fit_reads_the_values_once(frame, monkeypatch):
    """All tables are checked by one function: count how often it sees this one, and not residuals."""
    calls = []
    check = reading_module.Troubles.about_gaps
    counted = lambda self, table: calls.append(table.names) or check(self, table)  # noqa: E731
    monkeypatch.setattr(reading_module.Troubles, "about_gaps", counted)
    OptimalTuning(threads=1).fit(frame)
    ConditionalTuning(threads=1).fit(frame)
    measure_dependence(frame)
    assert calls.count(tuple(frame)) == 3
    table = read_table(frame)
    OptimalTuning(threads=1).fit(table)
    OptimalTuning(threads=1).bootstrap(table, 3)
    assert calls.count(tuple(frame)) == 4


def test_warnings_about_what_was_left_out_reach_the_result(frame):
    data = frame.assign(still=1.0)
    data.loc[3, "cause"] = np.nan
    table = read_table(data, drop_constant=True, missing="drop")
    for learner in (OptimalTuning(threads=1), ConditionalTuning(threads=1)):
        assert learner.fit(table).result_.warnings[:2] == tuple(table.left_out())


def test_ot_refuses_categories_and_the_audit_leaves_them_out(frame):
    table = read_table(frame.assign(group=list("uv") * 60), categorical="group")
    with pytest.raises(InputError, match=r"'group' is categorical.*ConditionalTuning"):
        OptimalTuning().fit(table)
    assert [column.name for column in audit(table).columns] == list(frame.columns)
    learner = ConditionalTuning(threads=1).fit(table)
    assert learner.result_.settings["kinds"]["group"] == "categorical"
    assert not learner.adjacency_matrix_["group"].any()


# --- rows -------------------------------------------------------------------------------------------------------------


class Pieces(Rows):
    """Rows in several arrays, as a Parquet file has them."""

    def __init__(self, values, size):
        self.pieces = [values[start : start + size] for start in range(0, len(values), size)]
        self.size, self.shape = size, values.shape

    @property
    def count(self):
        return self.shape[0]

    @property
    def width(self):
        return self.shape[1]

    def read(self, rows):
        return np.array([self.pieces[i // self.size][i % self.size] for i in np.arange(self.count)[rows]])


def test_rows_that_live_elsewhere_give_the_same_digits(frame):
    values = np.vstack([frame.to_numpy() + shift for shift in np.linspace(0, 1, 40)])
    assert len(values) > 4096
    memory, pieces = MemoryRows(values), Pieces(values, 1000)
    products = [rows.sum(lambda chunk: [chunk @ chunk.T])[0].tolist() for rows in (memory, pieces)]
    assert products[0] == products[1]
    assert (memory.sample(50) == pieces.sample(50)).all()
    here, there = (rows.shifted(np.array([1.0, 2, 3])).extremes() for rows in (memory, pieces))
    assert [here.low.tolist(), here.high.tolist()] == [there.low.tolist(), there.high.tolist()]
    elsewhere = Table(pieces, tuple(frame.columns), ("continuous",) * 3)
    assert measure_dependence(elsewhere).second.tolist() == measure_dependence(values).second.tolist()


def test_shifts_add_up_and_chunks_cover_all_rows_in_order(frame):
    rows = MemoryRows(frame.to_numpy()).shifted(np.ones(3)).shifted(np.ones(3)).rechunked(50)
    chunks = list(rows.chunks())
    assert [chunk.shape for chunk in chunks] == [(3, 50), (3, 50), (3, 20)]
    np.testing.assert_array_equal(np.hstack(chunks).T, frame.to_numpy() - 2)


# --- kinds of columns and file formats from outside -------------------------------------------------------------------


class Grades(Kind):
    name, words = "grades", "marks from A (best) to E"

    def encode(self, column, name):
        if not set(column.dropna()) <= set("ABCDE"):
            raise InputError(f"column {name!r} has other marks than A to E: correct them")
        return column.map(dict(zip("ABCDE", range(5)))).to_numpy(dtype=float)


@pytest.fixture
def grades():
    yield register_kind(Grades())
    del KINDS["grades"]


def test_a_kind_of_column_can_be_registered_from_outside(frame, grades):
    marks = pd.cut(frame["cause"], 5, labels=list("EDCBA")).astype(object)
    data = frame.assign(mark=marks)
    data.loc[7, "mark"] = None
    table = read_table(data, kinds={"mark": "grades"}, missing="impute")
    assert table.kinds[-1] == "grades"
    expected = marks.map(dict(zip("ABCDE", range(5))))
    assert table.values[:7, 3].tolist() == expected[:7].tolist()
    assert table.values[7, 3] == expected.drop(7).median()
    assert "mark" in OptimalTuning(threads=1).fit(table).causal_order_
    with pytest.raises(InputError, match="other marks than A to E"):
        read_table(frame.assign(mark="x"), kinds={"mark": "grades"})
    with pytest.raises(InputError, match="did you mean 'grades'"):
        read_table(data, kinds={"mark": "grade"})
    with pytest.raises(InputError, match="'grades' is already registered"):
        register_kind(Grades())


def test_a_file_format_can_be_registered_from_outside(frame, tmp_path):
    path = tmp_path / "t.ROWS"
    frame.to_json(path, orient="records", lines=True, double_precision=15)
    with pytest.raises(InputError, match=r"ending must be one of \.csv"):
        read_table(path)
    register_format(".rows", lambda path: pd.read_json(path, lines=True, precise_float=True))
    register_format(".ssv", separator="|")
    try:
        np.testing.assert_allclose(read_table(path, drop=["middle"]).values, frame[["cause", "effect"]], rtol=1e-12)
        assert audit(path).clean
        frame.to_csv(tmp_path / "t.ssv", sep="|", index=False)
        assert read_table(tmp_path / "t.ssv").names == tuple(frame.columns)
        with pytest.raises(InputError, match="already registered"):
            register_format(".SSV", separator="|")
        with pytest.raises(InputError, match="not a text file"):
            read_table(path, sep=",")
    finally:
        del FORMATS[".rows"], FORMATS[".ssv"]
    with pytest.raises(InputError, match="either read= or separator="):
        register_format(".nothing")


# --- wide tables ------------------------------------------------------------------------------------------------------


def test_names_of_very_many_columns_are_checked_in_linear_time():
    names = [f"c{j}" for j in range(MAX_COLUMNS - 1)] + ["c7"]
    start = time.process_time()
    with pytest.raises(InputError, match=r"duplicate column name 'c7' \(2 columns\)"):
        check_names(names, count=len(names))
    assert time.process_time() - start < 5  # comparing all pairs takes minutes
    with pytest.raises(InputError, match="1000000 columns, but at most 10000"):
        read_table(np.zeros((2, 10**6)))


def test_a_text_file_of_very_many_columns_is_refused_before_pandas_parses_it(tmp_path, monkeypatch):
    path = tmp_path / "transposed.csv"
    path.write_text("\n" + ",".join(f"c{j}" for j in range(10**6)) + "\n")
    monkeypatch.setattr(pd, "read_csv", lambda *args, **options: pytest.fail("pandas takes minutes for this header"))
    for read in (read_table, audit):
        with pytest.raises(InputError, match="1000000 columns, but at most 10000 can be read from a text file"):
            read(path)


def test_separators_inside_quotes_are_not_counted_as_columns(tmp_path):
    name = "," * (MAX_COLUMNS + 1)
    (tmp_path / "t.csv").write_text(f'"{name}","b"\n1,2\n3,5\n')
    assert read_table(tmp_path / "t.csv").names == (name, "b")


@pytest.mark.parametrize("dtypes", [["float32"], ["int64", "bool", "float16", "uint64"], ["float64", "Int8", "object"]])
def test_frames_of_any_numeric_type_give_the_numbers_of_their_columns(dtypes):
    whole = pd.DataFrame(np.random.default_rng(3).integers(0, 5, size=(8, 9))).add_prefix("c")
    frame = whole.astype({name: dtypes[j % len(dtypes)] for j, name in enumerate(whole)})
    frame["big"] = np.array([2**53 + 3, *range(7)], dtype="uint64")  # not a float32, and rounded once on its way
    expected = [[float(value) for value in frame[name]] for name in frame]
    assert read_table(frame).values.T.tolist() == expected


MODULES = ["validation", "audit", *(f"tables.{part}" for part in ("files", "frames", "kinds", "reading", "rows"))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_documentation_run(name):
    found = doctest.testmod(importlib.import_module(f"dagtune.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


# --- dates and durations ----------------------------------------------------------------------------------------------


DAYS = pd.date_range("2024-01-01", periods=40)
TIMES = {
    "timestamps": pd.Series(DAYS),
    "with a zone": pd.Series(DAYS.tz_localize("UTC")),
    "date objects": pd.Series([day.date() for day in DAYS], dtype=object),
    "texts": pd.Series([str(day.date()) for day in DAYS]),
    "days as periods": pd.Series(pd.period_range("2024-01-01", periods=40, freq="D")),
    "durations": pd.Series(pd.to_timedelta(np.arange(40), unit="D")),
}


@pytest.mark.parametrize("how", sorted(TIMES))
def test_dates_and_durations_are_refused_unless_asked_for_and_then_say_their_origin(how):
    frame = pd.DataFrame({"when": TIMES[how], "x": np.random.default_rng(0).normal(size=40)})
    with pytest.raises(InputError, match=r"kinds=\{'when': 'date'\}.*drop=\['when'\]"):
        read_table(frame, infer=True)
    table = read_table(frame, kinds={"when": "date"}, infer=True)
    first = 0.0 if how == "durations" else 19723.0  # 2024-01-01
    np.testing.assert_array_equal(table.values[:, 0], first + np.arange(40))
    assert any("when is counted in days" in note for note in table.notes)
    assert ("since 1970-01-01" in table.notes[-1]) == (how != "durations")
