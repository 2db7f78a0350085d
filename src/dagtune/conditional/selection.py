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
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.linalg import lapack

from dagtune.compiled import compiled
from dagtune.conditional.factors import RegressionTable, best_fit
from dagtune.conditional.links import LINK_FREEDOM, link_fit
from dagtune.regression import ROOM

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
    table: RegressionTable,
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
    table: RegressionTable, allowed: np.ndarray, required: np.ndarray, *, least_gain: float = LEAST_GAIN
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
    table: RegressionTable, child: int, candidates: np.ndarray, required: np.ndarray, *, passes: int = 2
) -> np.ndarray:
    """Which candidates backward deletion keeps; each pass makes the link linear around the fit of the last one."""
    kept = np.ones(len(candidates), dtype=bool)
    for _ in range(passes if len(candidates) else 0):
        kept = _backward(*_system(table, child, candidates, kept), required, table.n)
    return kept


def _weigh(table: RegressionTable, allowed: np.ndarray, kept: np.ndarray, least_gain: float) -> tuple[Evidence, float]:
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


def residuals(table: RegressionTable, graph: np.ndarray) -> np.ndarray:
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
    table: RegressionTable, child: int, candidates: np.ndarray, kept: np.ndarray
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


def _backward(
    G: np.ndarray, b: np.ndarray, power: float, sizes: np.ndarray, required: np.ndarray, n: int
) -> np.ndarray:
    """Delete the candidate with the least ``chi2 / 2 - edf`` while that is not above 0; True are kept."""
    A = _inverse(G + np.eye(len(b)))
    w = A @ b
    kept = np.ones(len(sizes), dtype=bool)
    _delete(A, w, float(power - b @ w), np.cumsum([0, *sizes]), required, n, kept)
    return kept


