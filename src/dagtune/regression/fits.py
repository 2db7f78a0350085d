"""Penalised regressions from a feature Gram matrix: one fit, one variable more, or variables one after the other.

:func:`fit` chooses the smoothing parameters by GCV; :func:`try_each` adds one more variable to a fit, for many
candidates at once; :class:`Growing` takes variables one after the other with smoothing given and answers for all
targets together. The formulas stand in :mod:`dagtune.regression.gram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, special

from dagtune.compiled import compiled
from dagtune.regression.gram import LEAST, RIDGE, Gram
from dagtune.validation import InputError, check_choice

__all__ = ["Fit", "Growing", "Trials", "fit", "fitted", "try_each"]


# --- one regression -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """A regression of ``child`` on smooth functions of ``parents``.

    ``variance`` is the mean squared residual in the child's units squared, ``relative`` the same as a share of the
    child's variance. ``smoothing`` holds theta, ``edf`` the effective degrees of freedom (without the mean's one) of
    each parent. ``functions`` are positions in the Gram, ``weights`` belong to the standardised child, ``inverse`` is
    (G_SS + P)^-1 and ``penalty`` the diagonal of P. ``converged`` is false if the search for theta met its cap.
    """

    child: int
    parents: tuple[int, ...]
    n: int
    relative: float
    variance: float
    smoothing: np.ndarray
    edf: np.ndarray
    gcv: float
    functions: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    penalty: np.ndarray
    inverse: np.ndarray = field(repr=False)
    converged: bool = True

    @property
    def total_edf(self) -> float:
        """Effective degrees of freedom, the mean included."""
        return 1.0 + float(self.edf.sum())

    @property
    def log_variance(self) -> float:
        """log of ``variance``."""
        return float(np.log(self.variance))

    @cached_property
    def p_values(self) -> np.ndarray:
        """For each parent, the p-value of "its function is 0" (Wood 2013, Biometrika 100:221).

        The Wald statistic of the function at the rows, f^T V^- f, V its Bayesian covariance and V^- a pseudo-inverse of
        rank ``r = 2 edf - tr(E E)``, E = (G + P)^-1 G, traces over the parent's block. Under that hypothesis its mean
        is about r and its variance 2 r, so it is compared with r F(r, n - edf).
        """
        if not self.parents:
            return np.ones(0)
        H = self.inverse
        E = np.eye(len(H)) - H * self.penalty
        firsts = np.cumsum(self.sizes) - self.sizes
        ranks = 2 * self.edf - np.add.reduceat(np.sum(E * E.T, axis=1), firsts)
        residual = max(self.n - self.total_edf, 1.0)
        noise = self.relative / residual  # variance of the noise of the standardised child, over n
        found = np.ones(len(self.parents))
        for k, (first, size) in enumerate(zip(firsts, self.sizes)):
            block = slice(first, first + size)
            # The functions have unit covariance over the rows, so V's eigenvectors are those of the block of H.
            values, vectors = np.linalg.eigh(H[block, block])
            z = (vectors.T @ self.weights[block]) / np.sqrt(np.maximum(values, RIDGE) * noise)
            rank = min(max(float(ranks[k]), 0.0), float(size))  # rounding can take it below 0 where columns copy others
            found[k] = _wald_p_value(z[::-1], rank, residual)
        return found

    @property
    def explained(self) -> float:
        """Variance of the fitted values as a share of the child's variance; with a penalty, less than 1 - relative."""
        return float(1 - self.relative - 2 * self.weights @ (self.penalty * self.weights))


def _wald_p_value(z: np.ndarray, rank: float, residual: float) -> float:
    """p-value of a Wald statistic of real rank; ``z`` are the whitened coordinates, largest variance first.

    With k = floor(rank) and nu its fraction, the last two coordinates enter by the form [[1, h], [h, nu]] with
    ``h = +-sqrt(nu (1 - nu) / 2)``; the sign is free (eigenvectors have none), so the p-value is the mean of both.
    """
    k = int(np.floor(rank))
    nu = rank - k
    squares = z * z
    if k == 0:  # even the line is penalised away, by the ridge of a column that copies others
        return float(special.fdtrc(1, residual, squares[0]))
    total = float(squares[:k].sum())
    if nu < 1e-12 or k == len(z):
        return float(special.fdtrc(k, residual, total / k))
    cross = 2 * np.sqrt(nu * (1 - nu) / 2) * z[k - 1] * z[k]
    both = np.maximum(total + nu * squares[k] + np.array([cross, -cross]), 0.0)
    return float(special.fdtrc(rank, residual, both / rank).mean())


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
    """Regression of ``child`` on ``parents`` (positions).

    Parameters
    ----------
    smoothing : "gcv" (a minimum that no change of one theta alone betters; there may be others), or theta: one number
        for all parents, or one for each
    functions : use at most so many functions of each parent, the smoothest
    start : log theta from which the search by GCV begins; otherwise a common degree of smoothing is tried first
    max_iterations : cap of the search, an iteration being one Newton step
    sweeps : how often, at most, to go on from a minimum to a better one that differs in one theta; 0 takes the first
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
        if wrong or worse:  # columns that are functions of one another, beyond what the ridge can part
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
        """A minimum of GCV that no change of one theta alone betters: Newton's method, sweep, and again from there."""
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


