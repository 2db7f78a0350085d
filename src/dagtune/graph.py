"""THE convention, and everything about graphs that needs no data.

``A[i, j]`` true means ``i -> j``: the row causes the column. Matrices here are square, boolean or 0/1, indexed by
position; names live beside them in a DataFrame or a networkx graph.
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
    """Boolean (d, d) matrix of a graph given as matrix, DataFrame or networkx DiGraph; ``A[i, j]`` means ``i -> j``.

    A DataFrame must name its rows and columns alike, in the same order. Self-loops and entries other than 0 and 1 are
    refused.
    """
    if isinstance(graph, nx.Graph):
        if not graph.is_directed():
            raise InputError("the networkx graph is undirected: give a DiGraph")
        graph = nx.to_numpy_array(graph, weight=None)
    elif isinstance(graph, pd.DataFrame):
        if list(map(str, graph.index)) != list(map(str, graph.columns)):
            raise InputError("rows and columns of the adjacency table have different names: give both in one order")
        graph = graph.to_numpy()
    matrix = np.asarray(graph)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, not of shape {matrix.shape}: rows cause columns")
    if matrix.dtype != bool:
        try:
            zero_one = np.isin(matrix.astype(np.float64), (0.0, 1.0))
        except (TypeError, ValueError) as error:
            raise InputError(
                "an adjacency matrix holds 0 and 1, not text: check its header and index column"
            ) from error
        if not zero_one.all():
            i, j = np.argwhere(~zero_one)[0]
            raise InputError(
                f"an adjacency matrix holds 0 and 1, but entry [{i}, {j}] is {matrix[i, j]!r}: threshold the weights"
            )
        matrix = matrix.astype(np.float64) == 1.0
    if matrix.diagonal().any():
        loop = int(np.argmax(matrix.diagonal()))
        raise InputError(f"node {loop} has an edge to itself: remove the self-loop")
    return matrix


def names_of(graph: Any) -> tuple[str, ...] | None:
    """Names that ``graph`` carries (DataFrame or networkx graph), or None for a bare matrix."""
    if isinstance(graph, pd.DataFrame):
        return check_names(graph.columns, count=graph.shape[1])
    if isinstance(graph, nx.Graph):
        return check_names(graph.nodes, count=graph.number_of_nodes())
    return None


def parents(graph: Any, node: int) -> np.ndarray:
    """Positions of the direct causes of ``node``, ascending."""
    return np.flatnonzero(as_matrix(graph)[:, node])


def children(graph: Any, node: int) -> np.ndarray:
    """Positions of the direct effects of ``node``, ascending."""
    return np.flatnonzero(as_matrix(graph)[node])


def topological_order(graph: Any) -> np.ndarray:
    """Positions, causes first; of all such orders the lexicographically smallest. A cyclic graph is refused."""
    matrix = as_matrix(graph)
    order = _kahn(matrix)
    if len(order) < len(matrix):
        cycle = find_cycle(matrix)
        assert cycle is not None
        raise InputError(f"the graph has a cycle ({' -> '.join(map(str, cycle))}): only a DAG has a topological order")
    return np.array(order, dtype=np.intp)


def is_dag(graph: Any) -> bool:
    """Whether there is no directed cycle."""
    matrix = as_matrix(graph)
    return len(_kahn(matrix)) == len(matrix)


def _kahn(matrix: np.ndarray) -> list[int]:
    """Nodes that can be put in causal order, smallest position first; stops short of a cycle."""
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
    """A shortest directed cycle, and of those the lexicographically smallest, or None.

    The cycle ``a -> b -> c -> a`` comes back as ``(a, b, c, a)`` and starts at its smallest node.
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
    """Lexicographically smallest of the shortest cycles whose smallest node is ``start``, or None.

    ``matrix`` is boolean (d, d), ``back`` its transpose: who changes both as edges go need not transpose again.
    ``layer[t]`` holds the nodes t + 1 edges before ``start`` and no fewer; walking down the layers, the smallest child
    each time, gives the smallest path.
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
    """Boolean (d, d): ``R[i, j]`` when a directed path of one edge or more leads from i to j."""
    reach = as_matrix(graph).copy()
    for node in range(len(reach)):
        reach |= np.outer(reach[:, node], reach[node])
    return reach


def descendants(graph: Any, node: int) -> np.ndarray:
    """Positions that a directed path from ``node`` reaches, ascending."""
    return np.flatnonzero(reachability(graph)[node])


def ancestors(graph: Any, node: int) -> np.ndarray:
    """Positions from which a directed path reaches ``node``, ascending."""
    return np.flatnonzero(reachability(graph)[:, node])


def skeleton(graph: Any) -> np.ndarray:
    """Symmetric boolean (d, d): which pairs are adjacent, whatever the direction."""
    matrix = as_matrix(graph)
    return matrix | matrix.T


def complete(order: Sequence[int] | np.ndarray) -> np.ndarray:
    """Complete DAG of an order: each node causes all that come after it; ``A[i, j]`` means ``i -> j``."""
    positions = np.asarray(order)
    if positions.ndim != 1 or not np.array_equal(np.sort(positions), np.arange(len(positions))):
        raise InputError(f"an order holds each position from 0 to d - 1 once, not {list(np.ravel(positions))!r}")
    rank = np.argsort(positions)
    return rank[:, None] < rank[None, :]


def to_frame(graph: Any, names: Iterable[Any] | None = None) -> pd.DataFrame:
    """0/1 DataFrame with names; row causes column."""
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    return pd.DataFrame(matrix.astype(np.int8), index=list(labels), columns=list(labels))


def to_networkx(graph: Any, names: Iterable[Any] | None = None) -> nx.DiGraph:
    """DiGraph with an edge for each true entry; row causes column."""
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    result = nx.DiGraph()
    result.add_nodes_from(labels)
    result.add_edges_from((labels[i], labels[j]) for i, j in np.argwhere(matrix))
    return result


def from_networkx(graph: nx.DiGraph, order: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """0/1 DataFrame of a DiGraph, nodes in ``order`` (default: the graph's own); row causes column."""
    nodes = list(graph.nodes) if order is None else list(order)
    if set(nodes) != set(graph.nodes) or len(nodes) != graph.number_of_nodes():
        raise InputError("order must hold each node of the graph once")
    matrix = nx.to_numpy_array(graph, nodelist=nodes, weight=None) if nodes else np.zeros((0, 0))
    return to_frame(matrix, nodes)


def edge_list(graph: Any, names: Iterable[Any] | None = None) -> list[tuple[str, str]]:
    """(cause, effect) names, sorted by position of the cause, then of the effect."""
    matrix = as_matrix(graph)
    labels = _labels(graph, names, len(matrix))
    return [(labels[i], labels[j]) for i, j in np.argwhere(matrix)]


def from_edge_list(edges: Iterable[tuple[Any, Any]], names: Iterable[Any]) -> pd.DataFrame:
    """0/1 DataFrame of (cause, effect) pairs of names; row causes column."""
    labels = [str(name) for name in names]
    labels = list(check_names(labels, count=len(labels)))
    position = {name: i for i, name in enumerate(labels)}
    matrix = np.zeros((len(labels), len(labels)), dtype=bool)
    for cause, effect in edges:
        for name in (cause, effect):
            if str(name) not in position:
                raise InputError(f"edge {cause!r} -> {effect!r} names {name!r}, which is not among the nodes")
        matrix[position[str(cause)], position[str(effect)]] = True
    return to_frame(matrix, labels)


def _labels(graph: Any, names: Iterable[Any] | None, count: int) -> tuple[str, ...]:
    """The names asked for, else those the graph carries, else x0, x1, ..."""
    if names is not None:
        return check_names(names, count=count)
    return names_of(graph) or tuple(f"x{i}" for i in range(count))
