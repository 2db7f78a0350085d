"""Which variables come first: regressions of each variable on all before it, and the search for the best order.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from dagtune.compiled import compiled
from dagtune.conditional.links import LINK_FREEDOM, judge
from dagtune.regression import LEAST, RIDGE, ROOM

__all__ = ["SETTINGS", "Objective", "RegressionTable", "best_fit", "penalties", "search", "top_down"]

#: (prior deviation of the bent functions against the line's, ridge lambda): small lambda serves nearly noiseless data,
#: a large one with nearly straight functions serves weak signals. GCV takes the best of them for each regression.
SETTINGS = ((1.0, 0.001), (1.0, 0.1), (0.3, 3.0), (0.05, 10.0), (0.005, 0.1), (0.3, 0.1))
#: A search goes without the settings that are the best for less than this share of the regressions it looks at.
_SELDOM = 0.03
#: A regression that leaves this share of a variance or more is a weak one.
WEAK = 0.1


def penalties(roughness: np.ndarray, starts: np.ndarray, n: int) -> np.ndarray:
    """(settings, functions): diagonal of P for each of SETTINGS.

    The prior deviation of a function falls with its roughness, ``sqrt(rough_1 / rough_k)`` against the first bent one.
    """
    found = np.empty((len(SETTINGS), len(roughness)))
    for k, (bent, ridge) in enumerate(SETTINGS):
        for a, b in pairwise(starts):
            variance = np.ones(b - a)
            if roughness[b - 1] > 0:  # else levels, of which none is rougher than another
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
        return _Sums(self.products, self.cross, self.penalty, self.power, self.starts, self.n)

    def functions_of(self, variables: Sequence[int] | np.ndarray) -> np.ndarray:
        """Positions of the functions of these variables, one variable after the other."""
        blocks = [np.arange(self.starts[j], self.starts[j + 1]) for j in variables]
        return np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.intp)


class _Factor:
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

    def window(self, low: int, order: np.ndarray) -> _Fresh | _Rotated:
        """The regressions with the variables from position ``low`` on rearranged as ``order``."""
        table = self.table
        if low == 0:  # nothing before to rotate with
            return _Fresh(table, order)
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


def _ends(table: RegressionTable, order: np.ndarray) -> np.ndarray:
    """Where the functions of each variable end when arranged so, 0 before the first."""
    return np.concatenate([[0], np.cumsum(table.starts[order + 1] - table.starts[order])]).astype(np.intp)


class _Prefixes(ABC):
    """Regressions on everything before a place of an arrangement."""

    def costs(self, places: np.ndarray, children: np.ndarray, objective: Objective) -> np.ndarray:
        """log V of each child given everything before the place (0 is the window's first), less what is taken off."""
        return objective.finish(self.best(places, children, objective), children)

    @abstractmethod
    def best(self, places: np.ndarray, children: np.ndarray, objective: Objective) -> _Best:
        """For each child and place the setting with the least cost."""


@dataclass(frozen=True, eq=False)
class _Fresh(_Prefixes):
    """The whole arrangement, factored for the question."""

    table: RegressionTable
    order: np.ndarray

    def best(self, places: np.ndarray, children: np.ndarray, objective: Objective) -> _Best:
        return _fresh(self.table.sums, self.order, places, children, objective.evidence)


@dataclass(frozen=True, eq=False)
class _Rotated(_Prefixes):
    """Rows of Q and Z of a rearranged window, with the unchanged ones before it; answers for its prefixes."""

    table: RegressionTable
    ends: np.ndarray
    before: _Factor
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]

    def best(self, places: np.ndarray, children: np.ndarray, objective: Objective) -> _Best:
        table, before = self.table, self.before
        first = int(self.ends[0])
        rows = self.ends[places] - first
        unique, which = np.unique(children, return_inverse=True)
        pairs = _Pairs(which, rows, table.power[unique])
        found = _nothing(len(children), len(table.products))
        everything = np.arange(len(table.products))
        for k, (Q, Z, size) in enumerate(self.parts):
            P = table.penalty[k]
            head, reach = before.Z[k][:first, unique], before.Q[k][:first]
            known = table.functions_of(before.order)[:first]
            behind = 2 * np.sum(np.log(np.diag(before.L[k])[:first])) - np.sum(np.log(P[known]))
            used = first - np.sum((reach * reach) @ P)
            ahead = _Behind(head.T @ reach, np.einsum("ac,ac->c", head, head), float(used), float(behind))
            setting = _Setting(k, Q, np.ascontiguousarray(Z[:, unique]), size, P, everything, False)
            _compare(setting, pairs, ahead, table.n, objective.evidence, found)
        return found


