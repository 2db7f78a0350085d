"""From an order to a graph: which of the variables before a child are its parents.

For each child: the additive regression on all allowed before it, with its bent link made linear around the fit (Gauss
and Newton) where the bend is clear; backward deletion of parents while ``chi2 / 2 - edf <= 0``; then, twice, one
statistic for *every* candidate j given the kept ones,

    chi2_j = w_j^T Cov_j^-1 w_j,    nu_j its matched degrees of freedom.

All candidates of all children are pooled: ``chi2_j / nu_j`` is taken to come from a mixture over effect sizes g of
``(1 + g) F(nu_j, n - edf)`` with weights found by EM, so that how many edges there are, and how strong, is learned from
the table itself. The posterior odds that an effect exceeds ``least_gain`` (in log variance) decide: after the first
statistics what is kept for the second, after those the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import special

from dagtune.conditional.links import LINK_FREEDOM, link_fit
from dagtune.conditional.orders import Table, best_fit

__all__ = ["LEAST_GAIN", "Evidence", "Selected", "keep_backward", "likely_edges", "residuals", "select_parents"]

#: The least fall of a child's log variance that makes an edge.
LEAST_GAIN = 0.01
#: Between these densities the least log odds of an edge go from 0 to _LENIENT.
_DENSE, _LENIENT = (0.345, 0.445), -2.0
#: Effect sizes of the mixture: none, then doubling.
_DOUBLINGS = np.arange(-1, 15)


@dataclass(frozen=True, eq=False)
class Evidence:
    """(d, d) numbers of every candidate parent (row) of a child (column), NaN (odds: -inf) where it is none.

    ``chi`` and ``freedom`` are chi2 and nu, ``gain`` is the fall of the child's log variance when the candidate joins
    the kept parents, ``odds`` the posterior log odds that it exceeds the least gain that counts.
    """

    chi: np.ndarray
    freedom: np.ndarray
    gain: np.ndarray
    odds: np.ndarray


@dataclass(frozen=True, eq=False)
class Selected:
    """The graph after backward deletion, after the pooled odds, and the evidence; ``A[i, j]`` means ``i -> j``."""

    deleted: np.ndarray
    graph: np.ndarray
    evidence: Evidence
    least_probability: float
    least_gain: float


def select_parents(
    table: Table,
    allowed: np.ndarray,
    required: np.ndarray,
    *,
    least_gain: float = LEAST_GAIN,
    least_probability: float | None = None,
) -> Selected:
    """Parents of every child among the ``allowed`` (boolean (d, d), acyclic); ``required`` ones are never deleted.

    An edge is kept above ``least_probability``; None adapts it to how dense the graph seems to be.
    """
    deleted, kept = likely_edges(table, allowed, required, least_gain=least_gain)
    evidence, density = _weigh(table, allowed, kept, least_gain)
    probability = special.expit(evidence.odds)
    if least_probability is None:
        pairs = max(int(allowed.sum()), 1)
        least_probability = _adapted(density - 12 / pairs)  # of few pairs the density must be surer
    graph = allowed & ((probability > least_probability) | required)
    return Selected(deleted, graph, evidence, least_probability, least_gain)


def likely_edges(
    table: Table, allowed: np.ndarray, required: np.ndarray, *, least_gain: float = LEAST_GAIN
) -> tuple[np.ndarray, np.ndarray]:
    """The edges that backward deletion keeps, and those that given them are rather there than not.

    Child by child, deletion keeps what chance made look useful, and flatters what is left: the odds given what it kept
    only say given what the odds are that count.
    """
    deleted = np.zeros_like(allowed)
    for child in range(table.width):
        candidates = np.flatnonzero(allowed[:, child])
        deleted[candidates, child] = keep_backward(table, child, candidates, required[candidates, child])
    first, _ = _weigh(table, allowed, deleted, least_gain)
    return deleted, (first.odds > 0) | (required & allowed)


def keep_backward(
    table: Table, child: int, candidates: np.ndarray, required: np.ndarray, *, passes: int = 2
) -> np.ndarray:
    """Which candidates backward deletion keeps; each pass makes the link linear around the fit of the last one."""
    kept = np.ones(len(candidates), dtype=bool)
    for _ in range(passes if len(candidates) else 0):
        kept = _backward(*_system(table, child, candidates, kept), required, table.n)
    return kept


def _weigh(table: Table, allowed: np.ndarray, kept: np.ndarray, least_gain: float) -> tuple[Evidence, float]:
    """Evidence of every allowed candidate given the kept ones, and the share of them that have an effect."""
    chi, freedom, gain, room = (np.full(allowed.shape, np.nan) for _ in range(4))
    for child in range(table.width):
        at = np.flatnonzero(allowed[:, child])
        if len(at):
            system = _system(table, child, at, kept[at, child])
            found = _statistics(*system, kept[at, child], table.n)
            chi[at, child], freedom[at, child], gain[at, child], room[at, child] = found
    odds, density = np.full(allowed.shape, -np.inf), 0.0
    if allowed.any():
        odds[allowed], density = _pooled_odds(chi[allowed], freedom[allowed], table.n, room[allowed], least_gain)
    return Evidence(chi, freedom, gain, odds), density


def _adapted(density: float) -> float:
    """The least probability of an edge: 1/2 in a sparse graph, less where about half of all pairs are joined.

    A missing edge leaves a back door open for every pair it confounds, an extra one in the right order opens none. In a
    dense graph the first is what hurts; in a sparse one the extra edges would soon outnumber the true ones.
    """
    share = np.clip((density - _DENSE[0]) / (_DENSE[1] - _DENSE[0]), 0, 1)
    return float(special.expit(share * _LENIENT))


def residuals(table: Table, graph: np.ndarray) -> np.ndarray:
    """(d, rows) of what each variable's parents in the graph leave of it, bent links included, at the table's rows.

    A variable without parents is left as it is.
    """
    left = table.targets.astype(np.float64)
    for child in range(table.width):
        parents = np.flatnonzero(graph[:, child])
        if len(parents):
            u = best_fit(table, child, parents)[0] @ table.functions
            e = left[child] - u
            gain, bend, _ = link_fit(u, e)
            left[child] = e - bend if len(e) * gain > LINK_FREEDOM * np.log(len(e)) else e
    return left


def _system(
    table: Table, child: int, candidates: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Normal equations of the child on its candidates, their functions scaled so that the penalty is I, and the sizes.

    The setting is the best by GCV for the kept candidates; where their fit bends clearly, the equations are those of
    the fit made linear: functions times the link's slope, and the response that goes with it.
    """
    weights, chosen = best_fit(table, child, candidates[kept])
    P = table.penalty[chosen]
    everything = table.functions_of(candidates)
    scale = 1 / np.sqrt(P[everything])
    sizes = table.starts[candidates + 1] - table.starts[candidates]
    G, b = table.products[np.ix_(everything, everything)], table.cross[everything, child]
    power = float(table.power[child])
    if kept.any():
        u = weights @ table.functions
        y = table.targets[child].astype(np.float64)
        gain, bend, slope = link_fit(u, y - u)
        m = len(y)
        if m * gain > (LINK_FREEDOM + 1) * np.log(m):
            F = table.functions[everything] * (1 + slope)
            F -= F.mean(axis=1, keepdims=True)
            response = y - bend + slope * u
            response -= response.mean()
            G, b, power = F @ F.T / m, F @ response / m, float(response @ response / m)
    return G * scale[:, None] * scale, b * scale, power, np.asarray(sizes, dtype=np.int64)


