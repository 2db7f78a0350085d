"""The paper's pseudocode: read this file first.

:func:`optimal_tuning` measures dependence, then runs the two phases of the OT algorithm (Wang & Liu 2023): the optimal
phase selects a skeleton from first order HSIC, the tuning phase turns it into a DAG by comparing first with second
order. :func:`as_paper` is Section IV and Algorithm 1; :func:`as_released` follows the authors' script.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from dagtune.checks import check_residuals
from dagtune.conditional import NOISES, Ordered, find_order
from dagtune.dependence import Dependence, measure_dependence
from dagtune.knowledge import Knowledge
from dagtune.optimal import check_selection, pair_vector, select_skeleton
from dagtune.parallel import count_threads, one_blas_thread
from dagtune.result import Change, Check, Measured, Result, printable
from dagtune.selection import LEAST_GAIN, Selected, residuals, select_parents
from dagtune.tuning import (
    READINGS,
    SCORES,
    add_edges,
    add_edges_released,
    apply_knowledge,
    delete_edges,
    delete_edges_released,
    edge_scores,
    formalize,
    resolve_two_cycles,
)
from dagtune.validation import InputError, Table, check_choice, check_count, read_table

__all__ = [
    "ASSUMPTIONS",
    "AUTO_KERNELS",
    "CONDITIONAL_ASSUMPTIONS",
    "DENSITIES",
    "PRESETS",
    "Rules",
    "as_paper",
    "as_released",
    "choose_kernel",
    "conditional_tuning",
    "gaining_share",
    "optimal_tuning",
    "two_phases",
]

Progress = Callable[[str, float], None]
Phases = dict[str, np.ndarray]


def _silent(phase: str, done: float) -> None:
    pass


#: What ``preset`` decides unless the caller does. Kernel is the caller's in both.
PRESETS = {
    "paper": {"bandwidth": "median", "solver": "exact"},
    "released": {"bandwidth": "unit", "solver": "released"},
}

ASSUMPTIONS = (
    "no cycles: nothing causes itself through others",
    "no hidden common cause of two or more variables",
    "additive noise: each variable is a function of its causes plus noise that is independent of them",
    "the effects of two causes add up rather than cancel: OT reads them from X_j + X_k, so causes with opposite signs "
    "or on very different scales mislead it",
    "the rows are independent and come from one process",
)


@dataclass(frozen=True)
class Rules:
    """What the two phases are told: how to select, how to read the rules, and what is known beforehand.

    ``required`` and ``forbidden`` are boolean (d, d) matrices, ``A[i, j]`` meaning ``i -> j``.
    """

    required: np.ndarray
    forbidden: np.ndarray
    preset: str = "paper"
    solver: str = "exact"
    penalty: float | None = None
    n_pairs: int | float | None = None
    alpha: float | None = None
    deletion: str = "min"
    edge_score: str = "max"
    solver_options: Mapping[str, Any] = field(default_factory=dict)
    rng: Any = None

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, PRESETS)
        check_choice("deletion rule", self.deletion, READINGS)
        check_choice("edge_score", self.edge_score, SCORES)
        check_selection(self.solver, self.penalty, self.n_pairs, self.alpha)
        if self.preset == "released" and self.deletion != "min":
            raise InputError(
                "preset='released' has a deletion rule of its own: leave deletion= out, or use preset='paper'"
            )

    def select(self, dependence: Dependence) -> np.ndarray:
        """The skeleton: symmetric, boolean (d, d)."""
        return select_skeleton(
            dependence.first,
            solver=self.solver,
            penalty=self.penalty,
            n_pairs=self.n_pairs,
            alpha=self.alpha,
            pvalues=None if self.alpha is None else dependence.pvalues(),
            rng=self.rng,
            **self.solver_options,
        )


def as_paper(dependence: Dependence, rules: Rules, tell: Progress = _silent) -> tuple[Phases, list[Change]]:
    """Section IV and Algorithm 1: the graph after each phase, and every change from the first to the last."""
    skeleton = rules.select(dependence)
    tell("optimal", 1.0)
    informed, known = apply_knowledge(skeleton, rules.required, rules.forbidden)
    kept, _, deleted = delete_edges(informed, dependence, reading=rules.deletion, required=rules.required)
    tell("deletion", 1.0)
    denser, added = add_edges(kept, dependence, forbidden=rules.forbidden)
    tell("addition", 1.0)
    dag, removed = formalize(denser, dependence, score=rules.edge_score, required=rules.required)
    tell("formalization", 1.0)
    phases = {"optimal": skeleton, "knowledge": informed, "deletion": kept, "addition": denser, "formalization": dag}
    return phases, known + deleted + added + removed


def as_released(dependence: Dependence, rules: Rules, tell: Progress = _silent) -> tuple[Phases, list[Change]]:
    """The released script's rules, on the upper triangle of the skeleton; then the cycles it leaves are broken."""
    skeleton = np.triu(rules.select(dependence))  # a < b present means a -> b
    tell("optimal", 1.0)
    informed, known = apply_knowledge(skeleton, rules.required, rules.forbidden)
    kept, marked, deleted = delete_edges_released(informed, dependence, required=rules.required)
    tell("deletion", 1.0)
    denser, added = add_edges_released(kept, marked, dependence, forbidden=rules.forbidden)
    tell("addition", 1.0)
    single, turned = resolve_two_cycles(denser, dependence)
    dag, removed = formalize(single, dependence, score=rules.edge_score, required=rules.required)
    tell("formalization", 1.0)
    phases = {"optimal": skeleton, "knowledge": informed, "deletion": kept, "addition": denser}
    return phases | {"two-cycles": single, "formalization": dag}, known + deleted + added + turned + removed


