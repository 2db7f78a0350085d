"""DAG-formalization, the last step of the tuning phase (lines 14 to 17 of Algorithm 1), and the scores of edges.

F and S are first and second order HSIC as in :mod:`dagtune.ot.tuning`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dagtune.graph import is_dag
from dagtune.ot.ties import tie_ranks
from dagtune.ot.tuning import hsic_of
from dagtune.result import Change, Measured
from dagtune.validation import check_choice

if TYPE_CHECKING:
    from dagtune.engine.dependence import Dependence

__all__ = ["SCORES", "edge_scores", "formalize"]

#: How formalization sums up an edge's second orders over the other parents of its child.
SCORES = {"max": np.max, "mean": np.mean, "min": np.min}

_BREAK = "its score is the smallest in the cycle"


def formalize(
    graph: np.ndarray,
    dependence: Dependence,
    *,
    score: str = "max",
    required: np.ndarray | None = None,
    phase: str = "formalization",
) -> tuple[np.ndarray, list[Change]]:
    """DAG-formalization (lines 14 to 17 of Algorithm 1): break every directed cycle at its weakest edge.

    The shortest cycles come first, which the paper leaves open; of all their edges the one with the smallest score is
    removed, and scores are determined again. Of equal scores the smaller ``F_ij`` goes first, then
    :func:`~dagtune.ot.ties.tie_ranks` decide. Required edges stay: they form no cycle, so that each cycle has another
    edge.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.
    score : {"max", "mean", "min"}
        See :func:`edge_scores`.
    required : ndarray of bool, shape (d, d), optional
        Edges that are never removed.
    phase : str
        What the changes call this phase.

    Returns
    -------
    dag : ndarray of bool, shape (d, d)
    changes : list of Change
        One for each removed edge, with its cycle.

    Raises
    ------
    InputError
        If ``score`` is unknown.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC", Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> both_ways = np.zeros((3, 3), dtype=bool)
    >>> both_ways[0, 2] = both_ways[1, 2] = both_ways[2, 0] = True
    >>> dag, changes = formalize(both_ways, dependence)
    >>> [change.edge for change in changes]
    [(2, 0)]
    """
    check_choice("score", score, SCORES)
    dag, back = graph.copy(), graph.T.copy()
    ranks = tie_ranks(dependence.first, dependence.second)
    changes = []
    for length in range(2, len(graph) + 1):
        if is_dag(dag):
            break
        current: dict[tuple[int, int], Measured] = {}
        waiting: list[tuple[float, float, int, int, int, int]] = []

        def enter(j: int, i: int, current: Any = current, waiting: Any = waiting) -> None:
            current[j, i] = measured = _score(back, dependence, j, i, score)
            heappush(waiting, (measured.value, float(dependence.first[i, j]), int(ranks[j]), int(ranks[i]), j, i))

        for j, i in _on_cycles(dag, length):
            if required is None or not required[j, i]:
                enter(j, i)
        while waiting:
            value, _, _, _, j, i = heappop(waiting)
            if not dag[j, i] or current[j, i].value != value:
                continue  # gone, or entered anew with another score
            way = _way(dag, i, j, length - 1)
            if way is None:
                continue  # its cycles are broken
            cycle = (j, *way)
            numbers = tuple(_score(back, dependence, a, b, score) for a, b in pairwise(cycle))
            dag[j, i] = back[i, j] = False
            changes.append(Change(phase, "remove", (j, i), _BREAK, (i, *current[j, i].parents), numbers, cycle))
            for k in map(int, np.flatnonzero(back[i])):
                if (k, i) in current and j in current[k, i].parents:  # its score came from j
                    enter(k, i)
    return dag, changes


def _on_cycles(dag: np.ndarray, length: int) -> list[tuple[int, int]]:
    """Edges j -> i on a cycle of so many edges, in a graph without shorter cycles: a walk leads back from i to j."""
    walks = step = dag.astype(np.float32)
    for _ in range(length - 2):
        walks = np.minimum(walks @ step, 1.0)
    return [(int(j), int(i)) for j, i in np.argwhere(dag & (walks.T > 0))]


def _way(dag: np.ndarray, start: int, end: int, length: int) -> tuple[int, ...] | None:
    """A path of so many edges from start to end, which has no shorter one; None if there is none."""
    layers = [np.arange(len(dag)) == start]
    for _ in range(length):
        layers.append(dag[layers[-1]].any(axis=0))
    if not layers[-1][end]:
        return None
    path = [end]
    for layer in layers[-2::-1]:
        path.append(int((dag[:, path[-1]] & layer).argmax()))
    return tuple(reversed(path))


def _score(back: np.ndarray, dependence: Dependence, j: int, i: int, score: str) -> Measured:
    """Score of j -> i: the largest (mean, smallest) ``S_ijk`` over i's other parents k, ``F_ij`` if there is none."""
    others = np.flatnonzero(back[i])
    others = others[others != j]
    if not len(others):
        return hsic_of(dependence, i, j)
    if 3 in dependence.higher and len(others) > 1:
        a, b = np.triu_indices(len(others), 1)
        couples, values = np.stack([others[a], others[b]], axis=1), dependence.third[i, j, others[a], others[b]]
    else:
        couples, values = others[:, None], dependence.second[i, j, others]
    if score == "mean":
        return Measured("mean HSIC over pairs", i, (j, *map(int, others)), float(values.mean()))
    best = int(values.argmax() if score == "max" else values.argmin())
    return hsic_of(dependence, i, j, *map(int, couples[best]))


def edge_scores(graph: np.ndarray, dependence: Dependence, *, score: str = "max") -> np.ndarray:
    """Score of each edge j -> i: the largest ``S_ijk`` over the other parents k of i, or ``F_ij`` if i has no other.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.
    score : {"max", "mean", "min"}
        Whether to take the largest, the mean or the smallest.

    Returns
    -------
    ndarray, shape (d, d)
        The score of j -> i at [j, i]; NaN where there is no edge.

    Raises
    ------
    InputError
        If ``score`` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> graph = np.zeros((3, 3), dtype=bool)
    >>> graph[0, 2] = graph[1, 2] = True
    >>> scores = edge_scores(graph, dependence)
    >>> bool(scores[0, 2] == scores[1, 2] == dependence.second[2, 0, 1])
    True
    """
    check_choice("score", score, SCORES)
    scores = np.full(graph.shape, np.nan)
    back = graph.T.copy()
    for j, i in np.argwhere(graph):
        scores[j, i] = _score(back, dependence, j, int(i), score).value
    return scores
