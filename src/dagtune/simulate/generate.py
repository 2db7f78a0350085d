"""Data from a graph: ``sample`` returns the table, ``simulate`` the table and everything that produced it.

Three random streams are derived from ``rng``: equations, noise and noise scales. Each node has its own generator in
each stream, and rows are drawn one after the other. Changing one option therefore never changes the draws of another,
and a longer table starts with the rows of the shorter one (before standardising).
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
from dagtune.simulate.noise import NOISES, NoiseDistribution
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["Simulation", "sample", "simulate"]

_MECHANISM, _NOISE, _SCALE = range(3)


@dataclass(frozen=True)
class Simulation:
    """A simulated table and everything that produced it.

    Parameters
    ----------
    X : DataFrame
        One column for each node of ``graph``.
    graph : ndarray of bool, shape (d, d)
        ``A[i, j]`` means ``i -> j``.
    order : ndarray of int
        The topological order in which the columns were computed.
    mechanisms : tuple of Mechanism
        ``mechanisms[j]`` is the equation of column j.
    noise : ndarray, shape (n, d)
        The noise in each equation, already multiplied by ``noise_scale``.
    noise_scale : ndarray, shape (d,)
        Scale of the noise of each node.
    centre, spread : ndarray, shape (d,)
        What standardising subtracted and divided by: the output of equation j is ``X[j] * spread[j] + centre[j]``.
        Without standardising they are 0 and 1.
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
    noise: str | NoiseDistribution | None = None,
    noise_scale: float | tuple[float, float] | Sequence[float] | np.ndarray = 1.0,
    standardize: bool | Literal["internal"] = False,
) -> pd.DataFrame:
    """Draw a table from a causal model.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        A DAG; ``A[i, j]`` means ``i -> j``.
    model : str
        Name of the equations, from :data:`MODELS`.
    n : int
        Number of rows.
    recipe : {"printed", "released"}
        Variant of the model: as printed in the paper, or as the authors' script computes it.
    rng : int, Generator or None
        Seed for all random draws.
    noise : str or callable, optional
        Distribution of the noise: a name from :data:`NOISES`, or a function ``(generator, rows) -> draws``. Default:
        the distribution that the recipe states for each node.
    noise_scale : float, tuple or sequence of float
        Factor of the noise: a number, a tuple (low, high) from which the scale of each node is drawn uniformly, or a
        list or array with one value for each node.
    standardize : bool or "internal"
        True scales the finished columns to mean 0 and standard deviation 1. "internal" scales each variable before its
        children are computed, so that variances do not grow along the causal order.

    Returns
    -------
    DataFrame, shape (n, d)
        One column for each node, named as in the graph, otherwise x0, x1, ...

    Raises
    ------
    InputError
        If the graph has a cycle, an option is unknown, a column is constant where it must be scaled, or values
        overflow.

    Examples
    --------
    >>> X = sample([[0, 1], [0, 0]], model="linear", n=3, rng=0)
    >>> X.shape
    (3, 2)
    >>> X.equals(sample([[0, 1], [0, 0]], model="linear", n=5, rng=0)[:3])
    True
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
    noise: str | NoiseDistribution | None = None,
    noise_scale: float | tuple[float, float] | Sequence[float] | np.ndarray = 1.0,
    standardize: bool | Literal["internal"] = False,
) -> Simulation:
    """Draw a table from a causal model and return everything that produced it.

    Parameters
    ----------
    graph, model, n, recipe, rng, noise, noise_scale, standardize
        As in :func:`sample`.

    Returns
    -------
    Simulation
        The table, the equations, the noise and the scales.

    Raises
    ------
    InputError
        As in :func:`sample`.

    Examples
    --------
    >>> made = simulate([[0, 1], [0, 0]], model="linear", n=3, rng=0)
    >>> alpha = made.mechanisms[1].weights["alpha"][0]
    >>> bool((made.X["x1"] == alpha * made.X["x0"] + made.noise[:, 1]).all())
    True
    """
    matrix = as_matrix(graph)
    order = topological_order(matrix)
    draw = find_model(model, recipe)
    n = check_count("n", n)
    if standardize not in (True, False, "internal"):
        raise InputError(f"standardize must be True, False or 'internal', not {standardize!r}")
    if standardize and n < 2:
        raise InputError(f"standardising needs at least 2 rows, not n = {n}")
    d = len(matrix)
    seeds = [int(seed) for seed in np.random.default_rng(rng).bit_generator.random_raw(3)]
    scale = _scales(noise_scale, d, np.random.default_rng([seeds[_SCALE], _SCALE]))

    x, e = np.empty((n, d)), np.empty((n, d))
    centre, spread = np.zeros(d), np.ones(d)
    mechanisms: dict[int, Mechanism] = {}
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is refused below, with a remedy
        for t, j in enumerate(order):
            parents = np.flatnonzero(matrix[:, j])
            node = Node(column=int(j), parents=parents, t=t, nodes=d, rows=n)
            mechanisms[j] = mechanism = draw(node, np.random.default_rng([seeds[_MECHANISM], _MECHANISM, int(j)]))
            draw_noise = _distribution(mechanism.noise if noise is None else noise)
            e[:, j] = scale[j] * draw_noise(np.random.default_rng([seeds[_NOISE], _NOISE, int(j)]), n)
            x[:, j] = mechanism.rule(x[:, parents], e[:, j])
            if not np.isfinite(x[:, j]).all():
                raise InputError(
                    f"model {model!r} overflows in column {j} of {d}: pass standardize='internal' or a sparser graph"
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


def _distribution(noise: str | NoiseDistribution) -> NoiseDistribution:
    return noise if callable(noise) else NOISES[check_choice("noise", noise, NOISES)]


def _scales(noise_scale: Any, d: int, rng: np.random.Generator) -> np.ndarray:
    """One positive scale for each node, from a number, a tuple (low, high) to draw from, or one value for each node."""
    try:
        given = np.asarray(noise_scale, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if (given.size == 0 and d) or not (np.isfinite(given).all() and (given > 0).all()):
        raise InputError(
            f"noise_scale must be positive: a number, a tuple (low, high), or one value per node, not {noise_scale!r}"
        )
    u = portable.uniform(rng, d)
    if given.ndim == 0:
        return np.full(d, given)
    if isinstance(noise_scale, tuple) and given.shape == (2,):
        low, high = given
        if low > high:
            raise InputError(
                f"the range of noise_scale, ({low:g}, {high:g}), is in the wrong order: pass ({high:g}, {low:g})"
            )
        return low + (high - low) * u
    if given.shape != (d,):
        raise InputError(
            f"noise_scale has {given.size} values for {d} nodes: pass {d} values, one number, or a tuple (low, high)"
        )
    return given


def _standardised(column: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The column with mean 0 and standard deviation 1, and the mean and standard deviation that undo it."""
    mean, spread = portable.mean_and_spread(column)
    if spread == 0:
        raise InputError(
            f"a simulated column is constant ({column[0]:g} in all {len(column)} rows): use a smaller noise_scale"
        )
    return (column - mean) / spread, mean, spread