def two_phases(dependence: Dependence, rules: Rules, tell: Progress = _silent) -> tuple[Phases, list[Change]]:
    """The optimal and the tuning phase, by the preset's rules."""
    return (as_paper if rules.preset == "paper" else as_released)(dependence, rules, tell)


def optimal_tuning(
    X: Any,
    *,
    preset: str = "paper",
    kernel: Any = "gaussian",
    bandwidth: str | float | None = None,
    solver: str | None = None,
    penalty: float | None = None,
    n_pairs: int | float | None = None,
    alpha: float | None = None,
    deletion: str = "min",
    edge_score: str = "max",
    order: int = 2,
    combine: str = "sum",
    knowledge: Any = None,
    engine: str = "auto",
    memory: str | int = "1GiB",
    threads: int | None = None,
    drop_constant: bool = False,
    solver_options: Mapping[str, Any] | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Result:
    """Learn a DAG from a table by the OT algorithm; the result holds every step.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    preset : "paper" (Section IV and Algorithm 1) or "released" (what the authors' script does, then the cycles it
        leaves are broken as in the paper)
    kernel, bandwidth, engine, combine, order, memory, threads : see :func:`dagtune.measure_dependence`;
        kernel="auto" picks by :func:`choose_kernel`
    solver, penalty, n_pairs, alpha, solver_options : see :func:`dagtune.optimal.select_skeleton`
    deletion : "min" (Algorithm 1) or "max" (the running text) reading of the deletion rule
    edge_score : "max", "mean" or "min" over the other parents, for DAG-formalization
    knowledge : :class:`dagtune.Knowledge`, a mapping, or the path of a file
    drop_constant : leave constant columns out instead of refusing them
    rng : seed or generator of the Gumbel solvers; nothing else is random
    progress : called as progress(phase, share done)
    """
    settled = PRESETS[check_choice("preset", preset, PRESETS)]
    if preset == "released" and order != 2:
        raise InputError(f"preset='released' has no rules for order={order!r}: use order=2, or preset='paper'")
    bandwidth = settled["bandwidth"] if bandwidth is None else bandwidth
    table = read_table(X, drop_constant=drop_constant)
    known = Knowledge.of(knowledge)
    rules = Rules(
        *known.matrices(table.names),
        preset=preset,
        solver=settled["solver"] if solver is None else solver,
        penalty=penalty,
        n_pairs=n_pairs,
        alpha=alpha,
        deletion=deletion,
        edge_score=edge_score,
        solver_options=solver_options or {},
        rng=rng,
    )
    frame = pd.DataFrame(table.values, columns=list(table.names), copy=False)
    dependence, notes = _measure(
        frame,
        kernel,
        bandwidth=bandwidth,
        engine=engine,
        combine=combine,
        order=order,
        memory=memory,
        threads=threads,
        progress=progress,
    )
    phases, changes = two_phases(dependence, rules, progress or _silent)
    if not known:
        del phases["knowledge"]
    return Result(
        names=table.names,
        graphs=phases,
        changes=tuple(change.named(table.names) for change in changes),
        strength=edge_scores(phases["formalization"], dependence, score=edge_score),
        strength_words=f"strength: {edge_score} of HSIC(effect, cause + k) over the other causes k of the effect",
        opening=dependence.first,
        opening_words="HSIC is",
        assumptions=ASSUMPTIONS,
        warnings=(*notes, *_warnings(table, dependence)),
        settings={
            "learner": "optimal-tuning",
            "preset": preset,
            "kernel": dependence.kernel,
            "bandwidth": _plain(bandwidth),
            "solver": rules.solver,
            "penalty": _plain(penalty),
            "n_pairs": _plain(n_pairs),
            "alpha": _plain(alpha),
            "deletion": deletion,
            "edge_score": edge_score,
            "order": _plain(order),
            "combine": combine,
            "engine": dependence.engine,
            "knowledge": known.as_mapping(),
            "rows": len(table.values),
            "seed": int(rng) if isinstance(rng, (int, np.integer)) else None,
        },
    )


#: Kernels that kernel="auto" chooses among; of equals the first.
AUTO_KERNELS = ("gaussian", "sigmoid")


def _measure(X: pd.DataFrame, kernel: Any, **how: Any) -> tuple[Dependence, list[str]]:
    """Dependence by the kernel asked for, or chosen, and what is to be said about the choice."""
    if isinstance(kernel, str) and kernel == "auto":
        dependence, choice = choose_kernel(X, **how)
        return dependence, [choice]
    return measure_dependence(X, kernel=kernel, **how), []


def choose_kernel(X: Any, **how: Any) -> tuple[Dependence, str]:
    """Dependence by the kernel under which most triples gain, and a sentence that says so.

    The tuning phase can only read what :func:`gaining_share` counts, so the kernel that shows most of it is taken. The
    truth plays no part. docs/ot.md has what this was measured to be worth.
    """
    measured = [measure_dependence(X, kernel=kernel, **how) for kernel in AUTO_KERNELS]
    shares = [gaining_share(dependence) for dependence in measured]
    best = int(np.argmax(shares))
    told = ", ".join(f"{share:.0%} under {kernel}" for kernel, share in zip(AUTO_KERNELS, shares))
    return measured[
        best
    ], f"kernel='auto' chose {AUTO_KERNELS[best]}: of all triples a sum says more than its parts in {told}"


def gaining_share(dependence: Dependence) -> float:
    """Share of triples i, j < k with ``S_ijk > max(F_ij, F_ik)``, of which Proposition 4 (b) speaks; 0 if no triple."""
    d = len(dependence.first)
    gains = []
    for i in range(d):
        others = np.delete(np.arange(d), i)
        j, k = (others[side] for side in np.triu_indices(d - 1, 1))
        F = dependence.first[i]
        gains.append(dependence.second[i, j, k] > np.maximum(F[j], F[k]))
    return float(np.mean(gains)) if d > 2 else 0.0


def _plain(value: Any) -> Any:
    """A number as JSON knows it, for those that come from numpy."""
    return value.item() if isinstance(value, np.generic) else value


def _warnings(table: Table, dependence: Dependence) -> list[str]:
    """What the data say against the assumptions, as far as one look at the columns can tell."""
    values, names = table.values, [printable(name) for name in table.names]
    found = list(dependence.notes)
    if table.dropped:
        found.append(f"constant columns were left out: {', '.join(map(printable, table.dropped))}")
    if len(values) < 50:
        found.append(f"only {len(values)} rows: differences between HSIC values are mostly noise")
    spread = values.std(axis=0)
    wide, narrow = int(spread.argmax()), int(spread.argmin())
    if spread[wide] > 10 * spread[narrow]:
        found.append(
            f"{names[wide]} varies {spread[wide] / spread[narrow]:.3g} times as much as {names[narrow]}: a sum of the "
            "two is the first alone; rescale the columns unless their units are comparable"
        )
    negative = int((pair_vector(dependence.first) < 0).sum())
    if negative:
        found.append(f"{negative} pairs have a negative HSIC: the {dependence.kernel} kernel is not positive definite")
    if len(values) >= 8:
        sample = values[np.linspace(0, len(values) - 1, min(len(values), 5000)).astype(int)]
        varied = sample[:, sample.std(axis=0) > 0]
        if varied.shape[1] and (stats.normaltest(varied).pvalue > 0.05).all():
            found.append("every column looks Gaussian: if effects are linear too, no method can tell directions")
        few = [name for name, column in zip(names, sample.T) if len(np.unique(column)) <= 5]
        if few:
            found.append(f"columns with at most 5 distinct values ({', '.join(few[:5])}): additive noise is doubtful")
    standard = (values - values.mean(axis=0)) / spread
    correlation = np.abs(np.triu(standard.T @ standard / len(values), 1))
    if correlation.max() > 0.99:
        a, b = np.unravel_index(int(correlation.argmax()), correlation.shape)
        found.append(f"{names[a]} and {names[b]} are nearly copies of each other: their direction is arbitrary")
    return found


# --- conditional incremental information ----------------------------------------------------------------------------

CONDITIONAL_ASSUMPTIONS = (
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
    rng: Any = None,
    progress: Progress | None = None,
) -> Result:
    """Learn a DAG from a table by conditional incremental information; see :mod:`dagtune.conditional`.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    noise : "auto" decides by the data and says so in the result; "equal" (noise of one variance), "free" (of any
        variances: the graph does not depend on the columns' units), "non-gaussian", "post-nonlinear"
    density : "sparse" (edges that are rather there than not: best F1), "dense" (all that might be there: a missing
        edge spoils effects of interventions, an extra one does not), "balanced" (the first in sparse graphs, nearer
        the second in dense ones), or the least probability of an edge, from 1 (none) to 0 (the complete DAG)
    knowledge : :class:`dagtune.Knowledge`, a mapping, or the path of a file
    bags : fit so many subsamples of 70 % of the rows too, and give the mean of their edge probabilities
    categorical : columns, of text or numbers, whose values are levels. Each stays one variable with a function for each
        level but one. They can only be causes, of numbers: what causes a level is not modelled
    threads : how many; None is one a processor. The result does not depend on it
    drop_constant : leave constant columns out instead of refusing them
    rng : seed or generator of the joint regressions' landmarks and of the subsamples
    progress : called as progress(phase, share done)
    """
    tell = progress or _silent
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
    tell("deletion", 1.0)
    phases, changes = _tuning_story(_complete(found.chosen.order), limits, selected)
    graph = phases["formalization"]
    tell("formalization", 1.0)
    probability = None
    if bags:
        seeds = generator.spawn(bags)
        probability = np.zeros_like(selected.evidence.odds)
        for k, seed in enumerate(seeds):
            tell("bags", k / bags)
            chosen = seed.permutation(len(table.values))[: max(int(0.7 * len(table.values)), 2)]
            probability += _one_bag(table.values[np.sort(chosen)], limits, noise, selected.least_gain, seed) / bags
    return Result(
        names=table.names,
        graphs=phases,
        changes=tuple(change.named(table.names) for change in changes),
        strength=np.where(graph, np.nan_to_num(selected.evidence.gain), np.nan),
        strength_words="strength: by how much the cause lowers the log variance of its effect, given its other causes",
        opening=np.nan_to_num(selected.evidence.gain),
        opening_words="what it adds to the others that remain, in log variance, is",
        assumptions=CONDITIONAL_ASSUMPTIONS,
        warnings=tuple(_conditional_warnings(table, found, selected, checks)),
        settings={
            "learner": "conditional-tuning",
            "noise": noise,
            "noise_decided": found.chosen.noise,
            "decision": found.decision,
            "joint_regressions": found.joint_used,
            "likely_neighbours": found.neighbours_used,
            "density": _plain(density),
            "least_probability": selected.least_probability,
            "least_gain": selected.least_gain,
            "bags": _plain(bags),
            "categorical": list(table.categorical),
            "knowledge": known.as_mapping(),
            "rows": len(table.values),
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


def _least_probability(density: str | float) -> float | None:
    if isinstance(density, str):
        return DENSITIES[check_choice("density", density, DENSITIES)]
    number = isinstance(density, (int, float, np.integer, np.floating)) and not isinstance(density, bool)
    if not number or not 0 <= density <= 1:
        raise InputError(f"density={density!r} must be one of {', '.join(DENSITIES)}, or a probability from 0 to 1")
    return float(density)


def _complete(order: np.ndarray) -> np.ndarray:
    """Boolean (d, d): everything causes all that comes later."""
    rank = np.argsort(order)
    return rank[:, None] < rank


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
        levels = np.array([name in table.categorical for name in table.names])
        if levels.all():
            raise InputError("all columns are categorical: at least one must be a number, for the others to cause")
        for wrong, words in (
            (required, "is required to cause it; drop that edge"),
            (before & ~levels[:, None], "must come before it; change the tiers or required edges"),
        ):
            if wrong[:, levels].any():
                i, j = np.argwhere(wrong & levels)[0]
                names = printable(table.names[j]), printable(table.names[i])
                raise InputError(f"column {names[0]} is categorical and can only be a cause, but {names[1]} {words}")
        return cls(required, forbidden | levels, before | (levels[:, None] & ~levels), levels)

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
    allowed = _complete(found.chosen.order) & ~limits.forbidden

    def checked(selected: Selected) -> tuple[Selected, tuple[Check, ...]]:
        return selected, check_residuals(residuals(table, selected.graph), found.values, selected.graph, names)

    selected, checks = checked(select_parents(table, allowed, limits.required, least_probability=least_probability))
    failing = sum(not check.holds for check in checks) / max(len(checks), 1)
    least_gain = MISFIT * failing / len(allowed)
    if least_probability is None and least_gain > LEAST_GAIN:
        return checked(select_parents(table, allowed, limits.required, least_gain=least_gain, least_probability=0.5))
    return selected, checks


def _one_bag(
    values: np.ndarray, limits: _Limits, noise: str, least_gain: float, rng: np.random.Generator
) -> np.ndarray:
    """(d, d) edge probabilities of one subsample, given the order it finds; a column constant in it has no edges."""
    d = values.shape[1]
    varied = np.flatnonzero(values.min(axis=0) < values.max(axis=0))
    limits = limits.among(varied)
    found = np.zeros((d, d))
    if len(varied) < 2 or limits.categorical.all():
        return found
    with one_blas_thread():
        ordered = find_order(values[:, varied], limits.before, categorical=limits.categorical, noise=noise, rng=rng)
        rows = ordered.chosen.objective.table
        allowed = _complete(ordered.chosen.order) & ~limits.forbidden
        odds = select_parents(rows, allowed, limits.required, least_gain=least_gain).evidence.odds
    found[np.ix_(varied, varied)] = np.where(limits.required, 1.0, special.expit(odds))
    return found


def _tuning_story(complete: np.ndarray, limits: _Limits, selected: Selected) -> tuple[Phases, list[Change]]:
    """The graph after each phase and each change with its numbers."""
    informed = complete & ~limits.forbidden
    phases = {"optimal": complete}
    if not np.array_equal(informed, complete):
        phases["knowledge"] = informed
    phases |= {
        "deletion": selected.deleted,
        "addition": selected.deleted | selected.graph,
        "formalization": selected.graph,
    }
    rules = {
        "knowledge": ("forbid", "prior knowledge forbids it"),
        "deletion": ("delete", "given the other causes that remain it explains no more than chance would"),
        "addition": ("add", f"compared with all candidates its probability exceeds {selected.least_probability:.2g}"),
        "formalization": (
            "remove",
            f"compared with all candidates its probability is not above {selected.least_probability:.2g}",
        ),
    }
    changes = []
    names = list(phases)
    for earlier, phase in pairwise(names):
        action, rule = rules[phase]
        for i, j in np.argwhere(phases[earlier] != phases[phase]):
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
    n, d = table.values.shape
    told = []
    numbers = [name not in table.categorical for name in table.names]
    if found.straight and selected.graph[numbers].any():  # what a level causes has a direction
        told.append(
            "all effects look linear with Gaussian noise of any variance: data alone cannot tell their directions, "
            "the arrows are guesses; knowledge (tiers, required edges) or columns in their own units would decide"
        )
    if table.dropped:
        told.append(f"constant columns were left out: {', '.join(map(printable, table.dropped))}")
    if table.categorical:
        names = ", ".join(map(printable, table.categorical))
        told.append(f"categorical columns were taken for causes, never for effects: {names}")
    if n < 50 or n < 5 * d:
        told.append(f"only {n} rows for {d} variables: order and edges are mostly noise")
    failing = [check for check in checks if not check.holds]
    if failing:
        names = ", ".join(printable(check.child) for check in failing[:5]) + (", ..." if len(failing) > 5 else "")
        strict = f"; effects below {selected.least_gain:.2g} were left out" if selected.least_gain > LEAST_GAIN else ""
        told.append(
            f"the model does not hold for {len(failing)} of {len(checks)} variables with causes: {names}{strict}"
        )
    return told
