"""Is a published number reproduced? One rule, stated on the page, for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dagtune.experiments import EXPERIMENTS, METHODS, NO_RECIPE, Published, published, recipes_of
from dagtune.report.reproduction.numbers import Number, Numbers, Setting, label_of, show

__all__ = ["NOT_REPRODUCED", "NOT_RUN", "NOT_RUNNABLE", "REPRODUCED", "RULE", "Verdict", "judge", "judge_all"]

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_RUNNABLE = "not runnable"
NOT_RUN = "not run yet"

RULE = (
    "A published number is **reproduced** when our mean lies within 2 sd √(1/n + 1/m) of it, plus half a unit of its "
    "last printed digit; sd and n are ours, m is the number of tables behind the published number (10 in the authors' "
    "script, 1 for Table II and real data). For OT's own numbers a better mean counts too; for its rivals it does not, "
    "because the paper claims that they are worse. We take raw data and both recipes. The methods that may be "
    "meant by a published name are tried in the order of the tables (OT: preset `paper`, then `released`; NOTEARS: "
    "`notears-mlp`, then `notears-linear`; CAM: `cam`, then `cam-r-defaults`), and the row says which recipe and "
    "method reproduced the number. So a number has up to four chances. Fewer than two repeats are not judged."
)
#: Real data that are not the paper's.
_NOT_THEIRS = {
    "ames": "the paper names neither its 11 variables nor the 12 edges it takes for true, and neither was found in "
    "public text; the bundled Ames table has 11 variables of our choice and no graph"
}


@dataclass(frozen=True)
class Verdict:
    """One published number, its verdict and the reason; ``by`` says which recipe and method decided."""

    published: Published
    verdict: str
    why: str
    by: str = ""


@dataclass(frozen=True)
class _Candidate:
    """One recipe and method that may have given a published number, and our number for it."""

    published: Published
    recipe: str
    method: str
    number: Number

    @property
    def judged(self) -> bool:
        return self.number.n >= (1 if self.recipe == NO_RECIPE else 2)

    @property
    def name(self) -> str:
        return label_of(self.method) if self.recipe == NO_RECIPE else f"{self.recipe}, {label_of(self.method)}"

    @property
    def tolerance(self) -> float:
        averaged = EXPERIMENTS[self.published.experiment].averaged
        noise = 2 * self.number.sd * math.sqrt(1 / self.number.n + 1 / averaged)
        return noise + self.published.rounding + 1e-9

    @property
    def distance(self) -> float:
        """How far ours is from the published number, in tolerances."""
        return abs(self.number.mean - self.published.value) / self.tolerance

    @property
    def better(self) -> bool:
        sign = {"sid": 1, "aupr": -1}.get(self.published.metric, 0)
        return sign * (self.number.mean - self.published.value) < 0

    @property
    def reproduces(self) -> bool:
        return self.distance <= 1 or (self.better and self.published.method == "OT")


def judge_all(numbers: Numbers) -> list[Verdict]:
    """A verdict for every published number, in the order of published.csv."""
    return [judge(number, numbers) for number in published()]


def judge(number: Published, numbers: Numbers) -> Verdict:
    """Reproduced, not reproduced, not runnable and why, or not run yet."""
    if number.model in _NOT_THEIRS:
        return Verdict(number, NOT_RUNNABLE, _NOT_THEIRS[number.model])
    candidates = _candidates(number, numbers)
    judged = [candidate for candidate in candidates if candidate.judged]
    if not judged:
        cut = [candidate for candidate in candidates if candidate.number.missing]
        if cut and len(cut) == len(candidates):
            return Verdict(number, NOT_RUNNABLE, "; ".join(f"{c.name}: {c.number}" for c in cut))
        return Verdict(number, NOT_RUN, "fewer than two repeats")
    found = [candidate for candidate in judged if candidate.reproduces]
    if found:
        best = next((candidate for candidate in found if candidate.distance <= 1), found[0])
        how = "within the tolerance" if best.distance <= 1 else "ours is better"
        return Verdict(number, REPRODUCED, f"{best.number}, {how}", by=best.name)
    nearest = min(judged, key=lambda candidate: candidate.distance)
    way = "differs" if number.metric == "edges" else "ours is better" if nearest.better else "ours is worse"
    tolerance = show(number.metric, nearest.tolerance)
    unseen = [label_of(c.method) for c in candidates if not c.judged and c.number.missing]
    cut_words = f"; not finished here: {', '.join(dict.fromkeys(unseen))}" if unseen else ""
    return Verdict(
        number, NOT_REPRODUCED, f"nearest {nearest.number}, {way}, tolerance {tolerance}{cut_words}", nearest.name
    )


def _candidates(number: Published, numbers: Numbers) -> list[_Candidate]:
    experiment = EXPERIMENTS[number.experiment]
    recipes = recipes_of(experiment, number.model)
    methods = [
        name
        for name, method in METHODS.items()
        if method.stands_for == number.method and (experiment.methods is None or name in experiment.methods)
    ]
    return [
        _Candidate(
            number,
            recipe,
            method,
            numbers.of(
                Setting(number.experiment, number.model, number.nodes, recipe, False),
                method,
                number.metric,
                number.phase,
            ),
        )
        for method in methods
        for recipe in recipes
    ]
