"""Structural intervention distance (Peters and Buhlmann 2015).

SID(truth, guess) counts the ordered pairs (i, j) for which the guess gets the effect of intervening on i wrong. Let Z
be the parents of i in the guess. If j is in Z, the guess says "no effect", which is wrong when j is a descendant of i
in the truth. Otherwise it is wrong when Z is not a valid adjustment set in the truth: Z holds a descendant of a node
(other than i) on a causal path from i to j, or leaves a non-causal path from i to j open. Only the guess's parent sets
enter, so the count is a sum over nodes i; the bounds for a CPDAG and the score of a cyclic guess rest on that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import gadjid
import numpy as np

from dagtune.graph import is_dag, reachability
from dagtune.metrics.cpdag import ExtensionRange, require_cpdag, undirected_components
from dagtune.metrics.pairs import read_dag, read_pair
from dagtune.validation import check_choice, check_count

__all__ = ["SidBounds", "sid", "sid_bounds", "sid_mistakes"]


@dataclass(frozen=True)
class SidBounds:
    """Smallest and largest SID over the DAGs of a CPDAG.

    ``exact`` is False when a component had too many DAGs to go through: the bounds then come from ``sampled`` of them,
    and the true ones may lie further out.
    """

    lower: int
    upper: int
    exact: bool
    sampled: int = 0

    def __str__(self) -> str:
        how = "exact" if self.exact else f"from {self.sampled} sampled DAGs, the true range may be wider"
        return f"SID {self.lower} to {self.upper} ({how})"


def sid(truth: Any, guess: Any, *, cyclic: Literal["refuse", "parents"] = "refuse") -> int:
    """Structural intervention distance: 0 is best, d (d - 1) worst; extra edges cost nothing if the order is right.

    A cyclic guess is refused with its cycle named, or with ``cyclic="parents"`` scored from its parent sets. For a
    CPDAG see :func:`sid_bounds`.
    """
    check_choice("cyclic", cyclic, ("refuse", "parents"))
    true, guessed = read_pair(truth, guess)
    read_dag("truth", true, "SID needs a DAG as truth", truth)
    if cyclic == "parents" and not is_dag(guessed):
        return int(_mistakes(true, np.arange(len(true)), guessed.T).sum())
    read_dag(
        "guess", guessed, 'pass cyclic="parents" to score its parent sets, or sid_bounds for a CPDAG', truth, guess
    )
    return _gadjid_sid(true, guessed)


def sid_mistakes(truth: Any, guess: Any) -> np.ndarray:
    """Boolean (d, d): entry [i, j] says that the guess gets the effect of i on j wrong; its sum is the SID.

    A cyclic guess is scored from its parent sets.
    """
    true, guessed = read_pair(truth, guess)
    read_dag("truth", true, "SID needs a DAG as truth", truth)
    return _mistakes(true, np.arange(len(true)), guessed.T)


def sid_bounds(truth: Any, cpdag: Any, *, limit: int = 2000, samples: int = 1000, rng: Any = 0) -> SidBounds:
    """Smallest and largest SID over the DAGs of a CPDAG; ``A[i, j]`` and ``A[j, i]`` together are an undirected i - j.

    The components of undirected edges can be oriented independently of each other, so the bounds are sums over them.
    A component is searched exactly, root by root, while that takes at most ``limit`` steps (ten nodes that are all
    joined take 1013); beyond, ``samples`` of its DAGs are drawn, and the result says so. A graph that is neither a DAG
    nor a CPDAG is refused.
    """
    check_count("limit", limit)
    check_count("samples", samples)
    true, guessed = read_pair(truth, cpdag)
    read_dag("truth", true, "SID needs a DAG as truth", truth)
    if is_dag(guessed):
        value = _gadjid_sid(true, guessed)
        return SidBounds(value, value, exact=True)
    require_cpdag(guessed)
    cost = _cached_cost(true)
    search = ExtensionRange(guessed, cost, limit=limit, samples=samples, rng=np.random.default_rng(rng))
    ranges = [search.of(component) for component in undirected_components(guessed)]
    exact = all(found.exact for found in ranges)
    return SidBounds(
        lower=sum(found.lower for found in ranges),
        upper=sum(found.upper for found in ranges),
        exact=exact,
        sampled=0 if exact else samples,
    )


def _gadjid_sid(true: np.ndarray, guessed: np.ndarray) -> int:
    """gadjid wants int8, and panics past ``except Exception`` on what is not a DAG: both sides are DAGs by now."""
    if len(true) < 2:
        return 0
    _, mistakes = gadjid.sid(true.astype(np.int8), guessed.astype(np.int8), edge_direction="from row to column")
    return int(mistakes)


def _cached_cost(true: np.ndarray) -> Callable[[int, frozenset[int]], int]:
    """(node, parents in the guess) -> its number of mistakes, each computed once."""
    known: dict[tuple[int, frozenset[int]], int] = {}

    def cost(node: int, parents: frozenset[int]) -> int:
        key = (node, parents)
        if key not in known:
            Z = np.zeros((1, len(true)), dtype=bool)
            Z[0, list(parents)] = True
            known[key] = int(_mistakes(true, np.array([node]), Z).sum())
        return known[key]

    return cost


def _mistakes(true: np.ndarray, nodes: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Boolean (nodes, d): is the effect of nodes[r] on j wrong when Z[r] is taken for the parents of nodes[r]?

    All rows walk the truth at once, from i along every path that Z leaves open. A step is remembered by where it
    arrived and how: ``causal``, along i -> ... -> v; ``down``, by an arrow into v after the path had left the causal
    way; ``up``, against an arrow out of v. A walk never comes back to i.
    """
    d = len(true)
    rows = np.arange(len(nodes))
    reach = reachability(true)
    below = reach | np.eye(d, dtype=bool)
    A = true.astype(np.float32)
    free = ~Z
    opens = _any_product(Z, below.T)  # v is in Z or has a descendant in Z: a collider at v is open
    away = np.ones((len(nodes), d), dtype=bool)
    away[rows, nodes] = False

    causal = true[nodes]
    up = true.T[nodes]
    down = np.zeros_like(up)
    while True:
        more_causal = causal | _any_product(causal & free, A)
        more_up = (up | _any_product((up & free) | ((down | causal) & opens), A.T)) & away
        more_down = (down | _any_product((up | down) & free, A)) & away
        if (more_causal == causal).all() and (more_up == up).all() and (more_down == down).all():
            break
        causal, up, down = more_causal, more_up, more_down

    # Forbidden: v lies on a causal path from i to j and something in Z is v or below it.
    forbidden = _any_product(reach[nodes] & opens, below)
    return np.where(Z, reach[nodes], forbidden | up | down) & away


def _any_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Boolean matrix product; float32 counts up to 2^24 are exact."""
    return left.astype(np.float32) @ right.astype(np.float32, copy=False) > 0
