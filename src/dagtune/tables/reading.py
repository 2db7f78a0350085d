"""The one door for data: an array, a frame or the path of a table in, numbers and names out.

What cannot be used is refused with an :class:`~dagtune.validation.InputError` that says what is wrong, where, and what
to do about it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dagtune.tables.files import load_frame, pick_names, refuse_unnamed
from dagtune.validation import InputError, check_choice, check_names

__all__ = ["MAX_LEVELS", "MISSING", "Table", "check_vector_pair", "read_table"]

#: The most levels of a categorical column.
MAX_LEVELS = 20
#: What may be done about missing values.
MISSING = ("error", "drop", "impute")


@dataclass(frozen=True)
class Table:
    """Numbers and names: ``values`` is float64 of shape (rows, columns), ``names`` one text for each column.

    ``dropped`` names the constant columns that ``drop_constant=True`` left out; ``lost_rows`` counts the rows that
    ``missing="drop"`` left out, ``filled`` the values that ``missing="impute"`` filled in. ``categorical`` names the
    columns whose values are numbers of levels.
    """

    values: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    lost_rows: int = 0
    filled: int = 0
    categorical: tuple[str, ...] = ()


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
    categorical: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Table:
    """Numbers and names of ``data``: an array (rows, columns), a DataFrame, or the path of a table.

    Paths end in .csv, .tsv, .txt, .parquet or .feather; ``sep`` overrides the separator of the text ones. Columns of an
    array are called x0, x1, ... unless ``names`` says otherwise. Booleans count as 0 and 1. Refused, with the column
    named: text, missing and infinite values, constant columns (unless ``drop_constant``), columns named twice or not at
    all, too few rows or columns.

    ``columns`` and ``drop`` choose columns of a file, in the file's order; the others are never judged.
    ``missing="drop"`` leaves out rows with a missing value, "impute" puts the column's median there (the most frequent
    level of a categorical one). ``progress`` hears the share of a text file that was read. ``categorical`` names
    columns of any type whose values are levels; they are numbered from 0.
    """
    check_choice("treatment of missing values", missing, MISSING)
    if isinstance(data, (str, os.PathLike)):
        data = load_frame(data, sep=sep, columns=columns, drop=drop, progress=progress)
        refuse_unnamed(data)
    if isinstance(data, pd.Series):
        data = data.to_frame()
    categorical = [categorical] if isinstance(categorical, str) else categorical
    if categorical and not isinstance(data, pd.DataFrame):
        array = np.asarray(data)
        data = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])]) if array.ndim == 2 else data
    if isinstance(data, pd.DataFrame):
        found = check_names(data.columns if names is None else names, count=data.shape[1])
        categorical = pick_names(categorical, found)
        values = _numbers_of_frame(data, found, frozenset(categorical))
    else:
        values = _numbers_of_array(data)
        found = check_names(
            [f"x{j}" for j in range(values.shape[1])] if names is None else names, count=values.shape[1]
        )
    _refuse_too_few(values, min_rows, min_columns)
    levels = np.array([name in categorical for name in found])
    values, lost_rows, filled = _without_missing(values, found, missing, min_rows, levels)
    _refuse_missing(values, found)
    constant = values.max(axis=0) == values.min(axis=0)
    if not constant.any():
        return Table(values, found, lost_rows=lost_rows, filled=filled, categorical=_split(found, ~levels)[0])
    if not drop_constant:
        first = int(np.argmax(constant))
        raise InputError(
            f"column {found[first]!r} is constant ({values[0, first]:g} in all {len(values)} rows)"
            f"{_and_more(constant)}: drop it, or pass drop_constant=True"
        )
    kept, dropped = _split(found, constant)
    values = np.ascontiguousarray(values[:, ~constant])
    _refuse_too_few(values, min_rows, min_columns)
    return Table(values, kept, dropped, lost_rows, filled, _split(found, ~levels | constant)[0])


def check_vector_pair(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of the same rows as float64 matrices (rows, columns); a vector becomes one column."""
    pair = []
    for side, given in (("x", x), ("y", y)):
        column = given.to_frame() if isinstance(given, pd.Series) else given
        if not isinstance(column, pd.DataFrame):
            column = np.asarray(column)
            if column.ndim == 1:
                column = column[:, None]
            label = [side] if column.ndim == 2 and column.shape[1] == 1 else None
        else:
            label = None
        pair.append(read_table(column, names=label, min_columns=1))
    if len(pair[0].values) != len(pair[1].values):
        raise InputError(
            f"x has {len(pair[0].values)} rows and y has {len(pair[1].values)}: give the same rows of both"
        )
    return pair[0].values, pair[1].values


