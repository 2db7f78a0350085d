"""What a second thread brings to OT: `python -m benchmarks.threads`.

Where two processors are not free the clock says nothing. So three processor times are taken: of a fit on one thread;
of one on two, all together; and of that what its main thread did alone, while no other thread could work. With two free
processors a fit takes at least the main thread's seconds and half of the others'. Medians of the turns.
"""

from __future__ import annotations

import argparse
import statistics
import time

from benchmarks.paths import table
from dagtune import OptimalTuning

#: Columns and rows.
SIZES = ((10, 1000), (20, 400), (20, 1000), (20, 10_000), (40, 1600), (80, 1000), (120, 1000))


def processor(n: int, d: int, threads: int) -> tuple[float, float]:
    """Seconds of all threads, and of the main one."""
    X = table(n, d)
    every, main = time.process_time(), time.thread_time()
    OptimalTuning(threads=threads).fit(X)
    return time.process_time() - every, time.thread_time() - main


def main() -> None:
    """One line a size."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--turns", type=int, default=3)
    given = asked.parse_args()
    processor(200, 3, 2)  # compiled now
    print("| d | n | one thread, s | two threads, s | of these the main one | at best of two, s | times as fast |")
    print("|---|---|---|---|---|---|---|")
    for d, n in SIZES:
        turns = [(processor(n, d, 1)[0], *processor(n, d, 2)) for _ in range(given.turns)]
        one, two, alone = (statistics.median(each) for each in zip(*turns))
        best = alone + (two - alone) / 2
        print(f"| {d} | {n} | {one:.2f} | {two:.2f} | {alone:.2f} | {best:.2f} | {one / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
