"""Many fits in one process: ``python -m trust.long_run [--ot N] [--conditional N]``; memory, threads and open files.

What this process holds is looked at after every tenth of the fits. A leak grows in every tenth; what is loaded late, or
compiled late, makes one step, which says nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import threading
from datetime import date
from statistics import median
from typing import Any

import numpy as np
import psutil

from trust.mutants import RESULTS, ROOT

#: MiB of a leak that a whole run may show.
MOST = 20.0


def table(seed: int, n: int = 60, d: int = 4) -> np.ndarray:
    """A small table with some dependence."""
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(n, d))
    for j in range(1, d):
        X[:, j] += np.tanh(2 * X[:, j - 1])
    return X


def state() -> dict[str, float]:
    """What this process holds now."""
    gc.collect()
    me = psutil.Process()
    return {
        "MiB": round(me.memory_info().rss / 2**20, 1),
        "threads": threading.active_count(),
        "open files": len(me.open_files()),
        "children": len(me.children()),
    }


def many(learner: str, count: int) -> dict[str, Any]:
    """Fit so many tables, every one another."""
    from dagtune import ConditionalTuning, OptimalTuning

    make = {"ot": OptimalTuning, "conditional": ConditionalTuning}[learner]
    seen: list[dict[str, float]] = []
    for number in range(1, count + 1):
        make(random_state=0).fit(table(number - 1))
        if number % max(count // 10, 1) == 0:
            seen.append(state())
    return {"fits": count, "leak, MiB": leak([each["MiB"] for each in seen]), "after every tenth": seen}


def leak(memory: list[float]) -> float:
    """What memory grows by from the first look to the last if it grows every time as in the median."""
    return round((len(memory) - 1) * median(np.diff(memory)), 1)


def main() -> None:
    """Run and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ot", type=int, default=1000)
    parser.add_argument("--conditional", type=int, default=300)
    given = parser.parse_args()
    told: dict[str, Any] = {}
    for learner, count in (("ot", given.ot), ("conditional", given.conditional)):
        told[learner] = many(learner, count)
        print(learner, told[learner], flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    told = {"date": str(date.today()), "commit": commit.strip(), **told}
    (RESULTS / "long_run.json").write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(any(each["leak, MiB"] > MOST for each in told.values() if isinstance(each, dict)))


if __name__ == "__main__":
    main()
