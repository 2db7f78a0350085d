"""Measure side by side and rewrite BENCHMARKS.md: `python -m benchmarks [section ...]`, default all sections.

Each section's numbers are kept in benchmarks/results/SECTION.json, so that one can be measured again alone; the page
is what the files give. The comparisons of the conditional learner with its rivals and its former version take hours and
options, so each is a program of its own, such as `python -m benchmarks.dense`; what one prints goes into the page if it
is kept in benchmarks/results/NAME.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import machine

HERE = Path(__file__).parent
SECTIONS = ("engine", "ot", "baselines", "claims", "first_fit")
#: Programs of their own, and the titles of what they print.
PRINTED = {
    "paths": "The engine's choice of path",
    "screen": "A screen of candidate neighbours",
    "fair": "Mechanisms that no method was made for",
    "dense": "The paper's dense tables, beside version 0.1",
    "pairs": "Real pairs",
    "stability": "What should not matter",
    "cost": "Cost of a default fit",
    "mixed": "Tables of mixed kinds",
    "kinds": "Noise of every kind",
    "groups": "Groups of rows",
    "gaps": "Missing values",
    "tiers": "Real tables with tiers",
    "sachs": "The Sachs proteins with their experiments",
    "effects": "Intervals of total effects",
    "hidden": "Hidden common causes",
    "questions": "What to ask next",
}


def write(path: Path, text: str) -> None:
    """All of it or nothing: to a temporary name, then renamed."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(text)
    os.replace(unfinished, path)


def page() -> str:
    parts = [
        "# Benchmarks\n\nWritten by `make bench`; ratios are measured side by side in one run, on a shared machine.\n"
    ]
    for name in SECTIONS:
        stored = HERE / "results" / f"{name}.json"
        if stored.exists():
            kept: dict[str, Any] = json.loads(stored.read_text())
            section = importlib.import_module(f"benchmarks.{name}")
            remarks = "".join(f"\n**Note:** {remark}\n" for remark in kept.get("remarks", []))
            parts.append(section.render(kept["found"]) + remarks + f"\n*{kept['machine']}; {kept['date']}.*\n")
    for name, title in PRINTED.items():
        printed = HERE / "results" / f"{name}.md"
        if printed.exists():
            parts.append(f"## {title}\n\nPrinted by `python -m benchmarks.{name}`.\n\n{printed.read_text()}")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {', '.join(SECTIONS)}")
    parser.add_argument("--render", action="store_true", help="only rewrite the page from the stored numbers")
    chosen = parser.parse_args()
    unknown = set(chosen.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {min(unknown)!r}: choose among {', '.join(SECTIONS)}")
    for name in [] if chosen.render else chosen.sections or SECTIONS:
        print(f"measuring {name} ...", flush=True)
        section = importlib.import_module(f"benchmarks.{name}")
        kept = {"found": section.measure(), "machine": machine(), "date": time.strftime("%Y-%m-%d")}
        write(HERE / "results" / f"{name}.json", json.dumps(kept, indent=1) + "\n")
        if hasattr(section, "draw"):
            (HERE.parent / "docs" / "img").mkdir(parents=True, exist_ok=True)
            section.draw(kept["found"], str(HERE.parent / "docs" / "img" / f"{name}.png"))
    write(HERE.parent / "BENCHMARKS.md", page())
    print("wrote BENCHMARKS.md")


if __name__ == "__main__":
    main()
