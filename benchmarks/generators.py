"""Tables to judge learners on that no learner here was made for: thirteen mechanisms, three scales.

``A[i, j]`` true means ``i -> j``. A table is drawn from its own seed; tables that differ only in their scale share
graph, functions and noise. Noise has one standard deviation in tables of even seeds and one drawn from U(0.5, 2) for
each node in tables of odd seeds, so that each row of the benchmark holds both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dagtune.graph import parents, topological_order
from dagtune.simulate import random_dag, scale_free_dag

SCALES = ("raw", "standardised", "as-generated")


@dataclass(frozen=True)
class Setting:
    """Which tables: the mechanism, the scale, and the graph's and the table's size."""

    mechanism: str
    scale: str = "raw"
    nodes: int = 10
    degree: int = 2
    rows: int = 1000
    graph: str = "er"

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows, nodes) values and the true graph."""
        streams = np.random.SeedSequence([2026, self.nodes, self.degree, self.rows, seed]).spawn(2 + self.nodes)
        shape, spread, *nodes = map(np.random.default_rng, streams)
        if self.graph == "er":
            most = self.nodes * (self.nodes - 1) // 2
            truth = random_dag(self.nodes, min(self.nodes * self.degree, most), rng=shape)
        else:
            truth = scale_free_dag(self.nodes, self.degree, rng=shape)
        sigma = spread.uniform(0.5, 2.0, self.nodes) if seed % 2 else np.ones(self.nodes)
        X = np.zeros((self.rows, self.nodes))
        for j in topological_order(truth):
            x = _node(self.mechanism, X[:, parents(truth, j)], sigma[j], nodes[j])
            X[:, j] = (x - x.mean()) / x.std() if self.scale == "as-generated" else x
        if self.scale == "standardised":
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X, truth


Rng = np.random.Generator


def _node(mechanism: str, PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    if mechanism == "mixed":
        mechanism = str(rng.choice([name for name in MECHANISMS if name != "mixed"]))
    return MECHANISMS[mechanism](PA, sigma, rng)


def _gaussian(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    return sigma * rng.normal(size=len(PA))


def _linear(noise: Callable[[Rng, int], np.ndarray]) -> Callable[[np.ndarray, float, Rng], np.ndarray]:
    """x = sum_j w_j x_j + e, w from U(0.5, 1.5) with a random sign; noise of standard deviation sigma."""

    def node(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
        w = rng.uniform(0.5, 1.5, PA.shape[1]) * rng.choice([-1.0, 1.0], PA.shape[1])
        return PA @ w + sigma * noise(rng, len(PA))

    return node


def _cosines(PA: np.ndarray, rng: Rng, length: float = 1.0, terms: int = 100) -> np.ndarray:
    """A draw from a Gaussian process of all columns together, kernel exp(-|p - p'|^2 / (2 length^2)), variance 1."""
    omega = rng.normal(size=(PA.shape[1], terms)) / length
    phase, weight = rng.uniform(0, 2 * np.pi, terms), rng.normal(size=terms)
    return np.cos(PA @ omega + phase) @ weight * np.sqrt(2 / terms)


def _smooth_sum(PA: np.ndarray, rng: Rng) -> np.ndarray:
    """Sum over the parents of a Gaussian process of each."""
    return np.sum([_cosines(PA[:, [j]], rng) for j in range(PA.shape[1])], axis=0) if PA.shape[1] else np.zeros(len(PA))


def _additive_gp(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    return 1.5 * _smooth_sum(PA, rng) + _gaussian(PA, sigma, rng)


def _joint_gp(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    f = _cosines(_unit(PA), rng, length=max(np.sqrt(PA.shape[1]), 1.0)) if PA.shape[1] else 0.0
    return 2 * f + _gaussian(PA, sigma, rng)


def _network(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """One hidden layer of ten tanh units on standardised parents."""
    hidden = np.tanh(_unit(PA) @ rng.normal(size=(PA.shape[1], 10)) + rng.normal(size=10))
    return (hidden @ rng.normal(size=10) if PA.shape[1] else 0.0) + _gaussian(PA, sigma, rng)


def _quadratic(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """Lines, squares and products of standardised parents."""
    Z, k = _unit(PA), PA.shape[1]
    line, form = rng.normal(size=k), np.triu(rng.normal(size=(k, k)))
    return Z @ line + np.einsum("ti,ij,tj->t", Z, form, Z) + _gaussian(PA, sigma, rng)


def _sigmoid(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """Sum of a b (x + c) / (1 + |b (x + c)|) over the parents."""
    k = PA.shape[1]
    a = rng.exponential(0.25, k) + 1.0
    b = rng.uniform(0.5, 2.0, k) * rng.choice([-1.0, 1.0], k)
    t = b * (PA + rng.uniform(-2, 2, k))
    return (2 * a * t / (1 + np.abs(t))).sum(axis=1) + _gaussian(PA, sigma, rng)


def _post_nonlinear(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """g(sum of tanh of lines + e), g one of four."""
    k = PA.shape[1]
    w = rng.uniform(0.5, 2.0, k) * rng.choice([-1.0, 1.0], k)
    z = 1.5 * np.tanh(_unit(PA) * w).sum(axis=1) + 0.5 * _gaussian(PA, sigma, rng)
    bend: Callable[[np.ndarray], np.ndarray] = (
        lambda z: z + z**3 / 3,
        lambda z: np.exp(z / 2),
        lambda z: np.sign(z) * np.abs(z) ** 1.5,
        lambda z: 1 / (1 + np.exp(-z)),
    )[int(rng.integers(4))]
    return bend(z)


def _location_scale(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """f(PA) + exp(h(PA)) e, both sums of Gaussian processes."""
    f, h = _smooth_sum(PA, rng), _smooth_sum(PA, rng)
    return f + np.exp(0.7 * h) * _gaussian(PA, sigma, rng)


def _multiplicative(PA: np.ndarray, sigma: float, rng: Rng) -> np.ndarray:
    """exp(f(PA)) exp(e): noise multiplies, values are positive and skewed."""
    return np.exp(0.7 * _smooth_sum(np.log(np.abs(PA) + 0.1), rng) + 0.5 * _gaussian(PA, sigma, rng))


def _unit(PA: np.ndarray) -> np.ndarray:
    return (PA - PA.mean(axis=0)) / PA.std(axis=0) if PA.shape[1] else PA


MECHANISMS: dict[str, Callable[[np.ndarray, float, Rng], np.ndarray]] = {
    "linear-gaussian": _linear(lambda rng, n: rng.normal(size=n)),
    "linear-uniform": _linear(lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n)),
    "linear-laplace": _linear(lambda rng, n: rng.laplace(size=n) / np.sqrt(2)),
    "linear-exponential": _linear(lambda rng, n: rng.exponential(size=n) - 1),
    "additive-gp": _additive_gp,
    "joint-gp": _joint_gp,
    "network": _network,
    "quadratic": _quadratic,
    "sigmoid": _sigmoid,
    "post-nonlinear": _post_nonlinear,
    "location-scale": _location_scale,
    "multiplicative": _multiplicative,
    "mixed": _gaussian,  # chosen anew for each node
}
