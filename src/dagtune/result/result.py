"""The learned graph, and everything one may ask it.

A :class:`Result` holds the graph after each phase and the :class:`Change` objects between the first and the last:
replaying all changes over the first graph gives the last. Column names are somebody's text: they are escaped wherever
they could mean something else (DOT, GraphML, the terminal).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dagtune import graph
from dagtune.pictures import draw_graph, draw_phases
from dagtune.result.changes import Change, Check
from dagtune.result.exports import csv_text, dot_text, graphml_text
from dagtune.result.storage import FORMER_PHASES, load_fields, save_fields
from dagtune.text import printable
from dagtune.validation import InputError, check_choice

__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """A learned DAG with its history; made by the learners, or read back by :meth:`load`.

    Parameters
    ----------
    names : tuple of str
        The variables.
    graphs : mapping of str to (d, d) array of bool
        The graph after each phase, in order; ``A[i, j]`` means ``i -> j``. The last is the learned DAG.
    changes : tuple of Change
        What turned the first graph into the last, each with its evidence.
    strength : (d, d) array
        Strength of each edge of the last graph, NaN elsewhere.
    strength_words : str
        What the strength is.
    opening : (d, d) array
        The number by which the first phase judged each edge.
    opening_words : str
        What that number is called.
    assumptions, warnings : tuple of str
        What must hold for the graph to be right, and what speaks against it.
    settings : mapping
        How the learner was called: JSON values only.
    order : tuple of str
        The learner's own order, causes first, if it has one; otherwise any order of the graph serves.
    score : (d, d) array or None
        A number for every ordered pair by which edges are ranked, high means edge; None ranks by strength alone.
    probability : (d, d) array or None
        Probability of every directed edge, if the learner gives it.
    probability_words : str
        What stands behind the probability.
    checks : tuple of Check
        Where the fitted model was checked, and whether it holds.

    Examples
    --------
    >>> from dagtune import OptimalTuning, datasets
    >>> result = OptimalTuning().fit(datasets.load("sachs").X[:100]).result_
    >>> result.phases
    ('optimal', 'deletion', 'addition', 'formalization')
    """

    names: tuple[str, ...]
    graphs: Mapping[str, np.ndarray]
    changes: tuple[Change, ...]
    strength: np.ndarray
    strength_words: str
    opening: np.ndarray
    opening_words: str
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    score: np.ndarray | None = None
    probability: np.ndarray | None = None
    probability_words: str = ""
    checks: tuple[Check, ...] = ()

    # The graph ------------------------------------------------------------------------------------------------------

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases, in the order they ran."""
        return tuple(self.graphs)

    def after(self, phase: str) -> pd.DataFrame:
        """Give the graph as it stood after a phase.

        Parameters
        ----------
        phase : str
            One of ``phases``. For conditional tuning the names of version 0.1 are understood too: ``optimal``,
            ``deletion``, ``addition`` and ``formalization``.

        Returns
        -------
        DataFrame
            0 and 1; row causes column.

        Raises
        ------
        InputError
            There is no such phase.
        """
        former = FORMER_PHASES.get(phase, ())
        if phase not in self.graphs and former and set(former) <= set(self.graphs):
            return graph.to_frame(np.logical_or.reduce([self.graphs[name] for name in former]), self.names)
        return graph.to_frame(self.graphs[check_choice("phase", phase, self.phases)], self.names)

    @property
    def matrix(self) -> np.ndarray:
        """Boolean (d, d) matrix of the learned DAG; ``A[i, j]`` means ``i -> j``."""
        return self.graphs[self.phases[-1]]

    @property
    def causal_order(self) -> list[str]:
        """Names, causes first: the learner's order, or of all orders of the graph the one closest to the columns'."""
        return list(self.order) or [self.names[i] for i in graph.topological_order(self.matrix)]

    @property
    def complete_dag(self) -> pd.DataFrame:
        """0/1 DataFrame in which everything causes all that comes later in ``causal_order``; row causes column."""
        return graph.to_frame(graph.complete([self.names.index(name) for name in self.causal_order]), self.names)

    @property
    def scores(self) -> pd.DataFrame:
        """A number for every ordered pair, high means edge, for ranking (``metrics.aupr``); row causes column."""
        return self._frame(np.where(self.matrix, self.strength, 0.0) if self.score is None else self.score)

    @property
    def strengths(self) -> pd.DataFrame:
        """Strength of each edge, NaN where there is none; row causes column. ``strength_words`` says what it is."""
        return self._frame(self.strength)

    def edges(self) -> pd.DataFrame:
        """List the edges, the strongest first.

        Returns
        -------
        DataFrame
            Columns cause, effect, strength; one row an edge.
        """
        where = np.argwhere(self.matrix)
        rows = [(self.names[i], self.names[j], float(self.strength[i, j])) for i, j in where]
        table = pd.DataFrame(rows, columns=["cause", "effect", "strength"])
        return table.sort_values("strength", ascending=False, kind="stable", ignore_index=True)

    def parents(self, name: str) -> list[str]:
        """List the direct causes of a variable.

        Parameters
        ----------
        name : str
            The variable.

        Returns
        -------
        list of str
            In the order of the columns.
        """
        return [self.names[i] for i in graph.parents(self.matrix, self._position(name))]

    def descendants(self, name: str) -> list[str]:
        """List everything that a variable causes, directly or through others.

        Parameters
        ----------
        name : str
            The variable.

        Returns
        -------
        list of str
            In the order of the columns.
        """
        return [self.names[i] for i in graph.descendants(self.matrix, self._position(name))]

    def adjustment_set(self, cause: str, effect: str) -> list[str]:
        """Give a set that closes every back door from ``cause`` to ``effect``: the parents of the cause.

        Valid for the learned graph, as far as that is right and no common cause is hidden [1]_.

        Parameters
        ----------
        cause, effect : str
            Two variables.

        Returns
        -------
        list of str
            What to adjust for.

        Raises
        ------
        InputError
            There is nothing to adjust for: the effect is the cause, comes before it, or does not depend on it.

        References
        ----------
        .. [1] J. Pearl, Causality, 2nd edition, Cambridge University Press 2009, section 3.3.
        """
        a, b = self._pair(cause, effect)
        reach = graph.reachability(self.matrix)
        if reach[b, a]:
            raise InputError(
                f"{effect!r} comes before {cause!r} in the learned graph ({effect!r} causes it, directly or through "
                f"others), so {cause!r} has no effect on it and no set is needed: swap the two?"
            )
        if not reach[a, b]:
            raise InputError(
                f"no directed path leads from {cause!r} to {effect!r} in the learned graph: its effect there is zero "
                "and no set is needed"
            )
        return self.parents(cause)

    # Why ------------------------------------------------------------------------------------------------------------

    def why(self, cause: str, effect: str) -> str:
        """Explain in a few sentences why ``cause -> effect`` is in the graph, or why not.

        Parameters
        ----------
        cause, effect : str
            Two variables.

        Returns
        -------
        str
            What each phase did with the edge, by which rule, with the numbers compared.
        """
        a, b = self._pair(cause, effect)
        arrow = f"{printable(cause)} -> {printable(effect)}"
        told = [f"{arrow} is {'' if self.matrix[a, b] else 'not '}in the graph.", self._opening_sentence(a, b)]
        if [cause, effect] in self.settings.get("knowledge", {}).get("required", []):
            told.append("It is required by prior knowledge, so no rule may take it out.")
        told += [change.sentence() for change in self.changes if change.edge == (cause, effect)]
        if self.matrix[a, b]:
            back = [change for change in self.changes if change.edge == (effect, cause) and change.action == "remove"]
            told += [f"Its reverse is out: {change.sentence()}" for change in back[-1:]]
        if len(told) == 2:
            told.append("No later rule touched it.")
        if self.matrix[b, a]:
            told.append(f"The graph has {printable(effect)} -> {printable(cause)} instead.")
        return " ".join(told)

    def _opening_sentence(self, a: int, b: int) -> str:
        """What the first phase did with the edge, by which number, and where that stands among all."""
        first = self.graphs[self.phases[0]]
        scores, kept = self.opening, first
        judged = ~np.eye(len(scores), dtype=bool)
        if np.array_equal(scores, scores.T):  # the first phase judged pairs, not edges
            judged, kept = np.triu(judged), first | first.T
        rank = 1 + int((scores[judged] > scores[a, b]).sum())
        verb = "kept" if first[a, b] else ("kept the other way round" if kept[a, b] else "not kept")
        return (
            f"In phase '{self.phases[0]}' it was {verb}: {self.opening_words} {scores[a, b]:.4g}, number {rank} of "
            f"{int(judged.sum())}, of which {int(kept[judged].sum())} were kept."
        )

    def __str__(self) -> str:
        """The edges, strongest first, and what to keep in mind."""
        edges = self.edges()
        lines = [f"{len(edges)} edges among {len(self.names)} variables ({self.strength_words})"]
        lines += [
            f"  {printable(cause)} -> {printable(effect)}  {strength:.4g}"
            for cause, effect, strength in edges.itertuples(index=False)
        ]
        if "decision" in self.settings:
            lines.append(f"decided: {self.settings['decision']}")
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    # Pictures -------------------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, title: str = "") -> Any:
        """Draw the graph in layers with matplotlib, stronger edges wider.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        title : str
            Above the picture.

        Returns
        -------
        matplotlib Axes
            Where it was drawn.
        """
        return draw_graph(self.matrix, self.names, strength=self.strength, ax=ax, title=title)

    def plot_phases(self, axes: Any = None) -> np.ndarray:
        """Draw one panel a phase: edges that came are bold, those that went dashed.

        Parameters
        ----------
        axes : array of matplotlib Axes or None
            One for each phase; None makes a figure.

        Returns
        -------
        array of matplotlib Axes
            Where it was drawn.
        """
        return draw_phases(self.graphs, self.names, axes=axes)

    # Ways out -------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Give the graph as a 0/1 DataFrame with names; row causes column."""
        return graph.to_frame(self.matrix, self.names)

    def to_networkx(self) -> nx.DiGraph:
        """Give the graph as a networkx DiGraph of names; each edge has its ``strength``."""
        result = graph.to_networkx(self.matrix, self.names)
        for i, j in np.argwhere(self.matrix):
            result.edges[self.names[i], self.names[j]]["strength"] = float(self.strength[i, j])
        return result

    def to_lingam(self) -> np.ndarray:
        """Give the graph as the lingam package stores it: ``B[i, j] = 1`` means ``j -> i`` (row is the child)."""
        return self.matrix.T.astype(np.float64)

    def to_causal_learn(self) -> np.ndarray:
        """Give the graph as causal-learn stores it: for ``i -> j``, ``G[j, i] = 1`` and ``G[i, j] = -1``."""
        tails = self.matrix.astype(np.int64)
        return tails.T - tails

    def to_dot(self) -> str:
        """Give the graph as Graphviz text; nodes are n0, n1, ... with the names as labels."""
        return dot_text(self.matrix, self.names)

    def to_graphml(self) -> str:
        """Give the graph as GraphML text; nodes n0, n1, ... have the attribute ``name``, edges ``strength``."""
        return graphml_text(self.matrix, self.names, self.strength)

    def to_csv(self) -> str:
        """Give the edges as CSV text: cause, effect, strength; the strongest first."""
        return csv_text(self.edges().itertuples(index=False))

    def to_json(self) -> str:
        """Give names, edges with strengths, order, assumptions, warnings and settings as JSON for other programs."""
        return json.dumps(
            {
                "names": list(self.names),
                "edges": self.edges().to_dict("records"),
                "causal_order": self.causal_order,
                "strength": self.strength_words,
                "assumptions": list(self.assumptions),
                "warnings": list(self.warnings),
                "settings": dict(self.settings),
            },
            indent=2,
        )

    # Keeping --------------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``result.npz`` and ``result.json`` into a folder; an earlier result there is replaced at once.

        Parameters
        ----------
        folder : path
            Made if it is not there.

        Returns
        -------
        Path
            The folder.
        """
        return save_fields(folder, {each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Result:
        """Read what :meth:`save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        folder : path
            Where it was saved.

        Returns
        -------
        Result
            As it was saved; phases of conditional tuning saved by version 0.1 have the names of today.

        Raises
        ------
        InputError
            There is no saved result, or it does not fit together.
        """
        return cls(**load_fields(folder))

    def _position(self, name: str) -> int:
        return self.names.index(check_choice("column", name, self.names))

    def _pair(self, cause: str, effect: str) -> tuple[int, int]:
        """Positions of two different columns."""
        a, b = self._position(cause), self._position(effect)
        if a == b:
            raise InputError(f"cause and effect are both {cause!r}: name two columns")
        return a, b

    def _frame(self, values: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))
