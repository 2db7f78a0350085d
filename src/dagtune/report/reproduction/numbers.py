"""Stored cells as numbers: mean and standard deviation over the repeats of one method in one setting."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dagtune.experiments import METHODS, Record, latest
from dagtune.learners import readings

__all__ = ["Number", "Numbers", "Setting", "every_row", "label_of", "show"]

#: Digits after the point, by measure.
_DIGITS = {"sid": 1, "edges": 1, "shd": 1}


class Setting(NamedTuple):
    """Which tables: experiment, model, number of nodes, recipe, and whether columns were standardised."""

    experiment: str
    model: str
    nodes: int
    recipe: str
    standardized: bool


@dataclass(frozen=True)
class Number:
    """Values by repeat, and how many repeats gave none: ``missing`` counts them by status."""

    metric: str
    values: Mapping[int, float] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def tried(self) -> int:
        """Repeats that gave a value, failed or timed out."""
        return self.n + sum(self.missing.values())

    @property
    def mean(self) -> float:
        """Mean over the repeats; nan without any."""
        return statistics.fmean(self.values.values()) if self.values else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation over the repeats; 0 if there is only one."""
        return statistics.stdev(self.values.values()) if self.n > 1 else 0.0

    def __str__(self) -> str:
        """``21.0 ± 5.2 (10)``; what timed out or failed is counted, what was never tried is "not run"."""
        gone = ", ".join(f"{count} {_WORDS[status]}" for status, count in sorted(self.missing.items()))
        if not self.n:
            return gone or "not run"
        spread = f" ± {show(self.metric, self.sd)}" if self.n > 1 else ""
        return f"{show(self.metric, self.mean)}{spread} ({self.n}{'; ' + gone if gone else ''})"


_WORDS = {"timeout": "timed out", "failed": "failed"}


def every_row() -> list[str]:
    """Every row that a table may have; other graphs of a method's fit come after the method itself."""
    others = readings()
    return [row for name in METHODS for row in (name, *(other for other, (of, _) in others.items() if of.name == name))]


def show(metric: str, value: float) -> str:
    """A value with the number of digits of its measure."""
    return f"{value:.{_DIGITS.get(metric, 2)}f}"


def label_of(method: str) -> str:
    """The name of a method on the page."""
    others = readings()
    if method in others:
        of, reading = others[method]
        return f"{of.label}, {reading.label}"
    return METHODS[method].label if method in METHODS else method


class Numbers:
    """All cells of a results file, by setting, method and measure."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(latest(records).values())
        self._fits = {row: (method.name, reading.name) for row, (method, reading) in readings().items()}
        self._by: dict[tuple[Setting, str], list[Record]] = defaultdict(list)
        for record in self.records:
            cell = record["cell"]
            self._by[_setting(cell), cell["method"]].append(record)
        self.settings = sorted({setting for setting, _ in self._by})

    def of(self, setting: Setting, method: str, metric: str, reading: str | None = None) -> Number:
        """A method's numbers on one setting; ``reading`` asks for another graph of the same fit."""
        method, reading = self._fits.get(method, (method, reading))
        values: dict[int, float] = {}
        missing: Counter[str] = Counter()
        for record in self._by.get((setting, method), ()):
            if record["status"] != "ok":
                missing[record["status"]] += 1
                continue
            found = record["metrics"] if reading is None else record.get("readings", {}).get(reading, {})
            if found.get(metric) is not None:
                values[record["cell"]["repeat"]] = found[metric]
        return Number(metric, values, missing)

    def has_method(self, experiment: str, method: str) -> bool:
        """Whether a method was tried in an experiment."""
        method, _ = self._fits.get(method, (method, ""))
        return any(setting.experiment == experiment and name == method for setting, name in self._by)

    def views(self, experiment: str) -> set[tuple[str, bool]]:
        """Recipe and scale of all that was tried in an experiment."""
        return {(s.recipe, s.standardized) for s in self.settings if s.experiment == experiment}


def _setting(cell: Mapping[str, Any]) -> Setting:
    return Setting(cell["experiment"], cell["model"], cell["nodes"], cell["recipe"], cell["standardized"])
