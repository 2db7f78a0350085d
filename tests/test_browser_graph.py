"""The graph of the report in a browser: phases, evidence, neighbours, keyboard, search, zoom, right and wrong."""

import itertools
import json

import numpy as np
import pytest

from browsing import edges_of, kinds, node, visible_edges
from dagtune import datasets
from dagtune.layout import lay_out
from dagtune.report import write_report
from dagtune.text import short_label
from reports import drawn

pytestmark = pytest.mark.browser


def test_the_page_opens_from_disk_and_shows_the_graph(opened, sachs):
    result, path = sachs
    page = opened(path)
    assert page.title() == page.locator("h1").inner_text() == "Sachs proteins"
    assert page.locator("#stage .node").count() == 11
    assert visible_edges(page) == edges_of(result.matrix)


def test_the_slider_goes_through_the_phases_and_shows_what_changed(opened, sachs):
    result, path = sachs
    page = opened(path)
    slider = page.locator("#phase")
    slider.focus()
    page.keyboard.press("Home")
    assert visible_edges(page) == edges_of(result.history[result.phases[0]])
    for before, phase in itertools.pairwise(result.phases):
        page.keyboard.press("ArrowRight")
        old, new = result.history[before], result.history[phase]
        gone = old & ~new & ~new.T & ~(old.T & ~new.T & np.tri(len(old), k=-1, dtype=bool))
        shown_now = visible_edges(page)
        assert edges_of(new) <= shown_now
        assert shown_now - edges_of(new) == edges_of(old & ~(new | new.T))  # pairs that went are shown once more
        counts = kinds(page)
        assert counts.get("went", 0) == len(edges_of(gone))
        assert counts.get("came", 0) == len({frozenset(edge) for edge in edges_of(new & ~old)})
        came = new & ~old
        decided = new & old & (old & ~new).T & ~(came | came.T)
        assert counts.get("decided", 0) == decided.sum()
        words = page.locator("#phase-words").inner_text()
        assert f"{int((new & ~old).sum())} came, {int((old & ~new).sum())} went" in words
        assert slider.get_attribute("aria-valuetext") == words


def test_the_changes_of_a_phase_are_listed_with_their_numbers(opened, sachs):
    result, path = sachs
    page = opened(path)
    page.get_by_role("group", name="Go to a phase").get_by_role("button", name="deletion").click()
    page.locator("#phase-changes summary").click()
    page.locator("#phase-changes li").first.wait_for()
    entries = page.locator("#phase-changes li").all_inner_texts()
    changes = [change for change in result.changes if change.phase == "deletion"]
    assert len(entries) == len(changes)
    for entry, change in zip(entries, changes):
        assert f"{change.edge[0]} → {change.edge[1]}" in entry
        assert all(str(number) in entry for number in change.numbers)


def test_a_click_on_an_edge_shows_its_evidence(opened, forty):
    result, path = forty
    page = opened(path)
    at = page.evaluate(
        """() => { // a point of a line that no other line and no box covers
            for (const touch of document.querySelectorAll("#stage .touch")) {
                if (touch.style.display === "none") continue;
                const length = touch.getTotalLength();
                for (let part = 0.1; part < 0.95; part += 0.05) {
                    const point = touch.getPointAtLength(length * part).matrixTransform(touch.getScreenCTM());
                    const there = document.elementsFromPoint(point.x, point.y);
                    if (there[0] === touch && !there.slice(1).some((one) => one.dataset && one.dataset.pair)) {
                        return [point.x, point.y, Number(touch.dataset.pair)];
                    }
                }
            }
        }"""
    )
    a, b, _ = json.loads(page.locator("#data").text_content())["layout"]["routes"][at[2]]
    page.mouse.click(at[0], at[1])
    assert page.locator("#panel h3").inner_text() == f"{result.names[a]} → {result.names[b]}"
    assert result.why(result.names[a], result.names[b]) in page.locator("#panel").inner_text()
    assert page.locator("#stage .line.chosen").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("#stage .line.chosen").count() == 0
    assert page.locator("#panel h3").inner_text() == "Details"


def test_a_click_on_a_variable_shows_its_causes_and_effects_and_dims_the_rest(opened, sachs):
    result, path = sachs
    page = opened(path)
    name = result.edges().iloc[0]["effect"]
    node(page, result, name).click()
    told = page.locator("#panel").inner_text()
    causes = result.parents(name)
    effects = [other for other in result.names if name in result.parents(other)]
    assert f"{len(causes)} cause" in told
    assert f"{len(effects)} effect" in told
    assert set(page.locator("#panel li button").all_inner_texts()) == {*causes, *effects}
    bright = page.eval_on_selector_all("#stage .node:not(.dim)", "all => all.map((one) => Number(one.dataset.node))")
    assert {result.names[i] for i in bright} == {name, *causes, *effects}
    assert page.locator("#panel svg.bars rect").count() == 24
    lit = page.eval_on_selector_all(
        "#stage .line:not(.dim)", "all => all.filter((one) => one.style.display !== 'none').length"
    )
    assert lit == len(causes) + len(effects)
    node(page, result, name).click()
    assert page.locator("#stage .node.dim").count() == 0


