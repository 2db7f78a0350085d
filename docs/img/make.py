"""Take the pictures of the report and the drawings that the pages here show: python docs/img/make.py.

Needs Chromium and Playwright, as `make browser` does. The 40 variables are a random graph with invented strengths: they
show the page, not a method.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from playwright.sync_api import Page, sync_playwright

matplotlib.use("Agg")

from dagtune import OptimalTuning, datasets, measure_dependence
from dagtune.audit import audit
from dagtune.report import write_report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))
from reports import drawn  # noqa: E402


def main() -> None:
    proteins = datasets.load("sachs")
    X = np.log(proteins.X + 1)
    learner = OptimalTuning(random_state=0).fit(X)
    result = learner.result_
    forty = drawn(40, 60, seed=1)
    result.plot_phases()[0].figure.savefig(HERE / "phases.png", dpi=60)
    forty.plot().figure.savefig(HERE / "graph-40.png", dpi=70)
    measure_dependence(X, order=1).plot().figure.savefig(HERE / "dependence.png", dpi=80)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        sachs = write_report(
            Path(folder) / "sachs.html",
            result,
            data=X,
            dependence=measure_dependence(X, order=1),
            confidence=learner.bootstrap(X, 50),
            audit=audit(X),
            truth=proteins.graph,
            title="Sachs proteins, log(x + 1)",
            command="dagtune learn --demo --method ot --bootstrap 50 --out demo",
        )
        large = write_report(Path(folder) / "forty.html", forty, title="Forty variables")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(sachs.as_uri())
        page.locator("#edge-table tbody button").first.click()
        shoot(page, "report.png")
        page.keyboard.press("Escape")
        page.locator("#mode").select_option("truth")
        shoot(page, "report-truth.png")
        page.emulate_media(color_scheme="dark")
        page.goto(large.as_uri())
        page.locator("#search").fill("gene_15")
        page.keyboard.press("Enter")
        page.locator("#fit").click()
        shoot(page, "report-40.png")
        browser.close()


def shoot(page: Page, name: str) -> None:
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(5, 5)
    page.locator("#graph").screenshot(path=HERE / name)


if __name__ == "__main__":
    main()
