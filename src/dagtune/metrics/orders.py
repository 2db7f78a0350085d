"""How far a causal order contradicts the true graph."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dagtune.graph import as_matrix, complete, names_of, reachability
from dagtune.metrics.pairs import read_pair
from dagtune.validation import InputError

__all__ = ["order_divergence"]


def order_divergence(truth: Any, guess: Any) -> int:
    """Number of true edges i -> j that the guess reverses, that is, j comes before i.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true graph.
    guess : sequence, array-like, DataFrame or networkx.DiGraph
        An order, causes first (positions, or names if the truth has names), or a graph. In a graph j comes before i if
        a directed path leads from j to i; for a complete DAG this is the same as its order.

    Returns
    -------
    int
        From 0 (best) to the number of true edges.

    Raises
    ------
    InputError
        If the order does not contain each node exactly once, or the graphs have different nodes.

    References
    ----------
    P. Rolland et al.: Score matching enables causal discovery of nonlinear additive noise models. ICML 2022.

    Examples
    --------
    >>> order_divergence([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [1, 0, 2])
    1
    """
    if isinstance(guess, (nx.Graph, pd.DataFrame)) or np.ndim(guess) == 2:
        true, guessed = read_pair(truth, guess)
        return int((true & reachability(guessed).T).sum())
    true = as_matrix(truth)
    before = complete(_positions(guess, names_of(truth), len(true)))
    return int((true & before.T).sum())


def _positions(order: Any, names: tuple[str, ...] | None, d: int) -> np.ndarray:
    """The order as positions; names are looked up."""
    entries = list(order)
    if names is not None and any(isinstance(entry, str) for entry in entries):
        strangers = [entry for entry in entries if str(entry) not in names]
        if strangers:
            raise InputError(f"the order uses {strangers[0]!r}, which is not a node of the truth")
        entries = [names.index(str(entry)) for entry in entries]
    if len(entries) != d or set(entries) != set(range(d)):
        raise InputError(f"an order of this truth contains each of its {d} nodes exactly once, not {list(order)!r}")
    return np.array(entries, dtype=np.intp)
