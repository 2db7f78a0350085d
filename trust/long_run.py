"""Many fits in one process: ``python -m trust.long_run [--ot N] [--conditional N]``; memory, threads and open files.

Memory is looked at after a tenth of the fits, when everything is loaded, and at the end.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import threading
from datetime import date
from typing import Any

import numpy as np
import psutil

from trust.mutants import RESULTS, ROOT


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
    before: dict[str, float] = {}
    for number in range(count):
        if number == max(count // 10, 1):
            before = state()
        make(random_state=0).fit(table(number))
    after = state()
    return {"fits": count, "after a tenth": before, "at the end": after}


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
    grown = [t["at the end"]["MiB"] - t["after a tenth"]["MiB"] for t in told.values() if isinstance(t, dict)]
    sys.exit(max(grown) > 20)


if __name__ == "__main__":
    main()
