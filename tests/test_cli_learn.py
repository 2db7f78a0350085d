"""`dagtune learn` through the real command: every option, every file, names as they are, whole folders or nothing."""

import csv
import json
import os
import stat
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dagtune import ConditionalTuning, Result
from dagtune.cli import main
from dagtune.tables import read_adjacency

FILES = {
    "edges.csv",
    "graph.csv",
    "graph.dot",
    "graph.graphml",
    "graph.json",
    "graph.png",
    "graph.svg",
    "report.html",
    "result.json",
    "result.npz",
}
HOSTILE = [
    "=cmd|' /C calc'!A0",
    "[red]a[/red]",
    "x\x1b[31m\u202e",
    'a,"b"\nc',
    "<script>alert(1)</script>",
    "-> NA",
    "$x_1$ \\",
    " lead",
    "NA",
    "1.5\r",
    "@sum",
]


def table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(size=rows)
    dose = np.tanh(age) + rng.normal(size=rows)
    size = np.tanh(age) + np.tanh(dose) + rng.normal(size=rows)
    return pd.DataFrame({"age": age, "dose": dose, "size": size, "price": rng.normal(size=rows)})


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder to work in, with a table in it."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)
    return tmp_path


def learn(*arguments, method="ot", out="out"):
    assert main(["learn", *arguments, "--method", method, "--out", out]) == 0
    return Result.load(out)


def test_learn_writes_every_file_and_tells_a_short_story(desk, capsys):
    result = learn("data.csv")
    assert {path.name for path in (desk / "out").iterdir()} == FILES
    told = capsys.readouterr()
    assert told.err == ""
    for cause, effect, unsure in result.edges()[["cause", "effect", "undecided"]].itertuples(index=False):
        assert f"{cause} {'?' if unsure else '->'} {effect}" in told.out
    assert "reading data.csv" in told.out
    assert "report.html" in told.out
    assert "share of 20 resamples of the rows" in told.out


