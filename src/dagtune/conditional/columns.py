"""Columns: what a variable is as a cause and as an effect.

As a *cause* a number becomes the smoothest functions of a spline, a category one function fewer than it has categories.
As an *effect* a number stands on two scales T, on each of which its mechanism may be simple; with y = T(x) the log
likelihood of the rows gains sum log T'(x):

- its own: nothing;
- *normal scores*: the Gaussian quantile of the rank. The slope is the ratio of the column's density to the Gaussian, so
  the gain is the log evidence of a density of the column: the mean over smooth tilts of a Gaussian, shaped densities,
  and exponentials from either end. This density must be as good as that of the noise: with a poorer one, causes that
  are skewed or have sharp ends are taken for effects.

A column that is no number has a likelihood of its own (:mod:`dagtune.conditional.discrete`). Its targets serve only to
rank causes by sums over rows: normal scores of levels and counts, an indicator for each category but the most frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dagtune.conditional.noise import shaped, tilt
from dagtune.conditional.numbers import DISCRETE

__all__ = [
    "OTHER_KINDS",
    "OWN",
    "SCORES",
    "Column",
    "Effect",
    "Indicator",
    "NormalScores",
    "fit_normal_scores",
    "margin",
]

Transform = Callable[[np.ndarray], np.ndarray]
OWN, SCORES = "own", "scores"
#: Kinds of columns with a likelihood of their own.
OTHER_KINDS = ("binary", "ordinal", "count", "categorical")


@dataclass(frozen=True)
class Effect:
    """A variable as an effect on one scale.

    Parameters
    ----------
    scale : {"own", "scores"}
    transform : callable
        From the standardised column to the scale.
    jacobian : float
        What the scale adds to the log likelihood of all rows.
    """

    scale: str
    transform: Transform
    jacobian: float


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the table: its kind and what it is as an effect.

    Parameters
    ----------
    kind : {"continuous", "discrete", "binary", "ordinal", "count", "categorical"}
        A discrete column holds numbers, but so few different ones that a density of its noise would mean nothing.
    effects : tuple of Effect
    """

    kind: str
    effects: tuple[Effect, ...]

    @classmethod
    def of(cls, z: np.ndarray, kind: str, scales: tuple[str, ...]) -> Column:
        """The column with these values (standardised, or codes of categories), on the scales that it can have."""
        own = Effect(OWN, _identity, 0.0)
        if kind == "categorical":
            codes, times = np.unique(z, return_counts=True)
            rest = np.delete(codes, np.argmax(times))
            return cls(kind, tuple(Effect(OWN, Indicator(float(code)), 0.0) for code in rest))
        if kind in OTHER_KINDS:
            return cls(kind, (Effect(SCORES, fit_normal_scores(z), 0.0),))
        if len(np.unique(z)) <= DISCRETE:
            return cls("discrete", (own,))
        found = [own]
        if SCORES in scales:
            found.append(Effect(SCORES, fit_normal_scores(z), margin(z)))
        return cls("continuous", tuple(found))


def _identity(x: np.ndarray) -> np.ndarray:
    return x


@dataclass(frozen=True)
class Indicator:
    """1 where a value is this code, else 0."""

    code: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The transformed variable."""
        return (x == self.code).astype(np.float64)


def margin(z: np.ndarray) -> float:
    """Log evidence of the density of a column beyond that of a Gaussian, averaged over forms of the density."""
    z = np.ascontiguousarray(z)
    n = len(z)
    ends = [z.mean() - z.min(), z.max() - z.mean()]
    gaussian = 0.5 * n * (np.log(2 * np.pi * z.var()) + 1)
    exponential = [gaussian - n * (np.log(end) + 1) - 0.5 * np.log(n) for end in ends]
    return float(special.logsumexp([tilt(z), shaped(z), *exponential]) - np.log(2 + len(ends)))


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
