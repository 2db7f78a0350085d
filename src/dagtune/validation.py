"""Every check of what a user hands in, and every such error message.

The one door for data is :func:`read_table`: an array, a DataFrame or the path of a table in, numbers and names out,
or an :class:`InputError` that says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "InputError",
    "Table",
    "check_choice",
    "check_count",
    "check_names",
    "check_vector_pair",
    "format_bytes",
    "parse_memory",
    "read_table",
]

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

    ``dropped`` names the constant columns that ``drop_constant=True`` left out.
    """

    values: np.ndarray
    names: tuple[str, ...]
    dropped: tuple[str, ...] = ()


def read_table(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    min_rows: int = 2,
    min_columns: int = 2,
    drop_constant: bool = False,
    sep: str | None = None,
) -> Table:
    """Numbers and names of ``data``: an array (rows, columns), a DataFrame, or the path of a table.

    Paths end in .csv, .tsv, .txt, .parquet or .feather; ``sep`` overrides the separator of the text ones. Columns of an
    array are called x0, x1, ... unless ``names`` says otherwise. Booleans count as 0 and 1. Refused, with the column
    named: text, missing and infinite values, constant columns (unless ``drop_constant``), columns named twice, too few
    rows or columns.
    """
    if isinstance(data, (str, os.PathLike)):
        data = _load(Path(data), sep)
    if isinstance(data, pd.Series):
        data = data.to_frame()
    if isinstance(data, pd.DataFrame):
        found = check_names(data.columns if names is None else names, count=data.shape[1])
        values = _numbers_of_frame(data, found)
    else:
        values = _numbers_of_array(data)
        found = check_names(
            [f"x{j}" for j in range(values.shape[1])] if names is None else names, count=values.shape[1]
        )
    _refuse_too_few(values, min_rows, min_columns)
    _refuse_missing(values, found)
    constant = values.max(axis=0) == values.min(axis=0)
    if not constant.any():
        return Table(values, found)
    if not drop_constant:
        first = int(np.argmax(constant))
        raise InputError(
            f"column {found[first]!r} is constant ({values[0, first]:g} in all {len(values)} rows)"
            f"{_and_more(constant)}: drop it, or pass drop_constant=True"
        )
    kept, dropped = _split(found, constant)
    values = np.ascontiguousarray(values[:, ~constant])
    _refuse_too_few(values, min_rows, min_columns)
    return Table(values, kept, dropped)


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


def _load(path: Path, sep: str | None) -> pd.DataFrame:
    """The table in a file; pickles and unknown endings are refused before anything is opened."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise InputError(f"can't read {str(path)!r}: its ending must be one of {', '.join(_READERS)}")
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}: check the path (this folder is {str(Path.cwd())!r})")
    options = {"sep": sep or ("\t" if ending == ".tsv" else ",")} if _READERS[ending] == "read_csv" else {}
    try:
        frame = getattr(pd, _READERS[ending])(path, **options)
    except ImportError as error:
        raise InputError(f"reading {ending} needs pyarrow: pip install pyarrow") from error
    except (ValueError, OSError) as error:  # pandas' parser, pyarrow's and unicode errors are all one of these
        reason = str(error).splitlines()[0]
        raise InputError(f"can't read {str(path)!r} as a table ({reason}): check the file and sep=") from error
    if options and frame.shape[1] == 1 and len(frame) and re.search(r"[;\t|]", str(frame.columns[0])):
        raise InputError(
            f"{str(path)!r} has one column, named {str(frame.columns[0])!r}, when split at {options['sep']!r}: "
            "pass the right sep="
        )
    return frame


def _numbers_of_frame(frame: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    """(rows, columns) float64 of a DataFrame; a column that is not numeric is named."""
    columns = np.empty(frame.shape, dtype=np.float64, order="F")
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
            converted = _object_numbers(column)
            if converted is None:
                raise InputError(
                    f"column {name!r} is not numeric (type {column.dtype}, first value {_first_text(column)!r}): "
                    "encode it as numbers, or drop it"
                )
            columns[:, j] = converted
        else:
            columns[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ascontiguousarray(columns)


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
    for count, least, what in ((len(values), min_rows, "row"), (values.shape[1], min_columns, "column")):
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
        ("missing (NaN)", np.isnan(values), "drop those rows, or fill the values in"),
        ("infinite", np.isinf(values), "clip or drop those values"),
    ):
        columns = bad.any(axis=0)
        if columns.any():  # a sum can overflow without any value being infinite
            j = int(np.argmax(columns))
            raise InputError(
                f"column {names[j]!r} has {bad[:, j].sum()} {what} of {len(values)} values, the first in row "
                f"{int(np.argmax(bad[:, j]))}{_and_more(columns)}: {cure}"
            )


def _and_more(columns: np.ndarray) -> str:
    others = int(columns.sum()) - 1
    return f" (and so {'is' if others == 1 else 'are'} {others} more)" if others else ""


def _split(names: tuple[str, ...], flags: np.ndarray) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = tuple(name for name, flag in zip(names, flags) if not flag)
    return kept, tuple(name for name, flag in zip(names, flags) if flag)
