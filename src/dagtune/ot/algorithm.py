"""The paper's pseudocode: read this file first.

:func:`optimal_tuning` measures dependence, then runs the two phases of the OT algorithm (Wang & Liu 2023): the optimal
phase selects a skeleton from first order HSIC, the tuning phase turns it into a DAG by comparing first with second
order. :func:`as_paper` is Section IV and Algorithm 1; :func:`as_released` follows the authors' script.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dagtune.engine.dependence import MAX_WIDTH, Dependence, measure_dependence
from dagtune.engine.packed import packed_bytes, with_second
from dagtune.engine.problem import refuse_if_larger
from dagtune.knowledge import Knowledge
from dagtune.ot.cycles import SCORES, edge_scores, formalize
from dagtune.ot.optimal import check_selection, select_skeleton
from dagtune.ot.released import add_edges_released, delete_edges_released, resolve_two_cycles
from dagtune.ot.signs import order_matters, signs_of_trouble
from dagtune.ot.tuning import READINGS, add_edges, apply_knowledge, delete_edges
from dagtune.progress import Clock, Progress, silent
from dagtune.result import Change, Result
from dagtune.tables import MEMORY, Table, read_table, weighted
from dagtune.text import plain
from dagtune.trust.fitted import Workings
from dagtune.validation import InputError, check_choice, parse_memory

__all__ = [
    "ASSUMPTIONS",
    "AUTO_KERNELS",
    "PRESETS",
    "Rules",
    "as_paper",
    "as_released",
    "choose_kernel",
    "gaining_share",
    "optimal_tuning",
    "two_phases",
]

Phases = dict[str, np.ndarray]


#: What ``preset`` decides unless the caller does. Neither decides the kernel.
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
    """How the two phases select and compare, and what is known beforehand.

    Parameters
    ----------
    required, forbidden : ndarray of bool, shape (d, d)
        Known edges and known non-edges; ``A[i, j]`` means ``i -> j``.
    preset, solver, penalty, n_pairs, alpha, deletion, edge_score, solver_options
        As in :class:`dagtune.OptimalTuning`.
    rng : int or Generator, optional
        Seed of the Gumbel solvers.

    Raises
    ------
    InputError
        If an option is unknown, or two options contradict each other.
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


def as_paper(dependence: Dependence, rules: Rules, tell: Progress = silent) -> tuple[Phases, list[Change]]:
    """The two phases of Section IV and Algorithm 1.

    Parameters
    ----------
    dependence : Dependence
        HSIC of first and second order, from :func:`dagtune.measure_dependence`.
    rules : Rules
    tell : callable
        Called as ``tell(phase, share)`` after each phase.

    Returns
    -------
    phases : dict of str to ndarray of bool, shape (d, d)
        The graph after each phase.
    changes : list of Change
        Every change from the first graph to the last.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC".

    Examples
    --------
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> nothing = np.zeros((3, 3), dtype=bool)
    >>> phases, changes = as_paper(dependence, Rules(nothing, nothing))
    >>> list(phases)
    ['optimal', 'knowledge', 'deletion', 'addition', 'formalization']
    """
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


def as_released(dependence: Dependence, rules: Rules, tell: Progress = silent) -> tuple[Phases, list[Change]]:
    """The rules of the released script, on the upper triangle of the skeleton; then the remaining cycles are broken.

    Parameters
    ----------
    dependence : Dependence
        HSIC of first and second order, from :func:`dagtune.measure_dependence`.
    rules : Rules
    tell : callable
        Called as ``tell(phase, share)`` after each phase.

    Returns
    -------
    phases : dict of str to ndarray of bool, shape (d, d)
        The graph after each phase.
    changes : list of Change
        Every change from the first graph to the last.

    Examples
    --------
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> nothing = np.zeros((3, 3), dtype=bool)
    >>> phases, changes = as_released(dependence, Rules(nothing, nothing, preset="released"))
    >>> list(phases)
    ['optimal', 'knowledge', 'deletion', 'addition', 'two-cycles', 'formalization']
    """
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


