"""Random DAGs, and the five sizes used in the paper. ``A[i, j]`` true means ``i -> j``.

Every function draws the causal order first, then the edges, from uniform random numbers only, so that a seed gives the
same graph on any machine. ``order`` fixes the causal order instead and leaves the draws of the edges unchanged.
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
    """One setting of the paper's Section V-D.

    Parameters
    ----------
    nodes, edges, rows : int
        Size of the graph and of the table.
    """

    nodes: int
    edges: int
    rows: int


#: The five settings of the paper, named after their number of nodes.
SIZES = {
    "d10": Size(nodes=10, edges=40, rows=100),
    "d20": Size(nodes=20, edges=100, rows=400),
    "d25": Size(nodes=25, edges=150, rows=600),
    "d30": Size(nodes=30, edges=250, rows=900),
    "d40": Size(nodes=40, edges=400, rows=1600),
}


def random_dag(nodes: int, edges: int, *, order: Sequence[int] | None = None, rng: Any = None) -> np.ndarray:
    """Random DAG with a given number of edges.

    Parameters
    ----------
    nodes, edges : int
        Number of nodes and exact number of edges.
    order : sequence of int, optional
        Causal order, causes first. Default: uniformly random.
    rng : int, Generator or None
        Seed for all random draws.

    Returns
    -------
    ndarray of bool, shape (nodes, nodes)
        A uniformly random set of ``edges`` of the pairs that the order allows; ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If a DAG of this size can't have so many edges, or ``order`` is no permutation.

    Examples
    --------
    >>> int(random_dag(10, 40, rng=0).sum())
    40
    """
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
    """Random DAG in which every possible edge has the same probability, independently.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    probability : float
        Probability of each edge that the order allows, from 0 to 1.
    order : sequence of int, optional
        Causal order, causes first. Default: uniformly random.
    rng : int, Generator or None
        Seed for all random draws.

    Returns
    -------
    ndarray of bool, shape (nodes, nodes)
        ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If ``probability`` is not between 0 and 1, or ``order`` is no permutation.

    Examples
    --------
    >>> int(erdos_renyi_dag(4, 1.0, rng=0).sum())
    6
    """
    nodes = check_count("nodes", nodes)
    if not 0 <= probability <= 1:
        raise InputError(f"probability must be between 0 and 1, not {probability!r}")
    rng = np.random.default_rng(rng)
    pairs = _pairs(nodes, order, rng)
    return pairs & (portable.uniform(rng, (nodes, nodes)) < probability)


def scale_free_dag(nodes: int, links: int, *, order: Sequence[int] | None = None, rng: Any = None) -> np.ndarray:
    """Random DAG by preferential attachment: a few nodes cause many others.

    Nodes are added in causal order. Each chooses ``links`` different parents among the nodes before it (all of them
    while there are fewer), each with weight 1 + its number of edges so far.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    links : int
        Number of parents of a node, from 1 to ``nodes - 1``.
    order : sequence of int, optional
        Causal order, causes first. Default: uniformly random.
    rng : int, Generator or None
        Seed for all random draws.

    Returns
    -------
    ndarray of bool, shape (nodes, nodes)
        ``A[i, j]`` means ``i -> j``.

    Raises
    ------
    InputError
        If ``links`` is out of range, or ``order`` is no permutation.

    References
    ----------
    A.-L. Barabási, R. Albert: Emergence of scaling in random networks. Science 286 (1999).

    Examples
    --------
    >>> int(scale_free_dag(6, 2, rng=0).sum(axis=0).max())
    2
    """
    nodes = check_count("nodes", nodes)
    links = check_count("links", links, most=max(nodes - 1, 1))
    rng = np.random.default_rng(rng)
    arrival = _order(nodes, order, rng)
    graph = np.zeros((nodes, nodes), dtype=bool)
    degree = np.zeros(nodes)
    for position in range(1, nodes):
        before = arrival[:position]
        # The smallest of independent exponential times with rates w are a weighted draw without replacement.
        times = -portable.log(1.0 - portable.uniform(rng, position)) / (1.0 + degree[before])
        parents = before[np.argsort(times, kind="stable")[:links]]
        graph[parents, arrival[position]] = True
        degree[parents] += 1
        degree[arrival[position]] += len(parents)
    return graph


def _order(nodes: int, order: Sequence[int] | None, rng: np.random.Generator) -> np.ndarray:
    """The given order, or a uniformly random one; both use up the same number of draws."""
    drawn = np.argsort(portable.uniform(rng, nodes), kind="stable")
    if order is None:
        return drawn
    if len(order) != nodes:
        raise InputError(f"the order has {len(order)} positions for {nodes} nodes: list each of 0 to {nodes - 1} once")
    return np.asarray(order)


def _pairs(nodes: int, order: Sequence[int] | None, rng: np.random.Generator) -> np.ndarray:
    """Every edge that the order allows: its complete DAG."""
    return complete(_order(nodes, order, rng))


def _nodes_for(edges: int) -> int:
    """Smallest d with d (d - 1) / 2 >= edges."""
    nodes = int(np.sqrt(2 * edges))
    while nodes * (nodes - 1) // 2 < edges:
        nodes += 1
    return nodes
