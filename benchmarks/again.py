"""Run stored cells again and say how many give their numbers to the last digit: `python -m benchmarks.again`.

Cells are drawn at random from reproduction/, so many of each method, and run as `dagtune reproduce` runs them: in a
child process, on one thread. What is compared is everything but time and memory. Exits with 1 if a cell differs.
Methods that compare nearly equal numbers may differ on another processor or another BLAS: see docs/reproduction.md.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dagtune.experiments import METHODS, Cell, Record, from_uncommitted_code, latest, read_results
from dagtune.experiments.worker import Workers

REPRODUCTION = Path(__file__).parent.parent / "reproduction"
#: What a cell finds, apart from how long it took.
FOUND = ("status", "metrics", "readings", "seeds", "settings")


def drawn(records: Sequence[Record], method: str, count: int, nodes: int, seed: int) -> list[Record]:
    """So many finished cells of a method, with at most so many nodes; none of uncommitted code, which is gone."""
    known = [
        record
        for record in latest(records).values()
        if record["status"] == "ok"
        and not from_uncommitted_code(record)
        and record["cell"]["method"] == method
        and record["cell"]["nodes"] <= nodes
    ]
    return random.Random(seed).sample(known, min(count, len(known)))


def differences(stored: Record, again: Record) -> dict[str, tuple[Any, Any]]:
    """What the two found differently: name -> (stored, now)."""
    return {name: (stored.get(name), again.get(name)) for name in FOUND if stored.get(name) != again.get(name)}


def run_again(records: Sequence[Record]) -> list[tuple[Record, dict[str, tuple[Any, Any]]]]:
    """The cells that differ, each with what differs."""
    crew = Workers()
    try:
        compared = [(record, differences(record, crew.run(Cell(**record["cell"]), None))) for record in records]
    finally:
        crew.close()
    return [(record, differing) for record, differing in compared if differing]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run cells of each method again; 0 if all numbers are the same."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.again", description=__doc__)
    parser.add_argument("--methods", default="ot,conditional", help="names with commas (default: ot,conditional)")
    parser.add_argument("--cells", type=int, default=60, help="cells of each method (default: 60)")
    parser.add_argument("--nodes", type=int, default=40, help="no cells with more nodes (default: 40, the largest)")
    parser.add_argument("--seed", type=int, default=0, help="which cells are drawn (default: 0)")
    parser.add_argument("--results", type=Path, default=REPRODUCTION, help="folder of the stored cells")
    chosen = parser.parse_args(arguments)
    methods = chosen.methods.split(",")
    if unknown := set(methods) - set(METHODS):
        parser.error(f"unknown method {min(unknown)!r}: choose among {', '.join(METHODS)}")
    records = read_results(chosen.results)
    wrong = 0
    for method in methods:
        cells, start = drawn(records, method, chosen.cells, chosen.nodes, chosen.seed), time.perf_counter()
        differing = run_again(cells)
        for record, found in differing:
            print(f"  {Cell(**record['cell'])} (commit {record['versions'].get('commit', 'unknown')}):")
            for name, (stored, now) in found.items():
                print(f"    {name}: stored {stored}, now {now}")
        seconds = time.perf_counter() - start
        print(f"{method}: {len(cells) - len(differing)} of {len(cells)} cells as stored, {seconds:.0f} s", flush=True)
        wrong += len(differing)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
