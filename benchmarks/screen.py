"""What the screen of candidate neighbours loses: `python -m benchmarks.screen --nodes 100,200`.

Printed is the share of true edges between candidates (dagtune.conditional.screen), for tables of benchmarks.generators.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.fair import LARGE
from benchmarks.generators import Setting
from dagtune.conditional.design import measure
from dagtune.conditional.screen import candidates


def main() -> None:
    """Print recall and the mean number of candidates."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--nodes", default="50,100,200,500")
    asked.add_argument("--counts", default="10,20,30,40")
    asked.add_argument("--seeds", type=int, default=3, help="from seed 0 on")
    given = asked.parse_args()
    counts = list(map(int, given.counts.split(",")))
    print("| d | mechanism | " + " | ".join(f"{count} of each" for count in counts) + " |")
    print("|---|---|" + "---|" * len(counts))
    for d in map(int, given.nodes.split(",")):
        for mechanism in LARGE:
            found: list[list[tuple[float, float]]] = [[] for _ in counts]
            for seed in range(given.seeds):
                X, truth = Setting(mechanism, "standardised", nodes=d).draw(seed)
                sums = measure(X).sums
                for each, count in zip(found, counts):
                    chosen = candidates(sums, count)
                    each.append((chosen[truth.astype(bool)].mean(), chosen.sum(axis=1).mean()))
            cells = [
                f"{np.mean([one for one, _ in each]):.3f} ({min(one for one, _ in each):.3f}; "
                f"{np.mean([many for _, many in each]):.0f})"
                for each in found
            ]
            print(f"| {d} | {mechanism} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nShare of true edges among candidates: mean of {given.seeds} tables (least; candidates of a variable).")


if __name__ == "__main__":
    main()
