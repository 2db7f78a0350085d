"""Tables and graphs in files, loaded as they are: names unchanged, values not judged.

A file format is one call of :func:`register_format`.
"""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from dagtune.registry import Registry
from dagtune.validation import MAX_COLUMNS, InputError, check_names, check_width

__all__ = [
    "FORMATS",
    "Format",
    "choose_positions",
    "is_text",
    "load_frame",
    "pick_names",
    "read_adjacency",
    "read_header",
    "register_format",
]

# Before 3.1, pandas reads a third of all long decimals wrong in the last bit unless it is asked not to; since then it
# needs no asking, and warns.
_EXACT = {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}


@dataclass(frozen=True)
class Format:
    """How files of one ending (``name``) are read; text has a ``separator``, the others ``read`` and ``header``."""

    name: str
    separator: str | None = None
    read: Callable[[Path], pd.DataFrame] | None = None
    header: Callable[[Path], Iterable[Any]] | None = None


#: Formats by the ending of the file's name.
FORMATS: Registry[Format] = Registry("file format")


def register_format(
    suffix: str,
    read: Callable[[Path], pd.DataFrame] | None = None,
    *,
    header: Callable[[Path], Iterable[Any]] | None = None,
    separator: str | None = None,
) -> None:
    """Make a file format known by the ending of its files.

    Parameters
    ----------
    suffix : str
        The ending, with its dot, such as ".xlsx".
    read : callable, optional
        Takes a path and returns a DataFrame. It may raise ValueError, OSError or ImportError; the message then says
        that the file cannot be read, and why.
    header : callable, optional
        Takes a path and returns the column names without reading the rows. Default: reads the whole file.
    separator : str, optional
        For text files with a row of names: what separates the columns. Then ``read`` and ``header`` are not given.

    Raises
    ------
    InputError
        If the ending is already registered, or both or neither of ``read`` and ``separator`` are given.

    Examples
    --------
    >>> from dagtune.tables import FORMATS, register_format
    >>> register_format(".psv", separator="|")
    >>> ".psv" in FORMATS
    True
    >>> del FORMATS[".psv"]
    """
    suffix = suffix.lower()
    if not suffix.startswith(".") or (read is None) == (separator is None):
        raise InputError(f"the file format {suffix!r} needs an ending with a dot, and either read= or separator=")
    if read is not None and header is None:
        header = lambda path: read(path).columns  # noqa: E731
    FORMATS.register(Format(suffix, separator, read, header))


def is_text(path: Path) -> bool:
    """Whether the ending of a path says that it is a text table."""
    known = FORMATS.get(path.suffix.lower())
    return known is not None and known.separator is not None


def read_header(path: str | os.PathLike[str], *, sep: str | None = None) -> tuple[str, ...]:
    """Read the column names of a table, without its rows.

    Parameters
    ----------
    path : str or path
        A file in one of the registered formats.
    sep : str, optional
        What separates the columns of a text file, if not what its ending says.

    Returns
    -------
    tuple of str
        The names exactly as they are in the file, even if some are equal or empty.

    Raises
    ------
    InputError
        If there is no such file, or it cannot be read.
    """
    path = Path(path)
    return _header(path, _separator(path, sep), "utf-8")


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
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    encoding: str = "utf-8",
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """Load a table from a file, without judging its names or values.

    Endings that are not registered, such as those of pickles, are refused before anything is opened.

    Parameters
    ----------
    path : str or path
        A file in one of the registered formats.
    sep : str, optional
        What separates the columns of a text file, if not what its ending says.
    columns, drop : sequence of str, optional
        Which columns to load, and which to leave out; they keep the file's order.
    encoding : str
        The encoding of a text file.
    progress : callable, optional
        Called with the share of a text file that was read.

    Returns
    -------
    DataFrame
        Its names are exactly those in the file, even if some are equal or empty.

    Raises
    ------
    InputError
        If the file cannot be read, or has no such column.
    """
    path = Path(path)
    split_at = _separator(path, sep)
    header = _header(path, split_at, encoding)
    chosen = choose_positions(header, columns, drop)
    check_width(len(chosen))
    try:
        read = FORMATS[path.suffix.lower()].read
        if read is not None:
            return read(path).iloc[:, chosen].reset_index(drop=True)
        with io.BufferedReader(_Counted(path, progress), buffer_size=2**18) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # read_table names a column of mixed types
            options: dict[str, Any] = _EXACT if len(chosen) == len(header) else _EXACT | {"usecols": chosen}
            names = list(range(len(header)))
            frame = pd.read_csv(file, sep=split_at, encoding=encoding, header=0, names=names, **options)
    except ImportError as error:
        raise _needs(path, error) from error
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from error
    return frame.set_axis([header[position] for position in chosen], axis=1)


