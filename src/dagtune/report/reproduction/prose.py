"""The reading: prose in ``reading.md`` with placeholders that the results fill, so that no number is typed by hand.

``{{word argument ...}}`` calls a function below. A setting is written experiment/model/nodes/recipe/scale.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from dagtune.experiments import EXPERIMENTS, published
from dagtune.report.reproduction.numbers import Numbers, Setting, label_of, show
from dagtune.report.reproduction.sections import scale_word
from dagtune.report.reproduction.verdicts import Verdict
from dagtune.validation import InputError, check_choice

__all__ = ["fill", "reading"]

_NOTHING = "(not run yet)"


def reading(numbers: Numbers, judged: Sequence[Verdict]) -> str:
    """The bundled reading with its numbers."""
    text = (resources.files(__package__) / "reading.md").read_text(encoding="utf-8")
    return fill(text, numbers, judged)


def fill(text: str, numbers: Numbers, judged: Sequence[Verdict]) -> str:
    """``text`` with every placeholder replaced; an unknown one is refused."""
    teller = _Teller(numbers, judged)

    def replaced(match: re.Match[str]) -> str:
        word, *arguments = match.group(1).split()
        check_choice("placeholder", word, teller.words)
        try:
            return str(teller.words[word](*arguments))
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(f"placeholder {match.group(0)} of the reading can't be filled: {error}") from None

    return re.sub(r"\{\{(.+?)\}\}", replaced, text, flags=re.DOTALL)


class _Teller:
    """What placeholders may ask for."""

    def __init__(self, numbers: Numbers, judged: Sequence[Verdict]) -> None:
        self._numbers, self._judged = numbers, judged
        self.words: dict[str, Callable[..., Any]] = {
            "ours": self.ours,
            "row": self.row,
            "published-row": self.published_row,
            "range": self.range,
            "count": self.count,
            "against": self.against,
        }

    def ours(self, where: str, method: str, metric: str) -> str:
        """``{{ours fig5/tanh/40/printed/raw ot sid}}``: mean and standard deviation."""
        experiment, model, nodes, recipe, scale = where.split("/")
        setting = Setting(experiment, model, int(nodes), recipe, _standardized(scale))
        return str(self._numbers.of(setting, method, metric))

    def row(self, where: str, method: str, metric: str) -> str:
        """``{{row table-tanh/tanh/released/raw ot sid}}``: the means at all sizes, smallest size first."""
        experiment, model, recipe, scale = where.split("/")
        found = [
            self._numbers.of(Setting(experiment, model, d, recipe, _standardized(scale)), method, metric).mean
            for d in EXPERIMENTS[experiment].sizes
        ]
        return " / ".join("–" if math.isnan(mean) else show(metric, mean) for mean in found)

    def published_row(self, experiment: str, model: str, method: str, metric: str) -> str:
        """``{{published-row table-tanh tanh OT sid}}``: the paper's numbers at all sizes."""
        told = {
            p.nodes: p.text
            for p in published()
            if (p.experiment, p.model, p.method, p.metric) == (experiment, model, method, metric)
        }
        return " / ".join(told.get(d, "–") for d in EXPERIMENTS[experiment].sizes)

    def range(self, where: str, method: str, metric: str) -> str:
        """``{{range fig5/40/printed/raw ot sid}}``: smallest to largest mean over the models."""
        experiment, nodes, recipe, scale = where.split("/")
        means = [
            self._numbers.of(Setting(experiment, model, int(nodes), recipe, _standardized(scale)), method, metric).mean
            for model in EXPERIMENTS[experiment].models
        ]
        known = [mean for mean in means if not math.isnan(mean)]
        return f"{show(metric, min(known))} to {show(metric, max(known))}" if known else _NOTHING

    def count(self, *wanted: str) -> int:
        """``{{count verdict=not-reproduced method=OT experiment=fig5}}``: published numbers that fit."""
        conditions = dict(condition.split("=") for condition in wanted)
        verdict = conditions.pop("verdict", None)
        return sum(
            (verdict is None or judged.verdict == verdict.replace("-", " "))
            and all(getattr(judged.published, name) == value for name, value in conditions.items())
            for judged in self._judged
        )

    def against(self, method: str, other: str, metric: str, recipe: str, scale: str) -> str:
        """``{{against ot random-complete sid printed raw}}``: in how many settings one is better, on the same tables.

        A setting is a model at a size in a table or figure of the paper. Better and worse mean by more than two
        standard errors of the difference on the same tables.
        """
        sign = -1 if metric in ("aupr", "f1") else 1
        outcomes = []
        for setting in self._numbers.settings:
            if setting.recipe != recipe or setting.standardized != _standardized(scale):
                continue
            if not EXPERIMENTS[setting.experiment].own_sizes:
                continue
            ours, theirs = (self._numbers.of(setting, name, metric).values for name in (method, other))
            both = [sign * (ours[repeat] - theirs[repeat]) for repeat in ours if repeat in theirs]
            if len(both) > 1:
                outcomes.append(_outcome(both))
        if not outcomes:
            return _NOTHING
        better, worse = outcomes.count(-1), outcomes.count(1)
        return (
            f"{label_of(method)} beats {_article(other)} in {better} of {len(outcomes)} settings ({recipe}, "
            f"{scale_word(_standardized(scale))}), loses in {worse}, undecided in {outcomes.count(0)}"
        )


def _article(method: str) -> str:
    return f"a {label_of(method)}" if method == "random-complete" else label_of(method)


def _outcome(differences: Sequence[float]) -> int:
    """-1, 0 or 1: mean difference below, within or above two standard errors."""
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    return 0 if abs(mean) <= 2 * error else int(math.copysign(1, mean))


def _standardized(scale: str) -> bool:
    return check_choice("scale", scale, ("raw", "standardized")) == "standardized"
