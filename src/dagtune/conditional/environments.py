"""Rows that do not count alike: where a variable was set, or is missing, it has no likelihood of its own.

The likelihood of variable i is a sum over rows. Rows in which i was set from outside, or is not known, say nothing
about its mechanism and are left out of its sums; they still count for its effects. Rows in which i was disturbed keep
its causes, but not its function: they are a part with parameters of its own. What an experiment did to i may not be
known; then the evidence is averaged over the three ways that it may have gone, each as likely before the data:

    bypassed   L_all(i, S)                          the rows are like all others for i
    set        L_rest(i, S) + L_these(i, nothing)   its causes do not act on it
    disturbed  L_rest(i, S) + L_these(i, S)         they do, in another way

A stretch of rows with parameters of its own pays for its level and scale too.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dagtune.conditional.cells import CELLS, evidence
from dagtune.conditional.columns import OTHER_KINDS, SCORES, fit_normal_scores, margin
from dagtune.conditional.design import Design, first_fit, landmarks
from dagtune.conditional.discrete import of_kinds
from dagtune.conditional.mechanisms import Sums, additive
from dagtune.conditional.numbers import DISCRETE
from dagtune.conditional.problem import Parts, Problem, Rows, Targets

__all__ = ["FEWEST", "WAYS", "Environments", "Happened", "own_problems"]

#: What an experiment may have done to a variable; "?" is one of the three others, "unknown" the same where it is not
#: known either whether it acted on the variable at all.
WAYS = ("bypassed", "set", "disturbed", "?", "unknown")
#: Rows below which a stretch of rows tells nothing about a mechanism of its own: it is left out instead.
FEWEST = 30
#: Most stretches whose ways are all combined for a variable; in others it counts as set, or as bypassed if nothing is
#: known.
_MOST = 3


@dataclass(frozen=True, eq=False)
class Happened:
    """What happened to one variable in some rows.

    Parameters
    ----------
    rows : ndarray of bool
        Which rows.
    how : {"bypassed", "set", "disturbed", "?", "unknown"}
    """

    rows: np.ndarray
    how: str


@dataclass(frozen=True, eq=False)
class Environments:
    """One variable as an effect whose rows do not count alike.

    Parameters
    ----------
    design : Design
    child : int
    kept : ndarray of bool, shape (rows,)
        Sampled rows that count in its problem.
    parts : tuple of ndarray of bool, shape (rows,)
        Other stretches of rows with parameters of their own.
    used : ndarray of bool, shape (hypotheses, 1 + parts)
        Which of them, ``kept`` first, a hypothesis sums.
    alone : ndarray of bool, shape (hypotheses, 1 + parts)
        Which of them it adds without causes.
    """

    design: Design
    child: int
    kept: np.ndarray
    parts: tuple[np.ndarray, ...]
    used: np.ndarray
    alone: np.ndarray

    @classmethod
    def of(cls, design: Design, child: int, happened: Sequence[Happened]) -> Environments | None:
        """None if all rows count alike; ``happened`` is about the rows of the table."""
        found = [Happened(one.rows[design.sampled], one.how) for one in happened]
        found = _likely(design, child, [_plain(design, child, one) for one in found if one.rows.any()])
        lost = np.zeros(len(design.sampled), dtype=bool)
        asked: list[Happened] = []
        for one in sorted(found, key=lambda one: (one.how == "unknown", -int(one.rows.sum()))):
            if one.how == "unknown" and len(asked) == _MOST:
                continue
            if one.how == "set" or len(asked) == _MOST or any((one.rows & other.rows).any() for other in asked):
                lost |= one.rows
            else:
                asked.append(one)
        asked = [Happened(one.rows & ~lost, one.how) for one in asked if (one.rows & ~lost).sum() >= FEWEST]
        if not asked and not lost.any():
            return None
        ways = [("set", "bypassed", "disturbed") if one.how in ("?", "unknown") else (one.how,) for one in asked]
        combined = list(itertools.product(*ways))
        sets = [~lost & ~_apart(asked, way, lost) for way in combined]
        stretches: list[np.ndarray] = []
        for each in [*sets, *(one.rows for one in asked)]:
            if not any(np.array_equal(each, other) for other in stretches):
                stretches.append(each)
        place = {each.tobytes(): k for k, each in enumerate(stretches)}
        used = np.zeros((len(combined), len(stretches)), dtype=bool)
        alone = used.copy()
        for h, way in enumerate(combined):
            used[h, place[sets[h].tobytes()]] = True
            for one, how in zip(asked, way):
                used[h, place[one.rows.tobytes()]] |= how == "disturbed"
                alone[h, place[one.rows.tobytes()]] |= how == "set"
        return cls(design, child, stretches[0], tuple(stretches[1:]), used, alone)

    def __call__(self, problem: Problem) -> Problem:
        """The variable's own problem, made of that of all rows."""
        main = self._of_rows(problem, self.kept)
        if not self.parts:
            return main
        parts = [self._of_rows(problem, rows) for rows in self.parts]
        starts = problem.targets.starts
        cells = np.empty((starts[self.child + 1] - starts[self.child], CELLS))
        nothing = np.empty(0, dtype=np.int64)
        empty = np.array([evidence(each, self.child, nothing, cells).value for each in (main, *parts)])
        least = self.alone @ empty - np.log(len(self.used)) - (self.used | self.alone) @ self._levels()
        return main._replace(parts=_joined(parts, self.used, least))

    def _levels(self) -> np.ndarray:
        """Nats that level and scale of a number cost in each stretch of rows: 1/2 log n for each of the two.

        With one stretch for all sets of causes they are the same for all, and are left out elsewhere; other kinds have
        priors for their levels.
        """
        if self.design.kinds[self.child] in OTHER_KINDS:
            return np.zeros(1 + len(self.parts))
        return np.log([rows.sum() for rows in (self.kept, *self.parts)])

    def _of_rows(self, problem: Problem, rows: np.ndarray) -> Problem:
        """The problem of some rows; only what concerns the variable as an effect is right in it."""
        design, child = self.design, self.child
        F = problem.rows.F[:, rows]
        F = np.ascontiguousarray(F - F.mean(axis=1, keepdims=True))
        Y, targets = problem.rows.Y[:, rows], problem.targets
        jacobian, smooth, first = targets.jacobian.copy(), targets.smooth.copy(), targets.first.copy()
        mine = range(targets.starts[child], targets.starts[child + 1])
        z = design.values[child, rows]
        few = len(np.unique(z)) <= DISCRETE
        for t, effect in zip(mine, design.columns[child].effects):
            smooth[t] &= not few
            if effect.scale == SCORES and design.kinds[child] not in OTHER_KINDS:
                Y[t] = fit_normal_scores(z)(z)
                jacobian[t] = -1e300 if few else margin(z) - 0.5 * len(z) * np.log(z.var())
        Y = np.ascontiguousarray(Y - Y.mean(axis=1, keepdims=True))
        power = np.maximum((Y * Y).sum(axis=1), 1e-9)
        old = problem.sums
        sums = Sums(float(F.shape[1]), F @ F.T, np.ascontiguousarray(Y @ F.T), power, old.starts, old.rough)
        for t in mine:
            first[t] = first_fit(sums, t, child).setting
        return Problem(
            sums,
            Rows(
                F,
                np.ascontiguousarray(problem.rows.Z[:, rows]),
                problem.rows.starts,
                Y,
                landmarks(design.values[:, rows]),
                np.ascontiguousarray(problem.rows.margin[:, rows]),
                np.ascontiguousarray(problem.rows.weights[:, rows]),
            ),
            Targets(targets.starts, jacobian, smooth, targets.own, targets.joint, targets.spread, first, targets.rough),
            problem.offer,
            of_kinds(design.raw[:, rows], design.kinds),
            calls=problem.calls,
        )


