"""Regression of a variable on all variables of a set together: functions that are no sums.

The kernel is that of a neural network with one infinite hidden layer of error functions (Williams 1998),

    k(x, x') = asin( 2 p(x, x') / sqrt((1 + 2 p(x, x)) (1 + 2 p(x', x'))) ),    p(x, x') = SPREAD x.x' / |S| + 1,

x the standardised variables of the set S. With m rows as landmarks (Nystrom) K is (m, n), its rows centred, and

    w = (K K^T / n + lambda K_mm)^-1 K y / n

is one small system a set and lambda that answers for all children together, with its GCV.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from dagtune.compiled import compiled
from dagtune.parallel import parallel_map
from dagtune.regression import ROOM

__all__ = ["Joint"]

#: Prior variance of the pre-activations, beside 1 for the bias.
SPREAD = 0.5
#: Ridges tried, as multiples of the kernel's mean variance a landmark.
RIDGES = (0.001, 0.03, 1.0)


class Joint:
    """log V(child | S) by the joint regression; every set is solved once and remembered.

    ``rows`` (n, D) are standardised, the first column of variable j at ``starts[j]`` (None: it is its only one),
    ``targets`` (d, n) as in :class:`dagtune.conditional.factors.RegressionTable`.
    """

    def __init__(
        self,
        rows: np.ndarray,
        targets: np.ndarray,
        *,
        landmarks: int,
        rng: np.random.Generator,
        threads: int = 1,
        starts: np.ndarray | None = None,
    ) -> None:
        self._columns = None if starts is None else [np.arange(a, b) for a, b in pairwise(starts)]
        self._X = np.ascontiguousarray(rows, dtype=np.float32)
        self._squares = self._X**2
        self._Y = np.ascontiguousarray(targets.T, dtype=np.float64)
        power = (self._Y**2).mean(axis=0)
        self._power = np.where(power > 0, power, 1.0)  # a variable that is nobody's child has targets of 0
        self._landmarks = np.sort(rng.choice(len(rows), min(landmarks, len(rows)), replace=False))
        self._known: dict[bytes, np.ndarray] = {}
        self._threads = threads

    def costs(self, sets: Sequence[np.ndarray], children: np.ndarray) -> np.ndarray:
        """log GCV of each child given its set."""
        keys = [np.sort(one).astype(np.int32).tobytes() for one in sets]
        missing = {key: np.sort(one) for key, one in zip(keys, sets) if key not in self._known}
        for key, found in zip(missing, parallel_map(self._solve, list(missing.values()), self._threads)):
            self._known[key] = found
        return np.array([self._known[key][child] for key, child in zip(keys, children)])

    def _solve(self, S: np.ndarray) -> np.ndarray:
        """log GCV of every variable given S, the best of RIDGES for each; members of S get a meaningless number."""
        if not len(S):
            return np.log(self._power)
        n, m = len(self._X), len(self._landmarks)
        at = S if self._columns is None else np.concatenate([self._columns[j] for j in S])
        X, squares = self._X[:, at], self._squares[:, at].sum(axis=1)
        K = X[self._landmarks] @ X.T
        _arcsine(K, squares, squares[self._landmarks], np.float32(SPREAD / len(S)))  # type: ignore[arg-type]
        own = K[:, self._landmarks].astype(np.float64)
        mean = K.mean(axis=1)
        K64 = K.astype(np.float64) - mean[:, None]  # single precision is too coarse for the small eigenvalues
        variance = float(np.diag(own).mean() - mean.mean())
        own[np.diag_indices(m)] += 1e-5
        C, c = K64 @ K64.T / n, K64 @ self._Y / n
        best = np.full(len(self._power), np.inf)
        for ridge in RIDGES:
            strength = ridge * max(variance, 1e-6) / m
            L, wrong = lapack.dpotrf(C + strength * own, lower=1, overwrite_a=1)
            if wrong:
                continue
            w = lapack.dpotrs(L, c, lower=1)[0]
            H = lapack.dpotri(L, lower=1)[0]  # its lower half
            edf = m - strength * _trace_of_product(H, own)
            V = np.maximum(self._power - np.sum(w * c, axis=0) - strength * np.sum(w * (own @ w), axis=0), 1e-9)
            best = np.minimum(best, np.log(V) - 2 * np.log(max(1 - (1 + edf) / n, ROOM)))
        return best


@compiled(fastmath=True)
def _trace_of_product(A: np.ndarray, B: np.ndarray) -> float:
    """tr(A B) of two symmetric matrices, of A the lower half, column by column."""
    total = 0.0
    for j in range(len(A)):
        total += A[j, j] * B[j, j]
        for i in range(j + 1, len(A)):
            total += 2 * A[i, j] * B[j, i]
    return total


@compiled(fastmath=True)
def _arcsine(P: np.ndarray, squares: np.ndarray, own: np.ndarray, spread: float) -> None:
    """Inner products (m, n) become the kernel, in place.

    asin by Abramowitz and Stegun 4.4.46, to 2e-8: ``asin x = pi/2 - sqrt(1 - x) polynomial(x)`` for x in [0, 1].
    """
    one, two, half_pi = np.float32(1), np.float32(2), np.float32(np.pi / 2)
    m, n = P.shape
    norm = np.empty(n, np.float32)
    for t in range(n):
        norm[t] = one / np.sqrt(one + two * (spread * squares[t] + one))
    for a in range(m):
        factor = two / np.sqrt(one + two * (spread * own[a] + one))
        row = P[a]
        for t in range(n):
            x = (spread * row[t] + one) * factor * norm[t]
            y = min(abs(x), one)
            p = np.float32(-0.0012624911)
            p = p * y + np.float32(0.0066700901)
            p = p * y + np.float32(-0.0170881256)
            p = p * y + np.float32(0.0308918810)
            p = p * y + np.float32(-0.0501743046)
            p = p * y + np.float32(0.0889789874)
            p = p * y + np.float32(-0.2145988016)
            p = p * y + np.float32(1.5707963050)
            value = half_pi - np.sqrt(one - y) * p
            row[t] = value if x >= 0 else -value
