"""How things are measured here: side by side in one run, each in a process of its own, medians of repeats."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import psutil


def seconds_of(
    *functions: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Median seconds of each function, on the wall; they take turns, so that a noisy moment hits all of them."""
    taken: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for times, function in zip(taken, functions):
            start = clock()
            function()
            times.append(clock() - start)
    return [statistics.median(times) for times in taken]


def in_child(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What ``function(*arguments)`` returns, computed in a fresh process: its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(function, arguments)


def with_memory(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds, MiB at the peak beyond what was there before, and the result."""
    before = psutil.Process().memory_info().rss
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return seconds, max(peak - before, 0) / 2**20, result


def machine() -> str:
    """What this was run on, in a line."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {packages}"
