"""Real tables with tiers: of the drawn edges between tiers, how many point against them; with an interval.

`python -m benchmarks.tiers --real FOLDER`. The folder has CSV files and tiers.json: tiers of columns, of which earlier
ones are never effects of later ones. A random direction is against them half of the time; drawing nothing is no way
out, because the number of edges stands beside the share. Pairs whose direction the learner leaves open are counted
apart.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tiers", description=__doc__.partition("\n")[0])
    parser.add_argument("--real", required=True, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = Path(given.real)
    lines, total = [], np.zeros(4, dtype=int)
    for name, said in json.loads((folder / "tiers.json").read_text()).items():
        learner = ConditionalTuning(
            random_state=given.seed, threads=1, categorical=said["categorical"], missing="model"
        )
        result = learner.fit(folder / f"{name}.csv").result_
        tier = {column: k for k, columns in enumerate(said["tiers"]) for column in columns}
        open_pairs = {frozenset(pair) for pair in result.undecided}
        found = np.zeros(4, dtype=int)
        for edge in result.edges().itertuples():
            a, b = tier.get(edge.cause), tier.get(edge.effect)
            if a is not None and b is not None and a != b:
                loose = frozenset((edge.cause, edge.effect)) in open_pairs
                found += np.array([1, a > b, not loose, a > b and not loose])
        total += found
        lines.append(_line(name, found))
        print(f"{name}: {found.tolist()}", flush=True)
    lines.append(_line("all", total))
    print(markdown(["table", "edges between tiers", "against", "share", "95 %", "decided", "against", "share"], lines))


def _line(name: str, found: np.ndarray) -> list[object]:
    edges, against, decided, wrong = map(int, found)
    interval = stats.binomtest(against, edges).proportion_ci(method="wilson") if edges else (0.0, 1.0)
    share = against / edges if edges else float("nan")
    told = f"{interval[0]:.2f} to {interval[1]:.2f}"
    return [name, edges, against, share, told, decided, wrong, wrong / decided if decided else float("nan")]


if __name__ == "__main__":
    main()
