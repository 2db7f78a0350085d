"""Graphs without data: the edge convention, orders, cycles and conversions.

The convention holds everywhere in this package: ``A[i, j]`` true means ``i -> j``, that is, the row causes the column.
Matrices are square, boolean or 0/1, and indexed by position; names live beside them in a DataFrame or a networkx graph.
Every function below accepts a matrix, a DataFrame or a networkx DiGraph as ``graph``.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dagtune.validation import InputError, check_names

__all__ = [
    "ancestors",
    "as_matrix",
    "children",
    "complete",
    "descendants",
    "edge_list",
    "find_cycle",
    "from_edge_list",
    "from_networkx",
    "is_dag",
    "names_of",
    "parents",
    "reachability",
    "shortest_cycle_from",
    "skeleton",
    "to_frame",
    "to_networkx",
    "topological_order",
]


def as_matrix(graph: Any) -> np.ndarray:
    """Boolean adjacency matrix of a graph.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        Square, with entries 0 and 1 (or booleans) and no self-loops. The rows and columns of a DataFrame must have the
        same names in the same order.

    Returns
    -------
    ndarray of bool, shape (d, d)
        ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If the graph is undirected, not square, has other entries than 0 and 1, or has a self-loop.

    Examples
    --------
    >>> as_matrix([[0, 1], [0, 0]])
    array([[False,  True],
           [False, False]])
    """
    if isinstance(graph, nx.Graph):
        if not graph.is_directed():
            raise InputError("the networkx graph is undirected: pass a DiGraph")
        graph = nx.to_numpy_array(graph, weight=None)
    elif isinstance(graph, pd.DataFrame):
        if list(map(str, graph.index)) != list(map(str, graph.columns)):
            raise InputError(
                "rows and columns of the adjacency table have different names: use the same names in the same order"
            )
        graph = graph.to_numpy()
    matrix = np.asarray(graph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"an adjacency matrix must be square (rows are causes, columns effects), not of shape {matrix.shape}"
        )
    if matrix.dtype != bool:
        try:
            zero_one = np.isin(matrix.astype(np.float64), (0.0, 1.0))
        except (TypeError, ValueError) as error:
            raise InputError(
                "an adjacency matrix contains 0 and 1, not text: check its header and index column"
            ) from error
        if not zero_one.all():
            i, j = np.argwhere(~zero_one)[0]
            raise InputError(
                f"an adjacency matrix contains 0 and 1, but entry [{i}, {j}] is {matrix[i, j]!r}: threshold the weights"
            )
        matrix = matrix.astype(np.float64) == 1.0
    if matrix.diagonal().any():
        loop = int(np.argmax(matrix.diagonal()))
        raise InputError(f"node {loop} has an edge to itself: remove the self-loop")
    return matrix


def names_of(graph: Any) -> tuple[str, ...] | None:
    """Node names that a graph carries.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        Only a DataFrame and a DiGraph carry names.

    Returns
    -------
    tuple of str or None
        None for a plain matrix.

    Raises
    ------
    InputError
        If a name occurs more than once.

    Examples
    --------
    >>> names_of(from_edge_list([("rain", "wet")], ["rain", "wet"]))
    ('rain', 'wet')
    """
    if isinstance(graph, pd.DataFrame):
        return check_names(graph.columns, count=graph.shape[1])
    if isinstance(graph, nx.Graph):
        return check_names(graph.nodes, count=graph.number_of_nodes())
    return None


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
    """Shortest cycle whose smallest node is ``start``; of several the lexicographically smallest.

    ``layer[t]`` holds the nodes t + 1 edges before ``start`` and no fewer; walking down the layers, the smallest child
    each time, gives the smallest path.

    Parameters
    ----------
    matrix, back : boolean array (d, d)
        The graph, ``A[i, j]`` meaning ``i -> j``, and its transpose: callers that remove edges keep both.
    start : int
        The node.

    Returns
    -------
    tuple of int or None
        The nodes of the cycle, ``start`` first and last.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.graph import shortest_cycle_from
    >>> ring = np.eye(3, k=1, dtype=bool) | np.eye(3, k=-2, dtype=bool)
    >>> shortest_cycle_from(ring, ring.T, 0)
    (0, 1, 2, 0)
    """
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


def to_frame(graph: Any, names: Iterable[Any] | None = None) -> pd.DataFrame:
    """Adjacency table with names.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : iterable of str, optional
        Default: the names that the graph carries, otherwise x0, x1, ...

    Returns
    -------
    DataFrame
        Entries 0 and 1; the row causes the column.

    Raises
    ------
    InputError
        If there are too many or too few names, or a name occurs more than once.

    Examples
    --------
    >>> to_frame([[0, 1], [0, 0]], ["rain", "wet"])
          rain  wet
    rain     0    1
    wet      0    0
    """
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    return pd.DataFrame(matrix.astype(np.int8), index=list(labels), columns=list(labels))


def to_networkx(graph: Any, names: Iterable[Any] | None = None) -> nx.DiGraph:
    """Graph as a networkx DiGraph.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : iterable of str, optional
        Default: the names that the graph carries, otherwise x0, x1, ...

    Returns
    -------
    networkx.DiGraph
        One edge for each true entry; the row causes the column.

    Raises
    ------
    InputError
        If there are too many or too few names, or a name occurs more than once.

    Examples
    --------
    >>> list(to_networkx([[0, 1], [0, 0]], ["rain", "wet"]).edges)
    [('rain', 'wet')]
    """
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    result = nx.DiGraph()
    result.add_nodes_from(labels)
    result.add_edges_from((labels[i], labels[j]) for i, j in np.argwhere(matrix))
    return result


def from_networkx(graph: nx.DiGraph, order: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """Adjacency table of a networkx DiGraph.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edge weights are ignored.
    order : sequence, optional
        Nodes in the order of the table. Default: the graph's own order.

    Returns
    -------
    DataFrame
        Entries 0 and 1; the row causes the column.

    Raises
    ------
    InputError
        If ``order`` does not contain each node exactly once.

    Examples
    --------
    >>> from_networkx(nx.DiGraph([("rain", "wet")]), order=["wet", "rain"])
          wet  rain
    wet     0     0
    rain    1     0
    """
    nodes = list(graph.nodes) if order is None else list(order)
    if set(nodes) != set(graph.nodes) or len(nodes) != graph.number_of_nodes():
        raise InputError("order must contain each node of the graph exactly once")
    matrix = nx.to_numpy_array(graph, nodelist=nodes, weight=None) if nodes else np.zeros((0, 0))
    return to_frame(matrix, nodes)


def edge_list(graph: Any, names: Iterable[Any] | None = None) -> list[tuple[str, str]]:
    """Edges as pairs of names.

    Parameters
    ----------
    graph : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : iterable of str, optional
        Default: the names that the graph carries, otherwise x0, x1, ...

    Returns
    -------
    list of (str, str)
        (cause, effect), sorted by the position of the cause, then of the effect.

    Raises
    ------
    InputError
        If there are too many or too few names, or a name occurs more than once.

    Examples
    --------
    >>> edge_list([[0, 1, 1], [0, 0, 0], [0, 0, 0]], ["rain", "wet", "slippery"])
    [('rain', 'wet'), ('rain', 'slippery')]
    """
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    return [(labels[i], labels[j]) for i, j in np.argwhere(matrix)]


def from_edge_list(edges: Iterable[tuple[Any, Any]], names: Iterable[Any]) -> pd.DataFrame:
    """Adjacency table of a list of edges.

    Parameters
    ----------
    edges : iterable of (str, str)
        (cause, effect) pairs of names.
    names : iterable of str
        All nodes, in the order of the table.

    Returns
    -------
    DataFrame
        Entries 0 and 1; the row causes the column.

    Raises
    ------
    InputError
        If an edge uses a name that is not in ``names``, leads from a node to itself, or a name occurs more than once.

    Examples
    --------
    >>> from_edge_list([("rain", "wet")], ["rain", "wet"])
          rain  wet
    rain     0    1
    wet      0    0
    """
    labels = [str(name) for name in names]
    labels = list(check_names(labels, count=len(labels)))
    position = {name: i for i, name in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), dtype=bool)
    for cause, effect in edges:
        for name in (cause, effect):
            if str(name) not in position:
                raise InputError(f"edge {cause!r} -> {effect!r} uses {name!r}, which is not one of the nodes")
        matrix[position[str(cause)], position[str(effect)]] = True
    return to_frame(matrix, labels)


def _labels(graph: Any, names: Iterable[Any] | None, count: int) -> tuple[str, ...]:
    """The given names, otherwise those that the graph carries, otherwise x0, x1, ..."""
    if names is not None:
        return check_names(names, count=count)
    return names_of(graph) or tuple(f"x{i}" for i in range(count))
