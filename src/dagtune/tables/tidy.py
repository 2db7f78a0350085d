"""Cells of a loosely typed file become columns: numbers out of texts, and what is no data is left out and said.

Left out are units below the names, totals and remarks below the rows, empty columns, and columns that number the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dagtune.tables.cells import Cleaned, cleaned, text_marks
from dagtune.tables.dates import mostly_dates

__all__ = ["Note", "Problem", "Tidy", "name_columns", "numbers_rows", "tidy", "without_empty_rows"]

_COMPUTED = (
    r"grand[ _-]?total|sub-?total|totals?|sums?|summe|gesamt|insgesamt|mean|average|avg|mittelwert|somme|totale?|"
    r"suma|media|итого|合計|总计|median|minimum|maximum|std|std\.? ?dev\.?|st\.? ?dev\.?|standard (?:deviation|error)"
)
_TOTAL = re.compile(rf"\W*(?:{_COMPUTED})\W*", re.I)
#: The same where numbers are expected; texts so short may be categories elsewhere.
_TOTAL_OF_NUMBERS = re.compile(rf"\W*(?:{_COMPUTED}|n|count|min|max|sd|s\.d\.|se|sem|cv|var|variance|range)\W*", re.I)
#: A line drawn with signs.
_RULER = re.compile(r"[-+=_*~.:| ]{3,}")
#: Signs without width that some programs put before the first name.
_NO_WIDTH = "\ufeff\u200b\u2060"
_ID = re.compile(r"(.*[\W_])?(id|uid|uuid|guid|idx|index|rownames?|rownumber)|row|nr|no|key|.*[a-z]I[Dd]|ID", re.I)
#: Different bad cells of a column that one message lists.
_MOST_BAD = 5
#: Rows above and below the table that may be remarks.
_MOST_REMARKS = 10
#: Fewer rows say nothing about whether a column numbers them.
_FEW = 10


@dataclass(frozen=True)
class Note:
    """Something that was found out about a file and is said.

    Attributes
    ----------
    code : str
        "read-as", or a code of the audit.
    text : str
    columns : tuple of str
    """

    code: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A column that can't be used as it is.

    Attributes
    ----------
    column : str
    row : int
        The first bad cell, from 0.
    text : str
        What is wrong, with ``{where}`` for the place.
    cure : str
    """

    column: str
    row: int
    text: str
    cure: str


@dataclass
class Tidy:
    """Columns, what was found out, and what is wrong.

    Attributes
    ----------
    frame : DataFrame
    notes : list of Note
    problems : list of Problem
    first_row : int
        How many rows were left out above the first.
    """

    frame: pd.DataFrame
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    first_row: int = 0


def name_columns(names: Sequence[str]) -> tuple[tuple[str, ...], list[Note]]:
    """A name for each column: those without one are called after their position, equal ones are numbered."""
    found: list[str] = []
    notes: list[Note] = []
    names = [name.strip(_NO_WIDTH) for name in names]
    taken = {name for name in names if name}
    used: set[str] = set()
    for position, name in enumerate(names):
        chosen = name if name.strip() else f"column {position + 1}"
        number = 1
        while chosen in used or (chosen != name and chosen in taken):
            number += 1
            chosen = f"{name or f'column {position + 1}'}_{number}"
        if number > 1 and name:
            notes.append(
                Note(
                    "duplicate-name",
                    f"column {position + 1} is called {name!r} as another is, here {chosen!r}",
                    (chosen,),
                )
            )
        used.add(chosen)
        found.append(chosen)
    return tuple(found), notes


