"""Which path to take, by estimated cost; refused if both are too expensive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, overload

import numpy as np

from dagtune.engine.dense import Dense
from dagtune.engine.features import add_up
from dagtune.engine.kernels import MEDIAN_ROWS
from dagtune.engine.lowrank import LowRank, NoExpansionError
from dagtune.engine.problem import Problem, Scaled, scale
from dagtune.text import say_seconds
from dagtune.validation import InputError, format_bytes

__all__ = ["choose_path"]

#: Rates for choosing a path, on one thread (`python -m benchmarks.paths`): operations a second of large matrix
#: products, of the small ones that make features and of dense tiles, and kernel values a second.
_PRODUCTS, _FEATURES, _TILES, _KERNEL_VALUES = 7.5e10, 1.1e10, 2e10, 1e8
#: Seconds that each path takes however small the table, and for each column however few rows it has.
_LOWRANK_START, _LOWRANK_COLUMN, _DENSE_START, _DENSE_COLUMN = 1.8e-3, 2e-5, 1.2e-3, 3.3e-5
#: Dense work of fewer seconds than this is done before the other path's cost would be known.
_AT_ONCE = 2.2e-3
#: Two threads do 1.8 times the work of one.
_SHARING = 0.85
#: Dense work of fewer seconds than this is left to one thread, and low-rank work of fewer rows times variables^2.
_WORTH_THREADS, _WORTH_THREADS_LOW = 0.03, 1e5
#: To know what combinations cost some dozen of them are looked at, and not more than one in ten.
_LOOKS, _SELDOM = 12, 10
#: "auto" refuses a dense run that would take longer than this.
_MAX_HOURS = 2.0


@overload
def choose_path(problem: Problem, engine: Literal["lowrank"], wanted: Sequence[np.ndarray]) -> LowRank: ...


@overload
def choose_path(problem: Problem, engine: str, wanted: Sequence[np.ndarray]) -> LowRank | Dense: ...


def choose_path(problem: Problem, engine: str, wanted: Sequence[np.ndarray]) -> LowRank | Dense:
    """The path to take for the combinations ``wanted``, of which the first are the single variables."""
    problem.progress("bandwidths", 0.0)
    sample = problem.rows.sample(MEDIAN_ROWS)
    count = sum(map(len, wanted))
    # A small problem is done before a second thread has started.
    alone = replace(problem, threads=1)
    light = problem if problem.rows.count * problem.rows.width**2 > _WORTH_THREADS_LOW else alone
    problem = problem if _dense_seconds(alone, count) > _WORTH_THREADS else alone
    if engine == "dense":
        return Dense(problem, sample, "engine='dense' was asked for")
    dense_seconds = _dense_seconds(problem, count)
    if engine == "auto" and dense_seconds < _AT_ONCE:
        return Dense(problem, sample, f"so small a table takes about {say_seconds(dense_seconds)}")
    try:
        if engine == "lowrank":
            scaled, _ = _look(light, sample, wanted[:1])
            return LowRank(light, sample, scaled, "engine='lowrank' was asked for")
        scaled, looked = _look(light, sample, wanted)
        seconds = _lowrank_seconds(light, scaled, looked, count)
        if min(seconds, dense_seconds) > 3600 * _MAX_HOURS:
            widest = max(looked, key=lambda one: 0 if one.expansion is None else len(one.expansion.signs))
            raise InputError(_too_slow(problem, widest, sample, seconds, dense_seconds))
        against = f"about {say_seconds(seconds)} against {say_seconds(dense_seconds)} on the dense path"
        if seconds <= dense_seconds:
            if not problem.rows.in_memory:
                told = f"about {say_seconds(seconds)} within {format_bytes(problem.memory)}"
                problem.progress(f"features and products: {told}", 0.0)
            return LowRank(light, sample, scaled, against)
        return Dense(problem, sample, f"about {say_seconds(dense_seconds)} against {say_seconds(seconds)} in low rank")
    except NoExpansionError as error:
        rough = error.column
    column = problem.label(rough.members)
    if engine == "lowrank":
        raise InputError(
            f"kernel {problem.kernel.name!r} has no low-rank expansion for column {column}: use engine='dense', or "
            "engine='auto' to let the cost decide"
        )
    if dense_seconds > 3600 * _MAX_HOURS:
        raise InputError(_too_slow(problem, rough, sample, math.inf, dense_seconds))
    why = f"kernel {problem.kernel.name!r} has no short expansion for column {column}"
    return Dense(problem, sample, f"{why} (heavy tails, or a kernel that is not smooth)")


def _look(problem: Problem, sample: np.ndarray, wanted: Sequence[np.ndarray]) -> tuple[list[Scaled], list[Scaled]]:
    """The single variables, and enough of the combinations to estimate what all of them cost."""
    scaled = scale(problem, wanted[0], sample)
    looked = list(scaled)
    for one in scaled:
        if one.expansion is None:
            raise NoExpansionError(one)
    if problem.combine == "sum":
        for members in wanted[1:]:
            looked += scale(problem, members[:: max(len(members) // _LOOKS, _SELDOM)], sample)
    return scaled, looked


def _too_slow(problem: Problem, rough: Scaled, sample: np.ndarray, seconds: float, dense_seconds: float) -> str:
    x = add_up(sample, rough.members)
    wide = "has no low-rank expansion" if math.isinf(seconds) else f"would take {say_seconds(seconds)} in low rank"
    return (
        f"column {problem.label(rough.members)} spreads over {np.ptp(x) / rough.bandwidth:.3g} bandwidths and {wide}, "
        f"and the dense path would take {say_seconds(dense_seconds)} for {problem.rows.count} rows: winsorise the "
        "column or replace it by ranks, pass a wider bandwidth, sample the rows, or choose a path with engine="
    )


def _dense_seconds(problem: Problem, count: int) -> float:
    """n^2 / 2 kernel values of each column (twice for the variables), and as many products for each pair."""
    half = problem.rows.count**2 / 2
    d = problem.rows.width
    work = half * (count + 2 * d) / _KERNEL_VALUES + half * 2 * d * count / _TILES
    return _DENSE_START + (work + _DENSE_COLUMN * count) / problem.threads**_SHARING


def _lowrank_seconds(problem: Problem, singles: Sequence[Scaled], looked: Sequence[Scaled], count: int) -> float:
    """Terms and features of each column, and the product of all of them with those of the variables."""
    n = problem.rows.count

    def sizes(columns: Sequence[Scaled]) -> tuple[float, float]:
        found = [one.expansion for one in columns if one.expansion is not None]
        return float(np.mean([len(e.weights) for e in found])), float(np.mean([len(e.signs) for e in found]))

    terms, rank = sizes(looked)
    variables = sizes(singles)[1] * len(singles)
    if problem.combine == "joint":  # about a third of the products of features are large enough to matter
        terms, rank = rank**2 / 3, rank**2 / 3
    features = n * count * (4 * terms * rank + 2 * rank * rank)
    work = features / _FEATURES + 2 * n * variables * rank * count / _PRODUCTS
    return _LOWRANK_START + (work + _LOWRANK_COLUMN * count) / problem.threads**_SHARING
