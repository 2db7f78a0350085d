"""Random DAGs, and the paper's five sizes. ``A[i, j]`` true means ``i -> j``.

Every function draws the causal order first, then the edges, from uniform numbers only: the same seed gives the same
graph on any machine. ``order`` fixes the causal order instead (positions, causes first) and leaves the edges' draw as
it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dagtune.graph import complete
from dagtune.simulate import portable
from dagtune.validation import InputError, check_count

__all__ = ["SIZES", "Size", "erdos_renyi_dag", "random_dag", "scale_free_dag"]


@dataclass(frozen=True)
class Size:
    """One setting of the paper's Section V-D: how many nodes, edges and rows."""

    nodes: int
    edges: int
    rows: int


#: The paper's five settings, by their number of nodes.
SIZES = {
    "d10": Size(nodes=10, edges=40, rows=100),
    "d20": Size(nodes=20, edges=100, rows=400),
    "d25": Size(nodes=25, edges=150, rows=600),
    "d30": Size(nodes=30, edges=250, rows=900),
    "d40": Size(nodes=40, edges=400, rows=1600),
}


def random_dag(nodes: int, edges: int, *, order: Sequence[int] | None = None, rng: Any = None) -> np.ndarray:
    """Boolean DAG with exactly ``edges`` edges: a uniformly random order, then a uniformly random set of its pairs."""
    nodes = check_count("nodes", nodes)
    most = nodes * (nodes - 1) // 2
    if check_count("edges", edges, least=0) > most:
        raise InputError(
            f"a DAG of {nodes} nodes has at most {nodes} * {nodes - 1} / 2 = {most} edges, not {edges}: "
            f"ask for {most} or fewer, or for {_nodes_for(edges)} nodes"
        )
    rng = np.random.default_rng(rng)
    causes, effects = np.nonzero(_pairs(nodes, order, rng))
    chosen = np.argsort(portable.uniform(rng, most), kind="stable")[:edges]
    graph = np.zeros((nodes, nodes), dtype=bool)
    graph[causes[chosen], effects[chosen]] = True
    return graph


def erdos_renyi_dag(
    nodes: int, probability: float, *, order: Sequence[int] | None = None, rng: Any = None
) -> np.ndarray:
    """Boolean DAG: a uniformly random order, each of its pairs an edge with ``probability``, independently."""
    nodes = check_count("nodes", nodes)
    if not 0 <= probability <= 1:
        raise InputError(f"probability must lie between 0 and 1, not {probability!r}")
    rng = np.random.default_rng(rng)
    pairs = _pairs(nodes, order, rng)
    return pairs & (portable.uniform(rng, (nodes, nodes)) < probability)


def scale_free_dag(nodes: int, links: int, *, order: Sequence[int] | None = None, rng: Any = None) -> np.ndarray:
    """Boolean DAG by preferential attachment (Barabasi and Albert): hubs among the causes.

    Nodes arrive in causal order. Each takes ``links`` of the nodes before it as parents (all of them while they are
    fewer), without repetition, one with weight 1 + its number of edges so far.
    """
    nodes = check_count("nodes", nodes)
    links = check_count("links", links, most=max(nodes - 1, 1))
    rng = np.random.default_rng(rng)
    arrival = _order(nodes, order, rng)
    graph = np.zeros((nodes, nodes), dtype=bool)
    degree = np.zeros(nodes)
    for position in range(1, nodes):
        before = arrival[:position]
        # The smallest of independent exponential times with rates w: a draw without repetition with weights w.
        times = -portable.log(1.0 - portable.uniform(rng, position)) / (1.0 + degree[before])
        parents = before[np.argsort(times, kind="stable")[:links]]
        graph[parents, arrival[position]] = True
        degree[parents] += 1
        degree[arrival[position]] += len(parents)
    return graph


def _order(nodes: int, order: Sequence[int] | None, rng: np.random.Generator) -> np.ndarray:
    """The order asked for, or a uniformly random one; either way the same number of draws is used up."""
    drawn = np.argsort(portable.uniform(rng, nodes), kind="stable")
    if order is None:
        return drawn
    if len(order) != nodes:
        raise InputError(f"the order has {len(order)} positions for {nodes} nodes: give each of 0 to {nodes - 1} once")
    return np.asarray(order)


def _pairs(nodes: int, order: Sequence[int] | None, rng: np.random.Generator) -> np.ndarray:
    """Every edge the order allows: the complete DAG."""
    return complete(_order(nodes, order, rng))


def _nodes_for(edges: int) -> int:
    """The smallest d with d (d - 1) / 2 >= edges."""
    nodes = int(np.sqrt(2 * edges))
    while nodes * (nodes - 1) // 2 < edges:
        nodes += 1
    return nodes
