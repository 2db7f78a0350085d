"""What to adjust for in a graph to get the total effect of one variable on another.

The *causal nodes* of (x, y) are those on directed paths from x to y, without x. *Forbidden* are their descendants and
x. The *optimal* set holds the parents of the causal nodes that are neither forbidden nor x: of all valid sets it
gives the least asymptotic variance in linear models, and in regressions beyond them. (Henckel, Perkovic and Maathuis
2022, "Graphical criteria for efficient total effect estimation via adjustment in causal linear models", definition 3.4
and theorem 3.13.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import as_matrix, reachability

__all__ = ["optimal_adjustment", "turned_adjustment"]


def optimal_adjustment(graph: Any, x: int, y: int, reach: np.ndarray | None = None) -> tuple[int, ...] | None:
    """The optimal adjustment set for the total effect of x on y, or None if x has no effect on y.

    Parameters
    ----------
    graph : (d, d) array
        A DAG; ``A[i, j]`` means ``i -> j``.
    x, y : int
        Two nodes.
    reach : (d, d) array of bool, optional
        :func:`dagtune.graph.reachability` of the graph, if it is known.

    Returns
    -------
    tuple of int or None
        Ascending. None if no directed path leads from x to y: the effect is 0 and needs no set.

    Examples
    --------
    >>> confounded = [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]  # 0 -> 1 -> 2, 0 -> 2, 3 -> 2
    >>> optimal_adjustment(confounded, 1, 2)
    (0, 3)
    """
    matrix = as_matrix(graph)
    reach = reachability(matrix) if reach is None else reach
    if not reach[x, y]:
        return None
    causal = reach[x] & reach[:, y]
    causal[y] = True
    forbidden = causal | reach[causal].any(axis=0)
    forbidden[x] = True
    return tuple(np.flatnonzero(matrix[:, causal].any(axis=1) & ~forbidden).tolist())


def turned_adjustment(graph: Any, x: int, y: int, reach: np.ndarray | None = None) -> tuple[int, ...]:
    """What to adjust for if x caused y after all, in a graph where y comes before x.

    The causes of x that y does not affect: they stay causes of x when the way from y to x is turned.

    Parameters
    ----------
    graph : (d, d) array
        A DAG; ``A[i, j]`` means ``i -> j``.
    x, y : int
        Two nodes.
    reach : (d, d) array of bool, optional
        :func:`dagtune.graph.reachability` of the graph, if it is known.

    Returns
    -------
    tuple of int
        Ascending.

    Examples
    --------
    >>> turned_adjustment([[0, 1, 1], [0, 0, 1], [0, 0, 0]], 2, 1)
    (0,)
    """
    matrix = as_matrix(graph)
    later = (reachability(matrix) if reach is None else reach)[y].copy()
    later[[x, y]] = True
    return tuple(np.flatnonzero(matrix[:, x] & ~later).tolist())
