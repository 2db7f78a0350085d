"""How the report looks in a browser: light, dark, print, phone; graphs of any size, columns of any name."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from browsing import contrast, corners, edges_of, luminance, node, visible_edges
from dagtune.layout import lay_out
from dagtune.pictures import _path
from dagtune.report import write_report
from dagtune.result import Result
from dagtune.text import short_label, shown
from reports import HOSTILE, drawn

pytestmark = pytest.mark.browser


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
    layout = lay_out(result.matrix, [short_label(name) for name in result.names], also=result.history["optimal"])
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
            truth=result.history["deletion"],
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
