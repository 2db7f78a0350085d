"""Tables and graphs in files, as they stand there: names verbatim, values not judged."""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagtune.validation import InputError, check_names

__all__ = ["load_frame", "pick_names", "read_adjacency", "read_header", "refuse_unnamed"]

#: What a table on disk may be called, and what reads it.
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".feather": "read_feather",
}


def read_header(path: str | os.PathLike[str], *, sep: str | None = None) -> tuple[str, ...]:
    """The column names of a table on disk, verbatim, without its rows."""
    path = Path(path)
    return _header(path, _separator(path, sep), "utf-8")


def pick_names(given: Iterable[str], names: Sequence[str]) -> list[str]:
    """The columns that ``given`` means: each text is a name, or several names with commas between them."""
    picked: dict[str, None] = {}
    for text in given:
        for name in [text] if text in names else [part.strip() for part in text.split(",")]:
            picked[_known(name, names)] = None
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
    """The table in a file as it stands there: names verbatim (even twice, even empty), values not judged.

    Pickles and unknown endings are refused before anything is opened.
    """
    path = Path(path)
    split_at = _separator(path, sep)
    header = _header(path, split_at, encoding)
    chosen = _chosen(header, columns, drop)
    try:
        if split_at is None:
            frame = getattr(pd, _READERS[path.suffix.lower()])(path)
            return frame.iloc[:, chosen].reset_index(drop=True)
        with io.BufferedReader(_Counted(path, progress), buffer_size=2**18) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # a column of mixed types is named further on
            options: dict[str, Any] = {} if len(chosen) == len(header) else {"usecols": chosen}
            names = list(range(len(header)))
            frame = pd.read_csv(file, sep=split_at, encoding=encoding, header=0, names=names, **options)
    except ImportError as error:
        raise _needs_pyarrow(path) from error
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from error
    return frame.set_axis([header[position] for position in chosen], axis=1)


class _Counted(io.FileIO):
    """A file that tells somebody which share of it was read."""

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
    """A graph as ``dagtune learn`` writes it: a CSV with the names in its first row and first column, then 0 and 1.

    Names come back verbatim, whatever they hold; row causes column. Whether the numbers make a graph is for
    :func:`dagtune.graph.as_matrix` to judge.
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
            f"{str(path)!r} is no graph: its first row must name the same nodes as its first column, in one order"
        )
    for row in rows[1:]:
        if len(row) != len(names) + 1:
            raise InputError(
                f"row {row[0]!r} of {str(path)!r} has {len(row) - 1} numbers for {len(names)} nodes: mend it"
            )
    try:
        numbers = np.array([row[1:] for row in rows[1:]], dtype=np.float64).reshape(len(names), len(names))
    except ValueError as error:
        raise InputError(f"{str(path)!r} is no graph ({error}): below its names it must hold 0 and 1") from error
    return pd.DataFrame(numbers, index=list(names), columns=list(names))


def _separator(path: Path, sep: str | None) -> str | None:
    """What splits the lines of a text table; None for a file that is no text."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise InputError(f"can't read {str(path)!r}: its ending must be one of {', '.join(_READERS)}")
    _refuse_no_file(path)
    if _READERS[ending] != "read_csv":
        if sep is not None:
            raise InputError(f"{str(path)!r} is no text, so nothing separates its columns: leave sep= out")
        return None
    found = sep or ("\t" if ending == ".tsv" else ",")
    found = {"\\t": "\t", "tab": "\t"}.get(found, found)  # as people type it in a shell
    if len(found) != 1 or found in '\r\n"':
        raise InputError(f"a separator is one character, not {sep!r}: pass sep=',' or sep=';' or sep='tab'")
    return found


def _refuse_no_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file in it")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path (this folder is {str(Path.cwd())!r})")


def _header(path: Path, split_at: str | None, encoding: str) -> tuple[str, ...]:
    """Column names, verbatim: pandas would rename those that stand twice or are empty."""
    try:
        if split_at is None:
            return _binary_header(path)
        options: dict[str, Any] = {"sep": split_at, "encoding": encoding, "keep_default_na": False}
        # The second row is read too: one longer than the names is an error here, and a silent row label later.
        cells = pd.read_csv(path, header=None, nrows=2, dtype=str, **options).iloc[0]
    except ImportError as error:
        raise _needs_pyarrow(path) from error
    except pd.errors.EmptyDataError as error:
        raise InputError(
            f"can't read {str(path)!r}: it is empty; write a row of names, then rows of numbers"
        ) from error
    except (ValueError, OSError) as error:  # pandas' parser, pyarrow's and unicode errors are all one of these
        raise _unreadable(path, error) from error
    names = tuple(str(cell) for cell in cells)
    if any("\0" in name for name in names):
        raise InputError(f"can't read {str(path)!r}: it is no text (there are zero bytes in it); save it as CSV again")
    other = re.search(r"[;\t|,]", names[0]) if len(names) == 1 else None
    if other is not None:
        shown = "tab" if other[0] == "\t" else other[0]
        raise InputError(
            f"{str(path)!r} has one column, named {names[0]!r}, when split at {split_at!r}: try sep={shown!r}"
        )
    return names


def _binary_header(path: Path) -> tuple[str, ...]:
    """Column names of a parquet or feather file."""
    if path.suffix.lower() == ".parquet":
        schema = import_module("pyarrow.parquet").read_schema(path)
    else:
        schema = import_module("pyarrow.feather").read_table(path, memory_map=True).schema
    return tuple(map(str, schema.empty_table().to_pandas().columns))  # without what pandas stored as row labels


def _chosen(header: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
    """Positions of the columns to read, in the file's order."""
    wanted = set(header if columns is None else [_known(name, header) for name in columns])
    refused = {_known(name, header) for name in drop}
    return [position for position, name in enumerate(header) if name in wanted and name not in refused]


def _known(name: str, names: Sequence[str]) -> str:
    """``name`` if it is a column; otherwise an error with the nearest one, or some of those there are."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(
        f"there is no column {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"the columns are {some}")
    )


def refuse_unnamed(frame: pd.DataFrame) -> None:
    for position, name in enumerate(frame.columns):
        if not str(name).strip():
            raise InputError(
                f"column {position + 1} has no name (row numbers, perhaps?): name it in the file, or pass drop={name!r}"
            )


def _needs_pyarrow(path: Path) -> InputError:
    return InputError(f"reading {path.suffix.lower()} needs pyarrow: pip install pyarrow")


def _unreadable(path: Path, error: Exception) -> InputError:
    """The error for a file that is not what its name says."""
    if isinstance(error, UnicodeError):
        return InputError(f"can't read {str(path)!r}: it is not UTF-8 text; save it as UTF-8 (or use iconv -t utf-8)")
    if isinstance(error, PermissionError):
        return InputError(f"can't read {str(path)!r}: you have no permission; ask for it, or copy the file")
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"can't read {str(path)!r} as a table ({reason}): check the file and sep=")
