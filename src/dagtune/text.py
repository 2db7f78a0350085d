"""Text as people see it: control characters made visible, long names shortened, columns aligned.

Column names and file names are untrusted text. :func:`printable` makes control characters visible before they reach a
terminal, a picture or a page; the page escapes its own markup as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["columns_of_text", "plain", "printable", "say_seconds", "short_label", "shown", "value_words"]

_LONGEST_LABEL = 18
#: Characters that Unicode counts as printable but that look blank.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"


def printable(text: Any) -> str:
    r"""Text for a terminal, a picture or XML, with control characters made visible, as in ``\x1b``.

    Parameters
    ----------
    text : object
        Converted with ``str``.

    Returns
    -------
    str
        Printable characters only.

    Examples
    --------
    >>> print(printable("red" + chr(27) + "[31m"))
    red\x1b[31m
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(text))


def plain(value: Any) -> Any:
    """A numpy number as a Python number; anything else as it is.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        What ``json`` can write, if ``value`` is a number.

    Examples
    --------
    >>> plain(np.float64(0.5))
    0.5
    """
    return value.item() if isinstance(value, np.generic) else value


def shown(name: Any) -> str:
    """Name for people: control characters made visible, and a name that looks empty in quotes.

    Parameters
    ----------
    name : object
        Converted with ``str``.

    Returns
    -------
    str

    Examples
    --------
    >>> shown("age"), shown(" ")
    ('age', '" "')
    """
    text = printable(name)
    return text if any(not c.isspace() and c not in _BLANK for c in text) else f'"{text}"'


def short_label(name: Any, longest: int = _LONGEST_LABEL) -> str:
    """Name for a box: as :func:`shown`, with the middle of a long name replaced by an ellipsis.

    Parameters
    ----------
    name : object
        Converted with ``str``.
    longest : int
        Largest number of characters.

    Returns
    -------
    str

    Examples
    --------
    >>> short_label("systolic_blood_pressure_at_rest")
    'systolic_bl…t_rest'
    """
    text = shown(name)
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{text[-tail:]}"


def columns_of_text(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Lines of a table with aligned columns.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells, printable already.
    right : sequence of int
        Columns that are aligned to the right.

    Returns
    -------
    list of str

    Examples
    --------
    >>> columns_of_text([["a", "1"], ["bcd", "10"]], right=[1])
    ['a     1', 'bcd  10']
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    return [
        "  ".join(
            cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def say_seconds(seconds: float) -> str:
    """A time for people.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> say_seconds(600)
    '10 minutes'
    """
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} seconds"


def value_words(value: float | str) -> str:
    """A value of a table for a person: the name of a level as it is, a number with four digits.

    Parameters
    ----------
    value : float or str

    Returns
    -------
    str

    Examples
    --------
    >>> value_words("north"), value_words(1 / 3)
    ('north', '0.3333')
    """
    return printable(value) if isinstance(value, str) else f"{value:.4g}"