def tidy(
    frame: pd.DataFrame,
    *,
    decimal: str = ".",
    na: Sequence[str] = (),
    unnamed: Sequence[str] = (),
    asked: Sequence[str] | None = None,
    where: Callable[[int], str],
) -> Tidy:
    """Turn cells into columns.

    Parameters
    ----------
    frame : DataFrame
        The cells, with the names of the columns.
    decimal : str
        The decimal sign of the file.
    na : sequence of str
        Cells that mean "missing", besides the usual ones.
    unnamed : sequence of str
        Columns that have no name in the file.
    asked : sequence of str, optional
        Columns that the user named: none of them is left out.
    where : callable
        The place of a row (from 0) in words.
    """
    found = Tidy(frame)
    seen = {j: cleaned(frame.iloc[:, j], decimal, na) for j in range(frame.shape[1]) if _is_text(frame.iloc[:, j])}
    above, below = _stray_rows(frame, seen)
    if above:
        units = ", ".join(repr(str(cell)[:40]) for cell in frame.iloc[0].dropna().tolist()[:4])
        found.notes.append(Note("stray-row", f"{where(0)} ({units}){_no_data(above)}"))
    if below:
        cell = next(str(cell) for cell in frame.iloc[len(frame) - below].tolist() if isinstance(cell, str))
        row = where(len(frame) - below)
        found.notes.append(Note("stray-row", f"{row} ({cell[:40]!r}){_no_data(below)}"))
    kept = slice(above, len(frame) - below)
    columns = {}
    signs: dict[str, list[str]] = {}
    marks: dict[str, list[str]] = {}
    for j, name in enumerate(frame.columns):
        column = frame.iloc[kept, j].reset_index(drop=True)
        one = seen.get(j)
        if one is not None:
            column = _column(column, one, name, kept, na, found, marks, signs)
        elif na and pd.api.types.is_numeric_dtype(column.dtype):
            gone = column.isin([float(mark) for mark in na if re.fullmatch(r"[-+]?\d+(\.\d*)?", mark)])
            column = column.mask(gone) if gone.any() else column
        columns[j] = column
    found.frame, found.first_row = pd.DataFrame(columns).set_axis(list(frame.columns), axis=1), above
    found.notes += _about_cells(marks, signs)
    _leave_out_columns(found, unnamed, asked)
    return found


def _no_data(count: int) -> str:
    return (
        f" and {count - 1} more below hold no data and were left out"
        if count > 1
        else " holds no data and was left out"
    )


def without_empty_rows(frame: pd.DataFrame, place: Callable[[int], str]) -> tuple[pd.DataFrame, np.ndarray, list[Note]]:
    """The rows that hold anything, and do not only repeat the names, as in files that were joined.

    Parameters
    ----------
    frame : DataFrame
    place : callable
        The place of a row (from 0) in words.

    Returns
    -------
    frame : DataFrame
    kept : ndarray of int
        The positions of its rows before.
    notes : list of Note
        What was left out.
    """
    notes = []
    again = np.zeros(len(frame), dtype=bool)
    empty = np.full(len(frame), frame.shape[1] > 1)
    for j in range(frame.shape[1]):
        if not empty.any():
            break
        empty &= frame.iloc[:, j].isna().to_numpy()
    if frame.shape[1] > 1 and all(_is_text(frame.iloc[:, j]) for j in range(frame.shape[1])):
        cells = [frame.iloc[:, j] for j in range(frame.shape[1])]
        cells[0] = cells[0].map(lambda cell: cell.strip(_NO_WIDTH) if isinstance(cell, str) else cell)
        again = np.all([(column == name).to_numpy(bool) for column, name in zip(cells, frame.columns)], axis=0)
    for gone, what in ((again, "repeats the names"), (empty, "is empty")):
        rows = np.flatnonzero(gone).tolist()
        if rows:
            text = f"{place(rows[0])} {what} and was left out"
            more = f", as {len(rows) - 1} more do{'es' if len(rows) == 2 else ''}" if len(rows) > 1 else ""
            notes.append(Note("stray-row", text + more))
    kept = np.flatnonzero(~(again | empty))
    return frame if len(kept) == len(frame) else frame.iloc[kept].reset_index(drop=True), kept, notes


