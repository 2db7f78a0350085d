"""What a cluster of worker processes on this machine does, and what the client holds.

`python -m benchmarks.cluster --rows 2000000 --workers 2 --method ot` fits a Dask array whose partitions are drawn on
the workers (benchmarks.large). One line of JSON: wall seconds, processor seconds of the client and of the workers, and
the client's peak resident memory over that of a client that has done nothing but connect.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

_SERVE = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address=None) as one:
        print(one.scheduler_address, flush=True)
        sys.stdin.read()
"""


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Start a cluster, fit once, and say who did what."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=2_000_000)
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--method", choices=("conditional", "ot"), default="ot")
    given = asked.parse_args()
    serving = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(given.workers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert serving.stdout is not None
    assert serving.stdin is not None
    try:
        print(json.dumps(_fit(serving.stdout.readline().strip(), given)))
    finally:
        serving.stdin.close()
        serving.wait(60)


def _fit(address: str, given: argparse.Namespace) -> dict[str, float | str | int]:
    import dask.array as da

    from benchmarks.large import PIECE, WIDTH, graph, piece
    from dagtune import ConditionalTuning, OptimalTuning
    from dagtune.metrics import evaluate
    from dagtune.tables import connect

    client = connect(address)
    learner = {"conditional": ConditionalTuning, "ot": OptimalTuning}[given.method]
    small = np.random.default_rng(0).normal(size=(200, 3))
    learner(random_state=0).fit(small)  # compiled code is loaded, as in any client that has fitted before
    client.run(_load, given.method)

    def draw(block_info: dict | None = None) -> np.ndarray:
        return piece(block_info[None]["chunk-location"][0])

    chunks = (((PIECE,) * (given.rows // PIECE)), (WIDTH,))
    data = da.map_blocks(draw, chunks=chunks, dtype=float)
    empty, own, theirs = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _processor(), client.run(_processor)
    began = time.perf_counter()
    fitted = learner(random_state=0).fit(data)
    seconds = time.perf_counter() - began
    workers = sum(client.run(_processor).values()) - sum(theirs.values())
    here = _processor() - own
    found = {
        "method": given.method,
        "rows": given.rows,
        "workers": given.workers,
        "seconds": round(seconds, 1),
        "client_processor": round(here, 1),
        "worker_processor": round(workers, 1),
        "worker_share": round(workers / (workers + here), 3),
        "client_more_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - empty) // 1024,
        "f1": round(evaluate(graph() != 0, fitted.adjacency_matrix_.to_numpy().astype(bool)).as_dict()["f1"], 3),
    }
    client.close()
    return found


def _load(method: str) -> None:
    """On each worker: load the compiled code."""
    from dagtune import ConditionalTuning, OptimalTuning

    learner = {"conditional": ConditionalTuning, "ot": OptimalTuning}[method]
    learner(random_state=0).fit(np.random.default_rng(0).normal(size=(200, 3)))


if __name__ == "__main__":
    main()