class _Sums(NamedTuple):
    """What the compiled regressions read of a table."""

    products: np.ndarray
    cross: np.ndarray
    penalty: np.ndarray
    power: np.ndarray
    starts: np.ndarray
    n: int


class _Best(NamedTuple):
    """The best regression of each pair: log GCV with its share of evidence, freedom, weights, and which setting."""

    cost: np.ndarray
    freedom: np.ndarray
    weights: np.ndarray
    setting: np.ndarray


class _Pairs(NamedTuple):
    """A pair is a child ``which`` and a number of ``rows`` of the factor; ``power`` are the children's mean squares."""

    which: np.ndarray
    rows: np.ndarray
    power: np.ndarray


class _Behind(NamedTuple):
    """What comes before the factor's rows: the children's weights and explained squares, freedom, log determinant."""

    weights: np.ndarray
    explained: np.ndarray
    freedom: float
    determinant: float


class _Setting(NamedTuple):
    """A factor at one setting of the penalty.

    ``Q`` (m, c) has the factor's rows, its columns standing for the functions ``columns``; it is 0 right of its
    diagonal if ``triangular``. ``P`` (c,) are their penalties, ``Z`` (m, children) and ``size`` (m,) go with the rows.
    """

    number: int
    Q: np.ndarray
    Z: np.ndarray
    size: np.ndarray
    P: np.ndarray
    columns: np.ndarray
    triangular: bool


@compiled
def _nothing(pairs: int, width: int) -> _Best:
    """Before any setting has been tried."""
    found = _Best(np.empty(pairs), np.empty(pairs), np.zeros((pairs, width)), np.empty(pairs, np.int64))
    for a in range(pairs):
        found.cost[a] = np.inf
    return found


@compiled
def _one_after_the_other(pairs: _Pairs) -> np.ndarray:
    """The pairs arranged by child, the prefixes of each growing."""
    which, rows = pairs.which, pairs.rows
    arranged = np.empty(len(which), np.int64)
    for a in range(len(which)):
        at = a
        while at > 0:
            other = arranged[at - 1]
            if which[other] < which[a] or (which[other] == which[a] and rows[other] <= rows[a]):
                break
            arranged[at] = other
            at -= 1
        arranged[at] = a
    return arranged


@compiled(fastmath=True)
def _compare(factor: _Setting, pairs: _Pairs, before: _Behind, n: int, evidence: float, best: _Best) -> None:
    """Take over a setting for the pairs where it is the best so far."""
    Q, Z, P = factor.Q, factor.Z, factor.P
    m, c = Q.shape
    edf, occam = np.empty(m + 1), np.empty(m + 1)
    edf[0], occam[0] = before.freedom, before.determinant
    for a in range(m):
        spent = 0.0
        for j in range(a + 1 if factor.triangular else c):
            spent += P[j] * Q[a, j] * Q[a, j]
        edf[a + 1] = edf[a] + 1 - spent
        occam[a + 1] = occam[a] + factor.size[a]
    w = np.empty(c)
    done, total, last = 0, 0.0, -1
    for a in _one_after_the_other(pairs):
        child, power = pairs.which[a], pairs.power[pairs.which[a]]
        if child != last:
            for j in range(c):
                w[j] = before.weights[child, j]
            done, total, last = 0, before.explained[child], child
        for i in range(done, pairs.rows[a]):
            z = Z[i, child]
            total += z * z
            for j in range(i + 1 if factor.triangular else c):
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
            best.cost[a], best.freedom[a], best.setting[a] = cost, edf[done], factor.number
            for j in range(c):
                best.weights[a, factor.columns[j]] = w[j]


