"""What is kept of a table to answer questions about effects: sums over its rows and quantiles, not the rows.

Each variable becomes the smooth functions of :mod:`dagtune.regression.gram`; the sums of their products answer every
additive regression of any variable on any others. So an effect can be asked for after the fit, in any graph, from a
saved result that holds no row. Rows of groups and of experiments: :mod:`dagtune.effects.stretches`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dagtune.effects.stretches import Origins, Stretch, Sums, added_up, measure_stretches
from dagtune.regression import Categories, Gram, Spline, measure_gram
from dagtune.tables import Table
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["QUANTILES", "Summary", "summarize"]

#: Nine B-splines and all eight functions of them: few enough that a regression without smoothing is steady.
FUNCTIONS = Spline(9, 8)
#: Quantiles kept of each column.
QUANTILES = np.linspace(0.0, 1.0, 41)
#: A column of no more different values is drawn as those values, not as any number.
FEW_VALUES = 11
#: Fewer rows that count for a variable than this, and all rows are taken instead, said as such.
FEWEST = 30


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums and quantiles of a table of d columns.

    Attributes
    ----------
    names : tuple of str
        The columns.
    kinds : tuple of str
        Their kinds, names in :data:`dagtune.tables.KINDS`.
    categorical : (d,) array of bool
        Which columns hold codes of categories.
    gram : Gram
        Sums over the rows of the products of all functions.
    quantiles : (d, 41) array
        Of each column, evenly spaced; the first is the least value, the last the greatest.
    values : tuple of arrays
        The different values of each column that has few, their shares in a second row; empty for the others.
    stretches : tuple of Stretch
        Sums of rows in which different variables were acted on; empty without experiments.
    groups : int
        Groups that the rows come from, whose levels are out of all sums; 0 if there are none.
    labels : mapping of str to tuple of str
        What the codes 0, 1, ... of a column stand for, by its name.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    categorical: np.ndarray
    gram: Gram
    quantiles: np.ndarray
    values: tuple[np.ndarray, ...]
    stretches: tuple[Stretch, ...] = ()
    groups: int = 0
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _some: dict[tuple[int, ...], Sums] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """The number of rows that were summed up, less what the levels of groups cost."""
        return self.gram.n

    def position(self, name: Any) -> int:
        """The position of a column; InputError if there is none of that name."""
        if name not in self.names:
            known = ", ".join(map(printable, self.names[:8])) + (", ..." if len(self.names) > 8 else "")
            raise InputError(f"there is no column {printable(name)!r}: choose among {known}")
        return self.names.index(name)

    def levels(self, column: int) -> tuple[str, ...]:
        """What the codes of a column stand for; empty if it holds numbers."""
        return tuple(self.labels.get(self.names[column], ()))

    def named(self, column: int, number: float) -> float | str:
        """A value as the table has it: the name of a level, or the number."""
        levels = self.levels(column)
        return levels[int(number)] if number in range(len(levels)) else float(number)

    def number(self, column: int, given: Any) -> float:
        """The number that stands for a value of the table, or InputError; a code is taken as it is."""
        levels = self.levels(column)
        word = f"{given:g}" if isinstance(given, float) else str(given)
        if word in levels:
            return float(levels.index(word))
        try:
            return float(given)
        except (TypeError, ValueError) as error:
            rather = f"its levels are {', '.join(map(printable, levels))}" if levels else "give a number"
            raise InputError(f"{printable(self.names[column])} can't be {given!r}: {rather}") from error

    def value(self, column: int, given: Any) -> float:
        """What a column may be set to, as a number: within what was seen of it, or InputError."""
        name, number = printable(self.names[column]), self.number(column, given)
        seen, levels = self.values[column], self.levels(column)
        if levels and number not in seen[0]:
            raise InputError(f"{name} can't be set to {given!r}: its levels are {', '.join(map(printable, levels))}")
        if self.categorical[column] and number not in seen[0]:
            raise InputError(f"{name} can't be set to {given!r}: its categories have the codes {_listed(seen[0])}")
        low, high = self.quantiles[column, [0, -1]]
        if not low <= number <= high:
            raise InputError(
                f"{name} can't be set to {number:.6g}: the table says nothing of it outside {low:.6g} to {high:.6g}"
            )
        return number

    def left_out(self, variables: Sequence[int] | np.ndarray) -> tuple[int, ...]:
        """The stretches in which any of these variables was acted on."""
        asked = {int(j) for j in variables}
        return tuple(k for k, stretch in enumerate(self.stretches) if asked & set(stretch.acted))

    def rows_without(self, out: tuple[int, ...]) -> int:
        """How many rows there are beside some stretches."""
        return self.count if not out else sum(one.rows for k, one in enumerate(self.stretches) if k not in out)

    def without(self, out: tuple[int, ...]) -> Sums:
        """The sums of all rows but some stretches; of all if too few rows are left."""
        if not out or self.rows_without(out) < FEWEST:
            return Sums(self.gram, np.zeros(len(self.gram.roughness)))
        if out not in self._some:
            kept = [stretch for k, stretch in enumerate(self.stretches) if k not in out]
            self._some[out] = added_up(self.gram, kept, grouped=bool(self.groups))
        return self._some[out]

    def target(self, column: int, category: float | None = None, out: tuple[int, ...] = ()) -> Gram:
        """The Gram with which a column is explained; of a categorical one, whether it is ``category``.

        The indicator of a category is a combination of the column's functions, so its sums follow from theirs. Rows of
        the stretches ``out`` do not count.
        """
        gram, mean = self.without(out)
        if category is None:
            return gram
        curve = gram.curves[column]
        assert isinstance(curve, Categories)
        codes, share = self.values[column]
        own = slice(int(gram.starts[column]), int(gram.starts[column + 1]))
        at = int(np.argmin(np.abs(codes - category)))
        parts = (curve.turn * share[:, None])[at]  # over all rows the functions are uncorrelated
        covariance = gram.products[:, own] @ parts
        spread = float(np.sqrt(max(parts @ covariance[own], 1e-24)))
        cross, shift, scale = gram.cross.copy(), gram.shift.copy(), gram.scale.copy()
        cross[:, column] = covariance / spread
        shift[column], scale[column] = float(share[at]) + parts @ mean[own], spread
        return replace(gram, cross=cross, shift=shift, scale=scale)

    def grid(self, column: int, most: int = 21) -> np.ndarray:
        """Values of a column for a curve: all of a discrete one, else evenly spaced from its 1 % to its 99 %."""
        if len(self.values[column]) and self.values[column].shape[1] <= most:
            return self.values[column][0]
        low, high = np.interp([0.01, 0.99], QUANTILES, self.quantiles[column])
        return np.linspace(low, high, most)

    def step(self, column: int) -> tuple[float, float]:
        """The step that is asked for if none is given: from the lower to the upper quartile.

        Of two values the step leads from the smaller to the larger, of categories from the most frequent to the next.
        """
        seen = self.values[column]
        if self.categorical[column] and seen.shape[1] > 2:
            first, second = seen[0][np.argsort(-seen[1], kind="stable")[:2]]
            return float(first), float(second)
        low, high = np.interp([0.25, 0.75], QUANTILES, self.quantiles[column])
        if self.levels(column):  # between two levels is nothing
            low, high = np.rint([low, high])
        if low == high or (len(seen) and seen.shape[1] == 2):
            low, high = self.quantiles[column, [0, -1]]
        return float(low), float(high)


def summarize(table: Table, functions: Spline = FUNCTIONS, origins: Origins | None = None) -> Summary:
    """Sum up a table without gaps and without constant columns."""
    X = table.values
    categorical = ~table.quantitative
    values = []
    for j in range(table.width):
        seen, times = np.unique(X[:, j], return_counts=True)
        few = len(seen) <= FEW_VALUES or categorical[j]
        values.append(np.stack([seen, times / len(X)]) if few else np.zeros((0, 0)))
    stretches: tuple[Stretch, ...] = ()
    if origins:
        gram, stretches = measure_stretches(X, functions, categorical, origins)
    else:
        gram = measure_gram(X, functions, categorical)
    return Summary(
        names=table.names,
        kinds=table.kinds,
        categorical=categorical,
        gram=gram,
        quantiles=np.quantile(X, QUANTILES, axis=0).T,
        values=tuple(values),
        stretches=stretches if len(stretches) > 1 else (),
        groups=0 if origins is None or origins.group is None else len(np.unique(origins.group)),
        labels=dict(table.labels),
    )


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in values)
