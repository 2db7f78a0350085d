"""Cells of text that are numbers to a person: 1,234.50, 1.234,50, 12 %, EUR 5, (300), 300-, 4.1*; and marks for
"missing"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["Cleaned", "cleaned", "find_decimal", "is_mark", "looks_numeric"]

#: Cells that mean "missing" in a column of numbers, in lower case; pandas knows "", "NA", "nan", "null" and more.
MARKS = frozenset(
    [
        "?",
        "-",
        "--",
        "---",
        "*",
        "**",
        ".",
        "..",
        "...",
        "…",
        "–",
        "—",
        ":",
        "#",
        "n.a.",
        "n.a",
        "n/a",
        "na",
        "n.d.",
        "nd",
        "none",
        "nil",
        "null",
        "nan",
        "missing",
        "unknown",
        "unbekannt",
        "#div/0!",
        "#value!",
        "#ref!",
        "#num!",
        "#name?",
        "#null!",
        "#n/a",
        "<na>",
        "not\xa0available",
        "k.a.",
        "k.a",
        "s.d.",
        "sin\xa0dato",
        "\\n",  # MySQL
        "(null)",
    ]
) | {"not available", "not applicable", "no data", "sin dato", ""}
#: Those of them that no text column would use as a category.
_PLAIN_MARKS = frozenset({"?", "??", "...", "…", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "#n/a"})
_CURRENCY = (
    r"(?:[$€£¥₹₽₩₺₪฿]|US\$|(?:USD|EUR|GBP|JPY|CHF|INR|CNY|RUB|BRL|AUD|CAD|SEK|NOK|DKK|PLN|Fr\.?|kr\.?|R\$)(?![a-z]))"
)
_BLANK = "\u00a0\u202f\u2009 "
#: Digits with a sign of one kind every three digits.
_THREES = rf"\d{{1,3}}(?:[{_BLANK}]\d{{3}})+|\d{{1,3}}(?:['’]\d{{3}})+"
_GROUPS = {
    ".": rf"\d{{1,3}}(?:,\d{{3}})+|{_THREES}|\d{{1,2}}(?:,\d{{2}})+,\d{{3}}",
    ",": rf"\d{{1,3}}(?:\.\d{{3}})+|{_THREES}",
}


def _pattern(decimal: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    number = rf"(?:(?P<groups>{_GROUPS[decimal]})|\d+)?(?:{point}\d*)?(?:[eE][-+]?\d+|[dD][-+]\d+)?"
    return re.compile(
        rf"(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<cur1>{_CURRENCY})?\s*(?P<sign2>[-+−]?)\s*(?P<number>{number})\s*"
        rf"(?P<after>[-−–])?\s*(?P<cur2>{_CURRENCY})?\s*(?P<percent>%)?\s*(?P<note>[*†‡§]{{1,3}})?"
        rf"(?P<unit>[^\d\s.,()%*†‡§−–-][^\d()%*†‡§]{{0,11}})?(?P<close>\))?"
    )


_PATTERN = {decimal: _pattern(decimal) for decimal in ".,"}
_EITHER = re.compile(
    r"[-+−]?\s*(?:[$€£¥]\s*)?(?:\d[\d.,'’\u00a0\u202f]*|[.,]\d+)(?:[eE][-+]?\d+|[dD][-+]\d+)?\s*[%€$£]?"
)
#: A currency before the brackets of a negative number.
_OUTSIDE = re.compile(rf"^({_CURRENCY})\s*\(([^()]*)\)$")
#: How spreadsheets keep a number as text: ="12" and '12.
_AS_TEXT = re.compile(r"=\"(?P<formula>[^\"]*)\"|'(?P<mark>[-+.,\d][^']*)")


def looks_numeric(cell: str) -> bool:
    """Whether a cell is a number in some notation; a quick look, for finding out how a file is written."""
    return _EITHER.fullmatch(_bare(cell)) is not None


def is_mark(cell: str) -> bool:
    """Whether a cell means "missing" where numbers are expected."""
    return cell.strip().lower() in MARKS


def find_decimal(cells: Iterable[str], sep: str) -> str:
    """The decimal sign of a file.

    1,5 or 0,125 or 1.234,5 can only have a decimal comma; 1,234,567 or 1,234.5 can't. 1,234 alone can be both: it is
    taken for a decimal where columns are separated by semicolons or tabs, as programs do that use decimal commas.
    """
    comma = point = open_comma = groups = 0
    for cell in cells:
        digits = re.sub(r"[^\d.,]", "", cell)
        if re.fullmatch(r"\d*,(\d{1,2}|\d{4,})|0,\d+|\d{4,},\d+|\d{1,3}(\.\d{3})+,\d+", digits):
            comma += 1
        elif re.fullmatch(r"\d*\.(\d{1,2}|\d{4,})|0\.\d+|\d{4,}\.\d+|\d{1,3}(,\d{3})+\.\d+", digits):
            point += 1
        elif re.fullmatch(r"\d{1,3},\d{3}", digits):
            open_comma += 1
        elif re.fullmatch(r"\d{1,3}(,\d{3}){2,}", digits):
            groups += 1
    if comma > point:
        return ","
    return "," if open_comma and not point and not groups and sep in ";\t" else "."


@dataclass(frozen=True)
class Cleaned:
    """A column of text, read as numbers as far as it goes.

    Attributes
    ----------
    values : ndarray of float, or None
        The numbers, NaN where missing or bad; None if the column holds text.
    bad : ndarray of int
        Rows whose cell is no number, in a column of numbers.
    marks : tuple of str
        Cells that were taken for "missing".
    signs : tuple of str
        What was left out of cells: "%", a currency, a unit, "thousands separators".
    """

    values: np.ndarray | None
    bad: np.ndarray
    marks: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


_TEXT = Cleaned(None, np.zeros(0, dtype=np.intp))


def cleaned(column: pd.Series, decimal: str, na: Sequence[str] = ()) -> Cleaned:
    """Read a column of text as numbers, if most of its cells are numbers to a person."""
    codes, different = pd.factorize(column)
    texts = [str(cell) for cell in different]
    if len(texts) > 2000:  # a quick look decides about long columns of real text
        step = len(texts) // 1000
        if sum(looks_numeric(text) or is_mark(text) for text in texts[::step]) < 0.2 * len(texts[::step]):
            return _TEXT
    best = _parsed(texts, decimal, na)
    if best.count < len(texts):
        other = _parsed(texts, "," if decimal == "." else ".", na)
        best = other if other.count > best.count else best
    known = best.values[codes] if len(texts) else np.full(len(codes), np.nan)
    known = np.where(codes < 0, np.nan, known)
    odd = best.odd[codes] & (codes >= 0) if len(texts) else np.zeros(len(codes), dtype=bool)
    numbers = int(np.isfinite(known).sum())
    if numbers == 0 or numbers < max(2, 0.5 * (numbers + odd.sum())):
        return _TEXT
    return Cleaned(known, np.flatnonzero(odd), best.marks, best.signs)


@dataclass(frozen=True)
class _Parsed:
    values: np.ndarray
    odd: np.ndarray
    marks: tuple[str, ...]
    signs: tuple[str, ...]

    @property
    def count(self) -> int:
        return int((~self.odd).sum())


def _parsed(texts: Sequence[str], decimal: str, na: Sequence[str]) -> _Parsed:
    """Each text as a number, a mark, or neither."""
    values, odd = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
    marks: dict[str, None] = {}
    signs: dict[str, None] = {}
    units: dict[int, str] = {}
    for k, text in enumerate(texts):
        cell = _bare(text)
        if cell.lower() in MARKS or cell in na:
            if cell:
                marks[cell] = None
            continue
        match = _PATTERN[decimal].fullmatch(cell)
        number = None if match is None else _number(match, decimal)
        if match is None or number is None:
            odd[k] = True
            continue
        values[k] = number
        for sign in (match["cur1"], match["cur2"], match["percent"], match["note"]):
            if sign:
                signs[sign] = None
        if match["groups"]:
            signs["thousands separators"] = None
        if match["unit"]:
            units[k] = match["unit"].strip()
    if units:
        # A unit stands in nearly every cell; one letter behind a single number is a mistake.
        (unit,) = set(units.values()) if len(set(units.values())) == 1 else ("",)
        if unit and len(units) >= 0.8 * np.isfinite(values).sum():
            signs[unit] = None
        else:
            for k in units:
                values[k], odd[k] = np.nan, True
    return _Parsed(values, odd, tuple(marks), tuple(signs))


def _bare(text: str) -> str:
    """A cell without blanks around it, and without what keeps a number as text."""
    cell = text.strip().strip(_BLANK)
    cell = _OUTSIDE.sub(r"(\1\2)", cell)
    kept = _AS_TEXT.fullmatch(cell)
    return cell if kept is None else (kept["formula"] or kept["mark"] or "").strip()


def _number(match: re.Match[str], decimal: str) -> float | None:
    """The number of a match, if there are digits, and its brackets are closed."""
    digits = match["number"]
    signs = bool(match["sign"]) + bool(match["sign2"]) + bool(match["after"]) + bool(match["open"])
    if not any(c.isdigit() for c in digits) or bool(match["open"]) != bool(match["close"]):
        return None
    if match["after"] and (signs > 1 or match["unit"]):  # 300- is a minus; -300- and "3 - agree" are none
        return None
    if match["groups"]:
        tail = digits[len(match["groups"]) :]
        digits = re.sub(r"\D", "", match["groups"]) + tail
    try:
        value = float(re.sub("[dD]", "e", digits.replace(decimal, ".")))  # 1.5D+03 is Fortran's 1.5e3
    except ValueError:
        return None
    negative = (match["sign"] in ("-", "−", "–")) != (match["sign2"] in ("-", "−"))
    return -value if negative or match["open"] or match["after"] else value


def text_marks(column: pd.Series, na: Sequence[str]) -> list[str]:
    """Cells of a column of text that mean "missing": question marks and the errors of spreadsheets, and ``na``."""
    return [cell for cell in column.dropna().unique() if str(cell).strip().lower() in _PLAIN_MARKS or str(cell) in na]
