"""`dagtune audit`, `compare`, `simulate` and `evaluate` through the real command."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dagtune
from dagtune.baselines import adapters
from dagtune.cli import main
from dagtune.graph import is_dag
from dagtune.metrics import evaluate, shd
from dagtune.simulate import SIZES, random_dag, sample
from dagtune.tables import read_adjacency, read_table


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder to work in, with simulated data and its graph."""
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "--out", "sim", "--nodes", "5", "--edges", "5", "--rows", "200", "--quiet"]) == 0
    return tmp_path


def document(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    told = capsys.readouterr()
    assert told.err == ""
    return json.loads(told.out)


# --- audit ------------------------------------------------------------------------------------------------------------


def test_audit_exits_0_on_a_clean_table(desk, capsys):
    assert main(["audit", "sim/data.csv"]) == 0
    assert "Nothing found." in capsys.readouterr().out


def test_audit_exits_3_with_findings_and_cures(desk, capsys):
    read = pd.read_csv("sim/data.csv")
    read.assign(id=range(200), same=1.0).to_csv("bad.csv", index=False)
    assert main(["audit", "bad.csv"]) == 3
    told = capsys.readouterr().out
    assert "[row-number] 'id'" in told
    assert "--drop 'same'" in told
    assert main(["audit", "bad.csv", "--quiet"]) == 3
    assert capsys.readouterr() == ("", "")
    assert main(["audit", "bad.csv", "--drop", "id,same"]) == 0
    assert main(["audit", "bad.csv", "--columns", "x0,x1"]) == 0


def test_audit_gives_json(desk, capsys):
    Path("gaps.tsv").write_text("a\tb\n1\t\n2\t3\n")
    found = document(capsys, "audit", "gaps.tsv", code=3)
    assert {"missing", "few-rows"} <= {finding["code"] for finding in found["findings"]}
    assert all(finding["cure"] for finding in found["findings"])
    assert document(capsys, "audit", "sim/data.csv")["clean"]


def test_audit_takes_a_separator_and_a_truth(desk, capsys):
    pd.read_csv("sim/data.csv").to_csv("semicolons.csv", sep=";", index=False)
    found = document(capsys, "audit", "semicolons.csv", "--sep", ";", "--truth", "sim/graph.csv")
    assert set(found["sortability"]) == {"var", "r2"}


# --- simulate ---------------------------------------------------------------------------------------------------------


def test_simulate_writes_what_the_library_draws(desk):
    graph, data = read_adjacency("sim/graph.csv"), read_table("sim/data.csv")
    drawn = random_dag(5, 5, rng=0)
    assert (graph.to_numpy().astype(bool) == drawn).all()
    assert (data.values == sample(drawn, "tanh", 200, rng=0).to_numpy()).all()
    assert json.loads(Path("sim/settings.json").read_text())["rows"] == 200


@pytest.mark.parametrize(
    ("options", "nodes"),
    [
        (["--size", "d10"], 10),
        (["--graph", "erdos-renyi", "--nodes", "6"], 6),
        (["--graph", "scale-free", "--nodes", "7", "--edges", "7"], 7),
        (["--model", "linear", "--noise", "laplace", "--noise-scale", "0.5", "--standardize", "yes"], 10),
        (["--model", "abs", "--recipe", "released", "--standardize", "internal", "--seed", "4"], 10),
        (["--truth", "sim/graph.csv", "--rows", "50"], 5),
    ],
)
def test_simulate_takes_its_options(desk, capsys, options, nodes):
    told = document(capsys, "simulate", "--out", "new", *options)
    graph, data = read_adjacency("new/graph.csv"), read_table("new/data.csv")
    assert is_dag(graph)
    assert data.values.shape == (told["rows"], nodes) == (told["rows"], told["nodes"])
    assert graph.to_numpy().sum() == told["edges"]
    if "--size" in options:
        assert (told["edges"], told["rows"]) == (SIZES["d10"].edges, SIZES["d10"].rows)
    if "yes" in options:
        assert np.allclose(data.values.std(axis=0), 1)


def test_simulate_keeps_the_names_of_a_given_graph_and_guards_spreadsheets(desk):
    Path("own.csv").write_text('"","=a","b"\n"=a",0,1\n"b",0,0\n')
    assert main(["simulate", "--truth", "own.csv", "--out", "own", "--rows", "20", "--quiet"]) == 0
    assert read_table("own/data.csv").names == ("=a", "b")
    assert main(["simulate", "--truth", "own.csv", "--out", "own", "--force", "--spreadsheet", "--quiet"]) == 0
    assert read_table("own/data.csv").names == ("'=a", "b")


def test_simulate_says_what_to_do_next(desk, capsys):
    assert main(["simulate", "--out", "new", "--rows", "20"]) == 0
    assert "dagtune learn new/data.csv --truth new/graph.csv" in capsys.readouterr().out


# --- evaluate ---------------------------------------------------------------------------------------------------------


def test_evaluate_gives_every_measure_with_chance_beside(desk, capsys):
    guess = random_dag(5, 4, rng=9)
    names = [f"x{j}" for j in range(5)]
    pd.DataFrame(guess.astype(int), index=names, columns=names).to_csv("guess.csv")
    told = document(capsys, "evaluate", "sim/graph.csv", "guess.csv")
    expected = evaluate(read_adjacency("sim/graph.csv"), guess).as_dict()
    assert told["guess"] == {name: None if value != value else value for name, value in expected.items()}
    assert set(told["chance"]) == {"empty", "random, as many edges", "random complete"}
    assert told["chance"]["random complete"]["skeleton_recall"] == 1.0
    assert main(["evaluate", "sim/graph.csv", "guess.csv"]) == 0
    out = capsys.readouterr().out
    assert all(name.replace("_", " ") in out for name in expected)


def test_evaluate_matches_nodes_by_name(desk, capsys):
    graph = read_adjacency("sim/graph.csv").astype(int)
    turned = graph.iloc[::-1, ::-1]
    turned.to_csv("turned.csv")
    assert document(capsys, "evaluate", "sim/graph.csv", "turned.csv")["guess"]["shd"] == 0


def test_chance_does_not_know_the_graph_that_its_seed_drew(desk, capsys):
    told = document(capsys, "evaluate", "sim/graph.csv", "sim/graph.csv", "--seed", "0")
    assert told["chance"]["random, as many edges"]["shd"] > 2


# --- compare ----------------------------------------------------------------------------------------------------------

QUICK = "ot,ges,notears-linear,sortnregress,empty"


def test_compare_puts_methods_side_by_side(desk, capsys):
    assert main(["compare", "sim/data.csv", "--methods", QUICK, "--truth", "sim/graph.csv"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in QUICK.split(","))
    assert "skeleton_f1" in told
    assert "Agreement" in told


def test_compare_gives_graphs_agreement_consensus_and_scores(desk, capsys):
    told = document(capsys, "compare", "sim/data.csv", "--methods", QUICK, "--truth", "sim/graph.csv", "--seed", "1")
    graphs = {}
    for row in told["methods"]:
        graph = np.zeros((5, 5), dtype=bool)
        for cause, effect in row["edges"]:
            graph[told["names"].index(cause), told["names"].index(effect)] = True
        graphs[row["method"]] = graph
        assert row["seconds"] >= 0
        assert row["scores"]["shd"] == shd(read_adjacency("sim/graph.csv"), graph)
    assert told["agreement"]["methods"] == QUICK.split(",")
    shares, apart = (np.array(told["agreement"][key]) for key in ("share_in_common", "shd"))
    assert (shares == shares.T).all()
    assert (shares.diagonal() == 1).all()
    assert apart[1, 2] == shd(graphs["ges"], graphs["notears-linear"])
    both, either = graphs["ot"] & graphs["ges"], graphs["ot"] | graphs["ges"]
    assert shares[0, 1] == both.sum() / either.sum()
    votes = sum(graph.astype(int) for name, graph in graphs.items() if name != "empty")
    names = told["names"]
    expected = {(names[i], names[j], votes[i, j], votes[j, i]) for i, j in np.argwhere(votes > 2)}
    assert {tuple(edge.values()) for edge in told["consensus"]} == expected


def test_a_method_that_fails_or_is_missing_is_a_row(desk, capsys, monkeypatch):
    def missing(module, method, package):
        raise ImportError(f"{method} needs a package that is not installed: pip install {package}")

    def broken(X, **options):
        raise RuntimeError("it \x1b broke")

    monkeypatch.setattr(adapters, "_load", missing)
    monkeypatch.setitem(dagtune.baselines.LEARNERS, "cam", broken)
    told = document(capsys, "compare", "sim/data.csv", "--methods", "pc,cam,ges")
    rows = {row["method"]: row for row in told["methods"]}
    assert "pip install causal-learn" in rows["pc"]["trouble"]
    assert "RuntimeError" in rows["cam"]["trouble"]
    assert rows["ges"]["edges"] is not None
    assert main(["compare", "sim/data.csv", "--methods", "pc,cam"]) == 2
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert "no method gave a graph" in err


@pytest.mark.parametrize("method", ["ot", "ges"])
def test_a_method_that_takes_too_long_is_a_row(desk, capsys, method):
    told = document(capsys, "compare", "sim/data.csv", "--methods", f"{method},empty", "--time-limit", "1e-9")
    assert told["methods"][0]["edges"] is None
    assert "1e-09 s" in told["methods"][0]["trouble"]


def test_compare_writes_its_tables(desk):
    assert main(["compare", "sim/data.csv", "--methods", "ges,ot", "--out", "out", "--quiet"]) == 0
    assert {path.name for path in Path("out").iterdir()} == {
        "agreement.csv",
        "consensus.csv",
        "ges.csv",
        "methods.csv",
        "ot.csv",
    }
    assert is_dag(read_adjacency("out/ges.csv"))
    with open("out/methods.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["ges", "ot"]


def test_compare_reads_data_as_learn_does(desk, capsys):
    data = pd.read_csv("sim/data.csv").assign(extra="text")
    data.iloc[0, 0] = np.nan
    data.to_csv("odd.csv", index=False, sep=";")
    options = ["--sep", ";", "--drop", "extra", "--missing", "drop", "--standardize", "--jobs", "1"]
    told = document(capsys, "compare", "odd.csv", "--methods", "ges", *options)
    assert told["names"] == [f"x{j}" for j in range(5)]


def test_all_methods_means_all_that_need_no_other_package():
    from dagtune.baselines import BASELINES, EXTERNAL
    from dagtune.cli.compare import _methods

    assert set(_methods(["all"])) == {"conditional", "ot", *BASELINES}
    assert not set(_methods(["all"])) & set(EXTERNAL)


def test_compare_runs_conditional(desk, capsys):
    told = document(capsys, "compare", "sim/data.csv", "--methods", "conditional,ot")
    assert all(row["trouble"] == "" for row in told["methods"])
