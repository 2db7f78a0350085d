"""How far a causal order contradicts the truth."""

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
    """Number of true edges i -> j that the guess turns round: j stands before i.

    ``guess`` is an order, causes first (positions, or names where the truth has them), or a graph, in which j stands
    before i when a directed path leads from j to i. For a complete DAG both say the same (Rolland et al. 2022).
    """
    if isinstance(guess, (nx.Graph, pd.DataFrame)) or np.ndim(guess) == 2:
        true, guessed = read_pair(truth, guess)
        return int((true & reachability(guessed).T).sum())
    true = as_matrix(truth)
    before = complete(_positions(guess, names_of(truth), len(true)))
    return int((true & before.T).sum())


def _positions(order: Any, names: tuple[str, ...] | None, d: int) -> np.ndarray:
    entries = list(order)
    if names is not None and any(isinstance(entry, str) for entry in entries):
        strangers = [entry for entry in entries if str(entry) not in names]
        if strangers:
            raise InputError(f"the order names {strangers[0]!r}, which is no node of the truth")
        entries = [names.index(str(entry)) for entry in entries]
    if len(entries) != d or set(entries) != set(range(d)):
        raise InputError(f"an order of this truth holds each of its {d} nodes once, not {list(order)!r}")
    return np.array(entries, dtype=np.intp)
