"""Conditional tuning, start to end: measure the table, find likely orders, sample them, decide, check what is left.

:func:`conditional_tuning` reads the table (:mod:`dagtune.conditional.design`), scores orders by one quantity in nats
(:mod:`dagtune.conditional.score`), searches and samples them (:mod:`dagtune.conditional.search`,
:mod:`dagtune.conditional.sampler`), takes the graph from the probabilities of edges
(:mod:`dagtune.conditional.posterior`) and checks the residuals (:mod:`dagtune.conditional.checks`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dagtune.conditional.checks import check_residuals
from dagtune.conditional.columns import OWN, SCORES
from dagtune.conditional.design import Design, estimated, measure
from dagtune.conditional.explain import cell_words, leftover
from dagtune.conditional.numbers import RESAMPLES, START_RATES, STARTS
from dagtune.conditional.origins import (
    Data,
    Limits,
    Merged,
    Model,
    happened,
    origins_of,
    posed,
    undecided_at,
    values_of,
    without_groups,
)
from dagtune.conditional.posterior import Posterior, averaged, decide, explore, order_of, resample
from dagtune.conditional.problem import Offer
from dagtune.conditional.score import Score
from dagtune.conditional.search import search
from dagtune.conditional.track_record import WORDS, track_record
from dagtune.engine.problem import refuse_if_larger
from dagtune.graph import complete
from dagtune.interventions import Experiments
from dagtune.knowledge import Knowledge
from dagtune.parallel import count_threads, one_blas_thread, parallel_map
from dagtune.progress import Clock, Progress, silent
from dagtune.result import Change, Check, Measured, Result
from dagtune.tables import DRAWS, MEMORY, Table, draw_rows, few_rows, read_table, run_there, weighted
from dagtune.tables.derived import Derived, find_derived
from dagtune.tables.table import refuse_extreme
from dagtune.text import plain, printable, say_seconds
from dagtune.trust.fitted import Workings
from dagtune.validation import InputError, check_choice, check_count, format_bytes, parse_memory

__all__ = ["ASSUMPTIONS", "DENSITIES", "NOISES", "conditional_tuning"]


ASSUMPTIONS = (
    "no cycles: nothing causes itself through others",
    "no hidden common cause of two or more variables",
    "each variable, perhaps on another scale, is a function of its causes plus noise that is independent of them, "
    "except that its spread may vary with them",
    "the function is a sum of smooth functions of the causes, perhaps through a bent link, or smooth in all together",
    "linear effects with Gaussian noise of unknown variances have a direction only where another effect or cause of "
    "the same variable tells it",
    "the rows are independent and come from one process",
)

#: The least probability that two variables are joined, by name of the density: a missing edge costs a ninth of an
#: extra one, as much, or nine times as much.
DENSITIES = {"sparse": 0.9, "balanced": 0.5, "dense": 0.1}
#: Two halves of the sample that differ by more than this in an edge have not converged.
_DISAGREE = 0.2
#: Seconds between two reports of progress.
_SELDOM = 0.05


#: The models by the name of the noise.
NOISES = {
    "auto": Model(Offer(), "mixed", (OWN, SCORES)),
    "equal": Model(Offer(any_distribution=False, varying_spread=False), "equal", (OWN,)),
    "free": Model(Offer(any_distribution=False, varying_spread=False), "none", (OWN,)),
    "non-gaussian": Model(Offer(varying_spread=False), "none", (OWN,)),
    "post-nonlinear": Model(Offer(varying_spread=False), "none", (OWN, SCORES)),
}


def conditional_tuning(
    X: Any,
    *,
    noise: str = "auto",
    density: str | float = "balanced",
    knowledge: Any = None,
    bags: int = 0,
    kinds: Mapping[str, str | Sequence[str]] | None = None,
    categorical: Sequence[str] = (),
    merge: Mapping[str, Sequence[str]] | None = None,
    groups: Any = None,
    experiments: Any = None,
    sample_weight: Any = None,
    blocks: int | str | None = None,
    memory: str | int = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    missing: str = "error",
    drop_constant: bool = False,
    time_limit: float | None = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Result:
    """Learn a DAG and the probability of every edge; the result holds every step.

    Parameters are those of :class:`dagtune.ConditionalTuning`, with ``rng`` for its ``random_state``.
    """
    tell = Clock("conditional", time_limit, _seldom(progress or silent)).tell
    model = NOISES[check_choice("noise", noise, NOISES)]
    least = _least_probability(density)
    bags, threads = check_count("bags", bags, least=0), count_threads(threads)
    done = Experiments.of(experiments)
    table = read_table(
        X,
        missing=missing,
        drop_constant=drop_constant,
        categorical=categorical,
        kinds=kinds,
        infer=True,
        merge=merge,
        groups=groups,
        conditions=done.conditions,
        sample_weight=sample_weight,
        blocks=blocks,
        memory=memory,
        checkpoint=checkpoint,
    )
    refuse_extreme(table)
    rows, counted = table.count, weighted(table)
    table = counted.table
    if bags and counted.kept is not None:
        raise InputError("bags draws rows as if all counted alike, and these have weights: leave bags out")
    known = Knowledge.of(knowledge)
    derived = find_derived(table.some().values, table.names, table.quantitative)
    (limits, codes), acted, d = posed(table, known, derived), happened(table, done), table.width
    generator = np.random.default_rng(rng)
    with one_blas_thread():
        task = _Task(limits, model, least, table.names, generator)
        if table.rows.in_memory:
            first, *others = (
                Data(values_of(table, values, codes), acted, counted.kept, table.together)
                for values in table.completed(DRAWS, np.random.default_rng(0))
            )
            settled = task.in_memory([first, *others], derived, _Bagging(bags, threads), tell)
        else:
            seconds, needed = estimated(table.count, table.width)
            refuse_if_larger(parse_memory(memory), needed)
            tell(f"sums: about {say_seconds(seconds)} and {format_bytes(needed)}", 0.0)
            if bags:
                raise InputError("bags needs all rows in memory, and this table is read in pieces: leave it out")
            others = []
            design = measure(table.rows, limits.kinds, model.scales, tell)
            settle = partial(task.from_sums, design, derived)
            settled = run_there(partial(settle, time_limit=time_limit)) if table.rows.elsewhere else settle(tell)
    found, graph, strength = settled.found, settled.graph, settled.strength
    probability, limits = found.probability, limits.among(np.arange(d))
    tell("kept", 1.0)
    history, changes = _story(complete(settled.order), limits, graph, probability, least)
    margin = found.margin / settled.rows
    return Result(
        names=table.names,
        history=history,
        changes=tuple(change.named(table.names) for change in changes),
        strength=strength,
        strength_words="strength: by how much the cause lowers the log variance of its effect, given its other causes",
        opening=found.ancestry,
        opening_words="the share of likely orders in which the cause comes first is",
        assumptions=ASSUMPTIONS,
        warnings=(*_warnings(table, counted.counts_as, found, settled.checks), *map(str, derived)),
        settings={
            "learner": "conditional-tuning",
            "noise": noise,
            "density": plain(density),
            "least_probability": least,
            "bags": plain(bags),
            "missing": missing,
            "groups": None if table.groups is None else table.groups.column or "given",
            "experiments": done.as_mapping() if done else None,
            "blocks": None if table.together is None else int(table.together.max()) + 1,
            "kinds": dict(zip(table.names, table.kinds)),
            "knowledge": known.as_mapping(),
            "rows": rows,
            **counted.settings,
            "seed": int(rng) if isinstance(rng, (int, np.integer)) else None,
            "edge_rate": settled.edge_rate,
            "disagreement": found.disagreement,
        },
        order=tuple(table.names[i] for i in settled.order),
        probability=probability,
        probability_words=_probability_words(bags, draws=1 + len(others)),
        checks=settled.checks,
        margin=margin,
        track_record=track_record(margin),
        track_record_words=WORDS,
        graphs=found.graphs,
        cells=settled.cells,
        derived=tuple(map(str, derived)),
        explained=-np.expm1(-strength),
        workings=Workings(counted.some, origins_of(table, acted, counted.kept)),
    )


class _Settled(NamedTuple):
    """What follows from the sums: the posterior, the graph, what is said of both, and rows that the table counts as."""

    found: Posterior
    graph: np.ndarray
    order: tuple[int, ...]
    checks: tuple[Check, ...]
    strength: np.ndarray
    cells: tuple[str, ...]
    edge_rate: float
    rows: int


class _Bagging(NamedTuple):
    """How many resamples are fitted anew, on how many threads."""

    bags: int
    threads: int


@dataclass(frozen=True, eq=False)
class _Task:
    """What is done once rows are measured; from sums alone a worker of a cluster may do it."""

    limits: Limits
    model: Model
    least: float
    names: tuple[str, ...]
    rng: np.random.Generator

    def in_memory(
        self, tables: Sequence[Data], derived: Sequence[Derived], bagging: _Bagging, tell: Progress
    ) -> _Settled:
        """Of one or several draws of the same table."""
        limits, model, rng = self.limits, self.model, self.rng
        first, *others = tables
        for one in derived:
            if one.how == "indicators" and (merged := Merged.of(one, self.names, limits)):
                inner, wider = merged.posed(first, limits)
                limits = merged.placed(_posterior(wider.score(inner, model), rng, tell), limits)
        score = limits.score(first, model)
        count = -(-RESAMPLES // len(tables))  # resamples of the rows, shared out among the draws
        found = _posterior(score, rng, tell, count)
        if others:
            again = _Again(limits, model, found.order)
            found = averaged([found, *(again.posterior(each, rng, tell, count) for each in others)])
        if bagging.bags:
            mean = _Bags(first, limits, model, found).mean(rng.spawn(bagging.bags), bagging.threads, tell)
            found = replace(found, probability=mean)
        return self._settled(score, found, derived)

    def from_sums(
        self,
        design: Design,
        derived: Sequence[Derived],
        tell: Progress | None = None,
        time_limit: float | None = None,
    ) -> _Settled:
        """Of a table whose rows are elsewhere."""
        score = self.limits.over(design, self.model)
        found = _posterior(score, self.rng, tell or Clock("conditional", time_limit).tell)
        return self._settled(score, found, derived)

    def _settled(self, score: Score, found: Posterior, derived: Sequence[Derived]) -> _Settled:
        """Decide and check; groups, a cause of every variable, are no variable of the result."""
        d = len(self.names)
        grouped = score.width > d
        found = undecided_at(without_groups(found, d) if grouped else found, derived, self.names)
        always = [d] if grouped else []
        required, before = self.limits.required[:d, :d], score.must_precede[:d, :d]
        graph = decide(np.where(required, 2.0, found.probability), self.least, before)
        parents = [np.flatnonzero(graph[:, i]).tolist() + always for i in range(d)]
        residuals = np.stack([leftover(score, i, parents[i]) for i in range(d)])
        return _Settled(
            found=found,
            graph=graph,
            order=order_of(graph, found.ancestry, before),
            checks=check_residuals(residuals, score.design.values[:d], graph, self.names),
            strength=_strength(score, graph, always),
            cells=tuple(cell_words(score, i, parents[i], self.names[i]) for i in range(d)),
            edge_rate=score.rate,
            rows=score.design.count,
        )


def _posterior(score: Score, rng: np.random.Generator, tell: Progress, count: int = RESAMPLES) -> Posterior:
    """Search with sums alone, learn how dense the graph is, offer the joint mechanism, search again and sample.

    An order found among sparse graphs makes the graph look sparse. So unless it does look as sparse as the search
    began, or the rows could not tell, a second search begins among dense graphs, and the likelier one counts.
    """
    found = []
    score.put_off()
    score.judge(exact=False)
    for rate in START_RATES:
        score.set_rate(rate)
        optima = search(score, rng, count=STARTS, tell=tell)
        found.append((score.learn_rate(optima[0].order), score.rate, optima))
        if score.rate <= rate or not score.may_be_dense:
            break
    found.sort(key=lambda each: -each[0])
    score.set_rate(found[0][1])
    some = list(dict.fromkeys(optimum.order for _, _, optima in found for optimum in optima))
    more = score.offer_dear(some[:3], tell)
    score.draw_resamples(count, rng)
    if more:
        some = [optimum.order for optimum in search(score, rng, count=0, also=some, tell=tell)]
        score.learn_rate(some[0])
    score.judge(exact=True)
    return resample(score, explore(score, rng, count=0, also=some, tell=tell), rng, tell=tell)


def _seldom(progress: Progress) -> Progress:
    """The same, but not many times a second: search and sampler tell before every step."""
    last = ("", 0.0)

    def told(phase: str, share: float) -> None:
        nonlocal last
        now = time.perf_counter()
        if phase != last[0] or now - last[1] > _SELDOM:
            last = (phase, now)
            progress(phase, share)

    return told


def _least_probability(density: str | float) -> float:
    if isinstance(density, str):
        return DENSITIES[check_choice("density", density, DENSITIES)]
    number = isinstance(density, (int, float, np.integer, np.floating)) and not isinstance(density, bool)
    if not number or not 0 <= density <= 1:
        raise InputError(f"density={density!r} must be one of {', '.join(DENSITIES)}, or a probability from 0 to 1")
    return float(density)


def _probability_words(bags: int, draws: int) -> str:
    said = "of the edge, of its reverse and of neither, if one of the mechanisms that were averaged is true"
    if draws > 1:
        said += f"; mean over {draws} draws of the missing values"
    return f"{said}; mean over {bags} resamples of the rows" if bags else said


@dataclass(frozen=True, eq=False)
class _Again:
    """The same question to another table of the same columns, its search beginning at a known order."""

    limits: Limits
    model: Model
    start: Sequence[int]

    def posterior(self, data: Data, rng: np.random.Generator, tell: Progress = silent, resamples: int = 0) -> Posterior:
        """Of a table without constant columns, perhaps the mean over resamples of its rows."""
        score = self.limits.score(data, self.model)
        score.put_off()
        score.learn_rate(self.start)
        score.offer_dear([self.start], tell)
        if resamples:
            score.draw_resamples(resamples, rng)
        found = explore(score, rng, count=0, also=[self.start], tell=tell)
        return resample(score, found, rng, tell=tell) if resamples else found


@dataclass(frozen=True, eq=False)
class _Bags:
    """The same question to rows drawn with replacement."""

    data: Data
    limits: Limits
    model: Model
    found: Posterior

    def mean(self, seeds: Sequence[np.random.Generator], threads: int, tell: Progress) -> np.ndarray:
        """(d, d) mean edge probabilities, one resample for each generator."""
        done: list[int] = []

        def one(rng: np.random.Generator) -> np.ndarray:
            tell("bags", len(done) / len(seeds))
            found = self._one(rng)
            done.append(1)
            return found

        return np.mean(parallel_map(one, list(seeds), threads), axis=0)

    def _one(self, rng: np.random.Generator) -> np.ndarray:
        """Edge probabilities of one resample; a column constant in it has no edges."""
        n, d = self.data.values.shape
        data = self.data.take(np.sort(draw_rows(self.data.together, n, rng)))
        varied = np.flatnonzero(data.values.min(axis=0) < data.values.max(axis=0))
        probability = np.zeros((d, d))
        if len(varied) < 2:
            return probability
        place = {int(i): k for k, i in enumerate(varied)}
        again = _Again(self.limits.among(varied), self.model, [place[i] for i in self.found.order if i in place])
        probability[np.ix_(varied, varied)] = again.posterior(data.only(varied), rng).probability
        return np.where(self.limits.required, 1.0, probability)


def _strength(score: Score, graph: np.ndarray, always: list[int]) -> np.ndarray:
    """Fall of log V of the effect by each of its causes, given the others; NaN where there is no edge."""
    strength = np.full(graph.shape, np.nan)
    for i in range(len(graph)):
        S = np.flatnonzero(graph[:, i]).tolist()
        left = score.record(i, S + always)[1]
        for j in S:
            strength[j, i] = max(score.record(i, [k for k in S if k != j] + always)[1] - left, 0.0)
    return strength


def _story(
    first: np.ndarray, limits: Limits, graph: np.ndarray, probability: np.ndarray, least: float
) -> tuple[dict[str, np.ndarray], list[Change]]:
    """The graph after each phase, and each change with its numbers.

    ``order`` is the complete DAG of the order, ``knowledge`` what is allowed of it, ``kept`` the graph: of that, what
    has enough probability.
    """
    informed = first & ~limits.forbidden
    history = {"order": first}
    if not np.array_equal(informed, first):
        history["knowledge"] = informed
    history["kept"] = graph
    changes = []
    for i, j in np.argwhere(first & ~informed):
        changes.append(Change("knowledge", "forbid", (int(i), int(j)), "prior knowledge forbids it"))
    for i, j in np.argwhere(informed & ~graph):
        numbers = (
            Measured("probability", int(j), (int(i),), float(probability[i, j])),
            Measured("probability", int(i), (int(j),), float(probability[j, i])),
        )
        joined = probability[i, j] + probability[j, i] > least
        told = "it would close a cycle of likelier edges" if joined else f"an edge is not likelier than {least:.2g}"
        changes.append(Change("kept", "remove", (int(i), int(j)), told, numbers=numbers))
    return history, changes


def _warnings(table: Table, n: int, found: Posterior, checks: Sequence[Check]) -> list[str]:
    """What the user must know before trusting the graph; the table counts as n rows."""
    d = table.width
    told = table.left_out()
    if few_rows(n, d, per_column=5):
        told.append(f"only {n} rows for {d} variables: order and edges are mostly noise")
    if found.disagreement > _DISAGREE:
        told.append(
            f"the sample of orders has not settled: its halves differ by {found.disagreement:.2f} in the probability "
            "of an edge; another seed may give other probabilities"
        )
    failing = [check for check in checks if not check.holds]
    if failing:
        names = ", ".join(printable(check.child) for check in failing[:5]) + (", ..." if len(failing) > 5 else "")
        told.append(f"the model does not hold for {len(failing)} of {len(checks)} variables with causes: {names}")
    return told
