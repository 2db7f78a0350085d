"""Groups of rows: F1 and Brier score with `groups=` and without, where groups differ in level and where they do not.

Tables of :mod:`benchmarks.mixed`, "other" links and noise, or of numbers only; four groups, labels at random. "levels":
each number has a level of its own in each group, which its effects feel. Development seeds from 10 on (which groups are
likely causes, not required ones, was chosen on seeds 0 to 5).
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.mixed import draw
from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning
from dagtune.metrics import brier, f1

GROUPS = 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=12, help="tables a row")
    parser.add_argument("--first", type=int, default=10, help="first seed")
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--rows", type=int, default=500)
    given = parser.parse_args()
    lines = []
    for numbers in (True, False):
        for spread in (0.0, 1.5):
            found: list[list[float]] = []
            for seed in range(given.first, given.first + given.seeds):
                rng = np.random.default_rng([2029, seed])
                group = rng.integers(0, GROUPS, given.rows)
                level = spread * rng.normal(size=(GROUPS, given.nodes))[group]
                frame, kinds, truth = draw("other", given.nodes, given.rows, seed, level=level, numbers=numbers)
                if (frame.nunique() < 2).any():
                    continue
                for labels in (group.astype(str), None):
                    learner = ConditionalTuning(random_state=0, threads=1, kinds=kinds)
                    result = learner.fit(frame, groups=labels).result_
                    scores = float(np.nan_to_num(f1(truth, result.matrix))), float(brier(truth, result.probability))
                    found.append([labels is not None, *scores])
            scored = np.array(found)
            told, untold = (scored[scored[:, 0] == way, 1:].mean(axis=0) for way in (1, 0))
            kind = "numbers" if numbers else "mixed"
            what = "levels" if spread else "nothing"
            lines.append([kind, what, len(scored) // 2, told[0], untold[0], told[1], untold[1]])
            print(lines[-1], flush=True)
    head = ["columns", "groups differ in", "tables", "F1 with groups=", "F1 without", "Brier with", "Brier without"]
    print(markdown(head, lines))


if __name__ == "__main__":
    main()
