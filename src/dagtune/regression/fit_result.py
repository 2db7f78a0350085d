"""A fitted regression: its p-values, and its values at new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from dagtune.regression.gram import RIDGE, Gram

__all__ = ["Fit", "fitted"]


@dataclass(frozen=True, eq=False)
class Fit:
    """A regression of one variable on smooth functions of others; :func:`fit` returns it.

    Parameters
    ----------
    child : int
        The variable that is explained.
    parents : tuple of int
        The variables that explain it.
    n : int
        Number of rows.
    relative : float
        Mean squared residual as a share of the child's variance.
    variance : float
        Mean squared residual, in the child's units squared.
    smoothing : ndarray, shape (parents,)
        The smoothing parameter theta of each parent.
    edf : ndarray, shape (parents,)
        Effective degrees of freedom of each parent; the mean has one more.
    gcv : float
        Generalised cross-validation.
    functions : ndarray of int
        Positions of the functions in the Gram.
    sizes : ndarray of int, shape (parents,)
        Number of functions of each parent.
    weights : ndarray
        Weight of each function, for the standardised child.
    penalty : ndarray
        The diagonal of P.
    inverse : ndarray
        (G_SS + P)^-1.
    converged : bool
        False if the search for theta reached ``max_iterations``.
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


def fitted(gram: Gram, found: Fit, X: np.ndarray) -> np.ndarray:
    """Values of a regression function, in the child's units.

    Parameters
    ----------
    gram : Gram
        The Gram that the regression was fitted from.
    found : Fit
        The regression.
    X : ndarray, shape (rows, d)
        Where to evaluate it.

    Returns
    -------
    ndarray, shape (rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.regression import fit, measure_gram
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> gram = measure_gram(np.column_stack([x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)]))
    >>> fitted(gram, fit(gram, 2, [0]), np.zeros((4, 3))).shape
    (4,)
    """
    total = np.zeros(len(X))
    end = 0
    for parent, size in zip(found.parents, found.sizes):
        values = gram.curves[parent].values(X[:, parent] - gram.shift[parent])[:size]
        total += found.weights[end : end + size] @ values
        end += size
    return gram.shift[found.child] + gram.scale[found.child] * total
