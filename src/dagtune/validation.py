"""Checks of single values that a user hands in, and the error that says what is wrong and what to do.

Tables have a door of their own: :func:`dagtune.tables.read_table`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["InputError", "check_choice", "check_count", "check_names", "format_bytes", "parse_memory"]


class InputError(ValueError):
    """Something the user handed in can't be used; the message says what, where, and what to do."""


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
