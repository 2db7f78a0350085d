"""Graphs without data: the edge convention, orders, cycles and conversions.

The convention holds everywhere in this package: ``A[i, j]`` true means ``i -> j``, that is, the row causes the column.
Matrices are square, boolean or 0/1, and indexed by position; names live beside them in a DataFrame or a networkx graph.
Every function here accepts a matrix, a DataFrame or a networkx DiGraph as ``graph``.
"""

from dagtune.graph.conversions import (
    as_matrix,
    edge_list,
    from_edge_list,
    from_networkx,
    names_of,
    to_frame,
    to_networkx,
)
from dagtune.graph.structure import (
    ancestors,
    children,
    complete,
    descendants,
    find_cycle,
    is_dag,
    parents,
    reachability,
    shortest_cycle_from,
    skeleton,
    topological_order,
)

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
