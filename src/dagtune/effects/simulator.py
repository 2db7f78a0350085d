"""A graph whose mechanisms were fitted: it draws rows, sets variables, and says what would have been."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from dagtune.effects.adjusted import AdjustedEffects
from dagtune.effects.estimates import LEVEL, Effect
from dagtune.effects.mechanisms import Mechanism, fit_mechanism
from dagtune.effects.stretches import Origins
from dagtune.effects.summary import FEWEST, Summary, summarize
from dagtune.graph import as_matrix, find_cycle, names_of, topological_order
from dagtune.tables import Table, read_table
from dagtune.text import printable
from dagtune.validation import InputError, check_count

__all__ = ["Counterfactual", "Simulator", "fit_mechanisms", "fit_simulator"]

ASSUMPTIONS = (
    "the graph is right, and no common cause is hidden",
    "each variable is a smooth function of its causes plus noise that is independent of them, except for its spread; "
    "of a category, smooth log odds",
    "setting a variable changes nothing but what it causes",
)
COUNTERFACTUAL = (
    *ASSUMPTIONS,
    "the noise of this row stays what it was; of a discrete variable it is known only as far as its value tells",
)
#: Draws of noise for a counterfactual row.
_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """What a row would have been.

    Attributes
    ----------
    row : Series
        The row as it was.
    do : dict of str to float
        What was set.
    values : Series
        The mean of each variable as it would have been.
    low, high : Series
        Ends of the 90 % interval of the draws: those of numbers differ from ``values`` only behind discrete variables.
    assumptions : tuple of str
        What this rests on.
    """

    row: pd.Series
    do: dict[str, float]
    values: pd.Series
    low: pd.Series
    high: pd.Series
    assumptions: tuple[str, ...]

    @property
    def words(self) -> str:
        """What would have changed, in a sentence."""
        given = ", ".join(f"{printable(name)} = {value:.4g}" for name, value in self.do.items())
        changed = [
            f"{printable(name)} {self.values[name]:.4g} instead of {self.row[name]:.4g}"
            for name in self.values.index
            if name not in self.do and not np.isclose(self.values[name], self.row[name], rtol=1e-6, atol=1e-9)
        ]
        return f"With {given} it would have been: {', '.join(changed) or 'nothing else different'}."

    def __str__(self) -> str:
        """The sentence."""
        return self.words


@dataclass(frozen=True, eq=False)
class Simulator:
    """A graph with fitted mechanisms; :func:`dagtune.fit_mechanisms` and ``Result.simulator`` give one.

    It holds no row of the table it was fitted to.

    Attributes
    ----------
    summary : Summary
        What is known of the columns.
    graph : (d, d) array of bool
        The DAG; ``A[i, j]`` means ``i -> j``.
    mechanisms : tuple of Mechanism
        One for each variable.
    """

    summary: Summary
    graph: np.ndarray
    mechanisms: tuple[Mechanism, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.summary.names

    def sample(self, n: int, do: Mapping[str, Any] | None = None, *, random_state: Any = None) -> pd.DataFrame:
        """Draw rows, with some variables set.

        Parameters
        ----------
        n : int
            Number of rows.
        do : mapping of str to float, optional
            Variables that are set, and to what.
        random_state : int or Generator, optional
            Seed.

        Returns
        -------
        DataFrame of shape (n, d)
            ``attrs["assumptions"]`` says what it rests on.

        Raises
        ------
        InputError
            If there is no such variable, or the table says nothing of such a value.

        Examples
        --------
        >>> import numpy as np
        >>> from dagtune import fit_mechanisms
        >>> x = np.random.default_rng(0).normal(size=500)
        >>> X = np.column_stack([x, 2 * x + np.random.default_rng(1).normal(size=500)])
        >>> simulator = fit_mechanisms([[0, 1], [0, 0]], X)
        >>> round(simulator.sample(2000, do={"x0": 1}, random_state=0)["x1"].mean())
        2
        """
        check_count("n", n)
        given = self._given(do or {})
        rng = np.random.default_rng(random_state)
        X = np.zeros((n, len(self.names)))
        for j in topological_order(self.graph).tolist():
            noise = self.mechanisms[j].draw_noise(rng, n)  # also where it is set: the others draw the same noise
            X[:, j] = given[j] if j in given else self.mechanisms[j].produce(self.summary, X, noise)
        frame = pd.DataFrame(X, columns=list(self.names))
        frame.attrs["assumptions"] = [*ASSUMPTIONS, *self._about_groups()]
        return frame

    def counterfactual(self, row: Any, do: Mapping[str, Any], *, random_state: Any = 0) -> Counterfactual:
        """Say what a row would have been, had some variables been set.

        The noise of the row is what its mechanisms left; with the variables set, the rest follows with the same noise.

        Parameters
        ----------
        row : mapping or Series of str to float
            A value of every variable.
        do : mapping of str to float
            Variables that are set, and to what.
        random_state : int or Generator, optional
            Seed of the noise of discrete variables.

        Returns
        -------
        Counterfactual

        Raises
        ------
        InputError
            If a value is missing, there is no such variable, or the table says nothing of such a value.

        Examples
        --------
        >>> import numpy as np
        >>> from dagtune import fit_mechanisms
        >>> x = np.random.default_rng(0).normal(size=500)
        >>> X = np.column_stack([x, 2 * x + np.random.default_rng(1).normal(size=500)])
        >>> simulator = fit_mechanisms([[0, 1], [0, 0]], X)
        >>> would_be = simulator.counterfactual({"x0": 0.0, "x1": 0.5}, do={"x0": 1})
        >>> print(round(would_be.values["x1"], 1))
        2.5
        """
        given = self._given(do)
        if not given:
            raise InputError("do is empty: say which variable is set, as in do={'x': 3}")
        known = dict(row)
        missing = [name for name in self.names if name not in known]
        if missing:
            raise InputError(f"the row has no value of {printable(missing[0])}: give one of every variable")
        was = np.array([self._number(name, known[name]) for name in self.names])
        rng = np.random.default_rng(random_state)
        X = np.tile(was, (_DRAWS, 1))
        noise = [mechanism.noise_of(self.summary, X, X[:, j], rng) for j, mechanism in enumerate(self.mechanisms)]
        new = X.copy()
        for j in topological_order(self.graph).tolist():
            mechanism = self.mechanisms[j]
            if j in given:
                new[:, j] = given[j]
            elif np.any(new[:, list(mechanism.parents)] != X[:, list(mechanism.parents)]):
                new[:, j] = mechanism.produce(self.summary, new, noise[j])
        low, high = np.quantile(new, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        index = list(self.names)
        return Counterfactual(
            row=pd.Series(was, index=index),
            do={self.names[j]: value for j, value in given.items()},
            values=pd.Series(new.mean(axis=0), index=index),
            low=pd.Series(low, index=index),
            high=pd.Series(high, index=index),
            assumptions=(*COUNTERFACTUAL, *self._about_groups()),
        )

    def effect(self, x: str, y: str, *, from_: Any = None, to: Any = None, category: Any = None) -> Effect:
        """The total effect of a step of x on y in this graph; see :meth:`dagtune.Result.effect`."""
        return self._effects.effect(x, y, from_, to, category)

    def effects(self, on: str) -> pd.DataFrame:
        """The total effects of all variables on one in this graph; see :meth:`dagtune.Result.effects`."""
        return self._effects.effects(on)

    @cached_property
    def _effects(self) -> AdjustedEffects:
        return AdjustedEffects(self.summary, self.graph[None])

    def _about_groups(self) -> tuple[str, ...]:
        told = "levels of the {} groups count as noise of each variable by itself: rows are drawn from all groups"
        return (told.format(self.summary.groups),) if self.summary.groups else ()

    def _given(self, do: Mapping[str, Any]) -> dict[int, float]:
        found = {}
        for name, value in do.items():
            j = self.summary.position(name)
            found[j] = self.summary.value(j, value)
        return found

    def _number(self, name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if not np.isfinite(number):
            raise InputError(f"the row's value of {printable(name)} is {value!r}: give a number")
        return number


def fit_simulator(summary: Summary, table: Table, graph: np.ndarray, origins: Origins | None = None) -> Simulator:
    """Fit the mechanism of each variable to its causes in a graph, in the rows in which nothing acted on it."""
    X, origins = table.values, origins or Origins()
    mechanisms = []
    for j in range(table.width):
        counted = X[origins.counts_for(j)]
        parents = tuple(np.flatnonzero(graph[:, j]).tolist())
        mechanisms.append(fit_mechanism(summary, counted if len(counted) >= FEWEST else X, j, parents))
    return Simulator(summary, graph, tuple(mechanisms))


def fit_mechanisms(graph: Any, X: Any, *, categorical: str | tuple[str, ...] = ()) -> Simulator:
    """Fit a simulator to a graph of your own.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        A DAG; ``A[i, j]`` means ``i -> j``. A DataFrame or DiGraph has the names of the columns.
    X : array of shape (n, d), DataFrame, path or Table
        The data.
    categorical : str or sequence of str
        Columns whose values are categories.

    Returns
    -------
    Simulator
        It answers ``sample``, ``counterfactual``, ``effect`` and ``effects``, and holds no row of the data.

    Raises
    ------
    InputError
        If the graph has a cycle or does not fit the columns, or the data can't be used.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import fit_mechanisms
    >>> x = np.random.default_rng(0).normal(size=500)
    >>> X = np.column_stack([x, 2 * x + np.random.default_rng(1).normal(size=500)])
    >>> round(fit_mechanisms([[0, 1], [0, 0]], X).effect("x0", "x1", from_=-1, to=1).value)
    4
    """
    table = read_table(X, categorical=categorical)
    matrix = _fitting(graph, table.names)
    return fit_simulator(summarize(table), table, matrix)


def _fitting(graph: Any, names: tuple[str, ...]) -> np.ndarray:
    """The matrix of a DAG over these names."""
    matrix, own = as_matrix(graph), names_of(graph)
    if len(matrix) != len(names):
        raise InputError(f"the graph has {len(matrix)} nodes, the table {len(names)} columns: they must be the same")
    if own is not None:
        if set(own) != set(names):
            odd = sorted(set(own) ^ set(names))[0]
            raise InputError(f"{printable(odd)!r} is in the graph or the table only: their names must be the same")
        at = [own.index(name) for name in names]
        matrix = matrix[np.ix_(at, at)]
    cycle = find_cycle(matrix)
    if cycle is not None:
        raise InputError(f"the graph has a cycle: {' -> '.join(printable(names[i]) for i in cycle)}; break it")
    return matrix
