"""Where rows come from: a column, or an array beside the table, that names each row's group or condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["Labels", "labels_of", "merged", "origin", "pulled"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Where each row comes from.

    Parameters
    ----------
    column : str
        The column that says so; empty if an array did.
    codes : ndarray of int, shape (rows,)
    names : tuple of str
        What the codes 0, 1, ... stand for.
    """

    column: str
    codes: np.ndarray
    names: tuple[str, ...]

    def words(self) -> np.ndarray:
        """(rows,) the name of each row."""
        return np.array(self.names, dtype=object)[self.codes]

    def take(self, rows: np.ndarray) -> Labels:
        """Those of some rows, which may have fewer names."""
        left, codes = np.unique(self.codes[rows], return_inverse=True)
        return Labels(self.column, codes, tuple(self.names[int(code)] for code in left))


def labels_of(given: Any, count: int, what: str, column: str = "") -> Labels:
    """One label for each of ``count`` rows; ``what`` is the option that gives them."""
    series = pd.Series(np.asarray(given).ravel() if not isinstance(given, pd.Series) else given.to_numpy())
    where = f"column {printable(column)!r}" if column else f"{what}="
    if len(series) != count:
        raise InputError(f"{where} has {len(series)} labels, but the data have {count} rows: give one for each row")
    if series.isna().any():
        row = int(np.argmax(series.isna().to_numpy()))
        raise InputError(f"{where} says nothing about row {row}: give every row a label, such as 'unknown'")
    codes, names = pd.factorize(series.map(lambda x: f"{x:g}" if isinstance(x, float) else str(x)))
    return Labels(column, codes.astype(np.int64), tuple(map(str, names)))


def merged(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], merge: Mapping[str, Sequence[str]] | None
) -> tuple[pd.DataFrame | np.ndarray, tuple[str, ...]]:
    """A table with one column of text in place of each group of indicators.

    Parameters
    ----------
    raw : DataFrame or ndarray
    names : tuple of str
        Of its columns.
    merge : mapping of str to sequence of str, or None
        The indicators of each new column.
    """
    for new, given in (merge or {}).items():
        frame = raw if isinstance(raw, pd.DataFrame) else pd.DataFrame(raw)
        strange = [name for name in given if name not in names]
        if strange or len(given) < 2 or (new in names and new not in given):
            what = f"{strange[0]!r} is not a column" if strange else "it takes a new name and two or more columns"
            raise InputError(f"merge={{{new!r}: ...}}: {what}, such as merge={{'site': ['north', 'south']}}")
        at = [names.index(name) for name in given]
        flags = frame.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isin(flags, (0.0, 1.0)).all() or (flags.sum(axis=1) > 1).any():
            raise InputError(
                f"merge={{{new!r}: ...}}: a row has a value other than 0 and 1, or two of the columns: leave merge out"
            )
        words = np.array([*given, "none"], dtype=object)
        column = pd.Series(words[np.where(flags.any(axis=1), flags.argmax(axis=1), len(given))], dtype=object)
        rest = [k for k in range(len(names)) if k not in at]
        first = sum(k < at[0] for k in rest)
        left = frame.iloc[:, rest].reset_index(drop=True).set_axis(range(len(rest)), axis=1)
        left.insert(first, len(rest), column)
        kept = [names[k] for k in rest]
        names = (*kept[:first], new, *kept[first:])
        raw = left.set_axis(list(names), axis=1)
    return raw, names


def pulled(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], given: Any, what: str
) -> tuple[pd.DataFrame | np.ndarray, tuple[str, ...], Labels | None]:
    """A table without the column that names each row's origin, and what that says.

    Parameters
    ----------
    raw : DataFrame or ndarray
        The table.
    names : tuple of str
        Of its columns.
    given : None, str, or one label for each row
        The name of a column, or the labels themselves.
    what : str
        The option that gives it, for messages.
    """
    raw, names, column = origin(raw, names, given, what)
    if given is None:
        return raw, names, None
    return raw, names, labels_of(given if column is None else column, len(raw), what, "" if column is None else given)


def origin(
    raw: pd.DataFrame | np.ndarray, names: tuple[str, ...], given: Any, what: str
) -> tuple[pd.DataFrame | np.ndarray, tuple[str, ...], Any]:
    """A table without a column that says something about its rows, and that column; None if ``given`` is no name."""
    if not isinstance(given, str):
        return raw, names, None
    if given not in names:
        some = ", ".join(map(printable, names[:8])) + (", ..." if len(names) > 8 else "")
        raise InputError(f"{what}={given!r} is not a column: the columns are {some}")
    j = names.index(given)
    column: Any = raw.iloc[:, j] if isinstance(raw, pd.DataFrame) else raw[:, j]
    rest = [k for k in range(len(names)) if k != j]
    left: pd.DataFrame | np.ndarray = raw.iloc[:, rest] if isinstance(raw, pd.DataFrame) else raw[:, rest]
    return left, tuple(names[k] for k in rest), column
