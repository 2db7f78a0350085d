"""A result answers, explains, and survives every way out and back, whatever the columns are called."""

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagtune import graph
from dagtune.ot.algorithm import optimal_tuning
from dagtune.result import Change, Check, Measured, Result, replay
from dagtune.text import printable
from dagtune.validation import InputError

#: Saved by version 0.1, conditional tuning of six columns.
OLD = Path(__file__).parent / "data" / "result-0.1"
NASTY = [
    'a"b',
    "back\\slash\\",
    "<tag>&amp;",
    "bell\x07\x1b[31mred",
    "new\nline",
    "=1+1",
    "\u202eright",
    "\N{GRINNING FACE}",
    "",
]


def learned(names=("a", "b", "c", "d", "e"), seed=0, **options):
    """A result over so many tanh variables in a chain of sums."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, len(names)))
    for j in range(1, len(names)):
        X[:, j] += np.tanh(X[:, max(0, j - 2) : j]).sum(axis=1)
    return optimal_tuning(pd.DataFrame(X, columns=list(names)), kernel="sigmoid", threads=1, **options)


@pytest.fixture(scope="module")
def result():
    return learned()


def by_hand(edges, names="abcde"):
    """A result with just these edges and one phase."""
    names = tuple(names)
    matrix = graph.as_matrix(graph.from_edge_list(edges, names))
    strength = np.where(matrix, 1.0, np.nan)
    return Result(names, {"optimal": matrix}, (), strength, "strength", np.zeros(matrix.shape), "number")


def test_replaying_all_changes_over_the_first_graph_gives_the_last(result):
    np.testing.assert_array_equal(replay(result.graphs["optimal"], result.changes, result.names), result.matrix)


def test_replaying_the_changes_of_each_phase_gives_the_graph_after_it(result):
    standing = result.graphs["optimal"]
    for phase in result.phases:
        standing = replay(standing, [change for change in result.changes if change.phase == phase], result.names)
        np.testing.assert_array_equal(standing, result.after(phase).to_numpy().astype(bool))


def test_a_trace_that_does_not_fit_its_graph_is_refused(result):
    with pytest.raises(InputError, match="does not fit"):
        replay(result.matrix, result.changes, result.names)


def test_after_refuses_a_phase_that_never_ran(result):
    with pytest.raises(InputError, match=r"unknown phase 'delete'.*did you mean 'deletion'"):
        result.after("delete")


def test_why_names_the_rule_and_the_numbers_of_each_change(result):
    for change in result.changes:
        told = result.why(*change.edge)
        assert change.rule in told
        assert all(str(measured) in told for measured in change.numbers)
    for cause, effect in graph.edge_list(result.matrix, result.names):
        assert result.why(cause, effect).startswith(f"{cause} -> {effect} is in the graph.")
        assert f"{effect} -> {cause} is not in the graph." in result.why(effect, cause)
        assert f"The graph has {cause} -> {effect} instead." in result.why(effect, cause)


def test_why_knows_how_the_pair_ranked_in_the_first_phase():
    few = learned(n_pairs=3)
    strongest = np.argwhere(np.triu(few.opening == np.triu(few.opening, 1).max()))[0]
    told = few.why(few.names[strongest[0]], few.names[strongest[1]])
    assert "number 1 of 10, of which 3 were kept" in told


def test_why_tells_what_knowledge_did():
    known = learned(knowledge={"required": [["e", "a"]], "forbidden": [["b", "c"]]})
    assert "required by prior knowledge" in known.why("e", "a")
    assert "forbidden" in known.why("b", "c")
    assert known.phases[:2] == ("optimal", "knowledge")


def test_parents_and_descendants_are_those_of_networkx(result):
    drawn = result.to_networkx()
    for name in result.names:
        assert set(result.parents(name)) == set(drawn.predecessors(name))
        assert set(result.descendants(name)) == nx.descendants(drawn, name)
    with pytest.raises(InputError, match="unknown column"):
        result.parents("nobody")


@given(st.integers(0, 2**32), st.integers(2, 6))
@settings(max_examples=60)
def test_an_adjustment_set_blocks_every_back_door(seed, d):
    """Another road: without the edges out of the cause, the set d-separates cause and effect."""
    rng = np.random.default_rng(seed)
    names = "abcdef"[:d]
    matrix = np.triu(rng.random((d, d)) < 0.5, 1)
    order = rng.permutation(d)
    matrix = matrix[np.ix_(order, order)]
    result = by_hand(graph.edge_list(matrix, names), names)
    drawn = result.to_networkx()
    for cause in names:
        for effect in names:
            if effect not in nx.descendants(drawn, cause):
                with pytest.raises(InputError):
                    result.adjustment_set(cause, effect)
                continue
            chosen = set(result.adjustment_set(cause, effect))
            assert not chosen & (nx.descendants(drawn, cause) | {cause, effect})
            cut = drawn.copy()
            cut.remove_edges_from(list(drawn.out_edges(cause)))
            assert nx.is_d_separator(cut, {cause}, {effect}, chosen)


def test_an_adjustment_set_that_makes_no_sense_is_refused_in_clear_words():
    result = by_hand([("a", "b"), ("c", "d")])
    with pytest.raises(InputError, match=r"'a' comes before 'b'.*swap the two"):
        result.adjustment_set("b", "a")
    with pytest.raises(InputError, match="no directed path leads from 'a' to 'd'"):
        result.adjustment_set("a", "d")
    with pytest.raises(InputError, match="both 'a'"):
        result.adjustment_set("a", "a")


def test_the_adapters_turn_the_matrix_as_their_libraries_store_it():
    """lingam: B[child, parent]. causal-learn: G[child, parent] = 1 (arrowhead), G[parent, child] = -1 (tail)."""
    result = by_hand([("a", "b")], "abc")
    assert result.to_lingam()[1, 0] == 1
    assert result.to_lingam().sum() == 1
    assert result.to_causal_learn()[1, 0] == 1
    assert result.to_causal_learn()[0, 1] == -1
    assert np.abs(result.to_causal_learn()).sum() == 2


def test_exports_hold_the_same_edges_whatever_the_columns_are_called():
    result = learned(NASTY)
    edges = set(graph.edge_list(result.matrix, result.names))
    assert set(graph.edge_list(result.to_frame())) == edges
    assert set(result.to_networkx().edges) == edges
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert {(row["cause"], row["effect"]) for row in rows} == edges
    parsed = json.loads(result.to_json())
    assert {(edge["cause"], edge["effect"]) for edge in parsed["edges"]} == edges
    assert parsed["causal_order"] == result.causal_order
    read = nx.parse_graphml(result.to_graphml())
    label = nx.get_node_attributes(read, "name")
    assert {(label.get(a, ""), label.get(b, "")) for a, b in read.edges} == {tuple(map(printable, e)) for e in edges}


def test_graphml_is_valid_xml_and_dot_labels_are_closed():
    result = learned(NASTY)
    ElementTree.fromstring(result.to_graphml())
    for line, name in zip(result.to_dot().splitlines()[1:], NASTY):
        label = line.split('label="', 1)[1].removesuffix('"];')
        unescaped, position = "", 0
        while position < len(label):  # read it as Graphviz does: a backslash takes the next character along
            assert label[position] != '"'
            position += label[position] == "\\"
            unescaped += label[position]
            position += 1
        assert unescaped == printable(name)
    assert len(result.to_dot().splitlines()) == 2 + len(NASTY) + int(result.matrix.sum())


def test_nothing_printed_reaches_the_terminal_unescaped():
    result = learned(NASTY)
    told = [str(result), *map(str, result.changes), *(result.why(NASTY[0], name) for name in NASTY[1:])]
    assert all(character.isprintable() or character == "\n" for text in told for character in text)
    assert all("\n" not in text for text in told[1:])


@given(st.text())
def test_printable_is_printable_and_leaves_plain_text_alone(text):
    assert printable(text).isprintable()
    if text.isprintable():
        assert printable(text) == text


@pytest.mark.parametrize(
    "options",
    [{}, {"knowledge": {"required": [["e", "a"]]}}, {"n_pairs": np.int64(2), "rng": np.int64(1)}, {"order": 3}],
)
def test_a_saved_result_comes_back_the_same(tmp_path, options):
    result = learned(**options)
    back = Result.load(result.save(tmp_path / "kept"))
    assert back.names == result.names
    assert back.phases == result.phases
    assert back.changes == result.changes
    assert back.assumptions == result.assumptions
    assert back.warnings == result.warnings
    assert back.settings == result.settings
    for phase in result.phases:
        np.testing.assert_array_equal(back.graphs[phase], result.graphs[phase])
    np.testing.assert_array_equal(back.strength, result.strength)
    assert back.why("a", "b") == result.why("a", "b")


def test_names_of_any_kind_survive_saving(tmp_path):
    result = learned(NASTY)
    assert Result.load(result.save(tmp_path)).names == tuple(NASTY)


def test_saving_again_replaces_the_earlier_result_and_leaves_nothing_behind(tmp_path):
    learned(seed=1).save(tmp_path)
    second = learned(seed=2)
    second.save(tmp_path)
    np.testing.assert_array_equal(Result.load(tmp_path).matrix, second.matrix)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_save_that_fails_half_way_leaves_a_whole_result(tmp_path, monkeypatch):
    from dagtune.result import storage as module

    first, second = learned(seed=1), learned(seed=2)
    real = module.write_whole
    for failing, stands in (("result.npz", first), ("result.json", second)):

        def write(path, content, failing=failing):
            if path.name == failing:
                raise OSError("disk full")
            real(path, content)

        monkeypatch.setattr(module, "write_whole", real)
        first.save(tmp_path)
        monkeypatch.setattr(module, "write_whole", write)
        with pytest.raises(OSError, match="disk full"):
            second.save(tmp_path)
        np.testing.assert_array_equal(Result.load(tmp_path).matrix, stands.matrix)


def spoil(folder, description=None, **arrays):
    """The saved arrays with some of them, or the description, replaced."""
    with np.load(folder / "result.npz") as found:
        kept = dict(found)
    if description is not None:
        told = json.dumps(description(json.loads(kept["description"].tobytes()))).encode()
        kept["description"] = np.frombuffer(told, dtype=np.uint8)
    np.savez(folder / "result.npz", **(kept | arrays))


@pytest.mark.parametrize(
    "changed",
    [
        lambda d: {**d, "format": 99},
        lambda d: {**d, "names": d["names"][:-1]},
        lambda d: {**d, "phases": d["phases"][:-1]},
        lambda d: {**d, "changes": [{"phase": "x"}]},
        lambda d: {**d, "changes": [{**d["changes"][0], "action": "explode"}]},
        lambda d: [],
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(tmp_path, changed):
    learned().save(tmp_path)
    spoil(tmp_path, changed)
    with pytest.raises(InputError):
        Result.load(tmp_path)


def test_a_result_that_version_0_1_saved_reads_as_one_of_today():
    """Its phases were optimal, knowledge, deletion, addition, formalization: 15, 14, 6, 13 and 12 edges."""
    with np.load(OLD / "result.npz") as file:
        saved = dict(
            zip(("optimal", "knowledge", "deletion", "addition", "formalization"), file["graphs"], strict=True)
        )
    old = Result.load(OLD)
    assert old.phases == ("order", "knowledge", "screened", "kept")
    assert [int(each.sum()) for each in saved.values()] == [15, 14, 6, 13, 12]
    for phase, matrix in saved.items():
        np.testing.assert_array_equal(old.after(phase), matrix)
    standing = old.graphs["order"]
    for phase in old.phases:
        standing = replay(standing, [change for change in old.changes if change.phase == phase], old.names)
        np.testing.assert_array_equal(standing, old.graphs[phase])
    np.testing.assert_array_equal(old.after("order"), old.complete_dag)
    assert "'kept' it was added" in old.why(*next(change.edge for change in old.changes if change.action == "add"))
    with pytest.raises(InputError, match="unknown phase 'selection'"):
        old.after("selection")


def test_a_result_of_0_1_saved_again_is_one_of_today(tmp_path):
    old = Result.load(OLD)
    back = Result.load(old.save(tmp_path))
    assert back.phases == old.phases
    assert back.changes == old.changes
    np.testing.assert_array_equal(back.after("addition"), old.after("addition"))


def test_names_of_phases_of_another_learner_are_not_answered(result):
    with pytest.raises(InputError, match="unknown phase 'kept'"):
        result.after("kept")


def test_a_file_cut_short_or_of_another_kind_is_refused(tmp_path):
    learned().save(tmp_path)
    whole = (tmp_path / "result.npz").read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no archive"):
        (tmp_path / "result.npz").write_bytes(content)
        with pytest.raises(InputError, match="save it again"):
            Result.load(tmp_path)


def test_a_pickle_in_the_arrays_is_never_opened(tmp_path):
    learned().save(tmp_path)
    spoil(tmp_path, graphs=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="allow_pickle"):
        Result.load(tmp_path)


def test_the_description_beside_it_is_plain_json(tmp_path):
    result = learned(NASTY)
    result.save(tmp_path)
    told = json.loads((tmp_path / "result.json").read_text())
    assert told["names"] == NASTY
    assert len(told["changes"]) == len(result.changes)


def test_a_folder_without_a_result_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no result\.npz"):
        Result.load(tmp_path)


def test_a_change_reads_as_one_line():
    change = Change("deletion", "delete", (0, 2), "the rule", (2, 0, 1), (Measured("HSIC", 2, (0, 1), 0.25),))
    assert str(change.named(("a", "b", "c"))) == "deletion: delete a -> c: the rule [HSIC(c, a + b) = 0.25]"
    assert str(Measured("joint HSIC", "c", ("a", "b"), 0.5)) == "joint HSIC(c, (a, b)) = 0.5"


def test_strengths_stand_where_the_edges_are(result):
    assert (result.strengths.notna().to_numpy() == result.matrix).all()
    table = result.edges()
    assert len(table) == result.matrix.sum()
    assert (np.diff(table["strength"]) <= 0).all()


# --- order, scores, probabilities, checks ---------------------------------------------------------------------------


def with_more(**fields):
    """The graph a -> b of three variables, with what only some learners give."""
    from dataclasses import replace

    return replace(by_hand([("a", "b")], "abc"), **fields)


def test_the_order_is_the_learners_own_or_one_of_the_graph():
    assert with_more().causal_order == ["a", "b", "c"]
    assert with_more(order=("c", "a", "b")).causal_order == ["c", "a", "b"]


def test_the_complete_dag_has_every_pair_in_the_order():
    for order in (("c", "a", "b"), ("a", "b", "c"), ()):
        found = with_more(order=order)
        rank = {name: place for place, name in enumerate(found.causal_order)}
        frame = found.complete_dag
        for a in "abc":
            for b in "abc":
                assert frame.loc[a, b] == (rank[a] < rank[b])


def test_scores_are_the_learners_own_or_the_strengths():
    plain = with_more().scores
    assert plain.loc["a", "b"] == 1
    assert plain.to_numpy().sum() == 1
    own = np.arange(9.0).reshape(3, 3)
    assert with_more(score=own).scores.loc["b", "c"] == own[1, 2]


def test_what_only_some_learners_give_survives_saving(tmp_path):
    rng = np.random.default_rng(0)
    check = Check("new\nline", ("a", "b"), 0.25, 1e-300, False, "does not hold")
    full = with_more(
        order=("c", "a", "b"),
        score=rng.random((3, 3)),
        probability=rng.random((3, 3)),
        probability_words="of 3 bags",
        checks=(check, check._replace(holds=True)),
    )
    back = Result.load(full.save(tmp_path / "full"))
    assert back.order == full.order
    assert back.checks == full.checks
    assert back.probability_words == full.probability_words
    np.testing.assert_array_equal(back.score, full.score)
    np.testing.assert_array_equal(back.probability, full.probability)
    bare = Result.load(with_more().save(tmp_path / "bare"))
    assert bare.order == ()
    assert bare.checks == ()
    assert bare.score is None
    assert bare.probability is None


@pytest.mark.parametrize("order", [["a", "b"], ["a", "b", "b"], ["a", "b", "x"], ["a", "b", "c", "a"], ["a", 1, "c"]])
def test_an_order_that_does_not_name_every_variable_once_is_refused(tmp_path, order):
    with_more(order=("a", "b", "c")).save(tmp_path)
    spoil(tmp_path, lambda d: {**d, "order": order})
    with pytest.raises(InputError, match="save it again"):
        Result.load(tmp_path)


@pytest.mark.parametrize("key", ["score", "probability"])
def test_scores_of_another_size_are_refused(tmp_path, key):
    with_more(score=np.zeros((3, 3)), probability=np.zeros((3, 3))).save(tmp_path)
    spoil(tmp_path, **{key: np.zeros((2, 3))})
    with pytest.raises(InputError, match="do not fit"):
        Result.load(tmp_path)