@compiled(fastmath=True)
def _fresh(sums: _Sums, order: np.ndarray, places: np.ndarray, children: np.ndarray, evidence: float) -> _Best:
    """The best of all settings for each child given the variables before its place in the order; see _compare."""
    starts = sums.starts
    found = _nothing(len(places), len(sums.products))
    ends = np.zeros(len(order) + 1, np.int64)
    for t in range(len(order)):
        ends[t + 1] = ends[t] + starts[order[t] + 1] - starts[order[t]]
    rows = np.empty(len(places), np.int64)
    m = 0
    for a in range(len(places)):
        rows[a] = ends[places[a]]
        m = max(m, rows[a])
    at = np.empty(m, np.int64)
    for t in range(len(order)):
        for i in range(ends[t], min(ends[t + 1], m)):
            at[i] = starts[order[t]] + i - ends[t]
    number = np.zeros(len(sums.power), np.int64)  # 0: not met yet
    unique, which = np.empty(len(children), np.int64), np.empty(len(children), np.int64)
    different = 0
    for a in range(len(children)):
        if number[children[a]] == 0:
            unique[different] = children[a]
            different += 1
            number[children[a]] = different
        which[a] = number[children[a]] - 1
    G, b, power = np.empty((m, m)), np.empty((m, different)), np.empty(different)
    for j in range(different):
        power[j] = sums.power[unique[j]]
    for i in range(m):
        for j in range(m):
            G[i, j] = sums.products[at[i], at[j]]
        for j in range(different):
            b[i, j] = sums.cross[at[i], unique[j]]
    pairs, before = _Pairs(which, rows, power), _Behind(np.zeros((different, m)), np.zeros(different), 0.0, 0.0)
    A, Z, P, size = np.empty((m, m)), np.empty((m, different)), np.empty(m), np.empty(m)
    for k in range(len(sums.penalty)):
        for i in range(m):
            for j in range(m):
                A[i, j] = G[i, j]
            P[i] = sums.penalty[k, at[i]]
            A[i, i] += P[i]
        Q = _inverse_factor(A)
        np.dot(Q, b, Z)
        for i in range(m):
            size[i] = -2 * np.log(Q[i, i]) - np.log(P[i])
        _compare(_Setting(k, Q, Z, size, P, at, True), pairs, before, sums.n, evidence, found)
    return found


@compiled(fastmath=True)
def _inverse_factor(A: np.ndarray) -> np.ndarray:
    """Inverse of the lower Cholesky factor of A, which is overwritten."""
    m = len(A)
    tiny = 0.0
    for i in range(m):
        tiny = max(tiny, A[i, i])
    tiny *= 1e-13
    Q = np.zeros((m, m))
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
    return Q


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


