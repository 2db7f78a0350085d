"""What a cluster of worker processes on this machine does, and what the client holds.

`python -m benchmarks.cluster --rows 2000000 --workers 2 --method ot` fits a Dask array whose partitions are drawn on
the workers (benchmarks.large). One line of JSON: wall seconds, processor seconds of the client, of all workers and of
the busiest one, and the client's peak resident memory over that of a client that has done nothing but connect.

`--workers 1,2 --turns 3` fits on one worker and on two in turn, and says how much sooner two are done: by the clock,
which counts only where two processors are free, and by the processor, where nothing waits: the busiest worker and the
client one after the other, which is what the clock would say of processors without other work.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from benchmarks.large import PIECE, WIDTH, graph, piece

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
    """Start a cluster for each number of workers, fit in turn, and say who did what."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=2_000_000)
    asked.add_argument("--partition", type=int, default=PIECE, help="rows of each partition")
    asked.add_argument("--memory", default="1GiB", help="what fits into it is read whole by the client")
    asked.add_argument("--workers", default="2", help="a number of workers, or several separated by commas")
    asked.add_argument("--turns", type=int, default=1)
    asked.add_argument("--method", choices=("conditional", "ot"), default="ot")
    given = asked.parse_args()
    counts = list(map(int, given.workers.split(",")))
    with ExitStack() as open_ones:
        addresses = [open_ones.enter_context(_serving(count)) for count in counts]
        found = [[_fit(address, count, given) for address, count in zip(addresses, counts)] for _ in range(given.turns)]
    for name, clock in (("clock", "seconds"), ("processor", "in_line")):
        ratios = [turn[0][clock] / turn[-1][clock] for turn in found]
        if len(counts) > 1:
            print(
                f"{counts[-1]} workers against {counts[0]} by the {name}: {statistics.median(ratios):.2f} times the "
                f"throughput ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} turns)"
            )


@contextmanager
def _serving(workers: int) -> Iterator[str]:
    """The address of a cluster in a process of its own."""
    serving = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(workers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert serving.stdout is not None
    assert serving.stdin is not None
    try:
        yield serving.stdout.readline().strip()
    finally:
        serving.stdin.close()
        serving.wait(60)


def _fit(address: str, count: int, given: argparse.Namespace) -> dict[str, float]:
    """One fit; its line is printed."""
    import dask.array as da

    from dagtune import ConditionalTuning, OptimalTuning
    from dagtune.metrics import evaluate
    from dagtune.tables import connect

    client = connect(address)
    learner = {"conditional": ConditionalTuning, "ot": OptimalTuning}[given.method]
    small = np.random.default_rng(0).normal(size=(200, 3))
    learner(random_state=0).fit(small)  # compiled code is loaded, as in any client that has fitted before
    client.run(_load, given.method)

    rows = given.partition

    def draw(block_info: dict | None = None) -> np.ndarray:
        return piece(block_info[None]["chunk-location"][0], rows)

    chunks = ((rows,) * (given.rows // rows), (WIDTH,))
    data = da.map_blocks(draw, chunks=chunks, dtype=float)
    empty, own, theirs = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _processor(), client.run(_processor)
    began = time.perf_counter()
    fitted = learner(random_state=0, memory=given.memory).fit(data)
    seconds = time.perf_counter() - began
    each = [after - theirs[name] for name, after in client.run(_processor).items()]
    workers, here = sum(each), _processor() - own
    found = {
        "rows": given.rows,
        "workers": count,
        "seconds": round(seconds, 1),
        "client_processor": round(here, 1),
        "worker_processor": round(workers, 1),
        "busiest_worker": round(max(each), 1),
        "in_line": round(max(each) + here, 1),
        "worker_share": round(workers / (workers + here), 3),
        "client_more_mib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - empty) // 1024,
        "f1": round(evaluate(graph() != 0, fitted.adjacency_matrix_.to_numpy().astype(bool)).as_dict()["f1"], 3),
    }
    client.close()
    print(json.dumps({"method": given.method, **found, "load": round(os.getloadavg()[0], 1)}), flush=True)
    return found


def _load(method: str) -> None:
    """On each worker: load the compiled code."""
    from dagtune import ConditionalTuning, OptimalTuning

    learner = {"conditional": ConditionalTuning, "ot": OptimalTuning}[method]
    learner(random_state=0).fit(np.random.default_rng(0).normal(size=(200, 3)))


if __name__ == "__main__":
    main()
