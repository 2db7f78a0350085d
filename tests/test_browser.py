"""The report in a real browser, opened from disk: it works by mouse and keyboard, loads nothing and runs no name.

Run by `make browser`. Needs Chromium (DAGTUNE_CHROMIUM names another) and Playwright; without them the tests are
skipped, or fail where DAGTUNE_BROWSER=required, as in CI. DAGTUNE_SCREENSHOTS=FOLDER keeps pictures of the pages.
"""

import itertools
import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dagtune import OptimalTuning, datasets
from dagtune.engine.dependence import measure_dependence
from dagtune.layout import lay_out
from dagtune.pictures import _path
from dagtune.report import write_report
from dagtune.result import Check, Result
from dagtune.text import short_label, shown
from reports import HOSTILE, drawn

pytestmark = pytest.mark.browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def lacking(what):
    """Skip on a user's machine, fail where the browser is required."""
    words = f"{what}: the report was not tried in a browser"
    if os.environ.get("DAGTUNE_BROWSER") == "required":
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    named = os.environ.get("DAGTUNE_CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    program = next(filter(None, map(shutil.which, candidates)), None)
    if program is None:
        lacking("no Chromium on this machine (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("Playwright is not installed (pip install 'dagtune[test]')")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=program, headless=True, args=FLAGS
        )
        context.set_default_timeout(10_000)
        yield context
        context.close()


@pytest.fixture
def opened(chromium):
    """A function that opens a file and hands out the page; at the end nothing may have gone wrong in it."""
    page = chromium.new_page()
    page.set_viewport_size({"width": 1366, "height": 860})
    page.emulate_media(reduced_motion="reduce")  # or a click may meet a page that still scrolls
    troubles, requests = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))

    def open_file(path):
        page.goto(Path(path).as_uri())
        page.wait_for_selector("#main:not([hidden])")
        return page

    yield open_file
    assert troubles == []
    assert all(url.startswith("file://") and url.endswith(".html") for url in requests), requests
    page.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def sachs(folder):
    """The proteins with everything the page can show."""
    proteins = datasets.load("sachs")
    X = np.log(proteins.X + 1).iloc[::20]
    learner = OptimalTuning(threads=1, random_state=0).fit(X)
    found = learner.result_
    checks = tuple(
        Check(name, tuple(found.parents(name)), 0.01 * k, 0.2 if k % 3 else 1e-4, bool(k % 3), "words")
        for k, name in enumerate(found.names)
    )
    result = Result(**{**found.__dict__, "checks": checks})
    finding = SimpleNamespace(code="ties", columns=("raf",), message="many ties", cure="none", severity="warning")
    path = write_report(
        folder / "sachs.html",
        result,
        data=X,
        dependence=measure_dependence(X, order=1, threads=1),
        confidence=learner.bootstrap(X, 10, n_jobs=1),
        audit=SimpleNamespace(rows=len(X), findings=(finding,)),
        truth=proteins.graph,
        title="Sachs proteins",
        command="dagtune learn --demo",
    )
    return result, path


@pytest.fixture(scope="module")
def forty(folder):
    """40 variables, 60 edges, without any extras."""
    result = drawn(40, 60)
    return result, write_report(folder / "forty.html", result, title="Forty")


def visible_edges(page):
    """(cause, effect) positions of the lines on the stage that have a head, as they are drawn."""
    pairs = page.evaluate(
        """() => {
            const routes = JSON.parse(document.getElementById("data").textContent).layout.routes;
            const touches = [...document.querySelectorAll("#stage .touch")];
            const pair = new Map(touches.map((touch) => [touch.getAttribute("d"), Number(touch.dataset.pair)]));
            const lines = [...document.querySelectorAll("#stage .line")];
            return lines.filter((line) => line.style.display !== "none").flatMap((line) => {
                const [a, b] = routes[pair.get(line.getAttribute("d"))];
                const ends = [];
                if (line.getAttribute("marker-end") !== "none") ends.push([a, b]);
                if (line.getAttribute("marker-start") !== "none") ends.push([b, a]);
                return ends;
            });
        }"""
    )
    return {tuple(pair) for pair in pairs}


