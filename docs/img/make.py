"""Take the pictures of the report and the drawings that the pages here show: python docs/img/make.py.

Needs Chromium and Playwright, as `make browser` does.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

matplotlib.use("Agg")

from dagtune import ConditionalTuning, OptimalTuning, datasets, measure_dependence, simulate
from dagtune.audit import audit
from dagtune.report import write_report

HERE = Path(__file__).parent


def main() -> None:
    proteins = datasets.load("sachs")
    X = np.log(proteins.X + 1)
    learner = OptimalTuning(random_state=0).fit(X)
    result = learner.result_
    truth = simulate.random_dag(40, 60, rng=3)
    X_40 = pd.DataFrame(simulate.sample(truth, model="tanh", n=500, recipe="printed", rng=3))
    X_40.columns = [f"var_{j:02d}" for j in range(40)]
    forty = ConditionalTuning(random_state=0).fit(X_40).result_
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
        large = write_report(
            Path(folder) / "forty.html", forty, data=X_40, truth=np.asarray(truth), title="Forty variables"
        )
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(sachs.as_uri())
        page.locator("#edge-table tbody button").first.click()
        shoot(page, "report.png")
        page.keyboard.press("Escape")
        page.locator("#mode").select_option("truth")
        shoot(page, "report-truth.png")
        page.goto(large.as_uri())
        page.locator("#mode").select_option("truth")
        shoot(page, "report-40.png")
        page.locator("#mode").select_option("strength")
        page.emulate_media(color_scheme="dark")
        page.locator("#search").fill("var_11")
        page.keyboard.press("Enter")
        page.locator("#fit").click()
        shoot(page, "report-40-dark.png")
        browser.close()


def shoot(page: Page, name: str) -> None:
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(5, 5)
    page.locator("#graph").screenshot(path=HERE / name)


if __name__ == "__main__":
    main()
