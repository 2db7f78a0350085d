"""Columns of no kind, and the option that helps: dates, durations, lists, texts that name rows."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd

from dagtune.tables.dates import has_gaps, mostly_dates
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["ask_for", "holds_dates", "leave_out", "mostly", "refuse_dates", "refuse_lists", "refuse_names"]

#: A text with more different values than this share of the rows names the rows.
NAMES_ROWS = 0.5
#: Fewer rows can't tell.
_FEW = 20


def ask_for(name: str, kind: str | tuple[str, ...]) -> str:
    """How to ask for a kind; the command line says it in its own words."""
    return f"kinds={ {name: kind if isinstance(kind, str) else list(kind)} }"


def leave_out(name: str) -> str:
    """How to leave a column out; the command line says it in its own words."""
    return f"drop=[{name!r}]"


def holds_dates(column: pd.Series) -> bool:
    """Whether a column's type, or each of its first thousand values, is a date."""
    if column.dtype == object:
        known = column.dropna().iloc[:1000]
        return bool(len(known)) and all(isinstance(value, datetime.date) for value in known)
    return bool(pd.api.types.is_datetime64_any_dtype(column.dtype)) or isinstance(column.dtype, pd.PeriodDtype)


def mostly(column: pd.Series, pattern: str) -> bool:
    """Whether more than half of a column's texts look so; the first thousand are looked at."""
    texts = [value for value in column.dropna().iloc[:1000] if isinstance(value, str)]
    return sum(re.fullmatch(pattern, text) is not None for text in texts) > len(texts) / 2


def refuse_dates(column: pd.Series, name: str) -> None:
    """Refuse dates and durations, for which one must ask.

    Examples
    --------
    >>> refuse_dates(pd.Series(["a", "b"]), "size")
    """
    for found, what, into in (
        (holds_dates(column) or mostly_dates(column), "dates", "days since 1970-01-01"),
        (pd.api.types.is_timedelta64_dtype(column.dtype), "durations", "days"),
    ):
        if found:
            how = ask_for(name, "date") + (", missing='drop' or 'model'" if has_gaps(column) else "")
            raise InputError(
                f"column {name!r} holds {what}: turn them into {into} ({how}), or leave it out ({leave_out(name)})"
            )


def refuse_lists(column: pd.Series, name: str) -> None:
    """Refuse a column whose cells hold several values.

    Examples
    --------
    >>> refuse_lists(pd.Series(["a", "b"]), "size")
    """
    if column.dtype == object and any(isinstance(cell, (list, tuple, dict, set, bytes, np.ndarray)) for cell in column):
        raise InputError(
            f"column {name!r} holds lists, records or bytes, not single values: make columns of their parts, or leave "
            f"it out ({leave_out(name)})"
        )


def refuse_names(column: pd.Series, name: str) -> None:
    """Refuse texts of which nearly every one differs: they name the rows, or are numbers that nobody can read.

    Examples
    --------
    >>> refuse_names(pd.Series(["a", "b"] * 20), "size")
    """
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return
    different = column.nunique()
    if len(column) >= _FEW and different > NAMES_ROWS * column.notna().sum():
        first = printable(str(column.dropna().iloc[0])[:40])
        raise InputError(
            f"column {name!r} is text with {different} different values in {len(column)} rows, such as {first!r}, "
            f"neither numbers nor categories: correct its cells, or leave it out ({leave_out(name)})"
        )
