"""Sums over rows that do not all count alike: experiments and groups.

Where an experiment acted on a variable, a row says nothing of how that variable otherwise comes about, but still all of
what it does to others. So the sums of each *stretch* of rows, those in which the same variables were acted on, are kept
apart, and a regression adds up the stretches that count for it.

Rows of different groups share functions, not levels. All sums are of what differs from the mean of the row's group (in
an experiment: of its group in that stretch), which is what adjusting for the group comes to; each group costs a degree
of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dagtune.regression import Basis, Gram, measure_basis
from dagtune.regression.gram import Spline
from dagtune.tables.rows import MemoryRows

__all__ = ["Origins", "Stretch", "Sums", "added_up", "measure_stretches"]

#: Rows whose functions are in memory at a time.
_CHUNK = 20_000


@dataclass(frozen=True, eq=False)
class Origins:
    """Where rows come from.

    Attributes
    ----------
    group : (rows,) array of int or None
        The group of each row, from 0.
    acted : (rows, d) array of bool or None
        Where an experiment acted on a variable, or may have.
    """

    group: np.ndarray | None = None
    acted: np.ndarray | None = None

    def __bool__(self) -> bool:
        return self.group is not None or self.acted is not None

    def untouched(self) -> np.ndarray | slice:
        """The rows in which nothing was acted on."""
        return slice(None) if self.acted is None else np.asarray(~self.acted.any(axis=1))

    def counts_for(self, variable: int) -> np.ndarray | slice:
        """The rows that say how a variable comes about."""
        return slice(None) if self.acted is None else ~self.acted[:, variable]


class Stretch(NamedTuple):
    """Rows in which the same variables were acted on.

    Attributes
    ----------
    acted : tuple of int
        Those variables.
    rows, levels : int
        Rows, and groups among them; 1 if there are no groups.
    mean : (D + d,) array
        Of the D functions and the d variables.
    scatter : (D + d, D + d) array
        Sums of products of what differs from the mean (of the group, if there are groups).
    """

    acted: tuple[int, ...]
    rows: int
    levels: int
    mean: np.ndarray
    scatter: np.ndarray


class Sums(NamedTuple):
    """A Gram of some of the rows, and the means (D,) of the functions there."""

    gram: Gram
    mean: np.ndarray


def measure_stretches(
    X: np.ndarray, spline: Spline, categorical: np.ndarray, origins: Origins
) -> tuple[Gram, tuple[Stretch, ...]]:
    """Sums of each stretch of rows, and of all together.

    Parameters
    ----------
    X : (rows, d) array
        A table without constant columns.
    spline : Spline
        How numeric columns become functions.
    categorical : (d,) array of bool
        Which columns are categorical.
    origins : Origins
        Where the rows come from.

    Returns
    -------
    gram : Gram
        Of all rows.
    stretches : tuple of Stretch
    """
    basis = measure_basis(MemoryRows(X), spline, categorical)
    acted = np.zeros(X.shape, dtype=bool) if origins.acted is None else origins.acted
    group = np.zeros(len(X), dtype=np.int64) if origins.group is None else origins.group
    patterns, which = np.unique(acted, axis=0, return_inverse=True)
    stretches = []
    for k, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == k)
        stretches.append(_measure(basis, X[rows], group[rows], tuple(np.flatnonzero(pattern).tolist())))
    empty = Gram(
        n=len(X),
        products=np.zeros((0, 0)),
        cross=np.zeros((0, 0)),
        roughness=basis.roughness,
        starts=basis.starts,
        shift=basis.shift,
        scale=basis.scale,
        curves=basis.curves,
    )
    return added_up(empty, stretches, grouped=origins.group is not None).gram, tuple(stretches)


def _measure(basis: Basis, X: np.ndarray, group: np.ndarray, acted: tuple[int, ...]) -> Stretch:
    """The sums of some rows."""
    width = int(basis.starts[-1]) + X.shape[1]
    _, group = np.unique(group, return_inverse=True)
    times = np.bincount(group)
    totals, squares = np.zeros((len(times), width)), np.zeros((width, width))
    for start in range(0, len(X), _CHUNK):
        chunk = X[start : start + _CHUNK].T
        Z = np.vstack([basis.functions(np.ascontiguousarray(chunk)), chunk - basis.shift[:, None]])
        np.add.at(totals, group[start : start + _CHUNK], Z.T)
        squares += Z @ Z.T
    scatter = squares - (totals / times[:, None]).T @ totals
    return Stretch(acted, len(X), len(times), totals.sum(axis=0) / len(X), (scatter + scatter.T) / 2)


def added_up(like: Gram, stretches: Sequence[Stretch], *, grouped: bool) -> Sums:
    """The Gram of some stretches together; functions and their roughness are as in another.

    Its variables are measured from that one's ``shift``, and n is less by what the levels of groups cost.
    """
    D, d = int(like.starts[-1]), len(like.shift)
    count = sum(stretch.rows for stretch in stretches)
    mean = sum((stretch.rows * stretch.mean for stretch in stretches), np.zeros(D + d)) / count
    scatter = np.zeros((D + d, D + d))
    free = 1
    for stretch in stretches:
        scatter += stretch.scatter
        free += stretch.rows - stretch.levels
        if not grouped:  # of one level: how the stretches differ counts
            scatter += stretch.rows * np.outer(stretch.mean - mean, stretch.mean - mean)
            free += 1
    covariance = scatter / count
    scale = np.sqrt(np.maximum(np.diag(covariance)[D:], 1e-24 * like.scale**2))
    gram = Gram(
        n=free if grouped else count,
        products=covariance[:D, :D],
        cross=covariance[:D, D:] / scale,
        roughness=like.roughness,
        starts=like.starts,
        shift=like.shift + mean[D:],
        scale=scale,
        curves=like.curves,
    )
    return Sums(gram, mean[:D])
