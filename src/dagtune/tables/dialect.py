"""How a text table is written, found out from its first lines: encoding, separator, names, decimal sign, comments.

Each separator that could be meant splits the first lines. The one wins whose lines have the same number of cells and
whose cells look like numbers; the usual one of the file's ending wins a draw.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from dagtune.tables.cells import find_decimal, looks_numeric
from dagtune.validation import MAX_COLUMNS, InputError

__all__ = ["BLANKS", "Dialect", "ReadOptions", "find_dialect", "has_names", "joined_names", "separator_of"]

#: Runs of blanks between the columns.
BLANKS = r"\s+"
#: What may separate columns, the rarest in ordinary text first.
_SEPARATORS = ("\t", ";", "|", "~", "^", ",", ":", BLANKS)
_WORDS = {
    "\\t": "\t",
    "tab": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "space": BLANKS,
    "blank": BLANKS,
    " ": BLANKS,
}
_SHOWN = {"\t": "a tab", BLANKS: "blanks"}
#: A unit or a currency beside a number.
_AROUND = re.compile(r"^\s*[A-Z]{3}\s+(?=[-\d])|(?<=\d)\s+[A-Za-z/]{1,5}\s*$")
#: What a line begins with that is not data.
_COMMENTS = ("#", "%", "//")
#: Lines, and characters of them, that are looked at.
_LINES, _CHARACTERS = 200, 400_000
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class ReadOptions:
    """What the user insists on about a file; None is found out.

    Attributes
    ----------
    sep : str, optional
        What separates the columns: one character, or "tab" or "space".
    decimal : {".", ","}, optional
        The decimal sign.
    encoding : str, optional
        How text is stored, such as "latin-1".
    na : tuple of str
        Cells that mean "missing", besides the usual ones.
    header : bool, optional
        Whether the first row holds the names.
    query : str, optional
        What to take from a file that holds several tables: SQL for a database, the name of a sheet or of a file in an
        archive.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()
    header: bool | None = None
    query: str | None = None

    @classmethod
    def of(
        cls,
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        na: str | Sequence[str] = (),
        header: bool | None = None,
        query: str | None = None,
    ) -> ReadOptions:
        """Check what was passed."""
        if decimal not in (None, ".", ","):
            raise InputError(f"a decimal sign is '.' or ',', not {decimal!r}: pass decimal='.' or decimal=','")
        if encoding is not None:
            try:
                codecs.lookup(encoding)
            except (LookupError, ValueError) as error:
                raise InputError(
                    f"unknown encoding {encoding!r}: try encoding='utf-8' or encoding='latin-1'"
                ) from error
        marks = [na] if isinstance(na, str) else [str(mark) for mark in na]
        marks = [part.strip() for mark in marks for part in (mark.split(",") if mark.strip(",") else [mark])]
        return cls(None if sep is None else separator_of(sep), decimal, encoding, tuple(marks), header, query)