def _is_text(column: pd.Series) -> bool:
    """Whether a column holds texts, perhaps among other things, but neither lists nor records."""
    if pd.api.types.is_object_dtype(column.dtype) and column.map(lambda cell: isinstance(cell, (list, dict))).any():
        return False
    return pd.api.types.is_object_dtype(column.dtype) or isinstance(column.dtype, pd.StringDtype)


def _column(
    column: pd.Series,
    one: Cleaned,
    name: str,
    kept: slice,
    na: Sequence[str],
    found: Tidy,
    marks: dict[str, list[str]],
    signs: dict[str, list[str]],
) -> pd.Series:
    """A column of texts as numbers where it is one; what was found out about it is added to the lists."""
    if one.values is None:
        gone = text_marks(column, na)
        for mark in gone:
            marks.setdefault(str(mark), []).append(name)
        column = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
        _about_spellings(column, name, found)
        return column.mask(column.isin(gone)) if gone else column
    bad = [row for row in one.bad.tolist() if kept.start <= row < kept.stop]
    if bad:
        cell = str(column.iloc[bad[0] - kept.start])[:40]
        more = f" (and in {len(bad) - 1} more row{'s' if len(bad) > 2 else ''})" if len(bad) > 1 else ""
        told = [f"{each!r}".replace("{", "{{").replace("}", "}}") for each in (name, cell)]  # the text is a template
        text = f"{told[0]} holds {told[1]} in {{where}}{more}, where the others are numbers"
        found.problems.append(
            Problem(
                name,
                bad[0],
                text,
                _cure(name, [str(cell) for cell in column.iloc[np.array(bad) - kept.start].unique()]),
            )
        )
        return column
    for mark in one.marks:
        marks.setdefault(mark, []).append(name)
    for sign in one.signs:
        signs.setdefault(sign, []).append(name)
    return pd.Series(one.values[kept])


def _about_spellings(column: pd.Series, name: str, found: Tidy) -> None:
    """Say if categories differ in upper and lower case only; in genotypes Aa and aa are meant to."""
    cells = [cell for cell in column.dropna().unique() if isinstance(cell, str)]
    alike: dict[str, list[str]] = {}
    for cell in cells[:200]:
        alike.setdefault(cell.casefold(), []).append(cell)
    twice = [each for each in alike.values() if len(each) > 1]
    if twice:
        some = " and ".join(map(repr, twice[0]))
        text = f"{name!r} has values that differ in upper and lower case only ({some}), and they count as different"
        found.notes.append(Note("spelling", text, (name,)))


def _cure(name: str, cells: Sequence[str]) -> str:
    """What to do about cells that are no numbers; as options they are separated by commas."""
    if len(cells) > _MOST_BAD or any("," in cell or len(cell) > 40 for cell in cells):
        return f"correct these cells, or leave the column out (drop=[{name!r}])"
    what = f"na={cells[0]!r}" if len(cells) == 1 else f"na={list(cells)!r}"
    return f"correct {'it' if len(cells) == 1 else 'them'}, or leave such rows out ({what} and missing='drop')"


def _about_cells(marks: dict[str, list[str]], signs: dict[str, list[str]]) -> list[Note]:
    """What was taken for missing, and what was left out of numbers."""
    told = []
    if marks:
        told.append(f"{' and '.join(map(repr, marks))} taken for missing")
    if signs:
        told.append(f"{' and '.join(sign if ' ' in sign else repr(sign) for sign in signs)} left out of numbers")
    names = tuple(dict.fromkeys(name for group in (*marks.values(), *signs.values()) for name in group))
    some = ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
    return [Note("read-as", f"{', '.join(told)} ({some})", names)] if told else []


def _stray_rows(frame: pd.DataFrame, seen: dict[int, Cleaned]) -> tuple[int, int]:
    """How many rows at the top and at the bottom are no data."""
    rows = len(frame)
    bad_at = {j: set(one.bad.tolist()) for j, one in seen.items() if one.values is not None}
    above = below = 0
    while above < min(_MOST_REMARKS, rows - 2) and _is_above(frame, above, bad_at):
        above += 1
    while below < min(_MOST_REMARKS, rows - above - 2):
        row = rows - 1 - below
        if not _is_remark(frame, row, bad_at, seen):
            break
        below += 1
    return above, below


