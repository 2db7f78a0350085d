"""The learned graph in the hands of other packages, really run: names and directions arrive as they were learned.

Run by `make handover`, in an environment that has them (tests/handover.txt); elsewhere each is skipped, or fails where
DAGTUNE_HANDOVER=required.
"""

import importlib
import os
import re
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dagtune import graph
from dagtune.result import Result

pytestmark = pytest.mark.handover

NAMES = ("blood pressure", "age", "1st dose", "größe", "income.net")
EDGES = {(NAMES[1], NAMES[0]), (NAMES[2], NAMES[0]), (NAMES[1], NAMES[2]), (NAMES[0], NAMES[3]), (NAMES[2], NAMES[4])}
#: Undecided in the result.
OPEN = (NAMES[2], NAMES[4])


def package(name):
    if os.environ.get("DAGTUNE_HANDOVER") == "required":
        return importlib.import_module(name)
    return pytest.importorskip(name)


@pytest.fixture(scope="module")
def result():
    matrix = graph.as_matrix(graph.from_edge_list(sorted(EDGES), NAMES))
    probability = np.where(matrix, 0.98, 0.0)
    i, j = (NAMES.index(name) for name in OPEN)
    probability[i, j], probability[j, i] = 0.6, 0.39
    strength = np.where(matrix, 1.0, np.nan)
    made = Result(NAMES, {"kept": matrix}, (), strength, "strength", np.zeros(matrix.shape), "number")
    return replace(made, probability=probability)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    age = rng.normal(size=600)
    dose = 0.5 * age + rng.normal(size=600)
    pressure = 2.0 * dose + age + rng.normal(size=600)
    size, income = pressure + rng.normal(size=600), dose + rng.normal(size=600)
    return pd.DataFrame(dict(zip(NAMES, (pressure, age, dose, size, income))))


def test_dowhy_estimates_an_effect_with_the_learned_graph(result, data):
    package("dowhy")
    model = result.to_dowhy(data, "1st dose", "blood pressure")
    found = model.identify_effect(proceed_when_unidentifiable=True)
    assert found.get_backdoor_variables() == ["age"]
    estimate = model.estimate_effect(found, method_name="backdoor.linear_regression")
    assert estimate.value == pytest.approx(2.0, abs=0.2)


def test_dowhy_reads_graph_dot_with_the_names_of_the_columns(result, data, tmp_path):
    dowhy = package("dowhy")
    package("pydot")
    (tmp_path / "graph.dot").write_text(result.to_dot(), encoding="utf-8")
    for given in (result.to_dot(), str(tmp_path / "graph.dot")):
        model = dowhy.CausalModel(data=data, treatment="1st dose", outcome="blood pressure", graph=given)
        network = model._graph._graph
        assert {(a, b) for a, b in network.edges if {a, b} <= set(NAMES)} == EDGES
        assert model.identify_effect(proceed_when_unidentifiable=True).get_backdoor_variables() == ["age"]


def test_gcm_fits_mechanisms_to_the_learned_graph_and_answers_an_intervention(result, data):
    gcm = package("dowhy.gcm")
    gcm.util.general.set_random_seed(0)
    gcm.config.disable_progress_bars()
    model = result.to_gcm()
    assert set(model.graph.edges) == EDGES
    gcm.auto.assign_causal_mechanisms(model, data)
    gcm.fit(model, data)
    means = [
        gcm.interventional_samples(model, {"1st dose": lambda x, at=at: at}, num_samples_to_draw=500)
        for at in (0.0, 1.0)
    ]
    assert np.mean(means[1]["blood pressure"]) - np.mean(means[0]["blood pressure"]) == pytest.approx(2.0, abs=0.5)


def test_pgmpy_has_the_nodes_the_edges_and_their_independences(result):
    package("pgmpy")
    dag = result.to_pgmpy()
    assert set(dag.nodes) == set(NAMES)
    assert set(dag.edges) == EDGES
    assert not dag.is_dconnected("age", "income.net", observed=["1st dose"])


def test_pgmpy_reads_the_dagitty_text(result):
    base = package("pgmpy.base")
    dag = base.DAG.from_dagitty(result.to_dagitty())
    plain = {(a.strip('"'), b.strip('"')) for a, b in dag.edges}
    assert plain == EDGES


def test_dowhy_reads_the_dagitty_text(result, data):
    dowhy = package("dowhy")
    package("pydot")
    model = dowhy.CausalModel(data=data, treatment="1st dose", outcome="blood pressure", graph=result.to_dagitty())
    assert {(a, b) for a, b in model._graph._graph.edges if {a, b} <= set(NAMES)} == EDGES


def test_causal_learn_has_a_general_graph_with_names(result):
    package("causallearn")
    found = result.to_causal_learn()
    directed = {
        (edge.get_node1().get_name(), edge.get_node2().get_name())
        for edge in found.get_graph_edges()
        if found.is_directed_from_to(edge.get_node1(), edge.get_node2())
    }
    assert directed == EDGES
    unsure = result.to_causal_learn(undirected=True)
    nodes = [unsure.get_node(name) for name in OPEN]
    assert unsure.is_undirected_from_to(*nodes)
    assert unsure.get_num_edges() == len(EDGES)


def test_causal_learn_reads_the_text_of_tetrad(result, tmp_path):
    reader = package("causallearn.utils.TXT2GeneralGraph")
    path = tmp_path / "graph.txt"
    for undirected in (False, True):
        path.write_text(result.to_tetrad(undirected=undirected), encoding="utf-8")
        found = reader.txt2generalgraph(str(path))
        expected = result.to_causal_learn(undirected=undirected)
        where = [[node.get_name() for node in found.get_nodes()].index(name.replace(" ", "_")) for name in NAMES]
        np.testing.assert_array_equal(found.graph[np.ix_(where, where)], expected.graph)


def test_lingam_draws_the_same_edges(result):
    utils = package("lingam.utils")
    lines = utils.make_dot(result.to_lingam(), labels=list(NAMES)).source.splitlines()
    drawn = {
        tuple(part.strip().strip('"') for part in line.split("[")[0].split("->")) for line in lines if "->" in line
    }
    assert drawn == EDGES


def test_networkx_reads_graphml_and_finds_the_numbers(result):
    read = nx.parse_graphml(result.to_graphml())
    named = nx.relabel_nodes(read, nx.get_node_attributes(read, "name"))
    assert set(named.edges) == EDGES
    assert named.edges[OPEN]["undecided"] is True
    assert named.edges[OPEN]["reverse"] == 0.39


def test_the_worked_example_of_the_docs_gives_the_same_in_dowhy(tmp_path, monkeypatch, capsys):
    """Both Python blocks of docs/effects.md, from a CSV file to an effect, print what the page says."""
    package("dowhy")
    text = (Path(__file__).parents[1] / "docs/effects.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```\n```\n(.*?)^```\n", text, re.M | re.S)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    known = {}
    for code, printed in blocks:
        exec(code, known)
        assert capsys.readouterr().out == printed
    assert known["effect"].interval[0] < known["estimate"].value < known["effect"].interval[1]
