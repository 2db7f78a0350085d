"""Names and numbers as people see them: nothing hidden, nothing too long.

Column names and file names are untrusted text: :func:`printable` makes control characters visible before they reach a
terminal, a picture or a page (which escapes its own markup besides).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["plain", "printable", "short_label", "shown"]

_LONGEST_LABEL = 18
#: Letters and signs that Unicode calls printable and nobody sees.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"


def printable(text: Any) -> str:
    r"""``text`` for a terminal, a picture or XML: control characters and the like become visible, as in ``\x1b``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(text))


def plain(value: Any) -> Any:
    """A number as JSON knows it, for those that come from numpy; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def shown(name: Any) -> str:
    """``name`` for people: control characters visible, one that looks empty in quotes."""
    text = printable(name)
    return text if any(not c.isspace() and c not in _BLANK for c in text) else f'"{text}"'


def short_label(name: Any, longest: int = _LONGEST_LABEL) -> str:
    """``name`` for a box: as :func:`shown`, a long one without its middle."""
    text = shown(name)
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{text[-tail:]}"
