"""Penalised regressions from a feature Gram matrix, with smoothing parameters chosen by GCV.

:func:`fit` fits one regression; :func:`try_each` adds one more variable to a fit, for many candidates at once. The
formulas are in :mod:`dagtune.regression.gram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from dagtune.compiled import compiled
from dagtune.regression.fit_result import Fit
from dagtune.regression.gram import LEAST, RIDGE, Gram
from dagtune.validation import InputError, check_choice

__all__ = ["Trials", "fit", "try_each"]


# --- one regression -------------------------------------------------------------------------------------------------


def fit(
    gram: Gram,
    child: int,
    parents: Sequence[int] | np.ndarray,
    *,
    smoothing: Any = "gcv",
    functions: int | None = None,
    start: np.ndarray | None = None,
    max_iterations: int = 60,
    sweeps: int = 10,
) -> Fit:
    """Regression of one variable on smooth functions of others.

    Parameters
    ----------
    gram : Gram
        From :func:`measure_gram`.
    child : int
        Position of the variable that is explained.
    parents : sequence of int
        Positions of the variables that explain it.
    smoothing : "gcv", float or array-like of shape (parents,)
        "gcv" searches for the theta that minimise GCV, and returns a minimum that no change of a single theta improves;
        there may be better ones. Otherwise theta itself, one number for all parents or one for each.
    functions : int, optional
        Use at most so many functions of each numeric parent, the smoothest.
    start : ndarray, shape (parents,), optional
        log theta from which the search begins; by default the best of a few common values.
    max_iterations : int
        Largest number of Newton steps.
    sweeps : int
        How often, at most, to move on from a minimum to a better one that differs in one theta.

    Returns
    -------
    Fit

    Raises
    ------
    InputError
        If the parents are not distinct, or the child is among them.

    References
    ----------
    Wood 2017, "Generalized Additive Models: An Introduction with R", second edition.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.regression import measure_gram
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> gram = measure_gram(np.column_stack([x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)]))
    >>> found = fit(gram, child=2, parents=[0, 1])
    >>> bool(found.relative < 0.05), bool(found.p_values[0] < 0.001)
    (True, True)
    """
    chosen = tuple(int(parent) for parent in parents)
    if child in chosen or len(set(chosen)) < len(chosen):
        raise InputError(f"the parents {list(chosen)} of {child} must be distinct and other than {child}")
    problem = _Problem(gram, child, chosen, functions)
    if not chosen:
        return problem.fit_at(np.zeros(0))
    if not isinstance(smoothing, str):
        theta = np.broadcast_to(np.asarray(smoothing, dtype=np.float64), (len(chosen),))
        return problem.fit_at(theta)
    check_choice("smoothing", smoothing, ("gcv",))
    rho = problem.first_guess() if start is None else np.clip(start, *problem.bounds)
    rho, converged = problem.minimise(rho, max_iterations, sweeps)
    return problem.fit_at(np.exp(rho), converged)


class _Problem:
    """GCV of one regression as a function of rho = log theta, with gradient and Hessian."""

    def __init__(self, gram: Gram, child: int, parents: tuple[int, ...], at_most: int | None) -> None:
        blocks = gram.functions_of(parents, at_most)
        self.gram, self.child, self.parents = gram, child, parents
        self.functions = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.intp)
        self.sizes = np.array([len(block) for block in blocks], dtype=np.intp)
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.bounds = gram.bounds_of(blocks)
        self.G = gram.products[np.ix_(self.functions, self.functions)]
        self.b = gram.cross[self.functions, child]
        self.s = gram.roughness[self.functions]

    def _sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the functions of each parent."""
        return np.add.reduceat(values, self.firsts)

    def _solve(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(G + P)^-1, the diagonal of P, the weights."""
        P = RIDGE + np.repeat(theta, self.sizes) * self.s
        A = self.G + np.diag(P)
        factor, wrong = linalg.lapack.dpotrf(A, lower=1)
        H, worse = linalg.lapack.dpotri(factor, lower=1)
        if wrong or worse:  # columns that are functions of one another, too closely for the ridge
            H = np.linalg.pinv(A, hermitian=True)
        else:
            H += H.T  # dpotri fills the lower half and leaves the upper at 0
            H[np.diag_indices(len(H))] /= 2
        return H, P, H @ self.b

    def _gcv(self, V: float, edf: float) -> float:
        room = 1 - (1 + edf) / self.gram.n
        return V / room**2 if room > 0 else np.inf

    def fit_at(self, theta: np.ndarray, converged: bool = True) -> Fit:
        """The regression at given smoothing parameters."""
        scale2 = float(self.gram.scale[self.child] ** 2)
        n = self.gram.n
        if not self.parents:
            none = np.zeros(0)
            where = (self.functions, self.sizes)
            gcv = self._gcv(1.0, 0.0)
            return Fit(self.child, (), n, 1.0, scale2, none, none, gcv, *where, none, none, np.zeros((0, 0)))
        H, P, w = self._solve(theta)
        V = max(1 - self.b @ w - w @ (P * w), LEAST)
        edf = self._sums(1 - np.diag(H) * P)
        return Fit(
            self.child, self.parents, n, V, V * scale2, np.array(theta), edf, self._gcv(V, edf.sum()),
            self.functions, self.sizes, w, P, H, converged,
        )  # fmt: skip

    def log_gcv(self, rho: np.ndarray) -> float:
        """log GCV at rho."""
        H, P, w = self._solve(np.exp(rho))
        V = max(1 - self.b @ w - w @ (P * w), LEAST)
        return float(np.log(self._gcv(V, len(P) - np.diag(H) @ P)))

    def derivatives(self, rho: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """log GCV, its gradient and its Hessian.

        With u = H P w and K = H G H: ``dV/drho_k = 2 theta_k u^T S_k w`` and ``dedf/drho_k = -theta_k tr(S_k K)``;
        differentiating once more gives sums over blocks of H, K and the vectors theta S w, theta S u.
        """
        theta = np.exp(rho)
        H, P, w = self._solve(theta)
        ts = np.repeat(theta, self.sizes) * self.s
        u = H @ (P * w)
        K = H - (H * P) @ H
        V = max(1 - self.b @ w - w @ (P * w), LEAST)
        edf = len(P) - np.diag(H) @ P
        room = 1 - (1 + edf) / self.gram.n
        if room <= 0:
            return np.inf, np.zeros(len(rho)), np.eye(len(rho))
        x, y = ts * w, ts * u
        dV = 2 * self._sums(u * x)
        dedf = -self._sums(ts * np.diag(K))

        def blocks(form: np.ndarray) -> np.ndarray:
            return np.add.reduceat(np.add.reduceat(form, self.firsts, axis=0), self.firsts, axis=1)

        mixed = blocks(x[:, None] * H * y)
        d2V = np.diag(dV) + 2 * (blocks(x[:, None] * K * x) - mixed - mixed.T)
        d2edf = np.diag(dedf) + 2 * blocks(ts[:, None] * (H * K) * ts)
        n_room = self.gram.n * room
        value = np.log(V) - 2 * np.log(room)
        gradient = dV / V + 2 * dedf / n_room
        hessian = d2V / V - np.outer(dV, dV) / V**2 + 2 * d2edf / n_room + 2 * np.outer(dedf, dedf) / n_room**2
        return float(value), gradient, hessian

    def first_guess(self) -> np.ndarray:
        """The best of a few common degrees of smoothing, from nearly straight to nearly free."""
        low, high = self.bounds
        tries = [low + share * (high - low) for share in (0.3, 0.45, 0.6, 0.75)]
        return min(tries, key=self.log_gcv)

    def minimise(self, rho: np.ndarray, max_iterations: int, sweeps: int) -> tuple[np.ndarray, bool]:
        """A minimum of GCV that no change of a single theta improves: Newton steps, a sweep, and again from there."""
        rho, converged = self.descend(rho, max_iterations)
        for _ in range(sweeps):
            elsewhere = self.sweep(rho)
            if elsewhere is None:
                break
            rho, converged = self.descend(elsewhere, max_iterations)
        return rho, converged

    def sweep(self, rho: np.ndarray) -> np.ndarray | None:
        """rho with the one change, of one entry to anywhere, that lowers GCV most, or None if none lowers it.

        The system without block k follows from the inverse H with it, ``(G_oo + P_o)^-1 G_ok = -H_ok H_kk^-1``, o being
        the other blocks. From there it is as in :func:`try_each`.
        """
        H, P, w = self._solve(np.exp(rho))
        V = max(1 - self.b @ w - w @ (P * w), LEAST)
        kept = np.diag(H) * P
        best, there = np.log(self._gcv(V, len(P) - kept.sum())) - 1e-5, None
        for k, (first, size) in enumerate(zip(self.firsts, self.sizes)):
            if self.bounds[0, k] == self.bounds[1, k]:
                continue
            own = slice(first, first + size)
            E = -np.linalg.solve(H[own, own], H[own]).T
            E[own] = 0.0
            others = w + E @ w[own]
            others[own] = 0.0
            M, v = self.G[own, own] - self.G[own] @ E, self.b[own] - self.G[own] @ others
            K, PEw = E.T @ (P[:, None] * E), E.T @ (P * others)
            without = 1 - self.b @ others - others @ (P * others)
            held = kept.sum() - kept[own].sum() - np.sum(K * H[own, own])
            rest = len(P) - size
            present = _Present(without, held, rest, self.gram.n)
            found = _best_addition(M, K, PEw, v, self.s[own], self.bounds[:, k], present)
            if np.log(found[2]) < best:
                best, there = np.log(found[2]), rho.copy()
                there[k] = found[0]
        return there

    def descend(self, rho: np.ndarray, max_iterations: int) -> tuple[np.ndarray, bool]:
        """A local minimum of GCV: Newton steps of at most 4 in any log theta, halved until they help."""
        low, high = self.bounds
        value, gradient, hessian = self.derivatives(rho)
        for _ in range(max_iterations):
            stuck = ((rho <= low) & (gradient > 0)) | ((rho >= high) & (gradient < 0)) | (low == high)
            free = ~stuck
            if not free.any() or np.abs(gradient[free]).max() < 1e-6:
                return rho, True
            curvature, directions = np.linalg.eigh(hessian[np.ix_(free, free)])
            curvature = np.maximum(np.abs(curvature), 1e-3 * max(np.abs(curvature).max(), 1e-9))
            step = np.zeros(len(rho))
            step[free] = -directions @ ((directions.T @ gradient[free]) / curvature)
            step *= min(1.0, 4.0 / np.abs(step).max())
            for _ in range(12):
                there = np.clip(rho + step, low, high)
                new = self.derivatives(there)
                if new[0] <= value:
                    break
                step /= 2
            else:
                return rho, True  # no step helps any more: rounding
            gain = value - new[0]
            rho, (value, gradient, hessian) = there, new
            if gain < 1e-9:
                return rho, True
        return rho, False


# --- one variable more, for many candidates -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trials:
    """What each candidate would do as one more parent; :func:`try_each` returns it.

    Parameters
    ----------
    candidates : ndarray of int, shape (c,)
        The variables that were tried.
    log_smoothing, relative, gcv : ndarray, shape (c,)
        For each candidate its best log theta, and the relative variance and GCV of the enlarged fit.
    """

    candidates: np.ndarray
    log_smoothing: np.ndarray
    relative: np.ndarray
    gcv: np.ndarray


def try_each(gram: Gram, found: Fit, candidates: Sequence[int] | np.ndarray, *, functions: int | None = None) -> Trials:
    """Add each candidate alone to a fit, with the theta of the other parents held.

    The candidate's own theta is the best by GCV on a grid, which is then refined. Given the held theta the numbers are
    exact: the block inverse of the enlarged system needs only the Schur complement
    ``M = G_cc - G_cS (G_SS + P)^-1 G_Sc``, and in the coordinates that turn M into I and S_c into a diagonal tau, each
    trial of theta costs a few dozen multiplications.

    Parameters
    ----------
    gram : Gram
        The Gram that the regression was fitted from.
    found : Fit
        The regression to which a parent is added.
    candidates : sequence of int
        Positions of the variables to try.
    functions : int, optional
        Use at most so many functions of each candidate, the smoothest.

    Returns
    -------
    Trials

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.regression import measure_gram
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> gram = measure_gram(np.column_stack([x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)]))
    >>> trials = try_each(gram, fit(gram, 2, []), [0, 1])
    >>> int(trials.gcv.argmin())
    0
    """
    chosen = np.asarray(candidates, dtype=np.intp)
    blocks = gram.functions_of(chosen, functions)
    bounds = gram.bounds_of(blocks)
    at = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.intp)
    sizes = np.array([len(block) for block in blocks], dtype=np.intp)
    S, w, P = found.functions, found.weights, found.penalty
    b = gram.cross[at, found.child]
    E = found.inverse @ gram.products[np.ix_(S, at)]
    b_left = b - E.T @ gram.cross[S, found.child]
    present = _Present(found.relative, 1 - found.total_edf + len(S), len(S), gram.n)
    out = np.empty((3, len(chosen)))
    ends = np.cumsum(sizes)
    PE = P[:, None] * E
    PEw = E.T @ (P * w)
    for c, end in enumerate(ends):
        own = slice(end - sizes[c], end)
        M = gram.products[np.ix_(at[own], at[own])] - gram.products[np.ix_(at[own], S)] @ E[:, own]
        K = E[:, own].T @ PE[:, own]
        out[:, c] = _best_addition(M, K, PEw[own], b_left[own], gram.roughness[at[own]], bounds[:, c], present)
    return Trials(chosen, *out)


class _Present(NamedTuple):
    """The fit that a block is added to: its V, tr(H P), number of functions D, and the number of rows."""

    relative: float
    held: float
    D: int
    n: int


@compiled
def _best_addition(
    M: np.ndarray,
    K: np.ndarray,
    PEw: np.ndarray,
    v: np.ndarray,
    s: np.ndarray,
    bounds: np.ndarray,
    present: _Present,
) -> tuple[float, float, float]:
    """(log theta, V, GCV) of the best theta for a new block; see try_each.

    w_new = (M + theta S)^-1 v and w_S = w - E w_new, so with V = 1 - b^T w - w^T P w,
    ``V(theta) = V - v^T w_new + 2 w_new^T E^T P w - w_new^T (K + RIDGE + theta S) w_new``.
    """
    relative, held, D, n = present
    r = len(v)
    m, Q = np.linalg.eigh((M + M.T) / 2)  # rounding can take a Schur complement below 0
    root = Q / np.sqrt(np.maximum(m, 0.0) + RIDGE)
    tau, U = np.linalg.eigh((root.T * s) @ root)
    tau = np.maximum(tau, 0.0)
    T = root @ U
    turned = np.ascontiguousarray(T.T)
    a, q = turned @ v, turned @ PEw
    KT = turned @ np.ascontiguousarray(K + RIDGE * np.eye(r)) @ T
    steps = 25 if bounds[1] > bounds[0] else 1
    best_rho, best_V, best = 0.0, relative, np.inf
    width = (bounds[1] - bounds[0]) / max(steps - 1, 1)
    centre = bounds[0] + width * (steps - 1) / 2
    for level in range(4 if steps > 1 else 1):
        if level > 0:
            centre, steps, width = best_rho, 9, width / 4
        for step in range(steps):
            rho = min(max(centre + width * (step - (steps - 1) / 2), bounds[0]), bounds[1])
            theta = np.exp(rho)
            shrink = 1.0 / (1.0 + theta * tau)
            w = a * shrink
            trace = held + np.sum(np.diag(KT) * shrink) + theta * np.sum(tau * shrink)
            V = relative - a @ w + 2.0 * (w @ q) - w @ (KT @ w) - theta * np.sum(tau * w * w)
            V = max(V, LEAST)
            room = 1.0 - (1.0 + D + r - trace) / n
            gcv = V / room**2 if room > 0 else np.inf
            if gcv < best:
                best_rho, best_V, best = rho, V, gcv
    return best_rho, best_V, best
