"""Noise distributions. Each has mean 0 and variance 1 unless its name starts with ``raw``. Add your own to NOISES."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dagtune.simulate import portable

__all__ = ["NOISES", "NoiseDistribution"]

#: A noise distribution: (generator, rows) -> that many independent draws.
NoiseDistribution = Callable[[np.random.Generator, int], np.ndarray]


def gaussian(rng: np.random.Generator, rows: int) -> np.ndarray:
    """N(0, 1)."""
    return portable.normal(rng, rows)


def uniform(rng: np.random.Generator, rows: int) -> np.ndarray:
    """U(-sqrt 3, sqrt 3)."""
    return math.sqrt(3.0) * (2.0 * portable.uniform(rng, rows) - 1.0)


def exponential(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Exp(1) - 1."""
    return raw_exponential(rng, rows) - 1.0


def raw_exponential(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Exp(1), mean 1: the noise of the authors' released script."""
    return -portable.log(1.0 - portable.uniform(rng, rows))


def laplace(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Laplace with scale sqrt(1/2): +-Exp(1) / sqrt 2."""
    u = portable.uniform(rng, (rows, 2))
    return np.where(u[:, 0] < 0.5, -1.0, 1.0) * -portable.log(1.0 - u[:, 1]) / math.sqrt(2.0)


def t3(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Student's t with 3 degrees of freedom over its standard deviation sqrt 3: z_0 / sqrt(z_1^2 + z_2^2 + z_3^2)."""
    z = portable.normal(rng, (rows, 4))
    return z[:, 0] / np.sqrt(portable.left_sum(z[:, 1:] ** 2))


#: The distributions by name.
NOISES: dict[str, NoiseDistribution] = {
    "gaussian": gaussian,
    "uniform": uniform,
    "exponential": exponential,
    "laplace": laplace,
    "t3": t3,
    "raw-exponential": raw_exponential,
}