def _numbers_of_frame(
    frame: pd.DataFrame, names: tuple[str, ...], categorical: frozenset[str] = frozenset()
) -> np.ndarray:
    """(rows, columns) float64 of a DataFrame; a column that is neither numeric nor categorical is named."""
    if not categorical and (frame.dtypes == np.float64).all():
        return np.ascontiguousarray(frame.to_numpy())
    columns = np.empty(frame.shape, dtype=np.float64, order="F")
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        if name in categorical:
            columns[:, j] = _level_numbers(column, name)
        elif not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
            converted = _object_numbers(column)
            if converted is None:
                first = _first_text(column)
                comma = isinstance(first, str) and re.fullmatch(r"\s*[-+]?\d+,\d+\s*", first)
                cure = "encode it as numbers, drop it, or name it as categorical (conditional learner: a cause only)"
                cure = "write 1.5 for 1,5" if comma else cure
                raise InputError(f"column {name!r} is not numeric (type {column.dtype}, first value {first!r}): {cure}")
            columns[:, j] = converted
        else:
            columns[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(columns)


def _level_numbers(column: pd.Series, name: str) -> np.ndarray:
    """The number of each value among the different ones, in their order; NaN where it is missing."""
    if column.dtype == object:
        column = column.map(str, na_action="ignore")
    numbers, levels = pd.factorize(column, sort=True)
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"column {name!r} has {len(levels)} different values, too many for a categorical one (at most "
            f"{MAX_LEVELS}): merge the rare ones, use it as numbers, or drop it"
        )
    return np.where(numbers < 0, np.nan, numbers)


def _object_numbers(column: pd.Series) -> np.ndarray | None:
    """Numbers of an object column that holds only real numbers (not texts of numbers), else None."""
    if column.dtype != object or not all(
        value is None or (isinstance(value, (bool, int, float, np.number)) and not isinstance(value, complex))
        for value in column
    ):
        return None
    return pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)


def _first_text(column: pd.Series) -> Any:
    """The first value that is no number: what the user should look for."""
    for value in column:
        if value is not None and not isinstance(value, (bool, int, float, np.number)):
            return value
    return column.iloc[0] if len(column) else None


def _numbers_of_array(data: Any) -> np.ndarray:
    array = np.asarray(data)
    if array.ndim != 2:
        raise InputError(f"data must be a table with rows and columns (2 dimensions), not {array.ndim}: reshape it")
    if array.dtype.kind in "OUS":
        return _numbers_of_frame(pd.DataFrame(array), tuple(f"x{j}" for j in range(array.shape[1])))
    if array.dtype.kind not in "biuf":
        raise InputError(f"data of type {array.dtype} are not real numbers: convert them to float")
    return np.ascontiguousarray(array, dtype=np.float64)


def _refuse_too_few(values: np.ndarray, min_rows: int, min_columns: int) -> None:
    for count, least, what in ((values.shape[1], min_columns, "column"), (len(values), min_rows, "row")):
        if count < least:
            raise InputError(
                f"the data have {count} {what}{'' if count == 1 else 's'}, but at least {least} are needed: "
                f"add {what}s, or check that the table is not transposed"
            )


def _refuse_missing(values: np.ndarray, names: tuple[str, ...]) -> None:
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
                f"column {names[j]!r} has {bad[:, j].sum()} {what} of {len(values)} values, the first in row "
                f"{int(np.argmax(bad[:, j]))}{_and_more(columns)}: {cure}"
            )


def _without_missing(
    values: np.ndarray, names: tuple[str, ...], missing: str, min_rows: int, levels: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """The values with missing ones treated as asked for, the number of rows left out and of values filled in."""
    if missing == "error" or not np.isnan(values).any():
        return values, 0, 0
    gone = np.isnan(values)
    if gone.all(axis=0).any():
        raise InputError(f"column {names[int(np.argmax(gone.all(axis=0)))]!r} has no values at all: drop it")
    if missing == "drop":
        kept = ~gone.any(axis=1)
        if kept.sum() < min_rows:
            raise InputError(
                f"{kept.sum()} of {len(values)} rows have no missing value: use missing='impute', or drop the columns "
                f"with most of them ({names[int(gone.sum(axis=0).argmax())]!r} first)"
            )
        return np.ascontiguousarray(values[kept]), int((~kept).sum()), 0
    usual = np.nanmedian(values, axis=0)
    for j in np.flatnonzero(levels):
        usual[j] = np.argmax(np.bincount(values[~gone[:, j], j].astype(np.intp)))
    return np.where(gone, usual, values), 0, int(gone.sum())


def _and_more(columns: np.ndarray) -> str:
    others = int(columns.sum()) - 1
    return f" (and so {'is' if others == 1 else 'are'} {others} more)" if others else ""


def _split(names: tuple[str, ...], flags: np.ndarray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = tuple(name for name, flag in zip(names, flags) if not flag)
    return kept, tuple(name for name, flag in zip(names, flags) if flag)