@njit(cache=True, nogil=True)
def _backward(
    G: np.ndarray, b: np.ndarray, power: float, sizes: np.ndarray, required: np.ndarray, n: int
) -> np.ndarray:
    """Delete the candidate with the least ``chi2 / 2 - edf`` while that is not above 0; True are kept."""
    d, D = len(sizes), len(b)
    starts = np.zeros(d + 1, np.int64)
    for k in range(d):
        starts[k + 1] = starts[k] + sizes[k]
    A = np.linalg.inv(G + np.eye(D))
    w = A @ b
    left = power - b @ w  # residual mean square plus penalty
    kept = np.ones(d, np.bool_)
    while True:
        trace, penalty, live = 0.0, 0.0, 0
        for k in range(d):
            if kept[k]:
                for i in range(starts[k], starts[k + 1]):
                    trace += A[i, i]
                    penalty += w[i] * w[i]
                    live += 1
        variance = max(left - penalty, 1e-12) / max(1 - (live - trace) / n, 0.05)
        worst, least = -1, 0.0
        for k in range(d):
            if kept[k] and not required[k]:
                own = slice(starts[k], starts[k + 1])
                block = A[own, own].copy()
                q = w[own] @ np.linalg.solve(block, w[own])
                score = 0.5 * n * q / variance - (sizes[k] - np.trace(block))
                if score <= least:
                    worst, least = k, score
        if worst < 0:
            return kept
        own = slice(starts[worst], starts[worst + 1])
        solved = np.linalg.solve(A[own, own].copy(), np.ascontiguousarray(A[own]))
        left += w[own] @ np.linalg.solve(A[own, own].copy(), w[own])
        w = w - solved.T @ w[own]
        A = A - np.ascontiguousarray(A[:, own]) @ solved
        kept[worst] = False