def edges_of(matrix):
    return {(int(i), int(j)) for i, j in np.argwhere(matrix)}


def kinds(page):
    """How many visible lines there are of each kind."""
    classes = page.eval_on_selector_all(
        "#stage .line", "all => all.filter((one) => one.style.display !== 'none').map((one) => one.classList[1])"
    )
    return {kind: classes.count(kind) for kind in set(classes)}


def column(page, k):
    return page.locator(f"#edge-table tbody tr td:nth-child({k})").all_inner_texts()


def node(page, result, name):
    return page.locator(f'#stage [data-node="{result.names.index(name)}"]')


# --------------------------------------------------------------------------------------------------------- the graph


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
    assert visible_edges(page) == edges_of(result.graphs[result.phases[0]])
    for before, phase in itertools.pairwise(result.phases):
        page.keyboard.press("ArrowRight")
        old, new = result.graphs[before], result.graphs[phase]
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


# ------------------------------------------------------------------------------------------------- tables, heat map


def test_the_table_sorts_by_its_headers(opened, sachs):
    result, path = sachs
    page = opened(path)
    assert column(page, 1) == list(result.edges()["cause"])
    header = page.locator("#edge-table th").first
    header.get_by_role("button").click()
    assert column(page, 1) == sorted(result.edges()["cause"])
    assert header.get_attribute("aria-sort") == "ascending"
    header.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert column(page, 1) == sorted(result.edges()["cause"], reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    page.locator('#edge-table th[data-key="confidence"] button').click()
    shares = [int(text.split()[0]) for text in column(page, 4)]
    assert shares == sorted(shares, reverse=True)


def test_the_table_filters_by_text_strength_and_confidence(opened, sachs):
    result, path = sachs
    page = opened(path)
    edges = result.edges()
    page.locator("#filter-text").fill("MEK")
    with_mek = edges[(edges["cause"] == "mek") | (edges["effect"] == "mek")]
    assert sorted(column(page, 1)) == sorted(with_mek["cause"])
    assert page.locator("#edges-count").inner_text() == f"{len(with_mek)} of {len(edges)} edges"
    page.locator("#filter-text").fill("")
    page.locator("#filter-strength").fill("50")
    strength = edges["strength"]
    assert len(column(page, 1)) == (strength >= (strength.min() + strength.max()) / 2).sum()
    page.locator("#filter-strength").fill("0")
    page.locator("#filter-confidence").fill("80")
    assert 0 < len(column(page, 1)) < len(edges)
    assert all(int(text.split()[0]) >= 80 for text in column(page, 4))


def test_an_edge_of_the_table_is_shown_in_the_graph(opened, sachs):
    result, path = sachs
    page = opened(path)
    first = result.edges().iloc[0]
    page.locator("#edge-table tbody button").first.click()
    assert page.locator("#panel h3").inner_text() == f"{first['cause']} → {first['effect']}"
    assert page.locator("#stage .line.chosen").count() == 1
    assert page.locator("#edge-table tr.chosen").count() == 1
    assert page.evaluate("document.activeElement.id") == "panel"


def test_the_heat_map_reads_out_by_mouse_and_keyboard_and_as_a_table(opened, sachs):
    result, path = sachs
    page = opened(path)
    order = result.causal_order
    page.locator("#heat-map").focus()
    page.keyboard.press("ArrowRight")
    read = page.locator("#heat-read")
    assert read.inner_text().startswith(f"{order[0]} and {order[2]}: ")
    box = page.locator("#heat-map").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] - 8)
    assert read.inner_text().startswith(f"{order[-1]} and {order[-1]}: ")
    page.locator("#heat-details summary").click()
    page.locator("#heat-details tbody tr").first.wait_for()
    assert page.locator("#heat-details tbody tr").count() == 11