def separator_of(sep: str) -> str:
    """The separator that a user means by what was typed."""
    found = _WORDS.get(sep, sep)
    if found != BLANKS and (len(found) != 1 or found in '\r\n"'):
        raise InputError(f"a separator is one character, not {sep!r}: pass sep=',' or sep=';' or sep='tab'")
    return found


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    encoding : str
        Without a mark: ``start`` is behind it.
    sep, decimal, quote : str
        Between columns, in numbers, around texts.
    comment : str
        What a line begins with that is not data; empty if there is none.
    escape : str
        What stands before a quotation mark within a text, where that is not a second one; empty if nothing.
    start : int
        Bytes before the first row.
    line : int
        Number of the line of the first row, from 1.
    names : tuple of str, or None
        As they are in the file; None if the first row is data.
    width : int
        Number of columns.
    skipped : int
        Lines before the names that are not comments.
    """

    encoding: str
    sep: str
    decimal: str = "."
    quote: str = '"'
    comment: str = ""
    escape: str = ""
    start: int = 0
    line: int = 1
    names: tuple[str, ...] | None = None
    width: int = 0
    skipped: int = 0

    def words(self, usual: str) -> list[str]:
        """What is unusual about it, in words; ``usual`` is the separator that the ending promises."""
        told = []
        if self.sep != usual:
            told.append(f"columns separated by {_SHOWN.get(self.sep, repr(self.sep))}")
        if self.encoding != "utf-8":
            sure = self.encoding.startswith("utf") or not any(not name.isascii() for name in self.names or ())
            told.append(f"encoding {self.encoding}{'' if sure else ' (a guess: encoding= if names look odd)'}")
        if self.decimal != ".":
            told.append("decimal comma")
        if self.quote != '"':
            told.append(f"texts in {self.quote}")
        if self.comment:
            told.append(f"lines that begin with {self.comment!r} left out")
        if self.skipped:
            told.append(f"{self.skipped} line{'s' if self.skipped > 1 else ''} before the names left out")
        return told


def find_dialect(head: bytes, whole: bool, usual: str, options: ReadOptions, name: str) -> Dialect:
    """How a text table is written.

    Parameters
    ----------
    head : bytes
        Its beginning.
    whole : bool
        Whether that is all of it.
    usual : str
        The separator that the ending of its name promises.
    options : ReadOptions
        What the user insists on.
    name : str
        What to call the file in messages.
    """
    encoding, mark = _encoding(head, whole, options.encoding, name)
    try:
        text = head[mark:].decode(encoding, errors="strict" if whole else "ignore")
    except UnicodeDecodeError as error:
        raise InputError(
            f"can't read {name} as {encoding} ({error.reason} at byte {mark + error.start}): leave encoding= out, or "
            "try encoding='latin-1'"
        ) from error
    if "\0" in text:
        raise InputError(f"can't read {name}: it is not text (it contains zero bytes); save it as CSV again")
    body = lines = _Lines(text, whole)
    sep = options.sep
    if lines.raw and (excel := re.match(r"sep=(.)\s*$", lines.raw[0])) is not None:
        sep, body = sep or separator_of(excel[1]), lines.only(range(1, len(lines.raw)))
    comment = next((sign for sign in _COMMENTS if body.first().startswith(sign)), "")
    if comment:
        body = body.only([k for k, text in enumerate(body.raw) if not text.startswith(comment)])
    if not any(line.strip() for line in body.texts):
        raise InputError(f"can't read {name}: it is empty; write a row of names, then rows of numbers")
    quote = "'" if re.match(r"\s*'[^']*'\s*[,;\t|]", body.first()) and '"' not in body.first() else '"'
    _refuse_too_wide(body.first(), sep or usual, quote, name)
    sep = sep or _best_separator(body.texts, usual, quote)
    found = Dialect(encoding, sep, quote=quote, comment=comment, escape=_escape(body.texts, sep, quote))
    return _with_names(found, lines, body, options, mark, name)


class _Lines:
    """The first lines of a text, with their numbers from 1."""

    def __init__(self, text: str, whole: bool) -> None:
        self.raw: list[str] = []
        room = _CHARACTERS
        for found in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text):
            cut = found.end() == len(text) and not found[0].endswith(("\n", "\r")) and not whole
            if (cut or room < 0 or len(self.raw) >= _LINES) and len(self.raw) > 3:
                break
            self.raw.append(found[0])
            room -= len(found[0])
        self.number = list(range(1, len(self.raw) + 1))

    @property
    def texts(self) -> list[str]:
        """The lines without their ends."""
        return [line.rstrip("\r\n") for line in self.raw]

    def first(self) -> str:
        """The first line that is not blank."""
        return next((text for text in self.texts if text.strip()), "")

    def only(self, chosen: Sequence[int] | range) -> _Lines:
        """Some of the lines."""
        some = _Lines("", True)
        some.raw, some.number = [self.raw[k] for k in chosen], [self.number[k] for k in chosen]
        return some


def _escape(texts: Sequence[str], sep: str, quote: str) -> str:
    """A backslash, if quotation marks within texts are written with one, as R and MySQL do."""
    if sep == BLANKS or not any(f"\\{quote}" in text for text in texts):
        return ""
    odd = {sign: len({len(row) for row, _ in split(texts, sep, quote, sign)}) for sign in ("", "\\")}
    return "\\" if odd["\\"] < odd[""] else ""


def split(texts: Sequence[str], sep: str, quote: str, escape: str = "") -> list[tuple[list[str], int]]:
    """The records of some lines, each with the number of lines up to its end; blank lines are left out."""
    if sep == BLANKS:
        cells = [re.findall(r'"[^"]*"|\'[^\']*\'|\S+', text) for text in texts]
        return [([cell.strip("\"'") for cell in row], k + 1) for k, row in enumerate(cells) if row]
    lines = io.StringIO("\n".join(texts), newline="")
    reader = csv.reader(lines, delimiter=sep, quotechar=quote, escapechar=escape or None, skipinitialspace=True)
    found: list[tuple[list[str], int]] = []
    with suppress(csv.Error):  # a field longer than csv allows, or cut in the middle
        found.extend((row, reader.line_num) for row in reader if any(cell.strip() for cell in row))
    return found


def _best_separator(texts: Sequence[str], usual: str, quote: str) -> str:
    """The separator under which the lines look most like a table."""
    best, top = usual, (0.0, 0)
    for sep in (usual, *(other for other in _SEPARATORS if other != usual)):
        rows = [row for row, _ in split(texts, sep, quote)]
        widths = Counter(map(len, rows[1:] or rows))
        if not widths:
            continue
        width = max(widths, key=lambda one: (widths[one], one))
        if width < 2:
            continue
        alike = sum(len(row) == width for row in rows) / len(rows)
        full = next(row for row in (rows[1:] or rows) if len(row) == width)
        if len(rows[0]) == 1 and any(looks_numeric(cell) for cell in full):
            alike *= 0.5  # one column of numbers that hold this sign, not a title above names
        cells = [cell for row in rows[1:50] for cell in row[:200]]
        clean = sum(looks_numeric(_AROUND.sub("", cell)) or not cell.strip() for cell in cells) / max(len(cells), 1)
        # Numbers with blanks around are numbers, so blanks must not win against a sign that also splits the lines.
        score = (round(alike * (0.3 + clean) - 0.05 * (sep == BLANKS) + 0.01 * (sep == usual), 3), width)
        if score[0] > top[0] + 1e-9:
            best, top = sep, score
    return best


def _refuse_too_wide(first: str, sep: str, quote: str, name: str) -> None:
    """Refuse a text table of too many columns before anything is done for each of them."""
    if len(first) <= MAX_COLUMNS:
        return
    rows = split([first], sep, quote)
    count = len(rows[0][0]) if rows else 0
    if count > MAX_COLUMNS:
        raise InputError(
            f"{name} has {count} columns, but at most {MAX_COLUMNS} can be read from a text file: cut some out "
            "of the file, or check that the table is not transposed"
        )


def _with_names(found: Dialect, lines: _Lines, body: _Lines, options: ReadOptions, mark: int, name: str) -> Dialect:
    """The dialect with the names of the columns, and where the rows begin."""
    records = split(body.texts, found.sep, found.quote, found.escape)
    if not records:
        raise InputError(f"can't read {name}: a quotation mark is not closed; close it, or write the file anew")
    widths = Counter(len(row) for row, _ in records[1:]) or Counter([len(records[0][0])])
    width = max(widths, key=lambda one: (widths[one], one))
    first = next((k for k in range(len(records)) if _may_be_first([row for row, _ in records[k:]], width)), 0)
    head = records[first][0]
    rest = [row for row, _ in records[first + 1 :]]
    decimal = options.decimal or find_decimal([cell for row in rest for cell in row], found.sep)
    commented = _commented_names(found, lines, records, width) if first == 0 and options.header is None else None
    named = has_names(head, rest) if options.header is None else options.header
    if commented is not None and not named:
        return replace(found, decimal=decimal, names=commented, width=width, **_start(found, lines, body, 0, mark))
    before = records[first - 1][1] if first else 0
    skipped = 0 if not first else sum(1 for text in body.texts[:before] if text.strip())
    consumed = records[first][1] if named else before
    names = tuple(cell.strip() for cell in head) if named else None
    if names is not None and rest and (joined := joined_names(names, rest[0], rest[1:])) is not None:
        names, consumed, rest = joined, records[first + 1][1], rest[1:]
    if names is not None and len(names) == width - 1:
        names = _one_name_short(names, rest, width, body.number[consumed - 1] + 1, name)
    if names is not None and rest and len(rest[0]) > len(names):
        raise InputError(
            f"line {body.number[consumed - 1] + 1} of {name} has {len(rest[0])} cells, but there are {len(names)} "
            "names: correct the file, or check sep="
        )
    other = re.search(r"[;\t|,]", head[0]) if width == len(head) == 1 else None
    if options.sep is not None and other is not None:
        shown = "tab" if other[0] == "\t" else other[0]
        raise InputError(f"{name} has one column when split at {found.sep!r}: leave sep= out, or try sep={shown!r}")
    width = max(width, len(names or ()))
    return replace(
        found,
        decimal=decimal,
        names=names,
        width=width,
        skipped=skipped,
        **_start(found, lines, body, consumed, mark),
    )


def _may_be_first(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether the first of these rows may hold the names, or data.

    A title fills one cell of several; a line about the file has another number of cells than the names right below it.
    """
    row, below = rows[0], rows[1] if len(rows) > 1 else ()
    filled = sum(bool(cell.strip()) for cell in row)
    if len(row) < width - 1 or (width > 2 and (len(row) < 2 or filled < 2)):
        return False
    if len(row) == width or width < 3:
        return True
    differ = len(below) == width == len(set(below)) and all(cell.strip() for cell in below)
    names = differ and not any(map(looks_numeric, below)) and has_names(below, rows[2:])
    return not names and (len(row) > width or len(below) == width)


