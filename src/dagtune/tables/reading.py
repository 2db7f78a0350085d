"""The one way in for data: arrays, frames and files become a :class:`Table` of numbers, names and kinds of columns.

Data that cannot be used are refused with an :class:`~dagtune.validation.InputError` that says what is wrong, where, and
what to do about it. A table is read once: what takes a table takes a :class:`Table` too, and passes it on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dagtune.tables.files import choose_positions, load_frame, pick_names
from dagtune.tables.frames import as_frame, unmasked
from dagtune.tables.kinds import KINDS, Categorical, Continuous
from dagtune.tables.rows import MemoryRows, Rows
from dagtune.text import printable
from dagtune.validation import InputError, check_choice, check_names

__all__ = ["FEW_ROWS", "MISSING", "Table", "check_vector_pair", "few_rows", "read_table"]

#: Fewer rows than this are few, however few the columns.
FEW_ROWS = 50
#: What may be done about missing values.
MISSING = ("error", "drop", "impute")
#: The kind of a column of which nothing else is said, and the kind that ``categorical=`` means.
PLAIN, CATEGORIES = Continuous.name, Categorical.name


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
    dropped : tuple of str
        The constant columns that ``drop_constant=True`` left out.
    lost_rows : int
        The number of rows that ``missing="drop"`` left out.
    filled : int
        The number of values that ``missing="impute"`` filled in.

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
        return _where(self.names, ~self.quantitative)

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
        return self.with_values(_recoded(self.values[rows], self.quantitative))

    def with_values(self, values: np.ndarray) -> Table:
        """The table with other numbers (rows, columns) in the same columns."""
        return replace(self, rows=MemoryRows(np.ascontiguousarray(values)))

    def only(self, keep: np.ndarray) -> Table:
        """The table of the columns ``keep``, boolean (columns,)."""
        return replace(
            self.with_values(self.values[:, keep]), names=_where(self.names, keep), kinds=_where(self.kinds, keep)
        )

    def left_out(self) -> list[str]:
        """What was left out or filled in, as warnings for the user; empty if nothing was."""
        told = []
        if self.dropped:
            told.append(f"constant columns were left out: {', '.join(map(printable, self.dropped))}")
        if self.lost_rows:
            told.append(f"{self.lost_rows} rows with missing values were left out: the rest may not be typical")
        if self.filled:
            told.append(f"{self.filled} missing values were filled with medians, which weakens dependence")
        return told


def read_table(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    min_rows: int = 2,
    min_columns: int = 2,
    drop_constant: bool = False,
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
    categorical: str | Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Table:
    """Read a table: check it, and turn it into numbers with names.

    Refused, with the column named: text, missing and infinite values, constant columns, duplicate or empty names,
    masked values, and too few rows or columns. Booleans count as 0 and 1.

    Parameters
    ----------
    data : array of shape (rows, columns), data frame, path, or Table
        Frames may come from pandas, Polars, pyarrow, Dask, xarray and whatever else narwhals knows. The ending of a
        path must be registered: .csv, .tsv, .txt, .parquet, .feather, or see :func:`dagtune.tables.register_format`.
        A Table comes back as it is, apart from what else is asked.
    names : sequence of str, optional
        Names of the columns. Default: those of the data, or x0, x1, ... for an array.
    min_rows, min_columns : int
        The fewest rows and columns that will do.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    sep : str, optional
        What separates the columns of a text file, if not what its ending says.
    columns, drop : sequence of str, optional
        Which columns to use, and which to leave out; they keep the order of the table, and the others are not checked.
    missing : {"error", "drop", "impute"}
        What to do about missing values: refuse them, leave those rows out, or fill in the median of the column (the
        most frequent category of a categorical one).
    categorical : str or sequence of str
        Columns of any type whose values are categories. They are coded 0, 1, ...
    kinds : mapping of str to str, optional
        The kind of each column that is not continuous; ``categorical="sex"`` is short for
        ``kinds={"sex": "categorical"}``.
    progress : callable, optional
        Called with the share of a text file that was read.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the data cannot be used; the message says why and what to do.

    Examples
    --------
    >>> from dagtune.tables import read_table
    >>> table = read_table([[1, 2], [3, 5]])
    >>> table.names
    ('x0', 'x1')
    >>> table.values.tolist()
    [[1.0, 2.0], [3.0, 5.0]]
    """
    check_choice("treatment of missing values", missing, MISSING)
    if isinstance(data, Table):
        table = data if names is None else replace(data, names=check_names(names, count=data.width))
        table = _selected(table, columns, drop)
        table = _of_kinds(table, _asked_kinds(table.names, categorical, kinds))
        _refuse_too_few(table, min_rows, min_columns)
        return table
    raw: pd.DataFrame | np.ndarray
    if isinstance(data, (str, os.PathLike)):
        raw = load_frame(data, sep=sep, columns=columns, drop=drop, progress=progress)
        _refuse_unnamed(raw)
        columns, drop = None, ()
    else:
        raw = _frame_or_array(data)
    given = raw.columns if isinstance(raw, pd.DataFrame) else [f"x{j}" for j in range(raw.shape[1])]
    found = check_names(given if names is None else names, count=raw.shape[1])
    if columns is not None or drop:
        chosen = choose_positions(found, columns, drop)
        raw = raw.iloc[:, chosen] if isinstance(raw, pd.DataFrame) else raw[:, chosen]
        found = tuple(found[position] for position in chosen)
    asked = _asked_kinds(found, categorical, kinds)
    table = Table(MemoryRows(_numbers(raw, found, asked)), found, tuple(asked.get(name, PLAIN) for name in found))
    _refuse_too_few(table, min_rows, min_columns)
    table = _without_missing(table, missing, min_rows)
    _refuse_missing(table)
    table = _without_constant(table, drop_constant)
    _refuse_too_few(table, min_rows, min_columns)
    return table


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


def check_vector_pair(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Read two samples of the same rows.

    Parameters
    ----------
    x, y : array of shape (rows,) or (rows, columns), data frame, or Table
        Whatever :func:`read_table` takes, or a vector.

    Returns
    -------
    tuple of two ndarray
        The numbers, float64 of shape (rows, columns); a vector becomes one column.

    Raises
    ------
    InputError
        If a sample cannot be read, or their numbers of rows differ.
    """
    pair = []
    for side, given in (("x", x), ("y", y)):
        if not isinstance(given, (Table, str, os.PathLike)):
            given = _frame_or_array(given, vector=True)
        lonely = isinstance(given, np.ndarray) and given.shape[1:] == (1,)
        pair.append(read_table(given, names=[side] if lonely else None, min_columns=1))
    if pair[0].count != pair[1].count:
        raise InputError(f"x has {pair[0].count} rows and y has {pair[1].count}: give the same rows of both")
    return pair[0].values, pair[1].values


