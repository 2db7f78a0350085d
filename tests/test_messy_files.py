"""A folder of messy files: each is read at the first try, or refused in one line whose advice works.

Each file holds the same three columns, written in its own way, and is read by ``read_table`` and by the real command.
"""

import ast
import bz2
import gzip
import io
import json
import lzma
import re
import shlex
import sqlite3
import subprocess
import sys
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dagtune.audit import audit
from dagtune.cli import main
from dagtune.tables import read_table
from dagtune.validation import InputError

ROWS = 60
_rng = np.random.default_rng(5)
_a = _rng.normal(5, 2, ROWS).round(2)
FRAME = pd.DataFrame(
    {"age": _a, "dose": (_a + _rng.normal(size=ROWS)).round(2), "size": _rng.normal(100, 9, ROWS).round(2)}
)
CSV = FRAME.to_csv(index=False)
GAP = FRAME.astype(object).copy()
GAP.iloc[3, 1] = None


def lines(text):
    return text.splitlines(keepends=True)


def gap(mark):
    return GAP.fillna(mark).to_csv(index=False)


def comma(number, groups=""):
    return f"{number:{',' if groups else ''}.2f}".replace(",", "#").replace(".", ",").replace("#", groups)


def each(form, sep=";"):
    return sep.join(FRAME) + "\n" + "".join(sep.join(form(x) for x in row) + "\n" for row in FRAME.to_numpy())


def packed(write, **options):
    buffer = io.BytesIO()
    write(buffer, **options)
    return buffer.getvalue()


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def sheets(**frames):
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as writer:
        for name, (frame, options) in frames.items():
            frame.to_excel(writer, sheet_name=name, **options)
    return buffer.getvalue()


def zst(data):
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


