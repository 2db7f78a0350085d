"""Text tables, read by pandas as their dialect says."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any

import pandas as pd

from dagtune.tables.cells import is_mark, looks_numeric
from dagtune.tables.dialect import BLANKS, Dialect, ReadOptions, find_dialect
from dagtune.tables.sources import Source
from dagtune.validation import InputError

__all__ = ["line_of_row", "read_text", "text_chunks"]

# Before 3.1, pandas reads a third of all long decimals wrong in the last bit unless it is asked not to; since then it
# needs no asking, and warns.
_EXACT = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
#: Encodings that are tried where a file is not UTF-8 after all.
_FALLBACKS = ("cp1252", "latin-1")
#: Files larger than this are not searched for the line of a row.
_SEARCHED = 2**27


def read_text(
    open_source: Callable[[], Source],
    usual: str,
    options: ReadOptions,
    choose: Callable[[Dialect], Sequence[int]],
) -> tuple[pd.DataFrame, Dialect]:
    """The cells of a text table, as numbers where pandas sees them, and how it is written.

    Parameters
    ----------
    open_source : callable
        Opens the file; called again where it turns out not to be UTF-8.
    usual : str
        The separator that the ending of its name promises.
    options : ReadOptions
        What the user insists on.
    choose : callable
        Takes the dialect, and gives the positions of the columns to read.

    Returns
    -------
    frame : DataFrame
        Its columns are positions in the file.
    dialect : Dialect
    """
    with open_source() as source:
        head = source.look()
        dialect = find_dialect(head, source.whole, usual, options, source.name)
        try:
            frame = _parse(source, dialect, options, choose(dialect))
            if dialect.sep == BLANKS and frame.isna().to_numpy().any():
                _refuse_short_lines(open_source, dialect)
            return frame, dialect
        except UnicodeDecodeError as error:
            if options.encoding is not None or source.stdin:
                raise InputError(
                    f"can't read {source.name} as {dialect.encoding} ({error.reason}): try another encoding="
                ) from error
    for encoding in _FALLBACKS:
        try:
            return read_text(open_source, usual, replace(options, encoding=encoding), choose)
        except InputError as error:
            if encoding == _FALLBACKS[-1] or not isinstance(error.__cause__, UnicodeDecodeError):
                raise
    raise AssertionError("latin-1 reads anything")


def _refuse_short_lines(open_source: Callable[[], Source], dialect: Dialect) -> None:
    """Refuse rows of numbers that lack one: between blanks nobody can tell which, and the others would move."""
    with open_source() as source:
        source.look()
        stream = source.stream(after=dialect.start)
        decoded = io.TextIOWrapper(stream, encoding=dialect.encoding, errors="replace", newline="")
        for number, line in enumerate(decoded, start=dialect.line):
            cells = line.split()
            if 1 < len(cells) < dialect.width and all(looks_numeric(cell) or is_mark(cell) for cell in cells):
                raise InputError(
                    f"line {number} of {source.name} has {len(cells)} cells, but the others have {dialect.width}: "
                    "between blanks nobody can tell which is missing; write NA there"
                )


def text_chunks(
    open_source: Callable[[], Source], dialect: Dialect, options: ReadOptions, chosen: Sequence[int], rows: int
) -> Iterator[pd.DataFrame]:
    """The cells of a text table whose dialect is known, so many rows at a time; columns are positions in the file."""
    with open_source() as source:
        source.look()
        try:
            yield from _parse(source, dialect, options, chosen, chunksize=rows)
        except pd.errors.ParserError as error:
            raise _malformed(source.name, dialect, error) from error
        except UnicodeDecodeError as error:
            raise InputError(
                f"can't read {source.name} as {dialect.encoding} ({error.reason}): say its encoding="
            ) from error


def _parse(source: Source, dialect: Dialect, options: ReadOptions, chosen: Sequence[int], **more: Any) -> Any:
    """The rows below the names: a frame, or frames of ``chunksize`` rows."""
    stream: IO[Any] = source.stream(after=dialect.start)
    if dialect.comment:
        stream = io.BufferedReader(_Uncommented(stream, dialect.comment.encode(dialect.encoding)))
    if dialect.encoding != "utf-8":
        stream = io.TextIOWrapper(stream, encoding=dialect.encoding, newline="")
    how: dict[str, Any] = {
        "sep": dialect.sep,
        "quotechar": dialect.quote,
        "encoding": dialect.encoding,
        **_EXACT,
        **more,
    }
    if dialect.escape:
        how["escapechar"] = dialect.escape
    if dialect.sep != dialect.decimal:
        how["decimal"] = dialect.decimal
    if dialect.sep != BLANKS:
        how["skipinitialspace"] = True
    if len(chosen) < dialect.width:
        how["usecols"] = list(chosen)
    if options.na:
        how["na_values"] = list(options.na)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # columns of mixed types are looked at later
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            return pd.read_csv(stream, header=None, names=list(range(dialect.width)), index_col=False, **how)
    except pd.errors.EmptyDataError:
        return pd.DataFrame({position: pd.Series(dtype=float) for position in chosen})
    except pd.errors.ParserError as error:
        raise _malformed(source.name, dialect, error) from error


def _malformed(name: str, dialect: Dialect, error: Exception) -> InputError:
    """The error for lines that do not fit the others."""
    text = " ".join(str(error).split())
    if (cells := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)) is not None:
        line = int(cells[2]) + dialect.line - 1
        return InputError(
            f"line {line} of {name} has {cells[3]} cells, but the others have {cells[1]}: correct that line (put "
            "quotes around a cell that holds the separator), or check sep="
        )
    if (row := re.search(r"EOF inside string starting at row (\d+)", text)) is not None:
        line = int(row[1]) + dialect.line
        return InputError(f"can't read {name}: a quote opened in line {line} is never closed; correct that line")
    return InputError(f"can't read {name} as a table ({text}): check the file and sep=")


class _Uncommented(io.RawIOBase):
    """A stream without the lines that begin with a comment sign."""

    def __init__(self, stream: IO[bytes], sign: bytes) -> None:
        self._lines: Iterator[bytes] = (line for line in stream if not line.startswith(sign))
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            line = next(self._lines, None)
            if line is None:
                return 0
            self._left = line
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


def line_of_row(open_source: Callable[[], Source], dialect: Dialect, row: int) -> int | None:
    """The line of the file that holds a row of the table; None where looking for it would take too long."""
    with open_source() as source:
        if source.stdin or source.path.stat().st_size > _SEARCHED:
            return None
        source.look()
        decoded = io.TextIOWrapper(
            source.stream(after=dialect.start), encoding=dialect.encoding, errors="replace", newline=""
        )
        numbered = enumerate(decoded, start=dialect.line)
        kept = [
            (number, line) for number, line in numbered if not (dialect.comment and line.startswith(dialect.comment))
        ]
    if dialect.sep == BLANKS:
        lines = [number for number, line in kept if line.strip()]
        return lines[row] if row < len(lines) else None
    reader = csv.reader(
        (line for _, line in kept),
        delimiter=dialect.sep,
        quotechar=dialect.quote,
        escapechar=dialect.escape or None,
        skipinitialspace=True,
    )
    before, count = 0, 0
    try:
        for cells in reader:
            if cells:
                if count == row:
                    return kept[before][0]
                count += 1
            before = reader.line_num
    except csv.Error:
        return None
    return None