def _plain(design: Design, child: int, one: Happened) -> Happened:
    """What is not known is known after all where the variable hardly varies, or in so few rows that nothing is told."""
    z = design.values[child, one.rows]
    still = design.kinds[child] not in OTHER_KINDS and (z.std() < 1e-3 or len(np.unique(z)) <= 3)
    constant = len(np.unique(z)) == 1
    if still or constant:
        return Happened(one.rows, "set")
    if len(z) < FEWEST and one.how != "bypassed":
        return Happened(one.rows, "bypassed" if one.how == "unknown" else "set")
    return one


def _likely(design: Design, child: int, found: Sequence[Happened]) -> list[Happened]:
    """What is not bypassed; of the stretches of which nothing is known those that look apart most, by sums alone.

    They do if the regression on all other variables has more evidence with parameters of its own there.
    """
    asked = [one for one in found if one.how not in ("bypassed", "unknown")]
    gains = [(_gain(design, child, one.rows), k) for k, one in enumerate(found) if one.how == "unknown"]
    return asked + [found[k] for gain, k in sorted(gains, reverse=True)[:_MOST] if gain > 0]


def _gain(design: Design, child: int, these: np.ndarray) -> float:
    """Nats that a stretch of rows gains by parameters of its own, with all other variables as causes."""
    target = int(design.targets.starts[child])
    others = np.array([j for j in range(design.width) if j != child])
    everything = np.ones_like(these)
    values = []
    for rows in (these, ~these, everything):
        F, y = design.rows.F[:, rows], design.rows.Y[:, rows]
        F, y = F - F.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        power = np.maximum((y * y).sum(axis=1), 1e-9)
        old = design.sums
        sums = Sums(float(rows.sum()), F @ F.T, np.ascontiguousarray(y @ F.T), power, old.starts, old.rough)
        values.append(additive(sums, target, others, design.targets.first[target]).value)
    return values[0] + values[1] - values[2]


