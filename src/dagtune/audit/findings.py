"""What an audit gives: findings with stable codes, a summary of each column, and their text and JSON."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dagtune.text import printable

__all__ = ["CODES", "Audit", "Column", "Finding"]

#: Every code, and how serious it is: "error" stops a learner, "warning" misleads it, "note" is good to know.
CODES = {
    "encoding": "warning",
    "no-header": "warning",
    "stray-row": "warning",
    "empty-column": "warning",
    "unnamed-column": "error",
    "duplicate-name": "error",
    "non-numeric": "error",
    "missing": "error",
    "gap-pattern": "note",
    "predictable-gaps": "warning",
    "infinite": "error",
    "constant": "error",
    "near-constant": "warning",
    "few-rows": "warning",
    "row-number": "warning",
    "duplicate-rows": "warning",
    "duplicate-column": "warning",
    "near-deterministic": "warning",
    "derived-column": "warning",
    "indicators": "warning",
    "collinear": "warning",
    "discrete": "warning",
    "ties": "warning",
    "outliers": "warning",
    "heavy-tails": "warning",
    "serial-dependence": "warning",
    "scale-spread": "note",
    "var-sortable": "note",
    "r2-sortable": "note",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a table.

    Attributes
    ----------
    code : str
        What was found, one of :data:`CODES`; codes do not change between versions.
    columns : tuple of str
        The columns it is about; empty if it is about the whole table.
    message : str
        What was seen.
    cure : str
        What to do about it.
    """

    code: str
    columns: tuple[str, ...]
    message: str
    cure: str

    @property
    def severity(self) -> str:
        """How serious it is: "error" stops a learner, "warning" misleads it, "note" is good to know."""
        return CODES[self.code]

    def __str__(self) -> str:
        return f"{self.severity} [{self.code}] {self.message}: {self.cure}"


@dataclass(frozen=True)
class Column:
    """Summary of one column.

    The numbers leave missing and infinite values out; they are None for text.

    Attributes
    ----------
    name : str
    kind : {"numbers", "whole numbers", "text"}
        What it holds.
    taken_as : str
        The kind that ``ConditionalTuning`` takes it for, unless ``kinds=`` says otherwise; empty if it refuses it.
    missing, distinct : int
        Number of missing and of different values.
    smallest, median, largest, deviation : float or None
        Range, median and standard deviation.
    r2 : float or None
        Share of the column's variance that a linear function of all other columns explains, adjusted for their number.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    taken_as: str = ""
    smallest: float | None = None
    median: float | None = None
    largest: float | None = None
    deviation: float | None = None
    r2: float | None = None


@dataclass(frozen=True)
class Audit:
    """Summary of a table and what is wrong with it; ``print`` shows both.

    Attributes
    ----------
    rows : int
        Number of rows.
    columns : tuple of Column
        Summaries of the columns.
    findings : tuple of Finding
        What is wrong, the most serious first.
    source : str
        The path of the file; empty for a table in memory.
    sortability : dict of str to float
        "var" and "r2" sortability, if a true graph was given.
    notes : tuple of str
        How the file is written, where that had to be found out.
    """

    rows: int
    columns: tuple[Column, ...]
    findings: tuple[Finding, ...]
    source: str = ""
    sortability: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self) -> str:
        """The audit as JSON text."""
        return json.dumps(self.as_dict(), indent=2, allow_nan=False)

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain values: source, rows, columns, findings with their severity, sortability, clean."""
        return {
            "source": self.source,
            "rows": self.rows,
            "columns": [asdict(column) for column in self.columns],
            "findings": [
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "columns": list(finding.columns),
                    "message": finding.message,
                    "cure": finding.cure,
                }
                for finding in self.findings
            ],
            "sortability": self.sortability,
            "notes": list(self.notes),
            "clean": self.clean,
        }

    def __str__(self) -> str:
        told = [printable(note) for note in self.notes]
        lines = [
            f"{self.rows} rows, {len(self.columns)} columns",
            *told,
            *_column_lines(self.columns),
            *self._sorting_lines(),
        ]
        if self.clean:
            return "\n".join([*lines, "Nothing found."])
        lines += [f"{len(self.findings)} finding{'s' if len(self.findings) > 1 else ''}:"]
        for (_, cure), alike in itertools.groupby(self.findings, key=lambda finding: (finding.code, finding.cure)):
            lines += [f"  {finding.severity} [{finding.code}] {finding.message}" for finding in alike]
            lines += [f"      -> {cure}"]
        return "\n".join(lines)

    def _sorting_lines(self) -> list[str]:
        """Whether sorting by variance, or by how well the others predict a column, could give an order."""
        if self.sortability:
            told = ", ".join(f"{name}-sortability {value:.2f}" for name, value in self.sortability.items())
            return [f"{told} (1/2: sorting says nothing about the true graph; near 0 or 1: sorting reveals it)"]
        spread = [column.deviation for column in self.columns if column.deviation]
        r2 = [column.r2 for column in self.columns if column.r2 is not None]
        if len(spread) < 2 or not r2:
            return []
        return [
            f"standard deviations differ by a factor of {max(spread) / min(spread):.3g}, R2 on the other columns is "
            f"between {min(r2):.2f} and {max(r2):.2f}: the further apart, the more a method that sorts by them follows "
            "scale or noise"
        ]


def _column_lines(columns: Sequence[Column], most: int = 40) -> list[str]:
    """The columns as lines of a text table; those after the first ``most`` are counted."""
    head = ["column", "holds", "taken as", "missing", "distinct", "smallest", "median", "largest", "std dev", "R2"]
    rows = [head]
    for column in columns[:most]:
        numbers = (column.smallest, column.median, column.largest, column.deviation)
        shown = ["" if number is None else f"{number:.4g}" for number in numbers]
        r2 = "" if column.r2 is None else f"{column.r2:.2f}"
        rows.append(
            [_cut(column.name), column.kind, column.taken_as, str(column.missing), str(column.distinct), *shown, r2]
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = []
    for row in rows:
        cells = [cell.ljust(w) if k < 3 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths))]
        lines.append(f"  {'  '.join(cells).rstrip()}")
    return [*lines, f"  ... and {len(columns) - most} more"] if len(columns) > most else lines


def _cut(name: str, most: int = 30) -> str:
    text = printable(name)
    return text if len(text) <= most else f"{text[: most - 3]}..."
