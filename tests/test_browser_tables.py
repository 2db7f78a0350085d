"""The tables of the report in a browser: sorting, filters, the heat map, checks, what can be copied."""

import numpy as np
import pandas as pd
import pytest

from browsing import column

pytestmark = pytest.mark.browser


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
