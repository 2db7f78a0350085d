"""Structural intervention distance (Peters and Bühlmann 2015).

SID(truth, guess) counts the ordered pairs (i, j) for which the guess implies a wrong effect of intervening on i. Let Z
be the parents of i in the guess. If j is in Z, the guess says "no effect", which is wrong if j is a descendant of i in
the truth. Otherwise the effect is wrong if Z is no valid adjustment set in the truth: Z contains a descendant of a node
(other than i) on a causal path from i to j, or leaves a non-causal path from i to j open. Only the parent sets of the
guess matter, so the count is a sum over nodes i. The bounds for a CPDAG and the score of a cyclic guess rest on that.
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

    Parameters
    ----------
    lower, upper : int
        The bounds.
    exact : bool
        False if a component had too many DAGs to enumerate: the bounds then come from a sample, and the true range may
        be wider.
    sampled : int
        Number of sampled DAGs; 0 if exact.
    """

    lower: int
    upper: int
    exact: bool
    sampled: int = 0

    def __str__(self) -> str:
        how = "exact" if self.exact else f"from {self.sampled} sampled DAGs, the true range may be wider"
        return f"SID {self.lower} to {self.upper} ({how})"


def sid(truth: Any, guess: Any, *, cyclic: Literal["refuse", "parents"] = "refuse") -> int:
    """Structural intervention distance.

    The number of ordered pairs (i, j) for which the guess implies a wrong effect of intervening on i. Extra edges cost
    nothing as long as the order is right: the complete DAG of a correct order has SID 0. Read it beside :func:`shd` or
    precision.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true DAG.
    guess : array-like, DataFrame or networkx.DiGraph
        The guessed graph; for a CPDAG see :func:`sid_bounds`.
    cyclic : {"refuse", "parents"}
        Whether to refuse a cyclic guess (the message names the cycle) or to score its parent sets.

    Returns
    -------
    int
        From 0 (best) to d (d - 1).

    Raises
    ------
    InputError
        If the truth has a cycle, the graphs have different nodes, or the guess has a cycle and ``cyclic`` is "refuse".

    References
    ----------
    J. Peters, P. Bühlmann: Structural intervention distance for evaluating causal graphs. Neural Computation 27 (2015).

    Examples
    --------
    >>> chain, reversed_chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> sid(chain, chain), sid(chain, reversed_chain)
    (0, 6)
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
    """Pairs for which the guess implies a wrong effect.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true DAG.
    guess : array-like, DataFrame or networkx.DiGraph
        The guessed graph; a cyclic one is scored from its parent sets.

    Returns
    -------
    ndarray of bool, shape (d, d)
        Entry [i, j] is true if the effect of i on j is wrong; the sum is the SID.

    Raises
    ------
    InputError
        If the truth has a cycle, or the graphs have different nodes.

    Examples
    --------
    >>> sid_mistakes([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    array([[False,  True],
           [ True, False]])
    """
    true, guessed = read_pair(truth, guess)
    read_dag("truth", true, "SID needs a DAG as truth", truth)
    return _mistakes(true, np.arange(len(true)), guessed.T)


def sid_bounds(truth: Any, cpdag: Any, *, limit: int = 2000, samples: int = 1000, rng: Any = 0) -> SidBounds:
    """Smallest and largest SID over the DAGs of a CPDAG.

    Components of undirected edges can be directed independently of each other, so the bounds are sums over components.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true DAG.
    cpdag : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` and ``A[j, i]`` together are an undirected edge i - j. A DAG is accepted too.
    limit : int
        A component is searched exactly, root by root, as long as that takes at most this many steps (a complete
        component of ten nodes takes 1013).
    samples : int
        Number of DAGs drawn from a component beyond that limit.
    rng : int, Generator or None
        Seed for that sample.

    Returns
    -------
    SidBounds
        Says whether the bounds are exact.

    Raises
    ------
    InputError
        If the truth has a cycle, the graphs have different nodes, or the guess is neither a DAG nor a CPDAG.

    Examples
    --------
    >>> from dagtune.metrics import cpdag
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> print(sid_bounds(chain, cpdag(chain)))
    SID 0 to 6 (exact)
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
    """SID of two DAGs by gadjid, which wants int8 and panics past ``except Exception`` if one is no DAG."""
    if len(true) < 2:
        return 0
    _, mistakes = gadjid.sid(true.astype(np.int8), guessed.astype(np.int8), edge_direction="from row to column")
    return int(mistakes)


def _cached_cost(true: np.ndarray) -> Callable[[int, frozenset[int]], int]:
    """Function (node, parents in the guess) -> number of mistakes that computes each value once."""
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
    """Boolean (nodes, d): whether the effect of nodes[r] on j is wrong if Z[r] are taken as the parents of nodes[r].

    All rows walk the truth at once, from i along every path that Z leaves open. The state of a walk is the node v it
    reached and how: ``causal``, along i -> ... -> v; ``down``, by an arrow into v after the path had left the causal
    way; ``up``, against an arrow out of v. A walk never returns to i.
    """
    d = len(true)
    rows = np.arange(len(nodes))
    reach = reachability(true)
    below = reach | np.eye(d, dtype=bool)
    A = true.astype(np.float32)
    free = ~Z
    opens = _any_product(Z, below.T)  # v or a descendant of v is in Z: a collider at v is open
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

    # Forbidden: v is on a causal path from i to j, and v or a descendant of v is in Z.
    forbidden = _any_product(reach[nodes] & opens, below)
    return np.where(Z, reach[nodes], forbidden | up | down) & away


def _any_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Boolean matrix product; float32 counts up to 2^24 are exact."""
    return left.astype(np.float32) @ right.astype(np.float32, copy=False) > 0
