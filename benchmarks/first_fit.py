"""What the first fit after an installation costs: machine code is made once, then read from the cache on disk."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

LEARNERS = ("ConditionalTuning", "OptimalTuning")

FIT = """
import numpy as np
from dagtune import {learner}

rng = np.random.default_rng(0)
X = np.zeros((400, 8))
for j in range(8):
    X[:, j] = rng.normal(size=400) + sum(np.sin(1.5 * X[:, i]) for i in range(j) if rng.random() < 0.4)
{learner}(random_state=0).fit(X)
"""


def processor_seconds(learner: str, cache: str) -> float:
    """User and system time of a fresh process that imports the package and fits a small table."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    program = [sys.executable, "-c", FIT.format(learner=learner)]
    subprocess.run(program, env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True, capture_output=True)
    return spent() - before


def measure() -> dict[str, Any]:
    found = {}
    for learner in LEARNERS:
        with tempfile.TemporaryDirectory() as cache:
            first, second = processor_seconds(learner, cache), processor_seconds(learner, cache)
        found[learner] = {"first": first, "second": second, "compiling": first - second}
    return found


def render(found: dict[str, Any]) -> str:
    rows = "".join(
        f"| `{name}` | {one['first']:.1f} | {one['second']:.1f} | **{one['compiling']:.1f}** |\n"
        for name, one in found.items()
    )
    return (
        "## The first fit after an installation\n\n"
        "Processor seconds of a fresh process that imports dagtune and fits 400 rows of 8 variables by default "
        "settings: with an empty cache of compiled code, again with the cache filled, and the difference, which is "
        "compilation.\n\n"
        "| learner | first | second | compiling |\n|---|---|---|---|\n" + rows
    )
