"""Conditional tuning, start to end: find the order, select parents within it, check what is left over.

:func:`conditional_tuning` reads the table, finds the order (:mod:`dagtune.conditional.attempts`), selects parents
within it (:mod:`dagtune.conditional.selection`) and checks the residuals (:mod:`dagtune.conditional.checks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special

from dagtune.conditional.attempts import NOISES, Ordered, find_order
from dagtune.conditional.checks import check_residuals
from dagtune.conditional.selection import LEAST_GAIN, Selected, residuals, select_parents
from dagtune.graph import complete
from dagtune.knowledge import Knowledge
from dagtune.parallel import count_threads, one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.result import Change, Check, Measured, Result
from dagtune.tables import Table, few_rows, read_table
from dagtune.text import plain, printable
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["ASSUMPTIONS", "DENSITIES", "conditional_tuning"]

Phases = dict[str, np.ndarray]


ASSUMPTIONS = (
    "no cycles: nothing causes itself through others",
    "no hidden common cause of two or more variables",
    "additive noise: each variable, perhaps on another scale, is a function of its causes plus independent noise",
    "the function is a sum of smooth functions of the causes, perhaps through a bent link, or smooth in all together",
    "linear effects with Gaussian noise of unknown variances have no direction that data could tell",
    "the rows are independent and come from one process",
)

#: The least probability of an edge, by name of the density; None adapts it to the table.
DENSITIES = {"sparse": 0.5, "balanced": None, "dense": 0.05}
#: The least fall of log variance by a cause, all causes together, if the model holds for no variable.
MISFIT = 0.4


def conditional_tuning(
    X: Any,
    *,
    noise: str = "auto",
    density: str | float = "balanced",
    knowledge: Any = None,
    bags: int = 0,
    categorical: Sequence[str] = (),
    threads: int | None = None,
    drop_constant: bool = False,
    time_limit: float | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Result:
    """Learn a DAG from a table by conditional incremental information; the result holds every step.

    Parameters are those of :class:`dagtune.ConditionalTuning`, with ``rng`` for its ``random_state``. Finding the order
    is :mod:`dagtune.conditional.attempts`, selecting parents within it :mod:`dagtune.conditional.selection`.
    """
    tell = Clock("conditional", time_limit, progress).tell
    check_choice("noise", noise, NOISES)
    least_probability = _least_probability(density)
    bags = check_count("bags", bags, least=0)
    table = read_table(X, drop_constant=drop_constant, categorical=categorical)
    known = Knowledge.of(knowledge)
    limits = _Limits.of(known, table)
    generator = np.random.default_rng(rng)
    with one_blas_thread():
        found = find_order(
            table.values,
            limits.before,
            categorical=limits.categorical,
            noise=noise,
            rng=generator,
            threads=count_threads(threads),
            tell=tell,
        )
        selected, checks = _select(found, limits, table.names, least_probability)
    tell("screened", 1.0)
    phases, changes = _story(complete(found.chosen.order), limits, selected)
    graph = phases["kept"]
    tell("kept", 1.0)
    probability = None
    if bags:
        tasks = _Bags(table.values, limits, noise, selected.least_gain)
        probability = tasks.mean(generator.spawn(bags), tell)
    return Result(
        names=table.names,
        graphs=phases,
        changes=tuple(change.named(table.names) for change in changes),
        strength=np.where(graph, np.nan_to_num(selected.evidence.gain), np.nan),
        strength_words="strength: by how much the cause lowers the log variance of its effect, given its other causes",
        opening=np.nan_to_num(selected.evidence.gain),
        opening_words="what it adds to the others that remain, in log variance, is",
        assumptions=ASSUMPTIONS,
        warnings=tuple(_conditional_warnings(table, found, selected, checks)),
        settings={
            "learner": "conditional-tuning",
            "noise": noise,
            **_decided(found),
            "density": plain(density),
            "least_probability": selected.least_probability,
            "least_gain": selected.least_gain,
            "bags": plain(bags),
            "categorical": list(table.categorical),
            "knowledge": known.as_mapping(),
            "rows": table.count,
            "seed": int(rng) if isinstance(rng, (int, np.integer)) else None,
        },
        order=tuple(table.names[i] for i in found.chosen.order),
        score=special.expit(selected.evidence.odds),
        probability=probability,
        probability_words=(
            f"mean over {bags} subsamples of 70 % of the rows of the posterior probability of an edge" if bags else ""
        ),
        checks=checks,
    )


def _decided(found: Ordered) -> dict[str, Any]:
    """What the search decided, for the result's settings."""
    return {
        "noise_decided": found.chosen.noise,
        "decision": found.decision,
        "joint_regressions": found.joint_used,
        "likely_neighbours": found.neighbours_used,
    }


