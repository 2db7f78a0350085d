"""Tables and graphs in files, loaded as they are: values not judged, what was found out about the file said.

The file's first bytes, then its ending, select a format (:mod:`dagtune.tables.formats`). Text tables are read as their
dialect says (:mod:`dagtune.tables.dialect`), and cells of loosely typed files are tidied (:mod:`dagtune.tables.tidy`).
"""

from __future__ import annotations

import csv
import difflib
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from dagtune.tables.dialect import Dialect, ReadOptions, has_names, joined_names
from dagtune.tables.formats import FORMATS, Format, Grid, flattened
from dagtune.tables.sources import STDIN, Source, refuse_no_file
from dagtune.tables.text import line_of_row, read_text
from dagtune.tables.tidy import Note, Problem, name_columns, tidy, without_empty_rows
from dagtune.validation import InputError, check_names, check_width

__all__ = ["Loaded", "about_dialect", "choose_positions", "load_frame", "pick_names", "read_adjacency"]

#: What libraries raise for a damaged file.
_DAMAGED = (ValueError, OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


#: Endings of files that hold no table, whatever they look like.
_NO_TEXT = (".xls", ".pkl", ".pickle", ".py", ".html", ".htm", ".xml", ".md", ".yaml", ".yml", ".toml", ".pdf", ".rtf")


@dataclass(frozen=True)
class Loaded:
    """A table from a file, and what was found out about it.

    Attributes
    ----------
    frame : DataFrame
        Its names differ and none is empty.
    notes : list of Note
        What was found out and left out.
    problems : list of Problem
        Cells that are no numbers in columns of numbers.
    where : callable
        The place of a row of ``frame`` (from 0) in the file, such as "line 7".
    first_row : int
        Rows of the file that were left out above the first.
    """

    frame: pd.DataFrame
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    where: Callable[[int], str] = "row {}".format
    first_row: int = 0

    def said(self) -> list[str]:
        """What was found out, in one line for how the file is written, and one for each thing that was left out."""
        how = [note.text for note in self.notes if note.code == "read-as"]
        told = [f"found out about the file: {'; '.join(how)}"] if how else []
        return told + [note.text for note in self.notes if note.code not in ("read-as", "encoding")]


def pick_names(given: Iterable[str], names: Sequence[str]) -> list[str]:
    """Find the columns that the user means.

    Parameters
    ----------
    given : iterable of str
        Each text is a name, or several names with commas between them.
    names : sequence of str
        The names there are.

    Returns
    -------
    list of str
        Each name once, in the order given.

    Raises
    ------
    InputError
        If there is no such column; the message names the nearest one.

    Examples
    --------
    >>> pick_names(["age,size", "b,c"], ["age", "size", "b,c"])
    ['age', 'size', 'b,c']
    """
    there = set(names)
    picked: dict[str, None] = {}
    for text in given:
        for name in [text] if text in there else [part.strip() for part in text.split(",")]:
            picked[name if name in there else _unknown(name, names)] = None
    return list(picked)


def load_frame(
    path: str | os.PathLike[str],
    *,
    options: ReadOptions | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Loaded:
    """Load a table from a file, without judging its values.

    Endings that are not registered, such as those of pickles, are refused before anything is read.

    Parameters
    ----------
    path : str or path
        A file in one of the registered formats, perhaps compressed (.gz, .bz2, .xz, .zst, .zip), or "-" for standard
        input.
    options : ReadOptions, optional
        What to insist on; the rest is found out.
    columns, drop : str or sequence of str, optional
        Which columns to load, and which to leave out; they keep the file's order.
    progress : callable, optional
        Called with the share of the file that was read.

    Returns
    -------
    Loaded

    Raises
    ------
    InputError
        If the file cannot be read, or has no such column.
    """
    options = options or ReadOptions()
    choose = partial(choose_positions, columns=columns, drop=drop)
    try:
        member = options.query if str(path).lower().endswith(".zip") else None
        open_source = partial(Source, path, member=member, progress=progress)
        with open_source() as source:
            found = _format(source)
            if found.separator is None:
                return _load_binary(source, found, options, choose, columns)
        if options.query is not None and member is None:
            raise InputError(f"{source.name} is one table, so there is nothing to choose: leave query= out")
        if source.stdin:
            open_source = source.again  # type: ignore[assignment]
        return _load_text(open_source, found.separator, options, choose, columns)
    except InputError:
        raise
    except ImportError as error:
        raise _needs(str(path), error) from error
    except _DAMAGED as error:
        raise _unreadable(path, error) from error


def _format(source: Source) -> Format:
    """The format of a file; what has no ending, or one that is not known and the looks of text, is text."""
    known = FORMATS.get(source.ending)
    if (source.ending == "" or (known is not None and known.separator is not None)) and source.is_json():
        return FORMATS[".json"]
    if known is not None:
        return known
    if source.ending == "" or (source.is_text() and source.ending not in _NO_TEXT):
        return FORMATS[".csv"]
    if source.ending == ".xls":
        raise InputError(f"can't read {source.name}: it is an old Excel file; save it as .xlsx")
    endings = ", ".join(FORMATS)
    raise InputError(f"can't read {source.name}: its ending must be one of {endings} (also with .gz, .zip, .xz, .zst)")


def _load_text(
    open_source: Callable[[], Source],
    usual: str,
    options: ReadOptions,
    choose: Callable[[Sequence[str]], list[int]],
    columns: Any,
) -> Loaded:
    """A text table."""
    chosen: list[int] = []
    names: tuple[str, ...] = ()
    notes: list[Note] = []

    def pick(dialect: Dialect) -> list[int]:
        nonlocal names, chosen, notes
        check_width(dialect.width)
        given = [f"x{j}" for j in range(dialect.width)] if dialect.names is None else list(dialect.names)
        given += [""] * (dialect.width - len(given))
        names, notes = name_columns(given)
        chosen = choose(names)
        return chosen

    frame, dialect = read_text(open_source, usual, options, pick)

    def line(row: int) -> str:
        found = line_of_row(open_source, dialect, row)
        return f"row {row + 1}" if found is None else f"line {found}"

    unnamed = [name for name, given in zip(names, dialect.names or names) if not given.strip()]
    frame = frame.set_axis([names[position] for position in chosen], axis=1)
    whole = len(chosen) == dialect.width
    frame, kept, left_out = without_empty_rows(frame, line) if whole else (frame, np.arange(len(frame)), [])
    notes += left_out

    def place(row: int) -> str:
        return line(int(kept[row]) if row < len(kept) else row)

    found = tidy(frame, decimal=dialect.decimal, na=options.na, unnamed=unnamed, asked=columns, where=place)
    notes = [note for note in notes if set(note.columns) <= set(frame.columns)]
    notes = about_dialect(dialect, names, usual, options) + notes
    return Loaded(
        found.frame, notes + found.notes, found.problems, lambda row: place(row + found.first_row), found.first_row
    )


def about_dialect(dialect: Dialect, names: Sequence[str], usual: str, options: ReadOptions) -> list[Note]:
    """What is said about how a text table is written; ``usual`` is the separator that its ending promises."""
    how = dialect.words(usual)
    notes = [Note("read-as", ", ".join(how))] if how else []
    if dialect.names is None and options.header is None:
        words = f"the first row holds numbers, so the columns are called {names[0]}, {names[1:2] and names[1]}, ..."
        notes.append(Note("no-header", f"{words} (header=True if it holds names)"))
    if dialect.encoding != "utf-8":
        notes.append(Note("encoding", f"the file is not UTF-8 text (it was read as {dialect.encoding})"))
    return notes


def _load_binary(
    source: Source,
    format: Format,
    options: ReadOptions,
    choose: Callable[[Sequence[str]], list[int]],
    columns: Any,
) -> Loaded:
    """A table that is not text."""
    if options.sep is not None:
        raise InputError(f"{source.name} is not a text file, so it has no separator: leave sep= out")
    if options.query is not None and not format.several:
        raise InputError(f"{source.name} is one table, so there is nothing to choose: leave query= out")
    if format.header is not None:
        with _damage_told():
            listed = list(format.header(source.file()))
        check_width(len(choose(check_names(listed, count=len(listed)))))  # before any row is read
    file = source.file()
    with _damage_told():
        found = _read(format, file, options.query)
        grid = found if isinstance(found, Grid) else Grid(flattened(found), names=False)
    frame, first = _with_header(grid, options) if grid.names else (grid.frame.reset_index(drop=True), 1)
    given = [str(name).strip() if name is not None else "" for name in frame.columns]
    names, notes = name_columns(given) if format.loose else (check_names(frame.columns, count=frame.shape[1]), [])
    check_width(len(names))
    chosen = choose(names)
    frame, kept = frame.set_axis(list(names), axis=1), np.arange(len(frame))
    if grid.names:
        frame, kept, left_out = without_empty_rows(frame, lambda row: f"row {row + first}")
        notes += left_out
    frame = frame.iloc[:, chosen]
    if grid.note:
        notes.insert(0, Note("read-as", grid.note))
    if not format.loose:
        return Loaded(frame, notes, where=lambda row: f"row {row + first}")

    def where(row: int) -> str:
        return f"row {int(kept[row]) + first}"

    if grid.names and options.header is None and first == 1:
        notes.insert(0, Note("no-header", f"the first row holds numbers, so the columns are called {names[0]}, ..."))
    unnamed = [name for name, text in zip(names, given) if not text]
    frame = frame.apply(_plain_cells) if len(frame) and frame.shape[1] else frame
    neat = tidy(frame, decimal=options.decimal or ".", na=options.na, unnamed=unnamed, asked=columns, where=where)
    return Loaded(
        neat.frame, notes + neat.notes, neat.problems, lambda row: where(row + neat.first_row), neat.first_row
    )


@contextmanager
def _damage_told() -> Iterator[None]:
    """Around a reader of another library, which for a damaged file may raise anything: struct.error, KeyError, ..."""
    try:
        yield
    except (InputError, ImportError, *_DAMAGED):
        raise
    except MemoryError as error:  # or a damaged file says that it holds so much
        raise ValueError("it needs more memory than there is") from error
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _read(format: Format, file: Any, query: str | None) -> Any:
    assert format.read is not None
    return format.read(file, query) if format.several else format.read(file)


def _with_header(grid: Grid, options: ReadOptions) -> tuple[pd.DataFrame, int]:
    """The cells below the names of a spreadsheet, and the number of the first row; titles above are left out."""
    rows = grid.frame
    filled = rows.notna().sum(axis=1)
    some = filled[filled > 0]
    width = int(some.iloc[1:].mode().max()) if len(some) > 1 else int(some.iloc[0])
    top = int((filled >= max(width - 1, 1)).to_numpy().argmax()) if len(rows) else 0
    texts = [["" if pd.isna(cell) else str(cell) for cell in row] for row in rows.iloc[top : top + 100].to_numpy()]
    named = has_names(texts[0], texts[1:]) if options.header is None else options.header
    if named and len(texts) > 2 and (joined := joined_names(texts[0], texts[1], texts[2:])) is not None:
        return rows.iloc[top + 2 :].set_axis(list(joined), axis=1).reset_index(drop=True), top + 3
    if not named:
        return rows.iloc[top:].set_axis([f"x{j}" for j in range(rows.shape[1])], axis=1).reset_index(drop=True), top + 1
    return rows.iloc[top + 1 :].set_axis(texts[0], axis=1).reset_index(drop=True), top + 2


def _plain_cells(column: pd.Series) -> pd.Series:
    """A column of objects as pandas would have read it: numbers as numbers, None as missing."""
    if column.dtype != object or column.map(lambda cell: isinstance(cell, (list, dict))).any():
        return column
    numbers = column.map(lambda cell: cell is None or isinstance(cell, (bool, int, float, np.number)))
    if bool(numbers.all()):
        return pd.to_numeric(column)
    return column.map(lambda cell: cell if cell is None or isinstance(cell, str) else _as_text(cell)).replace("", None)


def _as_text(cell: Any) -> Any:
    """A number among texts as a text; dates and lists stay what they are."""
    if isinstance(cell, float) and np.isnan(cell):
        return None
    return repr(cell) if isinstance(cell, (int, float, np.number)) else cell


def choose_positions(
    names: Sequence[str], columns: str | Sequence[str] | None = None, drop: str | Sequence[str] = ()
) -> list[int]:
    """Positions of the columns to use, in the table's order; a name that is not there is refused."""
    wanted = (
        set(names) if columns is None else set(pick_names([columns] if isinstance(columns, str) else columns, names))
    )
    wanted -= set(pick_names([drop] if isinstance(drop, str) else drop or (), names))
    return [position for position, name in enumerate(names) if name in wanted]


def read_adjacency(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a graph as ``dagtune learn`` writes it: a CSV with the names in its first row and column, then 0 and 1.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    DataFrame
        The numbers, with the names as index and columns; row causes column. Whether they form a graph is checked by
        :func:`dagtune.graph.as_matrix`.

    Raises
    ------
    InputError
        If the file cannot be read, or does not have that form.
    """
    path = Path(path)
    refuse_no_file(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except (ValueError, OSError, csv.Error) as error:
        raise _unreadable(path, error) from error
    if not rows:
        raise InputError(f"{str(path)!r} is empty: a graph has names in its first row and column, then 0 and 1")
    names = check_names(rows[0][1:], count=len(rows[0]) - 1)
    if [row[0] for row in rows[1:]] != list(names):
        raise InputError(
            f"{str(path)!r} is not a graph: its first row and its first column must name the same nodes in one order"
        )
    for row in rows[1:]:
        if len(row) != len(names) + 1:
            raise InputError(
                f"row {row[0]!r} of {str(path)!r} has {len(row) - 1} numbers for {len(names)} nodes: correct it"
            )
    try:
        numbers = np.array([row[1:] for row in rows[1:]], dtype=np.float64).reshape(len(names), len(names))
    except ValueError as error:
        raise InputError(
            f"{str(path)!r} is not a graph ({error}): below the names there must be only 0 and 1"
        ) from error
    return pd.DataFrame(numbers, index=list(names), columns=list(names))


def _unknown(name: str, names: Sequence[str]) -> NoReturn:
    """Refuse a column that is not there, with the nearest one that is, or some of them."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"there is no column {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"the columns are {some}")
    )


def _needs(path: str, error: ImportError) -> InputError:
    """The error for a file whose reader needs a package that is not installed."""
    package = "pyarrow" if error.name is None else error.name.split(".")[0]  # pandas names none, and means pyarrow
    return InputError(f"reading {path!r} needs {package}: pip install 'dagtune[files]'")


def _unreadable(path: str | os.PathLike[str], error: Exception) -> InputError:
    """The error for a file that is not what its name says."""
    name = "standard input" if str(path) == STDIN else repr(str(path))
    if isinstance(error, PermissionError):
        return InputError(f"can't read {name}: you have no permission; ask for it, or copy the file")
    if isinstance(error, UnicodeError):
        return InputError(f"can't read {name}: it is not UTF-8 text; save it as UTF-8")
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"can't read {name} as a table ({reason}): check the file")
