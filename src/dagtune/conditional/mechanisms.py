"""Mechanisms: how causes add up to an effect, each as the log evidence of (effect, parent set) with Gaussian noise.

*Additive*. y = sum over the parents' functions F_k of w_k F_k + e, e ~ N(0, s2), w_k ~ N(0, s2 v_k), with v_k = line
for a straight line and bend / rough_k for a bent function. With c = F y, W = diag(v), A = I + W^1/2 F F' W^1/2 and s2
at its maximum V,

    log p(y | S, line, bend) = -n/2 (log 2 pi V + 1) - 1/2 log det A,    n V = y'y - c' W^1/2 A^-1 W^1/2 c,

averaged over the grid of (line, bend). The grid is climbed, not enumerated: settings far from the best weigh nothing.
Sums over rows (F F' and F y) are all that is needed of the data.

*Joint*. The same with one function of all parents together, drawn from a Gaussian process, on a few landmark rows. Its
kernel is that of a neural network with one infinite hidden layer (Williams 1998), which levels off, and a quadratic
form, which does not: products of parents grow in the tails.

    k(x, x') = asin( 2 p(x, x') / sqrt((1 + 2 p(x, x)) (1 + 2 p(x', x'))) ) + q p(x, x')^2,
    p(x, x') = a x.x' / |S| + 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagtune.compiled import compiled
from dagtune.conditional.numbers import BEND_VARIANCES, LEAST_SHARE, LINE_VARIANCES, QUADRATIC, SMOOTHNESS

__all__ = ["BENDS", "FIRST", "Kernel", "Sums", "additive", "fitted", "flips", "functions", "joint", "kernel", "solve"]

LINES, BENDS = len(LINE_VARIANCES), len(BEND_VARIANCES)
#: Where the climb over (line, bend) begins: 10 and 1.
FIRST = 2 * BENDS + 3
_NEVER = -1e300


class Sums(NamedTuple):
    """Sums over the rows of products of functions, for d variables with D functions and T targets.

    Parameters
    ----------
    n : float
        Number of rows.
    G : ndarray, shape (D, D)
        F F'.
    C : ndarray, shape (T, D)
        F y for each target.
    power : ndarray, shape (T,)
        y'y for each target.
    starts : ndarray of int, shape (d + 1,)
        The functions of variable j are those from starts[j] to starts[j + 1].
    rough : ndarray, shape (D,)
        Roughness of each function, 0 for lines and categories, at least 1 for bent functions.
    """

    n: float
    G: np.ndarray
    C: np.ndarray
    power: np.ndarray
    starts: np.ndarray
    rough: np.ndarray


@compiled(fastmath=True)
def solve(H: np.ndarray, g: np.ndarray) -> float:
    """Overwrites g by H^-1 g for a positive definite H (lower half; overwritten by its factor); log det H."""
    p, log_det = len(g), 0.0
    for i in range(p):
        for j in range(i + 1):
            s = H[i, j]
            for t in range(j):
                s -= H[i, t] * H[j, t]
            if i == j:
                H[i, i] = np.sqrt(max(s, 1e-12))
                log_det += 2 * np.log(H[i, i])
            else:
                H[i, j] = s / H[j, j]
        s = g[i]
        for t in range(i):
            s -= H[i, t] * g[t]
        g[i] = s / H[i, i]
    for i in range(p - 1, -1, -1):
        s = g[i]
        for j in range(i + 1, p):
            s -= H[j, i] * g[j]
        g[i] = s / H[i, i]
    return log_det


@compiled
def _functions(S: np.ndarray, starts: np.ndarray, rough: np.ndarray, setting: int) -> tuple[np.ndarray, np.ndarray]:
    """Which functions the parents S have under a setting, and the square roots of their prior variances."""
    line, bend = LINE_VARIANCES[setting // BENDS], BEND_VARIANCES[setting % BENDS]
    most = 0
    for j in S:
        most += starts[j + 1] - starts[j]
    idx, root, m = np.empty(most, np.int64), np.empty(most), 0
    for j in S:
        for k in range(starts[j], starts[j + 1]):
            if rough[k] == 0.0:
                idx[m], root[m] = k, np.sqrt(line)
                m += 1
            elif bend > 0:
                idx[m], root[m] = k, np.sqrt(bend / rough[k])
                m += 1
    return idx[:m], root[:m]


@compiled(fastmath=True)
def _factor(
    G: np.ndarray, c: np.ndarray, power: float, idx: np.ndarray, root: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Cholesky factor L of A, L^-1 W^1/2 c, log det A and n V."""
    m = len(idx)
    L, a = np.empty((m, m)), np.empty(m)
    log_det, left = 0.0, power
    for x in range(m):
        for y in range(x):
            s = root[x] * root[y] * G[idx[x], idx[y]]
            for t in range(y):
                s -= L[x, t] * L[y, t]
            L[x, y] = s / L[y, y]
        s = 1.0 + root[x] * root[x] * G[idx[x], idx[x]]
        for t in range(x):
            s -= L[x, t] * L[x, t]
        L[x, x] = np.sqrt(max(s, 1e-9))
        s = root[x] * c[idx[x]]
        for t in range(x):
            s -= L[x, t] * a[t]
        a[x] = s / L[x, x]
        left -= a[x] * a[x]
        log_det += 2 * np.log(L[x, x])
    return L, a, log_det, max(left, LEAST_SHARE * power)


