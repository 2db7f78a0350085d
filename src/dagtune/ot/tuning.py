"""The tuning phase (Algorithm 1): deletion, addition, DAG-formalization, and the released script's variants.

For child i and candidate parents j, k: ``F[i, j]`` is first order, ``S[i, j, k]`` second order HSIC, child first. Mind
the index trap: in a graph the child comes last, ``A[j, i]`` means ``j -> i``. All rules but formalization look at one
child at a time, so the order of the children plays no part in them; the order of the pairs does, in addition.

With ``order=3`` the same rules go one step up: a triple of candidate parents is compared with its three pairs as a pair
is with its two members.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dagtune.result import Change, Measured
from dagtune.validation import check_choice

if TYPE_CHECKING:
    from dagtune.engine.dependence import Dependence
from dagtune.graph import shortest_cycle_from

__all__ = [
    "READINGS",
    "SCORES",
    "add_edges",
    "add_edges_released",
    "apply_knowledge",
    "delete_edges",
    "delete_edges_released",
    "edge_scores",
    "formalize",
    "resolve_two_cycles",
]

#: Readings of the deletion rule: Algorithm 1's, and the running text's.
READINGS = {
    "min": "together they say no more than the weaker alone, min(HSIC(i, j), HSIC(i, k)) >= HSIC(i, j + k)",
    "max": "together they say less than the stronger alone, max(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k)",
}
#: How formalization sums up an edge's second orders over the other parents of its child.
SCORES = {"max": np.max, "mean": np.mean, "min": np.min}

_ADD = "together they say more than the stronger alone, max(HSIC(i, j), HSIC(i, k)) < HSIC(i, j + k)"
_TRIPLE = "three candidates say {} than their pairs, HSIC(i, j + k + l) against HSIC(i, j + k), ..."
_BREAK = "its score is the smallest in the cycle"


def apply_knowledge(graph: np.ndarray, required: np.ndarray, forbidden: np.ndarray) -> tuple[np.ndarray, list[Change]]:
    """The graph with every required edge and no forbidden one."""
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
    """Deletion, lines 4 to 8: kept and marked edges, and the changes.

    Both edges j -> i and k -> i in the graph, marked or not, and ``min(F_ij, F_ik) >= S_ijk``: mark both. Marks hide
    nothing, so no order plays a part. Required edges are never marked. The evidence of an edge is the triple that
    rejects it most clearly.
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
            changes.append(Change("deletion", "delete", (j, i), rule, (i, j, k), _pair(dependence, i, j, k)))
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
    """For each of m parents, the partner that rejects it most clearly, and whether the rule fires for the two."""
    margin = (np.minimum if reading == "min" else np.maximum).outer(F, F) - S
    np.fill_diagonal(margin, -np.inf)
    partners = margin.argmax(axis=1)
    clearest = margin[np.arange(len(F)), partners]
    return partners, clearest >= 0 if reading == "min" else clearest > 0


def _rejected_by_triples(S: np.ndarray, T: np.ndarray, reading: str) -> tuple[np.ndarray, np.ndarray]:
    """The same one order up: for each parent, the couple of partners, and whether the rule fires for the three."""
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
    """Addition, lines 9 to 13: the denser graph, and the changes.

    Neither j -> i nor k -> i in the graph (marked counts as absent) and ``max(F_ij, F_ik) < S_ijk``: add both, pairs
    j < k in lexicographic order. A pair with a forbidden edge is no candidate.

    Once j is added no later pair of j can fire, so the first partner of each j is all there is to find.
    """
    denser = graph.copy()
    changes: list[Change] = []
    for i in range(len(graph)):
        absent = ~graph[:, i]
        absent[i] = False
        if forbidden is not None:
            absent &= ~forbidden[:, i]
        F, S = dependence.first[i], dependence.second[i]
        stronger = np.maximum.outer(F, F) < S
        for j in map(int, np.flatnonzero(absent)):
            partners = stronger[j] & absent
            partners[: j + 1] = False
            if absent[j] and partners.any():
                k = int(partners.argmax())
                absent[[j, k]] = False
                changes += _added((j, k), i, _ADD, _pair(dependence, i, j, k))
        if 3 in dependence.higher:
            changes += _add_triples(absent, i, dependence)
    for change in changes:
        denser[change.edge] = True
    return denser, changes


