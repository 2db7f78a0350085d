"""A table that was read: numbers without gaps, names and kinds of columns, what was filled in, where its rows live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from dagtune.tables.completing import completed
from dagtune.tables.gaps import Gaps
from dagtune.tables.kinds import KINDS, MAX_CATEGORIES
from dagtune.tables.labels import Labels
from dagtune.tables.rows import Extremes, MemoryRows, Ranges, Rows
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["FEW_ROWS", "SOME_ROWS", "Table", "Weights", "few_rows", "refuse_extreme", "where"]

#: Fewer rows than this are few, however few the columns.
FEW_ROWS = 50
#: Rows that are looked at one by one where not all are in memory.
SOME_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each row counts, in any unit.

    Parameters
    ----------
    column : str
        The column that says so; empty if an array did.
    values : ndarray of shape (rows,)
        At least 0, and not all 0.
    """

    column: str
    values: np.ndarray

    @property
    def effective(self) -> float:
        """The number of rows that as many rows of equal weight would have (Kish 1965)."""
        share = self.values / self.values.max()
        return float(share.sum() ** 2 / (share @ share))

    @property
    def origin(self) -> str:
        """Where they come from, for messages."""
        return f"column {printable(self.column)!r}" if self.column else "sample_weight="


@dataclass(frozen=True, eq=False)
class Table:
    """A table that was read: numbers without gaps, the names and kinds of its columns, and what was left out.

    :func:`read_table` makes it. Every function that takes data takes a Table, and does not check it again.

    Attributes
    ----------
    rows : Rows
        The numbers, wherever they live.
    names : tuple of str
        The names of the columns.
    kinds : tuple of str
        The kind of each column, a name in :data:`dagtune.tables.KINDS`.
    inferred : bool
        Whether kinds that were not said were inferred from the values; if not, they are continuous.
    labels : mapping of str to tuple of str
        What the codes 0, 1, ... of a column stand for, by its name.
    notes : tuple of str
        What was done to columns, such as pooling rare categories.
    dropped : tuple of str
        The constant columns that ``drop_constant=True`` left out.
    lost_rows : int
        The number of rows that ``missing="drop"`` left out.
    filled : int
        The number of values that ``missing="impute"`` filled in.
    notes : tuple of str
        What was found out about the file, and what of it was left out.
    gone : ndarray of bool, shape (rows, columns), or None
        Where ``missing="model"`` put draws from what the other columns tell.
    gaps : Gaps or None
        Share and pattern of the missing values that were there.
    groups, conditions : Labels or None
        Where each row comes from, and under which condition of an experiment.
    weights : Weights or None
        How much each row counts; see :mod:`dagtune.tables.weights`.
    blocks : ndarray of int, shape (rows,), or None
        The block of each row, if successive rows are drawn together when rows are resampled.

    Examples
    --------
    >>> import pandas as pd
    >>> from dagtune.tables import read_table
    >>> table = read_table(pd.DataFrame({"sex": ["f", "m", "f"], "age": [4, 2, 3]}), categorical="sex")
    >>> table.kinds
    ('categorical', 'continuous')
    >>> read_table(table) is table
    True
    """

    rows: Rows
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    lost_rows: int = 0
    filled: int = 0
    inferred: bool = False
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gone: np.ndarray | None = None
    gaps: Gaps | None = None
    groups: Labels | None = None
    conditions: Labels | None = None
    weights: Weights | None = None
    blocks: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.rows.count

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.rows.width

    @property
    def values(self) -> np.ndarray:
        """All numbers in memory, float64 of shape (rows, columns)."""
        return self.rows.read(slice(None))

    @property
    def quantitative(self) -> np.ndarray:
        """Boolean (columns,): which columns hold amounts rather than codes of categories."""
        return np.array([KINDS[kind].quantitative for kind in self.kinds], dtype=bool)

    @property
    def categorical(self) -> tuple[str, ...]:
        """The names of the columns whose numbers are codes of categories."""
        return where(self.names, ~self.quantitative)

    @property
    def together(self) -> np.ndarray | None:
        """(rows,) which rows are drawn together: those of a block, or of one of many groups (subjects); else None."""
        if self.blocks is None and self.groups is not None and len(self.groups.names) > MAX_CATEGORIES:
            return self.groups.codes
        return self.blocks

    def to_frame(self) -> pd.DataFrame:
        """The numbers as a pandas DataFrame with the names as columns; it shares the table's memory.

        Returns
        -------
        DataFrame of shape (rows, columns)
        """
        return pd.DataFrame(self.values, columns=list(self.names), copy=False)

    def take(self, rows: np.ndarray) -> Table:
        """The table of some rows, some perhaps several times.

        Parameters
        ----------
        rows : ndarray of int
            Their positions.

        Returns
        -------
        Table
            Codes of categories are numbered anew, as if these rows had been read alone. A column may be constant.
        """
        values, labels = _recoded(self.values[rows], self)
        return replace(
            self.with_values(values),
            labels=labels,
            gone=None if self.gone is None else self.gone[rows],
            groups=None if self.groups is None else self.groups.take(rows),
            conditions=None if self.conditions is None else self.conditions.take(rows),
            weights=None if self.weights is None else replace(self.weights, values=self.weights.values[rows]),
            blocks=None if self.blocks is None else np.unique(self.blocks[rows], return_inverse=True)[1],
        )

    def some(self, most: int = SOME_ROWS) -> Table:
        """The table itself if its rows are in memory, else one of a seeded sample of its rows that are.

        Parameters
        ----------
        most : int
            Rows of the sample.

        Returns
        -------
        Table
        """
        if self.rows.in_memory:
            return self
        return self.with_values(self.rows.sample(most).T)

    def with_values(self, values: np.ndarray) -> Table:
        """The table with other numbers (rows, columns) in the same columns."""
        return replace(self, rows=MemoryRows(np.ascontiguousarray(values)))

    def only(self, keep: np.ndarray) -> Table:
        """The table of the columns ``keep``, boolean (columns,)."""
        rows = MemoryRows(self.values[:, keep]) if self.rows.in_memory else self.rows.only(keep)
        return replace(
            self,
            rows=rows,
            names=where(self.names, keep),
            kinds=where(self.kinds, keep),
            gone=None if self.gone is None else self.gone[:, keep],
        )

    def completed(self, draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Draws of the numbers (rows, columns), where ``missing="model"`` has gaps to fill; else the numbers, once.

        Parameters
        ----------
        draws : int
            How many.
        rng : numpy.random.Generator

        Yields
        ------
        ndarray of shape (rows, columns)
        """
        if self.gone is None or not self.gone.any():
            yield self.values
            return
        yield from completed(np.where(self.gone, np.nan, self.values), self.kinds, rng, draws)

    def left_out(self) -> list[str]:
        """What was left out or filled in, as warnings for the user; empty if nothing was."""
        told = list(self.notes)
        if self.dropped:
            told.append(f"constant columns were left out: {', '.join(map(printable, self.dropped))}")
        if self.lost_rows:
            told.append(
                f"{self.lost_rows} rows with missing values were left out, {self.count} are left: these may not be "
                "typical"
            )
        if self.filled:
            told.append(f"{self.filled} missing values were filled with medians, which weakens dependence")
        if self.gone is not None:
            told.append(f"{int(self.gone.sum())} missing values were drawn from what the other columns tell")
        if self.gaps is not None and self.gaps.many:
            told.append(self.gaps.pattern())
            told += [f"gaps can be predicted: {one}" for one in self.gaps.predictable[:3]]
        return told


def few_rows(count: int, width: int = 0, *, per_column: int = 0) -> bool:
    """Whether a table has too few rows to learn reliably from.

    Parameters
    ----------
    count, width : int
        Number of rows and of columns.
    per_column : int
        How many rows each column needs, beyond the ``FEW_ROWS`` that any table needs.

    Returns
    -------
    bool

    Examples
    --------
    >>> few_rows(100, 30), few_rows(100, 30, per_column=5)
    (False, True)
    """
    return count < max(FEW_ROWS, per_column * width)


def _recoded(values: np.ndarray, table: Table) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
    """The values with codes of categories numbered anew from 0, where some are not there any more; and the labels."""
    labels = dict(table.labels)
    for j in np.flatnonzero(~table.quantitative):
        codes, name = values[:, j], table.names[j]
        known = ~np.isnan(codes)
        left, codes[known] = np.unique(codes[known], return_inverse=True)
        if name in labels:
            labels[name] = tuple(labels[name][int(code)] for code in left)
    return values, labels


def where(words: tuple[str, ...], flags: np.ndarray) -> tuple[str, ...]:
    """The words whose flag is set."""
    return tuple(word for word, flag in zip(words, flags) if flag)


def refuse_extreme(table: Table) -> Extremes | Ranges:
    """Refuse columns whose squared values or differences would overflow or underflow; the ends of all.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Extremes or Ranges

    Raises
    ------
    InputError
    """
    ends = table.rows.extremes() if table.rows.in_memory else table.rows.ranges()
    low, high = ends.low, ends.high
    extreme = (np.maximum(np.abs(low), np.abs(high)) > 1e150) | (high / 2 - low / 2 < 1e-150)
    if extreme.any():
        j = int(np.argmax(extreme))
        raise InputError(
            f"column {table.names[j]!r} goes from {low[j]:g} to {high[j]:g}, so its squares overflow or underflow: "
            "rescale it"
        )
    return ends
