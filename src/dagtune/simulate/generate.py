"""Data from a graph: ``sample`` gives the table, ``simulate`` the table and everything that made it.

Three streams of random numbers come from ``rng``: equations, noise, noise scales. Each node has its own generator in
each stream, and rows are drawn one after the other: no option moves another option's draws, and a longer table starts
with the rows of the shorter one (before standardising).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from dagtune.graph import as_matrix, names_of, topological_order
from dagtune.simulate import portable
from dagtune.simulate.models import Mechanism, Node, find_model
from dagtune.simulate.noise import NOISES, NoiseLaw
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["Simulation", "sample", "simulate"]

_MECHANISM, _NOISE, _SCALE = range(3)


@dataclass(frozen=True)
class Simulation:
    """A simulated table and what made it.

    ``X`` has one column for each node of ``graph``. ``mechanisms[j]`` is column j's equation, ``noise[:, j]`` the noise
    that went in, already times ``noise_scale[j]``. What left the equation of column j is ``X[j] * spread[j] +
    centre[j]``; without standardising, spread is 1 and centre 0. ``order`` is the topological order used.
    """

    X: pd.DataFrame
    graph: np.ndarray
    order: np.ndarray
    mechanisms: tuple[Mechanism, ...]
    noise: np.ndarray
    noise_scale: np.ndarray
    centre: np.ndarray
    spread: np.ndarray


def sample(
    graph: Any,
    model: str = "tanh",
    n: int = 1000,
    recipe: str = "printed",
    rng: Any = None,
    *,
    noise: str | NoiseLaw | None = None,
    noise_scale: float | tuple[float, float] | Sequence[float] | np.ndarray = 1.0,
    standardize: bool | Literal["internal"] = False,
) -> pd.DataFrame:
    """``n`` rows from ``graph`` (a DAG, ``A[i, j]`` means ``i -> j``), one column a node, named as in the graph.

    ``model`` and ``recipe`` choose an equation from MODELS. ``noise`` is a name from NOISES or a function (generator,
    rows) -> draws; None leaves each node the law its recipe states. ``noise_scale`` multiplies it: a number, a tuple
    (low, high) from which each node's scale is drawn uniformly, or a list or array with one value for each node.
    ``standardize=True`` scales the finished columns to mean 0, deviation 1; "internal" scales each variable as it is
    made, before its children see it, so that variances don't grow along the causal order.
    """
    made = simulate(graph, model, n, recipe, rng, noise=noise, noise_scale=noise_scale, standardize=standardize)
    return made.X


def simulate(
    graph: Any,
    model: str = "tanh",
    n: int = 1000,
    recipe: str = "printed",
    rng: Any = None,
    *,
    noise: str | NoiseLaw | None = None,
    noise_scale: float | tuple[float, float] | Sequence[float] | np.ndarray = 1.0,
    standardize: bool | Literal["internal"] = False,
) -> Simulation:
    """As :func:`sample`, with the equations, the noise and the scales beside the table."""
    matrix = as_matrix(graph)
    order = topological_order(matrix)
    draw = find_model(model, recipe)
    n = check_count("n", n)
    if standardize not in (True, False, "internal"):
        raise InputError(f"standardize must be True, False or 'internal', not {standardize!r}")
    if standardize and n < 2:
        raise InputError(f"standardising needs n of at least 2, not {n}")
    d = len(matrix)
    seeds = [int(seed) for seed in np.random.default_rng(rng).bit_generator.random_raw(3)]
    scale = _scales(noise_scale, d, np.random.default_rng([seeds[_SCALE], _SCALE]))

    x, e = np.empty((n, d)), np.empty((n, d))
    centre, spread = np.zeros(d), np.ones(d)
    mechanisms: dict[int, Mechanism] = {}
    with np.errstate(over="ignore", invalid="ignore"):  # refused a few lines on, with a cure
        for t, j in enumerate(order):
            parents = np.flatnonzero(matrix[:, j])
            node = Node(column=int(j), parents=parents, t=t, nodes=d, rows=n)
            mechanisms[j] = mechanism = draw(node, np.random.default_rng([seeds[_MECHANISM], _MECHANISM, int(j)]))
            law = _law(mechanism.noise if noise is None else noise)
            e[:, j] = scale[j] * law(np.random.default_rng([seeds[_NOISE], _NOISE, int(j)]), n)
            x[:, j] = mechanism.rule(x[:, parents], e[:, j])
            if not np.isfinite(x[:, j]).all():
                raise InputError(
                    f"model {model!r} overflows in column {j} of {d}: pass standardize='internal', or a sparser graph"
                )
            if standardize == "internal":
                x[:, j], centre[j], spread[j] = _standardised(x[:, j])
    if standardize is True:
        for j in range(d):
            x[:, j], centre[j], spread[j] = _standardised(x[:, j])
    names = names_of(graph) or [f"x{j}" for j in range(d)]
    return Simulation(
        X=pd.DataFrame(x, columns=list(names)),
        graph=matrix,
        order=order,
        mechanisms=tuple(mechanisms[j] for j in range(d)),
        noise=e,
        noise_scale=scale,
        centre=centre,
        spread=spread,
    )


def _law(noise: str | NoiseLaw) -> NoiseLaw:
    return noise if callable(noise) else NOISES[check_choice("noise", noise, NOISES)]


def _scales(noise_scale: Any, d: int, rng: np.random.Generator) -> np.ndarray:
    """One positive scale a node: a number for all, a tuple (low, high) to draw from, or one value each."""
    try:
        given = np.asarray(noise_scale, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if (given.size == 0 and d) or not (np.isfinite(given).all() and (given > 0).all()):
        raise InputError(
            f"noise_scale must be positive: a number, a tuple (low, high), or one value a node, not {noise_scale!r}"
        )
    u = portable.uniform(rng, d)
    if given.ndim == 0:
        return np.full(d, given)
    if isinstance(noise_scale, tuple) and given.shape == (2,):
        low, high = given
        if low > high:
            raise InputError(f"noise_scale's range ({low:g}, {high:g}) runs backwards: give ({high:g}, {low:g})")
        return low + (high - low) * u
    if given.shape != (d,):
        raise InputError(
            f"noise_scale has {given.size} values for {d} nodes: give {d}, one number, or a tuple (low, high) of 2"
        )
    return given


def _standardised(column: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The column with mean 0 and deviation 1, and the two numbers that undo it."""
    mean, spread = portable.mean_and_spread(column)
    if spread == 0:
        raise InputError(f"a column is constant ({column[0]:g} in all {len(column)} rows): use a smaller noise_scale")
    return (column - mean) / spread, mean, spread