def _add_triples(absent: np.ndarray, i: int, dependence: Dependence) -> list[Change]:
    """Addition one order up for child i: all three absent, and ``max(S_ijk, S_ijl, S_ikl) < T_ijkl``: add them."""
    S, T = dependence.second[i], dependence.third[i]
    changes: list[Change] = []
    for j in map(int, np.flatnonzero(absent)):
        couples = np.maximum(np.maximum.outer(S[j], S[j]), S) < T[j]
        couples &= absent[:, None] & absent[None, :]
        couples[: j + 1] = False
        couples = np.triu(couples, 1)
        if absent[j] and couples.any():
            k, m = (int(x) for x in divmod(int(couples.argmax()), len(absent)))
            absent[[j, k, m]] = False
            changes += _added((j, k, m), i, _TRIPLE.format("more"), _triple(dependence, i, j, k, m))
    return changes


def _added(causes: tuple[int, ...], i: int, rule: str, evidence: tuple[Measured, ...]) -> list[Change]:
    return [Change("addition", "add", (cause, i), rule, (i, *causes), evidence) for cause in causes]


def formalize(
    graph: np.ndarray,
    dependence: Dependence,
    *,
    score: str = "max",
    required: np.ndarray | None = None,
    phase: str = "formalization",
) -> tuple[np.ndarray, list[Change]]:
    """DAG-formalization, lines 14 to 17: the DAG, and the changes.

    While there is a directed cycle, shortest first, then lexicographically smallest: remove the edge of smallest score
    (see :func:`edge_scores`), of equals the lexicographically smallest. Required edges stay; they hold no cycle, so
    each cycle has another edge.

    Removing edges creates no cycle, so the shortest cycle through a node only grows: ``length[a]`` is a lower bound for
    the cycles whose smallest node is a, looked up again only when it is the smallest of all.
    """
    check_choice("score", score, SCORES)
    dag, back = graph.copy(), graph.T.copy()
    length = np.full(len(graph), 2.0)
    changes = []
    while np.isfinite(length).any():
        start = int(length.argmin())
        cycle = shortest_cycle_from(dag, back, start)
        if cycle is None or len(cycle) - 1 > length[start]:
            length[start] = np.inf if cycle is None else len(cycle) - 1
            continue
        edges = list(pairwise(cycle))
        scores = [_score(back, dependence, j, i, score) for j, i in edges]
        removable = [
            (measured.value, edge, measured)
            for edge, measured in zip(edges, scores, strict=True)
            if required is None or not required[edge]
        ]
        _, (j, i), measured = min(removable, key=lambda candidate: candidate[:2])
        dag[j, i] = back[i, j] = False
        changes.append(Change(phase, "remove", (j, i), _BREAK, (i, *measured.parents), tuple(scores), cycle))
    return dag, changes


def _score(back: np.ndarray, dependence: Dependence, j: int, i: int, score: str) -> Measured:
    """Score of j -> i: the largest (mean, smallest) ``S_ijk`` over i's other parents k, ``F_ij`` if there is none."""
    others = np.flatnonzero(back[i])
    others = others[others != j]
    if not len(others):
        return _hsic(dependence, i, j)
    if 3 in dependence.higher and len(others) > 1:
        a, b = np.triu_indices(len(others), 1)
        couples, values = np.stack([others[a], others[b]], axis=1), dependence.third[i, j, others[a], others[b]]
    else:
        couples, values = others[:, None], dependence.second[i, j, others]
    if score == "mean":
        return Measured("mean HSIC over pairs", i, (j, *map(int, others)), float(values.mean()))
    best = int(values.argmax() if score == "max" else values.argmin())
    return _hsic(dependence, i, j, *map(int, couples[best]))