@dataclass(frozen=True, eq=False)
class Objective:
    """What an order is judged by: the sum over all variables of a cost given everything before.

    The cost of a variable is log V, less the gain of a bent link where it pays; with ``any_noise`` less twice the
    negentropy of its residuals. With ``variance`` (d,) all variables are taken to have noise of one variance in the
    table's units, and the cost is ``V variance`` instead of its logarithm: the sum's logarithm is, up to constants, the
    Gaussian likelihood. ``joint`` offers another regression, of all parents together: see
    :mod:`dagtune.conditional.joint`.
    ``evidence`` is the share of the marginal likelihood in the judgement of weak regressions, the rest is GCV's: the
    first is surer where signals are weak, and wrong where they are strong.
    """

    table: RegressionTable
    any_noise: bool = False
    variance: np.ndarray | None = None
    joint: Any = None
    link: bool = True
    evidence: float = 0.5
    stopped: Callable[[], None] = field(default=lambda: None)

    def finish(self, best: _Best, children: np.ndarray) -> np.ndarray:
        """Costs from log GCV of the additive fits, less what their rows say: a bent link, and the noise."""
        if not self.link:
            return best.cost
        table = self.table
        room = np.maximum(1 - (1 + best.freedom) / table.n, ROOM + 0.01)
        penalty = 2 * (np.log(room) - np.log(np.maximum(room - LINK_FREEDOM / table.functions.shape[1], ROOM)))
        fits = best.weights.astype(np.float32) @ table.functions
        off = judge(fits, table.targets, children, penalty, table.bins, self.any_noise, table.smooth)
        return best.cost - off

    def scaled(self, costs: np.ndarray, children: np.ndarray) -> np.ndarray:
        """What is added up over the variables."""
        return costs if self.variance is None else np.exp(costs) * self.variance[children]

    def total(self, scaled: np.ndarray) -> float:
        """-2 / n times the log likelihood up to a constant, for comparison of objectives on one table."""
        return float(np.sum(scaled)) if self.variance is None else len(scaled) * float(np.log(np.mean(scaled)))

    def along(self, order: np.ndarray) -> np.ndarray:
        """Cost of each variable given those before it, log scale, in the order's arrangement."""
        order = np.asarray(order)
        return self.given(order, np.arange(len(order)), order)

    def given(self, arranged: np.ndarray, places: np.ndarray, children: np.ndarray) -> np.ndarray:
        """Cost of each child given the arranged variables before its place, log scale."""
        costs = _Fresh(self.table, arranged).costs(places, children, self)
        return self._with_joint(costs, lambda: [arranged[:place] for place in places], children)

    def settings(self, order: np.ndarray) -> set[int]:
        """Rows of the table's penalties that are more than seldom the best for regressions along this order."""
        d = len(order)
        if d < 2:
            return {0}
        places = np.repeat(np.arange(1, d), 4)
        children = np.stack([np.arange(1, d), np.minimum(np.arange(2, d + 1), d - 1), np.arange(d + 1, 2 * d) // 2,
                             np.full(d - 1, d - 1)], axis=1).ravel()  # fmt: skip
        arranged = _Fresh(self.table, np.asarray(order))
        setting = arranged.best(places, order[children], self).setting
        share = np.bincount(setting, minlength=len(self.table.penalty)) / len(setting)
        return set(np.flatnonzero(share >= _SELDOM).tolist())

    def only(self, settings: set[int]) -> Objective:
        """The same with these settings alone: quicker, and nearly the same."""
        return replace(self, table=replace(self.table, penalty=self.table.penalty[sorted(settings)]))

    def _with_joint(
        self, costs: np.ndarray, sets: Callable[[], Sequence[np.ndarray]], children: np.ndarray
    ) -> np.ndarray:
        """The better of the additive and the joint regression."""
        return costs if self.joint is None else np.minimum(costs, self.joint.costs(sets(), children))


def best_fit(table: RegressionTable, child: int, parents: np.ndarray) -> tuple[np.ndarray, int]:
    """Weights of all functions in the child's regression on its parents at the setting of least GCV, and that."""
    everything = _Fresh(table, parents.astype(np.intp))
    best = everything.best(np.array([len(parents)]), np.array([child]), Objective(table, evidence=0.0))
    return best.weights[0], int(best.setting[0])


def top_down(objective: Objective, variance: np.ndarray, before: np.ndarray) -> np.ndarray:
    """An order to begin with: again and again the variable with the least residual variance given those taken.

    ``before[i, j]`` means that i must come before j.
    """
    objective = objective.only(objective.settings(np.argsort(variance, kind="stable")))
    table = objective.table
    order: list[int] = []
    left = list(range(table.width))
    while left:
        objective.stopped()
        ready = [j for j in left if not before[left, j].any()]
        costs = objective.given(np.array(order, dtype=np.intp), np.full(len(ready), len(order)), np.array(ready))
        order.append(ready[int(np.argmin(costs + np.log(variance[ready])))])
        left.remove(order[-1])
    return np.array(order)


def search(
    objective: Objective, order: np.ndarray, before: np.ndarray, *, window: int | None = None, sweeps: int = 30
) -> tuple[np.ndarray, np.ndarray]:
    """Move one variable at a time to its best place until no move helps; the order and its scaled costs.

    ``window`` is how far a variable may move at once (None: anywhere); ``before[i, j]`` keeps i before j. Settings that
    hardly ever win are left out, and taken in again if at the order found they do.
    """
    order = np.asarray(order)
    used: set[int] = set()
    while (wanted := objective.settings(order)) - used:
        used |= wanted
        order = _descend(objective.only(used), order, before, window, sweeps)
    return order, objective.scaled(objective.along(order), order)


