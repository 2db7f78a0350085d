"""What the paper ran and with what, as data: experiments, methods, published numbers. Nothing here computes."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Any

from dagtune.baselines import BASELINES, EXTERNAL
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
#: The truth of Fig. 4, as its caption and Section V-C tell it.
FIG4_EDGES = ((0, 1), (1, 3), (2, 1), (2, 3), (4, 0), (4, 1), (4, 3))
#: OT's phases in the order of Table II.
PHASES = ("optimal", "deletion", "addition", "formalization")


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper.

    ``sizes`` holds the settings by number of nodes; ``own_sizes`` says that they are the paper's five, among which a
    caller may choose. ``ot`` are the options of OT that the paper states. ``methods`` limits the methods, None takes
    all. ``source`` is how published.csv calls it; ``averaged`` how many data sets stand behind a published number, as
    far as the authors' script tells.
    """

    name: str
    title: str
    source: str
    models: tuple[str, ...]
    sizes: Mapping[int, Size]
    own_sizes: bool = True
    ot: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({"kernel": "gaussian"}))
    methods: tuple[str, ...] | None = None
    phases: bool = False
    real: bool = False
    averaged: int = 10


#: Everything the paper ran, by name.
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
                ot=MappingProxyType({"kernel": "gaussian", "n_pairs": 5}),  # "five undirected edges" in Fig. 4
                methods=("ot", "conditional", "empty", "random-complete", "variance-sorted"),
                phases=True,
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
                ot=MappingProxyType({"kernel": "sigmoid"}),
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
        )
    }
)


@dataclass(frozen=True)
class Method:
    """A way to learn a graph: which published name it stands for, and about what it costs.

    ``seconds`` are processor seconds at d = 40; they order the cells and tell the time left, nothing else. On
    real data, which are one table, only a ``random`` method is repeated.
    """

    name: str
    label: str
    seconds: float
    stands_for: str | None = None
    random: bool = False
    default: bool = True


def _declared() -> Mapping[str, Method]:
    """Our learners and every baseline; a method that nobody described here is taken to be slow."""
    known = (
        Method("ot", "OT", 1.5, stands_for="OT"),
        Method("ot-released", "OT, released preset", 110.0, stands_for="OT", random=True),
        Method("conditional", "conditional", 8.0, random=True),
        Method("empty", "empty graph", 0.0),
        Method("random-complete", "random complete DAG", 0.0, random=True),
        Method("variance-sorted", "variance-sorted", 0.0),
        Method("notears-mlp", "NOTEARS-MLP", 1600.0, stands_for="NOTEARS"),  # draws its start, but is too slow
        Method("notears-linear", "NOTEARS, linear", 17.0, stands_for="NOTEARS"),
        Method("npvar", "NPVAR", 0.1, stands_for="NPVAR"),
        Method("cam", "CAM", 1.1, stands_for="CAM"),
        Method("cam-r-defaults", "CAM, R defaults", 60.0, stands_for="CAM"),
        Method("cam-no-selection", "CAM, no selection", 60.0, default=False),
        Method("ges", "GES", 1.2, stands_for="GES"),
        Method("sortnregress", "sortnregress", 0.2),
        Method("r2-sortnregress", "R²-sortnregress", 0.2),
        Method("r2-sorted", "R²-sorted", 0.02),
    )
    others = (Method(name, name, 100.0, random=True, default=False) for name in (*BASELINES, *EXTERNAL))
    methods = {method.name: method for method in known}
    return MappingProxyType(methods | {method.name: method for method in others if method.name not in methods})


#: The methods by name, in the order tables show them.
METHODS = _declared()
#: What stands beside every method in every table.
ALWAYS = ("empty", "random-complete", "variance-sorted")
#: Read from the same fit as another method, so asking for it asks for that one.
_READ_FROM = {"conditional-order": "conditional"}


def choose_experiments(names: str | Sequence[str]) -> list[Experiment]:
    """The named experiments in the paper's order; "all" is all of them."""
    asked = [names] if isinstance(names, str) else list(names)
    if not asked:
        raise InputError(f"name an experiment: {', '.join(EXPERIMENTS)}, or all")
    for name in asked:
        check_choice("experiment", name, (*EXPERIMENTS, "all"))
    return [experiment for name, experiment in EXPERIMENTS.items() if "all" in asked or name in asked]


def choose_methods(names: str | Sequence[str] | None, available: Sequence[str]) -> list[str]:
    """The named methods with chance always among them; None gives the defaults, as far as they are ``available``."""
    if names is None:
        asked = {name for name, method in METHODS.items() if method.default and name in available}
    else:
        given = [names] if isinstance(names, str) else list(names)
        asked = {_READ_FROM.get(name, name) for name in given}
        for name in asked:
            check_choice("method", name, (*METHODS, *_READ_FROM))
    return [name for name in METHODS if name in asked or name in ALWAYS]


@dataclass(frozen=True)
class Published:
    """One number of the paper: where it stands, for what, and half a unit of its last digit (``rounding``)."""

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
    """The paper's 155 numbers, in the order of published.csv."""
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
