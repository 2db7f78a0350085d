"""Measure side by side and rewrite BENCHMARKS.md: `python -m benchmarks [section ...]`, default all sections.

Each section's numbers are kept in benchmarks/results/SECTION.json, so that one can be measured again alone; the page
is what the files give.
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
SECTIONS = ("engine", "ot", "baselines", "conditional", "sparse", "claims", "first_fit")


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
            remarks = "".join(f"\n**Not from one run:** {remark}\n" for remark in kept.get("remarks", []))
            parts.append(section.render(kept["found"]) + remarks + f"\n*{kept['machine']}; {kept['date']}.*\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"any of {', '.join(SECTIONS)}")
    parser.add_argument("--render", action="store_true", help="only rewrite the page from the stored numbers")
    parser.add_argument("--prototype", metavar="PATH", help="folder of the lab's prototype, to run it beside ours")
    chosen = parser.parse_args()
    unknown = set(chosen.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"unknown section {min(unknown)!r}: choose among {', '.join(SECTIONS)}")
    for name in [] if chosen.render else chosen.sections or SECTIONS:
        print(f"measuring {name} ...", flush=True)
        section = importlib.import_module(f"benchmarks.{name}")
        options = {"prototype": chosen.prototype} if name in ("conditional", "sparse", "claims") else {}
        kept = {"found": section.measure(**options), "machine": machine(), "date": time.strftime("%Y-%m-%d")}
        write(HERE / "results" / f"{name}.json", json.dumps(kept, indent=1) + "\n")
        if hasattr(section, "draw"):
            (HERE.parent / "docs" / "img").mkdir(parents=True, exist_ok=True)
            section.draw(kept["found"], str(HERE.parent / "docs" / "img" / f"{name}.png"))
    write(HERE.parent / "BENCHMARKS.md", page())
    print("wrote BENCHMARKS.md")


if __name__ == "__main__":
    main()