def edge_scores(graph: np.ndarray, dependence: Dependence, *, score: str = "max") -> np.ndarray:
    """(d, d) score of each edge j -> i at [j, i], NaN elsewhere: the largest ``S_ijk`` over the other parents k of i.

    ``F_ij`` if there is no other parent; ``score`` may ask for the mean or the smallest instead of the largest.
    """
    check_choice("score", score, SCORES)
    scores = np.full(graph.shape, np.nan)
    back = graph.T.copy()
    for j, i in np.argwhere(graph):
        scores[j, i] = _score(back, dependence, j, int(i), score).value
    return scores


# The released script's rules -----------------------------------------------------------------------------------------

_DELETE_BOTH = "together they say less than the weaker alone, min(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k)"
_DELETE_LARGER = (
    "together they say less than it alone, which is not the strongest of the child, "
    "max(HSIC(i, j), HSIC(i, k)) > HSIC(i, j + k) > min(HSIC(i, j), HSIC(i, k))"
)
_TWO_CYCLE = "the other direction has the larger second order"


def delete_edges_released(
    graph: np.ndarray, dependence: Dependence, *, required: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, list[Change]]:
    """Deletion as the released script does it: kept and marked edges, and the changes.

    Pairs j < k in lexicographic order. Both edges present and unmarked and ``F_min > S``: mark both. Else, if
    ``F_max > S > F_min``, the edge of F_max is present and unmarked, and F_max is not the largest first order of the
    child: mark that edge. Here marks hide edges, so order plays a part.

    Each pair is visited once, so while j is fixed the state of k at its visit is the one before j's turn, and j goes at
    the first k that takes it; that is what the vectors below use. Required edges count as present and stay.
    """
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
                    changes.append(Change("deletion", "delete", (gone, i), rule, (i, j, k), _pair(dependence, i, j, k)))
    return graph & ~marked, marked, changes


def add_edges_released(
    graph: np.ndarray, marked: np.ndarray, dependence: Dependence, *, forbidden: np.ndarray | None = None
) -> tuple[np.ndarray, list[Change]]:
    """Addition as the released script does it: the denser graph, and the changes.

    States: 1 present, 0 absent, -1 marked. Pairs j < k in lexicographic order: where ``F_max < S`` and the two states
    sum to 0 or less, both edges are added; so a marked edge can come back beside one that is present.
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
                evidence = _pair(dependence, i, j, partner)
                changes += [Change("addition", "add", (x, i), _ADD, (i, j, partner), evidence) for x in new]
    for change in changes:
        denser[change.edge] = True
    return denser, changes


def resolve_two_cycles(graph: np.ndarray, dependence: Dependence) -> tuple[np.ndarray, list[Change]]:
    """Two-cycles as the released script resolves them: the graph without any, and the changes.

    Of j -> i and i -> j the one stays whose child has the largest second order over all triples that contain both; of
    equals the lexicographically smaller goes. With two variables there is no triple, and the first orders are equal.
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
    return _hsic(dependence, i, j, int(values.argmax())) if len(values) > 2 else _hsic(dependence, i, j)


# Evidence ------------------------------------------------------------------------------------------------------------


def _hsic(dependence: Dependence, i: int, *pa: int) -> Measured:
    """HSIC of child i and its candidate parents together, of the order that their number asks for."""
    value = dependence.first[i, pa[0]] if len(pa) == 1 else dependence.higher[len(pa)][(i, *pa)]
    what = "joint HSIC" if dependence.combine == "joint" and len(pa) > 1 else "HSIC"
    return Measured(what, i, pa, float(value))


def _pair(dependence: Dependence, i: int, j: int, k: int) -> tuple[Measured, ...]:
    return (_hsic(dependence, i, j), _hsic(dependence, i, k), _hsic(dependence, i, j, k))


def _triple(dependence: Dependence, i: int, j: int, k: int, m: int) -> tuple[Measured, ...]:
    pairs = ((j, k), (j, m), (k, m))
    return (*(_hsic(dependence, i, *pair) for pair in pairs), _hsic(dependence, i, j, k, m))