def two_phases(dependence: Dependence, rules: Rules, tell: Progress = silent) -> tuple[Phases, list[Change]]:
    """The optimal and the tuning phase, by the rules of the preset.

    Parameters
    ----------
    dependence : Dependence
        HSIC of first and second order, from :func:`dagtune.measure_dependence`.
    rules : Rules
    tell : callable
        Called as ``tell(phase, share)`` after each phase.

    Returns
    -------
    phases : dict of str to ndarray of bool, shape (d, d)
        The graph after each phase.
    changes : list of Change
        Every change from the first graph to the last.

    Examples
    --------
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> nothing = np.zeros((3, 3), dtype=bool)
    >>> phases, changes = two_phases(dependence, Rules(nothing, nothing))
    >>> int(phases["optimal"].sum())  # the skeleton has all pairs, in both directions
    6
    """
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
    memory: str | int = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    missing: str = "error",
    drop_constant: bool = False,
    sample_weight: Any = None,
    solver_options: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Result:
    """Learn a DAG from a table by the OT algorithm; the result holds every step.

    Parameters
    ----------
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    preset, kernel, bandwidth, solver, penalty, n_pairs, alpha, deletion, edge_score, order, combine
        As in :class:`dagtune.OptimalTuning`.
    knowledge, engine, memory, checkpoint, threads, missing, drop_constant, sample_weight, solver_options
        As in :class:`dagtune.OptimalTuning`.
    time_limit, progress
        As in :class:`dagtune.OptimalTuning`.
    rng : int or Generator, optional
        Seed of the Gumbel solvers; :class:`dagtune.OptimalTuning` calls it ``random_state``.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If the table or an option can't be used.
    TimeLimitError
        If ``time_limit`` is over before the result is there.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> optimal_tuning(np.column_stack([x, x.sum(axis=1) + rng.normal(size=300)])).phases
    ('optimal', 'deletion', 'addition', 'formalization')
    """
    clock = Clock("ot", time_limit, progress)
    settled = PRESETS[check_choice("preset", preset, PRESETS)]
    if preset == "released" and order != 2:
        raise InputError(f"preset='released' has no rules for order={order!r}: use order=2, or preset='paper'")
    bandwidth = settled["bandwidth"] if bandwidth is None else bandwidth
    reading = {"missing": missing, "drop_constant": drop_constant, "sample_weight": sample_weight}
    given = _read_numbers(X, memory=memory, checkpoint=checkpoint, **reading)
    counted = weighted(given)
    table = counted.table
    known = Knowledge.of(knowledge).without_beliefs("OptimalTuning")
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
    dependence, notes = _measure(
        table,
        kernel,
        bandwidth=bandwidth,
        engine=engine,
        combine=combine,
        order=order,
        memory=memory,
        threads=threads,
        progress=clock.tell,
    )
    if counted.kept is not None:
        dependence = dependence.counted_as(counted.counts_as)
    phases, changes = two_phases(dependence, rules, clock.tell)
    if not known:
        del phases["knowledge"]
    return Result(
        names=table.names,
        history=phases,
        changes=tuple(change.named(table.names) for change in changes),
        strength=edge_scores(phases["formalization"], dependence, score=edge_score),
        strength_words=f"strength: {edge_score} of HSIC(effect, cause + k) over the other causes k of the effect",
        opening=dependence.first,
        opening_words="HSIC is",
        assumptions=ASSUMPTIONS,
        warnings=(*table.left_out(), *notes, *signs_of_trouble(table, dependence), *order_matters(preset)),
        settings=_settings(rules, dependence, bandwidth=bandwidth, order=order, known=known)
        | {"rows": given.count, **counted.settings},
        workings=Workings(counted.some),
    )


def _read_numbers(X: Any, **reading: Any) -> Table:
    """The table; categories are refused."""
    table = read_table(X, **reading)
    if table.categorical:
        raise InputError(
            f"column {table.categorical[0]!r} is categorical, and OT measures numbers only: drop it, or use "
            "ConditionalTuning"
        )
    return table


