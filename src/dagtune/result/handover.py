"""The learned graph as the objects of other packages, which load only where they are asked for.

Each function takes a boolean (d, d) matrix, ``A[i, j]`` meaning ``i -> j``, and the names.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from dagtune import graph
from dagtune.validation import InputError

__all__ = ["causal_learn_graph", "dowhy_model", "gcm_model", "lingam_matrix", "pgmpy_dag"]


def dowhy_model(matrix: np.ndarray, names: Sequence[str], data: Any, cause: str, effect: str) -> Any:
    """A ``dowhy.CausalModel`` of a frame with these columns."""
    dowhy = _package("dowhy", "dowhy")
    return dowhy.CausalModel(data=data, treatment=cause, outcome=effect, graph=graph.to_networkx(matrix, names))


def gcm_model(matrix: np.ndarray, names: Sequence[str]) -> Any:
    """A ``dowhy.gcm.InvertibleStructuralCausalModel`` without mechanisms."""
    return _package("dowhy.gcm", "dowhy").InvertibleStructuralCausalModel(graph.to_networkx(matrix, names))


def pgmpy_dag(matrix: np.ndarray, names: Sequence[str]) -> Any:
    """A ``pgmpy.base.DAG``."""
    dag = _package("pgmpy.base", "pgmpy").DAG()
    dag.add_nodes_from(list(names))
    dag.add_edges_from(graph.edge_list(matrix, names))
    return dag


def causal_learn_graph(matrix: np.ndarray, names: Sequence[str], undirected: Collection[tuple[int, int]] = ()) -> Any:
    """A ``causallearn.graph.GeneralGraph``; the pairs in ``undirected`` have no arrowheads."""
    places = {name: f"causallearn.graph.{name}" for name in ("Edge", "Endpoint", "GeneralGraph", "GraphNode")}
    edge, ends, general, node = (getattr(_package(path, "causal-learn"), name) for name, path in places.items())
    nodes = [node(name) for name in names]
    found = general(nodes)
    without = {frozenset(pair) for pair in undirected}
    for i, j in np.argwhere(matrix).tolist():
        if frozenset((i, j)) not in without:
            found.add_edge(edge(nodes[i], nodes[j], ends.TAIL, ends.ARROW))
    for i, j in undirected:
        found.add_edge(edge(nodes[i], nodes[j], ends.TAIL, ends.TAIL))
    return found


def lingam_matrix(matrix: np.ndarray) -> np.ndarray:
    """As the lingam package stores a graph: ``B[i, j] = 1`` means ``j -> i`` (row is the child)."""
    return matrix.T.astype(np.float64)


def _package(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"this needs the package {name}: pip install {name} ({error})") from error
