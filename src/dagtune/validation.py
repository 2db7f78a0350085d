"""Checks of the values that a user passes, and the error that says what is wrong and what to do.

Tables are checked by :func:`dagtune.tables.read_table`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "MAX_COLUMNS",
    "InputError",
    "check_choice",
    "check_count",
    "check_names",
    "check_width",
    "format_bytes",
    "parse_memory",
    "read_entries",
]


class InputError(ValueError):
    """An input that cannot be used; the message says what is wrong, where, and what to do.

    Examples
    --------
    >>> from dagtune import InputError, hsic
    >>> try:
    ...     hsic([1.0, 2.0, 3.0], [1.0, 2.0])
    ... except InputError as error:
    ...     print(error)
    x has 3 rows and y has 2: give the same rows of both
    """


#: The most columns of a table, or nodes of a graph. The numbers about all pairs of so many take 0.8 GB.
MAX_COLUMNS = 10_000


def check_names(names: Iterable[Any], *, count: int) -> tuple[str, ...]:
    """Column names as text, after checking that there is one for each column and that all differ.

    Parameters
    ----------
    names : iterable
        The names; whatever is not text is turned into text.
    count : int
        The number of columns, at most ``MAX_COLUMNS``.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        If there are too many columns, or the number of names is not ``count``, or two names are equal.

    Examples
    --------
    >>> check_names(["age", 7], count=2)
    ('age', '7')
    """
    check_width(count)
    texts = tuple(str(name) for name in names)
    if len(texts) != count:
        raise InputError(f"{len(texts)} names for {count} columns: give one name for each column")
    if len(set(texts)) < count:
        name, times = next((name, times) for name, times in Counter(texts).items() if times > 1)
        raise InputError(f"duplicate column name {name!r} ({times} columns): rename the columns so that they differ")
    return texts


def check_width(count: int) -> None:
    """Refuse a table with more than ``MAX_COLUMNS`` columns, before anything is done for each of them."""
    if count > MAX_COLUMNS:
        raise InputError(
            f"the data have {count} columns, but at most {MAX_COLUMNS} can be used: choose some of them, or check that "
            "the table is not transposed"
        )


def check_choice(what: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the words allowed.

    Parameters
    ----------
    what : str
        What the word is for, as the error message calls it.
    value : object
        What the user passed.
    allowed : iterable of str
        The words that would do.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If ``value`` is none of them; the message lists them and guesses which was meant.

    Examples
    --------
    >>> check_choice("kernel", "gaussian", ["gaussian", "sigmoid"])
    'gaussian'
    """
    options = list(allowed)
    if isinstance(value, str) and value in options:
        return value
    close = difflib.get_close_matches(str(value), options, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    raise InputError(f"unknown {what} {value!r}: choose one of {', '.join(map(repr, options))}{guess}")


def check_count(what: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int, after checking that it is a whole number in the range.

    Parameters
    ----------
    what : str
        The name of the number in the error message.
    value : object
        What the user passed. Booleans and fractions are refused.
    least, most : int, optional
        The smallest and the largest number allowed; no largest by default.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If ``value`` is not such a number.

    Examples
    --------
    >>> check_count("bags", 3, least=0)
    3
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < least or (most is not None and value > most):
        room = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{what} must be a whole number {room}, not {value!r}")
    return int(value)


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def parse_memory(memory: str | int) -> int:
    """Read an amount of memory.

    Parameters
    ----------
    memory : str or int
        A size with a unit, such as "1GiB" or "500 MB", or a number of bytes.

    Returns
    -------
    int
        The number of bytes.

    Raises
    ------
    InputError
        If it is neither, or not above 0.

    Examples
    --------
    >>> parse_memory("1.5 KiB")
    1536
    """
    if isinstance(memory, (int, np.integer)) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(memory))
    if match is None or match[2].upper() not in _UNITS or float(match[1]) <= 0:
        raise InputError(f"memory must be a size such as '1GiB', '500MB' or a number of bytes, not {memory!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def format_bytes(count: float) -> str:
    """Write a number of bytes for people.

    Parameters
    ----------
    count : float
        The number of bytes.

    Returns
    -------
    str
        The size in the largest unit that fits, with one decimal.

    Examples
    --------
    >>> format_bytes(1610612736)
    '1.5 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


#: What is read from TOML and JSON nests three or four levels deep. Parsers take long, or fail, far beyond that.
_DEEPEST = 50
#: Bytes of the largest such file: a million edges.
_LONGEST = 2**25


def read_entries(path: str | os.PathLike[str], what: str) -> Any:
    """Read a .toml or .json file, such as one of prior knowledge.

    Parameters
    ----------
    path : path
    what : str
        What it holds, for messages.

    Returns
    -------
    object
        Mappings, lists and values as they stand there.

    Raises
    ------
    InputError
        If there is no such file, or it can't be parsed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "known.toml").write_text('required = [["rain", "wet"]]')
    ...     read_entries(Path(folder) / "known.toml", "knowledge")
    {'required': [['rain', 'wet']]}
    """
    path = Path(path)
    if path.suffix.lower() not in (".toml", ".json"):
        raise InputError(f"can't read {what} from {str(path)!r}: the file name must end in .toml or .json")
    if not path.is_file():
        raise InputError(f"there is no file of {what} {str(path)!r}: check the path")
    try:
        if path.stat().st_size > _LONGEST:
            raise ValueError(f"it is longer than {format_bytes(_LONGEST)}")
        text = path.read_text(encoding="utf-8")
        _refuse_deep(text)
        return tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:  # TOML's, JSON's and unicode errors are all of the first kind
        raise InputError(f"can't read {str(path)!r} ({str(error).splitlines()[0]}): fix the file") from error


def _refuse_deep(text: str) -> None:
    """Refuse a text with more open brackets at once than it can have, or with a name of very many parts."""
    depth = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} brackets are open at once")
    if max(map(len, re.findall(r"[\w.\-\"' ]+\.[\w.\-\"' ]+", text)), default=0) > 10_000:
        raise ValueError("a key has more than 10 000 characters")
