"""A run is a set of cells: one method on one table. A cell knows its settings and its seeds; nothing else is random.

All methods see the same table: its seeds depend on model, size and repeat alone, so recipes and scales share a graph
too. Graph, data and method draw from separate streams: a method that shared the graph's stream could draw the true
order again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dagtune.experiments.declared import EXPERIMENTS, METHODS, PAPER_SIZES, Experiment
from dagtune.simulate import MODELS
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["HANDING_OVER", "NO_RECIPE", "RECIPES", "SCALES", "Cell", "Seeds", "cells_of", "recipes_of", "work_key"]

RECIPES = ("printed", "released")
SCALES = ("raw", "standardized")
#: The recipe of real data.
NO_RECIPE = "none"
#: Seconds that a cell takes beyond its method: making the table, scoring the graph, talking to the child process.
HANDING_OVER = 0.03


@dataclass(frozen=True)
class Seeds:
    """Three seeds of separate streams."""

    graph: int
    data: int
    method: int


@dataclass(frozen=True)
class Cell:
    """One method on one table of one experiment.

    Parameters
    ----------
    experiment : str
        Name in ``EXPERIMENTS``.
    model : str
        Simulated model or data set.
    nodes : int
        Number of variables.
    repeat : int
        Which of the tables of this setting, from 0.
    method : str
        Name in ``METHODS``.
    recipe : {"printed", "released", "none"}
        Which formulas make the data; "none" for real data.
    standardized : bool
        Whether the columns are standardised.
    """

    experiment: str
    model: str
    nodes: int
    repeat: int
    method: str
    recipe: str
    standardized: bool

    @property
    def key(self) -> str:
        """The cell as one line of JSON; equal for equal cells."""
        return json.dumps(asdict(self), sort_keys=True)

    @property
    def settings(self) -> dict[str, Any]:
        """What is declared about this cell beyond its key: the table's size and the method's options."""
        experiment = EXPERIMENTS[self.experiment]
        size = experiment.sizes[self.nodes]
        options: dict[str, Any] = {}
        if self.method in METHODS:  # a stored cell may be of a method that is not registered here
            method = METHODS[self.method]
            options = {**experiment.options.get(method.family, {}), **method.settings}
        table: dict[str, Any] = {} if experiment.real else {"edges": size.edges, "rows": size.rows}
        if self.method in experiment.told:
            table["conditions"] = True
        return table | {"options": options}

    @property
    def work(self) -> str:
        """What is to be computed, whatever the experiment: cells with equal work have equal results."""
        return work_key(asdict(self), self.settings)

    @property
    def seeds(self) -> Seeds:
        """Seeds of the graph, the data and the method."""
        root = np.random.SeedSequence([zlib.crc32(self.model.encode()), self.nodes, self.repeat])
        graph, data, method = (int(child.generate_state(1)[0]) for child in root.spawn(3))
        return Seeds(graph, data, method)

    @property
    def expected_seconds(self) -> float:
        """Rough cost of the cell: with n = d^2 rows, nearly the paper's sizes, methods cost about d^3."""
        rows = EXPERIMENTS[self.experiment].sizes[self.nodes].rows
        return HANDING_OVER + METHODS[self.method].seconds * (self.nodes / 40) ** 3 * max(rows / self.nodes**2, 1.0)

    def __str__(self) -> str:
        data = self.model if self.recipe == NO_RECIPE else f"{self.model} {self.recipe}"
        scale = " standardized" if self.standardized else ""
        return f"{self.experiment} {data}{scale} d={self.nodes} repeat {self.repeat} {self.method}"


def work_key(cell: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """One line of JSON, equal for two cells that ask for the same computation.

    Parameters
    ----------
    cell, settings : mapping
        As stored. The experiment's name counts only where the experiment has its own graph or sizes.

    Returns
    -------
    str
    """
    same_for_all = cell["experiment"] in EXPERIMENTS and EXPERIMENTS[cell["experiment"]].sizes is PAPER_SIZES
    parts = {name: value for name, value in cell.items() if name != "experiment" or not same_for_all}
    return json.dumps({"cell": parts, "settings": settings}, sort_keys=True)


def recipes_of(experiment: Experiment, model: str) -> tuple[str, ...]:
    """The recipes that a model has.

    Parameters
    ----------
    experiment : Experiment
    model : str

    Returns
    -------
    tuple of str
        ("none",) for real data.

    Examples
    --------
    >>> recipes_of(EXPERIMENTS["fig5"], "tanh")
    ('printed', 'released')
    """
    return (NO_RECIPE,) if experiment.real else tuple(recipe for recipe in RECIPES if recipe in MODELS[model])


def cells_of(
    experiments: Sequence[Experiment],
    methods: Sequence[str],
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 10,
    recipes: Sequence[str] = ("printed",),
    scales: Sequence[str] = ("raw",),
) -> list[Cell]:
    """All cells of a run, cheap ones first.

    Parameters
    ----------
    experiments : sequence of Experiment
    methods : sequence of str
    sizes : sequence of int, optional
        Some of the paper's five numbers of nodes; None takes all. An experiment with its own sizes keeps them.
    repeats : int
        Tables for each setting. Real data are one table, so only a random method is repeated on them.
    recipes, scales : sequences of str
        A model that does not have a recipe gives no cell.

    Returns
    -------
    list of Cell

    Raises
    ------
    InputError
        If a recipe or a size is unknown, or nothing is left to run.
    """
    repeats = check_count("repeats", repeats)
    for recipe in recipes:
        check_choice("recipe", recipe, RECIPES)
    for size in sizes or ():
        if size not in PAPER_SIZES:
            raise InputError(f"size {size!r} is none of the paper's: choose among {', '.join(map(str, PAPER_SIZES))}")
    cells = []
    for experiment in experiments:
        nodes = [d for d in experiment.sizes if not experiment.own_sizes or sizes is None or d in sizes]
        chosen = [name for name in methods if experiment.methods is None or name in experiment.methods]
        settings = [
            (model, d, recipe, scale == "standardized")
            for model in experiment.models
            for d in nodes
            for recipe in recipes_of(experiment, model)
            for scale in scales
            if recipe in (*recipes, NO_RECIPE)
        ]
        cells += [
            Cell(experiment.name, model, d, repeat, method, recipe, standardized)
            for model, d, recipe, standardized in settings
            for method in chosen
            for repeat in range(repeats if not experiment.real or METHODS[method].random else 1)
        ]
    if not cells:
        raise InputError(
            f"nothing to run: {', '.join(e.name for e in experiments)} has no data of recipe {', '.join(recipes)}; "
            "pass the other recipe"
        )
    return sorted(cells, key=lambda cell: cell.expected_seconds)