def test_checks_findings_assumptions_settings_and_versions_are_there(opened, sachs):
    result, path = sachs
    page = opened(path)
    assert page.locator("#checks tbody tr").count() == 11
    assert page.locator("#checks .tag.bad").count() == sum(not check.holds for check in result.checks)
    assert "many ties" in page.locator("#audit").inner_text()
    assert page.locator("#assumption-list li").all_inner_texts() == list(result.assumptions)
    assert page.locator("#settings tr").count() == len(result.settings)
    assert np.__version__ in page.locator("#versions").inner_text()
    assert "a random complete DAG" in page.locator("#truth-table").inner_text()


@pytest.mark.parametrize("refused", [False, True], ids=["clipboard", "no clipboard"])
def test_the_graph_can_be_copied_as_dot_and_python(opened, sachs, chromium, refused):
    result, path = sachs
    chromium.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened(path)
    if refused:
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }")
    page.get_by_role("button", name="Copy: The graph in DOT").click()
    page.get_by_text("copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").strip() == result.to_dot().strip()
    found = {}
    exec(page.locator(".code", has_text="The graph in Python").locator("code").inner_text(), found)
    pd.testing.assert_frame_equal(found["adjacency"], result.to_frame())


# -------------------------------------------------------------------------------------------- light, dark, print, phone


def luminance(colour):
    channels = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(page, selector, front, behind, back="background-color"):
    """WCAG contrast of a colour of one element against the background of another."""
    read = "(one, key) => getComputedStyle(one).getPropertyValue(key)"
    light, dark = sorted(
        (
            luminance(page.eval_on_selector(selector, read, front)),
            luminance(page.eval_on_selector(behind, read, back)),
        ),
        reverse=True,
    )
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_lines_stand_out_in_light_and_dark(opened, sachs, scheme):
    page = opened(sachs[1])
    page.emulate_media(color_scheme=scheme)
    assert contrast(page, "#subtitle", "color", "body") > 4.5
    assert contrast(page, "#edge-table tbody button", "color", "section") > 4.5
    assert contrast(page, "#stage .node text", "fill", "#stage .node rect", "fill") > 4.5
    page.locator("#mode").select_option("truth")
    for kind in ("right", "reversed", "extra", "missing"):
        assert contrast(page, f"#stage .line.{kind}", "stroke", "section") > 3
    page.locator("#phase").focus()
    page.locator("#mode").select_option("changes")
    page.keyboard.press("ArrowLeft")
    assert contrast(page, "#stage .line.came", "stroke", "section") > 3
    page.emulate_media(color_scheme=None)


