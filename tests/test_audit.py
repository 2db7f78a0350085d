"""The audit finds what was put wrong, names the column and a cure, and is silent about clean tables."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dagtune.audit import CODES, audit
from dagtune.simulate import random_dag, sample


def clean(rows=400, columns=4, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    return pd.DataFrame(values, columns=[f"v{j}" for j in range(columns)])


def codes(table, **options):
    return {finding.code: finding for finding in reversed(audit(table, **options).findings)}


@pytest.mark.parametrize(("rows", "columns"), [(100, 5), (100, 40), (1000, 40), (10_000, 5)])
def test_independent_gaussian_columns_give_no_findings(rows, columns):
    loud = [seed for seed in range(50) if not audit(clean(rows, columns, seed)).clean]
    assert len(loud) <= 1


@pytest.mark.slow
def test_large_gaussian_tables_give_no_findings():
    assert sum(not audit(clean(10_000, 40, seed)).clean for seed in range(50)) <= 1


def test_dependent_gaussian_columns_give_no_findings():
    loud = 0
    for seed in range(50):
        truth = random_dag(10, 15, rng=seed)
        loud += not audit(sample(truth, "linear", 500, rng=seed, standardize="internal")).clean
    assert loud <= 1


def spoiled(**columns):
    return clean().assign(**columns)


RNG = np.random.default_rng(7)
NORMAL = RNG.normal(size=400)


@pytest.mark.parametrize(
    ("code", "bad", "cure"),
    [
        ("missing", np.where(np.arange(400) % 9 == 0, np.nan, NORMAL), "missing='drop'"),
        ("missing", np.full(400, np.nan), "drop='bad'"),
        ("infinite", np.where(np.arange(400) == 5, np.inf, NORMAL), "clip"),
        ("constant", np.full(400, 3.0), "drop='bad'"),
        ("near-constant", np.where(np.arange(400) % 100 == 0, 1.0, 0.0), "drop='bad'"),
        ("non-numeric", ["yes", "no"] * 200, "as categories"),
        ("non-numeric", ["red", "green", "blue", "gray"] * 100, "kinds="),
        ("non-numeric", [f"{value:.2f}".replace(".", ",") for value in NORMAL], "1.5 for 1,5"),
        ("non-numeric", ["?", *map(str, NORMAL[1:])], "'?'"),
        ("non-numeric", [f"2024-01-{1 + day % 28:02d}" for day in range(400)], "days"),
        ("row-number", np.arange(400) + 1, "drop='bad'"),
        ("discrete", RNG.integers(0, 5, 400), "kinds="),
        ("ties", np.where(NORMAL < 0, 0.0, NORMAL), "limit"),
        ("ties", np.round(7 * NORMAL), "rounding"),
        ("outliers", np.where(np.arange(400) == 17, 40.0, NORMAL), "row"),
        ("heavy-tails", np.exp(2 * NORMAL), "log(x)"),
        ("heavy-tails", np.exp(2 * NORMAL) * (np.arange(400) > 0), "log(1 + x)"),
        ("heavy-tails", np.sinh(2 * NORMAL), "asinh"),
        ("heavy-tails", np.random.default_rng(1).standard_cauchy(400) ** 9, "ranks"),
        ("serial-dependence", np.convolve(RNG.normal(size=402), np.ones(3) / 2, "valid"), "time series"),
    ],
)
def test_a_spoiled_column_is_found_named_and_given_a_cure(code, bad, cure):
    found = codes(spoiled(bad=bad))
    assert found[code].columns == ("bad",)
    assert cure in found[code].cure
    assert all(finding.columns == ("bad",) for finding in found.values() if finding.code != "scale-spread")


@pytest.mark.parametrize(
    ("code", "bad"),
    [
        ("duplicate-column", lambda v: v),
        ("duplicate-column", lambda v: 5 - 2 * v),
        ("near-deterministic", lambda v: v + 0.05 * NORMAL),
        ("near-deterministic", np.exp),
        ("near-deterministic", lambda v: np.cos(2 * v)),
    ],
)
def test_a_column_that_another_determines_is_found(code, bad):
    found = codes(spoiled(bad=lambda table: bad(table["v1"])))
    assert set(found[code].columns) == {"v1", "bad"}
    assert "drop=" in found[code].cure


def test_a_sum_of_columns_is_found():
    table = spoiled(total=lambda table: table.sum(axis=1))
    assert {column for f in audit(table).findings for column in f.columns} == set(table.columns)
    assert set(codes(table)) == {"collinear"}


def test_copies_of_rows_are_found_but_coincidences_of_coarse_values_are_not():
    table = clean()
    assert "200 rows" in codes(pd.concat([table, table[:200]]))["duplicate-rows"].message
    coarse = pd.DataFrame(RNG.integers(0, 3, size=(500, 3)), columns=list("abc"))
    assert "duplicate-rows" not in codes(coarse)


def test_numbers_kept_as_objects_are_numbers():
    assert audit(clean().astype(object)).clean


def test_few_rows_are_found():
    assert "few-rows" in codes(clean(30, 3))
    assert "few-rows" in codes(clean(100, 60))


def test_an_order_of_rows_does_not_pass_for_a_function():
    table = clean(1000, 3).assign(group=np.repeat([0.0, 1.0], 500)).sort_values("v0")
    assert "near-deterministic" not in codes(table)


def test_scales_and_sortability_are_reported():
    table = clean() * [1, 1, 1, 100]
    assert codes(table)["scale-spread"].columns[0] == "v3"
    chain = np.triu(np.ones((4, 4)), 1).astype(bool) & ~np.triu(np.ones((4, 4)), 2).astype(bool)
    data = np.cumsum(np.random.default_rng(0).normal(size=(1000, 4)), axis=1)
    found = audit(data, truth=chain)
    assert found.sortability["var"] == 1.0
    assert "var-sortable" in {finding.code for finding in found.findings}
    assert "var-sortability 1.00" in str(found)


@pytest.mark.parametrize(
    ("text", "encoding", "code"),
    [
        ("größe,b\n1,2\n3,5\n", "latin-1", "encoding"),
        ("größe,b\n1,2\n3,5\n", "utf-16", "encoding"),
        ("a,a\n1,2\n3,5\n", "utf-8", "duplicate-name"),
        (",b\n0,2\n1,5\n", "utf-8", "row-number"),
        ("a,b\n1,2\n3,5\n4,9\nTotal,7\n", "utf-8", "stray-row"),
        ("0.5,1.25\n1,2\n3,5\n", "utf-8", "no-header"),
    ],
)
def test_what_is_wrong_with_a_file_is_found(tmp_path, text, encoding, code):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding=encoding)
    assert code in codes(path)
    if encoding != "utf-8":
        assert audit(path).columns[0].name == "größe"


def test_a_file_with_a_utf8_mark_is_clean(tmp_path):
    path = tmp_path / "t.csv"
    clean().to_csv(path, index=False, encoding="utf-8-sig")
    found = audit(path)
    assert found.clean
    assert found.columns[0].name == "v0"


def test_an_audit_reads_as_json_and_as_text():
    found = audit(spoiled(bad=np.full(400, np.nan), far=np.where(NORMAL > 2.9, np.inf, NORMAL) * 1e200))
    document = json.loads(found.to_json())
    assert document["rows"] == 400
    assert [column["name"] for column in document["columns"]] == ["v0", "v1", "v2", "v3", "bad", "far"]
    assert {entry["code"] for entry in document["findings"]} == {finding.code for finding in found.findings}
    assert all(entry["severity"] == CODES[entry["code"]] for entry in document["findings"])
    assert all(finding.cure in str(found) for finding in found.findings)
    assert "Nothing found." in str(audit(clean()))


def test_hostile_names_are_escaped_in_text_and_verbatim_in_json():
    name = "\x1b[31m\u202e"
    found = audit(clean().assign(**{name: 1.0}))
    assert name not in str(found)
    assert json.loads(found.to_json())["findings"][0]["columns"] == [name]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(),
        pd.DataFrame({"a": []}),
        pd.DataFrame({"a": [1.0]}),
        pd.DataFrame({"a": ["x", None], "b": [None, None]}),
        np.zeros((5, 2)),
        np.full((30, 2), np.nan),
    ],
)
def test_no_table_is_too_poor_to_be_audited(table):
    found = audit(table)
    assert not found.clean
    assert str(found)
    assert json.loads(found.to_json())


def test_every_code_stands_in_the_docs():
    page = (Path(__file__).parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [code for code in CODES if f"`{code}`" not in page] == []


def test_the_kinds_that_a_learner_takes_are_shown():
    table = clean().assign(
        flag=NORMAL > 0, visits=RNG.poisson(6, 400), sex=["f", "m"] * 200, id=[f"row {k}" for k in range(400)]
    )
    found = {column.name: column.taken_as for column in audit(table).columns}
    assert found == {
        **dict.fromkeys(["v0", "v1", "v2", "v3"], "continuous"),
        "flag": "binary",
        "visits": "count",
        "sex": "binary",
        "id": "",
    }
    assert "taken as" in str(audit(table))


def test_gaps_and_derived_columns_are_told():
    gone = (clean()["v0"].to_numpy() > 0) & (RNG.random(400) < 0.6)
    told = codes(spoiled(bad=np.where(gone, np.nan, NORMAL)))
    assert "rows are complete" in told["gap-pattern"].message
    assert told["predictable-gaps"].columns == ("bad", "v0")
    assert "missing='model'" in told["predictable-gaps"].cure
    a, b = np.exp(NORMAL), np.exp(RNG.normal(size=400))
    assert set(codes(spoiled(a=a, b=b, ratio=a / b))["derived-column"].columns) == {"a", "b", "ratio"}
    site = RNG.integers(0, 3, 400)
    assert codes(spoiled(**{f"s{k}": site == k for k in range(3)}))["indicators"].columns == ("s0", "s1", "s2")
