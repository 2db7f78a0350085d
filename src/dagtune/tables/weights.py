"""Rows that count more than others: weights, and the table of repeated rows that they stand for.

A weighted table is one in which each row is there as often as it counts. So it is made that: rows are repeated in
proportion to their weights, and every sum over rows, every rank and every median is the weighted one, whatever computes
it. What repeating would overstate is how many observations there are. The table counts as as many rows as can be drawn
in proportion to the weights with none drawn twice; 5 % of all weight may be cut off the heaviest rows for that, and
Kish's (sum of weights)^2 / (sum of squared weights) is the most. With equal weights that is the number of rows.

Rows drawn twice were tried: as many rows as Kish says, some of them twice. On ten tables (six variables, 600 rows,
weights of 1 and 3 at random) F1 was 0.80, against 0.92 with different rows and 0.94 without weights on as many rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dagtune.tables.labels import origin
from dagtune.tables.table import Table, Weights
from dagtune.validation import InputError

__all__ = ["Weighted", "pulled_weights", "weighted", "weights_of", "without_weightless"]

#: Repeated rows are so many times the rows, unless that is more than this many, or the weights are small whole numbers.
_TIMES, _MOST = 10, 50_000
#: Fewest rows that a weighted table may count as.
_FEWEST = 2
#: Share of all weight that may be cut off the heaviest rows where rows are drawn.
_CUT = 0.05


class Weighted(NamedTuple):
    """A table of repeated rows.

    Parameters
    ----------
    table : Table
        Its sums are the weighted sums.
    kept : ndarray of int, or None
        Positions in it of as many different rows as it counts as, drawn by their weights: for what looks at rows one by
        one and takes each for an observation. None if rows have no weights.
    settings : mapping
        What a result keeps of this; nothing if rows have no weights.
    """

    table: Table
    kept: np.ndarray | None = None
    settings: Mapping[str, Any] = MappingProxyType({})

    @property
    def counts_as(self) -> int:
        """How many rows it counts as."""
        return self.table.count if self.kept is None else len(self.kept)

    @property
    def some(self) -> Table:
        """A table whose rows are observations."""
        return self.table.some() if self.kept is None else self.table.take(self.kept)


def weighted(table: Table) -> Weighted:
    """The table of repeated rows that a table with weights stands for; one without weights as it is.

    Parameters
    ----------
    table : Table
        Its rows are in memory if they have weights.

    Returns
    -------
    Weighted

    Raises
    ------
    InputError
        If the weights leave too few rows, or a column that is constant.

    Examples
    --------
    >>> from dagtune.tables import read_table
    >>> table = read_table([[1, 2], [2, 5], [3, 4], [4, 8], [5, 7], [6, 1]], sample_weight=[1, 1, 1, 1, 1, 1.1])
    >>> weighted(table).counts_as
    6
    """
    given = table.weights
    if given is None or (given.values == given.values[0]).all():
        return Weighted(replace(table, weights=None))
    values, weights = table.values, given.values
    chosen = _drawn(values, weights)
    if len(chosen) < _FEWEST:
        raise InputError(
            f"the weights of {table.count} rows ({given.origin}) are so uneven that they count as {len(chosen)}: give "
            "weights that differ less, or leave sample_weight out"
        )
    still = values[chosen].max(axis=0) == values[chosen].min(axis=0)
    if still.any():
        raise InputError(
            f"column {table.names[int(still.argmax())]!r} hardly varies in the rows that have weight "
            f"({given.origin}): drop it, or leave sample_weight out"
        )
    times = _times(weights)
    times[chosen] = np.maximum(times[chosen], 1)
    note = f"rows have weights ({given.origin}): {table.count} rows count as {len(chosen)}"
    repeated = table.take(np.repeat(np.arange(table.count), times))
    return Weighted(
        replace(repeated, weights=None, notes=(*table.notes, note)),
        (np.cumsum(times) - times)[chosen],
        {"sample_weight": given.column or "given", "counts_as": len(chosen)},
    )


def _times(weights: np.ndarray) -> np.ndarray:
    """How often each row is repeated: exactly in proportion to small whole weights, else as nearly as that goes."""
    n = len(weights)
    most = max(n, min(_TIMES * n, _MOST))
    if (weights == np.round(weights)).all() and weights.max() < 2**53:
        whole = weights.astype(np.int64)
        whole //= math.gcd(*np.unique(whole).tolist())
        if whole.sum() <= max(most, _MOST):
            return whole
    ends = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    ends[-1] = 1.0
    return np.diff(np.floor(ends * most + 0.5).astype(np.int64))


def _drawn(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Positions, ascending, of different rows whose chance is in proportion to their weights, evenly over the values.

    A row can't be drawn more than once. So as many are drawn as leave _CUT of all weight to rows that should have been,
    and no more than Kish's number of rows, and no fewer than half of it: a few heavy rows shall not decide.
    """
    ordered = np.sort(weights)[::-1]
    # excess of the largest weights over each weight; the least of them that cuts off no more than _CUT is the unit
    excess = np.cumsum(ordered) - np.arange(1, len(ordered) + 1) * ordered
    unit = ordered[np.flatnonzero(excess <= _CUT * ordered.sum())[-1]]
    kish = float(weights.sum() ** 2 / (weights @ weights))
    count = round(min(kish, max(kish / 2, float(np.minimum(weights / unit, 1.0).sum()))))
    low, high = 0.0, 1.0 / ordered[ordered > 0][-1]  # the factor under which the chances add up to the count
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * weights, 1.0).sum() < count else (low, middle)
    chances = np.minimum(high * weights, 1.0)
    ranked = _ranked(values)
    ends = np.cumsum(chances[ranked])
    picked = np.searchsorted(ends, (np.arange(count) + 0.5) * ends[-1] / count)
    return np.unique(ranked[np.minimum(picked, len(ranked) - 1)])


