"""What is asked of the engine: which rows, which kernel and bandwidth, how variables are combined, which resources.

:func:`scale` gives each column X_j + X_k + ... the origin and the bandwidth in which its kernel sees it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from dagtune.engine.expansions import NOTHING, USUAL, Expansion, Sample, expand
from dagtune.engine.features import add_up
from dagtune.engine.kernels import MEDIAN_ROWS, Kernel, as_kernel, bandwidths_of, check_bandwidth
from dagtune.parallel import count_threads, parallel_map
from dagtune.progress import Progress, silent
from dagtune.tables import read_table
from dagtune.tables.rows import Rows
from dagtune.tables.table import refuse_extreme
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

#: Values of the sample that are sorted at once.
_AT_ONCE = 2**20
_EPSILON = float(np.finfo(float).eps)


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


class Scaled(NamedTuple):
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
    ends = refuse_extreme(table)
    return Problem(
        rows=table.rows.shifted(exact_shift(ends.low, ends.high)) if found.of == "difference" else table.rows,
        names=table.names,
        kernel=found,
        bandwidth=check_bandwidth(bandwidth),
        combine=combine,
        threads=1 if table.rows.elsewhere else count_threads(threads),
        memory=parse_memory(memory),
        progress=progress or silent,
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


def scale(problem: Problem, members: np.ndarray, sample: np.ndarray, *, error: float | None = USUAL) -> list[Scaled]:
    """Each column X_j + X_k + ... with its origin and bandwidth, and its expansion within ``error``, if not None."""
    found = None if error is None else problem.rows.extremes(members, problem.threads)
    heights = np.abs(sample).max(axis=1)[members].max(axis=1)
    size = max(min(_AT_ONCE // sample.shape[1], -(-len(members) // problem.threads)), 1)

    def some(part: np.ndarray) -> list[Scaled]:
        x = add_up(sample, members[part].T)
        x.sort(axis=1)
        taken = problem.kernel.takes_bandwidth
        units = (bandwidths_of(x, problem.bandwidth) if taken else np.ones(len(part))).tolist()
        varies = x[:, -1] - x[:, 0] > 8 * _EPSILON * heights[part]
        columns = [tuple(column) for column in members[part].tolist()]
        return [one(*what) for what in zip(part.tolist(), columns, varies.tolist(), units, x)]

    def one(c: int, column: tuple[int, ...], varies: bool, bandwidth: float, x: np.ndarray) -> Scaled:
        if not varies:  # such as x + (-x): nothing depends on it
            return Scaled(column, math.inf, expansion=NOTHING)
        if found is None or error is None:
            return Scaled(column, bandwidth)
        low, high, smallest = float(found.low[c]), float(found.high[c]), float(found.smallest[c])
        what = Sample(bandwidth, low, high, smallest, x)
        expansion = expand(problem.kernel, what, error=error)
        return Scaled(column, bandwidth, what.origin(problem.kernel), low, high, smallest, expansion)

    parts = np.array_split(np.arange(len(members)), -(-len(members) // size)) if len(members) else []
    return [one for found in parallel_map(some, parts, problem.threads) for one in found]


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