def test_lines_that_run_together_ask_which_one_is_meant(opened, folder):
    result = drawn(40, 400)
    page = opened(write_report(folder / "dense.html", result))
    at = page.evaluate(
        """() => {
            for (const touch of document.querySelectorAll("#stage .touch")) {
                const length = touch.getTotalLength();
                const point = touch.getPointAtLength(length / 2).matrixTransform(touch.getScreenCTM());
                const there = document.elementsFromPoint(point.x, point.y);
                const lines = there.filter((one) => one.dataset && one.dataset.pair);
                if (there[0] === lines[0] && lines.length > 2) return [point.x, point.y];
            }
        }"""
    )
    page.mouse.click(*at)
    choices = page.locator("#panel li button")
    words = choices.first.inner_text()
    assert choices.count() > 2
    choices.first.click()
    assert page.locator("#panel h3").inner_text() == words


def test_the_graph_works_by_keyboard_alone(opened, forty):
    result, path = forty
    page = opened(path)
    page.locator("#large").focus()
    page.keyboard.press("Tab")
    focused = "document.activeElement.dataset.node"
    first = int(page.evaluate(focused))
    assert result.names[first] == result.causal_order[0]
    page.keyboard.press("ArrowDown")
    second = int(page.evaluate(focused))
    positions = lay_out(result.matrix, [short_label(name) for name in result.names]).positions
    assert positions[second, 1] > positions[first, 1]
    page.keyboard.press("Enter")
    assert page.locator("#panel h3").inner_text() == result.names[second]
    before = page.locator("#stage").get_attribute("viewBox")
    page.keyboard.press("+")
    assert page.locator("#stage").get_attribute("viewBox") != before
    page.keyboard.press("Escape")
    assert page.locator("#panel h3").inner_text() == "Details"
    page.keyboard.press("Tab")  # one stop for all variables: the next is the panel or the slider, not a variable
    assert page.evaluate(focused) is None


def test_every_control_has_a_name_for_those_who_do_not_see_it(opened, sachs):
    page = opened(sachs[1])
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [tabindex='0']")].filter((one) => {
            const labelled = one.getAttribute("aria-label") || (one.labels && one.labels.length);
            return one.checkVisibility() && !labelled && !one.textContent.trim();
        }).map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_search_finds_and_shows_a_variable(opened, forty):
    page = opened(forty[1])
    page.locator("#search").fill("gene_3")
    assert page.locator("#found").inner_text() == "10 of 40"
    assert page.locator("#stage .node.hit").count() == 10
    page.locator("#search").fill("gene_33")
    page.keyboard.press("Enter")
    assert page.locator("#panel h3").inner_text() == "gene_33"
    box, stage = (page.locator(one).bounding_box() for one in ('#stage [data-node="33"]', "#stage"))
    assert abs(box["x"] + box["width"] / 2 - stage["x"] - stage["width"] / 2) < 30
    page.locator("#search").fill("nothing")
    assert page.locator("#found").inner_text() == "none"


def test_zoom_drag_and_fit_move_the_view(opened, forty):
    page = opened(forty[1])

    def view():
        return [float(part) for part in page.locator("#stage").get_attribute("viewBox").split()]

    page.locator("#fit").click()
    whole = view()
    page.locator("#zoom-in").click()
    assert view()[2] < whole[2]
    box = page.locator("#stage").bounding_box()
    before = view()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 70, steps=5)
    page.mouse.up()
    after = view()
    assert after[0] < before[0]
    assert after[1] < before[1]
    assert after[2:] == before[2:]
    page.keyboard.down("Control")
    page.mouse.wheel(0, 200)
    page.keyboard.up("Control")
    assert view()[2] > after[2]
    page.locator("#fit").click()
    assert view() == pytest.approx(whole)


def test_the_graph_can_fill_the_window_and_leave_it_again(opened, forty):
    page = opened(forty[1])
    page.locator("#large").click()
    box = page.locator("#graph-box").bounding_box()
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 1366, 860)
    page.keyboard.press("Escape")
    assert page.locator("#graph-box").bounding_box()["width"] < 1366


def test_right_and_wrong_edges_are_shown_against_the_truth(opened, sachs):
    result, path = sachs
    page = opened(path)
    true = datasets.load("sachs").graph.to_numpy().astype(bool)
    page.locator("#mode").select_option("truth")
    counts = kinds(page)
    assert counts["right"] == (result.matrix & true).sum()
    assert counts["reversed"] == (result.matrix & true.T).sum()
    assert counts["extra"] == (result.matrix & ~true & ~true.T).sum()
    assert counts["missing"] == (true & ~result.matrix & ~result.matrix.T).sum()
    dashes = {
        kind: page.eval_on_selector(f"#stage .line.{kind}", "one => getComputedStyle(one).strokeDasharray")
        for kind in ("right", "reversed", "extra", "missing")
    }
    assert len(set(dashes.values())) == 4  # told apart without colour
