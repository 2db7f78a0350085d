"""Small positive definite systems, by Cholesky factors that overwrite what they are of."""

from __future__ import annotations

import numpy as np

from dagtune.compiled import compiled

__all__ = ["factor", "solve", "substitute"]


@compiled(fastmath=True)
def factor(H: np.ndarray) -> float:
    """Overwrites the lower half of a positive definite H by its Cholesky factor; log det H."""
    log_det = 0.0
    for i in range(len(H)):
        for j in range(i + 1):
            s = H[i, j]
            for t in range(j):
                s -= H[i, t] * H[j, t]
            if i == j:
                H[i, i] = np.sqrt(max(s, 1e-12))
                log_det += 2 * np.log(H[i, i])
            else:
                H[i, j] = s / H[j, j]
    return log_det


@compiled(fastmath=True)
def substitute(L: np.ndarray, g: np.ndarray) -> None:
    """Overwrites g by (L L')^-1 g."""
    p = len(g)
    for i in range(p):
        s = g[i]
        for t in range(i):
            s -= L[i, t] * g[t]
        g[i] = s / L[i, i]
    for i in range(p - 1, -1, -1):
        g[i] /= L[i, i]
        for j in range(i):
            g[j] -= L[i, j] * g[i]


@compiled
def solve(H: np.ndarray, g: np.ndarray) -> float:
    """Overwrites g by H^-1 g for a positive definite H (lower half; overwritten by its factor); log det H."""
    log_det = factor(H)
    substitute(H, g)
    return log_det