def _settings(
    rules: Rules, dependence: Dependence, *, bandwidth: str | float, order: int, known: Knowledge
) -> dict[str, Any]:
    """What was asked for, as plain values that the result stores."""
    return {
        "learner": "optimal-tuning",
        "preset": rules.preset,
        "kernel": dependence.kernel,
        "bandwidth": plain(bandwidth),
        "solver": rules.solver,
        "penalty": plain(rules.penalty),
        "n_pairs": plain(rules.n_pairs),
        "alpha": plain(rules.alpha),
        "deletion": rules.deletion,
        "edge_score": rules.edge_score,
        "order": plain(order),
        "combine": dependence.combine,
        "engine": dependence.engine,
        "knowledge": known.as_mapping(),
        "seed": int(rules.rng) if isinstance(rules.rng, (int, np.integer)) else None,
    }


#: Kernels that kernel="auto" chooses among; if two are equally good, the first is taken.
AUTO_KERNELS = ("gaussian", "sigmoid")


def _measure(table: Table, kernel: Any, **how: Any) -> tuple[Dependence, list[str]]:
    """Dependence by the kernel asked for, or by the best one for "auto", and a note about that choice."""
    if isinstance(kernel, str) and kernel == "auto":
        dependence, choice = choose_kernel(table, **how)
        return dependence, [choice]
    return _with_second(table, kernel=kernel, **how), []


def _with_second(X: Any, **how: Any) -> Dependence:
    """First and second order; of more than 200 variables each pair of causes is held once."""
    order, memory = how.get("order", 2), parse_memory(how.get("memory", MEMORY))
    table = read_table(X)
    if order == 2 and table.width > MAX_WIDTH[2]:
        refuse_if_larger(memory, packed_bytes(table.width))  # before hours are spent
    found = measure_dependence(table, **how)
    return with_second(found, memory) if order == 2 and 2 not in found.higher else found


def choose_kernel(X: Any, **how: Any) -> tuple[Dependence, str]:
    """Dependence by the kernel for which :func:`gaining_share` is largest, and a sentence that says so.

    The tuning phase works with triples in which a sum says more than its parts, so the kernel that shows most of them
    is taken. docs/ot.md says how much this was measured to help.

    Parameters
    ----------
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    how
        Keywords of :func:`dagtune.measure_dependence`, without ``kernel``.

    Returns
    -------
    dependence : Dependence
    sentence : str
        Which kernel was chosen, and the share under each.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence, sentence = choose_kernel(np.column_stack([x, x.sum(axis=1)]))
    >>> dependence.kernel in AUTO_KERNELS
    True
    """
    measured = [_with_second(X, kernel=kernel, **how) for kernel in AUTO_KERNELS]
    shares = [gaining_share(dependence) for dependence in measured]
    best = int(np.argmax(shares))
    told = ", ".join(f"{share:.0%} under {kernel}" for kernel, share in zip(AUTO_KERNELS, shares))
    return measured[
        best
    ], f"kernel='auto' chose {AUTO_KERNELS[best]}: of all triples a sum says more than its parts in {told}"


def gaining_share(dependence: Dependence) -> float:
    """Share of the triples i, j < k for which ``S_ijk > max(F_ij, F_ik)``, the case of Proposition 4 (b).

    Parameters
    ----------
    dependence : Dependence

    Returns
    -------
    float
        0.0 if there are fewer than three variables.

    Examples
    --------
    >>> from dagtune import measure_dependence
    >>> gaining_share(measure_dependence(np.random.default_rng(0).normal(size=(50, 2))))
    0.0
    """
    d = len(dependence.first)
    gains = []
    for i in range(d):
        others = np.delete(np.arange(d), i)
        j, k = (others[side] for side in np.triu_indices(d - 1, 1))
        F = dependence.first[i]
        gains.append(dependence.second[i, j, k] > np.maximum(F[j], F[k]))
    return float(np.mean(gains)) if d > 2 else 0.0
