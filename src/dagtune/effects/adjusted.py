"""Total effects by adjustment in each graph of a sample, averaged.

In a graph in which x affects y, ``E[y | do(x)]`` is the mean over the rows of ``E[y | x, Z]``, Z the optimal adjustment
set. The regression is a sum of smooth functions (:func:`dagtune.regression.fit`), so with functions of mean 0

    E[y | do(x = b)] - E[y | do(x = a)] = w . (F(b) - F(a)),    w the weights of the functions F of x,

with the covariance of least squares. How bent the functions are is not known, and a penalty that GCV chooses irons out
the very slope that a step asks for. So there are several regressions without a penalty, on the 1, 2, 4, 6 or 8
smoothest functions of each variable, each as likely as its AICc says (Buckland, Burnham and Augustin 1997).

Rows in which an experiment acted on y, or on a variable between x and y, do not count; levels of groups are out of all
sums (:mod:`dagtune.effects.stretches`).

Where x does not affect y the change is 0. What all graphs and regressions say forms a mixture; its mean is the
estimate. Its quantiles would hold all effects alike in 90 % of cases: those that are 0 nearly always, the others less
often. So the interval is that of the graphs in which there is an effect, and reaches to 0 unless 0 is hardly likely.

The second interval takes each direction to be only as sure as its track record r on real tables says: a graph in which
x comes before y keeps r of its weight, the rest says 0; one in which y comes before x says 0 with r, and with 1 - r
what the regression would say if x came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from dagtune.effects.adjustment import optimal_adjustment, turned_adjustment
from dagtune.effects.estimates import Curve, Effect, Mixture
from dagtune.effects.summary import FEWEST, Summary
from dagtune.graph import reachability
from dagtune.regression import Fit, fit
from dagtune.text import printable, value_words
from dagtune.validation import InputError

__all__ = ["ASSUMPTIONS", "AdjustedEffects"]

ASSUMPTIONS = (
    "one of the graphs of the sample is right, and no common cause is hidden",
    "the rows are independent, and come from the process that the question is about",
    "given the variables adjusted for, the mean of the effect is a sum of smooth functions of each of them",
)
#: Less of the cause's variance left by the adjustment set than this, and the set says what the cause is.
_LEAST_LEFT = 1e-3
#: Functions of each variable, the smoothest, in the regressions that are averaged.
_FUNCTIONS = (1, 2, 4, 6, 8)
#: A regression with a smaller share of the weight than this is left out.
_LEAST_WEIGHT = 1e-3


class _Answer(NamedTuple):
    """What a graph says to do: the cause, what to adjust for, and the stretches of rows that do not count."""

    cause: int
    chosen: tuple[int, ...]
    out: tuple[int, ...]


class AdjustedEffects:
    """Answers questions about total effects from sums over the rows and a sample of graphs.

    Parameters
    ----------
    summary : Summary
        Of the table.
    graphs : (g, d, d) array of bool
        DAGs of equal weight; ``A[i, j]`` means ``i -> j``.
    track_record : (d, d) array or None
        How often, on real tables, a direction like ``i -> j`` was right; 1 where it is known.
    hidden : sequence of (str, str)
        Pairs that seem to share a hidden cause.
    doubts : mapping of str to str
        Variables for which the model was found not to hold, and what is wrong, in words.
    """

    def __init__(
        self,
        summary: Summary,
        graphs: np.ndarray,
        track_record: np.ndarray | None = None,
        hidden: Sequence[tuple[str, str]] = (),
        doubts: Mapping[str, str] | None = None,
    ) -> None:
        self.summary = summary
        self.track_record = track_record
        self.hidden = {frozenset(pair) for pair in hidden}
        self.doubts = dict(doubts or {})
        self.graphs, self.weights = _distinct(np.asarray(graphs, dtype=bool))
        self._fits: dict[tuple[int, float | None, _Answer], tuple[list[Fit], np.ndarray]] = {}

    @cached_property
    def _reach(self) -> list[np.ndarray]:
        return [reachability(graph) for graph in self.graphs]

    # Questions ------------------------------------------------------------------------------------------------------

    def effect(self, of: str, on: str, start: Any = None, end: Any = None, category: Any = None) -> Effect:
        """The effect of a step of one variable on another; see :meth:`dagtune.Result.effect`."""
        x, y = self._pair(of, on)
        a, b = self._step(x, start, end)
        if self.summary.categorical[y] and category is None:
            codes = self.summary.values[y][0]
            changes = [abs(self._mixture(x, y, float(code), a, b).centre) for code in codes]
            category = float(codes[int(np.argmax(changes))])
        elif category is not None:
            if not self.summary.categorical[y]:
                raise InputError(f"{printable(on)} is not categorical, it {self._not_one(y)}: leave category out")
            category = self.summary.value(y, category)
        answers = self._answers(x, y)
        found = self._mixture(x, y, category, a, b)
        wide = None if self.track_record is None else self._mixture(x, y, category, a, b, wide=True)
        there = {answer: weight for answer, weight in answers.items() if answer is not None}
        main = max(there, key=lambda answer: there[answer], default=None)
        why_not = self._why_not(x, y, there)
        return Effect(
            of=of,
            on=on,
            start=self.summary.named(x, a),
            end=self.summary.named(x, b),
            category=None if category is None else self.summary.named(y, category),
            value=found.centre,
            interval=found.effect_interval(),
            wide_interval=None if wide is None else wide.effect_interval(),
            share=float(sum(there.values())),
            curve=self._curve(x, y, category),
            identifiable=not why_not,
            why_not=why_not,
            caution=self._caution(x, y),
            adjusted_for=() if main is None else tuple(self.summary.names[j] for j in main.chosen),
            robustness=0.0 if main is None else self._robustness(y, category, main, a, b),
            assumptions=(*ASSUMPTIONS, *self._about_rows()),
            of_levels=self.summary.levels(x),
            on_levels=self._levels(y),
        )

    def effects(self, on: str) -> pd.DataFrame:
        """The total effects of all variables on one, largest first; see :meth:`dagtune.Result.effects`."""
        y = self.summary.position(on)
        rows = []
        for x, name in enumerate(self.summary.names):
            if x == y:
                continue
            a, b = self.summary.step(x)
            category = None
            if self.summary.categorical[y]:
                codes = self.summary.values[y][0]
                category = max(codes.tolist(), key=lambda code: abs(self._mixture(x, y, code, a, b).centre))
            found = self._mixture(x, y, category, a, b)
            low, high = found.effect_interval()
            step = {"from": self.summary.named(x, a), "to": self.summary.named(x, b)}
            row = {"cause": name, **step, "effect": found.centre, "low": low, "high": high}
            if self.track_record is not None:
                row["wide_low"], row["wide_high"] = self._mixture(x, y, category, a, b, wide=True).effect_interval()
            answers = self._answers(x, y)
            row["share"] = float(sum(weight for answer, weight in answers.items() if answer is not None))
            if category is not None:
                row["category"] = self.summary.named(y, category)
            rows.append(row)
        table = pd.DataFrame(rows)
        return table.sort_values("effect", key=np.abs, ascending=False, kind="stable", ignore_index=True)

    # From graphs to numbers -----------------------------------------------------------------------------------------

    def _answers(self, x: int, y: int, *, wide: bool = False) -> dict[_Answer | None, float]:
        """What the graphs say, None for no effect, with the weight of each answer."""
        found: Counter[_Answer | None] = Counter()
        for graph, reach, weight in zip(self.graphs, self._reach, self.weights):
            chosen = optimal_adjustment(graph, x, y, reach)
            between = np.flatnonzero(reach[x] & reach[:, y])
            answer = None if chosen is None else self._asked(x, y, chosen, between)
            if not wide or self.track_record is None or not (reach[x, y] or reach[y, x]):
                found[answer] += weight
                continue
            record = self.track_record[x, y] if reach[x, y] else self.track_record[y, x]
            other = None
            if not reach[x, y]:
                between = np.flatnonzero(reach[y] & reach[:, x])
                other = self._asked(x, y, turned_adjustment(graph, x, y, reach), between)
            found[answer] += weight * record
            found[other] += weight * (1 - record)
        return dict(found)

    def _asked(self, x: int, y: int, chosen: tuple[int, ...], between: np.ndarray) -> _Answer:
        """Rows in which an experiment acted on y, or on what is between x and y, say nothing of x's effect."""
        return _Answer(x, chosen, self.summary.left_out((y, *between)))

    def _mixture(self, x: int, y: int, category: float | None, a: float, b: float, *, wide: bool = False) -> Mixture:
        """The change of y by a step of x, one component for each answer and regression."""
        step = self._functions(x, np.array([a, b])) @ np.array([-1.0, 1.0])
        parts = []
        for answer, weight in self._answers(x, y, wide=wide).items():
            if answer is None:
                parts.append(np.array([[weight], [0.0], [0.0]]))
                continue
            scale = self.summary.target(y, category, answer.out).scale[y]
            shares, means, variances = self._moments(y, category, answer, step[:, None])
            parts.append(np.stack([weight * shares, scale * means[:, 0], scale * np.sqrt(variances[:, 0])]))
        total, means, spreads = np.hstack(parts)
        return Mixture(total / total.sum(), means, spreads)

    def _moments(
        self, y: int, category: float | None, answer: _Answer, steps: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights (r,) of the regressions, means and variances (r, k) of w . steps (functions of x, k), y standardised.

        Of a regression with fewer functions only their part of the steps counts.
        """
        fits, shares = self._fit(y, category, answer)
        found = [_of_fit(one, steps) for one in fits]
        return shares, np.stack([mean for mean, _ in found]), np.stack([variance for _, variance in found])

    def _fit(self, y: int, category: float | None, answer: _Answer) -> tuple[list[Fit], np.ndarray]:
        """The regressions, and how likely each is by its AICc."""
        x, chosen, out = answer
        key = (y, category, answer)
        if key not in self._fits:
            target = self.summary.target(y, category, out)
            fits: list[Fit] = []
            for count in _FUNCTIONS:
                one = fit(target, y, (x, *chosen), smoothing=0.0, functions=count)
                if not fits or len(one.weights) > len(fits[-1].weights):  # a variable of two values is only a line
                    fits.append(one)
            cost = np.array([_aicc(one) for one in fits])
            if not np.isfinite(cost).any():  # too few rows to judge any: the straight line
                cost = np.where(np.arange(len(fits)) == 0, 0.0, np.inf)
            likely = special.softmax(-np.where(np.isfinite(cost), cost, np.inf) / 2)
            kept = likely > _LEAST_WEIGHT
            self._fits[key] = ([one for one, keep in zip(fits, kept) if keep], likely[kept] / likely[kept].sum())
        return self._fits[key]

    def _functions(self, x: int, values: np.ndarray) -> np.ndarray:
        """(functions of x, values)."""
        return self.summary.gram.curves[x].values(values - self.summary.gram.shift[x])

    def _curve(self, x: int, y: int, category: float | None) -> Curve:
        grid = self.summary.grid(x)
        F = self._functions(x, grid)
        own = slice(int(self.summary.gram.starts[x]), int(self.summary.gram.starts[x + 1]))
        parts = []
        for answer, weight in self._answers(x, y).items():
            target = self.summary.target(y, category, () if answer is None else answer.out)
            centre, scale = target.shift[y], target.scale[y]
            if answer is None:
                level = np.full((1, len(grid)), scale**2 / target.n)
                parts.append((np.array([weight]), np.full_like(level, centre), level))
                continue
            there = self.summary.without(answer.out).mean[own]  # where the level is that of the mean
            shares, mean, variance = self._moments(y, category, answer, F - there[:, None])
            level = np.array([found.relative / found.n for found in self._fit(y, category, answer)[0]])
            parts.append((weight * shares, centre + scale * mean, scale**2 * (variance + level[:, None])))
        total, means, variances = (np.concatenate(each) for each in zip(*parts))
        mixtures = [Mixture(total / total.sum(), means[:, t], np.sqrt(variances[:, t])) for t in range(len(grid))]
        bounds = np.array([mixture.interval() for mixture in mixtures])
        return Curve(grid, np.array([mixture.centre for mixture in mixtures]), *bounds.T)

    def _robustness(self, y: int, category: float | None, answer: _Answer, a: float, b: float) -> float:
        """The robustness value from the t-statistic of the step: (sqrt(f^4 + 4 f^2) - f^2) / 2, f^2 = t^2 / df."""
        step = self._functions(answer.cause, np.array([a, b])) @ np.array([-1.0, 1.0])
        shares, means, variances = self._moments(y, category, answer, step[:, None])
        mean = shares @ means
        variance = shares @ (variances + (means - mean) ** 2)
        free = shares @ np.array([found.n - found.total_edf for found in self._fit(y, category, answer)[0]])
        f2 = float(mean[0] ** 2 / max(variance[0], 1e-300)) / max(float(free), 1.0)
        return float((np.sqrt(f2**2 + 4 * f2) - f2) / 2)

    def _why_not(self, x: int, y: int, there: dict[_Answer, float]) -> str:
        """Why the effect can't be told, or nothing."""
        names = self.summary.names
        pair = frozenset((names[x], names[y]))
        if pair in self.hidden:
            return f"{printable(names[x])} and {printable(names[y])} seem to share a hidden cause"
        half = 0.5 * sum(there.values())
        few = (weight for answer, weight in there.items() if self.summary.rows_without(answer.out) < FEWEST)
        if sum(few) > half:
            way = f"{printable(names[y])}, or something on the way to it,"
            return f"{way} was acted on in all but a few rows"
        fixed = {answer: weight for answer, weight in there.items() if self._left(answer) < _LEAST_LEFT}
        if sum(fixed.values()) > half:
            chosen = ", ".join(printable(names[j]) for j in max(fixed, key=lambda answer: fixed[answer]).chosen)
            if not chosen:
                return f"{printable(names[x])} hardly varies in the rows that count"
            return f"{chosen} together say what {printable(names[x])} is, so it never varies by itself"
        return ""

    def _about_rows(self) -> tuple[str, ...]:
        """What is assumed of groups and experiments, if there are any."""
        said = []
        if self.summary.groups:
            said.append(
                f"the {self.summary.groups} groups of rows differ in the level of each variable, not in what it does"
            )
        if self.summary.stretches:
            said.append("an experiment changed nothing but the variables it acted on, and what they cause")
        return tuple(said)

    def _caution(self, x: int, y: int) -> str:
        """What speaks against the interval: the model does not hold for y, or for a variable between x and y."""
        between = np.zeros(len(self.summary.names))
        for reach, weight in zip(self._reach, self.weights):
            if reach[x, y]:
                between[reach[x] & reach[:, y]] += weight
                between[y] += weight
        said = [
            self.doubts[name]
            for name, weight in zip(self.summary.names, between)
            if name in self.doubts and weight > 0.5 * between[y]
        ]
        return "; ".join(said)

    def _left(self, answer: _Answer) -> float:
        """The share of the cause's variance that is left by the adjustment set, in the rows that count."""
        x, chosen, out = answer
        gram = self.summary.without(out).gram
        there = float((gram.scale[x] / self.summary.gram.scale[x]) ** 2)
        return min(there, 1.0) * (fit(gram, x, chosen, smoothing=0.0).relative if chosen else 1.0)

    def _pair(self, of: str, on: str) -> tuple[int, int]:
        x, y = self.summary.position(of), self.summary.position(on)
        if x == y:
            raise InputError(f"cause and effect are both {printable(of)!r}: name two columns")
        return x, y

    def _levels(self, y: int) -> tuple[str, ...]:
        """What the codes of an effect stand for; the mean of 0 and 1 is a probability too."""
        codes = self.summary.values[y]
        zero_one = self.summary.kinds[y] == "binary" and codes[0].tolist() == [0.0, 1.0]
        return self.summary.levels(y) or (("0", "1") if zero_one else ())

    def _not_one(self, y: int) -> str:
        """What a variable without categories is, for a message."""
        levels = self._levels(y)
        if len(levels) > 2:
            return "has ordered levels, the effect is on their mean"
        if levels:
            return f"has two levels, the effect is on the probability of {printable(levels[1])}"
        return "is a number"

    def _step(self, x: int, start: Any, end: Any) -> tuple[float, float]:
        low, high = self.summary.step(x)
        a = low if start is None else self.summary.value(x, start)
        b = high if end is None else self.summary.value(x, end)
        if a == b:
            at = value_words(self.summary.named(x, a))
            raise InputError(f"the step of {printable(self.summary.names[x])} leads from {at} to {at}: nothing changes")
        return a, b


def _of_fit(found: Fit, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of w . steps (functions of the first parent, k)."""
    own = steps[: int(found.sizes[0])]
    inverse = found.inverse[: len(own), : len(own)]
    noise = found.relative / max(found.n - found.total_edf, 1.0)
    return found.weights[: len(own)] @ own, np.einsum("kt,kl,lt->t", own, inverse, own) * noise


def _aicc(found: Fit) -> float:
    """Akaike's criterion for few rows, up to a constant; infinite if there are as many functions as rows."""
    p = found.total_edf + 1  # the variance is a parameter too
    room = found.n - p - 1
    return found.n * float(np.log(found.relative)) + 2 * p * found.n / room if room > 0 else np.inf


def _distinct(graphs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Different graphs and the share of each."""
    different, times = np.unique(graphs, axis=0, return_counts=True)
    return different, times / times.sum()