def _frame_or_array(data: Any, *, vector: bool = False) -> pd.DataFrame | np.ndarray:
    """Data in memory as a pandas frame, if they have names, or as an array (rows, columns)."""
    frame = as_frame(data)
    if frame is not None:
        return frame
    array = np.asarray(unmasked(data))
    if vector and array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        raise InputError(f"data must be a table with rows and columns (2 dimensions), not {array.ndim}: reshape it")
    return array


def _asked_kinds(
    names: tuple[str, ...], categorical: str | Sequence[str], kinds: Mapping[str, str] | None
) -> dict[str, str]:
    """The kinds asked for, by name of the column."""
    asked = dict.fromkeys(pick_names([categorical] if isinstance(categorical, str) else categorical, names), CATEGORIES)
    for given, kind in (kinds or {}).items():
        asked |= dict.fromkeys(pick_names([given], names), check_choice("kind of column", kind, KINDS))
    return asked


def _numbers(raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], asked: Mapping[str, str]) -> np.ndarray:
    """(rows, columns) float64 of a frame or an array, each column by its kind."""
    if not asked and isinstance(raw, np.ndarray) and raw.dtype.kind not in "OUS":
        if raw.dtype.kind not in "biuf":
            raise InputError(f"data of type {raw.dtype} are not real numbers: convert them to float")
        return np.ascontiguousarray(raw, dtype=np.float64)
    frame = pd.DataFrame(raw)
    if not asked and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in set(frame.dtypes)):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))  # at once: a column at a time takes 0.1 ms each
    values = np.empty(frame.shape, dtype=np.float64, order="F")
    for j, name in enumerate(names):
        values[:, j] = KINDS[asked.get(name, PLAIN)].encode(frame.iloc[:, j], name)
    return np.ascontiguousarray(values)


def _selected(table: Table, columns: Sequence[str] | None, drop: Sequence[str]) -> Table:
    """The columns asked for, of a table that was read before."""
    if columns is None and not drop:
        return table
    keep = np.zeros(table.width, dtype=bool)
    keep[choose_positions(table.names, columns, drop)] = True
    return table.only(keep)


