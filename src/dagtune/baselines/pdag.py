"""PDAG -> DAG -> CPDAG: what a search in classes of DAGs, or a library that gives one, needs to end in a DAG.

``A[i, j]`` alone is i -> j, ``A[i, j]`` and ``A[j, i]`` together are an undirected i - j.
"""

from __future__ import annotations

import numpy as np

from dagtune.compiled import compiled
from dagtune.graph import topological_order

__all__ = ["consistent_extension", "cpdag_of_dag", "nearest_dag"]


def cpdag_of_dag(dag: np.ndarray) -> np.ndarray:
    """The CPDAG of a DAG, by Chickering's Label-Edges."""
    return _label(dag, topological_order(dag))


def consistent_extension(A: np.ndarray) -> np.ndarray | None:
    """A DAG with the skeleton, the directions and the v-structures of a PDAG (Dor and Tarsi 1992); None without one."""
    dag, complete = _dor_tarsi(A)
    return dag if complete else None


def nearest_dag(A: np.ndarray) -> tuple[np.ndarray, bool]:
    """A DAG with the skeleton of a PDAG, and whether it extends it consistently.

    Where none does (PC's answers can contradict themselves), sinks are taken in Dor and Tarsi's way but by least harm:
    fewest directions turned round, then fewest new v-structures, then smallest position.
    """
    dag = consistent_extension(A)
    if dag is not None:
        return dag, True
    dag, rest, left = A.copy(), A.copy(), list(range(len(A)))
    while left:
        adjacent = rest | rest.T
        harm = []
        for v in left:
            turned = int((rest[v] & ~rest[:, v]).sum())
            around, loose = np.flatnonzero(adjacent[v]), np.flatnonzero(rest[v])
            unmarried = int((~adjacent[np.ix_(loose, around)]).sum()) - len(loose)  # u is not adjacent to itself
            harm.append((turned, unmarried, v))
        sink = min(harm)[-1]
        dag[adjacent[sink], sink], dag[sink, adjacent[sink]] = True, False
        rest[sink], rest[:, sink] = False, False
        left.remove(sink)
    return dag, False


@compiled
def _dor_tarsi(A):  # type: ignore[no-untyped-def]
    """(DAG, whether one was found): again and again take a sink whose neighbours are adjacent to all around it."""
    d = len(A)
    dag = A.copy()
    rest = A.copy()
    gone = np.zeros(d, dtype=np.bool_)
    for _ in range(d):
        sink = -1
        for v in range(d):
            if not gone[v] and _is_extendable_sink(rest, v):
                sink = v
                break
        if sink < 0:
            return dag, False
        for u in range(d):
            if rest[u, sink]:
                dag[sink, u] = False  # u - sink becomes u -> sink
            rest[u, sink] = rest[sink, u] = False
        gone[sink] = True
    return dag, True


@compiled
def _is_extendable_sink(rest, v):  # type: ignore[no-untyped-def]
    d = len(rest)
    for u in range(d):
        if rest[v, u]:
            if not rest[u, v]:
                return False
            for w in range(d):
                if w != u and (rest[v, w] or rest[w, v]) and not (rest[u, w] or rest[w, u]):
                    return False
    return True


@compiled
def _label(dag, order):  # type: ignore[no-untyped-def]
    """CPDAG of a DAG by labelling edges compelled or reversible in order (Chickering 1995, Label-Edges).

    Edges x -> y are taken by y, causes first, and for one y from its latest parent to its earliest.
    """
    d = len(dag)
    unknown = dag.copy()
    compelled = np.zeros((d, d), dtype=np.bool_)
    for y in order:
        for back in range(d):
            x = order[d - 1 - back]
            if not unknown[x, y]:
                continue
            force_all = False
            for w in range(d):
                if compelled[w, x]:
                    if not dag[w, y]:
                        force_all = True
                        break
                    compelled[w, y] = True
                    unknown[w, y] = False
            if not force_all:
                for z in range(d):
                    if dag[z, y] and z != x and not dag[z, x]:
                        force_all = True
                        break
            for w in range(d):
                if unknown[w, y]:
                    unknown[w, y] = False
                    compelled[w, y] = force_all
    pattern = dag.copy()
    for i in range(d):
        for j in range(d):
            if dag[i, j] and not compelled[i, j]:
                pattern[j, i] = True
    return pattern