def _inverse(M: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric positive definite matrix."""
    if not len(M):
        return M
    factor, pivots, _ = lapack.dgetrf(M)
    return np.ascontiguousarray(lapack.dgetri(factor, pivots, lwork=64 * len(M))[0])


@compiled
def _whiten(block: np.ndarray, right: np.ndarray, size: int) -> None:
    """The first ``size`` rows of ``right`` become L^-1 right, those of ``block`` its own lower Cholesky factor L."""
    columns = right.shape[1]
    for i in range(size):
        for j in range(i + 1):
            s = block[i, j]
            for t in range(j):
                s -= block[i, t] * block[j, t]
            block[i, j] = np.sqrt(max(s, 1e-300)) if i == j else s / block[j, j]
        for t in range(i):
            x = block[i, t]
            for c in range(columns):
                right[i, c] -= x * right[t, c]
        x = 1 / block[i, i]
        for c in range(columns):
            right[i, c] *= x


@compiled
def _delete(
    A: np.ndarray, w: np.ndarray, left: float, starts: np.ndarray, required: np.ndarray, n: int, kept: np.ndarray
) -> None:
    """Backward deletion from the inverse A, the weights w, and residual mean square plus penalty; A and w are spent.

    Without the functions k the inverse is ``A - A_.k A_kk^-1 A_k.``, and w loses ``A_.k A_kk^-1 w_k``.
    """
    d, D = len(starts) - 1, len(w)
    most = 0
    for k in range(d):
        most = max(most, starts[k + 1] - starts[k])
    room, vector, rows = np.empty((most, most)), np.empty((most, 1)), np.empty((most, D + 1))
    while True:
        trace, penalty, live = 0.0, 0.0, 0
        for k in range(d):
            if kept[k]:
                for i in range(starts[k], starts[k + 1]):
                    trace += A[i, i]
                    penalty += w[i] * w[i]
                    live += 1
        variance = max(left - penalty, 1e-12) / max(1 - (live - trace) / n, ROOM)
        worst, least, fall = -1, 0.0, 0.0
        for k in range(d):
            if kept[k] and not required[k]:
                first, size = starts[k], starts[k + 1] - starts[k]
                score = -1.0 * size
                for i in range(size):
                    score += A[first + i, first + i]
                    vector[i, 0] = w[first + i]
                    for j in range(i + 1):
                        room[i, j] = A[first + i, first + j]
                _whiten(room, vector, size)
                q = 0.0
                for i in range(size):
                    q += vector[i, 0] * vector[i, 0]
                score += 0.5 * n * q / variance
                if score <= least:
                    worst, least, fall = k, score, q
        if worst < 0:
            return
        first, size = starts[worst], starts[worst + 1] - starts[worst]
        for i in range(size):
            rows[i, D] = w[first + i]
            for j in range(D):
                rows[i, j] = A[first + i, j]
            for j in range(i + 1):
                room[i, j] = A[first + i, first + j]
        _whiten(room, rows, size)
        left += fall
        for i in range(D):
            for r in range(size):
                x = rows[r, i]
                w[i] -= x * rows[r, D]
                for j in range(D):
                    A[i, j] -= x * rows[r, j]
        kept[worst] = False


def _statistics(
    G: np.ndarray, b: np.ndarray, power: float, sizes: np.ndarray, kept: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """chi2, nu, gain and residual degrees of freedom of every candidate given the kept ones but itself."""
    starts = np.cumsum([0, *sizes])
    member = np.repeat(kept, sizes)
    at = np.flatnonzero(member)
    A = _inverse(G[np.ix_(at, at)] + np.eye(len(at)))
    w = A @ b[at]
    left, edf = power - b[at] @ w, len(at) - np.trace(A)
    variance = max(left - w @ w, 1e-12) / max(1 - edf / n, ROOM)
    place = np.where(kept, (np.cumsum(member) - member)[starts[:-1]], -1)
    q, blocks = np.empty(len(sizes)), np.zeros((len(sizes), max(sizes), max(sizes)))
    _quadratic(_Equations(G, b, A, w, at), starts, place, q, blocks)
    base, noise, used = np.where(kept, left + q, left), np.full(len(sizes), variance), np.full(len(sizes), edf)
    m1, m2 = np.empty(len(sizes)), np.empty(len(sizes))
    for size in np.unique(sizes):
        some = np.flatnonzero(sizes == size)
        block = blocks[some, :size, :size]
        share = np.minimum(np.maximum(1 - np.linalg.eigvalsh(block), 1e-6), 1.0)
        m1[some], m2[some] = share.sum(axis=1), (share * share).sum(axis=1)
        inside, outside = some[kept[some]], some[~kept[some]]
        used[inside] -= size - np.trace(block[kept[some]], axis1=1, axis2=2)
        fresh = np.maximum(left - q[outside], 1e-12) / max(1 - (edf + size) / n, ROOM)
        noise[outside] = np.minimum(variance, fresh)
    gain = np.log(base / np.maximum(base - q, 1e-12))
    return n * q / noise * m1 / m2, m1 * m1 / m2, gain, n - used


class _Equations(NamedTuple):
    """Normal equations ``G w = b`` of all functions; inverse ``A`` and weights ``w`` of the kept ones ``at``."""

    G: np.ndarray
    b: np.ndarray
    A: np.ndarray
    w: np.ndarray
    at: np.ndarray


@compiled
def _quadratic(
    equations: _Equations, starts: np.ndarray, place: np.ndarray, falls: np.ndarray, blocks: np.ndarray
) -> None:
    """For each candidate k the fall ``w_k^T B_k^-1 w_k`` of what is left, and B_k, its block of the inverse.

    Both are written to ``falls`` and ``blocks``, the latter zeros before. A kept candidate has its own from
    ``place[k]`` on; another (place -1) has ``B_k^-1 = G_kk + I - G_k. A G_.k`` and ``w_k = B_k (b_k - G_k. w)`` were it
    to join.
    """
    G, b, A, w, at = equations
    d, m, most = len(starts) - 1, len(at), blocks.shape[1]
    for k in range(d):
        first, size, here = starts[k], starts[k + 1] - starts[k], place[k]
        S, right = np.empty((most, most)), np.zeros((most, most + 1))
        for i in range(size):
            if here >= 0:
                right[i, most] = w[here + i]
                for j in range(size):
                    S[i, j] = A[here + i, here + j]
                    blocks[k, i, j] = (A[here + i, here + j] + A[here + j, here + i]) / 2
            else:
                right[i, i] = 1.0
                right[i, most] = b[first + i]
                row = np.zeros(m)
                for s in range(m):
                    x = G[first + i, at[s]]
                    right[i, most] -= x * w[s]
                    for t in range(m):
                        row[t] += x * A[s, t]
                for j in range(size):
                    S[i, j] = G[first + i, first + j]
                    for t in range(m):
                        S[i, j] -= row[t] * G[first + j, at[t]]
                S[i, i] += 1.0
        _whiten(S, right, size)
        falls[k] = 0.0
        for i in range(size):
            falls[k] += right[i, most] * right[i, most]
            if here < 0:
                for j in range(size):
                    for t in range(size):
                        blocks[k, i, j] += right[t, i] * right[t, j]


@compiled
def _mixture(density: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """By EM the weights of a mixture of which (pairs, parts) densities are given, and each part's share in a pair."""
    pairs, parts = density.shape
    weights, share = np.empty(parts), np.empty((pairs, parts))
    for k in range(parts):
        weights[k] = 1 / parts
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
