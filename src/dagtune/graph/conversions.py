"""A graph as a matrix, a table with names, a networkx graph or a list of edges."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dagtune.validation import InputError, check_names

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "as_matrix",
    "edge_list",
    "from_edge_list",
    "from_networkx",
    "names_of",
    "to_frame",
    "to_networkx",
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
    if _is_networkx(graph):
        if not graph.is_directed():
            raise InputError("the networkx graph is undirected: pass a DiGraph")
        import networkx as nx

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
    if _is_networkx(graph):
        return check_names(graph.nodes, count=graph.number_of_nodes())
    return None


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


def _is_networkx(graph: Any) -> bool:
    """Whether it is a networkx graph; if networkx was never loaded, it is none."""
    loaded = sys.modules.get("networkx")
    return loaded is not None and isinstance(graph, loaded.Graph)


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
    import networkx as nx  # takes a fifth of a second, and most commands need none of it

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
    >>> import networkx as nx
    >>> from_networkx(nx.DiGraph([("rain", "wet")]), order=["wet", "rain"])
          wet  rain
    wet     0     0
    rain    1     0
    """
    import networkx as nx

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