def _descend(
    objective: Objective, order: np.ndarray, before: np.ndarray, window: int | None, sweeps: int
) -> np.ndarray:
    """The order where no move of one variable helps."""
    d = len(order)
    window = d if window is None else window
    factor = _Factor(objective.table, order)
    current = objective.scaled(objective.along(order), factor.order)
    settled: set[int] = set()  # those looked at since the last move: not the same as the last d looks
    for _ in range(sweeps):
        factor.L = []  # rounding of the last sweep's rotations is gone
        for x in factor.order.copy():
            objective.stopped()
            here, low, current = _best_place(objective, factor, current, x, before, window)
            if here is None:
                settled.add(int(x))
            else:
                settled.clear()
                factor.rearrange(low, here)
            if len(settled) == d:
                return factor.order
    return factor.order


def best_insertion(
    own: np.ndarray, without: np.ndarray, behind: np.ndarray, here: int, allowed: np.ndarray | None = None
) -> int:
    """Before which of the others, in their order, a variable costs least in all; where it stands if that is no better.

    ``own`` is its cost at each place, one more than there are others; ``without`` and ``behind`` are the costs of each
    other with the variable after and before it, ``here`` is where it stands, ``allowed`` says where it may.
    """
    totals = own.copy()
    totals[1:] += np.cumsum(without)
    totals[:-1] += np.cumsum(behind[::-1])[::-1]
    if allowed is not None:
        totals[~allowed] = np.inf
    best = int(np.argmin(totals))
    return here if totals[best] >= totals[here] - 1e-9 * max(1.0, abs(totals[here])) else best


def _best_place(
    objective: Objective, factor: _Factor, current: np.ndarray, x: int, before: np.ndarray, window: int
) -> tuple[np.ndarray | None, int, np.ndarray]:
    """The rearranged window that moves x to its best place (None if it stands there), where it begins, and the costs.

    With r the others in the window, in order: ``without`` is the cost of each given those before it, x not among them;
    ``behind`` the same with x among them; ``own`` the cost of x at each place. Those at the present place are known.
    """
    order = factor.order
    at = int(np.flatnonzero(order == x)[0])
    low, high = max(at - window, 0), min(at + window, len(order) - 1)
    blocked_low = np.flatnonzero(before[order[low:at], x])
    blocked_high = np.flatnonzero(before[x, order[at + 1 : high + 1]])
    low = low + int(blocked_low[-1]) + 1 if len(blocked_low) else low
    high = at + int(blocked_high[0]) if len(blocked_high) else high
    if low == high:
        return None, low, current
    r = np.concatenate([order[low:at], order[at + 1 : high + 1]])
    here, size = at - low, high - low
    places = np.concatenate([np.arange(here), np.arange(here + 1, size + 1)])
    children = np.concatenate([r[here:], np.full(size, x)])
    costs = factor.window(low, np.append(r, x)).costs(
        np.concatenate([np.arange(here, size), places]), children, objective
    )
    head = order[:low]
    costs = objective._with_joint(
        costs, lambda: [np.concatenate([head, r[:p]]) for p in (*range(here, size), *places)], children
    )
    costs = objective.scaled(costs, children)
    without = np.concatenate([current[low:at], costs[: size - here]])
    elsewhere = costs[size - here :]
    own = np.concatenate([elsewhere[:here], current[at : at + 1], elsewhere[here:]])
    behind = current[at + 1 : high + 1]
    if here:
        first = r[:here]
        costs = factor.window(low, np.append(x, first)).costs(np.arange(1, here + 1), first, objective)
        costs = objective._with_joint(costs, lambda: [np.concatenate([head, [x], r[:p]]) for p in range(here)], first)
        behind = np.concatenate([objective.scaled(costs, first), behind])
    best = best_insertion(own, without, behind, here)
    if best == here:
        return None, low, current
    found = current.copy()
    found[low : high + 1] = np.concatenate([without[:best], own[best : best + 1], behind[best:]])
    return np.insert(r, best, x), low, found
