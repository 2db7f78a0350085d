"""How a variable comes about from its causes, fitted so that new rows can be drawn.

A number is ``y = m(causes) + exp(h(causes) / 2) e``: m a sum of smooth functions of the causes, with products of pairs
of them where those pay, h a sum of smooth functions or 0, e drawn from quantiles of what is left. A category, or a
number of two values, has a softmax of sums of smooth functions. A number of few values is drawn as the nearest of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from dagtune.effects.summary import Summary
from dagtune.regression import fit

__all__ = ["Mechanism", "fit_mechanism"]

#: Quantiles kept of the noise.
_NOISE = np.linspace(0.0, 1.0, 201)
#: Rows looked at, evenly spread.
_ROWS = 5000
#: Functions of each cause that enter products with those of another.
_IN_PRODUCTS = 2
#: Products must lower GCV to less than this share, and causes must explain the log spread with less than this p-value.
_PAYS, _SURE = 0.98, 1e-3
#: Penalties of the products that are tried, as shares of the functions' variance.
_PENALTIES = 10.0 ** np.arange(-4.0, 1.0)


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A variable given its causes.

    Attributes
    ----------
    child : int
        Position of the variable.
    parents : tuple of int
        Positions of its causes.
    weights : (k, functions + 1) array
        A number: k = 1, the mean. Otherwise a row of logits for each value but the first. The last column is the
        constant.
    products : bool
        Whether products of pairs of causes are among the functions.
    spread : (functions + 1,) array
        Of the log variance; of size 0 if that is constant.
    noise : (201,) array
        Quantiles of the noise of a number.
    values : (v,) array
        The values of a category or of a number of few values; of size 0 for others.
    """

    child: int
    parents: tuple[int, ...]
    weights: np.ndarray
    products: bool
    spread: np.ndarray
    noise: np.ndarray
    values: np.ndarray

    @property
    def discrete(self) -> bool:
        """Whether it draws values by their probabilities rather than as a number plus noise."""
        return not len(self.noise)

    def mean(self, summary: Summary, X: np.ndarray) -> np.ndarray:
        """(rows,) mean of a number at rows (rows, d) of the causes."""
        if self.discrete:
            return self.probabilities(summary, X) @ self.values
        return _with_constant(summary, self.parents, X, self.products).T @ self.weights[0]

    def probabilities(self, summary: Summary, X: np.ndarray) -> np.ndarray:
        """(rows, values) probabilities of the values of a discrete variable."""
        logits = self.weights @ _with_constant(summary, self.parents, X, self.products)
        return special.softmax(np.vstack([np.zeros(len(X)), logits]), axis=0).T

    def draw_noise(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """(count,) noise: of a number in units of its spread, of a discrete variable a share from 0 to 1."""
        share = rng.random(count)
        return share if self.discrete else np.interp(share, _NOISE, self.noise)

    def produce(self, summary: Summary, X: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """(rows,) values that come of rows (rows, d) of the causes and of noise."""
        if self.discrete:
            below = np.cumsum(self.probabilities(summary, X), axis=1)
            return self.values[np.minimum((noise[:, None] >= below).sum(axis=1), len(self.values) - 1)]
        y = self.mean(summary, X) + self._spread(summary, X) * noise
        return _nearest(self.values, y) if len(self.values) else y

    def noise_of(self, summary: Summary, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(rows,) noise that gave the values ``y`` at the rows; of a discrete variable drawn from what is possible."""
        if self.discrete:
            below = np.cumsum(self.probabilities(summary, X), axis=1)
            at = np.argmin(np.abs(self.values - y[:, None]), axis=1)
            rows = np.arange(len(y))
            low = np.where(at > 0, below[rows, np.maximum(at - 1, 0)], 0.0)
            return low + rng.random(len(y)) * (below[rows, at] - low)
        return (y - self.mean(summary, X)) / self._spread(summary, X)

    def _spread(self, summary: Summary, X: np.ndarray) -> np.ndarray:
        if not len(self.spread):
            return np.ones(len(X))
        log_variance = _with_constant(summary, self.parents, X, False).T @ self.spread
        return np.exp(np.clip(log_variance, -20, 20) / 2)


def fit_mechanism(summary: Summary, X: np.ndarray, child: int, parents: tuple[int, ...]) -> Mechanism:
    """Fit a variable to its causes.

    Parameters
    ----------
    summary : Summary
        Of the table.
    X : (rows, d) array
        The rows of the table in which nothing acted on the variable.
    child : int
        Position of the variable.
    parents : tuple of int
        Positions of its causes.

    Returns
    -------
    Mechanism
    """
    X = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), _ROWS)).astype(np.intp))]
    y, seen = X[:, child], summary.values[child]
    values = seen[0] if len(seen) else np.zeros(0)
    if summary.categorical[child] or len(values) == 2:
        weights = _fit_logits(summary, X, y, values, parents)
        return Mechanism(child, parents, weights, False, np.zeros(0), np.zeros(0), values)
    weights, products = _fit_mean(summary, X, y, child, parents)
    left = y - _with_constant(summary, parents, X, products).T @ weights
    spread = _fit_spread(summary, X, left, parents)
    if len(spread):
        left = left / np.exp(_with_constant(summary, parents, X, False).T @ spread / 2)
    left = left - left.mean()
    return Mechanism(child, parents, weights[None], products, spread, np.quantile(left, _NOISE), values)


def _fit_mean(
    summary: Summary, X: np.ndarray, y: np.ndarray, child: int, parents: tuple[int, ...]
) -> tuple[np.ndarray, bool]:
    """Weights of the mean in the units of y, and whether products are among them."""
    gram, mean = summary.without(summary.left_out((child,)))
    alone = fit(gram, child, parents)
    own = alone.weights * gram.scale[child]
    weights = np.append(own, gram.shift[child] - own @ mean[alone.functions])
    if len(parents) < 2:
        return weights, False
    F = _with_constant(summary, parents, X, True)
    n, first = len(y), len(alone.weights)
    A, b, power = F @ F.T / n, F @ y / n, float(np.mean(y**2))
    best, found = _PAYS * alone.gcv * float(gram.scale[child] ** 2), weights
    for penalty in _PENALTIES:
        P = np.concatenate([alone.penalty, np.full(len(F) - first - 1, penalty), [0.0]])
        H = np.linalg.inv(A + np.diag(P + 1e-10))
        w = H @ b
        room = 1 - float(np.sum(H * A)) / n
        gcv = (power - 2 * b @ w + w @ A @ w) / room**2 if room > 0.05 else np.inf
        if gcv < best:
            best, found = gcv, w
    return found, found is not weights


def _fit_spread(summary: Summary, X: np.ndarray, left: np.ndarray, parents: tuple[int, ...]) -> np.ndarray:
    """Weights of the log variance, of size 0 where the causes do not change it."""
    if not parents or not left.any():
        return np.zeros(0)
    target = np.log(left**2 + 1e-3 * left.var())
    F = _with_constant(summary, parents, X, False)
    n, p = len(target), len(F) - 1
    if n < 5 * p:
        return np.zeros(0)
    weights = np.linalg.solve(F @ F.T / n + np.diag([*np.full(p, 0.02), 0.0]), F @ target / n)
    explained = np.var(weights @ F) / target.var()
    statistic = explained / max(1 - explained, 1e-12) * (n - p - 1) / p
    if stats.f.sf(statistic, p, n - p - 1) > _SURE:
        return np.zeros(0)
    weights[-1] += np.log(np.mean(left**2 / np.exp(weights @ F)))  # the noise has variance 1
    return weights


def _fit_logits(
    summary: Summary, X: np.ndarray, y: np.ndarray, values: np.ndarray, parents: tuple[int, ...]
) -> np.ndarray:
    """Weights of the logits of all values but the first: the mode under a Gaussian prior, tighter for rough ones."""
    F = _with_constant(summary, parents, X, False)
    is_value = (y == values[:, None])[1:]
    rough = np.concatenate([_hold(summary, j) for j in parents] or [np.zeros(0)])
    prior = np.append(1.0 + rough, 1e-3)
    shape = (len(values) - 1, len(F))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(shape)
        logits = np.vstack([np.zeros(len(y)), w @ F])
        total = special.logsumexp(logits, axis=0)
        p = np.exp(logits[1:] - total)
        value = total.sum() - np.sum(logits[1:][is_value]) + 0.5 * np.sum(prior * w**2)
        return float(value), ((p - is_value) @ F.T + prior * w).ravel()

    start = np.zeros(shape)
    share = np.maximum([np.mean(y == value) for value in values], 1e-9)
    start[:, -1] = np.log(share[1:] / share[0])
    return optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B").x.reshape(shape)


def _hold(summary: Summary, j: int) -> np.ndarray:
    """0 for lines and categories, growing with the roughness of bent functions."""
    rough = summary.gram.roughness[summary.gram.starts[j] : summary.gram.starts[j + 1]]
    bent = rough[rough > 0]
    return rough / bent[0] if len(bent) else rough


def _with_constant(summary: Summary, parents: tuple[int, ...], X: np.ndarray, products: bool) -> np.ndarray:
    """(functions + 1, rows): the functions of the causes, perhaps products of pairs, and a row of ones."""
    gram = summary.gram
    blocks = [gram.curves[j].values(X[:, j] - gram.shift[j]) for j in parents]
    rows = list(blocks)
    if products:
        for k, one in enumerate(blocks):
            for other in blocks[:k]:
                rows += [a * other[:_IN_PRODUCTS] for a in one[:_IN_PRODUCTS]]
    return np.vstack([*rows, np.ones((1, len(X)))])


def _nearest(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The nearest of ascending values."""
    return values[np.searchsorted((values[1:] + values[:-1]) / 2, y)]
