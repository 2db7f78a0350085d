"""What is wrong with the columns of a table, collected, so that one message says all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from dagtune.tables.files import Loaded
from dagtune.validation import InputError

__all__ = ["Troubles"]

#: Columns that one message names.
_MOST = 6


class Troubles:
    """What is wrong, column by column; :meth:`tell` raises it at once.

    Parameters
    ----------
    loaded : Loaded or None
        The file, if the table comes from one.
    asked : mapping of str to str
        The kinds asked for. Cells that are no numbers are no trouble in a column whose kind was named.
    """

    def __init__(self, loaded: Loaded | None, asked: Mapping[str, str]) -> None:
        self._where = "row {}".format if loaded is None else loaded.where
        self._found: dict[str, list[tuple[str, str]]] = {}
        self._named = dict(asked)
        self._is_file = loaded is not None
        for problem in loaded.problems if loaded is not None else ():
            if problem.column not in asked:
                text = problem.text.format(where=self._where(problem.row - (0 if loaded is None else loaded.first_row)))
                self._add(problem.column, f"column {text}", problem.cure)

    def _add(self, column: str, text: str, cure: str) -> None:
        self._found.setdefault(column, []).append((text, cure))

    @contextmanager
    def noted(self, column: str) -> Iterator[None]:
        """Keep what is raised about a column; a bad cell that is known already says more."""
        try:
            yield
        except InputError as error:
            if column not in self._found:
                self._add(column, *_parted(str(error)))

    def about_gaps(self, table: Any) -> None:
        """Missing values."""
        values = table.values
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):  # one pass, no temporary: the usual case
                return
        self._about(
            table,
            np.isnan(values),
            "missing (NaN)",
            "leave those rows out, or draw the values from what the other columns tell (missing='drop' or 'model')",
        )

    def about_infinite(self, table: Any) -> None:
        """Infinite values."""
        values = table.values
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return
        self._about(
            table,
            np.isinf(values),
            "infinite",
            "clip them, or leave those rows out (na='inf' and missing='drop')"
            if self._is_file
            else "clip or drop those values",
        )

    def _about(self, table: Any, bad: np.ndarray, what: str, cure: str) -> None:
        for j in np.flatnonzero(bad.any(axis=0)):
            if table.names[j] not in self._found:
                count, where = int(bad[:, j].sum()), self._where(int(np.argmax(bad[:, j])))
                text = f"column {table.names[j]!r} has {count} {what} of {len(bad)} values, the first in {where}"
                known, helps = table.values[~bad[:, j], j], cure
                if len(known) and known.min() == known.max():  # a cross, or nothing: rows with gaps tell the other half
                    text += ", and only one other value"
                    helps = f"write what the empty cells mean, or leave it out (drop=[{table.names[j]!r}])"
                self._add(table.names[j], text, helps)

    def about_constant(self, table: Any) -> None:
        """Constant columns."""
        values = table.values
        for j in np.flatnonzero(values.max(axis=0) == values.min(axis=0)):
            words = table.labels.get(table.names[j], ())
            value = repr(words[0]) if len(words) == 1 else f"{values[0, j]:g}"
            text = f"column {table.names[j]!r} is constant ({value} in all {len(values)} rows)"
            self._add(table.names[j], text, "drop it, or pass drop_constant=True")

    def tell(self) -> None:
        """Raise everything in one line, the cure after all columns that it helps."""
        if not self._found:
            return
        by_cure: dict[str, list[str]] = {}
        for told in list(self._found.values())[:_MOST]:
            for text, cure in told:
                by_cure.setdefault(cure, []).append(text)
        lines = [", ".join(texts) + (f": {cure}" if cure else "") for cure, texts in by_cure.items()]
        more = len(self._found) - _MOST
        rest = (
            f"; and {more} more column{'s' if more > 1 else ''} can't be used (dagtune audit lists them)"
            if more > 0
            else ""
        )
        raise InputError("; ".join(lines) + rest)


#: Quoted names and values, and what stands in brackets: a colon in them ends nothing.
_WITHIN = re.compile(r"(?<![^\s(\[{=])(\"[^\"]*\"|'(?:[^'\\]|\\.)*')|\([^()]*\)")


def _parted(message: str) -> tuple[str, str]:
    """What is wrong, and what to do, of a message that has a colon between the two."""
    hidden = _WITHIN.sub(lambda match: "x" * len(match[0]), message)
    at = hidden.find(": ")
    return (message, "") if at < 0 else (message[:at], message[at + 2 :])
