"""What the paper says, as data: the experiments it ran and the numbers it published. Nothing here computes.

The methods come from :mod:`dagtune.learners`.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Any

from dagtune.baselines import CHANCE
from dagtune.learners import METHODS, readings
from dagtune.methods import Method
from dagtune.simulate import SIZES, Size
from dagtune.validation import InputError, check_choice

__all__ = [
    "ALWAYS",
    "EXPERIMENTS",
    "FIG4_EDGES",
    "METHODS",
    "PAPER_SIZES",
    "PHASES",
    "Experiment",
    "Method",
    "Published",
    "choose_experiments",
    "choose_methods",
    "published",
]

#: The paper's sizes by their number of nodes.
PAPER_SIZES: Mapping[int, Size] = MappingProxyType({size.nodes: size for size in SIZES.values()})
#: The true graph of Fig. 4, by its caption and Section V-C.
FIG4_EDGES = ((0, 1), (1, 3), (2, 1), (2, 3), (4, 0), (4, 1), (4, 3))
#: OT's phases in the order of Table II.
PHASES = ("optimal", "deletion", "addition", "formalization")
#: Methods that every table shows beside the others.
ALWAYS = CHANCE


def _ot(**options: Any) -> Mapping[str, Mapping[str, Any]]:
    """Options that the paper states for OT, its own method."""
    return MappingProxyType({"ot": MappingProxyType(options)})


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    Parameters
    ----------
    name, title : str
    source : str
        Its name in published.csv.
    models : tuple of str
        Simulated models, or names of data sets if ``real``.
    sizes : mapping of int to Size
        By number of nodes.
    own_sizes : bool
        Whether these are the paper's five sizes, among which a caller may choose.
    options : mapping of str to mapping
        Options that the paper states, by method; variants of the method take them too.
    methods : tuple of str, optional
        The only methods that are run; None runs all.
    phases : mapping of str to tuple of str
        Phases whose graphs are scored too, by method.
    real : bool
        Whether the data are real.
    averaged : int
        Number of data sets behind a published number, according to the authors' script.
    told : tuple of str
        Methods that are told under which condition each row of a real data set was taken, and what each acted on.
    """

    name: str
    title: str
    source: str
    models: tuple[str, ...]
    sizes: Mapping[int, Size]
    own_sizes: bool = True
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _ot(kernel="gaussian"))
    methods: tuple[str, ...] | None = None
    phases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    real: bool = False
    averaged: int = 10
    told: tuple[str, ...] = ()


#: Everything the paper ran, by name, and after it what we add.
EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in (
            Experiment(
                name="table2",
                title="Table II: OT after each phase, Abs-Tanh Mix, the graph of Fig. 4",
                source="table:2",
                models=("abs-tanh",),
                sizes={5: Size(nodes=5, edges=len(FIG4_EDGES), rows=400)},  # the paper does not say how many rows
                own_sizes=False,
                options=_ot(kernel="gaussian", n_pairs=5),  # "five undirected edges" in Fig. 4
                methods=("ot", "conditional", "empty", "random-complete", "variance-sorted"),
                phases=MappingProxyType({"ot": PHASES}),
                averaged=1,
            ),
            Experiment(
                name="fig5",
                title="Fig. 5: six models, five sizes",
                source="fig:5",
                models=("mlp100", "tanh", "sigmoid-mix", "abs", "mlp-tanh", "abs-tanh"),
                sizes=PAPER_SIZES,
            ),
            Experiment(
                name="table-mlp2",
                title="2-layer MLP (the paper's table:6)",
                source="table:6",
                models=("mlp2",),
                sizes=PAPER_SIZES,
            ),
            Experiment(
                name="table-tanh",
                title="Tanh, OT with the sigmoid kernel (the paper's table:5)",
                source="table:5",
                models=("tanh",),
                sizes=PAPER_SIZES,
                options=_ot(kernel="sigmoid"),
            ),
            Experiment(
                name="table-real",
                title="Real data (the paper's table:3)",
                source="table:3",
                models=("sachs", "ames"),
                sizes={11: Size(nodes=11, edges=0, rows=7466)},  # Sachs; the tables themselves say how many
                own_sizes=False,
                real=True,
                averaged=1,
            ),
            Experiment(
                name="sachs-conditions",
                title="Sachs with its nine conditions (not in the paper)",
                source="not in the paper",
                models=("sachs",),
                sizes={11: Size(nodes=11, edges=0, rows=7466)},
                own_sizes=False,
                methods=("conditional",),
                real=True,
                averaged=1,
                told=("conditional",),
            ),
        )
    }
)


def choose_experiments(names: str | Sequence[str]) -> list[Experiment]:
    """The named experiments in the paper's order; "all" means all of them."""
    asked = [names] if isinstance(names, str) else list(names)
    if not asked:
        raise InputError(f"name an experiment: {', '.join(EXPERIMENTS)}, or all")
    for name in asked:
        check_choice("experiment", name, (*EXPERIMENTS, "all"))
    return [experiment for name, experiment in EXPERIMENTS.items() if "all" in asked or name in asked]


def choose_methods(names: str | Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """The named methods, and always those of ``ALWAYS``; None means the default methods that are ``available``."""
    if names is None:
        asked = {name for name, method in METHODS.items() if method.default and name in available}
    else:
        fits = {row: method.name for row, (method, _) in readings().items()}  # a reading asks for its method
        given = [names] if isinstance(names, str) else names
        asked = {fits.get(check_choice("method", name, (*METHODS, *fits)), name) for name in given}
    return [name for name in METHODS if name in asked or name in ALWAYS]


@dataclass(frozen=True)
class Published:
    """One number of the paper.

    Parameters
    ----------
    row : int
        Its row in published.csv.
    experiment, model, nodes, method, metric
        What it measures. ``method`` is the paper's name.
    value : float
    text : str
        As printed.
    rounding : float
        Half a unit of the last printed digit.
    phase : str, optional
        The phase after which OT's graph was measured.
    note : str
    """

    row: int
    experiment: str
    model: str
    nodes: int
    method: str
    metric: str
    value: float
    text: str
    rounding: float
    phase: str | None = None
    note: str = ""


@functools.cache
def published() -> tuple[Published, ...]:
    """The paper's 155 numbers, in the order of published.csv.

    Returns
    -------
    tuple of Published

    Examples
    --------
    >>> len(published())
    155
    """
    text = (resources.files(__package__) / "published.csv").read_text(encoding="utf-8")
    return tuple(_published(row, line) for row, line in enumerate(csv.DictReader(text.splitlines()), start=1))


def _published(row: int, line: Mapping[str, str]) -> Published:
    experiment = next(e for e in EXPERIMENTS.values() if line["source"].startswith(e.source))
    method, _, phase = line["method"].partition(" after ")
    decimals = len(line["value"].partition(".")[2])
    return Published(
        row=row,
        experiment=experiment.name,
        model={"house": "ames"}.get(line["model"], line["model"]),
        nodes=int(line["nodes"]),
        method=method,
        metric=line["metric"],
        value=float(line["value"]),
        text=line["value"],
        rounding=0.5 * 10.0**-decimals,
        phase=phase or None,
        note=line["note"],
    )
