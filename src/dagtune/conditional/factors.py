"""Regressions of a child on everything before a place of an order, for many places at once.

For an order o and a child c, V(c | S) is the residual variance of c given the set S of those before it, by the additive
regressions of :mod:`dagtune.regression` at a few settings of the penalty P, the best by GCV. All prefixes of an order
share one Cholesky factor: with ``A = G + P`` in the order's arrangement, ``A = L L^T``, ``Q = L^-1`` and ``Z = Q b``,
the first m rows answer for the first m functions,

    w = Q_m^T Z_m,    V = 1 - |Z_m|^2 - w^T P w,    edf = m - sum_{a <= m} sum_i P_i Q_ai^2.

Moving one variable inside a window of the order changes nothing before and nothing after the window, so a move needs
two arrangements of the window: the moving variable first, and last. There the factor is a rotation of the old one,
``M = L'^-1 Pi L`` for the window's block L: ``Z' = M Z`` and ``Q' = M Q``, M orthogonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from dagtune.compiled import compiled
from dagtune.regression import LEAST, RIDGE, ROOM

__all__ = ["SETTINGS", "Best", "Factor", "Fresh", "Prefixes", "RegressionTable", "best_fit", "penalties"]

#: (prior standard deviation of the bent functions against the line's, ridge lambda): small lambda serves nearly
#: noiseless data, a large one with nearly straight functions serves weak signals. GCV takes the best of them for each
#: regression.
SETTINGS = ((1.0, 0.001), (1.0, 0.1), (0.3, 3.0), (0.05, 10.0), (0.005, 0.1), (0.3, 0.1))
#: A regression that leaves this share of a variance or more is a weak one.
WEAK = 0.1


def penalties(roughness: np.ndarray, starts: np.ndarray, n: int) -> np.ndarray:
    """(settings, functions): diagonal of P for each of SETTINGS.

    The prior standard deviation of a function falls with its roughness, ``sqrt(rough_1 / rough_k)`` against the
    first bent one.
    """
    found = np.empty((len(SETTINGS), len(roughness)))
    for k, (bent, ridge) in enumerate(SETTINGS):
        for a, b in pairwise(starts):
            variance = np.ones(b - a)
            if roughness[b - 1] > 0:  # else categories, of which none is rougher than another
                variance[1:] = bent**2 * roughness[a + 1 : a + 2] / roughness[a + 1 : b]
            found[k, a:b] = ridge / n / variance
    return found + RIDGE


@dataclass(frozen=True, eq=False)
class RegressionTable:
    """What the search knows of the data: sums over all ``n`` rows, and some of the rows.

    ``products`` (D, D) and ``cross`` (D, d) are G and b for the targets, ``power`` (d,) the targets' mean squares,
    ``starts`` the first function of each variable, ``penalty`` (K, D). ``functions`` (D, m) and ``targets`` (d, m) are
    the functions and the targets at m rows, in single precision: enough for a bend or a histogram, at half the price.
    ``smooth`` (d,) says whether a target's values are mostly distinct; ``bins`` is the table of equal_bins(m).
    """

    n: int
    products: np.ndarray
    cross: np.ndarray
    power: np.ndarray
    starts: np.ndarray
    penalty: np.ndarray
    functions: np.ndarray
    targets: np.ndarray
    smooth: np.ndarray
    bins: np.ndarray

    @property
    def width(self) -> int:
        """The number of variables."""
        return len(self.power)

    def functions_of(self, variables: Sequence[int] | np.ndarray) -> np.ndarray:
        """Positions of the functions of these variables, one variable after the other."""
        begin = self.starts[np.asarray(variables, dtype=np.intp)]
        ends = _ends(self, variables)
        return np.arange(ends[-1]) + np.repeat(begin - ends[:-1], np.diff(ends))


class Factor:
    """L, Q and Z of one arrangement, for each setting; Q's columns stay in the table's own numbering."""

    def __init__(self, table: RegressionTable, order: np.ndarray) -> None:
        self.table = table
        self.order = np.array(order)
        self.L: list[np.ndarray] = []
        self.Q: list[np.ndarray] = []
        self.Z: list[np.ndarray] = []

    @property
    def ends(self) -> np.ndarray:
        """Where the functions of each variable end in the arrangement, 0 before the first."""
        return _ends(self.table, self.order)

    def refresh(self) -> None:
        """Factor the whole order anew; the rotations' rounding is gone."""
        at = self.table.functions_of(self.order)
        G = self.table.products[np.ix_(at, at)]
        self.L, self.Q, self.Z = [], [], []
        for P in self.table.penalty:
            L, Q = _factor(G + np.diag(P[at]))
            self.L.append(L)
            self.Q.append(_spread(Q, at, len(P)))
            self.Z.append(Q @ self.table.cross[at])

    def window(self, low: int, order: np.ndarray) -> Fresh | _Rotated:
        """The regressions with the variables from position ``low`` on rearranged as ``order``."""
        table = self.table
        if low == 0:  # nothing before to rotate with
            return Fresh(table, order)
        ends = self.ends[low] + _ends(table, order)
        if not self.L:
            self.refresh()
        a, b = ends[0], ends[-1]
        turns = self._turns(low, order)
        at = table.functions_of(order)
        parts = [
            (M @ Q[a:b], M @ Z[a:b], 2 * np.log(np.diag(turned)) - np.log(P[at]))
            for (M, turned), Q, Z, P in zip(turns, self.Q, self.Z, table.penalty)
        ]
        return _Rotated(table, ends, self, parts)

    def _moved(self, low: int, order: np.ndarray) -> np.ndarray:
        """Rows of the window in their new arrangement, counted from its first."""
        present = self.order[low : low + len(order)]
        begin = dict(zip(present.tolist(), _ends(self.table, present)))
        return np.concatenate([begin[j] + np.arange(self.table.starts[j + 1] - self.table.starts[j]) for j in order])

    def _turns(self, low: int, order: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each setting the rotation M and the window's new block of L."""
        moved = self._moved(low, order)
        a = int(self.ends[low])
        own = slice(a, a + len(moved))
        found = []
        for L in self.L:
            block = L[own, own][moved]
            turned = np.linalg.cholesky(block @ block.T)
            found.append((solve_triangular(turned, block, lower=True, check_finite=False), turned))
        return found

    def rearrange(self, low: int, order: np.ndarray) -> None:
        """Take over a rearranged window."""
        if low == 0:
            self.L = []  # factored anew when asked for
        elif self.L:
            moved, a = self._moved(low, order), int(self.ends[low])
            own, below = slice(a, a + len(moved)), slice(a + len(moved), None)
            for (M, turned), L, Q, Z in zip(self._turns(low, order), self.L, self.Q, self.Z):
                L[own, :a] = L[own, :a][moved]
                L[own, own] = turned
                L[below, own] = L[below, own] @ M.T
                Q[own], Z[own] = M @ Q[own], M @ Z[own]
        self.order[low : low + len(order)] = order


def _ends(table: RegressionTable, order: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where the functions of each variable end when arranged so, 0 before the first."""
    order = np.asarray(order, dtype=np.intp)
    ends = np.zeros(len(order) + 1, dtype=np.intp)
    np.cumsum(table.starts[order + 1] - table.starts[order], out=ends[1:])
    return ends


class Prefixes(ABC):
    """Regressions on everything before a place of an arrangement."""

    @abstractmethod
    def best(self, places: np.ndarray, children: np.ndarray, evidence: float) -> Best:
        """For each child given everything before its place (0 is the window's first) the setting of least cost.

        ``evidence`` is the share of the marginal likelihood in the judgement of weak regressions.
        """


@dataclass(frozen=True, eq=False)
class Fresh(Prefixes):
    """The whole arrangement, factored for the question."""

    table: RegressionTable
    order: np.ndarray

    def best(self, places: np.ndarray, children: np.ndarray, evidence: float) -> Best:
        table = self.table
        pairs, unique = _pair_up(table, children, _ends(table, self.order)[places])
        at = table.functions_of(self.order)[: pairs.rows.max(initial=0)]
        P = table.penalty.take(at, axis=1)
        Q = _inverse_factors(table.products, at, P)
        settings, different = len(P), len(unique)
        factors = _Factors(
            Q=Q,
            Z=Q @ table.cross[at[:, None], unique],
            size=-2 * np.log(np.diagonal(Q, axis1=1, axis2=2)) - np.log(P),
            P=P,
            columns=at,
            triangular=True,
            weights=np.zeros((settings, different, len(at))),
            explained=np.zeros((settings, different)),
            freedom=np.zeros(settings),
            determinant=np.zeros(settings),
        )
        return _compare(table, factors, pairs, evidence)


@dataclass(frozen=True, eq=False)
class _Rotated(Prefixes):
    """Rows of Q and Z of a rearranged window, with the unchanged ones before it; answers for its prefixes."""

    table: RegressionTable
    ends: np.ndarray
    before: Factor
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    def best(self, places: np.ndarray, children: np.ndarray, evidence: float) -> Best:
        table, before = self.table, self.before
        first = int(self.ends[0])
        pairs, unique = _pair_up(table, children, self.ends[places] - first)
        known = table.functions_of(before.order)[:first]
        weights, explained, freedom, determinant = [], [], [], []
        for L, Q, Z, P in zip(before.L, before.Q, before.Z, table.penalty):
            head, reach = Z[:first, unique], Q[:first]
            weights.append(head.T @ reach)
            explained.append(np.einsum("ac,ac->c", head, head))
            freedom.append(first - np.sum((reach * reach) @ P))
            determinant.append(2 * np.sum(np.log(np.diag(L)[:first])) - np.sum(np.log(P[known])))
        factors = _Factors(
            Q=np.stack([Q for Q, _, _ in self.parts]),
            Z=np.stack([Z[:, unique] for _, Z, _ in self.parts]),
            size=np.stack([size for _, _, size in self.parts]),
            P=table.penalty,
            columns=np.arange(len(table.products)),
            triangular=False,
            weights=np.stack(weights),
            explained=np.stack(explained),
            freedom=np.array(freedom),
            determinant=np.array(determinant),
        )
        return _compare(table, factors, pairs, evidence)


class Best(NamedTuple):
    """The best regression of each pair: log GCV with its share of evidence, freedom, weights, and which setting."""

    cost: np.ndarray
    freedom: np.ndarray
    weights: np.ndarray
    setting: np.ndarray


class _Pairs(NamedTuple):
    """A pair is a child ``which`` and a number of ``rows`` of the factors; ``power`` are the children's mean squares.

    ``arranged`` are the pairs child by child, the prefixes of each growing.
    """

    which: np.ndarray
    rows: np.ndarray
    arranged: np.ndarray
    power: np.ndarray


def _pair_up(table: RegressionTable, children: np.ndarray, rows: np.ndarray) -> tuple[_Pairs, np.ndarray]:
    """Pairs of these children and rows, and the different children that they number."""
    asked = np.zeros(table.width, dtype=bool)
    asked[children] = True
    unique = np.flatnonzero(asked)
    which = (np.cumsum(asked) - 1)[children]
    return _Pairs(which, rows, np.lexsort((rows, which)), table.power[unique]), unique


class _Factors(NamedTuple):
    """Factors at K settings of the penalty, and what comes before their rows.

    ``Q`` (K, m, c) has the factors' rows, its columns standing for the functions ``columns``; it is 0 right of its
    diagonal if ``triangular``. ``P`` (K, c) are their penalties, ``Z`` (K, m, children) and ``size`` (K, m) go with the
    rows. Before them come weights (K, children, c) and explained squares (K, children) of the children, degrees of
    freedom and log determinants (K,).
    """

    Q: np.ndarray
    Z: np.ndarray
    size: np.ndarray
    P: np.ndarray
    columns: np.ndarray
    triangular: bool
    weights: np.ndarray
    explained: np.ndarray
    freedom: np.ndarray
    determinant: np.ndarray


def _compare(table: RegressionTable, factors: _Factors, pairs: _Pairs, evidence: float) -> Best:
    """The best of all settings for each pair."""
    count, width = len(pairs.which), len(table.products)
    best = Best(np.full(count, np.inf), np.empty(count), np.zeros((count, width)), np.empty(count, np.intp))
    _take_best(factors, pairs, table.n, evidence, best)
    return best


@compiled(fastmath=True)
def _take_best(factors: _Factors, pairs: _Pairs, n: int, evidence: float, best: Best) -> None:
    """Put the best of all settings in place for each pair."""
    for k in range(len(factors.P)):
        Q, Z, P = factors.Q[k], factors.Z[k], factors.P[k]
        m, c = Q.shape
        edf, occam = np.empty(m + 1), np.empty(m + 1)
        edf[0], occam[0] = factors.freedom[k], factors.determinant[k]
        for a in range(m):
            spent = 0.0
            for j in range(a + 1 if factors.triangular else c):
                spent += P[j] * Q[a, j] * Q[a, j]
            edf[a + 1] = edf[a] + 1 - spent
            occam[a + 1] = occam[a] + factors.size[k, a]
        w = np.empty(c)
        done, total, last = 0, 0.0, -1
        for a in pairs.arranged:
            child, power = pairs.which[a], pairs.power[pairs.which[a]]
            if child != last:
                for j in range(c):
                    w[j] = factors.weights[k, child, j]
                done, total, last = 0, factors.explained[k, child], child
            for i in range(done, pairs.rows[a]):
                z = Z[i, child]
                total += z * z
                for j in range(i + 1 if factors.triangular else c):
                    w[j] += z * Q[i, j]
            done = pairs.rows[a]
            penalty = 0.0
            for j in range(c):
                penalty += P[j] * w[j] * w[j]
            S = max(power - total, LEAST)
            V = max(power - total - penalty, LEAST)
            cost = np.log(V) - 2 * np.log(max(1 - (1 + edf[done]) / n, ROOM))
            cost += evidence * min(V / (WEAK * power), 1.0) * (np.log(S) + occam[done] / n - cost)
            if cost < best.cost[a]:
                best.cost[a], best.freedom[a], best.setting[a] = cost, edf[done], k
                for j in range(c):
                    best.weights[a, factors.columns[j]] = w[j]


@compiled(fastmath=True)
def _inverse_factors(products: np.ndarray, at: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """(K, m, m): for each row P of the penalty the inverse of the lower Cholesky factor of G + P, G at ``at``."""
    m = len(at)
    A, found = np.empty((m, m)), np.zeros((len(penalty), m, m))
    for k in range(len(penalty)):
        Q = found[k]
        tiny = 0.0
        for i in range(m):
            for j in range(i + 1):
                A[i, j] = products[at[i], at[j]]
            A[i, i] += penalty[k, i]
            tiny = max(tiny, A[i, i])
        tiny *= 1e-13
        for i in range(m):
            for j in range(i + 1):
                s = A[i, j]
                for t in range(j):
                    s -= A[i, t] * A[j, t]
                # Functions of one another, beyond what the ridge can part, leave nothing: they get no say.
                A[i, j] = np.sqrt(max(s, tiny)) if i == j else s / A[j, j]
            for j in range(i):
                x = A[i, j]
                for t in range(j + 1):
                    Q[i, t] -= x * Q[j, t]
            x = 1 / A[i, i]
            for t in range(i):
                Q[i, t] *= x
            Q[i, i] = x
    return found


def _factor(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cholesky factor of A and its inverse."""
    if not len(A):
        return A, A
    L, wrong = lapack.dpotrf(A, lower=1, clean=1)
    if wrong:  # columns that are functions of one another, beyond what the ridge can part
        L, wrong = lapack.dpotrf(A + 1e-6 * np.eye(len(A)), lower=1, clean=1)
    return L, lapack.dtrtri(L, lower=1)[0]


def _spread(Q: np.ndarray, at: np.ndarray, width: int) -> np.ndarray:
    """Q with its columns where the table has them."""
    found = np.zeros((len(Q), width))
    found[:, at] = Q
    return found


def best_fit(table: RegressionTable, child: int, parents: np.ndarray) -> tuple[np.ndarray, int]:
    """Weights of all functions in the child's regression on its parents at the setting of least GCV, and that."""
    everything = Fresh(table, parents.astype(np.intp))
    best = everything.best(np.array([len(parents)]), np.array([child]), 0.0)
    return best.weights[0], int(best.setting[0])
