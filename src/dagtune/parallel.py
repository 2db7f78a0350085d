"""Dividing work over processors, and keeping BLAS from dividing it again.

Work is cut into pieces whose results do not depend on the thread that computes them, so any number of threads gives the
same numbers. Each piece runs BLAS single-threaded: small linear algebra on two BLAS threads was measured to be 20 times
slower.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from dagtune.validation import check_count

__all__ = ["count_threads", "one_blas_thread", "parallel_map"]

Item = TypeVar("Item")
Value = TypeVar("Value")

_limited = threading.Lock()


def count_threads(threads: int | None = None) -> int:
    """The requested number of threads, or one for each processor that this process may use."""
    if threads is not None:
        return check_count("threads", threads)
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


@cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process, found once: the search takes as long as a small regression."""
    import scipy.linalg  # noqa: F401  loads its own BLAS, which is to be found

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Context in which BLAS runs on one thread.

    The first thread to enter sets the limit and lifts it again; others that find it set leave it alone. (OpenBLAS lets
    only the thread that set the limit lift it.)
    """
    if not _limited.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limited.release()


def parallel_map(function: Callable[[Item], Value], items: Sequence[Item], threads: int) -> list[Value]:
    """``[function(item) for item in items]`` on several threads, results in order; call it inside one_blas_thread."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    size = -(-len(items) // (8 * threads))  # several at a time: passing one on costs as much as a small one
    groups = [items[start : start + size] for start in range(0, len(items), size)]
    with ThreadPoolExecutor(min(threads, len(groups))) as pool:
        return [
            value for values in pool.map(lambda group: [function(item) for item in group], groups) for value in values
        ]
