"""CPDAGs: classes of DAGs that imply the same conditional independences.

One matrix holds both kinds of edges: ``A[i, j]`` alone is i -> j, ``A[i, j]`` and ``A[j, i]`` together are an
undirected edge i - j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from dagtune.graph import as_matrix
from dagtune.metrics.pairs import read_dag
from dagtune.validation import InputError

__all__ = ["ExtensionRange", "Range", "cpdag", "require_cpdag", "undirected_components"]


def cpdag(dag: Any) -> np.ndarray:
    """CPDAG of a DAG: its skeleton, directed where all DAGs of its Markov equivalence class agree.

    The edges of v-structures i -> k <- j (i and j not adjacent) are directed, then Meek's rules are applied until
    nothing changes.

    Parameters
    ----------
    dag : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    ndarray of bool, shape (d, d)
        An undirected edge is two entries.

    Raises
    ------
    InputError
        If the graph has a cycle.

    References
    ----------
    C. Meek: Causal inference and causal explanation with background knowledge. UAI 1995.

    Examples
    --------
    >>> cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)  # a chain: no direction is determined
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    matrix = as_matrix(dag)
    read_dag("graph", matrix, "only a DAG has a CPDAG", dag)
    adjacent = matrix | matrix.T
    pattern = adjacent.copy()
    for k in range(len(matrix)):
        parents = np.flatnonzero(matrix[:, k])
        unmarried = ~adjacent[np.ix_(parents, parents)] & ~np.eye(len(parents), dtype=bool)
        pattern[k, parents[unmarried.any(axis=1)]] = False
    return meek(pattern)


def meek(pattern: np.ndarray) -> np.ndarray:
    """Direct the undirected edges i - j that Meek's rules 1 to 3 force to i -> j (rule 4 needs prior knowledge)."""
    graph = pattern.copy()
    while True:
        undirected = graph & graph.T
        directed = graph & ~graph.T
        apart = ~(graph | graph.T) & ~np.eye(len(graph), dtype=bool)
        # Rule 1: a -> i - j with a, j not adjacent.
        one = _product(directed.T, apart)
        # Rule 2: i -> b -> j.
        two = _product(directed, directed)
        # Rule 3: i - b -> j and i - c -> j with b, c not adjacent.
        three = np.zeros_like(graph)
        for j in range(len(graph)):
            into = undirected & directed[:, j]
            three[:, j] = (into & _product(into, apart)).any(axis=1)
        found = undirected & (one | two | three)
        if not found.any():
            return graph
        graph &= ~found.T


def undirected_components(graph: np.ndarray) -> list[tuple[int, ...]]:
    """Components of the undirected edges, as tuples of nodes; a node without undirected edges is its own component."""
    undirected = nx.from_numpy_array((graph & graph.T).astype(np.int8))
    return [tuple(sorted(component)) for component in nx.connected_components(undirected)]


def require_cpdag(graph: np.ndarray) -> None:
    """Refuse a graph that is no CPDAG: direct it in one way, take the CPDAG of that DAG, and compare."""
    cure = "pass metrics.cpdag(dag), or a DAG"
    undirected = nx.from_numpy_array((graph & graph.T).astype(np.int8))
    if not nx.is_chordal(undirected):
        raise InputError(
            f"the guess is no CPDAG: its undirected edges form a cycle of four or more nodes without a chord; {cure}"
        )
    dag = graph.copy()
    for component in undirected_components(graph):
        while True:
            inside = undirected_components(dag[np.ix_(component, component)])
            loose = next((part for part in inside if len(part) > 1), None)
            if loose is None:
                break
            dag = root_at(dag, component[loose[0]], tuple(component[v] for v in loose))
    try:
        same = (cpdag(dag) == graph).all()
    except InputError:
        same = False
    if not same:
        raise InputError(
            f"the guess is no CPDAG: its directed edges are not the ones that all DAGs of its class share; {cure}"
        )


def root_at(graph: np.ndarray, root: int, component: tuple[int, ...]) -> np.ndarray:
    """Direct a component of undirected edges away from its root, then apply Meek's rules inside it."""
    inside = np.ix_(component, component)
    part = graph[inside]
    part[:, component.index(root)] = False
    rooted = graph.copy()
    rooted[inside] = meek(part)
    return rooted


@dataclass(frozen=True)
class Range:
    """Smallest and largest total cost over the DAGs of a component; ``exact`` unless the DAGs were sampled."""

    lower: int
    upper: int
    exact: bool


class ExtensionRange:
    """Range of sum_i cost(i, parents of i) over the DAGs of a CPDAG, component by component.

    In each DAG, a component of undirected edges has exactly one root. Choosing the root directs some edges and leaves
    smaller components that are again independent of each other. The minimum is therefore, over all roots, the cost of
    the directed part plus the minima of the remaining components; the maximum likewise. Equal remainders are solved
    once.
    """

    def __init__(
        self,
        graph: np.ndarray,
        cost: Callable[[int, frozenset[int]], int],
        *,
        limit: int,
        samples: int,
        rng: np.random.Generator,
    ) -> None:
        self._graph, self._cost, self._limit, self._samples, self._rng = graph, cost, limit, samples, rng

    def of(self, component: tuple[int, ...]) -> Range:
        """Range over the orientations of one component of the CPDAG."""
        self._solved: dict[tuple[tuple[int, ...], bytes], tuple[int, int]] = {}
        try:
            lower, upper = self._search(self._graph, component)
        except _TooManyError:
            totals = [self._sample(self._graph, component) for _ in range(self._samples)]
            return Range(min(totals), max(totals), exact=False)
        return Range(lower, upper, exact=True)

    def _search(self, graph: np.ndarray, component: tuple[int, ...]) -> tuple[int, int]:
        """Minimum and maximum over the DAGs of a component, by recursion over its roots."""
        if len(component) == 1:
            total = self._cost_of(graph, component[0])
            return total, total
        key = (component, np.packbits(graph[:, component]).tobytes())
        if key not in self._solved:
            if len(self._solved) >= self._limit:
                raise _TooManyError
            ranges = []
            for root in component:
                rooted = root_at(graph, root, component)
                parts = [self._search(rooted, part) for part in _parts(rooted, component)]
                ranges.append((sum(low for low, _ in parts), sum(high for _, high in parts)))
            self._solved[key] = min(low for low, _ in ranges), max(high for _, high in ranges)
        return self._solved[key]

    def _sample(self, graph: np.ndarray, component: tuple[int, ...]) -> int:
        """Total cost of one DAG whose roots are drawn uniformly."""
        if len(component) == 1:
            return self._cost_of(graph, component[0])
        rooted = root_at(graph, component[int(self._rng.random() * len(component))], component)
        return sum(self._sample(rooted, part) for part in _parts(rooted, component))

    def _cost_of(self, graph: np.ndarray, node: int) -> int:
        """Cost of one node with the parents that it has in a graph."""
        return self._cost(node, frozenset(np.flatnonzero(graph[:, node]).tolist()))


class _TooManyError(Exception):
    """The component has more remainders than the limit allows."""


def _parts(graph: np.ndarray, component: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Components of what is still undirected inside a component; a node without undirected edges is one of them."""
    inside = undirected_components(graph[np.ix_(component, component)])
    return [tuple(component[v] for v in part) for part in inside]


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Boolean matrix product."""
    return left.astype(np.float32) @ right.astype(np.float32) > 0
