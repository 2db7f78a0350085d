"""A learned graph, printed, drawn, handed on to other programs, and kept on disk."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dagtune import graph
from dagtune.pictures import draw_graph, draw_phases
from dagtune.result.answers import AnsweringGraph
from dagtune.result.exports import csv_text, dagitty_text, dot_text, graphml_text, json_table, tetrad_text
from dagtune.result.handover import causal_learn_graph, dowhy_model, gcm_model, lingam_matrix, pgmpy_dag
from dagtune.result.notebook import notebook_html
from dagtune.result.storage import load_fields, save_fields
from dagtune.result.summary import count_words, edge_lines
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result(AnsweringGraph):
    """A learned DAG with its history; made by the learners, or read back by :meth:`load`.

    The fields, and what the graph answers, are those of :class:`dagtune.result.learned.LearnedGraph`; effects, what if
    and how far to trust it are in :class:`dagtune.result.answers.AnsweringGraph`. Here are the ways out: text,
    pictures, other programs, the disk.

    Examples
    --------
    >>> from dagtune import OptimalTuning, datasets
    >>> result = OptimalTuning().fit(datasets.load("sachs").X[:100]).result_
    >>> result.phases
    ('optimal', 'deletion', 'addition', 'formalization')
    """

    def __str__(self) -> str:
        """The edges as :meth:`edges` sorts them, what is undecided, and what to keep in mind."""
        lines = [count_words(self), *edge_lines(self)]
        if self.explained is None:
            lines.append(self.strength_words)
        described = {"probability": self.probability_words, "track record": self.track_record_words}
        lines += [f"{what}: {words}" for what, words in described.items() if words]
        lines += [printable(text) for text in self.cells]
        if "decision" in self.settings:  # of results that version 0.1 saved
            lines.append(f"decided: {self.settings['decision']}")
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line: how many variables and edges, and what is open."""
        learner = self.settings.get("learner", "")
        return f"<Result{f' of {printable(learner)}' if learner else ''}: {count_words(self)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the graph as a picture, and the surest edges."""
        return notebook_html(self)

    def with_resamples(self, confidence: Any) -> Result:
        """Give this result the shares of resamples as its probabilities, for a learner that has none of its own.

        They say how stable an edge is when the rows are drawn again, not how right it is.

        Parameters
        ----------
        confidence : EdgeConfidence
            What ``learner.bootstrap(X)`` found on the same columns.

        Returns
        -------
        Result
            The same with ``probability``, ``probability_words``, ``graphs`` (one for each resample) and
            ``settings["resamples"]``.

        Raises
        ------
        InputError
            The result has probabilities of a model, or the columns are others.

        Examples
        --------
        >>> from dagtune import OptimalTuning, datasets
        >>> X = datasets.load("sachs").X[:100]
        >>> learner = OptimalTuning(random_state=0).fit(X)
        >>> result = learner.result_.with_resamples(learner.bootstrap(X, 5))
        >>> result.resamples, "probability" in result.edges()
        (5, True)
        """
        if self.probability is not None and not self.resamples:
            raise InputError("this result has probabilities of its model, which shares of resamples must not replace")
        if list(confidence.probability.columns) != list(self.names):
            raise InputError("the resamples have other columns than the result: resample the same table")
        count = int(confidence.n_samples)
        return replace(
            self,
            probability=confidence.probability.to_numpy(dtype=np.float64),
            probability_words=(
                f"share of {count} resamples of the rows in which the edge was found: how stable it is, not how right; "
                "the method has no track record on real tables"
            ),
            graphs=np.zeros((0, 0, 0), dtype=bool) if confidence.graphs is None else confidence.graphs,
            settings={**self.settings, "resamples": count},
        )

    # Pictures -------------------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, title: str = "") -> Any:
        """Draw the graph in layers with matplotlib, stronger edges wider, undecided pairs with a question mark.

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
        return draw_graph(self.matrix, self.names, strength=self.strength, undecided=self._open(), ax=ax, title=title)

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
        return draw_phases(self.history, self.names, axes=axes)

    # Ways out -------------------------------------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Give the graph as a 0/1 DataFrame with names; row causes column."""
        return graph.to_frame(self.matrix, self.names)

    def to_networkx(self) -> nx.DiGraph:
        """Give the graph as a networkx DiGraph of names; each edge has the numbers of :meth:`edges` as attributes."""
        result = graph.to_networkx(self.matrix, self.names)
        for row in self._edge_records():
            result.edges[row.pop("cause"), row.pop("effect")].update(row)
        return result

    def to_dowhy(self, data: pd.DataFrame, cause: str, effect: str) -> Any:
        """Give a ``dowhy.CausalModel`` of the learned graph, for the effect of one column on another.

        Parameters
        ----------
        data : DataFrame
            The table, with the columns of the result.
        cause, effect : str
            Two variables; DoWhy calls them treatment and outcome.

        Returns
        -------
        dowhy.CausalModel
            With one graph for certain: what DoWhy computes from it does not know that the graph may be wrong.
        """
        self._pair(cause, effect)
        return dowhy_model(self.matrix, self.names, data, cause, effect)

    def to_gcm(self) -> Any:
        """Give the graph as a ``dowhy.gcm.InvertibleStructuralCausalModel``, to assign mechanisms to and fit."""
        return gcm_model(self.matrix, self.names)

    def to_pgmpy(self) -> Any:
        """Give the graph as a ``pgmpy.base.DAG``."""
        return pgmpy_dag(self.matrix, self.names)

    def to_lingam(self) -> np.ndarray:
        """Give the graph as the lingam package stores it: ``B[i, j] = 1`` means ``j -> i`` (row is the child)."""
        return lingam_matrix(self.matrix)

    def to_causal_learn(self, *, undirected: bool = False) -> Any:
        """Give the graph as a ``causallearn.graph.GeneralGraph``.

        Parameters
        ----------
        undirected : bool
            Give undecided pairs no arrowhead, instead of the direction they have in the learned DAG.

        Returns
        -------
        causallearn.graph.GeneralGraph.GeneralGraph
            Its ``graph`` is causal-learn's matrix: for ``i -> j``, ``G[j, i] = 1`` and ``G[i, j] = -1``.
        """
        return causal_learn_graph(self.matrix, self.names, self._open() if undirected else ())

    def to_dagitty(self, *, undirected: bool = False) -> str:
        """Give the graph as text for dagitty (dagitty.net, R, and ``pgmpy.base.DAG.from_dagitty``).

        Parameters
        ----------
        undirected : bool
            Write undecided pairs as ``a -- b``, which makes it a ``pdag``.

        Returns
        -------
        str
        """
        return dagitty_text(self.matrix, self.names, self._open() if undirected else ())

    def to_tetrad(self, *, undirected: bool = False) -> str:
        """Give the graph as text in the format that Tetrad saves and loads; spaces in names become underscores.

        Parameters
        ----------
        undirected : bool
            Write undecided pairs as ``a --- b``.

        Returns
        -------
        str
        """
        return tetrad_text(self.matrix, self.names, self._open() if undirected else ())

    def to_dot(self) -> str:
        """Give the graph as Graphviz text; nodes have their names, undecided pairs a question mark and no head."""
        return dot_text(self.matrix, self.names, self._open())

    def to_graphml(self) -> str:
        """Give the graph as GraphML text; nodes n0, n1, ... have a ``name``, edges the columns of :meth:`edges`."""
        return graphml_text(self.names, self._edge_records())

    def to_csv(self) -> str:
        """Give the table of :meth:`edges` as CSV text."""
        return csv_text(list(self.edges().columns), self._edge_records())

    def to_json(self) -> str:
        """Give names, edges with their numbers, order, assumptions, warnings and settings as JSON for other programs.

        If the learner gives probabilities, also those of all ordered pairs, and the undecided pairs.
        """
        given = {name: getattr(self, name) for name in ("probability", "margin", "track_record")}
        return json.dumps(
            {
                "names": list(self.names),
                "edges": self._edge_records(),
                "causal_order": self.causal_order,
                "strength": self.strength_words,
                **({} if self.probability is None else {"undecided": self.undecided}),
                **{name: json_table(values) for name, values in given.items() if values is not None},
                **({"cells": list(self.cells)} if self.cells else {}),
                **({"derived": list(self.derived)} if self.derived else {}),
                "assumptions": list(self.assumptions),
                "warnings": list(self.warnings),
                "settings": dict(self.settings),
            },
            indent=2,
        )

    # Keeping --------------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str], *, keep_rows: bool = False) -> Path:
        """Write ``result.npz`` and ``result.json`` into a folder; an earlier result there is replaced at once.

        Fitted mechanisms and sums are saved, no row of the data.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        keep_rows : bool
            Save the rows of the data as well.

        Returns
        -------
        Path
            The folder.
        """
        if self.answers:
            _ = self.fitted  # the last chance to fit what needs rows
        if keep_rows and self.workings is None:
            raise InputError("this result does not have the rows of its data any more: learn it again to keep them")
        return save_fields(folder, {each.name: getattr(self, each.name) for each in fields(self)}, keep_rows=keep_rows)

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
