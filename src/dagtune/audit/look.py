"""The table as the audit's checks see it: nothing is refused, whatever it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagtune.audit.findings import Finding
from dagtune.audit.statistics import standard_deviations
from dagtune.tables import Table, as_frame, load_frame
from dagtune.tables.files import is_text

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
    data: Any,
    *,
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    progress: Callable[[float], None],
) -> tuple[pd.DataFrame, list[Finding]]:
    """The data as a frame, and what is wrong with the file they come from.

    Of a :class:`~dagtune.tables.Table` only the quantitative columns: what is odd for numbers is normal for codes of
    categories. Masked values count as missing.
    """
    if isinstance(data, (str, os.PathLike)):
        return _load_file(Path(data), sep, columns, drop, progress)
    if isinstance(data, Table):
        return data.only(data.quantitative).to_frame(), []
    frame = as_frame(data)
    if frame is None:
        frame = pd.DataFrame(data if isinstance(data, np.ma.MaskedArray) else np.asarray(data))
        frame.columns = pd.Index([f"x{j}" for j in range(frame.shape[1])])
    return frame, []


def _load_file(
    path: Path, sep: str | None, columns: Sequence[str] | None, drop: Sequence[str], progress: Callable[[float], None]
) -> tuple[pd.DataFrame, list[Finding]]:
    """The table as it is in the file; text that is not UTF-8 is read in the encoding it seems to have, and reported."""
    encoding = _encoding(path)
    frame = load_frame(path, sep=sep, columns=columns, drop=drop, encoding=encoding, progress=progress)
    if encoding == "utf-8":
        return frame, []
    cure = f"save it as UTF-8 (iconv -f {encoding} -t utf-8)"
    return frame, [Finding("encoding", (), f"the file is not UTF-8 text (it was read as {encoding})", cure)]


def _encoding(path: Path) -> str:
    """UTF-8 unless the file's bytes say otherwise; Latin-1 can read anything."""
    if not is_text(path) or not path.is_file():
        return "utf-8"  # load_frame says what is wrong
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        with path.open(encoding="utf-8") as text:
            while text.read(2**20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


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