def test_the_theme_can_be_chosen(opened, sachs):
    page = opened(sachs[1])
    page.emulate_media(color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: light"
    assert page.evaluate(background) == light
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: dark"
    assert luminance(page.evaluate(background)) < 0.1 < luminance(light)
    page.locator("#theme").click()
    assert page.evaluate(background) == light
    page.emulate_media(color_scheme=None)


def test_print_is_light_without_controls_and_shows_every_row(opened, folder):
    result = drawn(30, 250)
    page = opened(write_report(folder / "many.html", result))
    assert page.locator("#edge-table tbody tr").count() == 200
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#edge-table tbody tr").count() == 250
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 1.0
    for control in ("#search", "#theme", "#nav", "#phase", ".copy"):
        assert not page.locator(control).first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", color_scheme=None)
    assert page.locator("#edge-table tbody tr").count() == 200
    assert len(page.pdf()) > 20_000


def test_a_phone_scrolls_only_down(opened, sachs):
    page = opened(sachs[1])
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.documentElement.scrollWidth <= 360")


# ---------------------------------------------------------------------------------------------- any size, any name


def corners(shape):
    """Points of an SVG path of M, C and V, in order."""
    points = []
    for command, numbers in re.findall(r"([MCV])([^MCV]*)", shape):
        values = [float(number) for number in numbers.split()]
        points += [(points[-1][0], values[0])] if command == "V" else list(zip(values[::2], values[1::2]))
    return points


@pytest.mark.parametrize(("d", "edges"), [(2, 1), (5, 7), (11, 20), (40, 60), (40, 300), (100, 150), (100, 600)])
def test_graphs_of_any_size_are_drawn_as_they_were_laid_out(opened, folder, d, edges):
    result = drawn(d, edges)
    page = opened(write_report(folder / f"size-{d}-{edges}.html", result, title=f"{d} variables, {edges} edges"))
    assert visible_edges(page) == edges_of(result.matrix)
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("#stage .node")].filter((one) => {
            const [text, box] = [one.querySelector("text").getBBox(), one.querySelector("rect").getBBox()];
            return text.x < box.x || text.x + text.width > box.x + box.width || text.height > box.height;
        }).map((one) => one.textContent)"""
    )
    assert beyond == []
    layout = lay_out(result.matrix, [short_label(name) for name in result.names], also=result.graphs["optimal"])
    shapes = page.eval_on_selector_all("#stage .touch", "all => all.map((one) => one.getAttribute('d'))")
    for shape, (i, j) in zip(shapes, layout.routes, strict=True):  # the page draws the same curves as matplotlib
        np.testing.assert_allclose(corners(shape), _path(layout, i, j).vertices, atol=1.01)
    if kept := os.environ.get("DAGTUNE_SCREENSHOTS"):
        page.screenshot(path=Path(kept) / f"size-{d}-{edges}.png", full_page=True)


def test_hostile_names_are_shown_and_run_nothing(opened, folder):
    result = drawn(len(HOSTILE), 40, names=HOSTILE)
    finding = SimpleNamespace(
        code=HOSTILE[0], columns=HOSTILE, message=HOSTILE[1], cure=HOSTILE[2], severity=HOSTILE[0]
    )
    rng = np.random.default_rng(0)
    page = opened(
        write_report(
            folder / "hostile.html",
            Result(**{**result.__dict__, "warnings": HOSTILE[:4], "assumptions": HOSTILE[:4]}),
            data=pd.DataFrame(rng.normal(size=(50, len(HOSTILE))), columns=list(HOSTILE)),
            audit=SimpleNamespace(rows=3, findings=(finding,)),
            truth=result.graphs["deletion"],
            title=HOSTILE[2],
            command=HOSTILE[1],
        )
    )
    labels = page.locator("#stage .node text").all_text_contents()
    assert labels == [short_label(name) for name in HOSTILE]
    for i, name in enumerate(HOSTILE):
        page.eval_on_selector(
            f'#stage [data-node="{i}"]', "one => one.dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        )
        assert page.locator("#panel h3").text_content() == shown(name)
    for button in page.locator("#edge-table tbody button").all():
        button.evaluate("one => one.click()")
    for mode in ("changes", "truth", "strength"):
        page.locator("#mode").select_option(mode)
    page.locator("#phase").focus()
    page.keyboard.press("Home")
    page.locator("#phase-changes summary").evaluate("one => one.click()")
    page.keyboard.press("ArrowRight")
    page.locator("#heat-details summary").click()
    page.locator("#heat-map").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.locator("#search").fill("script")
    page.keyboard.press("Enter")
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function("document.documentElement.scrollWidth <= 360")  # long names break
    assert page.evaluate("window.ran") is None
    assert page.locator("img, iframe, object, embed, main script").count() == 0
    assert page.evaluate("({}).polluted === undefined && Object.keys(Object.prototype).length === 0")


def test_a_page_without_edges_extras_or_phases_works(opened, folder):
    nothing = np.zeros((3, 3), dtype=bool)
    bare = Result(
        ("a", "b", "c"), {"only": nothing}, (), np.full((3, 3), np.nan), "strength", np.zeros((3, 3)), "number"
    )
    page = opened(write_report(folder / "bare.html", bare))
    assert page.locator("#stage .node").count() == 3
    assert not page.locator("#phase").is_visible()
    assert not page.locator("#heat").is_visible()
    node(page, bare, "b").click()
    assert "0 causes" in page.locator("#panel").inner_text()


def test_the_page_says_its_edges_without_a_script(chromium, sachs):
    context = chromium.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(Path(sachs[1]).as_uri())
    assert page.locator("noscript li").count() == sachs[0].matrix.sum()
    context.close()