def _is_above(frame: pd.DataFrame, row: int, bad_at: dict[int, set[int]]) -> bool:
    """Whether a row at the top is no data: units, questions or other texts below the names of the numbers."""
    filled = np.flatnonzero(frame.iloc[[row]].notna().to_numpy()[0]).tolist()
    if len(filled) == 1 and frame.shape[1] > 1 and _RULER.fullmatch(str(frame.iat[row, filled[0]])):
        return True
    texts = [j for j in bad_at if row in bad_at[j]]
    numbers = [j for j in range(frame.shape[1]) if j in bad_at or pd.api.types.is_numeric_dtype(frame.dtypes.iloc[j])]
    return 0 < len(bad_at) <= 2 * len(texts) and not (set(numbers) & set(filled)) - set(texts)


def _is_remark(frame: pd.DataFrame, row: int, bad_at: dict[int, set[int]], seen: dict[int, Cleaned]) -> bool:
    """Whether a row at the bottom is a total, or a remark in one of its cells."""
    cells = frame.iloc[row]
    for j in seen:
        cell = cells.iloc[j]
        computed = _TOTAL_OF_NUMBERS if j in bad_at else _TOTAL
        if isinstance(cell, str) and computed.fullmatch(cell) and (frame.iloc[:, j] == cell).sum() == 1:
            return True
    filled = np.flatnonzero(frame.iloc[[row]].notna().to_numpy()[0]).tolist()
    if len(filled) != 1 or frame.shape[1] < 2:
        return False
    (j,) = filled
    text = str(cells.iloc[j]).strip()
    return j in seen and (row in bad_at.get(j, ()) or _RULER.fullmatch(text) is not None or (j == 0 and " " in text))


def _leave_out_columns(found: Tidy, unnamed: Sequence[str], asked: Sequence[str] | None) -> None:
    """Leave out empty columns, and those that only number or name the rows; never one that the user asked for."""
    for name in [] if asked is not None else list(found.frame.columns):
        column = found.frame[name]
        if column.isna().all() and len(column):
            words = "has neither name nor values" if name in unnamed else "has no values"
            found.notes.append(Note("empty-column", f"{name!r} {words} and was left out", (name,)))
        elif len(column) >= 2 and _is_label(found, name, name in unnamed):
            what = "has no name and differs" if name in unnamed else "differs"
            like = (
                "names do, and was left out"
                if _is_text(column)
                else "row numbers do, and was left out (columns= keeps it)"
            )
            text = f"{name!r} {what} in every row, as {like}"
            found.notes.append(Note("row-number", text, (name,)))
        else:
            continue
        found.frame = found.frame.drop(columns=name)
        found.problems = [problem for problem in found.problems if problem.column != name]


def _is_label(found: Tidy, name: str, unnamed: bool) -> bool:
    """Whether a column only tells rows apart: all values differ, and they are words, or its name or place says so."""
    column = found.frame[name]
    nested = column.dtype == object and not _is_text(column)
    if nested or column.isna().any() or not column.is_unique:
        return False
    if unnamed:
        first = name == found.frame.columns[0]
        return numbers_rows(column) or (first and _is_text(column))
    if len(column) < _FEW:
        return False
    if _is_text(column) and all(str(cell).strip()[:1].isalpha() for cell in column) and not mostly_dates(column):
        return True
    if _ID.fullmatch(name.strip()) is None:
        return False
    return _is_text(column) or bool((column.to_numpy(dtype=float, na_value=np.nan) % 1 == 0).all())


def numbers_rows(column: pd.Series) -> bool:
    """Whether the values go up or down by the same step from row to row."""
    if not pd.api.types.is_numeric_dtype(column.dtype) or len(column) < 2:
        return False
    steps = np.diff(column.to_numpy(dtype=float, na_value=np.nan))
    return bool(steps[0] != 0 and (steps == steps[0]).all())
