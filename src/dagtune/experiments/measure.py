"""One cell, start to end: make its table, let its method learn, score what it found."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from dagtune import datasets, estimators
from dagtune.baselines import BASELINES, EXTERNAL, LEARNERS
from dagtune.experiments.cells import Cell
from dagtune.experiments.declared import EXPERIMENTS, FIG4_EDGES, METHODS, PHASES
from dagtune.graph import as_matrix
from dagtune.metrics import aupr, average_precision, evaluate, sid_bounds
from dagtune.simulate import random_dag, sample
from dagtune.text import plain
from dagtune.validation import InputError

__all__ = ["ORDER", "available_methods", "measure", "table_of"]

#: Name under which a fit's complete DAG of its order is scored.
ORDER = "order"
#: Measures that are stored, by their name in Evaluation.
_STORED = ("sid", "aupr", "shd", "f1", "precision", "recall", "average_precision", "order_divergence")


@dataclass(frozen=True)
class _Found:
    """What a method gives: its graph, and where it has them scores, other graphs of the same fit, a CPDAG, remarks."""

    graph: np.ndarray
    scores: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)
    cpdag: np.ndarray | None = None
    converged: bool = True
    notes: tuple[str, ...] = ()


def available_methods() -> list[str]:
    """The declared methods that this installation can run: the released preset's solver needs an extra."""
    extra = all(find_spec(package) is not None for package in ("jax", "optax"))
    ours = {"ot": True, "ot-released": extra, "conditional": hasattr(estimators, "ConditionalTuning")}
    return [name for name in METHODS if ours.get(name, name in BASELINES)]


def measure(cell: Cell) -> dict[str, Any]:
    """Metrics, other readings of the same fit, clock and processor seconds of the fit alone."""
    X, truth = table_of(cell)
    clock, processor = time.perf_counter(), time.process_time()
    found = _learn(cell, X)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    scored: dict[str, Any] = {
        "seconds": round(clock, 4),
        "cpu_seconds": round(processor, 4),
        "metrics": _scores(truth, found.graph, found.scores),
    }
    readings = {name: _scores(truth, graph) for name, graph in found.others.items()}
    if found.cpdag is not None and truth is not None:
        bounds = sid_bounds(truth, found.cpdag)
        readings["class"] = {"sid_lower": bounds.lower, "sid_upper": bounds.upper, "exact": bounds.exact}
    if readings:
        scored["readings"] = readings
    if not found.converged:
        scored["converged"] = False
    if found.notes:
        scored["notes"] = list(found.notes)
    return scored


def table_of(cell: Cell) -> tuple[pd.DataFrame, np.ndarray | None]:
    """The cell's table and its true graph, if there is one; the same for every method."""
    experiment, seeds = EXPERIMENTS[cell.experiment], cell.seeds
    if experiment.real:
        data = datasets.load(cell.model)
        X = (data.X - data.X.mean()) / data.X.std(ddof=0) if cell.standardized else data.X
        return X, None if data.graph is None else as_matrix(data.graph)
    size = experiment.sizes[cell.nodes]
    if experiment.phases:
        graph = np.zeros((size.nodes, size.nodes), dtype=bool)
        graph[tuple(np.transpose(FIG4_EDGES))] = True
    else:
        graph = random_dag(size.nodes, size.edges, rng=seeds.graph)
    X = sample(graph, cell.model, size.rows, cell.recipe, seeds.data, standardize=cell.standardized)
    return X, graph


def _learn(cell: Cell, X: pd.DataFrame) -> _Found:
    """The method's answer; one thread, because cells run side by side."""
    seed = cell.seeds.method
    if cell.method in ("ot", "ot-released"):
        return _learn_ot(cell, X, seed)
    if cell.method == "conditional":
        return _learn_conditional(X, seed)
    learners = {**EXTERNAL, **LEARNERS}
    if cell.method not in learners:
        return _Found(as_matrix(BASELINES[cell.method](X, rng=seed)))
    learn = learners[cell.method]
    learned = learn(X, rng=seed, **_accepted(learn, threads=1))
    return _Found(learned.graph, cpdag=learned.cpdag, converged=learned.converged, notes=learned.notes)


def _learn_ot(cell: Cell, X: pd.DataFrame, seed: int) -> _Found:
    learner = estimators.OptimalTuning(threads=1, random_state=seed, **cell.settings["options"]).fit(X)
    result = learner.result_
    phases = PHASES if EXPERIMENTS[cell.experiment].phases else ()
    return _Found(result.matrix, others={phase: as_matrix(result.after(phase)) for phase in phases})


def _learn_conditional(X: pd.DataFrame, seed: int) -> _Found:
    """Graph and complete DAG of the order come from one fit: it is the order that takes the time."""
    if not hasattr(estimators, "ConditionalTuning"):
        raise InputError("this version of dagtune has no ConditionalTuning: leave the method conditional out")
    kind = estimators.ConditionalTuning
    result = kind(**_accepted(kind, random_state=seed, threads=1, n_jobs=1)).fit(X).result_
    return _Found(result.matrix, scores=result.scores.to_numpy(), others={ORDER: as_matrix(result.complete_dag)})


def _accepted(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Those of the options that the function takes."""
    return {name: value for name, value in options.items() if name in inspect.signature(function).parameters}


def _scores(truth: np.ndarray | None, guess: np.ndarray, scores: np.ndarray | None = None) -> dict[str, Any]:
    """The stored measures; ``_ranked`` ones read the method's scores instead of its 0/1 graph.

    A graph with cycles (OT's phases before the last) is scored by its parent sets. Undefined measures are None.
    """
    edges = int(guess.sum())
    if truth is None:
        return {"edges": edges}
    found = evaluate(truth, guess, cyclic="parents").as_dict()
    values: dict[str, Any] = {"edges": edges} | {name: found[name] for name in _STORED}
    if scores is not None:
        ranks = _ranks(scores)
        values["aupr_ranked"] = aupr(truth, ranks)
        values["average_precision_ranked"] = average_precision(truth, ranks)
    return {name: _plain(value) for name, value in values.items()}


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Scores as ranks from 0 up, equal ones equal: the same curve, whatever their sign and scale; the diagonal is 0."""
    filled = scores.copy()
    np.fill_diagonal(filled, scores[~np.eye(len(scores), dtype=bool)].min())
    return np.unique(filled, return_inverse=True)[1].reshape(scores.shape).astype(np.float64)


def _plain(value: Any) -> Any:
    """A number as JSON knows it; nan, which JSON does not know, is None."""
    value = plain(value)
    return None if isinstance(value, float) and math.isnan(value) else value
