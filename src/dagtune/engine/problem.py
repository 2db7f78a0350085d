"""What is asked of the engine: which rows, which kernel and bandwidth, how variables are combined, which resources.

:func:`scale` gives each column X_j + X_k + ... the origin and the bandwidth in which its kernel sees it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dagtune.engine.expansions import NOTHING, Expansion, Sample, expand
from dagtune.engine.features import add_up
from dagtune.engine.kernels import MEDIAN_ROWS, Kernel, as_kernel, bandwidth_of, check_bandwidth
from dagtune.parallel import count_threads, parallel_map
from dagtune.progress import Progress, silent
from dagtune.tables import read_table
from dagtune.tables.rows import Extremes, Rows
from dagtune.validation import InputError, format_bytes, parse_memory

__all__ = [
    "Found",
    "Problem",
    "Scaled",
    "bandwidths",
    "combinations",
    "exact_shift",
    "notes",
    "pose",
    "refuse_if_larger",
    "scale",
    "symmetric",
]


@dataclass(frozen=True)
class Problem:
    """What is asked of the engine."""

    rows: Rows
    names: tuple[str, ...]
    kernel: Kernel
    bandwidth: str | float
    combine: Literal["sum", "joint"]
    threads: int
    memory: int
    progress: Progress

    def label(self, members: Sequence[int]) -> str:
        return " + ".join(repr(self.names[m]) for m in members)


@dataclass(frozen=True)
class Scaled:
    """A column as its kernel sees it: the variables that are added, the bandwidth, the origin and the range.

    ``expansion`` is None if the kernel has no short one, or if none was asked for.
    """

    members: tuple[int, ...]
    bandwidth: float
    origin: float = 0.0
    low: float = 0.0
    high: float = 0.0
    smallest: float = 0.0
    expansion: Expansion | None = None

    def sample(self, values: np.ndarray) -> Sample:
        return Sample(self.bandwidth, self.low, self.high, self.smallest, values)


@dataclass(frozen=True)
class Found:
    """tr(K_i L_c) / (n - 1)^2 for every variable i and candidate c, with the error bound of one side."""

    values: np.ndarray
    bound: float
    ranks: np.ndarray
    traces: np.ndarray
    diagonal_squares: np.ndarray


def pose(
    X: Any,
    kernel: Any,
    bandwidth: Any,
    combine: Any,
    memory: str | int,
    threads: int | None,
    progress: Progress | None,
) -> Problem:
    """Read the table, check the options, and shift the columns towards 0 if the kernel allows it."""
    table = read_table(X)
    found = as_kernel(kernel)
    ends = table.rows.extremes()
    _refuse_extreme(ends, table.names)
    return Problem(
        rows=table.rows.shifted(exact_shift(ends.low, ends.high)) if found.of == "difference" else table.rows,
        names=table.names,
        kernel=found,
        bandwidth=check_bandwidth(bandwidth),
        combine=combine,
        threads=count_threads(threads),
        memory=parse_memory(memory),
        progress=progress or silent,
    )


def _refuse_extreme(ends: Extremes, names: tuple[str, ...]) -> None:
    """Refuse columns whose squared values or differences would overflow or underflow."""
    low, high = ends.low, ends.high
    extreme = (np.maximum(np.abs(low), np.abs(high)) > 1e150) | (high / 2 - low / 2 < 1e-150)
    if extreme.any():
        j = int(np.argmax(extreme))
        raise InputError(
            f"column {names[j]!r} goes from {low[j]:g} to {high[j]:g}, so its squares overflow or underflow: rescale it"
        )


def exact_shift(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A shift to near the middle of each column that loses no digit: a multiple of a power of two above the range.

    Values around 1e9 are moved near 0 without rounding. Ordinary columns and integers stay as they are, so that sums of
    them keep their ties.
    """
    unit = 2.0 ** np.ceil(np.log2(high - low))
    return np.round((low / 2 + high / 2) / unit) * unit


def combinations(d: int, order: int) -> np.ndarray:
    """(count, order) of positions j <= k <= ..., lexicographic."""
    return np.array(list(itertools.combinations_with_replacement(range(d), order)), dtype=np.int64).reshape(-1, order)


def symmetric(values: np.ndarray) -> np.ndarray:
    """The mean of a matrix and its transpose: rounding leaves the two slightly different."""
    return (values + values.T) / 2


def refuse_if_larger(memory: int, needed: float) -> None:
    """Refuse a computation that needs more bytes than are allowed."""
    if needed > memory:
        raise InputError(
            f"this needs about {format_bytes(needed)}, but only memory={format_bytes(memory)!r} is allowed: pass "
            f"memory='{math.ceil(needed / 2**20)}MiB', or fewer columns"
        )


def scale(problem: Problem, members: np.ndarray, sample: np.ndarray, *, expanded: bool) -> list[Scaled]:
    """Each column X_j + X_k + ... with its origin and bandwidth, and with its expansion if ``expanded``."""
    found = problem.rows.extremes(members, problem.threads) if expanded else None
    heights = np.abs(sample).max(axis=1)

    def one(c: int) -> Scaled:
        column = tuple(members[c].tolist())
        x = np.sort(add_up(sample, column))
        if x[-1] - x[0] <= 8 * np.finfo(float).eps * max(heights[m] for m in column):
            return Scaled(column, math.inf, expansion=NOTHING)  # a constant, such as x + (-x): nothing depends on it
        bandwidth = bandwidth_of(x, problem.bandwidth, ordered=True) if problem.kernel.takes_bandwidth else 1.0
        if found is None:
            return Scaled(column, bandwidth)
        what = Sample(bandwidth, float(found.low[c]), float(found.high[c]), float(found.smallest[c]), x)
        return Scaled(
            members=column,
            bandwidth=bandwidth,
            origin=what.origin(problem.kernel),
            low=what.low,
            high=what.high,
            smallest=what.smallest,
            expansion=expand(problem.kernel, what),
        )

    return parallel_map(one, range(len(members)), problem.threads)


def notes(problem: Problem) -> tuple[str, ...]:
    """What a reader should know about the bandwidths."""
    notes = []
    if problem.kernel.takes_bandwidth:
        if problem.rows.count > MEDIAN_ROWS and problem.bandwidth in ("median", "paper"):
            notes.append(
                f"bandwidths are medians over {MEDIAN_ROWS} of {problem.rows.count} rows, drawn with a fixed seed"
            )
    elif not isinstance(problem.bandwidth, str):
        notes.append(f"kernel {problem.kernel.name!r} takes no bandwidth: bandwidth={problem.bandwidth:g} was ignored")
    return tuple(notes)


def bandwidths(problem: Problem, scaled: Sequence[Scaled]) -> np.ndarray:
    """The bandwidth of each column; NaN if the kernel takes none."""
    return np.array([one.bandwidth if problem.kernel.takes_bandwidth else np.nan for one in scaled])
