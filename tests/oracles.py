"""Slow and obvious: the second road to every answer."""

from __future__ import annotations

from itertools import pairwise, product

import networkx as nx
import numpy as np

# --- graphs and SID -------------------------------------------------------------------------------------------------


def all_dags(d):
    """Every DAG of d nodes, boolean, row causes column; for d up to 4."""
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    for states in product((None, True, False), repeat=len(pairs)):
        graph = np.zeros((d, d), dtype=bool)
        for (i, j), forward in zip(pairs, states):
            if forward is not None:
                graph[(i, j) if forward else (j, i)] = True
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(graph, create_using=nx.DiGraph)):
            yield graph


def sid_mistakes_by_paths(truth, parent_sets):
    """Pairs (i, j) whose effect is wrong with parent_sets[i] as parents of i: the definition, path by path.

    With j among the parents the guess says "no effect": wrong if a causal path leads from i to j. Otherwise the set
    must hold no descendant of a node on a causal path from i to j (other than i), and block every other path: some node
    of the path is a collider without descendant (itself included) in the set, or no collider and in the set.
    """
    graph = nx.from_numpy_array(truth, create_using=nx.DiGraph)
    undirected = graph.to_undirected()
    below = {node: nx.descendants(graph, node) | {node} for node in graph}
    wrong = set()
    for i in graph:
        Z = set(parent_sets[i])
        for j in set(graph) - {i}:
            if j in Z:
                if j in below[i]:
                    wrong.add((i, j))
                continue
            for path in nx.all_simple_paths(undirected, i, j):
                if all(graph.has_edge(a, b) for a, b in pairwise(path)):
                    bad = any(Z & below[node] for node in path[1:])
                else:
                    bad = not any(_blocks(graph, below, Z, *triple) for triple in zip(path, path[1:], path[2:]))
                if bad:
                    wrong.add((i, j))
                    break
    return wrong


def _blocks(graph, below, Z, before, node, after):
    collider = graph.has_edge(before, node) and graph.has_edge(after, node)
    return not (Z & below[node]) if collider else node in Z


def sid_by_paths(truth, guess):
    """SID from the definition; the guess may be cyclic, only its parent sets count."""
    return len(sid_mistakes_by_paths(truth, [np.flatnonzero(guess[:, i]) for i in range(len(guess))]))


def sid_by_linear_gaussian(truth, guess, rng):
    """SID by what it means: with generic linear weights, is the adjusted slope the true total effect?"""
    d = len(truth)
    weights = truth * rng.uniform(0.5, 2.0, (d, d)) * rng.choice((-1.0, 1.0), (d, d))
    total = np.linalg.inv(np.eye(d) - weights)  # total[i, j]: effect of i on j
    covariance = total.T @ np.diag(rng.uniform(0.5, 2.0, d)) @ total
    wrong = 0
    for i in range(d):
        parents = np.flatnonzero(guess[:, i])
        for j in range(d):
            if j == i:
                continue
            claimed = 0.0
            if j not in parents:
                given = [i, *parents]
                claimed = np.linalg.solve(covariance[np.ix_(given, given)], covariance[given, j])[0]
            wrong += abs(claimed - total[i, j]) > 1e-8
    return wrong


def dags_of_cpdag(cpdag):
    """Every DAG of a CPDAG: orient the undirected edges in all ways, keep the acyclic ones without new v-structures."""
    undirected = [(i, j) for i, j in np.argwhere(cpdag & cpdag.T) if i < j]
    adjacent = cpdag | cpdag.T
    compelled = v_structures(cpdag & ~cpdag.T, adjacent)
    for choice in product((True, False), repeat=len(undirected)):
        dag = cpdag.copy()
        for (i, j), forward in zip(undirected, choice):
            dag[(j, i) if forward else (i, j)] = False
        acyclic = nx.is_directed_acyclic_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph))
        if acyclic and v_structures(dag, adjacent) == compelled:
            yield dag


def v_structures(graph, adjacent):
    """{(i, k, j)}: i -> k <- j with i < j not adjacent."""
    found = set()
    for k in range(len(graph)):
        parents = np.flatnonzero(graph[:, k])
        found |= {(int(i), k, int(j)) for i in parents for j in parents if i < j and not adjacent[i, j]}
    return found


# --- end of graphs and SID ------------------------------------------------------------------------------------------
