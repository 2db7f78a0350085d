"""The table as the audit's checks see it: nothing is refused, whatever it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dagtune.audit.findings import Finding
from dagtune.audit.statistics import standard_deviations
from dagtune.tables import ReadOptions, Table, as_frame, load_frame
from dagtune.tables.files import choose_positions
from dagtune.tables.unfit import refuse_lists
from dagtune.validation import InputError

__all__ = ["Look", "load"]

#: What pandas calls objects that are all real numbers; learners take them too.
_REAL = ("boolean", "floating", "integer", "mixed-integer-float")


class Look:
    """The table as the checks see it.

    Attributes
    ----------
    frame : DataFrame
        The table as it is.
    names : list of str
        The names of the columns.
    values : ndarray of shape (rows, columns)
        The numbers; NaN for text.
    usable : ndarray of bool, shape (columns,)
        Which columns are numbers.
    lacks : ndarray of bool, shape (rows, columns)
        Which values are missing or infinite.
    numeric : ndarray of int
        Positions of the columns of numbers that vary.
    complete : ndarray of shape (complete rows, len(numeric))
        Those columns in the rows where none of them lacks a value.
    varying : ndarray of int
        Positions within ``complete`` of the columns that still vary there.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.names = frame, [str(name) for name in frame.columns]
        self.values, self.usable = values, usable = _numbers(frame)
        finite = np.isfinite(values)
        self.lacks = ~finite
        varies = np.array([len(np.unique(values[finite[:, j], j])) > 1 for j in range(len(self.names))], dtype=bool)
        self.numeric = np.flatnonzero(usable & varies)
        complete = finite[:, self.numeric].all(axis=1) if len(self.numeric) else np.zeros(len(values), dtype=bool)
        self.complete = values[np.ix_(complete, self.numeric)]
        self.varying = np.flatnonzero(standard_deviations(self.complete) > 0)

    def column(self, j: int) -> np.ndarray:
        """The finite values of column ``j``, in row order."""
        return self.values[~self.lacks[:, j], j]

    def named(self, *positions: int) -> tuple[str, ...]:
        """The names of some columns."""
        return tuple(self.names[j] for j in positions)

    def shown(self, j: int) -> str:
        """The name of column ``j`` in quotes, for messages."""
        return repr(self.names[j])


def load(
    data: Any, *, progress: Callable[[float], None], reading: Mapping[str, Any]
) -> tuple[pd.DataFrame, list[Finding], list[str]]:
    """The data as a frame, what is wrong with the file they come from, and what was found out about it.

    Of a :class:`~dagtune.tables.Table` only the quantitative columns: what is odd for numbers is normal for codes of
    categories. Masked values count as missing.
    """
    if isinstance(data, (str, os.PathLike)):
        return _load_file(data, progress, **reading)
    if isinstance(data, Table):
        return data.only(data.quantitative).to_frame(), [], []
    frame = as_frame(data)
    if frame is None:
        frame = pd.DataFrame(data if isinstance(data, np.ma.MaskedArray) else np.asarray(data))
        frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])])
    chosen = choose_positions([str(name) for name in frame.columns], reading.get("columns"), reading.get("drop", ()))
    return frame.iloc[:, chosen], [], []


def _load_file(
    path: Any, progress: Callable[[float], None], columns: Any = None, drop: Any = (), **reading: Any
) -> tuple[pd.DataFrame, list[Finding], list[str]]:
    """The table as learners read it; what was left out of the file is a finding."""
    loaded = load_frame(path, options=ReadOptions.of(**reading), columns=columns, drop=drop, progress=progress)
    cures = {
        "encoding": "save it as UTF-8, or say encoding=, if names look wrong",
        "no-header": "put a row of names above the numbers",
        "duplicate-name": "rename the columns so that they differ",
        "stray-row": "nothing, if that is right; otherwise correct the file",
        "empty-column": "nothing, if that is right; otherwise correct the file",
        "row-number": "nothing, if that is right; columns= names columns to keep",
    }
    found = [
        Finding(note.code, note.columns, note.text, cures[note.code]) for note in loaded.notes if note.code in cures
    ]
    for problem in loaded.problems:
        where = loaded.where(problem.row - loaded.first_row)
        found.append(Finding("non-numeric", (problem.column,), problem.text.format(where=where), problem.cure))
    frame = loaded.frame
    for name in loaded.frame.columns:
        try:
            refuse_lists(frame[name], name)
        except InputError as error:
            text, _, cure = str(error).partition(": ")
            found.append(Finding("non-numeric", (name,), text.removeprefix("column "), cure))
            frame = frame.drop(columns=name)
    return frame, found, loaded.said()[:1] if any(note.code == "read-as" for note in loaded.notes) else []


def _numbers(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """(rows, columns) float64 with NaN for text columns, and which columns are numbers."""
    values = np.full(frame.shape, np.nan, order="F")
    usable = np.zeros(frame.shape[1], dtype=bool)
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in _REAL:
            column = pd.to_numeric(column)
        if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
            values[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            usable[j] = True
        elif column.isna().all():
            usable[j] = True  # nothing in it says text
    return values, usable