def _least_probability(density: str | float) -> float | None:
    if isinstance(density, str):
        return DENSITIES[check_choice("density", density, DENSITIES)]
    number = isinstance(density, (int, float, np.integer, np.floating)) and not isinstance(density, bool)
    if not number or not 0 <= density <= 1:
        raise InputError(f"density={density!r} must be one of {', '.join(DENSITIES)}, or a probability from 0 to 1")
    return float(density)


@dataclass(frozen=True, eq=False)
class _Limits:
    """What the graph must obey, boolean, (d, d) with ``A[i, j]`` for ``i -> j``, and which variables are categorical.

    A categorical variable comes before all numbers and has no causes.
    """

    required: np.ndarray
    forbidden: np.ndarray
    before: np.ndarray
    categorical: np.ndarray

    @classmethod
    def of(cls, known: Knowledge, table: Table) -> _Limits:
        required, forbidden = known.matrices(table.names)
        before = known.before(table.names)
        categorical = ~table.quantitative
        if categorical.all():
            raise InputError("all columns are categorical: at least one must be a number, for the others to cause")
        for wrong, words in (
            (required, "is required to cause it; drop that edge"),
            (before & ~categorical[:, None], "must come before it; change the tiers or required edges"),
        ):
            if wrong[:, categorical].any():
                i, j = np.argwhere(wrong & categorical)[0]
                names = printable(table.names[j]), printable(table.names[i])
                raise InputError(f"column {names[0]} is categorical and can only be a cause, but {names[1]} {words}")
        return cls(required, forbidden | categorical, before | (categorical[:, None] & ~categorical), categorical)

    def among(self, some: np.ndarray) -> _Limits:
        """The same for some of the variables."""
        at = np.ix_(some, some)
        return _Limits(self.required[at], self.forbidden[at], self.before[at], self.categorical[some])


def _select(
    found: Ordered, limits: _Limits, names: Sequence[str], least_probability: float | None
) -> tuple[Selected, tuple[Check, ...]]:
    """Parents within the order, and how their residuals look.

    Where the model does not hold every pair adds its one per cent, and the graph seems dense. If nothing else is asked
    for, effects must then be larger the more variables it does not hold for: on synthetic tables (half of the columns
    cut into two values, two regimes pooled) F1 is best so, and where noise is merely uneven it does not suffer.
    """
    table = found.chosen.objective.table
    allowed = complete(found.chosen.order) & ~limits.forbidden

    def checked(selected: Selected) -> tuple[Selected, tuple[Check, ...]]:
        return selected, check_residuals(residuals(table, selected.graph), found.values, selected.graph, names)

    selected, checks = checked(select_parents(table, allowed, limits.required, least_probability=least_probability))
    failing = sum(not check.holds for check in checks) / max(len(checks), 1)
    least_gain = MISFIT * failing / len(allowed)
    if least_probability is None and least_gain > LEAST_GAIN:
        return checked(select_parents(table, allowed, limits.required, least_gain=least_gain, least_probability=0.5))
    return selected, checks