@compiled
def _log_likelihood(n: float, left: float, log_det: float) -> float:
    return -0.5 * n * (np.log(2 * np.pi * left / n) + 1) - 0.5 * log_det


@compiled
def _neighbour(setting: int, move: int) -> int:
    """The setting itself or one step of line or bend beside it; -1 beyond the grid."""
    line, bend = setting // BENDS, setting % BENDS
    if move == 1 or move == 2:
        line += 2 * move - 3
    elif move > 2:
        bend += 2 * move - 7
    inside = 0 <= line < LINES and 0 <= bend < BENDS
    return line * BENDS + bend if inside else -1


class Additive(NamedTuple):
    """Log evidence of the additive mechanism, mean and variance of log V over its settings, the best setting, and the
    best of the other sort."""

    value: float
    log_v: float
    vague: float
    setting: int
    other: int


@compiled(fastmath=True)
def additive(sums: Sums, target: int, S: np.ndarray, first: int) -> Additive:
    """The additive mechanism, averaged over its settings.

    Sorts of settings: straight (bend 0) and bent. ``first`` is where the climb begins.
    """
    n, power, c = sums.n, sums.power[target], sums.C[target]
    if len(S) == 0:
        return Additive(_log_likelihood(n, power, 0.0), np.log(power / n), 0.0, first, first)
    values = np.full(LINES * BENDS, _NEVER)
    log_v = np.zeros(LINES * BENDS)
    best = first
    for start in range(2):
        if start == 1:
            if best % BENDS == 0:
                break
            at = best // BENDS * BENDS  # the straight line with the best line variance
        else:
            at = first
        while True:
            top = at
            for move in range(5):
                k = _neighbour(at, move)
                if k < 0:
                    continue
                if values[k] == _NEVER and (start == 0 or k % BENDS == 0):
                    idx, root = _functions(S, sums.starts, sums.rough, k)
                    _, _, log_det, left = _factor(sums.G, c, power, idx, root)
                    values[k], log_v[k] = _log_likelihood(n, left, log_det), np.log(left / n)
                if values[k] > values[top]:
                    top = k
            if top == at:
                break
            at = top
        if start == 0 or values[at] > values[best]:
            best = at
    total, mean, square, straight, bent = 0.0, 0.0, 0.0, -1, -1
    for k in range(LINES * BENDS):
        if values[k] != _NEVER:
            weight = np.exp(values[k] - values[best])
            total += weight
            mean += weight * log_v[k]
            square += weight * log_v[k] ** 2
            if k % BENDS == 0:
                if straight < 0 or values[k] > values[straight]:
                    straight = k
            elif bent < 0 or values[k] > values[bent]:
                bent = k
    other = straight if best % BENDS else bent
    if other < 0:
        other = best
    mean /= total
    variance = max(square / total - mean * mean, 0.0)
    return Additive(values[best] + np.log(total / (LINES * BENDS)), mean, variance, best, other)


@compiled(fastmath=True)
def fitted(sums: Sums, target: int, S: np.ndarray, setting: int, F: np.ndarray, out: np.ndarray) -> np.ndarray:
    """``out`` becomes the fit at the rows of F under a setting; positions of the functions it uses."""
    idx, root = _functions(S, sums.starts, sums.rough, setting)
    L, a, _, _ = _factor(sums.G, sums.C[target], sums.power[target], idx, root)
    m = len(idx)
    out[:] = 0.0
    for x in range(m - 1, -1, -1):
        s = a[x]
        for y in range(x + 1, m):
            s -= L[y, x] * a[y]
        a[x] = s / L[x, x]
    for x in range(m):
        w, row = a[x] * root[x], F[idx[x]]
        for t in range(len(out)):
            out[t] += w * row[t]
    return idx