PLAIN = {"index": False}
BIG = each(lambda x: f'"{x * 1000:,.2f}"', ",")
#: Files that are read at the first try, without an option. "k" marks those whose numbers are a thousand times as large.
GOOD = {
    "comma.csv": CSV,
    "semicolon.csv": FRAME.to_csv(index=False, sep=";"),
    "tab.csv": FRAME.to_csv(index=False, sep="\t"),
    "tab.tsv": FRAME.to_csv(index=False, sep="\t"),
    "comma.tsv": CSV,
    "pipe.txt": FRAME.to_csv(index=False, sep="|"),
    "pipe.psv": FRAME.to_csv(index=False, sep="|"),
    "colon.txt": FRAME.to_csv(index=False, sep=":"),
    "blanks.txt": FRAME.to_string(index=False),
    "blanks.dat": FRAME.to_string(index=False),
    "comma-blank.csv": CSV.replace(",", ", "),
    "excel-sep.csv": "sep=;\n" + FRAME.to_csv(index=False, sep=";"),
    "excel-sep-crlf.csv": ("sep=;\n" + FRAME.to_csv(index=False, sep=";")).replace("\n", "\r\n"),
    "crlf.csv": CSV.replace("\n", "\r\n"),
    "no-last-newline.csv": CSV.rstrip("\n"),
    "bom.csv": CSV.encode("utf-8-sig"),
    "utf16.csv": CSV.encode("utf-16"),
    "utf16be-bom.csv": b"\xfe\xff" + CSV.encode("utf-16-be"),
    "utf16-no-bom.csv": CSV.encode("utf-16-le"),
    "decimal-comma.csv": FRAME.to_csv(index=False, sep=";", decimal=","),
    "decimal-comma-tab.txt": FRAME.to_csv(index=False, sep="\t", decimal=","),
    "decimal-comma-quoted.csv": each(lambda x: f'"{comma(x)}"', ","),
    "k-thousands.csv": BIG,
    "k-thousands-points.csv": each(lambda x: comma(x * 1000, ".")),
    "k-thousands-blanks.csv": each(lambda x: comma(x * 1000, "\u00a0")),
    "k-thousands-swiss.csv": each(lambda x: f"{x * 1000:,.2f}".replace(",", "'")),
    "percent.csv": each(lambda x: f"{x}%"),
    "percent-blank.csv": each(lambda x: f"{x} %"),
    "dollar.csv": each(lambda x: f"${x}"),
    "euro.csv": each(lambda x: f"{comma(x)} €"),
    "euro-latin.csv": each(lambda x: f"{comma(x)} €").encode("cp1252"),
    "currency-code.csv": each(lambda x: f"USD {x}"),
    "unit.csv": each(lambda x: f"{x} kg"),
    "comments.csv": "# made by hand\n# twice\n" + CSV,
    "comment-between.csv": "# first\n" + "".join(lines(CSV)[:9]) + "# later\n" + "".join(lines(CSV)[9:]),
    "comment-names.csv": "#" + CSV,
    "percent-comments.txt": "% matlab\n" + CSV,
    "title.csv": "Report of 2024\n\n" + CSV,
    "title-two.csv": "Report\nSource: us\n" + FRAME.to_csv(index=False, sep=";"),
    "total.csv": CSV + "Total,300,6000\n",
    "total-empty.csv": CSV + "Total,,\n",
    "remark.csv": CSV + "(60 rows affected)\n",
    "source.csv": CSV + "\nSource: our own data\n",
    "units.csv": "".join(lines(CSV)[:1]) + "years,mg,cm\n" + "".join(lines(CSV)[1:]),
    "trailing.csv": CSV.replace("\n", ",\n"),
    "trailing-rows.csv": lines(CSV)[0] + "".join(line.replace("\n", ",\n") for line in lines(CSV)[1:]),
    "index.csv": FRAME.to_csv(),
    "r-labels.txt": FRAME.to_csv(sep=" ", index_label=False),
    "id.csv": FRAME.assign(id=range(1, ROWS + 1)).to_csv(index=False),
    "patient-id.csv": FRAME.assign(patient_id=[f"p{k}" for k in range(ROWS)]).to_csv(index=False),
    "empty-column.csv": FRAME.assign(note=None).to_csv(index=False),
    "blank-lines.csv": CSV.replace("\n", "\n\n"),
    "blank-top.csv": "\n\n" + CSV,
    "quoted.csv": FRAME.to_csv(index=False, quoting=1),
    "single-quotes.csv": CSV.replace("age,dose,size", "'age','dose','size'"),
    "quoted-name.csv": CSV,
    "plus.csv": each(lambda x: f"{x:+}"),
    "minus-sign.csv": each(lambda x: str(x).replace("-", "\u2212"), ","),
    "exponent.csv": each(lambda x: f"{x:.6e}", ","),
    "data.csv.gz": gzip.compress(CSV.encode()),
    "data.csv.bz2": bz2.compress(CSV.encode()),
    "data.csv.xz": lzma.compress(CSV.encode()),
    "data.csv.zst": zst(CSV.encode()),
    "data.zip": zipped({"data.csv": CSV}),
    "gzip-inside.csv": gzip.compress(CSV.encode()),
    "book.xlsx": sheets(one=(FRAME, PLAIN)),
    "book-title.xlsx": sheets(one=(FRAME, {"index": False, "startrow": 3})),
    "two-sheets.xlsx": sheets(one=(FRAME, PLAIN), two=(FRAME[:5], PLAIN)),
    "book-inside.csv": sheets(one=(FRAME, PLAIN)),
    "records.json": FRAME.to_json(orient="records"),
    "columns.json": FRAME.to_json(orient="columns"),
    "split.json": FRAME.to_json(orient="split"),
    "nested.json": json.dumps({"rows": FRAME.to_dict("records"), "from": "us"}),
    "texts.json": FRAME.astype(str).to_json(orient="records"),
    "lines.jsonl": FRAME.to_json(orient="records", lines=True),
    "lines.json": FRAME.to_json(orient="records", lines=True),
    "data.parquet": packed(FRAME.to_parquet),
    "parquet-inside.csv": packed(FRAME.to_parquet),
    "data.feather": packed(FRAME.to_feather),
    "data.dta": packed(FRAME.to_stata, write_index=False),
    "two-rows-of-names.csv": "all,all,all\n" + CSV,
    "groups-of-names.csv": "all,,\n" + CSV,
    "title-cells.csv": "Survey;;\n" + FRAME.to_csv(index=False, sep=";"),
    "title-units.csv": "Survey;;\nage;dose;size\nyears;mg;cm\n" + FRAME.to_csv(index=False, sep=";", header=False),
    "minus-behind.csv": each(lambda x: f"{x}" if x >= 0 else f"{-x}-"),
    "dollar-brackets.csv": each(lambda x: f"${x}" if x >= 0 else f"$({-x})"),
    "brackets.csv": each(lambda x: f"{x}" if x >= 0 else f"({-x})"),
    "footnotes.csv": each(lambda x: f"{x}*" if 5 < x < 6 else f"{x}"),
    "daggers.csv": each(lambda x: f"{x} †" if 5 < x < 6 else f"{x}"),
    "joined.csv": "".join(lines(CSV)[:31]) + lines(CSV)[0] + "".join(lines(CSV)[31:]),
    "quotes-and-blanks.csv": each(lambda x: f'"{x}"', ", ").replace("age, dose, size", '"age", "dose", "size"'),
    "tilde.txt": FRAME.to_csv(index=False, sep="~"),
    "caret.txt": FRAME.to_csv(index=False, sep="^"),
    "bom-tab.csv": FRAME.to_csv(index=False, sep="\t").encode("utf-8-sig"),
    "comma-quoted.csv": each(lambda x: f'"{comma(x)}"'),
    "trailing-three.csv": CSV.replace("\n", ",,,\n"),
    "pound.csv": each(lambda x: f"£{x}"),
    "en-dash.csv": each(lambda x: str(x).replace("-", "\u2013")),
    "exponent-comma.csv": each(lambda x: f"{x:.4e}".replace(".", ",")),
    "not-packed.csv.gz": CSV,
    "text.xlsx": CSV,
    "text.xls": FRAME.to_csv(index=False, sep="\t"),
    "table.log": CSV,
    "array.jsonl": json.dumps(FRAME.to_dict("records"), indent=1),
    "nested-lines.jsonl": "\n".join(json.dumps({"of": row}) for row in FRAME.to_dict("records")),
    "first-sheet-is-text.xlsx": sheets(
        about=(pd.DataFrame({"This is a workbook": ["of us"]}), PLAIN), two=(FRAME, PLAIN)
    ),
    "names-in-two-rows.xlsx": sheets(
        one=(pd.DataFrame([["all", None, "all"], list(FRAME), *FRAME.to_numpy().tolist()]), {**PLAIN, "header": False})
    ),
    "footer-cells.csv": CSV + ",,\nNotes:,,\n1) means of two,,\n",
    "summary.csv": CSV + "Mean,5,100\nSD,2,9\nN,60,60\n",
    "empty-rows.csv": CSV.replace("\n", "\n,,\n", 3),
    "survey-tool.csv": lines(CSV)[0]
    + "How old?,How much?,How big?\n"
    + '"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}","{""ImportId"":""Q3""}"\n'
    + "".join(lines(CSV)[1:]),
    "logger.dat": '"TOA5","CR1000","1234","Std.28","CPU:x.CR1"\n"age","dose","size"\n"y","mg",""\n"","Avg","Avg"\n'
    + "".join(lines(CSV)[1:]),
    "run.log": "*** START OF RUN ***\nChannel A: temp\n\n" + FRAME.to_csv(index=False, sep="\t") + "*** END ***\n",
    "preamble.csv": "".join(f"Line {k} about the instrument, by us\n" for k in range(30)) + CSV,
    "markdown.txt": "".join(
        "|" + text.strip().replace(",", " | ") + " |\n" for text in [lines(CSV)[0], "---:,---:,---:", *lines(CSV)[1:]]
    ),
    "psql.txt": lines(CSV)[0].replace(",", " | ")
    + "-----+------+-----\n"
    + "".join(lines(CSV)[1:]).replace(",", " | ")
    + "(60 rows)\n",
    "mysql.txt": (_BORDER := "+-----+------+------+\n")
    + "".join(
        "| " + text.strip().replace(",", " | ") + " |\n" + _BORDER * (k == 0) for k, text in enumerate(lines(CSV))
    )
    + _BORDER,
    "fortran.txt": each(lambda x: f"{x:.6E}".replace("E", "D"), " "),
    "formulas.csv": FRAME.map(lambda x: f'="{x}"').to_csv(index=False),
    "apostrophes.csv": each(lambda x: f"'{x}", ","),
    "no-width.csv": "\u200b" + CSV,
    "joined-bom.csv": "".join(lines(CSV)[:31]).encode("utf-8-sig")
    + (lines(CSV)[0] + "".join(lines(CSV)[31:])).encode("utf-8-sig"),
    "mac.zip": zipped({"__MACOSX/._d.csv": "x", "d/data.csv": CSV, "d/.DS_Store": "x"}),
    "with-readme.zip": zipped({"data.csv": CSV, "readme.txt": "about the data"}),
    "book.zip": zipped({"book.xlsx": sheets(one=(FRAME, PLAIN))}),
    "by-row.json": json.dumps({f"p{k}": row for k, row in enumerate(FRAME.to_dict("records"))}),
    "deep.json": json.dumps({"data": {"items": FRAME.to_dict("records")}}),
    "utf16.json": FRAME.to_json(orient="records").encode("utf-16"),
    "records.txt": FRAME.to_json(orient="records"),
    "weka.arff": "@relation t\n"
    + "".join(f"@attribute {name} numeric\n" for name in FRAME)
    + "@data\n"
    + "".join(lines(CSV)[1:]),
    "words.csv": FRAME.assign(subject=[f"SUBJ-{k:03d}" for k in range(ROWS)]).to_csv(index=False),
    "decimals.parquet": packed(FRAME.map(lambda x: Decimal(str(x))).to_parquet),
    "records.parquet": packed(pd.DataFrame({"of": FRAME.to_dict("records")}).to_parquet),
}
#: Names of columns, where the file makes them.
NAMES = dict.fromkeys(
    ["two-rows-of-names.csv", "names-in-two-rows.xlsx"], ("all age", "all dose", "all size")
) | dict.fromkeys(["nested-lines.jsonl", "records.parquet"], ("of.age", "of.dose", "of.size"))
#: Files without names.
HEADERLESS = {"no-header.csv": "".join(lines(CSV)[1:]), "no-header.txt": FRAME.to_string(index=False, header=False)}
#: Cells that mean "missing", found out.
MARKS = ["?", "-", "--", "*", "NA", "N/A", "n.a.", ".", "#N/A", "#DIV/0!", "null", "missing"]
BAD = CSV.replace(lines(CSV)[7], "oops,2.5,99.1\n")
#: Files that need a second try: the words of the line, and the options that it advises.
SECOND = {
    "bad-cell.csv": (BAD, r"'age' holds 'oops' in line 8", {"na": "oops", "missing": "drop"}),
    "gap.csv": (gap(""), r"'dose' has 1 missing .* line 5", {"missing": "drop"}),
    "constant.csv": (FRAME.assign(one=1).to_csv(index=False), "'one' is constant", {"drop_constant": True}),
    "below-limit.csv": (
        BAD.replace("oops", "<0.1"),
        r"'age' holds '<0.1' in line 8",
        {"na": "<0.1", "missing": "drop"},
    ),
    "subtotal.csv": (
        "".join(lines(CSV)[:31]) + "Subtotal,3,9\n" + "".join(lines(CSV)[31:]),
        "'age' holds 'Subtotal' in line 32",
        {"na": "Subtotal", "missing": "drop"},
    ),
    "infinite.csv": (CSV.replace(lines(CSV)[7], "inf,2.5,99.1\n"), "1 infinite", {"na": "inf", "missing": "drop"}),
    "lists.jsonl": (
        "\n".join(json.dumps({**row, "tags": ["a", "b"]}) for row in FRAME.to_dict("records")),
        "'tags' holds lists",
        {"drop": ["tags"]},
    ),
    "durations.csv": (
        FRAME.assign(t=[f"{k // 60}:{k % 60:02d}:00" for k in range(ROWS)]).to_csv(index=False),
        "'t' is text with 60 different values",
        {"drop": ["t"]},
    ),
    "cross-or-nothing.csv": (
        FRAME.assign(one=[1 if k % 3 else None for k in range(ROWS)]).to_csv(index=False),
        "'one' has 20 missing .* and only one other value",
        {"drop": ["one"]},
    ),
    "two.zip": (zipped({"x.csv": CSV, "y.csv": "q"}), "holds 2 files", {"query": "x.csv"}),
}
REFUSED = {
    "empty.csv": ("", "it is empty"),
    "zeros.csv": (bytes(99), "not text"),
    "ragged.csv": (CSV + "1,2,3,4\n", "line 62 of .* has 4 cells"),
    "open-quote.csv": ('a,b\n1,2\n3,"4\n5,6\n', "never closed|can't read"),
    "damaged.csv.gz": (gzip.compress(CSV.encode())[:99], "can't read"),
    "damaged.parquet": (b"PAR1 no", "can't read"),
    "not.xlsx": (b"no workbook", "no .xlsx file"),
    "empty.json": ("{}", "holds no table"),
    "page.xls": (FRAME.to_html(index=False), "web page"),
    "gap-between-blanks.txt": (
        GAP.fillna("").to_string(index=False),
        "line 5 of .* has 2 cells, but the others have 3",
    ),
    "model.pkl": (b"\x80\x04\x95 no", "ending must be one of"),
    "wide.csv": (",".join(f"c{k}" for k in range(100_000)) + "\n", "100000 columns, but at most"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("messy")
    for name, text in {
        **GOOD,
        **HEADERLESS,
        **{name: text for name, (text, *_) in (*SECOND.items(), *REFUSED.items())},
        **{f"mark-{k}.csv": gap(mark) for k, mark in enumerate(MARKS)},
    }.items():
        (home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with sqlite3.connect(home / "data.sqlite") as connection:
        FRAME.to_sql("visits", connection, index=False)
    with sqlite3.connect(home / "two.db") as connection:
        FRAME.to_sql("visits", connection, index=False)
        FRAME.to_sql("others", connection, index=False)
    return home


def assert_read(table, name, names=tuple(FRAME)):
    assert table.names == names
    factor = 1000 if name.startswith("k-") else 1
    np.testing.assert_allclose(table.values, FRAME * factor, rtol=1e-6 if name == "data.dta" else 1e-12)


def test_there_are_at_least_60_files():
    assert len({*GOOD, *HEADERLESS, *SECOND, *REFUSED}) + len(MARKS) >= 60


@pytest.mark.parametrize("name", GOOD)
def test_a_messy_file_is_read_at_the_first_try(folder, name):
    assert_read(read_table(folder / name), name, NAMES.get(name, tuple(FRAME)))


@pytest.mark.parametrize("name", HEADERLESS)
def test_a_file_without_names_is_noticed(folder, name):
    table = read_table(folder / name)
    assert_read(table, name, ("x0", "x1", "x2"))
    assert any("first row holds numbers" in note for note in table.notes)


@pytest.mark.parametrize("mark", MARKS)
def test_marks_for_missing_values_are_found_out(folder, mark):
    table = read_table(folder / f"mark-{MARKS.index(mark)}.csv", missing="drop")
    np.testing.assert_array_equal(table.values, FRAME.drop(3))


@pytest.mark.parametrize("name", SECOND)
def test_the_advice_works_at_the_second_try(folder, name, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    _, words, options = SECOND[name]
    with pytest.raises(InputError, match=words) as error:
        read_table(name)
    first = next(iter(options))
    assert f"{first}=" in str(error.value)
    assert read_table(name, **options).count >= ROWS - 1
    assert main(["compare", name, "--methods", "empty"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"--{first.replace('_', '-')}" in said


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused_in_one_line(folder, name, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["audit", name]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert re.search(REFUSED[name][1], said), said


@pytest.mark.parametrize("name", [*GOOD, *HEADERLESS])
def test_the_command_reads_what_python_reads(folder, name, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["compare", name, "--methods", "empty", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"] == list(read_table(name).names)
    assert main(["audit", name, "--json"]) in (0, 3)
    found = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in found["columns"]] == list(read_table(name).names)


def test_groups_of_names_begin_in_any_column(tmp_path):
    (tmp_path / "t.csv").write_text(",all,all\n" + CSV)
    assert read_table(tmp_path / "t.csv").names == ("age", "all dose", "all size")


def test_quotes_after_backslashes_are_part_of_the_text(tmp_path):
    frame = FRAME.assign(site=['the "old", one', "new"] * 30)
    frame.to_csv(tmp_path / "t.csv", index=False, quoting=1, doublequote=False, escapechar="\\")
    table = read_table(tmp_path / "t.csv", infer=True)
    assert table.labels["site"] == ("new", 'the "old", one')
    np.testing.assert_allclose(table.values[:, :3], FRAME)


def test_a_code_with_its_label_is_no_negative_number(tmp_path):
    FRAME.assign(answer=["1 - x", "2 - x", "3 - x"] * 20).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv", infer=True).labels["answer"] == ("1 - x", "2 - x", "3 - x")


def test_rows_are_counted_as_in_the_spreadsheet(tmp_path):
    cells = [["Report", None, None], [None] * 3, list(FRAME), *FRAME.astype(object).to_numpy().tolist()]
    cells[10][1] = "oops"
    cells.insert(5, [None] * 3)
    pd.DataFrame(cells).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    with pytest.raises(InputError, match=r"'dose' holds 'oops' in row 12,"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    "form",
    [
        "%d.%m.%Y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%Y/%m/%d",
        "%d-%b-%Y",
        "%d%b%Y",
        "%b %d, %Y",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %I:%M %p",
    ],
)
def test_dates_are_known_in_the_ways_people_write_them(tmp_path, form, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    times = pd.date_range("2023-01-05 13:30", periods=ROWS, freq="D")
    FRAME.assign(visit=times.strftime(form)).to_csv("t.csv", index=False)
    with pytest.raises(InputError, match="'visit' holds dates"):
        read_table("t.csv", infer=True)
    days = read_table("t.csv", kinds={"visit": "date"}).values[:, 3]
    first = (times[0] if "M" in form else times[0].normalize()) - pd.Timestamp("1970-01-01")
    np.testing.assert_allclose(days, first / pd.Timedelta(days=1) + np.arange(ROWS))
    assert main(["compare", "t.csv", "--methods", "empty"]) == 2
    assert "--kinds 'visit=date'" in capsys.readouterr().err


def test_the_audit_finds_dates_and_lists(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    visits = pd.date_range("2023-01-05", periods=ROWS).strftime("%d.%m.%Y")
    FRAME.assign(visit=visits, tags=[["a"]] * ROWS).to_json("t.json", orient="records")
    assert main(["audit", "t.json"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "--kinds 'visit=date'" in said
    assert "--drop 'tags'" in said


def test_dates_with_gaps_and_words_among_them_are_told_at_once(tmp_path):
    visits = pd.Series(pd.date_range("2023-01-05", periods=ROWS).strftime("%d.%m.%Y"))
    FRAME.assign(visit=visits.where(visits.index != 3, "unknown")).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"kinds=\{'visit': 'date'\}, missing='drop' or 'model'\)"):
        read_table(tmp_path / "t.csv", infer=True)
    assert read_table(tmp_path / "t.csv", kinds={"visit": "date"}, missing="drop").count == ROWS - 1
    FRAME.assign(visit=visits.where(visits.index != 3, "soon")).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"'visit' holds 'soon', which is no date .*na='soon' and missing='drop'"):
        read_table(tmp_path / "t.csv", kinds={"visit": "date"})
    assert read_table(tmp_path / "t.csv", kinds={"visit": "date"}, na="soon", missing="drop").count == ROWS - 1


def test_day_and_month_that_cannot_be_told_apart_are_refused(tmp_path):
    FRAME.assign(visit=[f"{1 + k % 12}/{1 + k // 12}/2023" for k in range(ROWS)]).to_csv(
        tmp_path / "t.csv", index=False
    )
    with pytest.raises(InputError, match=r"'1/1/2023', in which day and month can't be told apart"):
        read_table(tmp_path / "t.csv", kinds={"visit": "date"})


def test_each_of_several_columns_of_text_gets_an_advice_that_can_be_typed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hostile = {"sex": ["f", "m"] * 30, "smokes (yes, no)": ["yes", "no"] * 30, "of [a]": ["it's", "\\N 2"] * 30}
    FRAME.assign(**hostile, place="here").to_csv("t.csv", index=False)
    with pytest.raises(InputError) as error:
        read_table("t.csv")
    asked = re.findall(r"kinds=(\{[^}]*\})", str(error.value))
    assert [list(ast.literal_eval(each)) for each in asked] == [[name] for name in hostile]
    assert main(["compare", "t.csv", "--methods", "empty"]) == 2
    said = shlex.split(capsys.readouterr().err.replace("(", " ").replace(")", " "))
    words = [said[k + 1] for k, word in enumerate(said) if word == "--kinds"]
    assert len(words) == 3
    typed = [f"--kinds={name}=categorical" for name in hostile]
    assert main(["compare", "t.csv", "--methods", "empty", *typed, "--drop", "place"]) == 0


def test_everything_that_is_wrong_with_a_column_of_text_is_said_at_once(tmp_path):
    FRAME.assign(smokes=["yes", "no", ""] * 20).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"kinds=\{'smokes': 'categorical'\}, missing='drop' or 'model'\)"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", kinds={"smokes": "categorical"}, missing="drop").count == 40


def test_many_different_bad_cells_are_not_listed_as_marks(tmp_path):
    (tmp_path / "t.csv").write_text(each(lambda x: comma(x) if round(x * 100) % 2 else f"{x}"))
    with pytest.raises(InputError, match=r"correct these cells, or leave the column out \(drop=\['age'\]\)"):
        read_table(tmp_path / "t.csv")


def test_spellings_in_upper_and_lower_case_are_told(tmp_path):
    FRAME.assign(sex=["male", "female ", "Male", "female"] * 15).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", infer=True)
    assert any("differ in upper and lower case only ('male' and 'Male')" in note for note in table.notes)
    assert set(table.labels["sex"]) == {"male", "female", "Male"}  # blanks behind a word mean nothing


def test_databases_need_a_query_only_if_they_hold_several_tables(folder):
    assert_read(read_table(folder / "data.sqlite"), "")
    with pytest.raises(InputError, match=r"2 tables.*query='select \* from \"visits\"'"):
        read_table(folder / "two.db")
    table = read_table(folder / "two.db", query='select age, dose from "visits" where age > 5')
    np.testing.assert_array_equal(table.values, FRAME[FRAME["age"] > 5][["age", "dose"]])
    with pytest.raises(InputError, match="refuses the query"):
        read_table(folder / "two.db", query="select nothing")


def test_duckdb_and_spss_are_read(tmp_path):
    import duckdb
    import pyreadstat

    connection = duckdb.connect(str(tmp_path / "d.duckdb"))
    connection.execute("create table t as select 1.5 as a, 2 as b union all select 2.5, 7")
    connection.close()
    assert sorted(read_table(tmp_path / "d.duckdb").values.tolist()) == [[1.5, 2], [2.5, 7]]
    pyreadstat.write_sav(FRAME, str(tmp_path / "d.sav"))
    pyreadstat.write_por(FRAME, str(tmp_path / "d.por"))
    assert_read(read_table(tmp_path / "d.sav"), "")
    np.testing.assert_allclose(read_table(tmp_path / "d.por").values, FRAME)


def test_labels_of_stata_and_spss_are_categories_and_codes_without_labels_stay_numbers(tmp_path):
    import pyreadstat

    rng = np.random.default_rng(3)
    region = pd.Categorical(rng.choice(["North", "South", "East"], ROWS), ["South", "North", "East"])
    hours = np.where(np.arange(ROWS) % 20 == 3, 99, np.arange(ROWS) % 7)
    frame = FRAME.assign(region=region, hours=hours)
    frame.to_stata(tmp_path / "d.dta", write_index=False, value_labels={"hours": {99: "refused"}})
    codes = frame.assign(region=region.codes)
    labels = {"region": dict(enumerate(region.categories)), "hours": {99: "refused"}}
    pyreadstat.write_sav(codes, str(tmp_path / "d.sav"), variable_value_labels=labels)
    for name in ("d.dta", "d.sav"):
        table = read_table(tmp_path / name, infer=True)
        assert table.kinds[3] == "categorical", name
        np.testing.assert_array_equal(table.values[:, 4], hours)


def test_a_column_that_varies_only_in_rows_left_out_is_constant(tmp_path):
    frame = FRAME.assign(seen=[True, None] * 30)
    with pytest.raises(InputError, match=r"'seen' is constant \(1 in all 30 rows.*drop_constant=True"):
        read_table(frame, missing="drop")
    assert read_table(frame, missing="drop", drop_constant=True).names == tuple(FRAME)


def test_standard_input_is_read_by_the_real_command(folder):
    program = "import sys; from dagtune.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "audit", "-", "--json"]
    done = subprocess.run(command, input=GOOD["decimal-comma.csv"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    found = json.loads(done.stdout)
    assert [column["name"] for column in found["columns"]] == list(FRAME)
    assert "decimal comma" in found["notes"][0]


def test_everything_wrong_is_said_at_once(tmp_path):
    frame = FRAME.astype(object).assign(one=1)
    frame.loc[4, "age"], frame.loc[6, "dose"] = "oops", None
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        InputError, match=r"'age' holds 'oops' in line 6.*'dose' has 1 missing.*line 8.*'one' is constant"
    ):
        read_table(tmp_path / "t.csv")


def test_what_was_left_out_is_said_and_found_by_the_audit(folder):
    for name, code in {"total.csv": "stray-row", "id.csv": "row-number", "no-header.csv": "no-header"}.items():
        assert read_table(folder / name).notes
        assert code in [finding.code for finding in audit(folder / name).findings]
    assert read_table(folder / "id.csv", columns="id,age,dose").names == ("age", "dose", "id")


def test_insisting_beats_what_is_found_out(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,234;5\n2,345;6\n3,456;8\n")
    assert read_table(tmp_path / "t.csv").values[0, 0] == 1.234
    assert read_table(tmp_path / "t.csv", decimal=".").values[0, 0] == 1234
    assert read_table(tmp_path / "t.csv", header=False, decimal=",", na="a,b", missing="drop").names == ("x0", "x1")
