"""What a learner hands over: the fields of a result, and everything one may ask the graph.

A :class:`LearnedGraph` holds the graph after each phase and the :class:`Change` objects between the first and the last:
replaying all changes over the first graph gives the last. Column names are somebody's text: they are escaped wherever
they could mean something else (DOT, GraphML, the terminal).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dagtune import graph
from dagtune.result.changes import Change, Check
from dagtune.result.pairs import all_pairs, explains_words, pair_numbers, pair_sentence, undecided_pairs
from dagtune.result.storage import FORMER_PHASES
from dagtune.text import printable
from dagtune.validation import InputError, check_choice

__all__ = ["LearnedGraph"]


@dataclass(frozen=True, eq=False)
class LearnedGraph:
    """A learned DAG with its history, and what it answers; :class:`Result` adds the ways out.

    Parameters
    ----------
    names : tuple of str
        The variables.
    history : mapping of str to (d, d) array of bool
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
        ``P[i, j]``, the probability of ``i -> j`` if the model holds; None if the learner gives none.
    probability_words : str
        What stands behind the probability.
    checks : tuple of Check
        Where the fitted model was checked, and whether it holds.
    margin : (d, d) array or None
        How much speaks for the direction ``i -> j`` against ``j -> i``, in nats a row; antisymmetric.
    track_record : (d, d) array or None
        How often, on real tables, a direction with the margin of ``i -> j`` was right; NaN on the diagonal.
    track_record_words : str
        What stands behind the track record.
    graphs : (g, d, d) array of bool
        DAGs drawn from the posterior; g is 0 if the learner draws none. (In version 0.1 ``graphs`` was ``history``.)
    cells : tuple of str
        What each variable looks like and with what probability, such as "erk: smooth sum, heavy-tailed noise, 0.93".
    derived : tuple of str
        Columns that are functions of others, and what was done about it.
    explained : (d, d) array or None
        Share of what is left of the effect, after its other causes, that each cause explains; NaN where there is no
        edge, None if the learner does not say.
    """

    names: tuple[str, ...]
    history: Mapping[str, np.ndarray]
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
    margin: np.ndarray | None = None
    track_record: np.ndarray | None = None
    track_record_words: str = ""
    graphs: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0), dtype=bool))
    cells: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    explained: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Give an empty sample of graphs the shape (0, d, d)."""
        if isinstance(self.graphs, Mapping):
            raise InputError("graphs is a sample of DAGs since version 0.2: pass the graph after each phase as history")
        if not len(self.graphs):
            object.__setattr__(self, "graphs", np.zeros((0, len(self.names), len(self.names)), dtype=bool))

    # The graph ------------------------------------------------------------------------------------------------------

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases, in the order they ran."""
        return tuple(self.history)

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
        if phase not in self.history and former and set(former) <= set(self.history):
            return graph.to_frame(np.logical_or.reduce([self.history[name] for name in former]), self.names)
        return graph.to_frame(self.history[check_choice("phase", phase, self.phases)], self.names)

    @property
    def matrix(self) -> np.ndarray:
        """Boolean (d, d) matrix of the learned DAG; ``A[i, j]`` means ``i -> j``."""
        return self.history[self.phases[-1]]

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
        own = self.probability if self.score is None else self.score
        return self._frame(np.where(self.matrix, self.strength, 0.0) if own is None else own)

    @property
    def strengths(self) -> pd.DataFrame:
        """Strength of each edge, NaN where there is none; row causes column. ``strength_words`` says what it is."""
        return self._frame(self.strength)

    def edges(self) -> pd.DataFrame:
        """List the edges, the most probable first, then the strongest.

        Returns
        -------
        DataFrame
            Columns cause, effect, strength; one row an edge. If the learner says so also explained, the share of what
            is left of the effect that the cause explains. If it gives probabilities also probability, reverse and none,
            of the edge, of its reverse and of neither (together 1), track_record (NaN if it is not known) and undecided
            (whether the direction is open).
        """
        cause, effect = np.nonzero(self.matrix)
        numbers = {"strength": self.strength[cause, effect]}
        if self.explained is not None:
            numbers["explained"] = self.explained[cause, effect]
        if self.probability is not None:
            numbers |= pair_numbers(self.probability, self.track_record, cause, effect)
            pairs = {frozenset(pair) for pair in self._open()}
            numbers["undecided"] = np.array([frozenset(edge) in pairs for edge in zip(cause, effect)], dtype=bool)
        ends = {"cause": [self.names[i] for i in cause], "effect": [self.names[j] for j in effect]}
        table = pd.DataFrame({**ends, **numbers})
        first = [column for column in ("probability", "strength") if column in table]
        return table.sort_values(first, ascending=False, kind="stable", ignore_index=True)

    def pairs(self) -> pd.DataFrame:
        """List every pair of variables with what the probabilities say of it, those most likely joined first.

        Returns
        -------
        DataFrame
            Columns first and second (first -> second is the likelier direction); forward, backward and none, the
            probabilities of the two directions and of no edge; drawn: "edge", "undecided" or "none".

        Raises
        ------
        InputError
            The result has no probabilities.
        """
        if self.probability is None:
            raise InputError(
                "this result has no probabilities: learn with ConditionalTuning, or add resamples by "
                "with_resamples(learner.bootstrap(X))"
            )
        pairs = all_pairs(self.probability)
        numbers = pair_numbers(self.probability, None, pairs[:, 0], pairs[:, 1])
        open_pairs = {frozenset(pair) for pair in self._open()}
        joined = self.matrix | self.matrix.T
        return pd.DataFrame(
            {
                "first": [self.names[i] for i, _ in pairs],
                "second": [self.names[j] for _, j in pairs],
                "forward": numbers["probability"],
                "backward": numbers["reverse"],
                "none": numbers["none"],
                "drawn": [
                    "undecided" if frozenset(pair) in open_pairs else "edge" if joined[tuple(pair)] else "none"
                    for pair in pairs.tolist()
                ],
            }
        )

    @property
    def resamples(self) -> int:
        """Of how many resamples of the rows the probabilities are shares; 0 if they are those of the model."""
        return int(self.settings.get("resamples", 0))

    @property
    def undecided(self) -> list[tuple[str, str]]:
        """Pairs that are surely joined by an edge whose direction is open, the likelier direction first.

        P(i -> j) + P(j -> i) is at least 0.9, and neither of the two is 0.9 of the sum. None without probabilities.
        """
        return [(self.names[i], self.names[j]) for i, j in self._open()]

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
            How likely and how strong it is, then what each phase did with it, by which rule, with the numbers compared.
        """
        a, b = self._pair(cause, effect)
        arrow = f"{printable(cause)} -> {printable(effect)}"
        told = [f"{arrow} is {'' if self.matrix[a, b] else 'not '}in the graph."]
        if self.matrix[b, a]:
            told.append(f"The graph has {printable(effect)} -> {printable(cause)} instead.")
        if self.probability is not None:
            told.append(pair_sentence(self.probability, self.track_record, a, b, self.resamples))
        if self.explained is not None and self.matrix[a, b]:
            others = [printable(self.names[i]) for i in np.flatnonzero(self.matrix[:, b]) if i != a]
            given = f" once {', '.join(others)} {'is' if len(others) == 1 else 'are'} known" if others else ""
            told.append(f"It {explains_words(float(self.explained[a, b]), printable(effect))}{given}.")
        if [cause, effect] in self.settings.get("knowledge", {}).get("required", []):
            told.append("It is required by prior knowledge, so no rule may take it out.")
        steps = [self._opening_sentence(a, b)]
        steps += [change.sentence() for change in self.changes if change.edge == (cause, effect)]
        if self.matrix[a, b]:
            back = [change for change in self.changes if change.edge == (effect, cause) and change.action == "remove"]
            steps += [f"Its reverse is out: {change.sentence()}" for change in back[-1:]]
        return " ".join([*told, *(["Step by step:"] if len(told) > 1 else []), *steps])

    def _opening_sentence(self, a: int, b: int) -> str:
        """What the first phase did with the edge, by which number, and where that stands among all."""
        first = self.history[self.phases[0]]
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

    # Helpers ----------------------------------------------------------------------------------------------------------

    def _edge_records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`edges`, without the numbers that are not known; as JSON has no NaN."""
        rows = self.edges().to_dict("records")
        return [{str(key): value for key, value in row.items() if value == value} for row in rows]

    def _open(self) -> list[tuple[int, int]]:
        """Positions of the undecided pairs."""
        return [] if self.probability is None else undecided_pairs(self.probability)

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