@compiled(fastmath=True)
def flips(sums: Sums, target: int, S: np.ndarray, settings: tuple[int, int], out: np.ndarray) -> float:
    """``out`` (d,) becomes what every single addition to and removal from S adds to the log evidence; that of S.

    All from one factor of A a setting: a removal by the inverse of its block of A^-1, an addition by its Schur
    complement. The better of two settings counts. For ranking, not for decisions.
    """
    starts, rough, G, c = sums.starts, sums.rough, sums.G, sums.C[target]
    d, D = len(starts) - 1, len(rough)
    member = np.zeros(d, np.bool_)
    for j in S:
        member[j] = True
    n, power = sums.n, sums.power[target]
    out[:] = _NEVER
    base = _NEVER
    for which in range(2):
        setting = settings[which]
        if which == 1 and setting == settings[0]:
            break
        line, bend = LINE_VARIANCES[setting // BENDS], BEND_VARIANCES[setting % BENDS]
        idx, root = _functions(S, starts, rough, setting)
        L, a, log_det, left = _factor(G, c, power, idx, root)
        base = max(base, _log_likelihood(n, left, log_det))
        m = len(idx)
        if m > 0:
            Q = np.zeros((m, m))  # L^-1
            for x in range(m):
                for y in range(x):
                    v = L[x, y]
                    for t in range(y + 1):
                        Q[x, t] -= v * Q[y, t]
                for t in range(x):
                    Q[x, t] /= L[x, x]
                Q[x, x] = 1 / L[x, x]
            w = np.zeros(m)
            for x in range(m):
                for t in range(x + 1):
                    w[t] += Q[x, t] * a[x]
            x0 = 0
            for j in S:
                x1 = x0
                while x1 < m and idx[x1] < starts[j + 1] and idx[x1] >= starts[j]:
                    x1 += 1
                r = x1 - x0
                H, u = np.empty((r, r)), np.empty(r)
                more, lost = 0.0, 0.0
                for x in range(r):
                    for y in range(x + 1):
                        s = 0.0
                        for t in range(x0 + x, m):
                            s += Q[t, x0 + x] * Q[t, x0 + y]
                        for t in range(y):
                            s -= H[x, t] * H[y, t]
                        H[x, y] = np.sqrt(max(s, 1e-30)) if x == y else s / H[y, y]
                    s = w[x0 + x]
                    for t in range(x):
                        s -= H[x, t] * u[t]
                    u[x] = s / H[x, x]
                    lost += u[x] * u[x]
                    more += 2 * np.log(H[x, x])
                out[j] = max(out[j], _log_likelihood(n, left + lost, log_det + more))
                x0 = x1
        T = np.empty((m, D))
        for x in range(m):
            for y in range(D):
                T[x, y] = root[x] * G[idx[x], y]
            for t in range(x):
                v = L[x, t]
                for y in range(D):
                    T[x, y] -= v * T[t, y]
            v = 1 / L[x, x]
            for y in range(D):
                T[x, y] *= v
        for j in range(d):
            if member[j]:
                continue
            s0, r = starts[j], 0
            for k in range(starts[j], starts[j + 1]):
                if bend > 0 or rough[k] == 0.0:
                    r += 1
            H, u = np.empty((r, r)), np.empty(r)
            more, gained = 0.0, 0.0
            for x in range(r):
                root_x = np.sqrt(line) if rough[s0 + x] == 0 else np.sqrt(bend / rough[s0 + x])
                for y in range(x + 1):
                    root_y = np.sqrt(line) if rough[s0 + y] == 0 else np.sqrt(bend / rough[s0 + y])
                    s = G[s0 + x, s0 + y]
                    for t in range(m):
                        s -= T[t, s0 + x] * T[t, s0 + y]
                    s *= root_x * root_y
                    if x == y:
                        s += 1.0
                    for t in range(y):
                        s -= H[x, t] * H[y, t]
                    H[x, y] = np.sqrt(max(s, 1e-9)) if x == y else s / H[y, y]
                s = c[s0 + x]
                for t in range(m):
                    s -= T[t, s0 + x] * a[t]
                s *= root_x
                for t in range(x):
                    s -= H[x, t] * u[t]
                u[x] = s / H[x, x]
                gained += u[x] * u[x]
                more += 2 * np.log(H[x, x])
            value = _log_likelihood(n, max(left - gained, LEAST_SHARE * power), log_det + more)
            out[j] = max(out[j], value)
    for j in range(d):
        out[j] -= base
    return base


#: Prior variances of the joint function, in units of the noise variance.
_JOINT_VARIANCES = 10.0 ** np.arange(-1, 7.0)


class Kernel(NamedTuple):
    """What all joint regressions on one set of parents share.

    Parameters
    ----------
    K : ndarray, shape (m, rows)
        The kernel of the landmarks with the rows, centred over the rows.
    inverse : ndarray, shape (m, m)
        R^-1, where R R' is the kernel of the landmarks with each other: B = R^-1 K are functions with prior variance 1.
    products : ndarray, shape (m, m)
        B B'.
    """

    K: np.ndarray
    inverse: np.ndarray
    products: np.ndarray


@compiled
def functions(given: Kernel) -> np.ndarray:
    """(m, rows) the functions B of a kernel at the rows; a regression can do without them."""
    return np.dot(given.inverse, given.K)


@compiled(fastmath=True)
def kernel(X: np.ndarray, parents: int, marks: np.ndarray) -> Kernel:
    """Arcsine kernel of the rows of X (columns, rows), which belong to so many parents, with some of them."""
    columns, rows = X.shape
    m, scale = len(marks), SMOOTHNESS / parents
    norm = np.empty(rows)
    for t in range(rows):
        s = 0.0
        for j in range(columns):
            s += X[j, t] * X[j, t]
        norm[t] = 1 / np.sqrt(1 + 2 * (scale * s + 1))
    K, own = np.zeros((m, rows)), np.empty((m, m))
    for a in range(m):
        row = K[a]
        for j in range(columns):
            v = 2 * scale * X[j, marks[a]]
            for t in range(rows):
                row[t] += v * X[j, t]
        outer = norm[marks[a]]
        for t in range(rows):  # asin by Abramowitz and Stegun 4.4.46, to 2e-8
            x = (row[t] + 2) * outer * norm[t]
            y = min(abs(x), 1.0)
            p = -0.0012624911
            p = p * y + 0.0066700901
            p = p * y - 0.0170881256
            p = p * y + 0.0308918810
            p = p * y - 0.0501743046
            p = p * y + 0.0889789874
            p = p * y - 0.2145988016
            p = p * y + 1.5707963050
            value = np.pi / 2 - np.sqrt(1 - y) * p
            q = row[t] * 0.5 + 1
            row[t] = (value if x >= 0 else -value) + QUADRATIC * q * q
        for b in range(m):
            own[a, b] = row[marks[b]]
        mean = 0.0
        for t in range(rows):
            mean += row[t]
        mean /= rows
        for t in range(rows):
            row[t] -= mean
    R = np.zeros((m, m))  # then R^-1
    for a in range(m):
        own[a, a] += 1e-5  # landmarks may copy each other
        for b in range(a + 1):
            s = own[a, b]
            for t in range(b):
                s -= R[a, t] * R[b, t]
            R[a, b] = np.sqrt(max(s, 1e-12)) if a == b else s / R[b, b]
    inverse = np.zeros((m, m))
    for a in range(m):
        for b in range(a):
            v = R[a, b]
            for t in range(b + 1):
                inverse[a, t] -= v * inverse[b, t]
        for t in range(a):
            inverse[a, t] /= R[a, a]
        inverse[a, a] = 1 / R[a, a]
    return Kernel(K, inverse, np.dot(np.dot(inverse, np.dot(K, K.T)), inverse.T))


@compiled(fastmath=True)
def joint(given: Kernel, y: np.ndarray, out: np.ndarray) -> tuple[float, float, float]:
    """Log evidence of the joint mechanism, averaged over its prior variance v, mean and variance of log V; ``out``
    becomes its fit.

    With c = B y and A = I + v B B':  n V = y'y - v c' A^-1 c.
    """
    rows, m = len(y), len(given.K)
    n = float(rows)
    c = np.dot(given.inverse, np.dot(given.K, y))
    power = 0.0
    for t in range(rows):
        power += y[t] * y[t]
    A, w, kept = np.empty((m, m)), np.empty(m), np.empty(m)
    best, count = _NEVER, len(_JOINT_VARIANCES)
    values, log_v = np.full(count, _NEVER), np.zeros(count)
    at = 3
    while True:
        for k in range(max(at - 1, 0), min(at + 2, count)):
            if values[k] != _NEVER:
                continue
            v = _JOINT_VARIANCES[k]
            for a in range(m):
                w[a] = c[a]
                for b in range(a + 1):
                    A[a, b] = v * given.products[a, b]
                A[a, a] += 1.0
            log_det = solve(A, w)
            left = power
            for a in range(m):
                left -= v * c[a] * w[a]
            left = max(left, LEAST_SHARE * power)
            values[k] = _log_likelihood(n, left, log_det)
            log_v[k] = np.log(left / rows)
            if values[k] > best:
                best = values[k]
                for a in range(m):
                    kept[a] = v * w[a]
        top = at
        for k in range(max(at - 1, 0), min(at + 2, count)):
            if values[k] > values[top]:
                top = k
        if top == at:
            break
        at = top
    total, mean, square = 0.0, 0.0, 0.0
    for k in range(count):
        if values[k] != _NEVER:
            weight = np.exp(values[k] - best)
            total += weight
            mean += weight * log_v[k]
            square += weight * log_v[k] ** 2
    mean /= total
    out[:] = np.dot(np.dot(kept, given.inverse), given.K)
    return best + np.log(total / count), mean, max(square / total - mean * mean, 0.0)
