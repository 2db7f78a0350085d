"""Other scales for a variable: what a post-nonlinear model or a log-like reading of a column would use.

A transform T of a target costs likelihood by its slope: with y = T(x) the log density gains ``mean log T'(x)``. For a
Gaussian marginal, ``change = log var y - 2 mean log T'(x) - log var x`` is -2 / n times the gain of its likelihood, and
negative where T makes the variable more Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

__all__ = ["Bounded", "NormalScores", "fit_bounded", "fit_normal_scores"]

#: How far beyond the extremes, in ranges, the bounds of a bounded variable may lie.
_MARGINS = np.array([0.001, 0.003, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5])


@dataclass(frozen=True)
class Bounded:
    """Johnson's SB: y = log((x - low) / (high - x)), standardised."""

    low: float
    high: float
    mean: float
    standard_deviation: float
    change: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The transformed variable; values at or beyond a bound are moved inside."""
        inside = 1e-9 * (self.high - self.low)
        x = np.clip(x, self.low + inside, self.high - inside)
        return (np.log(x - self.low) - np.log(self.high - x) - self.mean) / self.standard_deviation


def fit_bounded(x: np.ndarray) -> Bounded:
    """The bounds with the largest likelihood, from a grid beyond the extremes."""
    low, high = x.min(), x.max()
    lows, highs = low - _MARGINS * (high - low), high + _MARGINS * (high - low)
    left, right = np.log(x - lows[:, None]), np.log(highs[:, None] - x)
    left_mean, right_mean = left.mean(axis=1), right.mean(axis=1)
    left_c, right_c = left - left_mean[:, None], right - right_mean[:, None]
    variance = (left_c**2).mean(axis=1)[:, None] + (right_c**2).mean(axis=1)[None] - 2 * left_c @ right_c.T / len(x)
    slope = np.log(highs[None] - lows[:, None]) - left_mean[:, None] - right_mean[None]
    deviance = np.log(np.maximum(variance, 1e-300)) - 2 * slope
    a, b = np.unravel_index(int(np.argmin(deviance)), deviance.shape)
    return Bounded(
        low=float(lows[a]),
        high=float(highs[b]),
        mean=float(left_mean[a] - right_mean[b]),
        standard_deviation=float(np.sqrt(variance[a, b])),
        change=float(deviance[a, b] - np.log(x.var())),
    )


@dataclass(frozen=True, eq=False)
class NormalScores:
    """The Gaussian quantile of a value's rank; between known values linear, beyond them the last."""

    values: np.ndarray
    scores: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The transformed variable."""
        return np.interp(x, self.values, self.scores)


def fit_normal_scores(x: np.ndarray) -> NormalScores:
    """Normal scores by the ranks of these rows; equal values share the middle of their ranks; standard deviation 1."""
    values, count = np.unique(x, return_counts=True)
    scores = special.ndtri((np.cumsum(count) - count / 2) / len(x))
    spread = np.sqrt(np.average(scores**2, weights=count))
    return NormalScores(values, scores / spread)