@dataclass(frozen=True, eq=False)
class _Bags:
    """The same question to subsamples of the rows."""

    values: np.ndarray
    limits: _Limits
    noise: str
    least_gain: float

    def mean(self, seeds: Sequence[np.random.Generator], tell: Progress) -> np.ndarray:
        """(d, d) mean edge probabilities over subsamples of 70 % of the rows, one for each generator."""
        found = np.zeros((self.values.shape[1],) * 2)
        for k, seed in enumerate(seeds):
            tell("bags", k / len(seeds))
            chosen = seed.permutation(len(self.values))[: max(int(0.7 * len(self.values)), 2)]
            found += self._one(self.values[np.sort(chosen)], seed) / len(seeds)
        return found

    def _one(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Edge probabilities of one subsample, given the order it finds; a column constant in it has no edges."""
        d = values.shape[1]
        varied = np.flatnonzero(values.min(axis=0) < values.max(axis=0))
        limits = self.limits.among(varied)
        found = np.zeros((d, d))
        if len(varied) < 2 or limits.categorical.all():
            return found
        with one_blas_thread():
            ordered = find_order(
                values[:, varied], limits.before, categorical=limits.categorical, noise=self.noise, rng=rng
            )
            rows = ordered.chosen.objective.table
            allowed = complete(ordered.chosen.order) & ~limits.forbidden
            odds = select_parents(rows, allowed, limits.required, least_gain=self.least_gain).evidence.odds
        found[np.ix_(varied, varied)] = np.where(limits.required, 1.0, special.expit(odds))
        return found


def _story(first: np.ndarray, limits: _Limits, selected: Selected) -> tuple[Phases, list[Change]]:
    """The graph after each phase, and each change with its numbers.

    ``order`` is the complete DAG of the order, ``knowledge`` what is allowed of it, ``screened`` what backward deletion
    leaves, ``kept`` the graph: of all that is allowed, what has enough probability. So the last phase may also add.
    """
    informed = first & ~limits.forbidden
    phases = {"order": first}
    if not np.array_equal(informed, first):
        phases["knowledge"] = informed
    phases |= {"screened": selected.deleted, "kept": selected.graph}
    least = f"{selected.least_probability:.2g}"
    rules = {
        ("knowledge", False): ("forbid", "prior knowledge forbids it"),
        ("screened", False): ("delete", "given the other causes that remain it explains no more than chance would"),
        ("kept", True): ("add", f"compared with all candidates its probability exceeds {least}"),
        ("kept", False): ("remove", f"compared with all candidates its probability is not above {least}"),
    }
    changes = []
    for earlier, phase in pairwise(phases):
        for i, j in np.argwhere(phases[earlier] != phases[phase]):
            action, rule = rules[phase, bool(phases[phase][i, j])]
            numbers = () if phase == "knowledge" else _numbers(selected, int(i), int(j))
            known = phase == "knowledge" and limits.categorical[j]
            told = "a categorical variable can only be a cause, of numbers" if known else rule
            changes.append(Change(phase, action, (int(i), int(j)), told, numbers=numbers))
    return phases, changes


def _numbers(selected: Selected, cause: int, effect: int) -> tuple[Measured, ...]:
    evidence = selected.evidence
    return (
        Measured("fall of log variance", effect, (cause,), float(evidence.gain[cause, effect])),
        Measured("probability", effect, (cause,), float(special.expit(evidence.odds[cause, effect]))),
    )


def _conditional_warnings(table: Table, found: Ordered, selected: Selected, checks: Sequence[Check]) -> list[str]:
    """What the user must know before trusting the graph."""
    n, d = table.count, table.width
    told = table.left_out()
    if found.straight and selected.graph[table.quantitative].any():  # what a category causes has a direction
        told.append(
            "all effects look linear with Gaussian noise of any variance: data alone cannot tell their directions, "
            "the arrows are guesses; knowledge (tiers, required edges) or columns in their own units would decide"
        )
    if table.categorical:
        names = ", ".join(map(printable, table.categorical))
        told.append(f"categorical columns were taken for causes, never for effects: {names}")
    if few_rows(n, d, per_column=5):
        told.append(f"only {n} rows for {d} variables: order and edges are mostly noise")
    failing = [check for check in checks if not check.holds]
    if failing:
        names = ", ".join(printable(check.child) for check in failing[:5]) + (", ..." if len(failing) > 5 else "")
        strict = f"; effects below {selected.least_gain:.2g} were left out" if selected.least_gain > LEAST_GAIN else ""
        told.append(
            f"the model does not hold for {len(failing)} of {len(checks)} variables with causes: {names}{strict}"
        )
    return told