def joined_names(names: Sequence[str], second: Sequence[str], rest: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Names in two rows, of which the first names groups of columns, as "patient age"; None if there is one row only.

    Parameters
    ----------
    names, second : sequence of str
        The first two rows. A group is named in each of its columns, or in its first.
    rest : sequence of sequence of str
        The rows below.
    """
    groups, below = [name.strip() for name in names], [cell.strip() for cell in second]
    if len(below) != len(groups) or not any(groups) or (all(groups[1:]) and len(set(groups)) == len(groups)):
        return None
    if not all(below) or any(map(looks_numeric, below)) or len(set(below)) < len(below):
        return None
    full = [row for row in rest if len(row) == len(groups)]
    if not any(sum(looks_numeric(row[j]) for row in full) > 0.8 * len(full) > 0 for j in range(len(groups))):
        return None
    for j in range(1, len(groups)):
        groups[j] = groups[j] or groups[j - 1]
    return tuple(f"{group} {name}".strip() for group, name in zip(groups, below))


def _start(found: Dialect, lines: _Lines, body: _Lines, consumed: int, mark: int) -> dict[str, Any]:
    """Where the rows begin, after so many lines of the body, in bytes and in lines."""
    line = body.number[consumed - 1] if consumed else body.number[0] - 1
    skipped = "".join(lines.raw[:line])
    return {"start": mark + len(skipped.encode(found.encoding, errors="surrogateescape")), "line": line + 1}


def _commented_names(found: Dialect, lines: _Lines, records: Sequence[Any], width: int) -> tuple[str, ...] | None:
    """Names in the last comment before the rows, as in "#age,dose"."""
    if not found.comment:
        return None
    texts = lines.texts
    last = next((k for k, text in enumerate(texts) if not text.startswith(found.comment)), len(texts)) - 1
    cells = split([texts[last].lstrip(found.comment + " ")], found.sep, found.quote)
    if last < 0 or not cells or len(cells[0][0]) != width or any(map(looks_numeric, cells[0][0])):
        return None
    return tuple(cell.strip() for cell in cells[0][0])


def _one_name_short(
    names: tuple[str, ...], rest: Sequence[Sequence[str]], width: int, line: int, name: str
) -> tuple[str, ...]:
    """The names where each row has one cell more: an empty last cell, or row labels without a name (R writes those)."""
    full = [row for row in rest if len(row) == width]
    if len(full) < 0.5 * len(rest):
        return names
    if all(not row[-1].strip() for row in full):
        return (*names, "")
    if len({row[0] for row in full}) == len(full) > 1:
        return ("", *names)
    raise InputError(
        f"line {line} of {name} has {width} cells, but there are {len(names)} names: name every column, or check sep="
    )


def has_names(head: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds names rather than data.

    It is data if its cells are numbers in every column of numbers, unless they count up in equal steps (1, 2, 3 or
    2019, 2020, 2021), as names may.
    """
    full = [row for row in rest if len(row) == len(head)]
    numeric = [
        j
        for j in range(len(head))
        if full
        and (cells := [row[j] for row in full if row[j].strip()])
        and sum(map(looks_numeric, cells)) >= 0.8 * len(cells)
    ]
    cells = [head[j].strip() for j in (numeric or range(len(head)))]
    if not cells or not all(looks_numeric(cell) for cell in cells):
        return True
    if all(re.fullmatch(r"[-+]?\d+", cell) for cell in cells):
        whole = [int(cell) for cell in cells]
        steps = {after - before for before, after in pairwise(whole)}
        return len(steps) == 1 and steps != {0} and (len(whole) > 2 or not rest)
    return False


def _encoding(head: bytes, whole: bool, asked: str | None, name: str) -> tuple[str, int]:
    """The encoding, and the length of the mark that says so."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding, len(mark)
    if asked is not None:
        found = codecs.lookup(asked).name
        return {"iso8859-1": "latin-1", "utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(found, found), 0
    some = head[:4096]
    even, odd = some[::2].count(0), some[1::2].count(0)
    if max(even, odd) > len(some) / 8 and min(even, odd) < max(even, odd) / 8:
        return ("utf-16-be" if even > odd else "utf-16-le"), 0
    if b"\0" in some:
        raise InputError(f"can't read {name}: it is not text (it contains zero bytes); save it as CSV again")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return _one_byte(head), 0
    return "utf-8", 0


def _one_byte(head: bytes) -> str:
    """Latin-1, or its extension by Windows where bytes are used that Latin-1 has no signs for."""
    if any(0x80 <= byte <= 0x9F for byte in head):
        try:
            head.decode("cp1252")
        except UnicodeDecodeError:
            return "latin-1"
        return "cp1252"
    return "latin-1"
