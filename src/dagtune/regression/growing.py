"""Regressions of all variables on a set that grows, with smoothing parameters given."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dagtune.regression.fit_result import Fit
from dagtune.regression.gram import LEAST, RIDGE, Gram
from dagtune.validation import InputError

__all__ = ["Growing"]


class Growing:
    """Regressions of every variable on a set S that grows, with smoothing parameters given.

    By the block inverse :meth:`add` costs |S|^2 r multiplications, r being the number of new functions, and gives the
    ``weights`` (functions of S, d) for all targets at once.

    Parameters
    ----------
    gram : Gram
        From :func:`measure_gram`.
    smoothing : float or ndarray of shape (d,)
        theta, one number for all variables or one for each.
    functions : int, optional
        Use at most so many functions of each variable, the smoothest.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.regression import measure_gram
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> gram = measure_gram(np.column_stack([x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=300)]))
    >>> growing = Growing(gram, smoothing=1e-3)
    >>> growing.add(0)
    >>> bool(growing.residual()[2] < 0.1 * gram.scale[2] ** 2)
    True
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
            raise InputError(f"variable {variable} was already added: add each variable once")
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
            raise InputError(f"variable {child} is one of the regressors: choose another child")
        sizes = np.array([len(block) for block in self.gram.functions_of(self.members, self.at_most)], dtype=np.intp)
        relative = float(self.residual()[child] / self.gram.scale[child] ** 2)
        edf: np.ndarray = np.zeros(0)
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
