"""How sure, what if, what next, in the report in a browser: answers, effects, knowledge, the focus on one variable."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from browsing import edges_of, node, visible_edges
from dagtune import ConditionalTuning, Knowledge
from dagtune.report import write_report
from reports import believed, drawn

pytestmark = pytest.mark.browser


#: Lines in the focus that run through the box of a third variable, as [line, variable].
CROSSED = """() => {
    const seen = (one) => one.style.display !== "none" && one.getAttribute("d") !== "M0 0";
    const boxes = [...document.querySelectorAll("#stage .node")].filter(seen);
    const centre = (box) => ["x", "y"].map((axis, k) => {
        const drawn = box.getBBox(), moved = box.transform.baseVal.consolidate();
        return drawn[axis] + (k ? drawn.height : drawn.width) / 2 + (moved ? (k ? moved.matrix.f : moved.matrix.e) : 0);
    });
    const found = [];
    for (const [k, line] of [...document.querySelectorAll("#stage .line")].entries()) {
        if (!seen(line)) continue;
        const long = line.getTotalLength(), points = [];
        for (let at = 12; at < long - 12; at += 4) points.push(line.getPointAtLength(at));
        for (const box of boxes) {
            const [x, y] = centre(box), size = box.getBBox(), [w, h] = [size.width / 2 - 2, size.height / 2 - 2];
            const hit = points.some((p) => Math.abs(p.x - x) < w && Math.abs(p.y - y) < h);
            if (hit) found.push([k, Number(box.dataset.node)]);
        }
    }
    return found;
}"""


@pytest.fixture(scope="module")
def unsure(folder):
    """Twelve variables; the direction of the first edge is open in 40 graphs, and a second one turns with it."""
    result = believed(12, 16)
    first, second = (tuple(edge) for edge in np.argwhere(result.matrix)[:2])
    graphs = np.repeat(result.matrix[None], 40, axis=0)
    for i, j in (first, second):
        graphs[:10, i, j], graphs[:10, j, i] = False, True
    probability = result.probability.copy()
    for i, j in (first, second):
        probability[i, j], probability[j, i] = 0.75, 0.25
    far = next((a, b) for a, b in itertools.combinations(range(12), 2) if not result.matrix[[a, b], [b, a]].any())
    probability[far] = 0.3
    full = replace(result, graphs=graphs, probability=probability)
    return full, write_report(folder / "unsure.html", full, title="Unsure"), first, second, far


def test_an_undecided_pair_has_a_question_mark_and_no_head(opened, unsure):
    page = opened(unsure[1])
    assert page.locator("#stage .sign.unsure").count() == 2
    assert page.locator("#stage .line.unsure").count() == 2
    heads = "all => all.map((one) => one.getAttribute('marker-end') + one.getAttribute('marker-start'))"
    assert page.eval_on_selector_all("#stage .line.unsure", heads) == ["nonenone"] * 2


def test_an_answer_shows_what_the_stored_sample_says_and_can_be_downloaded(opened, unsure):
    result, path, first, _, _ = unsure
    page = opened(path)
    page.locator("#undecided-list button").first.click()
    bars = page.locator("#panel .three b")
    assert [text.replace("\u00a0", " ") for text in bars.all_inner_texts()] == ["75 %", "25 %", "0 %"]
    i, j = sorted(first)
    page.locator(f"[data-answer={'up' if tuple(first) == (i, j) else 'down'}]").click()  # the less likely direction
    told = page.locator("#given").inner_text()
    assert "10 of 40 sampled graphs agree" in told
    assert "1 other direction is settled" in told
    assert page.locator("#stage .sign.unsure").count() == 0
    assert page.locator("#stage .line.new").count() == 2
    with page.expect_download() as caught:
        page.locator("#given a").click()
    known = json.loads(Path(caught.value.path()).read_text())
    names = result.names
    assert known == {"required": [[names[first[1]], names[first[0]]]], "forbidden": []}
    page.locator("[data-answer=none]").click()
    assert "no sampled graph agrees" in page.locator("#given").inner_text()
    page.locator("#given button").click()
    assert not page.locator("#given").is_visible()
    assert page.locator("#stage .sign.unsure").count() == 2


def test_any_pair_can_be_pinned_turned_or_forbidden_also_without_a_sample(opened, folder):
    """The file that the page offers is one that a learner reads, and says what was clicked."""
    result = drawn(5, 6)
    page = opened(write_report(folder / "edit.html", result))
    edges = [tuple(edge) for edge in np.argwhere(result.matrix)]
    apart = next(
        pair for pair in itertools.combinations(range(5), 2) if not result.matrix[[*pair], [*pair[::-1]]].any()
    )

    def say(i, j, cause):
        """Open the pair from the panel of i; cause is the one that causes the other, or None."""
        page.keyboard.press("Escape")
        node(page, result, result.names[i]).click()
        page.locator("#partner").select_option(str(j))
        page.locator(f"[data-answer={'none' if cause is None else 'down' if cause == min(i, j) else 'up'}]").click()

    say(*edges[0], edges[0][0])
    say(*edges[1], edges[1][1])
    say(*edges[2], None)
    say(*apart, apart[1])
    assert "no sample of graphs is stored" in page.locator("#given").inner_text()
    with page.expect_download() as caught:
        page.locator("#given a").click()
    known = Knowledge.of(json.loads(Path(caught.value.path()).read_text()))
    required, forbidden = known.matrices(result.names)
    assert edges_of(required) == {edges[0], edges[1][::-1], apart[::-1]}
    assert {edges[2], edges[2][::-1]} <= edges_of(forbidden)


def test_close_pairs_without_an_edge_are_listed(opened, unsure):
    result, path, _, _, far = unsure
    page = opened(path)
    listed = page.locator("#close-list li").all_inner_texts()
    assert len(listed) == 1
    assert {name for name in result.names if name in listed[0]} == {result.names[k] for k in far}
    page.locator("#close-list button").click()
    assert "no" in page.locator("#panel dd").first.inner_text()


def test_the_focus_shows_one_variable_with_its_causes_and_effects(opened, folder):
    result = drawn(100, 150)
    page = opened(write_report(folder / "focus.html", result))
    page.set_viewport_size({"width": 390, "height": 800})
    name = max(result.names, key=lambda one: len(result.parents(one)))
    page.locator("#search").fill(name)
    page.locator("#search").press("Enter")
    page.locator("#depth").select_option("1")
    i = result.names.index(name)
    near = {i, *np.flatnonzero(result.matrix[:, i]), *np.flatnonzero(result.matrix[i])}
    visible = "all => all.filter((one) => one.style.display !== 'none').map((one) => Number(one.dataset.node))"
    assert set(page.eval_on_selector_all("#stage .node", visible)) == near
    shown_boxes = "all => all.filter((one) => one.style.display !== 'none').map((one) => one.getBoundingClientRect())"
    boxes = page.eval_on_selector_all("#stage .node", f"{shown_boxes[:-1]}.toJSON())")
    for one, other in itertools.permutations(boxes, 2):
        beside = one["right"] <= other["left"] or other["right"] <= one["left"]
        assert beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"]
    assert min(box["height"] for box in boxes) > 8
    page.locator("#depth").select_option("2")  # now some lines have rows between their ends
    assert page.evaluate(CROSSED) == []
    shades = f"{visible.rpartition('.map')[0]}.map((one) => Number(getComputedStyle(one).opacity))"
    assert min(page.eval_on_selector_all("#stage .node", shades)) > 0.8  # what is two steps away is legible, too
    page.locator("#depth").select_option("0")
    assert len(page.eval_on_selector_all("#stage .node", visible)) == 100
    assert visible_edges(page) == edges_of(result.matrix)


def test_verdict_effect_curve_and_next_questions_are_on_the_page(opened, folder):
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b = a + rng.normal(size=300)
    c = np.tanh(2 * b) + 0.3 * rng.normal(size=300)
    result = ConditionalTuning(random_state=0, threads=1).fit(pd.DataFrame({"a": a, "b": b, "c": c})).result_
    page = opened(write_report(folder / "decision.html", result))
    assert page.locator("#verdict-headline").inner_text() == result.verdict().headline
    assert page.locator("#next-list li").count() == len(result.next_questions())
    tested = page.locator("#checks-body").inner_text()
    assert "Hidden common causes" in tested
    assert f"{result.hidden_cause_test.words}." in tested
    assert page.locator("#checks-body details li").count() == 3 + len(result.implied_independences)
    page.locator("#edge-table tbody button").first.click()
    assert page.locator("#panel .curve .mean").count() == 1
    first = result.edges().iloc[0]
    assert result.effect(first["cause"], first["effect"]).words in page.locator("#panel").inner_text()
    assert page.locator("#verdict").bounding_box()["y"] < page.locator("#graph").bounding_box()["y"] + 1


def test_a_cause_with_levels_has_a_dot_for_each_and_its_panel_names_them(opened, folder):
    rng = np.random.default_rng(0)
    size = rng.choice(["small", "middle", "<b>large</b>"], 400)
    load = pd.Series(size).map({"small": 0.0, "middle": 2.0, "<b>large</b>": 3.0}) + rng.normal(size=400)
    result = ConditionalTuning(roots="size", random_state=0).fit(pd.DataFrame({"size": size, "load": load})).result_
    page = opened(write_report(folder / "levels.html", result))
    page.locator("#edge-table tbody button").first.click()
    dots = page.locator("#panel .curve .dot")
    heights = [float(dots.nth(k).get_attribute("cy")) for k in range(3)]  # levels in the order of their names
    assert dots.count() == 3
    assert heights[0] < heights[1] < heights[2]  # <b>large</b>, middle, small: upwards is more
    assert page.locator("#panel .curve text").all_text_contents()[-1] == "small"
    node(page, result, "size").click()
    assert f"<b>large</b> ({(size == '<b>large</b>').sum()})" in page.locator("#panel").inner_text()
    assert "categories without an order" in page.locator("#panel").inner_text()


def test_verdict_and_graph_are_in_sight_when_the_page_opens(opened, folder):
    page = opened(write_report(folder / "fold.html", believed(11, 20)))
    boxes = page.eval_on_selector_all("#stage .node", "all => all.map((one) => one.getBoundingClientRect().toJSON())")
    assert max(box["bottom"] for box in boxes) < 860


def test_a_small_screen_begins_with_one_variable_of_many(opened, folder):
    result = believed(100, 150)
    path = write_report(folder / "small.html", result)
    page = opened(path)
    assert page.locator("#depth").input_value() == "0"  # a large screen shows all
    page.set_viewport_size({"width": 390, "height": 844})
    page = opened(path)
    assert page.locator("#depth").input_value() == "1"
    degree = result.matrix.sum(axis=0) + result.matrix.sum(axis=1)
    visible = (
        "all => all.filter((one) => one.style.display !== 'none').map((one) => one.getBoundingClientRect().toJSON())"
    )
    boxes = page.eval_on_selector_all("#stage .node", visible)
    assert len(boxes) == 1 + degree.max()
    assert min(box["height"] for box in boxes) > 8
    assert min(box["top"] for box in boxes) < 844
    page.locator("#clear").click()
    assert len(page.eval_on_selector_all("#stage .node", visible)) == 100
    page.locator("#edge-table tbody button").first.click()  # both ends of an edge are legible then
    edge = result.edges().iloc[0]
    ends = [page.locator(f"#stage .node[data-node='{result.names.index(edge[end])}']") for end in ("cause", "effect")]
    for end in ends:
        box = end.bounding_box()
        assert 0 <= box["x"] <= 390
        assert box["height"] > 8