def choose_positions(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
    """Positions of the columns to use, in the table's order; a name that is not there is refused."""
    there = set(names)
    for name in (*(columns or ()), *drop):
        if name not in there:
            _unknown(name, names)
    wanted = there if columns is None else set(columns)
    wanted = wanted - set(drop)
    return [position for position, name in enumerate(names) if name in wanted]


class _Counted(io.FileIO):
    """A file that reports which share of it was read."""

    def __init__(self, path: Path, progress: Callable[[float], None] | None) -> None:
        super().__init__(path)
        self._size, self._done, self._progress = max(path.stat().st_size, 1), 0, progress

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if self._progress is not None and count:
            self._done += count
            self._progress(min(self._done / self._size, 1.0))
        return count


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
    _refuse_no_file(path)
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


def _separator(path: Path, sep: str | None) -> str | None:
    """What separates the columns of a text table; None for a file that is not text."""
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"can't read {str(path)!r}: its ending must be one of {', '.join(FORMATS)}")
    _refuse_no_file(path)
    usual = FORMATS[ending].separator
    if usual is None:
        if sep is not None:
            raise InputError(f"{str(path)!r} is not a text file, so it has no separator: leave sep= out")
        return None
    found = sep or usual
    found = {"\\t": "\t", "tab": "\t"}.get(found, found)  # as people type it in a shell
    if len(found) != 1 or found in '\r\n"':
        raise InputError(f"a separator is one character, not {sep!r}: pass sep=',' or sep=';' or sep='tab'")
    return found


def _refuse_no_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file in it")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path (this folder is {str(Path.cwd())!r})")


def _header(path: Path, split_at: str | None, encoding: str) -> tuple[str, ...]:
    """Column names as they are in the file: pandas would rename duplicates and empty ones."""
    if split_at is not None:
        _refuse_too_wide(path, split_at, encoding)
    try:
        header = FORMATS[path.suffix.lower()].header
        if header is not None:
            return tuple(map(str, header(path)))
        options: dict[str, Any] = {"sep": split_at, "encoding": encoding, "keep_default_na": False}
        # The second row is read too: if it is longer than the names, that is an error here, and would silently become
        # row labels later.
        cells = pd.read_csv(path, header=None, nrows=2, dtype=str, **options).iloc[0]
    except ImportError as error:
        raise _needs(path, error) from error
    except pd.errors.EmptyDataError as error:
        raise InputError(
            f"can't read {str(path)!r}: it is empty; write a row of names, then rows of numbers"
        ) from error
    except (ValueError, OSError) as error:  # pandas' parser, pyarrow's and unicode errors are all one of these
        raise _unreadable(path, error) from error
    names = tuple(str(cell) for cell in cells)
    if any("\0" in name for name in names):
        raise InputError(f"can't read {str(path)!r}: it is not text (it contains zero bytes); save it as CSV again")
    other = re.search(r"[;\t|,]", names[0]) if len(names) == 1 else None
    if other is not None:
        shown = "tab" if other[0] == "\t" else other[0]
        raise InputError(
            f"{str(path)!r} has one column, named {names[0]!r}, when split at {split_at!r}: try sep={shown!r}"
        )
    return names


def _refuse_too_wide(path: Path, split_at: str, encoding: str) -> None:
    """Refuse a text table of too many columns before pandas sees its first line, which would take it minutes."""
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            count = len(next(filter(None, csv.reader(file, delimiter=split_at)), ()))
    except (OSError, csv.Error):
        return  # pandas says what is wrong
    if count > MAX_COLUMNS:
        raise InputError(
            f"{str(path)!r} has {count} columns, but at most {MAX_COLUMNS} can be read from a text file: cut some out "
            "of the file, or check that the table is not transposed"
        )


def _unknown(name: str, names: Sequence[str]) -> NoReturn:
    """Refuse a column that is not there, with the nearest one that is, or some of them."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"there is no column {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"the columns are {some}")
    )


def _needs(path: Path, error: ImportError) -> InputError:
    """The error for a file whose reader needs a package that is not installed."""
    package = "pyarrow" if error.name is None else error.name.split(".")[0]  # pandas names none, and means pyarrow
    return InputError(f"reading {path.suffix.lower()} needs {package}: pip install {package}")


def _unreadable(path: Path, error: Exception) -> InputError:
    """The error for a file that is not what its name says."""
    if isinstance(error, UnicodeError):
        return InputError(f"can't read {str(path)!r}: it is not UTF-8 text; save it as UTF-8 (or use iconv -t utf-8)")
    if isinstance(error, PermissionError):
        return InputError(f"can't read {str(path)!r}: you have no permission; ask for it, or copy the file")
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"can't read {str(path)!r} as a table ({reason}): check the file and sep=")


def _parquet_header(path: Path) -> pd.Index:
    return _without_row_labels(import_module("pyarrow.parquet").read_schema(path))


def _feather_header(path: Path) -> pd.Index:
    return _without_row_labels(import_module("pyarrow.feather").read_table(path, memory_map=True).schema)


def _without_row_labels(schema: Any) -> pd.Index:
    """The columns of an Arrow schema, without those that pandas stored as row labels."""
    return schema.empty_table().to_pandas().columns


register_format(".csv", separator=",")
register_format(".tsv", separator="\t")
register_format(".txt", separator=",")
register_format(".parquet", pd.read_parquet, header=_parquet_header)
register_format(".feather", pd.read_feather, header=_feather_header)
