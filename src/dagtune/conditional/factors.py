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
from functools import cached_property
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

    @cached_property
    def sums(self) -> _Sums:
        """The sums over all rows, for compiled functions."""
        return _Sums(self.products, self.cross, self.power, self.n)

    def functions_of(self, variables: Sequence[int] | np.ndarray) -> np.ndarray:
        """Positions of the functions of these variables, one variable after the other."""
        variables = np.asarray(variables, dtype=np.intp)
        return self.functions_at(variables, _ends(self, variables))

    def functions_at(self, variables: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The same, if it is known where the functions of each variable end."""
        return np.arange(ends[-1]) + (self.starts[variables] - ends[:-1]).repeat(ends[1:] - ends[:-1])


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
        rows = slice(ends[0], ends[-1])
        turned = np.stack([M @ Q[rows] for (M, _), Q in zip(self._turns(low, order), self.Q)])
        return _Rotated(table, ends, table.functions_of(order), self, turned)

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


def _ends(table: RegressionTable, order: np.ndarray) -> np.ndarray:
    """Where the functions of each variable end when arranged so, 0 before the first."""
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
        ends = _ends(table, self.order)
        rows = ends[places]
        at = table.functions_at(self.order, ends)[: rows.max(initial=0)]
        P = table.penalty.take(at, axis=1)
        nothing = np.zeros((len(P), 0, 0))
        before = _Before(nothing, np.zeros((len(P), 0)), np.zeros(len(P)), np.zeros(len(P)))
        factors = _Factors(nothing, P, at, np.arange(len(at)), True)
        return _compare(table, factors, before, _Pairs(children, rows, np.lexsort((rows, children))), evidence)


@dataclass(frozen=True, eq=False)
class _Rotated(Prefixes):
    """Rows of Q of a rearranged window at each setting, with the unchanged ones before it; answers for its prefixes.

    ``ends`` are those of its variables, ``own`` the functions of its rows.
    """

    table: RegressionTable
    ends: np.ndarray
    own: np.ndarray
    factor: Factor
    Q: np.ndarray

    def best(self, places: np.ndarray, children: np.ndarray, evidence: float) -> Best:
        table, factor = self.table, self.factor
        first = int(self.ends[0])
        settings, functions = table.penalty.shape
        known = table.functions_of(factor.order)[:first]
        asked = np.unique(children)
        before = _Before(
            np.zeros((settings, table.width, functions)),
            np.zeros((settings, table.width)),
            np.empty(settings),
            np.empty(settings),
        )
        for k, (L, Q, Z, P) in enumerate(zip(factor.L, factor.Q, factor.Z, table.penalty)):
            head, reach = Z[:first, asked], Q[:first]
            before.weights[k, asked] = head.T @ reach
            before.explained[k, asked] = np.einsum("ac,ac->c", head, head)
            before.freedom[k] = first - np.sum((reach * reach) @ P)
            before.determinant[k] = 2 * np.sum(np.log(np.diag(L)[:first])) - np.sum(np.log(P[known]))
        rows = self.ends[places] - first
        factors = _Factors(self.Q, table.penalty, np.arange(functions), self.own, False)
        return _compare(table, factors, before, _Pairs(children, rows, np.lexsort((rows, children))), evidence)


class Best(NamedTuple):
    """The best regression of each pair: log GCV with its share of evidence, freedom, weights, and which setting."""

    cost: np.ndarray
    freedom: np.ndarray
    weights: np.ndarray
    setting: np.ndarray


class _Pairs(NamedTuple):
    """A pair is a child and a number of ``rows`` of the factor; ``arranged`` by child, the prefixes of each growing."""

    children: np.ndarray
    rows: np.ndarray
    arranged: np.ndarray


class _Factors(NamedTuple):
    """Factors at K settings of the penalty.

    ``Q`` (K, m, c) has the factors' rows, its columns standing for the functions ``columns``, column ``own[a]`` for the
    function that row a adds. ``P`` (K, c) are their penalties. If they are ``whole``, nothing comes before them, and
    they are not given, but found from the products of the functions.
    """

    Q: np.ndarray
    P: np.ndarray
    columns: np.ndarray
    own: np.ndarray
    whole: bool


class _Before(NamedTuple):
    """What comes before the rows: weights (K, d, c) and explained squares (K, d) of each child, freedom, determinant.

    The last two (K,) are degrees of freedom and the logarithm of a determinant. Whole factors need no weights.
    """

    weights: np.ndarray
    explained: np.ndarray
    freedom: np.ndarray
    determinant: np.ndarray


def _compare(table: RegressionTable, factors: _Factors, before: _Before, pairs: _Pairs, evidence: float) -> Best:
    """The best of all settings for each pair."""
    count, width = len(pairs.rows), len(table.products)
    best = Best(np.empty(count), np.empty(count), np.zeros((count, width)), np.empty(count, np.intp))
    _take_best(factors, before, pairs, table.sums, evidence, best)
    return best


class _Sums(NamedTuple):
    """What the compiled comparison reads of a table."""

    products: np.ndarray
    cross: np.ndarray
    power: np.ndarray
    n: int


@compiled(fastmath=True)
def _take_best(factors: _Factors, before: _Before, pairs: _Pairs, sums: _Sums, evidence: float, best: Best) -> None:
    """Put the best of all settings in place for each pair."""
    n, whole = sums.n, factors.whole
    m, c = len(factors.own), len(factors.columns)
    edf, occam, w, b = np.empty(m + 1), np.empty(m + 1), np.empty(c), np.empty(c)
    A, fresh = np.empty((m, m)), np.empty((m, m))
    for k in range(len(factors.P)):
        P = factors.P[k]
        if whole:
            _inverse_factor(sums.products, factors.columns, P, A, fresh)
        Q = fresh if whole else factors.Q[k]
        edf[0], occam[0] = before.freedom[k], before.determinant[k]
        for a in range(m):
            spent = 0.0
            for j in range(a + 1 if whole else c):
                spent += P[j] * Q[a, j] * Q[a, j]
            edf[a + 1] = edf[a] + 1 - spent
            own = factors.own[a]
            occam[a + 1] = occam[a] - 2 * np.log(Q[a, own]) - np.log(P[own])
        done, total, last = 0, 0.0, -1
        for a in pairs.arranged:
            child = pairs.children[a]
            if child != last:
                for j in range(c):
                    b[j] = sums.cross[factors.columns[j], child]
                    w[j] = 0.0 if whole else before.weights[k, child, j]
                done, total, last = 0, 0.0 if whole else before.explained[k, child], child
            for i in range(done, pairs.rows[a]):
                reach = i + 1 if whole else c
                z = 0.0
                for j in range(reach):
                    z += Q[i, j] * b[j]
                total += z * z
                for j in range(reach):
                    w[j] += z * Q[i, j]
            done = pairs.rows[a]
            penalty = 0.0
            for j in range(c):
                penalty += P[j] * w[j] * w[j]
            power = sums.power[child]
            S = max(power - total, LEAST)
            V = max(power - total - penalty, LEAST)
            cost = np.log(V) - 2 * np.log(max(1 - (1 + edf[done]) / n, ROOM))
            cost += evidence * min(V / (WEAK * power), 1.0) * (np.log(S) + occam[done] / n - cost)
            if k == 0 or cost < best.cost[a]:
                best.cost[a], best.freedom[a], best.setting[a] = cost, edf[done], k
                for j in range(c):
                    best.weights[a, factors.columns[j]] = w[j]


@compiled(fastmath=True)
def _inverse_factor(products: np.ndarray, at: np.ndarray, P: np.ndarray, A: np.ndarray, Q: np.ndarray) -> None:
    """Q becomes the inverse of the lower Cholesky factor A of G + P, where G are the products of the functions."""
    m = len(at)
    tiny = 0.0
    for i in range(m):
        for j in range(i + 1):
            A[i, j] = products[at[i], at[j]]
        A[i, i] += P[i]
        tiny = max(tiny, A[i, i])
    tiny *= 1e-13
    for i in range(m):
        for j in range(i + 1):
            s = A[i, j]
            for t in range(j):
                s -= A[i, t] * A[j, t]
            # Functions of one another, beyond what the ridge can part, leave nothing: they get no say.
            A[i, j] = np.sqrt(max(s, tiny)) if i == j else s / A[j, j]
            Q[i, j] = 0.0
        for j in range(i):
            x = A[i, j]
            for t in range(j + 1):
                Q[i, t] -= x * Q[j, t]
        x = 1 / A[i, i]
        for t in range(i):
            Q[i, t] *= x
        Q[i, i] = x


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
