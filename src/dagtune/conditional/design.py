"""The design: all that the score needs of a table. Sums over all rows, and a sample of rows for what sums can't tell.

As causes the d variables have D functions F, of mean 0; as effects they are the targets y, on each of their scales. The
sums are F F' and F y for all of them, taken chunk by chunk. Link, spread, distribution and the joint mechanism look at
rows one by one, at no more than ROWS of them. A table with more rows counts as one with ROWS rows: its sums are more
accurate, but scaled down to as many, so that what sums tell and what rows tell weigh alike. So the posterior is
coarsened there, and never surer than ROWS rows make it. So it is with rows that have weights: repeated in
proportion, they count as fewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from dagtune.conditional.columns import OTHER_KINDS, OWN, SCORES, Column, Effect
from dagtune.conditional.discrete import Discrete, of_kinds
from dagtune.conditional.mechanisms import FIRST, Additive, Sums, additive
from dagtune.conditional.noise import tilt_rows
from dagtune.conditional.numbers import FUNCTIONS, LANDMARKS, ROWS
from dagtune.conditional.problem import Problem, Rows, Targets
from dagtune.conditional.resamples import sorted_rows
from dagtune.progress import Progress, silent
from dagtune.regression import Basis, Categories, Spline, measure_basis
from dagtune.tables.rows import SAMPLES, MemoryRows, sample_positions
from dagtune.tables.rows import Rows as TableRows

__all__ = ["SCALES", "Design", "Own", "estimated", "first_fit", "landmarks", "measure", "row_margin"]

#: The scales of an effect.
SCALES = (OWN, SCORES)


class Own(Protocol):
    """What a variable is as an effect, if not all rows count alike for it."""

    @property
    def kept(self) -> np.ndarray:
        """(rows,) which of the sampled rows count in its problem."""

    def __call__(self, problem: Problem) -> Problem:
        """Its own problem, made of that of all rows."""


@dataclass(frozen=True, eq=False)
class Design:
    """Sums and rows of a table.

    Parameters
    ----------
    columns : tuple of Column
    sums : Sums
    rows : Rows
    targets : Targets
    log_variance : ndarray, shape (d,)
        Of the columns in the units of the table.
    discrete : Discrete
        The columns that are no numbers, as effects.
    values, raw : ndarray, shape (d, rows)
        The sampled rows: standardised numbers, codes of categories; and in the units of the table.
    sampled : ndarray of int, shape (rows,)
        Which rows of the table they are.
    kinds : tuple of str
    own : mapping of int to Environments
        Variables for which not all rows count alike as an effect.
    together : ndarray of int, shape (rows,), or None
        The block of each sampled row, if rows are drawn together when they are resampled.
    """

    columns: tuple[Column, ...]
    sums: Sums
    rows: Rows
    targets: Targets
    log_variance: np.ndarray
    discrete: Discrete
    values: np.ndarray
    raw: np.ndarray
    sampled: np.ndarray
    kinds: tuple[str, ...]
    own: Mapping[int, Own] = field(default_factory=dict)
    together: np.ndarray | None = None

    @property
    def width(self) -> int:
        """The number of variables."""
        return len(self.columns)

    @property
    def count(self) -> int:
        """The number of rows that the table counts as."""
        return self.rows.Y.shape[1]


def measure(
    X: np.ndarray | TableRows,
    kinds: Sequence[str] | None = None,
    scales: tuple[str, ...] = SCALES,
    tell: Progress = silent,
    sampled: np.ndarray | None = None,
) -> Design:
    """Sums and rows of a table (n, d), no column of which is constant; ``kinds`` are continuous unless said.

    If ``sampled`` rows are given, these are looked at, and it counts as so many (:mod:`dagtune.tables.weights`).

    Four passes over the rows: ranges, samples, the products of each variable's splines, the products of all functions.
    ``tell`` is told of the last two.
    """
    given = X if isinstance(X, TableRows) else MemoryRows(X)
    n, d = given.count, given.width
    kinds = ["continuous"] * d if kinds is None else kinds
    categorical = np.array([kind == "categorical" for kind in kinds])
    ranges = given.ranges()
    scale = ranges.scale
    rows = given.standardized(np.where(categorical, 0.0, ranges.mean), np.where(categorical, 1.0, scale))
    if sampled is None:
        sampled, some, raw = sample_positions(n, min(n, ROWS)), rows.sample(ROWS), given.sample(ROWS)
    else:
        sampled = sampled[sample_positions(len(sampled), min(len(sampled), ROWS))]
        some, raw = rows.block(sampled), given.block(sampled)
    columns = tuple(Column.of(some[j], kinds[j], scales) for j in range(d))
    basis = measure_basis(rows, Spline(*FUNCTIONS), categorical, lambda share: tell("splines", share))
    effects = [effect for column in columns for effect in column.effects]
    owner = np.repeat(np.arange(d), [len(column.effects) for column in columns]).tolist()

    def targets_of(chunk: np.ndarray) -> np.ndarray:
        return np.stack([effect.transform(chunk[j]) for effect, j in zip(effects, owner)])

    def products(chunk: np.ndarray) -> list[np.ndarray]:
        F, y = basis.functions(chunk), targets_of(chunk)
        return [F @ F.T, F @ y.T, y.sum(axis=1), (y * y).sum(axis=1)]

    G, cross, total, squares = (each / n for each in rows.sum(products, lambda share: tell("products", share)))
    count = some.shape[1]
    sums = Sums(
        n=float(count),
        G=count * (G + G.T) / 2,
        C=count * np.ascontiguousarray(cross.T),
        power=count * (squares - total**2),
        starts=basis.starts.astype(np.int64),
        rough=_relative_roughness(basis),
    )
    starts, jacobian = np.cumsum([0, *(len(column.effects) for column in columns)]), [one.jacobian for one in effects]
    fits = [first_fit(sums, t, j) for t, j in enumerate(owner)]
    explained = np.array([fit.value for fit in fits]) + jacobian
    return Design(
        columns=columns,
        sums=sums,
        rows=Rows(
            F=np.ascontiguousarray(basis.functions(some)),  # another layout would be compiled for anew
            Z=_plain(basis, some),
            starts=np.cumsum([0, *(_width(curve) for curve in basis.curves)]),
            Y=targets_of(some) - total[:, None],
            marks=landmarks(some),
            margin=np.stack([row_margin(effect, columns[j].kind, some[j]) for effect, j in zip(effects, owner)]),
            weights=np.empty((0, count)),
        ),
        targets=Targets(
            starts=starts,
            jacobian=np.array(jacobian),
            smooth=np.array([columns[j].kind == "continuous" for j in owner]),
            own=np.array([effect.scale == OWN and kinds[j] not in OTHER_KINDS for effect, j in zip(effects, owner)]),
            joint=np.zeros(len(effects), dtype=bool),
            spread=np.ones(len(effects), dtype=bool),
            first=np.array([fit.setting for fit in fits]),
            rough=np.array([a + np.argmax(explained[a:b]) for a, b in pairwise(starts)]),
        ),
        log_variance=_log_variances(scale, kinds),
        discrete=of_kinds(raw, kinds),
        values=some,
        raw=raw,
        sampled=sampled,
        kinds=tuple(kinds),
    )


def estimated(n: int, d: int) -> tuple[float, float]:
    """Seconds of one processor, and bytes, that the sums and the sample of a table (n, d) that is not in memory take.

    Measured on tables of 20 columns: a value is decoded and made functions of in 0.1 microseconds in all passes.
    """
    D, rows = FUNCTIONS[1] * d, min(n, ROWS)
    seconds = n * (2 * D * (D + 2 * d) / 2e10 + 1e-7 * d)
    return seconds, 8.0 * (2 * d * min(n, SAMPLES[-1]) + 4 * D * D + 2 * rows * (D + 4 * d) + 3 * 4096 * D)


def _log_variances(scale: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """Of the columns; one that is no number has no noise scale, and gets one amid the others."""
    found = 2 * np.log(scale)
    numbers = np.array([kind not in OTHER_KINDS for kind in kinds])
    return np.where(numbers, found, np.median(found[numbers]) if numbers.any() else 0.0)


def _relative_roughness(basis: Basis) -> np.ndarray:
    """0 for lines and categories; for bent functions how much rougher than the variable's smoothest bent one."""
    rough = np.zeros(basis.starts[-1])
    for curve, start in zip(basis.curves, basis.starts):
        own = curve.roughness
        if not isinstance(curve, Categories) and len(own) > 1:
            rough[start + 1 : start + len(own)] = np.maximum(own[1:] / own[1], 1.0)
    return rough


