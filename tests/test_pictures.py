"""Layouts keep causes above effects and edges off nodes; drawings show every name as it is and return their axes."""

import io
import itertools
from xml.etree import ElementTree

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagtune import OptimalTuning, graph, pictures
from dagtune import layout as layout_module
from dagtune.engine.dependence import measure_dependence
from dagtune.layout import NODE_HEIGHT, lay_out, layered_layout
from dagtune.pictures import draw_dependence, draw_graph, draw_phases
from dagtune.simulate import random_dag
from dagtune.text import short_label
from reports import HOSTILE, believed, drawn, learned

HALF = NODE_HEIGHT / 2


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(params=[10**9, 0], ids=["own lanes", "shared lanes"])
def _lanes(request, monkeypatch):
    monkeypatch.setattr(layout_module, "_MOST_LANES", request.param)


def dag(d, edges, seed=0):
    return graph.as_matrix(random_dag(d, min(edges, d * (d - 1) // 2), rng=seed))


def overlaps(layout):
    """Pairs of boxes that touch."""
    (x, y), wide = layout.positions.T, layout.widths
    near = (np.abs(x[:, None] - x) < (wide[:, None] + wide) / 2 + 8) & (np.abs(y[:, None] - y) < NODE_HEIGHT + 8)
    return np.argwhere(np.triu(near, 1))


def crossed_boxes(layout):
    """Edges that run through the box of a third node, by points along the curve that is drawn."""
    found = []
    for i, j in layout.routes:
        line = pictures._path(layout, i, j).interpolated(1).to_polygons(closed_only=False)[0]
        steps = np.concatenate([np.linspace(a, b, 12) for a, b in itertools.pairwise(line)])
        away = np.abs(steps[:, None] - layout.positions)
        inside = (away[..., 0] < layout.widths / 2) & (away[..., 1] < HALF)
        inside[:, [i, j]] = False
        if inside.any():
            found.append((i, j, int(np.argwhere(inside)[0, 1])))
    return found


# ------------------------------------------------------------------------------------------------------------ layout


@given(st.integers(1, 25), st.integers(0, 120), st.integers(0, 10**6))
@settings(max_examples=40)
def test_causes_stand_above_effects_and_no_boxes_touch(d, edges, seed):
    matrix = dag(d, edges, seed)
    layout = lay_out(matrix)
    for i, j in np.argwhere(matrix):
        assert layout.positions[i, 1] + NODE_HEIGHT < layout.positions[j, 1]
    assert not len(overlaps(layout))
    assert set(layout.routes) == {(int(i), int(j)) for i, j in np.argwhere(matrix)}


@pytest.mark.usefixtures("_lanes")
@pytest.mark.parametrize(("d", "edges"), [(5, 8), (11, 46), (40, 60), (40, 300), (100, 150)])
def test_no_edge_runs_through_a_third_node(d, edges):
    assert crossed_boxes(lay_out(dag(d, edges))) == []


def test_pairs_that_do_not_shape_the_layout_get_routes_that_step_aside_for_boxes():
    matrix = dag(15, 20)
    everything = ~np.eye(15, dtype=bool)
    alone, with_all = lay_out(matrix), lay_out(matrix, also=everything)
    np.testing.assert_array_equal(alone.positions, with_all.positions)
    assert len(with_all.routes) == 15 * 14 / 2
    level = {(i, j) for i, j in with_all.routes if with_all.positions[i, 1] == with_all.positions[j, 1]}
    crossed = {(i, j) for i, j, _ in crossed_boxes(with_all)}
    assert crossed <= level  # two nodes of one layer are joined below it, wherever the next one stands


@pytest.mark.usefixtures("_lanes")
def test_routes_leave_downwards_from_the_cause_and_enter_the_effect_from_above():
    layout = lay_out(dag(20, 60))
    for (i, j), points in layout.routes.items():
        for node, at, side in ((i, points[0], HALF), (j, points[-1], -HALF)):
            assert at[1] == layout.positions[node, 1] + side
            assert abs(at[0] - layout.positions[node, 0]) < layout.widths[node] / 2
        assert (np.diff(points[:, 1]) > 0).all()


@pytest.mark.usefixtures("_lanes")
def test_edges_run_straight_down_through_the_layers_between():
    layout = lay_out(dag(20, 60))
    long = [(edge, points) for edge, points in layout.routes.items() if len(points) > 2]
    assert long
    for (i, j), points in long:
        vertices = pictures._path(layout, i, j).vertices
        for x, y in points[1:-1]:
            for end in (y - HALF, y + HALF):
                assert (np.abs(vertices - (x, end)).max(axis=1) < 1e-9).any()


def test_edges_that_meet_at_a_node_meet_it_side_by_side():
    layout = lay_out(dag(11, 46))
    for node in range(11):
        tips = [tuple(points[-1]) for (_, j), points in layout.routes.items() if j == node]
        assert len(set(tips)) == len(tips)


def test_a_tree_has_no_crossings():
    tree = np.zeros((15, 15), dtype=bool)
    tree[[(i - 1) // 2 for i in range(1, 15)], range(1, 15)] = True
    shuffled = np.random.default_rng(3).permutation(15)
    layout = lay_out(tree[np.ix_(shuffled, shuffled)])
    routes = list(layout.routes.values())
    for a in routes:
        for b in routes:
            if a[0, 1] == b[0, 1] and a[0, 0] < b[0, 0]:
                assert a[-1, 0] <= b[-1, 0]


def test_sweeps_leave_fewer_crossings_than_they_found(monkeypatch):
    matrix = dag(30, 60, seed=5)
    items = layout_module._Items(matrix, layout_module._layers(matrix), np.full(30, 50.0))

    def crossings(rows):
        place = np.zeros(len(items.layer))
        for row in rows:
            layout_module._number(place, row)
        return layout_module._crossings(items, place)

    swept = crossings(layout_module._reduce_crossings(items))
    monkeypatch.setattr(layout_module, "_SWEEPS", 0)
    assert swept < 0.8 * crossings(layout_module._reduce_crossings(items))


def test_crossings_are_those_that_every_pair_of_edges_shows():
    matrix = dag(12, 30, seed=2)
    items = layout_module._Items(matrix, layout_module._layers(matrix), np.full(12, 50.0))
    place = np.random.default_rng(0).permutation(len(items.layer)).astype(float)
    by_hand = sum(
        items.layer[a] == items.layer[c] and (place[a] - place[c]) * (place[b] - place[e]) < 0
        for k, (a, b) in enumerate(items.links)
        for c, e in items.links[:k]
    )
    assert layout_module._crossings(items, place) == by_hand > 0


def test_a_cyclic_graph_is_laid_out_too():
    everything = ~np.eye(6, dtype=bool)
    layout = lay_out(everything)
    assert len(layout.routes) == 15
    assert not len(overlaps(layout))


@pytest.mark.parametrize("d", [0, 1, 2, 30])
def test_a_graph_without_edges_is_laid_out(d):
    positions = layered_layout(np.zeros((d, d)))
    assert positions.shape == (d, 2)
    assert len({tuple(position) for position in positions}) == d


def test_a_wide_layer_is_split_so_that_the_picture_stays_near_a_screen_s_shape():
    star = np.zeros((101, 101), dtype=bool)
    star[0, 1:] = True
    width, height = lay_out(star, ["name_00"] * 101).size
    assert 0.3 < height / width < 3


def test_the_same_graph_is_laid_out_the_same():
    first, second = lay_out(dag(25, 60)), lay_out(dag(25, 60))
    np.testing.assert_array_equal(first.positions, second.positions)


def test_longer_labels_get_wider_boxes():
    layout = lay_out(np.zeros((3, 3)), ["a", "a longer label", "\u4e2d" * 14])
    assert layout.widths[0] < layout.widths[1] < layout.widths[2]


# ------------------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("name", HOSTILE)
def test_a_label_is_printable_short_and_never_looks_empty(name):
    label = short_label(name)
    assert label.isprintable()
    assert 0 < len(label) <= 18
    assert label.strip()


def test_labels_keep_plain_names_and_both_ends_of_long_ones():
    assert short_label("blood pressure") == "blood pressure"
    assert short_label("") == '""'
    assert short_label("\x1b") == "\\x1b"
    long = short_label("beginning" + "x" * 100 + "the end")
    assert long.startswith("beginning")
    assert long.endswith("he end")


# ---------------------------------------------------------------------------------------------------------- drawings


def lines_of(ax):
    """Patches that are edges, by (cause, effect)."""
    found = {}
    for patch in ax.patches:
        if (patch.get_gid() or "").startswith("edge-"):
            i, j = patch.get_gid().split("-")[1:]
            found[int(i), int(j)] = patch
    return found


def saved(ax):
    """The figure as bytes of a PNG: drawing for real is where bad labels fail."""
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="png", dpi=40)
    return buffer.getvalue()


def test_a_result_is_drawn_with_every_edge_and_name():
    result, _ = learned()
    ax = result.plot(title="five")
    assert set(lines_of(ax)) == {(int(i), int(j)) for i, j in np.argwhere(result.matrix)}
    assert {text.get_text() for text in ax.texts} == set(result.names)
    assert ax.get_title() == "five"
    assert saved(ax).startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_hostile_names_are_drawn_as_text_not_as_formulas():
    ax = draw_graph(dag(len(HOSTILE), 30), HOSTILE, title="$\\frac{$")
    assert [text.get_text() for text in ax.texts] == [short_label(name) for name in HOSTILE]
    assert not any(text.get_parse_math() for text in [*ax.texts, ax.title])
    saved(ax)


def test_stronger_edges_are_wider():
    matrix = np.triu(np.ones((4, 4), dtype=bool), 1)
    strength = np.where(matrix, np.arange(16.0).reshape(4, 4), np.nan)
    widths = {
        edge: patch.get_linewidth() for edge, patch in lines_of(draw_graph(matrix, "abcd", strength=strength)).items()
    }
    assert sorted(widths, key=widths.get) == sorted(widths, key=lambda edge: strength[edge])


def test_unknown_or_equal_strengths_are_drawn_alike():
    matrix = np.triu(np.ones((3, 3), dtype=bool), 1)
    for strength in (np.full((3, 3), np.nan), np.ones((3, 3))):
        assert (
            len({patch.get_linewidth() for patch in lines_of(draw_graph(matrix, "abc", strength=strength)).values()})
            == 1
        )


def test_drawing_into_given_axes_makes_no_figure():
    result, X = learned()
    figure, axes = plt.subplots(1, 3)
    assert result.plot(axes[0]) is axes[0]
    assert measure_dependence(X, order=1, threads=1).plot(axes[1]) is axes[1]
    assert draw_graph(result.matrix, result.names, ax=axes[2]) is axes[2]
    assert plt.get_fignums() == [figure.number]


def test_text_is_readable_at_40_variables():
    ax = drawn(40, 60).plot()
    assert min(text.get_fontsize() for text in ax.texts) >= 8
    assert max(ax.figure.get_size_inches()) <= 25


def test_phases_show_what_came_what_went_and_which_directions_were_decided():
    empty = np.zeros((4, 4), dtype=bool)
    first, second = empty.copy(), empty.copy()
    first[0, 1] = first[1, 0] = first[1, 2] = first[2, 3] = True
    second[0, 1] = second[1, 2] = second[0, 3] = True
    one, two = draw_phases({"skeleton": first, "tuned": second}, "abcd")
    assert [ax.get_title() for ax in (one, two)] == ["skeleton: 4 edges", "tuned: 3 edges (+1, \N{MINUS SIGN}2)"]
    assert set(lines_of(one)) == {(0, 1), (1, 2), (2, 3)}  # both directions are one line
    after = lines_of(two)
    assert set(after) == {(0, 1), (1, 2), (0, 3), (2, 3)}
    kept, decided, came, went = (after[edge] for edge in ((1, 2), (0, 1), (0, 3), (2, 3)))
    assert came.get_linewidth() > kept.get_linewidth()
    assert kept.get_linestyle() == came.get_linestyle() == "solid" or kept.get_linestyle() == "-"
    assert len({patch.get_edgecolor() for patch in after.values()}) == 4
    assert len({str(patch.get_linestyle()) for patch in (kept, decided, went)}) == 3  # and without colour


def test_a_learned_result_has_one_panel_a_phase():
    result, _ = learned()
    axes = result.plot_phases()
    assert [ax.get_title().split(":")[0] for ax in axes] == list(result.phases)
    saved(axes[0])


def test_dependence_is_drawn_with_names_and_without_its_diagonal():
    _, X = learned(("a", "b", "$x$", "", "e"))
    dependence = measure_dependence(X, order=1, threads=1)
    ax = dependence.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "$x$", '""', "e"]
    values = np.array(ax.images[0].get_array().filled(np.nan))
    np.testing.assert_array_equal(np.isnan(values), np.eye(5, dtype=bool))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(values[off], dependence.first[off])
    saved(ax)


def test_a_large_table_of_dependence_shows_no_numbers():
    values = np.random.default_rng(0).random((30, 30))
    assert not draw_dependence(values, [f"x{i}" for i in range(30)]).texts


def test_an_undecided_pair_is_a_line_without_a_head_and_with_a_question_mark():
    matrix = np.zeros((3, 3), dtype=bool)
    matrix[0, 1] = matrix[1, 2] = True
    plain = draw_graph(matrix, "abc")
    unsure = draw_graph(matrix, "abc", undecided=[(2, 1), (0, 2)])  # the first is in the graph the other way round
    heads = [sum(type(patch).__name__ == "Polygon" for patch in ax.patches) for ax in (plain, unsure)]
    assert heads == [2, 1]
    assert [text.get_text() for text in unsure.texts].count("?") == 2
    drawn = {patch.get_gid(): patch.get_linestyle() for patch in unsure.patches if patch.get_gid()}
    assert set(drawn) == {"edge-0-1", "edge-1-2", "edge-0-2"}
    assert drawn["edge-0-1"] == "-"
    assert drawn["edge-1-2"] == drawn["edge-0-2"] != "-"


def test_a_notebook_shows_the_graph_as_svg_with_the_surest_edges_and_no_name_as_markup():
    result = believed(len(HOSTILE), 12, names=HOSTILE)
    text = result._repr_html_()
    tree = ElementTree.fromstring(text)  # well-formed, so every name is escaped
    svg = "{http://www.w3.org/2000/svg}"
    assert len(tree.findall(f".//{svg}g")) == len(HOSTILE)
    assert len(tree.findall(f".//{svg}polygon")) == 11
    assert [one.text for one in tree.findall(f".//{svg}text")].count("?") == 1
    assert not [one for one in tree.iter() if one.tag.rsplit("}")[-1] in ("script", "img", "iframe")]
    large = ElementTree.fromstring(believed(40, 90)._repr_html_())
    assert "surest 60" in large.find("p").text
    assert len(large.findall(f".//{svg}polygon")) == 60  # the open pair is less sure than these, and is left out
    assert "?" not in [one.text for one in large.findall(f".//{svg}text")]


def test_an_estimator_shows_its_graph_in_a_notebook_once_it_is_fitted():
    learner = OptimalTuning(threads=1)
    assert "<svg" not in learner._repr_mimebundle_()["text/plain"]
    assert "OptimalTuning" in learner._repr_html_()
    learner.fit(np.random.default_rng(0).normal(size=(60, 3)))
    assert learner._repr_html_() == learner.result_._repr_html_() == learner._repr_mimebundle_()["text/html"]
    assert len(repr(learner)) < 200