@njit(cache=True, nogil=True)
def _statistics(
    G: np.ndarray, b: np.ndarray, power: float, sizes: np.ndarray, kept: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """chi2, nu, gain and residual degrees of freedom of every candidate given the kept ones but itself."""
    d, D = len(sizes), len(b)
    starts = np.zeros(d + 1, np.int64)
    member = np.zeros(D, np.bool_)
    for k in range(d):
        starts[k + 1] = starts[k] + sizes[k]
        member[starts[k] : starts[k + 1]] = kept[k]
    at = np.flatnonzero(member)
    A = np.linalg.inv(G[at][:, at] + np.eye(len(at)))
    w = A @ b[at]
    left = power - b[at] @ w
    edf = len(at) - np.trace(A)
    variance = max(left - w @ w, 1e-12) / max(1 - edf / n, 0.05)
    place = np.cumsum(member) - 1
    chi, nu, gain, room = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for k in range(d):
        own = slice(starts[k], starts[k + 1])
        if kept[k]:
            here = slice(place[starts[k]], place[starts[k]] + sizes[k])
            block, wk = A[here, here].copy(), w[here]
            q = wk @ np.linalg.solve(block, wk)
            base, noise, used = left + q, variance, edf - (sizes[k] - np.trace(block))
        else:
            C = np.ascontiguousarray(G[own][:, at])
            S = G[own, own] + np.eye(sizes[k]) - C @ A @ C.T
            block = np.linalg.inv(S)
            wk = block @ (b[own] - C @ w)
            q = wk @ S @ wk
            base, used = left, edf
            noise = min(variance, max(left - q, 1e-12) / max(1 - (edf + sizes[k]) / n, 0.05))
        share = np.minimum(np.maximum(1 - np.linalg.eigvalsh((block + block.T) / 2), 1e-6), 1.0)
        m1, m2 = share.sum(), (share * share).sum()
        nu[k] = m1 * m1 / m2
        chi[k] = n * q / noise * m1 / m2
        gain[k] = np.log(base / max(base - q, 1e-12))
        room[k] = n - used
    return chi, nu, gain, room


@njit(cache=True, nogil=True)
def _mixture(density: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """By EM the weights of a mixture of which (pairs, parts) densities are given, and each part's share in a pair."""
    pairs, parts = density.shape
    weights = np.full(parts, 1 / parts)
    share = np.empty((pairs, parts))
    for _ in range(steps):
        mean = np.zeros(parts)
        for a in range(pairs):
            total = 0.0
            for k in range(parts):
                share[a, k] = density[a, k] * weights[k]
                total += share[a, k]
            for k in range(parts):
                share[a, k] /= total
                mean[k] += share[a, k]
        for k in range(parts):
            weights[k] = max(mean[k] / pairs, 1e-10)
    return weights, share


def _pooled_odds(
    chi: np.ndarray, nu: np.ndarray, n: int, room: np.ndarray, least_gain: float
) -> tuple[np.ndarray, float]:
    """Posterior log odds that each effect exceeds the least gain, the mixture's weights by 200 steps of EM.

    And the weight of effects as large as their noise, be they above the least gain or not.
    """
    sizes = np.concatenate([[0.0], 2.0**_DOUBLINGS])
    sizes = sizes[sizes <= max(4 * n, 8)]
    x = chi[:, None] / nu[:, None] / (1 + sizes)
    a, b = nu[:, None] / 2, np.maximum(room, 3)[:, None] / 2
    log_f = (
        a * np.log(a / b) + (a - 1) * np.log(np.maximum(x, 1e-300)) - (a + b) * np.log1p(a / b * x)
        - special.betaln(a, b) - np.log1p(sizes)
    )  # fmt: skip
    density = np.exp(log_f - log_f.max(axis=1, keepdims=True))
    weights, share = _mixture(density, 200)
    none = (sizes * nu[:, None] / n < least_gain) | (sizes == 0)
    p0 = np.sum(np.where(none, share, 0), axis=1)
    p1 = np.sum(np.where(none, 0, share), axis=1)
    return np.log(p1 + 1e-300) - np.log(p0 + 1e-300), float(weights[sizes >= 1].sum())