def _width(curve: object) -> int:
    return curve.turn.shape[1] if isinstance(curve, Categories) else 1


def _plain(basis: Basis, chunk: np.ndarray) -> np.ndarray:
    """Columns for the joint mechanism: a number as it is, standardised, a category by its functions."""
    found = [
        curve.values(x - shift) if isinstance(curve, Categories) else ((x - shift) / scale)[None]
        for curve, x, shift, scale in zip(basis.curves, chunk, basis.shift, basis.scale)
    ]
    return np.ascontiguousarray(np.concatenate(found))


def first_fit(sums: Sums, target: int, child: int, causes: int = 5) -> Additive:
    """The additive mechanism with the variables that explain the target best one by one."""
    others = [j for j in range(len(sums.starts) - 1) if j != child]
    alone = [additive(sums, target, np.array([j]), FIRST).value for j in others]
    best = np.sort(np.array(others)[np.argsort(alone)[-causes:]])
    return additive(sums, target, best, FIRST)


def row_margin(effect: Effect, kind: str, z: np.ndarray) -> np.ndarray:
    """What the scale of an effect adds to the log likelihood of each row: log density of the column and of its scores.

    Up to a constant; nothing on the column's own scale.
    """
    found = np.zeros(len(z))
    if effect.scale == SCORES and kind == "continuous":
        tilt_rows(np.ascontiguousarray(z), found)
        found += 0.5 * effect.transform(z) ** 2 - 0.5 * (z - z.mean()) ** 2 / z.var()
    return found


def landmarks(rows: np.ndarray) -> np.ndarray:
    """Rows evenly spread by the sum of their ranks: neither the rows' order nor the columns' plays a part."""
    count, ranked = rows.shape[1], sorted_rows(rows)
    return np.sort(ranked[np.unique(np.linspace(0, count - 1, min(LANDMARKS, count)).astype(np.int64))])
