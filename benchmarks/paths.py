"""Whether `engine="auto"` takes the better path: `python -m benchmarks.paths --threads 1,2`.

For each n, d and number of threads both paths are timed, and "auto", its own choosing included; they take turns, and
the least of the repeats counts. On one thread that is processor time, so that others on the machine do not matter; on
more it is the wall clock. The last line is the largest ratio of the path chosen to the better one, and of "auto" to it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from dagtune import measure_dependence


def table(n: int, d: int, seed: int = 0) -> np.ndarray:
    """A chain of tanh with Gaussian noise."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    for j in range(1, d):
        X[:, j] += np.tanh(X[:, j - 1])
    return X


def least_times(threads: int, *works: Callable[[], object]) -> list[float]:
    """Seconds of each, the least of as many repeats as fit into two seconds, at least five; they take turns."""
    clock = time.process_time if threads == 1 else time.perf_counter
    found: list[list[float]] = [[] for _ in works]
    ends = time.process_time() + 2.0
    while len(found[0]) < 5 or (time.process_time() < ends and len(found[0]) < 60):
        for times, work in zip(found, works):
            began = clock()
            work()
            times.append(clock() - began)
    return [min(times) for times in found]


def main() -> None:
    """Time the grid."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--threads", default="1,2")
    asked.add_argument("--rows", default="50,100,200,400,800")
    asked.add_argument("--columns", default="4,10,20,40")
    given = asked.parse_args()
    worst_choice, worst_auto = 1.0, 1.0
    print("| threads | d | n | low rank, ms | dense, ms | auto, ms | takes | of the better |")
    print("|---|---|---|---|---|---|---|---|")
    for threads in map(int, given.threads.split(",")):
        for d in map(int, given.columns.split(",")):
            for n in map(int, given.rows.split(",")):
                X = table(n, d)
                if d * d * n * n > 1e8:  # dense would take seconds, and nobody would choose it
                    continue
                taken = measure_dependence(X, threads=threads).engine
                engines = ("lowrank", "dense", "auto")
                works = [partial(measure_dependence, X, engine=engine, threads=threads) for engine in engines]
                times = dict(zip(engines, least_times(threads, *works)))
                best = min(times["lowrank"], times["dense"])
                worst_choice = max(worst_choice, times[taken] / best)
                worst_auto = max(worst_auto, times["auto"] / best)
                told = " | ".join(f"{1e3 * seconds:.1f}" for seconds in times.values())
                print(f"| {threads} | {d} | {n} | {told} | {taken} | {times[taken] / best:.2f} |", flush=True)
    print(
        f"\nLargest ratio to the better path: {worst_choice:.2f} for the path that is taken, {worst_auto:.2f} for auto "
        f"with its choosing. Load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors."
    )


if __name__ == "__main__":
    main()
