"""The page holds what the result says, whole and escaped, and nothing in it can load or run anything of its own."""

import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dagtune
from dagtune import ConditionalTuning, graph, metrics
from dagtune.bootstrap import EdgeConfidence
from dagtune.engine.dependence import measure_dependence
from dagtune.report import content as report_content
from dagtune.report import write_report
from dagtune.report.content import page_content
from dagtune.result import Change, Check, Measured, Result
from dagtune.tables import read_table
from dagtune.text import shown
from dagtune.validation import InputError
from reports import HOSTILE, believed, drawn, learned


class Page(HTMLParser):
    """Tags with their attributes, and what stands inside script, style and noscript lists."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.inside, self._open = [], {"script": [], "style": [], "li": [], "title": []}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open = tag if tag in self.inside else None
        if self._open:
            self.inside[tag].append("")

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            self.inside[self._open][-1] += data

    def of(self, tag):
        return [attributes for found, attributes in self.tags if found == tag]

    @property
    def data(self):
        return json.loads(self.inside["script"][0])


@pytest.fixture(scope="module")
def case():
    return learned()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Result and text of a page in which everything that can be hostile is."""
    result = drawn(len(HOSTILE), 30, names=HOSTILE)
    finding = SimpleNamespace(code="x<b>", columns=HOSTILE[:3], message=HOSTILE[0], cure=HOSTILE[1], severity="warning")
    path = write_report(
        tmp_path_factory.mktemp("hostile") / "<b>.html",
        result,
        audit=SimpleNamespace(rows=3, findings=(finding,)),
        title=HOSTILE[2],
        command=f"dagtune learn {HOSTILE[2]!r}",
    )
    return result, path.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------------- the page


