"""What can be asked of a graph alone: parents, orders, cycles, paths, skeleton; and the complete DAG of an order."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from dagtune.graph.conversions import as_matrix
from dagtune.validation import InputError

__all__ = [
    "ancestors",
    "children",
    "complete",
    "descendants",
    "find_cycle",
    "is_dag",
    "parents",
    "reachability",
    "shortest_cycle_from",
    "skeleton",
    "topological_order",
]


def parents(graph: Any, node: int) -> np.ndarray:
    """Direct causes of a node.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    node : int
        Position of the node.

    Returns
    -------
    ndarray of int
        Positions, ascending.

    Examples
    --------
    >>> parents([[0, 0, 1], [0, 0, 1], [0, 0, 0]], 2)
    array([0, 1])
    """
    return np.flatnonzero(as_matrix(graph)[:, node])


def children(graph: Any, node: int) -> np.ndarray:
    """Direct effects of a node.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    node : int
        Position of the node.

    Returns
    -------
    ndarray of int
        Positions, ascending.

    Examples
    --------
    >>> children([[0, 0, 1], [0, 0, 1], [0, 0, 0]], 0)
    array([2])
    """
    return np.flatnonzero(as_matrix(graph)[node])


def topological_order(graph: Any) -> np.ndarray:
    """Lexicographically smallest causal order of a DAG.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    ndarray of int
        Positions, causes first.

    Raises
    ------
    InputError
        If the graph has a cycle; the message names it.

    Examples
    --------
    >>> topological_order([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    array([2, 1, 0])
    """
    matrix = as_matrix(graph)
    order = _kahn(matrix)
    if len(order) < len(matrix):
        cycle = find_cycle(matrix)
        assert cycle is not None
        raise InputError(f"the graph has a cycle ({' -> '.join(map(str, cycle))}): only a DAG has a causal order")
    return np.array(order, dtype=np.intp)


def is_dag(graph: Any) -> bool:
    """Whether a graph has no directed cycle.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_dag([[0, 1], [0, 0]]), is_dag([[0, 1], [1, 0]])
    (True, False)
    """
    matrix = as_matrix(graph)
    return len(_kahn(matrix)) == len(matrix)


def _kahn(matrix: np.ndarray) -> list[int]:
    """Nodes in causal order, smallest position first (Kahn 1962); nodes on or behind a cycle are missing."""
    waiting = matrix.sum(axis=0)
    ready = [int(node) for node in np.flatnonzero(waiting == 0)]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for child in np.flatnonzero(matrix[node]):
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, int(child))
    return order


def find_cycle(graph: Any) -> tuple[int, ...] | None:
    """Shortest directed cycle, and of those the lexicographically smallest.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    tuple of int or None
        The cycle ``a -> b -> c -> a`` is ``(a, b, c, a)``, where ``a`` is its smallest position. None for a DAG.

    Examples
    --------
    >>> find_cycle([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    (0, 1, 2, 0)
    """
    matrix = as_matrix(graph)
    two = np.argwhere(np.triu(matrix & matrix.T))
    if len(two):  # the usual case in a symmetric skeleton: no search needed
        a, b = map(int, two[0])
        return (a, b, a)
    if len(_kahn(matrix)) == len(matrix):
        return None
    back = matrix.T.copy()
    cycles = (shortest_cycle_from(matrix, back, start) for start in range(len(matrix)))
    return min((cycle for cycle in cycles if cycle is not None), key=len)  # of equals the first, which starts smallest


def shortest_cycle_from(matrix: np.ndarray, back: np.ndarray, start: int) -> tuple[int, ...] | None:
    """Shortest directed cycle whose smallest node is ``start``; of several, the lexicographically smallest.

    Parameters
    ----------
    matrix : ndarray of bool, shape (d, d)
        ``A[i, j]`` means ``i -> j``.
    back : ndarray of bool, shape (d, d)
        The transpose of ``matrix``. A caller that removes edges one by one can keep it up to date at little cost.
    start : int
        Position of the node.

    Returns
    -------
    tuple of int or None
        The nodes of the cycle, ``start`` first and last; None if there is no such cycle.

    Examples
    --------
    >>> cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)
    >>> shortest_cycle_from(cycle, cycle.T, 0)
    (0, 1, 2, 0)
    """
    # layers[t] holds the nodes whose shortest way to start has t + 1 edges; taking the smallest child in each layer on
    # the way back gives the smallest path.
    free = np.arange(len(matrix)) > start
    layers = []
    layer = back[start] & free
    while layer.any():
        layers.append(layer)
        if (matrix[start] & layer).any():
            path = [start]
            for nodes in reversed(layers):
                path.append(int((matrix[path[-1]] & nodes).argmax()))
            return (*path, start)
        free &= ~layer
        layer = back[layer].any(axis=0) & free
    return None


def reachability(graph: Any) -> np.ndarray:
    """Which nodes have a directed path to which others.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    ndarray of bool, shape (d, d)
        ``R[i, j]`` is true if a directed path of one or more edges leads from i to j.

    Examples
    --------
    >>> reachability([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    array([[False,  True,  True],
           [False, False,  True],
           [False, False, False]])
    """
    reach = as_matrix(graph).copy()
    for node in range(len(reach)):
        reach |= np.outer(reach[:, node], reach[node])
    return reach


def descendants(graph: Any, node: int) -> np.ndarray:
    """Nodes that a directed path from ``node`` reaches.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    node : int
        Position of the node.

    Returns
    -------
    ndarray of int
        Positions, ascending; without ``node`` itself unless it is on a cycle.

    Examples
    --------
    >>> descendants([[0, 1, 0], [0, 0, 1], [0, 0, 0]], 0)
    array([1, 2])
    """
    return np.flatnonzero(reachability(graph)[node])


def ancestors(graph: Any, node: int) -> np.ndarray:
    """Nodes from which a directed path reaches ``node``.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    node : int
        Position of the node.

    Returns
    -------
    ndarray of int
        Positions, ascending; without ``node`` itself unless it is on a cycle.

    Examples
    --------
    >>> ancestors([[0, 1, 0], [0, 0, 1], [0, 0, 0]], 2)
    array([0, 1])
    """
    return np.flatnonzero(reachability(graph)[:, node])


def skeleton(graph: Any) -> np.ndarray:
    """Which pairs of nodes are adjacent, in either direction.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    ndarray of bool, shape (d, d)
        Symmetric.

    Examples
    --------
    >>> skeleton([[0, 1], [0, 0]])
    array([[False,  True],
           [ True, False]])
    """
    matrix = as_matrix(graph)
    return matrix | matrix.T


def complete(order: Sequence[int] | np.ndarray) -> np.ndarray:
    """Complete DAG of an order: each node causes every node that comes after it.

    Parameters
    ----------
    order : sequence of int
        Each position from 0 to d - 1 once, causes first.

    Returns
    -------
    ndarray of bool, shape (d, d)
        ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If ``order`` is no permutation of 0 to d - 1.

    Examples
    --------
    >>> from dagtune.graph import edge_list
    >>> edge_list(complete([2, 0, 1]))
    [('x0', 'x1'), ('x2', 'x0'), ('x2', 'x1')]
    """
    positions = np.asarray(order)
    if positions.ndim != 1 or not np.array_equal(np.sort(positions), np.arange(len(positions))):
        raise InputError(
            f"an order contains each position from 0 to d - 1 exactly once, not {list(np.ravel(positions))!r}"
        )
    rank = np.argsort(positions)
    return rank[:, None] < rank[None, :]