def _of_kinds(table: Table, asked: Mapping[str, str]) -> Table:
    """The kinds asked for, of a table that was read before: continuous columns can still become another kind."""
    new = {name: kind for name, kind in asked.items() if kind != table.kinds[table.names.index(name)]}
    if not new:
        return table
    values, kinds = table.values.copy(), list(table.kinds)
    for name, kind in new.items():
        j = table.names.index(name)
        if kinds[j] != PLAIN:
            raise InputError(f"column {name!r} was read as {kinds[j]}, not as {kind}: read the data again")
        values[:, j], kinds[j] = KINDS[kind].encode(pd.Series(values[:, j]), name), kind
    return replace(table.with_values(values), kinds=tuple(kinds))


def _refuse_unnamed(frame: pd.DataFrame) -> None:
    """Refuse a column of a file whose name is empty."""
    for position, name in enumerate(frame.columns):
        if not str(name).strip():
            raise InputError(
                f"column {position + 1} has no name (row numbers, perhaps?): name it in the file, or pass drop={name!r}"
            )


def _refuse_too_few(table: Table, min_rows: int, min_columns: int) -> None:
    """Refuse a table with too few columns or rows."""
    for count, least, what in ((table.width, min_columns, "column"), (table.count, min_rows, "row")):
        if count < least:
            raise InputError(
                f"the data have {count} {what}{'' if count == 1 else 's'}, but at least {least} are needed: "
                f"add {what}s, or check that the table is not transposed"
            )


def _refuse_missing(table: Table) -> None:
    """Refuse missing and infinite values."""
    values = table.values
    with np.errstate(over="ignore"):
        if np.isfinite(values.sum()):  # one pass, no temporary: the usual case
            return
    for what, bad, cure in (
        ("missing (NaN)", np.isnan(values), "drop those rows, or fill the values in (missing='drop' or 'impute')"),
        ("infinite", np.isinf(values), "clip or drop those values"),
    ):
        columns = bad.any(axis=0)
        if columns.any():  # a sum can overflow without any value being infinite
            j = int(np.argmax(columns))
            raise InputError(
                f"column {table.names[j]!r} has {bad[:, j].sum()} {what} of {len(values)} values, the first in row "
                f"{int(np.argmax(bad[:, j]))}{_and_more(columns)}: {cure}"
            )


def _without_missing(table: Table, missing: str, min_rows: int) -> Table:
    """The table with missing values treated as asked for."""
    values = table.values
    if missing == "error" or not np.isnan(values).any():
        return table
    gone = np.isnan(values)
    if gone.all(axis=0).any():
        raise InputError(f"column {table.names[int(np.argmax(gone.all(axis=0)))]!r} has no values at all: drop it")
    if missing == "drop":
        kept = ~gone.any(axis=1)
        if kept.sum() < min_rows:
            raise InputError(
                f"{kept.sum()} of {len(values)} rows have no missing value: use missing='impute', or drop the columns "
                f"with most of them ({table.names[int(gone.sum(axis=0).argmax())]!r} first)"
            )
        return replace(table.take(np.flatnonzero(kept)), lost_rows=int((~kept).sum()))
    typical = [KINDS[kind].typical(values[~gone[:, j], j]) for j, kind in enumerate(table.kinds)]
    return replace(table.with_values(np.where(gone, typical, values)), filled=int(gone.sum()))


def _without_constant(table: Table, drop_constant: bool) -> Table:
    """The table without its constant columns; they are refused unless the user wants them dropped."""
    values = table.values
    constant = values.max(axis=0) == values.min(axis=0)
    if not constant.any():
        return table
    if not drop_constant:
        first = int(np.argmax(constant))
        raise InputError(
            f"column {table.names[first]!r} is constant ({values[0, first]:g} in all {len(values)} rows)"
            f"{_and_more(constant)}: drop it, or pass drop_constant=True"
        )
    return replace(table.only(~constant), dropped=_where(table.names, constant))


def _recoded(values: np.ndarray, quantitative: np.ndarray) -> np.ndarray:
    """The values with codes of categories numbered anew from 0, where some are not there any more."""
    for j in np.flatnonzero(~quantitative):
        codes = values[:, j]
        known = ~np.isnan(codes)
        codes[known] = np.unique(codes[known], return_inverse=True)[1]
    return values


def _and_more(columns: np.ndarray) -> str:
    others = int(columns.sum()) - 1
    return f" (and so {'is' if others == 1 else 'are'} {others} more)" if others else ""


def _where(words: tuple[str, ...], flags: np.ndarray) -> tuple[str, ...]:
    return tuple(word for word, flag in zip(words, flags) if flag)