def fitted(gram: Gram, found: Fit, X: np.ndarray) -> np.ndarray:
    """(rows,) of the regression function at the rows of X, in the child's units."""
    total = np.zeros(len(X))
    end = 0
    for parent, size in zip(found.parents, found.sizes):
        values = gram.curves[parent].values(X[:, parent] - gram.shift[parent])[:size]
        total += found.weights[end : end + size] @ values
        end += size
    return gram.shift[found.child] + gram.scale[found.child] * total


# --- one variable more, for many candidates -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trials:
    """What each candidate would do as one more parent: its log theta, and the relative variance and GCV it leads to."""

    candidates: np.ndarray
    log_smoothing: np.ndarray
    relative: np.ndarray
    gcv: np.ndarray


def try_each(gram: Gram, found: Fit, candidates: Sequence[int] | np.ndarray, *, functions: int | None = None) -> Trials:
    """Add each candidate alone to a fit, its theta by GCV (globally, on a grid, then refined), the others' held.

    Exact at the held theta: the block inverse of the enlarged system needs only the Schur complement
    ``M = G_cc - G_cS (G_SS + P)^-1 G_Sc``, and in the coordinates that turn M into I and S_c into a diagonal tau, each
    trial of theta costs a few dozen multiplications.
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


# --- variables one after the other, smoothing given -----------------------------------------------------------------


class Growing:
    """Regressions of every variable on a set that grows, with smoothing parameters given.

    ``add`` costs |S|^2 r multiplications by the block inverse; ``weights`` (functions of S, d) answer all targets.
    """

    def __init__(self, gram: Gram, smoothing: float | np.ndarray, functions: int | None = None) -> None:
        self.gram = gram
        self.smoothing = np.broadcast_to(np.asarray(smoothing, dtype=np.float64), (gram.width,))
        self.at_most = functions
        self.members: list[int] = []
        self.functions = np.zeros(0, dtype=np.intp)
        self.inverse = np.zeros((0, 0))
        self.penalty = np.zeros(0)
        self.weights = np.zeros((0, gram.width))

    def add(self, variable: int) -> None:
        """One more regressor."""
        if variable in self.members:
            raise InputError(f"variable {variable} is a regressor already: add each once")
        (block,) = self.gram.functions_of([variable], self.at_most)
        G, b = self.gram.products, self.gram.cross
        P = RIDGE + self.smoothing[variable] * self.gram.roughness[block]
        E = self.inverse @ G[np.ix_(self.functions, block)]
        M = G[np.ix_(block, block)] + np.diag(P) - G[np.ix_(block, self.functions)] @ E
        N = linalg.inv((M + M.T) / 2)
        EN = E @ N
        self.inverse = np.block([[self.inverse + EN @ E.T, -EN], [-EN.T, N]])
        new = N @ (b[block] - E.T @ b[self.functions])
        self.weights = np.vstack([self.weights - E @ new, new])
        self.functions = np.concatenate([self.functions, block])
        self.penalty = np.concatenate([self.penalty, P])
        self.members.append(int(variable))

    def explained(self) -> np.ndarray:
        """(d,) variance of the fitted values of every variable, in its own units squared (divisor n)."""
        W = self.weights
        share = np.einsum("ad,ad->d", W, self.gram.cross[self.functions] - self.penalty[:, None] * W)
        return share * self.gram.scale**2

    def residual(self) -> np.ndarray:
        """(d,) mean squared residual of every variable, in its own units squared; next to nothing for the members."""
        W = self.weights
        share = 1 - np.einsum("ad,ad->d", W, self.gram.cross[self.functions] + self.penalty[:, None] * W)
        return np.maximum(share, LEAST) * self.gram.scale**2

    def fit_of(self, child: int) -> Fit:
        """The regression of one variable on the members so far."""
        if child in self.members:
            raise InputError(f"variable {child} is a regressor itself: ask for another")
        sizes = np.array([len(block) for block in self.gram.functions_of(self.members, self.at_most)], dtype=np.intp)
        relative = float(self.residual()[child] / self.gram.scale[child] ** 2)
        edf = np.zeros(0)
        if self.members:
            edf = np.add.reduceat(1 - np.diag(self.inverse) * self.penalty, np.cumsum(sizes) - sizes)
        room = 1 - (1 + edf.sum()) / self.gram.n
        return Fit(
            child=child,
            parents=tuple(self.members),
            n=self.gram.n,
            relative=relative,
            variance=relative * float(self.gram.scale[child] ** 2),
            smoothing=self.smoothing[self.members].copy(),
            edf=edf,
            gcv=relative / room**2 if room > 0 else np.inf,
            functions=self.functions.copy(),
            sizes=sizes,
            weights=self.weights[:, child].copy(),
            penalty=self.penalty.copy(),
            inverse=self.inverse.copy(),
        )
