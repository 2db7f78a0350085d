"""Both learners on tables larger than memory: `python -m benchmarks.scale FOLDER --method ot --limit 2GiB`.

The limit is on the address space of the process (RLIMIT_AS), so it holds for everything: interpreter, libraries, rows.
Prints one line of JSON: rows, wall and processor seconds, the greatest resident memory, F1 against the graph of
benchmarks.large.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time

import numpy as np


def main() -> None:
    """Fit once within the limit, and say what it took."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("data")
    asked.add_argument("--method", choices=("conditional", "ot"), default="conditional")
    asked.add_argument("--limit", default=None)
    asked.add_argument("--memory", default="256MiB")
    asked.add_argument("--threads", type=int, default=1)
    asked.add_argument("--scheduler", default=None)
    given = asked.parse_args()
    from dagtune.validation import parse_memory

    if given.limit is not None:
        # Arrow's own allocator reserves a GiB of addresses when it is loaded, whether they are used or not.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        resource.setrlimit(resource.RLIMIT_AS, (parse_memory(given.limit),) * 2)
    from benchmarks.large import graph
    from dagtune import ConditionalTuning, OptimalTuning
    from dagtune.metrics import evaluate
    from dagtune.tables import connect

    client = None if given.scheduler is None else connect(given.scheduler)
    learner = {"conditional": ConditionalTuning, "ot": OptimalTuning}[given.method]
    phases: dict[str, float] = {}
    began = last = time.perf_counter()

    def tell(phase: str, share: float) -> None:
        nonlocal last
        now = time.perf_counter()
        phases[phase], last = phases.get(phase, 0.0) + now - last, now

    fitted = learner(memory=given.memory, threads=given.threads, random_state=0, progress=tell).fit(given.data)
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    guess = fitted.adjacency_matrix_.to_numpy().astype(bool)
    print(
        json.dumps(
            {
                "data": given.data,
                "method": given.method,
                "rows": fitted.result_.settings["rows"],
                "seconds": round(seconds, 1),
                "processor": round(used.ru_utime + used.ru_stime, 1),
                "peak_mib": used.ru_maxrss // 1024,
                "address_mib": _address_peak(),
                "f1": round(evaluate(graph() != 0, guess).as_dict()["f1"], 3),
                "edges": int(guess.sum()),
                "digest": int(np.packbits(guess).astype(np.int64) @ np.arange(1, len(np.packbits(guess)) + 1)),
                "phases": {name: round(value, 1) for name, value in phases.items()},
            }
        )
    )
    if client is not None:
        client.close()


def _address_peak() -> int:
    """The largest address space so far, in MiB."""
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmPeak")).split()[1]) // 1024


if __name__ == "__main__":
    main()
