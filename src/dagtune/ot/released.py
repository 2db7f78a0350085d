"""The tuning phase as the authors' script computes it, where it differs from Algorithm 1.

F and S are first and second order HSIC as in :mod:`dagtune.ot.tuning`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dagtune.ot.tuning import ADDED, hsic_of, pair_evidence
from dagtune.result import Change, Measured

if TYPE_CHECKING:
    from dagtune.engine.dependence import Dependence

__all__ = ["add_edges_released", "delete_edges_released", "resolve_two_cycles"]

_DELETE_BOTH = "together they say less than the weaker alone, min(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k)"
_DELETE_LARGER = (
    "together they say less than it alone, which is not the strongest of the child, "
    "max(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k) > min(HSIC(i, j), HSIC(i, k))"
)
_TWO_CYCLE = "the other direction has the larger second order"


def delete_edges_released(
    graph: np.ndarray, dependence: Dependence, *, required: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, list[Change]]:
    """Deletion as the released script does it.

    Pairs j < k are visited in lexicographic order. If both edges are present and ``F_min > S``, both are marked.
    Otherwise, if ``F_max > S > F_min``, the edge of F_max is present and F_max is not the largest first order of the
    child, that edge is marked. Here a marked edge no longer counts as present, so the order matters.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.
    required : ndarray of bool, shape (d, d), optional
        Edges that count as present and are never marked.

    Returns
    -------
    kept, marked : ndarray of bool, shape (d, d)
        The edges that stay, and those that are deleted.
    changes : list of Change
        One for each deleted edge, with the numbers compared.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> kept, marked, changes = delete_edges_released(np.triu(np.ones((3, 3), dtype=bool), 1), dependence)
    >>> kept[:, 2]
    array([ True,  True, False])
    """
    # Each pair is visited once. So while j is fixed, the state of k at its visit is the one before j's turn, and j is
    # marked at the first k that rejects it: the vectors below rely on both.
    marked = np.zeros_like(graph)
    stays = np.zeros_like(graph) if required is None else required
    changes = []
    for i in range(len(graph)):
        F, S = dependence.first[i], dependence.second[i]
        alive = graph[:, i].copy()
        strongest = np.delete(F, i).max()
        for j in range(len(graph) - 1):
            later = np.arange(len(graph)) > j
            later[i] = False
            if j == i:
                continue
            low, high = np.minimum(F[j], F), np.maximum(F[j], F)
            both = later & alive & (low > S[j]) & alive[j]
            between = later & (high > S[j]) & (S[j] > low) & (high != strongest)
            own = between & (F[j] > F) & alive[j]  # the extra rule takes j itself
            if not stays[j, i] and (own | both).any():
                last = int((own | both).argmax())
                own[last + 1 :] = both[last + 1 :] = False
            events = [(int(k), int(k), _DELETE_LARGER) for k in np.flatnonzero(between & (F[j] < F) & alive)]
            events += [(int(k), j, _DELETE_LARGER) for k in np.flatnonzero(own)]
            events += [(int(k), gone, _DELETE_BOTH) for k in np.flatnonzero(both) for gone in (j, int(k))]
            for k, gone, rule in sorted(events):
                if not stays[gone, i]:
                    alive[gone] = False
                    marked[gone, i] = True
                    changes.append(
                        Change("deletion", "delete", (gone, i), rule, (i, j, k), pair_evidence(dependence, i, j, k))
                    )
    return graph & ~marked, marked, changes


def add_edges_released(
    graph: np.ndarray, marked: np.ndarray, dependence: Dependence, *, forbidden: np.ndarray | None = None
) -> tuple[np.ndarray, list[Change]]:
    """Addition as the released script does it.

    The states are 1 for present, 0 for absent and -1 for marked. Pairs j < k are visited in lexicographic order: if
    ``F_max < S`` and the two states sum to 0 or less, both edges are added. So a marked edge can come back next to one
    that is present.

    Parameters
    ----------
    graph, marked : ndarray of bool, shape (d, d)
        Edges that are present, and edges that were marked; ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.
    forbidden : ndarray of bool, shape (d, d), optional
        A pair with a forbidden edge is not considered.

    Returns
    -------
    denser : ndarray of bool, shape (d, d)
        The graph with the new edges.
    changes : list of Change
        One for each new edge, with the numbers compared.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> nothing = np.zeros((3, 3), dtype=bool)
    >>> denser, changes = add_edges_released(nothing, nothing, dependence)
    >>> [change.edge for change in changes if change.edge[1] == 2]
    [(0, 2), (1, 2)]
    """
    denser = graph.copy()
    changes = []
    for i in range(len(graph)):
        F, S = dependence.first[i], dependence.second[i]
        state = graph[:, i].astype(np.int8) - marked[:, i].astype(np.int8)
        candidate = np.arange(len(graph)) != i
        if forbidden is not None:
            candidate &= ~forbidden[:, i]
        stronger = (np.maximum.outer(F, F) < S) & candidate
        for j in map(int, np.flatnonzero(candidate)):
            fires = stronger[j] & (np.arange(len(graph)) > j)
            first = fires & (state <= -state[j])
            if not first.any():
                continue
            k = int(first.argmax())  # from here on j is present, and only marked partners make the sum 0
            rest = np.flatnonzero(fires & (state == -1) & (np.arange(len(graph)) > k))
            for partner in (k, *map(int, rest)):
                new = tuple(int(x) for x in (j, partner) if state[x] != 1)
                state[[j, partner]] = 1
                evidence = pair_evidence(dependence, i, j, partner)
                changes += [Change("addition", "add", (x, i), ADDED, (i, j, partner), evidence) for x in new]
    for change in changes:
        denser[change.edge] = True
    return denser, changes


def resolve_two_cycles(graph: np.ndarray, dependence: Dependence) -> tuple[np.ndarray, list[Change]]:
    """Resolve two-cycles as the released script does.

    Of j -> i and i -> j the edge stays whose child has the larger second order, the largest over all triples that
    contain both nodes. If they are equal, the lexicographically smaller edge is removed. With two variables there is no
    triple, and the first orders are equal.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.

    Returns
    -------
    resolved : ndarray of bool, shape (d, d)
        The graph without two-cycles.
    changes : list of Change

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> both_ways = np.zeros((3, 3), dtype=bool)
    >>> both_ways[0, 2] = both_ways[2, 0] = True
    >>> resolved, changes = resolve_two_cycles(both_ways, dependence)
    >>> int(resolved.sum()), changes[0].phase
    (1, 'two-cycles')
    """
    resolved = graph.copy()
    changes = []
    for a, b in np.argwhere(np.triu(graph & graph.T)):
        a, b = int(a), int(b)
        scores = [_best_of_all(dependence, a, b), _best_of_all(dependence, b, a)]  # of a -> b, of b -> a
        j, i = (a, b) if scores[0].value <= scores[1].value else (b, a)
        resolved[j, i] = False
        changes.append(Change("two-cycles", "remove", (j, i), _TWO_CYCLE, None, tuple(scores), (a, b, a)))
    return resolved, changes


def _best_of_all(dependence: Dependence, j: int, i: int) -> Measured:
    """The largest ``S_ijk`` over every k, parent or not."""
    values = dependence.second[i, j].copy()
    values[[i, j]] = -np.inf
    return hsic_of(dependence, i, j, int(values.argmax())) if len(values) > 2 else hsic_of(dependence, i, j)
