"""One cell from start to end: make its table, run its method, score the graph."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd

from dagtune import datasets
from dagtune.experiments.cells import Cell
from dagtune.experiments.declared import EXPERIMENTS, FIG4_EDGES
from dagtune.graph import as_matrix
from dagtune.learners import METHODS
from dagtune.metrics import aupr, average_precision, evaluate, sid_bounds
from dagtune.simulate import random_dag, sample
from dagtune.text import plain
from dagtune.validation import check_choice

__all__ = ["available_methods", "measure", "table_of"]

#: Measures that are stored, by their name in Evaluation.
_STORED = ("sid", "aupr", "shd", "f1", "precision", "recall", "average_precision", "order_divergence")


def available_methods() -> list[str]:
    """The methods that this installation can run."""
    return [name for name, method in METHODS.items() if method.available]


def measure(cell: Cell) -> dict[str, Any]:
    """Run the cell's method on the cell's table, and score the graph that it learns.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    dict
        "metrics" of the graph, "readings" of other graphs of the same fit, "seconds" by the clock and "cpu_seconds" of
        the fit alone; "converged" and "notes" where there is something to say.
    """
    X, truth = table_of(cell)
    options = {**cell.settings["options"], **_told(cell)}
    method = METHODS[check_choice("method", cell.method, METHODS)]
    method.load()  # before the clocks start
    clock, processor = time.perf_counter(), time.process_time()
    # One thread, because cells run side by side.
    found = method.run(X, seed=cell.seeds.method, threads=1, **options)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    scored: dict[str, Any] = {
        "seconds": round(clock, 4),
        "cpu_seconds": round(processor, 4),
        "metrics": _scores(truth, found.graph, found.scores),
    }
    phases = EXPERIMENTS[cell.experiment].phases.get(cell.method, ())
    others = {**found.others, **{phase: found.phases[phase] for phase in phases}}
    readings = {name: _scores(truth, graph) for name, graph in others.items()}
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
    """The cell's table, the same for every method, and its true graph, or None if that is not known."""
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


def _told(cell: Cell) -> dict[str, Any]:
    """What a method is told of the conditions of a real data set, if it is."""
    if cell.method not in EXPERIMENTS[cell.experiment].told:
        return {}
    data = datasets.load(cell.model)
    assert data.conditions is not None
    return {"experiments": {"rows": data.conditions, "targets": data.targets}}


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
    """Scores as ranks from 0 up, ties equal: the same curve, whatever their sign and scale. The diagonal is 0."""
    filled = scores.copy()
    np.fill_diagonal(filled, scores[~np.eye(len(scores), dtype=bool)].min())
    return np.unique(filled, return_inverse=True)[1].reshape(scores.shape).astype(np.float64)


def _plain(value: Any) -> Any:
    """A number that JSON can hold; NaN becomes None."""
    value = plain(value)
    return None if isinstance(value, float) and math.isnan(value) else value