def _ranked(values: np.ndarray) -> np.ndarray:
    """Positions of the rows by their sum of standard scores: neither the rows' order nor the columns' plays a part."""
    scale = values.std(axis=0)
    scores = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    return np.lexsort([scores.max(axis=1), scores.min(axis=1), np.round(scores.sum(axis=1), 9)])


def weights_of(given: Any, count: int, column: str = "") -> Weights:
    """One weight for each of ``count`` rows, checked.

    Parameters
    ----------
    given : array-like of shape (count,)
    count : int
    column : str
        The column that they come from, if any.

    Returns
    -------
    Weights

    Raises
    ------
    InputError
        If they are not so many finite numbers of at least 0, or all are 0.
    """
    found, array = Weights(column, np.empty(0)), np.asarray(given)
    try:
        values = pd.to_numeric(pd.Series(array.ravel())).to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(f"weights must be numbers ({found.origin}): choose another column for sample_weight") from None
    if array.ndim != 1 or len(values) != count:
        raise InputError(
            f"weights of shape {array.shape} for {count} rows ({found.origin}): give one number for each row"
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"the weight of row {row} is {values[row]:g} ({found.origin}): weights must be known, finite and at least 0"
        )
    if not values.any():
        raise InputError(f"all weights are zero ({found.origin}): leave sample_weight out")
    return Weights(column, values)


def pulled_weights(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], given: Any
) -> tuple[pd.DataFrame | np.ndarray, tuple[str, ...], Weights | None]:
    """A table without the column that holds the weights, and the weights.

    Parameters
    ----------
    raw : DataFrame or ndarray
        The table.
    names : tuple of str
        Of its columns.
    given : None, str, or one weight for each row
    """
    raw, names, column = origin(raw, names, given, "sample_weight")
    if given is None:
        return raw, names, None
    return raw, names, weights_of(given if column is None else column, len(raw), given if column is not None else "")


def without_weightless(table: Table) -> Table:
    """The table without rows of weight 0."""
    if table.weights is None or table.weights.values.all():
        return table
    return table.take(np.flatnonzero(table.weights.values))
