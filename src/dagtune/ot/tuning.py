"""The tuning phase (Algorithm 1): deletion and addition; :mod:`dagtune.ot.cycles` has DAG-formalization.

The variants of the authors' script are in :mod:`dagtune.ot.released`.

For child i and candidate parents j, k: ``F[i, j]`` is first order, ``S[i, j, k]`` second order HSIC, child first. In a
graph the child comes last: ``A[j, i]`` means ``j -> i``. All rules but formalization look at one child at a time, so
the order of the children does not matter to them. The order of the pairs matters in addition: those that gain most come
first. Where two numbers are equal, other numbers decide (:mod:`dagtune.ot.ties`), never the place or name of a column.

With ``order=3`` the same rules go one step up: a triple of candidate parents is compared with its three pairs as a pair
is with its two members.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dagtune.ot.ties import tie_ranks
from dagtune.result import Change, Measured
from dagtune.validation import check_choice

if TYPE_CHECKING:
    from dagtune.engine.dependence import Dependence

__all__ = [
    "ADDED",
    "READINGS",
    "add_edges",
    "apply_knowledge",
    "delete_edges",
    "hsic_of",
    "pair_evidence",
]

#: Readings of the deletion rule: Algorithm 1's, and the running text's.
READINGS = {
    "min": "together they say no more than the weaker alone, min(HSIC(i, j), HSIC(i, k)) >= HSIC(i, j + k)",
    "max": "together they say less than the stronger alone, max(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k)",
}

#: The rule of addition, in words.
ADDED = "together they say more than the stronger alone, max(HSIC(i, j), HSIC(i, k)) < HSIC(i, j + k)"
_TRIPLE = "three candidates say {} than their pairs, HSIC(i, j + k + l) against HSIC(i, j + k), ..."


def apply_knowledge(graph: np.ndarray, required: np.ndarray, forbidden: np.ndarray) -> tuple[np.ndarray, list[Change]]:
    """The graph with every required edge and no forbidden one.

    Parameters
    ----------
    graph, required, forbidden : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.

    Returns
    -------
    graph : ndarray of bool, shape (d, d)
    changes : list of Change

    Examples
    --------
    >>> import numpy as np
    >>> nothing, edge = np.zeros((2, 2), dtype=bool), np.array([[False, True], [False, False]])
    >>> graph, changes = apply_knowledge(nothing, required=edge, forbidden=edge.T)
    >>> graph.tolist(), changes[0].action
    ([[False, True], [False, False]], 'require')
    """
    changes = [
        Change("knowledge", "require", (int(j), int(i)), "it is required") for j, i in np.argwhere(required & ~graph)
    ] + [
        Change("knowledge", "forbid", (int(j), int(i)), "it is forbidden, or leads back along a required edge")
        for j, i in np.argwhere(forbidden & graph)
    ]
    return (graph | required) & ~forbidden, changes


def delete_edges(
    graph: np.ndarray,
    dependence: Dependence,
    *,
    reading: str = "min",
    required: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, list[Change]]:
    """Deletion (lines 4 to 8 of Algorithm 1): mark causes that together say no more than one of them alone.

    If both edges j -> i and k -> i are in the graph and ``min(F_ij, F_ik) >= S_ijk``, both are marked. A marked edge
    still counts as present, so the order of the pairs does not matter. The evidence for an edge is the triple that
    rejects it most clearly.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``.
    dependence : Dependence
        First and second order HSIC, from :func:`dagtune.measure_dependence`.
    reading : {"min", "max"}
        The rule of Algorithm 1, or that of the running text; see ``READINGS``.
    required : ndarray of bool, shape (d, d), optional
        Edges that are never marked.

    Returns
    -------
    kept, marked : ndarray of bool, shape (d, d)
        The edges that stay, and those that are deleted.
    changes : list of Change
        One for each deleted edge, with the numbers compared.

    Raises
    ------
    InputError
        If ``reading`` is unknown.

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC", Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> complete = ~np.eye(3, dtype=bool)
    >>> kept, marked, changes = delete_edges(complete, dependence)
    >>> kept[:, 2]  # the two causes of X_2 stay: their sum says more than each
    array([ True,  True, False])
    """
    rule = READINGS[check_choice("deletion rule", reading, READINGS)]
    marked = np.zeros_like(graph)
    changes = []
    for i in range(len(graph)):
        pa = np.flatnonzero(graph[:, i])
        if len(pa) < 2:
            continue
        F, S = dependence.first[i, pa], dependence.second[i][np.ix_(pa, pa)]
        partners, fires = _rejected_by_pairs(F, S, reading)
        for a in np.flatnonzero(fires):
            j, k = int(pa[a]), int(pa[partners[a]])
            marked[j, i] = True
            changes.append(Change("deletion", "delete", (j, i), rule, (i, j, k), pair_evidence(dependence, i, j, k)))
        if 3 in dependence.higher and len(pa) > 2:
            T = dependence.third[i][np.ix_(pa, pa, pa)]
            couples, fires = _rejected_by_triples(S, T, reading)
            for a in np.flatnonzero(fires & ~marked[pa, i]):
                j, k, m = int(pa[a]), *(int(pa[b]) for b in couples[a])
                marked[j, i] = True
                evidence = _triple(dependence, i, j, k, m)
                changes.append(Change("deletion", "delete", (j, i), _TRIPLE.format("no more"), (i, j, k, m), evidence))
    if required is not None:
        marked &= ~required
        changes = [change for change in changes if not required[change.edge]]
    return graph & ~marked, marked, changes


def _rejected_by_pairs(F: np.ndarray, S: np.ndarray, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """For each of m parents, the partner that rejects it most clearly, and whether the rule applies to the two."""
    margin = (np.minimum if reading == "min" else np.maximum).outer(F, F) - S
    np.fill_diagonal(margin, -np.inf)
    partners = margin.argmax(axis=1)
    clearest = margin[np.arange(len(F)), partners]
    return partners, clearest >= 0 if reading == "min" else clearest > 0


def _rejected_by_triples(S: np.ndarray, T: np.ndarray, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """The same one order up: for each parent, the two partners, and whether the rule applies to the three."""
    m = len(S)
    pick = np.minimum if reading == "min" else np.maximum
    margin = pick(pick(S[:, :, None], S[:, None, :]), S[None, :, :]) - T
    same = np.eye(m, dtype=bool)
    margin[same[:, :, None] | same[:, None, :] | same[None, :, :]] = -np.inf
    flat = margin.reshape(m, -1)
    best = flat.argmax(axis=1)
    clearest = flat[np.arange(m), best]
    return np.stack(np.divmod(best, m), axis=1), clearest >= 0 if reading == "min" else clearest > 0


def add_edges(
    graph: np.ndarray, dependence: Dependence, *, forbidden: np.ndarray | None = None
) -> tuple[np.ndarray, list[Change]]:
    """Addition (lines 9 to 13 of Algorithm 1): add pairs of causes that together say more than each alone.

    If neither j -> i nor k -> i is in the graph and ``max(F_ij, F_ik) < S_ijk``, both are added. The paper leaves the
    order of the pairs open: those with the largest gain ``S_ijk - max(F_ij, F_ik)`` come first.

    Parameters
    ----------
    graph : ndarray of bool, shape (d, d)
        ``A[j, i]`` means ``j -> i``; marked edges are absent.
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

    References
    ----------
    Wang and Liu 2023, "Learning nonparametric DAGs with incremental information via high-order HSIC", Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> dependence = measure_dependence(np.column_stack([x, x.sum(axis=1)]))
    >>> denser, changes = add_edges(np.zeros((3, 3), dtype=bool), dependence)
    >>> [change.edge for change in changes if change.edge[1] == 2]
    [(0, 2), (1, 2)]
    """
    denser = graph.copy()
    ranks = tie_ranks(dependence.first, dependence.second)
    changes: list[Change] = []
    for i in range(len(graph)):
        absent = ~graph[:, i]
        absent[i] = False
        if forbidden is not None:
            absent &= ~forbidden[:, i]
        F, S = dependence.first[i], dependence.second[i]
        for j, k in _by_gain(S, S - np.maximum.outer(F, F), absent, ranks):
            changes += _added((j, k), i, ADDED, pair_evidence(dependence, i, j, k))
        if 3 in dependence.higher:
            changes += _add_triples(absent, i, dependence, ranks)
    for change in changes:
        denser[change.edge] = True
    return denser, changes


def _by_gain(
    together: np.ndarray, gain: np.ndarray, absent: np.ndarray, ranks: np.ndarray
) -> Iterator[tuple[int, ...]]:
    """Sets of candidates with a positive gain, the largest first, all absent until their turn and present from then on.

    ``together`` and ``gain`` have one axis for each member of a set, and are symmetric. Equal gains: the larger
    ``together`` first, then the lower ranks.
    """
    eligible = gain > 0
    sets = np.argwhere(eligible[np.ix_(*[absent] * gain.ndim)])
    sets = np.flatnonzero(absent)[sets[(np.diff(sets, axis=1) > 0).all(axis=1)]]
    where = tuple(sets.T)
    order = np.lexsort((*np.sort(ranks[sets], axis=1).T[::-1], -together[where], -gain[where]))
    for members in map(tuple, sets[order].tolist()):
        if all(absent[member] for member in members):
            absent[list(members)] = False
            yield members


def _add_triples(absent: np.ndarray, i: int, dependence: Dependence, ranks: np.ndarray) -> list[Change]:
    """Addition one order up for child i: all three absent, and ``max(S_ijk, S_ijl, S_ikl) < T_ijkl``: add them."""
    S, T = dependence.second[i], dependence.third[i]
    gain = T - np.maximum(np.maximum(S[:, :, None], S[:, None, :]), S[None, :, :])
    changes: list[Change] = []
    for j, k, m in _by_gain(T, gain, absent, ranks):
        changes += _added((j, k, m), i, _TRIPLE.format("more"), _triple(dependence, i, j, k, m))
    return changes


def _added(causes: tuple[int, ...], i: int, rule: str, evidence: tuple[Measured, ...]) -> list[Change]:
    return [Change("addition", "add", (cause, i), rule, (i, *causes), evidence) for cause in causes]


# Evidence ------------------------------------------------------------------------------------------------------------


def hsic_of(dependence: Dependence, i: int, *pa: int) -> Measured:
    """HSIC of a child and its candidate parents together, as evidence of a change.

    Parameters
    ----------
    dependence : Dependence
    i : int
        Position of the child.
    pa : int
        Positions of one, two or three candidate parents.

    Returns
    -------
    Measured

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> dependence = measure_dependence(np.random.default_rng(0).normal(size=(50, 3)))
    >>> bool(hsic_of(dependence, 2, 0, 1).value == dependence.second[2, 0, 1])
    True
    """
    value = dependence.first[i, pa[0]] if len(pa) == 1 else dependence.higher[len(pa)][(i, *pa)]
    what = "joint HSIC" if dependence.combine == "joint" and len(pa) > 1 else "HSIC"
    return Measured(what, i, pa, float(value))


def pair_evidence(dependence: Dependence, i: int, j: int, k: int) -> tuple[Measured, ...]:
    """HSIC of child i with j, with k, and with both, as evidence of a change.

    Parameters
    ----------
    dependence : Dependence
    i, j, k : int
        Positions of the child and of two candidate parents.

    Returns
    -------
    tuple of three Measured

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune import measure_dependence
    >>> dependence = measure_dependence(np.random.default_rng(0).normal(size=(50, 3)))
    >>> [measured.parents for measured in pair_evidence(dependence, 2, 0, 1)]
    [(0,), (1,), (0, 1)]
    """
    return (hsic_of(dependence, i, j), hsic_of(dependence, i, k), hsic_of(dependence, i, j, k))


def _triple(dependence: Dependence, i: int, j: int, k: int, m: int) -> tuple[Measured, ...]:
    pairs = ((j, k), (j, m), (k, m))
    return (*(hsic_of(dependence, i, *pair) for pair in pairs), hsic_of(dependence, i, j, k, m))