def test_the_page_may_run_its_own_script_and_nothing_else(case, tmp_path):
    page = Page(write_report(tmp_path / "report.html", case[0]).read_text())
    policy = next(meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for kind, text in (("script", page.inside["script"][1]), ("style", page.inside["style"][0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
    assert [script.get("type") for script in page.of("script")] == ["application/json", None]


def test_the_page_refers_to_nothing_outside(case, tmp_path):
    text = write_report(tmp_path / "report.html", case[0]).read_text()
    page = Page(text)
    for _, attributes in page.tags:
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert not any(key.startswith("on") for key in attributes)
    assert "url(" not in page.inside["style"][0]
    assert "@import" not in page.inside["style"][0]
    script = page.inside["script"][1].replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    for way_out in ("http", "fetch(", "XMLHttpRequest", "import(", "WebSocket", "sendBeacon", "Worker"):
        assert way_out not in script
    for markup in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert markup not in script


def test_hostile_names_add_no_tag(hostile, tmp_path):
    result, text = hostile
    plain = Page(write_report(tmp_path / "plain.html", drawn(len(HOSTILE), 30)).read_text())
    page = Page(text)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert page.of("script") == plain.of("script")
    assert page.inside["title"] == [shown(HOSTILE[2])]
    assert len(page.inside["li"]) >= result.matrix.sum()


def test_hostile_names_stand_in_the_data_escaped_and_whole(hostile):
    result, text = hostile
    data = Page(text).data
    assert data["names"] == [shown(name) for name in HOSTILE]
    assert all(name.isprintable() for name in data["names"])
    assert data["dot"] == result.to_dot()
    start = text.index('id="data">') + len('id="data">')
    raw = text[start : text.index("</script>", start)]
    assert raw.isascii()
    assert not set("<>&") & set(raw)
    assert json.loads(raw) == data


def test_a_name_that_looks_like_a_placeholder_stays_a_name(hostile):
    assert any("{{DATA}}" in name for name in Page(hostile[1]).data["names"])


def test_an_earlier_page_survives_a_failed_write(case, tmp_path, monkeypatch):
    path = write_report(tmp_path / "report.html", case[0], title="first")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_report(path, case[0], title="second")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_page_has_the_permissions_of_any_new_file(case, tmp_path):
    (tmp_path / "plain").write_text("")
    path = write_report(tmp_path / "deeper" / "report.html", case[0])
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


# ----------------------------------------------------------------------------------------------------- the content


def test_every_edge_has_its_strength_its_evidence_and_the_phase_it_came_in(case):
    result, _ = case
    content = page_content(result)
    told = {(edge["cause"], edge["effect"]): edge for edge in content["edges"]}
    assert set(told) == {(int(i), int(j)) for i, j in np.argwhere(result.matrix)}
    for (i, j), edge in told.items():
        assert edge["why"] == result.why(result.names[i], result.names[j])
        assert edge["strength"] == pytest.approx(result.strength[i, j], rel=1e-5)
        when = [phase for phase in result.phases if result.history[phase][i, j]]
        assert edge["came"] in when
        since = result.phases.index(edge["came"])
        assert all(result.history[phase][i, j] for phase in result.phases[since:])
        assert since == 0 or not result.history[result.phases[since - 1]][i, j]


def test_an_edge_that_went_and_came_again_is_there_since_it_came_again():
    edge, none = np.array([[False, True], [False, False]]), np.zeros((2, 2), dtype=bool)
    changes = (Change("cut", "delete", ("a", "b"), "weak"), Change("mend", "add", ("a", "b"), "strong after all"))
    graphs = {"start": edge, "cut": none, "mend": edge, "end": edge}
    result = Result(("a", "b"), graphs, changes, np.where(edge, 1.0, np.nan), "strength", np.ones((2, 2)), "score is")
    assert [edge["came"] for edge in page_content(result)["edges"]] == ["mend"]


def test_the_changes_on_the_page_are_those_of_the_result(case):
    result, _ = case
    content = page_content(result)
    assert result.changes
    for packed, change in zip(content["changes"], result.changes, strict=True):
        phase, action, i, j, rule, numbers, cycle = packed
        assert (result.phases[phase], action) == (change.phase, change.action)
        assert (result.names[i], result.names[j]) == change.edge
        assert content["rules"][rule] == change.rule
        assert tuple(result.names[node] for node in cycle) == change.cycle
        for (what, child, parents, value), number in zip(numbers, change.numbers, strict=True):
            assert content["measures"][what] == number.what
            assert (result.names[child], tuple(result.names[p] for p in parents)) == (number.child, number.parents)
            assert float(value) == pytest.approx(number.value, rel=1e-3)


def test_phases_and_routes_cover_every_edge_that_ever_was():
    result = drawn(12, 20)
    content = page_content(result)
    assert [phase["name"] for phase in content["phases"]] == list(result.phases)
    routed = {frozenset(route[:2]) for route in content["layout"]["routes"]}
    for phase, matrix in zip(content["phases"], result.history.values(), strict=True):
        assert phase["edges"] == np.argwhere(matrix).tolist()
        assert {frozenset(edge) for edge in phase["edges"]} <= routed


def test_the_python_on_the_page_makes_the_graph():
    result = drawn(len(HOSTILE), 30, names=HOSTILE)
    found = {}
    exec(page_content(result)["python"], found)
    pd.testing.assert_frame_equal(found["adjacency"], result.to_frame())
    assert set(found["network"].edges) == set(graph.edge_list(result.matrix, result.names))


def test_the_python_on_the_page_learns_the_graph_again(case):
    result, X = case
    code = page_content(result)["rerun"]
    found = {"X": X}
    exec(code, found)
    np.testing.assert_array_equal(found["learner"].result_.matrix, result.matrix)
    assert found["learner"].result_.settings == result.settings


def test_the_python_on_the_page_learns_conditionally_again(case):
    _, X = case
    result = dagtune.ConditionalTuning(density="sparse", random_state=3, threads=1).fit(X[["a", "b", "c"]]).result_
    found = {"X": X[["a", "b", "c"]]}
    exec(page_content(result)["rerun"], found)
    assert found["learner"].result_.settings == result.settings
    np.testing.assert_array_equal(found["learner"].result_.matrix, result.matrix)


def test_prior_knowledge_and_seeds_are_in_the_python_that_learns_again():
    knowledge = {"required": [["a", "c"]], "forbidden": [["b", "a"]]}
    result, X = learned(knowledge=knowledge, rng=7)
    found = {"X": X}
    exec(page_content(result)["rerun"], found)
    assert found["learner"].random_state == 7
    np.testing.assert_array_equal(found["learner"].result_.matrix, result.matrix)


def test_a_learner_the_page_does_not_know_is_told_by_its_settings_alone():
    content = page_content(drawn(5, 5))
    assert content["rerun"] == ""
    assert ["learner", "invented"] in content["settings"]


def test_versions_are_those_that_ran():
    versions = dict(page_content(drawn(3, 2))["versions"])
    assert versions["numpy"] == np.__version__
    assert versions["dagtune"] == dagtune.__version__


def test_unknown_numbers_are_left_out_not_written_as_nan(tmp_path):
    result = drawn(4, 4)
    opening = np.full((4, 4), np.nan)
    opening[0, 1] = np.inf
    odd = Result(result.names, result.history, result.changes, np.full((4, 4), np.nan), "strength", opening, "score is")
    data = Page(write_report(tmp_path / "odd.html", odd).read_text()).data
    assert all(edge["strength"] is None for edge in data["edges"])
    assert data["opening"]["values"] == [[None] * 4] * 4
    assert data["heat"] is None


def test_confidence_is_matched_by_name():
    result = drawn(6, 8)
    names = list(result.names)[::-1]
    shares = pd.DataFrame(np.arange(36.0).reshape(6, 6) / 36, index=names, columns=names)
    content = page_content(result, confidence=EdgeConfidence(shares, shares, shares, n_samples=50, redrawn=0))
    assert content["resamples"] == 50
    for edge in content["edges"]:
        cause, effect = result.names[edge["cause"]], result.names[edge["effect"]]
        assert edge["confidence"] == pytest.approx(shares.loc[cause, effect], rel=1e-5)


def test_edges_have_the_probabilities_of_the_result_and_stay_the_strongest_first():
    result = believed(6, 8)
    content = page_content(result)
    strengths = [edge["strength"] for edge in content["edges"]]
    assert strengths == sorted(strengths, reverse=True)
    for edge in content["edges"]:
        i, j = edge["cause"], edge["effect"]
        assert edge["probability"] == result.probability[i, j]
        assert edge["reverse"] == result.probability[j, i]
        assert edge["none"] == pytest.approx(1 - edge["probability"] - edge["reverse"], abs=1e-6)
        assert edge["record"] == 0.76
        assert "if the model holds" in edge["why"]
    assert content["undecided"] == [np.argwhere(result.matrix)[0].tolist()]
    assert content["trackRecordWords"] == "invented <b>"


def test_without_probabilities_the_page_has_none_and_nothing_is_undecided():
    content = page_content(drawn(6, 8))
    assert {edge[key] for edge in content["edges"] for key in ("probability", "reverse", "none", "record")} == {None}
    assert (content["undecided"], content["probabilityWords"], content["trackRecordWords"]) == ([], "", "")


def test_probabilities_and_undecided_pairs_of_hostile_names_add_no_tag(tmp_path):
    pages = [
        Page(write_report(tmp_path / f"{k}.html", believed(len(HOSTILE), 30, names=names)).read_text())
        for k, names in enumerate((HOSTILE, None))
    ]
    assert [tag for tag, _ in pages[0].tags] == [tag for tag, _ in pages[1].tags]
    assert len(pages[0].data["undecided"]) == 1


def test_the_heat_map_is_matched_by_name_and_falls_back_on_the_first_phase(case):
    result, X = case
    dependence = measure_dependence(X[list(X.columns)[::-1]], kernel="sigmoid", order=1, threads=1)
    heat = page_content(result, dependence=dependence)["heat"]
    np.testing.assert_allclose(heat["values"], dependence.first[::-1, ::-1], rtol=1e-5)
    assert "sigmoid" in heat["what"]
    np.testing.assert_allclose(page_content(result)["heat"]["values"], result.opening, rtol=1e-5)
    with pytest.raises(InputError, match="lacks columns"):
        page_content(result, dependence=measure_dependence(X[["a", "b"]], order=1, threads=1))


def test_columns_are_summed_up_without_their_rows(case):
    result, X = case
    X = X.copy()
    X.loc[3, "b"] = np.nan
    X["unused"] = 1.0
    columns = page_content(result, data=X)["columns"]
    assert [sum(column["bars"]) for column in columns] == [120, 119, 120, 120, 120]
    assert [column["missing"] for column in columns] == [0, 1, 0, 0, 0]
    for name, column in zip(result.names, columns, strict=True):
        assert column["mean"] == pytest.approx(X[name].mean(), rel=1e-4)
        assert column["most"] == pytest.approx(X[name].max(), rel=1e-4)
    with pytest.raises(InputError, match="lack the column 'c'"):
        page_content(result, data=X.drop(columns="c"))


def test_data_without_names_are_taken_in_order(case):
    result, X = case
    assert page_content(result, data=X.to_numpy())["columns"] == page_content(result, data=X)["columns"]


def test_columns_of_text_are_counted_by_their_names_whatever_the_table_came_as(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    side = np.where(x + rng.logistic(size=90) > 0, "left", "<b>right</b>")
    table = pd.DataFrame({"x": x, "side": side})
    result = ConditionalTuning(random_state=0).fit(table).result_
    table.to_csv(tmp_path / "table.csv", index=False)
    for data in (None, table, tmp_path / "table.csv", read_table(table, infer=True)):
        number, text = page_content(result, data=data)["columns"]
        assert (number["levels"], sum(number["bars"])) == ([], 90)
        assert text["kind"] == "two values"
        assert dict(zip(text["levels"], text["bars"])) == table["side"].value_counts().to_dict()


def test_edges_are_marked_right_reversed_or_extra_and_scored_beside_chance():
    result = drawn(6, 8)
    true = result.matrix.copy()
    (i, j), (k, m) = np.argwhere(true)[:2]
    true[i, j], true[j, i] = False, True
    true[k, m] = False
    if not graph.is_dag(true):
        true[j, i] = False
    frame = graph.to_frame(true, result.names).iloc[::-1, ::-1]
    content = page_content(result, truth=frame)
    marks = {(edge["cause"], edge["effect"]): edge["truth"] for edge in content["edges"]}
    for (a, b), mark in marks.items():
        assert mark == ("right" if true[a, b] else "reversed" if true[b, a] else "extra")
    assert set(marks.values()) >= {"right", "extra"}
    rows = {row["name"]: row for row in content["truth"]["scores"]}
    last = rows["after repair"]
    assert last["SID"] == metrics.sid(true, result.matrix)
    assert last["SHD"] == metrics.shd(true, result.matrix)
    assert last["F1"] == pytest.approx(metrics.f1(true, result.matrix), rel=1e-5)
    assert rows["the empty graph"]["edges"] == 0
    assert any("random complete DAG" in name for name in rows)


def test_a_truth_that_does_not_fit_is_refused(case):
    result, _ = case
    with pytest.raises(InputError, match="3 nodes, the result 5"):
        page_content(result, truth=np.zeros((3, 3)))
    other = graph.to_frame(np.zeros((5, 5)), list("abcdX"))
    with pytest.raises(InputError, match="no node 'e'"):
        page_content(result, truth=other)


def test_checks_and_findings_are_on_the_page():
    result = drawn(3, 2)
    check = Check("gene_00", ("gene_01", "gene_02"), 0.5, 0.001, False, "the residuals still depend on a cause")
    odd = Result(**{**result.__dict__, "checks": (check,)})
    finding = SimpleNamespace(code="constant", columns=("gene_01",), message="m", cure="c", severity="error")
    content = page_content(odd, audit=SimpleNamespace(rows=12, findings=(finding,)))
    assert content["checks"] == [
        {
            "child": "gene_00",
            "against": ["gene_01", "gene_02"],
            "statistic": 0.5,
            "p": 0.001,
            "holds": False,
            "words": check.words,
        }
    ]
    assert content["audit"] == {"rows": 12, "findings": [vars(finding) | {"columns": ["gene_01"]}]}


def test_a_page_with_nothing_but_names_can_be_made(tmp_path):
    nothing = np.zeros((2, 2), dtype=bool)
    bare = Result(("a", "b"), {"only": nothing}, (), np.full((2, 2), np.nan), "strength", np.zeros((2, 2)), "number")
    data = Page(write_report(tmp_path / "bare.html", bare).read_text()).data
    assert (data["edges"], data["changes"], data["heat"], data["audit"]) == ([], [], None, None)


def test_many_changes_take_little_room(tmp_path):
    d = 60
    complete = graph.complete(np.arange(d))
    names = tuple(f"a rather long column name {i}" for i in range(d))
    changes = tuple(
        Change("cut", "delete", (names[j], names[i]), "a rule in many words " * 5, None, (number,) * 3)
        for i, j in np.argwhere(complete)
        for number in [Measured("HSIC", names[j], (names[i],), 0.123456)]
    )
    result = Result(
        names,
        {"first": complete | complete.T, "cut": complete},
        changes,
        np.where(complete, 1.0, np.nan),
        "strength",
        np.ones((d, d)),
        "score is",
    )
    assert write_report(tmp_path / "many.html", result).stat().st_size < 4e6


def test_every_part_of_the_page_is_found_by_its_script():
    script, page = (report_content.__file__.replace("content.py", name) for name in ("page.js", "page.html"))
    with open(script) as file:
        asked = set(re.findall(r'byId\("([^"$]+)"\)', file.read()))
    with open(page) as file:
        there = {attributes.get("id") for _, attributes in Page(file.read()).tags}
    assert asked - there == set()
