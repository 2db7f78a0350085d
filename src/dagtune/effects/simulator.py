"""A graph whose mechanisms were fitted: it draws rows, sets variables, and says what would have been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from dagtune.text import printable, value_words
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


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """What a row would have been.

    Attributes
    ----------
    row : Series
        The row as it was.
    do : dict of str to float or str
        What was set.
    values : Series
        The mean of each variable as it would have been; of one with named levels the likeliest level.
    low, high : Series
        Ends of the 90 % interval of the draws: those of numbers differ from ``values`` only behind discrete variables.
        Of levels without an order both are the likeliest.
    chance : Series
        Share of the draws with the likeliest level; NaN for numbers.
    assumptions : tuple of str
        What this rests on.
    """

    row: pd.Series
    do: dict[str, float | str]
    values: pd.Series
    low: pd.Series
    high: pd.Series
    chance: pd.Series
    assumptions: tuple[str, ...]

    @property
    def words(self) -> str:
        """What would have changed, in a sentence."""
        given = ", ".join(f"{printable(name)} = {value_words(value)}" for name, value in self.do.items())
        changed = [
            f"{printable(name)} {value_words(self.values[name])}{self._how_sure(name)} instead of "
            f"{value_words(self.row[name])}"
            for name in self.values.index
            if name not in self.do and not self._same(name)
        ]
        return f"With {given} it would have been: {', '.join(changed) or 'nothing else different'}."

    def _same(self, name: str) -> bool:
        was, now = self.row[name], self.values[name]
        if isinstance(now, str):
            return bool(now == was and self.chance[name] == 1)
        return bool(np.isclose(now, was, rtol=1e-6, atol=1e-9))

    def _how_sure(self, name: str) -> str:
        return f" ({self.chance[name]:.0%})" if self.chance[name] < 1 else ""

    def __str__(self) -> str:
        """The sentence."""
        return self.words

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        """One line."""
        return f"Simulator of {len(self.names)} variables with {int(self.graph.sum())} edges"

    def sample(self, n: int, do: Mapping[str, Any] | None = None, *, random_state: Any = None) -> pd.DataFrame:
        """Draw rows, with some variables set.

        Parameters
        ----------
        n : int
            Number of rows.
        do : mapping of str to float or str, optional
            Variables that are set, and to what; levels by their names.
        random_state : int or Generator, optional
            Seed.

        Returns
        -------
        DataFrame of shape (n, d)
            With the names of levels, as the table had them; ``attrs["assumptions"]`` says what it rests on.

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
        X = self.draw(n, do, random_state=random_state)
        columns: dict[str, Any] = {}
        for j, name in enumerate(self.names):
            levels, ordered = list(self.summary.levels(j)), self.summary.kinds[j] == "ordinal"
            columns[name] = X[:, j]
            if levels:
                told = np.array(levels, dtype=object)[X[:, j].astype(np.intp)]
                columns[name] = pd.Categorical(told, categories=levels, ordered=ordered)
        frame = pd.DataFrame(columns)
        frame.attrs["assumptions"] = [*ASSUMPTIONS, *self._about_groups()]
        return frame

    def draw(self, n: int, do: Mapping[str, Any] | None = None, *, random_state: Any = None) -> np.ndarray:
        """The rows of :meth:`sample` as an (n, d) array of numbers, levels as their codes."""
        check_count("n", n)
        given = self._given(do or {})
        rng = np.random.default_rng(random_state)
        X = np.zeros((n, len(self.names)))
        for j in topological_order(self.graph).tolist():
            noise = self.mechanisms[j].draw_noise(rng, n)  # also where it is set: the others draw the same noise
            X[:, j] = given[j] if j in given else self.mechanisms[j].produce(self.summary, X, noise)
        return X

    def counterfactual(self, row: Any, do: Mapping[str, Any], *, random_state: Any = 0) -> Counterfactual:
        """Say what a row would have been, had some variables been set.

        The noise of the row is what its mechanisms left; with the variables set, the rest follows with the same noise.

        Parameters
        ----------
        row : mapping or Series of str to float or str
            A value of every variable; levels by their names.
        do : mapping of str to float or str
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
        was = np.array([self._number(j, known[name]) for j, name in enumerate(self.names)])
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
        ends = np.quantile(new, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        told, chance = np.stack([new.mean(axis=0), *ends]), np.full(len(was), np.nan)
        for j in (j for j in range(len(was)) if self.summary.levels(j)):
            codes, times = np.unique(new[:, j], return_counts=True)
            told[0, j], chance[j] = codes[times.argmax()], times.max() / len(new)
            ordered = self.summary.kinds[j] == "ordinal"
            told[1:, j] = np.quantile(new[:, j], [0.05, 0.95], method="nearest") if ordered else told[0, j]
        return Counterfactual(
            row=self._series(was),
            do={self.names[j]: self.summary.named(j, value) for j, value in given.items()},
            values=self._series(told[0]),
            low=self._series(told[1]),
            high=self._series(told[2]),
            chance=pd.Series(chance, index=list(self.names)),
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

    def _number(self, column: int, value: Any) -> float:
        number = self.summary.number(column, value)
        if not np.isfinite(number):
            raise InputError(f"the row's value of {printable(self.names[column])} is {value!r}: give a number")
        return number

    def _series(self, values: np.ndarray) -> pd.Series:
        """By name; codes of levels as their names."""
        return pd.Series([self.summary.named(j, value) for j, value in enumerate(values)], index=list(self.names))


def fit_simulator(summary: Summary, table: Table, graph: np.ndarray, origins: Origins | None = None) -> Simulator:
    """Fit the mechanism of each variable to its causes in a graph, in the rows in which nothing acted on it."""
    X, origins = table.values, origins or Origins()
    mechanisms = []
    for j in range(table.width):
        counted = X[origins.counts_for(j)]
        parents = tuple(np.flatnonzero(graph[:, j]).tolist())
        mechanisms.append(fit_mechanism(summary, counted if len(counted) >= FEWEST else X, j, parents))
    return Simulator(summary, graph, tuple(mechanisms))


def fit_mechanisms(
    graph: Any,
    X: Any,
    *,
    kinds: Mapping[str, str | Sequence[str]] | None = None,
    categorical: str | Sequence[str] = (),
) -> Simulator:
    """Fit a simulator to a graph of your own.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        A DAG; ``A[i, j]`` means ``i -> j``. A DataFrame or DiGraph has the names of the columns.
    X : array of shape (n, d), DataFrame, path or Table
        The data.
    kinds : mapping of str to str or sequence of str, optional
        Kinds of columns, or the levels of ordinal ones from low to high; those of others are inferred, as in a fit.
    categorical : str or sequence of str
        Columns whose values are categories; short for ``kinds``.

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
    table = read_table(X, categorical=categorical, kinds=kinds, infer=True)
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