def test_the_files_tell_the_same_graph(desk):
    result = learn("data.csv", "--bootstrap", "4")
    graph = read_adjacency("out/graph.csv")
    assert (graph == result.to_frame()).all(axis=None)
    edges = pd.read_csv("out/edges.csv")
    numbers = ["probability", "reverse", "none", "track_record", "undecided"]
    assert list(edges.columns) == ["cause", "effect", "strength", *numbers, "confidence", "evidence"]
    assert list(zip(edges.cause, edges.effect)) == list(result.edges()[["cause", "effect"]].itertuples(index=False))
    assert set(edges.confidence) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert edges.evidence[0] == result.why(edges.cause[0], edges.effect[0])
    assert json.loads(Path("out/graph.json").read_text())["names"] == list(result.names)
    assert Path("out/graph.dot").read_text() == result.to_dot()
    assert Path("out/graph.graphml").read_text() == result.to_graphml()
    assert Path("out/graph.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse("out/graph.svg").getroot().tag.endswith("svg")
    assert "<html" in Path("out/report.html").read_text()


def test_the_folder_is_named_after_the_table_if_nobody_says_otherwise(desk):
    assert main(["learn", "data.csv", "--method", "ot", "--quiet"]) == 0
    assert Result.load("dagtune-data").names == ("age", "dose", "size", "price")


@pytest.mark.parametrize("ending", ["tsv", "parquet", "feather", "csv"])
def test_every_format_gives_the_same_graph(desk, ending):
    data = table()
    {
        "csv": lambda path: data.to_csv(path, index=False, sep=";"),
        "tsv": lambda path: data.to_csv(path, index=False, sep="\t"),
        "parquet": data.to_parquet,
        "feather": data.to_feather,
    }[ending](f"other.{ending}")
    learned = learn(f"other.{ending}", *(["--sep", ";"] if ending == "csv" else []), out="other")
    assert (learned.matrix == learn("data.csv").matrix).all()


def test_row_labels_that_pandas_stored_are_no_column(desk):
    data = table()
    data.set_axis([f"r{k}" for k in range(len(data))]).to_parquet("labelled.parquet")
    result = learn("labelled.parquet", "--drop", "price")
    assert result.names == ("age", "dose", "size")


def test_columns_and_drop_choose_columns(desk):
    assert learn("data.csv", "--columns", "size,age", "--columns", "price").names == ("age", "size", "price")
    assert learn("data.csv", "--drop", "price", out="b").names == ("age", "dose", "size")
    assert learn("data.csv", "--columns", "age,dose,size", "--drop", "age", out="c").names == ("dose", "size")


def test_missing_values_are_dropped_or_filled_in_and_said_so(desk):
    data = table()
    data.iloc[3, 1] = data.iloc[7, 2] = np.nan
    data.to_csv("gaps.csv", index=False)
    dropped = learn("gaps.csv", "--missing", "drop")
    assert dropped.settings["rows"] == 118
    assert any("2 rows" in warning for warning in dropped.warnings)
    filled = learn("gaps.csv", "--missing", "impute", out="b")
    assert filled.settings["rows"] == 120
    assert any("2 missing values" in warning for warning in filled.warnings)


def test_gaps_groups_experiments_and_indicators_are_typed_as_they_are_written_in_python(desk):
    rng = np.random.default_rng(0)
    data = table().assign(lab=rng.choice(["a", "b"], 120), north=rng.permutation([1] * 40 + [0] * 80))
    data["south"] = (1 - data["north"]) * rng.integers(0, 2, 120)
    data.loc[:20, "age"] = np.nan
    data.to_csv("messy.csv", index=False)
    Path("done.toml").write_text('column = "lab"\n[targets]\nb = ["size"]\n')
    options = {"missing": "model", "merge": {"site": ["north", "south"]}}
    for given, typed in (
        ({"groups": "lab"}, "--groups=lab"),
        ({"experiments": "done.toml"}, "--experiments=done.toml"),
    ):
        arguments = ("--missing", "model", "--merge", "site=north,south", typed, "--force")
        found = learn("messy.csv", *arguments, method="conditional")
        same = ConditionalTuning(random_state=0, **options, **given).fit("messy.csv").result_
        assert found.names == (*table().columns, "site")
        assert found.settings["rows"] == 120
        np.testing.assert_array_equal(found.probability, same.probability)


def test_constant_columns_can_be_left_out(desk):
    table().assign(one=1).to_csv("constant.csv", index=False)
    result = learn("constant.csv", "--drop-constant")
    assert "one" not in result.names
    assert any("one" in warning for warning in result.warnings)


def test_levels_reach_the_learner_by_name(desk):
    table().assign(one="same", group=["u", "v"] * (len(table()) // 2)).to_csv("levels.csv", index=False)
    result = learn(
        "levels.csv", "--categorical", "one, group", "--drop-constant", "--standardize", method="conditional"
    )
    assert result.settings["kinds"]["group"] == "categorical"
    asked = learn("levels.csv", "--kinds", "group=u<v", "--drop", "one", method="conditional", out="asked")
    assert asked.settings["kinds"]["group"] == "ordinal"


def test_standardize_makes_scale_irrelevant(desk):
    (table() * [1, 50, 1, 0.01]).to_csv("scaled.csv", index=False)
    assert (learn("scaled.csv", "--standardize").matrix == learn("data.csv", "--standardize", out="b").matrix).all()
    assert Result.load("out").settings["standardized"]


def test_kernel_and_preset_reach_the_learner(desk):
    settings = learn("data.csv", "--kernel", "sigmoid", "--preset", "released").settings
    assert (settings["kernel"], settings["preset"]) == ("sigmoid", "released")


def test_knowledge_comes_from_a_file_and_from_options(desk):
    Path("known.toml").write_text('required = [["price", "size"]]')
    result = learn("data.csv", "--knowledge", "known.toml", "--require", "age -> price", "--forbid", "age->dose")
    edges = set(result.edges()[["cause", "effect"]].itertuples(index=False, name=None))
    assert {("price", "size"), ("age", "price")} <= edges
    assert ("age", "dose") not in edges
    tiers = learn("data.csv", "--tiers", "price, size > dose > age", out="b").to_frame()
    assert tiers.loc[["dose", "age"], ["price", "size"]].to_numpy().sum() == 0
    assert tiers.loc["age", "dose"] == 0


def test_beliefs_come_from_options_and_the_file(desk, capsys):
    Path("known.json").write_text('{"prior": [["price", "size", 0.2]]}')
    arguments = ["--knowledge", "known.json", "--prior", "age -> dose=0.8", "--prior", "dose->size= 9e-1", "--quiet"]
    known = learn("data.csv", *arguments, method="conditional").settings["knowledge"]
    assert known["prior"] == [["price", "size", 0.2], ["age", "dose", 0.8], ["dose", "size", 0.9]]
    assert main(["learn", "data.csv", "--prior", "age->dose=0.8", "--method", "ot"]) == 2
    assert "only the method conditional uses them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age->dose", "'age->dose': put the number after"),
        ("age->dose=", "put the number after"),
        ("age->dose=much", "put the number after"),
        ("age=0.8", "put an arrow between two columns"),
        ("age->doze=0.8", "names 'doze', which is not a column"),
        ("age->dose=1", "strictly between 0 and 1"),
        ("age->dose=nan", "strictly between 0 and 1"),
    ],
)
def test_beliefs_that_can_not_be_read_are_refused_in_a_line(desk, capsys, text, words):
    assert main(["learn", "data.csv", "--prior", text, "--out", "out"]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


def test_a_belief_in_names_with_equals_signs_is_understood(desk):
    table().set_axis(["a=1", "b=2", "d", "e"], axis=1).to_csv("equals.csv", index=False)
    known = learn("equals.csv", "--prior", "a=1->b=2=0.7", "--quiet", method="conditional").settings["knowledge"]
    assert known["prior"] == [["a=1", "b=2", 0.7]]


def test_an_edge_of_names_with_arrows_is_understood(desk):
    table().set_axis(["a->b", "c", "d", "e"], axis=1).to_csv("arrows.csv", index=False)
    assert learn("arrows.csv", "--require", "a->b->c").settings["knowledge"]["required"] == [["a->b", "c"]]


def test_an_edge_that_can_be_read_in_two_ways_is_refused(desk, capsys):
    table().set_axis(["a->b", "c", "b->c", "a"], axis=1).to_csv("arrows.csv", index=False)
    assert main(["learn", "arrows.csv", "--require", "a->b->c", "--method", "ot"]) == 2
    assert "several ways" in capsys.readouterr().err


def test_the_same_seed_gives_the_same_confidence_whatever_the_jobs(desk):
    learn("data.csv", "--bootstrap", "6", "--seed", "3", "--jobs", "1")
    learn("data.csv", "--bootstrap", "6", "--seed", "3", out="b")
    assert Path("out/edges.csv").read_text() == Path("b/edges.csv").read_text()


def test_a_truth_gives_scores_beside_chance(desk, capsys):
    learn("data.csv", "--quiet")
    learn("data.csv", "--truth", "out/graph.csv", out="b")
    told = capsys.readouterr().out
    assert "random-complete" in told
    assert main(["learn", "data.csv", "--method", "ot", "--truth", "out/graph.csv", "--out", "c", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["learned"]["shd"] == 0
    assert scores["empty"]["shd"] > 0


def test_json_is_all_that_stdout_holds(desk, capsys):
    learn("data.csv", "--json", "--bootstrap", "2")
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert told.err == ""
    assert set(document["files"]) == FILES
    assert document["names"] == ["age", "dose", "size", "price"]
    assert all(0 <= edge["confidence"] <= 1 for edge in document["edges"])


def test_drop_each_says_what_becomes_of_the_edges_without_a_column(desk, capsys):
    learn("data.csv", "--json", "--drop-each", "--method", "conditional")
    found = json.loads(capsys.readouterr().out)
    rows = found["columns_left_out"]
    assert {frozenset((row["cause"], row["effect"])) for row in rows} <= {
        frozenset((edge["cause"], edge["effect"])) for edge in found["edges"]
    }
    turned = any(row["turned"] for row in rows)
    assert turned == any("without one of 4 columns at a time" in warning for warning in found["warnings"])


def test_quiet_says_nothing(desk, capsys):
    learn("data.csv", "--quiet")
    assert capsys.readouterr() == ("", "")


def test_hostile_names_are_kept_in_machine_files_and_escaped_on_the_terminal(desk, capsys):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    with open("[b] evil\x1b.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerows([HOSTILE, *data.to_numpy().tolist()])
    result = learn("[b] evil\x1b.csv")
    told = capsys.readouterr().out
    trimmed = [name.strip() for name in HOSTILE]  # what a spreadsheet hides is no part of a name
    assert list(result.names) == trimmed
    assert all(character.isprintable() or character == "\n" for character in told)
    assert list(read_adjacency("out/graph.csv").columns) == trimmed
    with open("out/edges.csv", newline="", encoding="utf-8") as file:
        read = list(csv.reader(file))[1:]
    assert {(row[0], row[1]) for row in read} == {tuple(edge) for edge in result.edges().to_numpy()[:, :2].tolist()}
    assert (
        main(["learn", "[b] evil\x1b.csv", "--method", "ot", "--truth", "out/graph.csv", "--out", "b", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["scores"]["learned"]["shd"] == 0
    assert "<script>alert(1)" not in Path("out/report.html").read_text()


def test_spreadsheet_guards_every_cell_that_could_be_a_formula(desk):
    table().set_axis(["=a", "+b", "-c", "@d"], axis=1).to_csv("formulas.csv", index=False)
    learn("formulas.csv", "--spreadsheet", "--quiet")
    for name in ("graph.csv", "edges.csv"):
        with open(f"out/{name}", newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
        cells = [cell for row in rows for cell in row]
        assert any(cell.startswith("'=") for cell in cells)
        assert not any(cell.startswith(("=", "+", "@", "\t", "\r", "-c")) for cell in cells)


def test_force_replaces_our_files_and_nothing_else(desk):
    learn("data.csv", "--quiet")
    before = Path("out/graph.csv").read_text()
    Path("out/mine.txt").write_text("mine")
    assert main(["learn", "data.csv", "--method", "ot", "--out", "out"]) == 2
    learn("data.csv", "--force", "--columns", "age,dose")
    assert Path("out/mine.txt").read_text() == "mine"
    assert Path("out/graph.csv").read_text() != before
    assert {path.name for path in desk.iterdir()} == {"data.csv", "out"}


def test_an_empty_folder_is_filled_and_new_ones_are_made(desk):
    (desk / "empty").mkdir()
    learn("data.csv", "--quiet", out="empty")
    learn("data.csv", "--quiet", out="a/b/c")
    assert {path.name for path in (desk / "a/b/c").iterdir()} == FILES


def test_files_get_the_rights_that_new_files_have(desk):
    learn("data.csv", "--quiet")
    mask = os.umask(0)
    os.umask(mask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (desk / "out").iterdir()} == {0o666 & ~mask}


def test_a_failure_in_the_middle_leaves_nothing(desk, monkeypatch, capsys):
    import dagtune.report

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(dagtune.report, "write_report", full)
    assert main(["learn", "data.csv", "--method", "ot", "--out", "out"]) == 2
    assert "disk is full" in capsys.readouterr().err
    assert [path.name for path in desk.iterdir()] == ["data.csv"]


def test_stopping_in_the_middle_leaves_nothing(desk, monkeypatch):
    import dagtune.report

    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(dagtune.report, "write_report", stopped)
    assert main(["learn", "data.csv", "--method", "ot", "--out", "out"]) == 130
    assert [path.name for path in desk.iterdir()] == ["data.csv"]


def test_the_demo_needs_no_data(desk, capsys):
    assert main(["learn", "--demo", "--method", "ot"]) == 0
    told = capsys.readouterr().out
    assert "7466 rows, 11 columns" in told
    assert "variance-sorted" in told
    assert "dagtune-demo/report.html" in told


def test_conditional_is_the_default_and_takes_its_options(desk):
    assert main(["learn", "data.csv", "--out", "out", "--quiet"]) == 0
    assert Result.load("out").settings["learner"] != "optimal-tuning"
    learn("data.csv", "--noise", "equal", "--density", "sparse", "--quiet", method="conditional", out="b")
    learn("data.csv", "--density", "0.05", "--require", "price->age", "--quiet", method="conditional", out="c")
    assert Result.load("c").to_frame().loc["price", "age"] == 1


def test_the_edges_of_conditional_have_a_confidence_or_none(desk):
    learn("data.csv", "--bootstrap", "2", "--quiet", method="conditional")
    assert pd.read_csv("out/edges.csv").confidence.between(0, 1).all()


def test_options_that_conditional_does_not_know_are_refused_in_a_line(desk, capsys):
    for wrong in (["--noise", "loud"], ["--density", "thick"], ["--density", "-1"]):
        assert main(["learn", "data.csv", "--out", "out", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


# --- probabilities ----------------------------------------------------------------------------------------------------


@pytest.fixture
def sure(desk, monkeypatch):
    """Conditional tuning gives age -> dose 0.95 with a track record, and dose -> size 0.6 against 0.39."""
    from dagtune import estimators

    def learned(table, **_):
        graph = np.zeros((4, 4), dtype=bool)
        graph[0, 1] = graph[1, 2] = True
        probability = np.zeros((4, 4))
        probability[0, 1], probability[1, 0], probability[1, 2], probability[2, 1] = 0.95, 0.03, 0.6, 0.39
        record = np.full((4, 4), np.nan)
        record[0, 1] = 0.76
        return Result(
            table.names, {"kept": graph}, (), np.where(graph, [[0.1], [0.2], [0], [0]], np.nan), "strength: made up",
            np.zeros((4, 4)), "it is", probability=probability, track_record=record,
        )  # fmt: skip

    monkeypatch.setattr(estimators, "conditional_tuning", learned)
    return desk


def test_the_terminal_tells_probabilities_the_surest_first_then_what_is_undecided(sure, capsys):
    learn("data.csv", method="conditional")
    told = capsys.readouterr().out
    lines = told.splitlines()
    where = lines.index("2 edges among 4 variables: 1 with a direction, 1 undecided")
    assert lines[where + 1 : where + 5] == [
        "  edge         probability  reverse  none  right on real pairs  strength",
        "  age -> dose         0.95     0.03  0.02         3 times in 4  0.1",
        "joined, but with an undecided direction:",
        "  dose ? size         0.60     0.39  0.01                       0.2",
    ]
    assert "--bootstrap 50" in told


def test_the_files_carry_the_probabilities(sure, capsys):
    result = learn("data.csv", "--bootstrap", "2", "--json", method="conditional")
    document = json.loads(capsys.readouterr().out)
    edges = pd.read_csv("out/edges.csv")
    numbers = ["probability", "reverse", "none", "track_record", "undecided"]
    assert list(edges.columns) == ["cause", "effect", "strength", *numbers, "confidence", "evidence"]
    pd.testing.assert_frame_equal(edges[["cause", "effect", "strength", *numbers]], result.edges())
    assert (edges.confidence == 1).all()
    assert document["undecided"] == [["dose", "size"]]
    assert [edge["probability"] for edge in document["edges"]] == [0.95, 0.6]
    assert [edge["track_record"] for edge in document["edges"]] == [0.76, None]
    stored = json.loads(Path("out/graph.json").read_text())
    assert stored["probability"] == result.probability.tolist()
    assert stored["undecided"] == document["undecided"]
    assert stored["track_record"][0] == [None, 0.76, None, None]


def test_ot_gets_its_confidence_from_resamples_and_says_so(desk, capsys):
    result = learn("data.csv")
    assert result.resamples == 20
    assert len(result.graphs) == 20
    np.testing.assert_allclose(result.graphs.mean(axis=0), result.probability)
    told = capsys.readouterr().out
    assert "in resamples: share of 20 resamples of the rows" in told
    assert "not how right" in told
    assert "if the model holds" not in told + Path("out/edges.csv").read_text()
    stored = json.loads(Path("out/graph.json").read_text())
    assert stored["settings"]["resamples"] == 20
    assert stored["probability"] == result.probability.tolist()


def test_without_probabilities_nothing_is_said_of_them(desk, capsys):
    learn("data.csv", "--bootstrap", "0")
    told = capsys.readouterr().out
    assert "if the model holds" not in told
    assert "undecided" not in told
    assert "probability" not in Path("out/edges.csv").read_text() + Path("out/graph.json").read_text()


def test_many_undecided_pairs_are_told_in_part(desk, monkeypatch, capsys):
    from dagtune import estimators

    def learned(table, **_):
        nothing = np.zeros((table.width, table.width), dtype=bool)
        half = np.full(nothing.shape, 0.5)
        return Result(table.names, {"kept": nothing}, (), half, "s", half, "it is", probability=half)

    monkeypatch.setattr(estimators, "conditional_tuning", learned)
    pd.DataFrame(np.random.default_rng(0).normal(size=(40, 9))).to_csv("wide.csv", index=False)
    learn("wide.csv", method="conditional")
    told = capsys.readouterr().out
    assert told.count(" ? ") == 25
    assert "... and 11 more" in told


@pytest.mark.slow
def test_the_example_of_the_readme_and_the_demo_show_the_same_graph(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names = {}
    exec(readme.split("```python\n")[1].split("```")[0], names)
    capsys.readouterr()
    assert main(["learn", "--demo", "--out", "demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(edge["cause"], edge["effect"]) for edge in told["edges"]} == set(names["learner"].causal_graph_.edges)