def _apart(asked: Sequence[Happened], way: Sequence[str], lost: np.ndarray) -> np.ndarray:
    """Rows of the stretches that are apart from the rest."""
    found = np.zeros_like(lost)
    for one, how in zip(asked, way):
        if how != "bypassed":
            found |= one.rows
    return found


def _joined(parts: Sequence[Problem], used: np.ndarray, least: np.ndarray) -> Parts:
    """Parts one after the other, in flat arrays."""

    def flat(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.ascontiguousarray(array).ravel() for array in arrays])

    marks = min(len(part.rows.marks) for part in parts)
    return Parts(
        used=used,
        least=np.asarray(least, dtype=np.float64),
        ends=np.cumsum([0, *(part.rows.Y.shape[1] for part in parts)]).astype(np.int64),
        G=np.stack([part.sums.G for part in parts]),
        C=np.stack([part.sums.C for part in parts]),
        power=np.stack([part.sums.power for part in parts]),
        F=flat([part.rows.F for part in parts]),
        Z=flat([part.rows.Z for part in parts]),
        Y=flat([part.rows.Y for part in parts]),
        marks=np.stack([part.rows.marks[:marks] for part in parts]),
        jacobian=np.stack([part.targets.jacobian for part in parts]),
        smooth=np.stack([part.targets.smooth for part in parts]),
        first=np.stack([part.targets.first for part in parts]),
        size=np.stack([part.discrete.size for part in parts]),
        level=flat([part.discrete.level for part in parts]),
        times=flat([part.discrete.times for part in parts]),
        fixed=np.stack([part.discrete.fixed for part in parts]),
        within=np.stack([part.discrete.within for part in parts]),
    )


def own_problems(design: Design, happened: Mapping[int, Sequence[Happened]]) -> dict[int, Environments]:
    """Of all variables to which something happened."""
    found = {child: Environments.of(design, child, ways) for child, ways in happened.items()}
    return {child: own for child, own in found.items() if own is not None}
