"""Every check of what a user hands in, and every such error message.

The one door for data is :func:`read_table`: an array, a DataFrame or the path of a table in, numbers and names out,
or an :class:`InputError` that says what is wrong, where, and what to do about it.
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
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "MAX_LEVELS",
    "InputError",
    "Table",
    "check_choice",
    "check_count",
    "check_names",
    "check_vector_pair",
    "format_bytes",
    "load_frame",
    "parse_memory",
    "pick_names",
    "read_adjacency",
    "read_header",
    "read_table",
]

#: The most levels of a categorical column.
MAX_LEVELS = 20
#: What may be done about missing values.
MISSING = ("error", "drop", "impute")

#: What a table on disk may be called, and what reads it.
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".feather": "read_feather",
}


class InputError(ValueError):
    """Something the user handed in can't be used; the message says what, where, and what to do."""


@dataclass(frozen=True)
class Table:
    """Numbers and names: ``values`` is float64 of shape (rows, columns), ``names`` one text for each column.

    ``dropped`` names the constant columns that ``drop_constant=True`` left out; ``lost_rows`` counts the rows that
    ``missing="drop"`` left out, ``filled`` the values that ``missing="impute"`` filled in. ``categorical`` names the
    columns whose values are numbers of levels.
    """

    values: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    lost_rows: int = 0
    filled: int = 0
    categorical: tuple[str, ...] = ()


def read_table(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    min_rows: int = 2,
    min_columns: int = 2,
    drop_constant: bool = False,
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: str = "error",
    categorical: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> Table:
    """Numbers and names of ``data``: an array (rows, columns), a DataFrame, or the path of a table.

    Paths end in .csv, .tsv, .txt, .parquet or .feather; ``sep`` overrides the separator of the text ones. Columns of an
    array are called x0, x1, ... unless ``names`` says otherwise. Booleans count as 0 and 1. Refused, with the column
    named: text, missing and infinite values, constant columns (unless ``drop_constant``), columns named twice or not at
    all, too few rows or columns.

    ``columns`` and ``drop`` choose columns of a file, in the file's order; the others are never judged.
    ``missing="drop"`` leaves out rows with a missing value, "impute" puts the column's median there (the most frequent
    level of a categorical one). ``progress`` hears the share of a text file that was read. ``categorical`` names
    columns of any type whose values are levels; they are numbered from 0.
    """
    check_choice("treatment of missing values", missing, MISSING)
    if isinstance(data, (str, os.PathLike)):
        data = load_frame(data, sep=sep, columns=columns, drop=drop, progress=progress)
        _refuse_unnamed(data)
    if isinstance(data, pd.Series):
        data = data.to_frame()
    categorical = [categorical] if isinstance(categorical, str) else categorical
    if categorical and not isinstance(data, pd.DataFrame):
        array = np.asarray(data)
        data = pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])]) if array.ndim == 2 else data
    if isinstance(data, pd.DataFrame):
        found = check_names(data.columns if names is None else names, count=data.shape[1])
        categorical = pick_names(categorical, found)
        values = _numbers_of_frame(data, found, frozenset(categorical))
    else:
        values = _numbers_of_array(data)
        found = check_names(
            [f"x{j}" for j in range(values.shape[1])] if names is None else names, count=values.shape[1]
        )
    _refuse_too_few(values, min_rows, min_columns)
    levels = np.array([name in categorical for name in found])
    values, lost_rows, filled = _without_missing(values, found, missing, min_rows, levels)
    _refuse_missing(values, found)
    constant = values.max(axis=0) == values.min(axis=0)
    if not constant.any():
        return Table(values, found, lost_rows=lost_rows, filled=filled, categorical=_split(found, ~levels)[0])
    if not drop_constant:
        first = int(np.argmax(constant))
        raise InputError(
            f"column {found[first]!r} is constant ({values[0, first]:g} in all {len(values)} rows)"
            f"{_and_more(constant)}: drop it, or pass drop_constant=True"
        )
    kept, dropped = _split(found, constant)
    values = np.ascontiguousarray(values[:, ~constant])
    _refuse_too_few(values, min_rows, min_columns)
    return Table(values, kept, dropped, lost_rows, filled, _split(found, ~levels | constant)[0])


