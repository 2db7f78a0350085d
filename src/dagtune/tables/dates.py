"""Dates as people write them: 2024-03-31, 31.3.2024, 3/31/2024, 31-Mar-2024, with or without a time of day.

The order of day and month is found out from the whole column: 31/3 can be read in one way only. Where both ways fit
every row, nobody can tell, and the column is refused.
"""

from __future__ import annotations

import re

import pandas as pd

from dagtune.tables.cells import is_mark
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["as_times", "has_gaps", "is_date", "mostly_dates", "odd_text"]

#: The parts of a date and the formats that may be meant, by the form of the text.
_FORMS = {
    r"\d{4}-\d\d?-\d\d?": ("%Y-%m-%d",),
    r"\d{4}/\d\d?/\d\d?": ("%Y/%m/%d",),
    r"\d{4}\.\d\d?\.\d\d?": ("%Y.%m.%d",),
    r"\d\d?\.\d\d?\.\d{4}": ("%d.%m.%Y",),
    r"\d\d?\.\d\d?\.\d\d": ("%d.%m.%y",),
    r"\d\d?/\d\d?/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d\d?-\d\d?-\d{4}": ("%d-%m-%Y", "%m-%d-%Y"),
    r"\d\d? [A-Za-z]{3} \d{4}": ("%d %b %Y",),
    r"\d\d?-[A-Za-z]{3}-\d{4}": ("%d-%b-%Y",),
    r"\d\d?-[A-Za-z]{3}-\d\d": ("%d-%b-%y",),
    r"\d\d?[A-Za-z]{3}\d{4}": ("%d%b%Y",),
    r"[A-Za-z]{3} \d\d?, \d{4}": ("%b %d, %Y",),
}
_TIME = r"(?P<time>\d\d?:\d\d(?::\d\d(?:\.\d+)?)?)(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
_WHOLE = re.compile(
    rf"\s*(?P<date>{'|'.join(_FORMS)})(?:[T,:]? ?{_TIME})?\s*(?P<zone>(?:Z|UTC|GMT)?(?:[-+]\d\d?:?\d*)?)\s*"
)


def mostly_dates(column: pd.Series) -> bool:
    """Whether more than half of a column's texts are dates; the first thousand are looked at.

    Examples
    --------
    >>> mostly_dates(pd.Series(["31.3.2024", "1.4.2024 12:30", None])), mostly_dates(pd.Series(["1.25", "2.5"]))
    (True, False)
    """
    texts = [value for value in column.dropna().iloc[:1000] if isinstance(value, str)]
    return sum(map(is_date, texts)) > len(texts) / 2


def has_gaps(column: pd.Series) -> bool:
    """Whether a column of dates has missing values, or cells that mean it."""
    return bool(column.isna().any() or _marked(column).any())


def _marked(column: pd.Series) -> pd.Series:
    return column.map(lambda cell: isinstance(cell, str) and is_mark(cell)).fillna(False).astype(bool)


def is_date(value: object) -> bool:
    """Whether a cell is the text of a date.

    Parameters
    ----------
    value : object

    Returns
    -------
    bool

    Examples
    --------
    >>> is_date("31.3.2024"), is_date("south")
    (True, False)
    """
    return isinstance(value, str) and _WHOLE.fullmatch(value) is not None


def odd_text(column: pd.Series) -> str:
    """The first text of a column that is no date; the first text if all are."""
    texts = [str(value) for value in column[~_marked(column)].dropna()]
    return next((text for text in texts if not is_date(text)), texts[0] if texts else "")


def as_times(column: pd.Series, name: str) -> pd.Series | None:
    """The times that a column of texts holds; None if a text is no date in the way the others are.

    Parameters
    ----------
    column : Series
    name : str
        The column's name, for messages.

    Raises
    ------
    InputError
        If it is not clear which number is the day and which the month.

    Examples
    --------
    >>> as_times(pd.Series(["31.3.2024", "1.4.2024"]), "visit").dt.month.tolist()
    [3, 4]
    >>> as_times(pd.Series(["4/30/2024 1:15 PM", "5/1/2024 12:15 AM"]), "visit").dt.hour.tolist()
    [13, 0]
    """
    codes, texts = pd.factorize(column.mask(_marked(column)))
    found = [_WHOLE.fullmatch(text) if isinstance(text, str) else None for text in texts]
    parts = [match.groupdict() for match in found if match is not None]
    if not parts or len(parts) < len(texts) or len({part["zone"] for part in parts}) > 1:
        return None
    dates = pd.Series([part["date"] for part in parts])
    forms = [form for form in _FORMS if dates.str.fullmatch(form).all()]
    read = {how: pd.to_datetime(dates, format=how, errors="coerce") for form in forms for how in _FORMS[form]}
    read = {how: times for how, times in read.items() if times.notna().all()}
    if not read:
        return None
    if len(read) > 1:
        raise InputError(
            f"column {name!r} holds dates such as {printable(parts[0]['date'])!r}, in which day and month can't be "
            f"told apart: write 2024-03-31 for 31 March 2024, or leave it out (drop=[{name!r}])"
        )
    (times,) = read.values()
    days = times + pd.Series([_time_of_day(part["time"], part["half"]) for part in parts])
    return pd.Series(days.reindex(codes).to_numpy(), index=column.index)


def _time_of_day(text: str | None, half: str | None) -> pd.Timedelta:
    if text is None:
        return pd.Timedelta(0)
    hours, *rest = (float(part) for part in text.split(":"))
    if half:
        hours = hours % 12 + 12 * (half[0] in "Pp")
    return pd.Timedelta(hours=hours, minutes=rest[0], seconds=rest[1] if len(rest) > 1 else 0)