def check_names(names: Iterable[Any], *, count: int) -> tuple[str, ...]:
    """``names`` as distinct texts, one for each of ``count`` columns."""
    texts = tuple(str(name) for name in names)
    if len(texts) != count:
        raise InputError(f"{len(texts)} names for {count} columns: give one name for each column")
    if len(set(texts)) < count:
        twice = next(name for name in texts if texts.count(name) > 1)
        raise InputError(f"column name {twice!r} stands {texts.count(twice)} times: rename the columns so they differ")
    return texts


def check_choice(what: str, value: Any, allowed: Iterable[str]) -> str:
    """``value`` if it is one of ``allowed``; otherwise an error that lists them and guesses what was meant."""
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    close = difflib.get_close_matches(str(value), options, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise InputError(f"unknown {what} {value!r}: choose one of {', '.join(map(repr, options))}{guess}")


def check_count(what: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """``value`` as an int between ``least`` and ``most``; booleans and fractions are refused."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < least or (most is not None and value > most):
        room = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{what} must be a whole number {room}, not {value!r}")
    return int(value)


def check_vector_pair(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of the same rows as float64 matrices (rows, columns); a vector becomes one column."""
    pair = []
    for side, given in (("x", x), ("y", y)):
        column = given.to_frame() if isinstance(given, pd.Series) else given
        if not isinstance(column, pd.DataFrame):
            column = np.asarray(column)
            if column.ndim == 1:
                column = column[:, None]
            label = [side] if column.ndim == 2 and column.shape[1] == 1 else None
        else:
            label = None
        pair.append(read_table(column, names=label, min_columns=1))
    if len(pair[0].values) != len(pair[1].values):
        raise InputError(
            f"x has {len(pair[0].values)} rows and y has {len(pair[1].values)}: give the same rows of both"
        )
    return pair[0].values, pair[1].values


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_memory(memory: str | int) -> int:
    """Bytes of a text such as "1GiB", "500 MB", or of a number of bytes."""
    if isinstance(memory, (int, np.integer)) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(memory))
    if match is None or match[2].upper() not in _UNITS or float(match[1]) <= 0:
        raise InputError(f"memory must be a size such as '1GiB', '500MB' or a number of bytes, not {memory!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def format_bytes(count: float) -> str:
    """A size a person can read: 1610612736 -> '1.5 GiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


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


def _refuse_unnamed(frame: pd.DataFrame) -> None:
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


def _numbers_of_frame(
    frame: pd.DataFrame, names: tuple[str, ...], categorical: frozenset[str] = frozenset()
) -> np.ndarray:
    """(rows, columns) float64 of a DataFrame; a column that is neither numeric nor categorical is named."""
    if not categorical and (frame.dtypes == np.float64).all():
        return np.ascontiguousarray(frame.to_numpy())
    columns = np.empty(frame.shape, dtype=np.float64, order="F")
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        if name in categorical:
            columns[:, j] = _level_numbers(column, name)
        elif not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
            converted = _object_numbers(column)
            if converted is None:
                first = _first_text(column)
                comma = isinstance(first, str) and re.fullmatch(r"\s*[-+]?\d+,\d+\s*", first)
                cure = "encode it as numbers, drop it, or name it as categorical (conditional learner: a cause only)"
                cure = "write 1.5 for 1,5" if comma else cure
                raise InputError(f"column {name!r} is not numeric (type {column.dtype}, first value {first!r}): {cure}")
            columns[:, j] = converted
        else:
            columns[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(columns)


def _level_numbers(column: pd.Series, name: str) -> np.ndarray:
    """The number of each value among the different ones, in their order; NaN where it is missing."""
    if column.dtype == object:
        column = column.map(str, na_action="ignore")
    numbers, levels = pd.factorize(column, sort=True)
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"column {name!r} has {len(levels)} different values, too many for a categorical one (at most "
            f"{MAX_LEVELS}): merge the rare ones, use it as numbers, or drop it"
        )
    return np.where(numbers < 0, np.nan, numbers)


def _object_numbers(column: pd.Series) -> np.ndarray | None:
    """Numbers of an object column that holds only real numbers (not texts of numbers), else None."""
    if column.dtype != object or not all(
        value is None or (isinstance(value, (bool, int, float, np.number)) and not isinstance(value, complex))
        for value in column
    ):
        return None
    return pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)


def _first_text(column: pd.Series) -> Any:
    """The first value that is no number: what the user should look for."""
    for value in column:
        if value is not None and not isinstance(value, (bool, int, float, np.number)):
            return value
    return column.iloc[0] if len(column) else None


def _numbers_of_array(data: Any) -> np.ndarray:
    array = np.asarray(data)
    if array.ndim != 2:
        raise InputError(f"data must be a table with rows and columns (2 dimensions), not {array.ndim}: reshape it")
    if array.dtype.kind in "OUS":
        return _numbers_of_frame(pd.DataFrame(array), tuple(f"x{j}" for j in range(array.shape[1])))
    if array.dtype.kind not in "biuf":
        raise InputError(f"data of type {array.dtype} are not real numbers: convert them to float")
    return np.ascontiguousarray(array, dtype=np.float64)


def _refuse_too_few(values: np.ndarray, min_rows: int, min_columns: int) -> None:
    for count, least, what in ((values.shape[1], min_columns, "column"), (len(values), min_rows, "row")):
        if count < least:
            raise InputError(
                f"the data have {count} {what}{'' if count == 1 else 's'}, but at least {least} are needed: "
                f"add {what}s, or check that the table is not transposed"
            )


def _refuse_missing(values: np.ndarray, names: tuple[str, ...]) -> None:
    with np.errstate(over="ignore"):
        if np.isfinite(values.sum()):  # one pass, no temporary: the usual case
            return
    for what, bad, cure in (
        ("missing (NaN)", np.isnan(values), "drop those rows, or fill the values in (missing='drop' or 'impute')"),
        ("infinite", np.isinf(values), "clip or drop those values"),
    ):
        columns = bad.any(axis=0)
        if columns.any():  # a sum can overflow without any value being infinite
            j = int(np.argmax(columns))
            raise InputError(
                f"column {names[j]!r} has {bad[:, j].sum()} {what} of {len(values)} values, the first in row "
                f"{int(np.argmax(bad[:, j]))}{_and_more(columns)}: {cure}"
            )


def _without_missing(
    values: np.ndarray, names: tuple[str, ...], missing: str, min_rows: int, levels: np.ndarray
) -> tuple[np.ndarray, int, int]:
    """The values with missing ones treated as asked for, the number of rows left out and of values filled in."""
    if missing == "error" or not np.isnan(values).any():
        return values, 0, 0
    gone = np.isnan(values)
    if gone.all(axis=0).any():
        raise InputError(f"column {names[int(np.argmax(gone.all(axis=0)))]!r} has no values at all: drop it")
    if missing == "drop":
        kept = ~gone.any(axis=1)
        if kept.sum() < min_rows:
            raise InputError(
                f"{kept.sum()} of {len(values)} rows have no missing value: use missing='impute', or drop the columns "
                f"with most of them ({names[int(gone.sum(axis=0).argmax())]!r} first)"
            )
        return np.ascontiguousarray(values[kept]), int((~kept).sum()), 0
    usual = np.nanmedian(values, axis=0)
    for j in np.flatnonzero(levels):
        usual[j] = np.argmax(np.bincount(values[~gone[:, j], j].astype(np.intp)))
    return np.where(gone, usual, values), 0, int(gone.sum())


def _and_more(columns: np.ndarray) -> str:
    others = int(columns.sum()) - 1
    return f" (and so {'is' if others == 1 else 'are'} {others} more)" if others else ""


def _split(names: tuple[str, ...], flags: np.ndarray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = tuple(name for name, flag in zip(names, flags) if not flag)
    return kept, tuple(name for name, flag in zip(names, flags) if flag)
