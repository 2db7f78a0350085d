"""Missing values: what may be done about them, how many there are, and whether other columns tell where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dagtune.text import printable

__all__ = ["MISSING", "Gaps", "Predictable", "look_at_gaps"]

#: What may be done about missing values.
MISSING = ("error", "drop", "impute", "model")
#: Chance that a table whose gaps are anywhere is said to have gaps that others predict.
_RISK = 1e-3
#: Fewest gaps, and fewest known values, of a column that is tested.
_FEW = 10


@dataclass(frozen=True)
class Predictable:
    """A column whose gaps another column tells.

    Parameters
    ----------
    column, by : str
        Whose gaps, and which column tells them.
    above, below : float
        Share of gaps where ``by`` is in the upper and in the lower half of its values, or missing and known.
    halves : bool
        Whether it is halves of values; otherwise gaps come together.
    """

    column: str
    by: str
    above: float
    below: float
    halves: bool

    def __str__(self) -> str:
        where = ("is above its median", "is not") if self.halves else ("is missing too", "is known")
        by = printable(self.by)
        return (
            f"{printable(self.column)} is missing in {self.above:.0%} of the rows where {by} {where[0]} and in "
            f"{self.below:.0%} where it {where[1]}"
        )


@dataclass(frozen=True)
class Gaps:
    """Share and pattern of the gaps of a table.

    Parameters
    ----------
    rows, complete : int
        Number of rows, and of rows without a gap.
    cells : float
        Share of the cells that are gaps.
    columns : tuple of (str, int)
        The columns with gaps and how many they have, most first.
    together : tuple of (tuple of str, int)
        The most frequent sets of columns that are missing together, and in how many rows.
    predictable : tuple of Predictable
        Columns whose gaps another column tells, for each the one that tells most.
    """

    rows: int
    complete: int
    cells: float
    columns: tuple[tuple[str, int], ...]
    together: tuple[tuple[tuple[str, ...], int], ...]
    predictable: tuple[Predictable, ...]

    @property
    def many(self) -> bool:
        """Whether enough rows have a gap for a pattern to mean something."""
        return self.rows - self.complete >= _FEW

    def pattern(self) -> str:
        """Share and pattern in one sentence."""
        sets = "; ".join(f"{', '.join(map(printable, names))} in {count} rows" for names, count in self.together)
        return (
            f"{self.cells:.1%} of the cells are missing, {self.complete} of {self.rows} rows are complete; missing "
            f"most often: {sets}"
        )


def look_at_gaps(gone: np.ndarray, values: np.ndarray, names: Sequence[str], most: int = 3) -> Gaps | None:
    """Share and pattern of gaps; None if there are none.

    A column's gaps are compared with the ranks of every other column (Mann and Whitney's test) and with its gaps; all
    tests share one small risk of a false alarm.

    Parameters
    ----------
    gone : ndarray of bool, shape (rows, columns)
        Where values are missing.
    values : ndarray of shape (rows, columns)
        The numbers; NaN where there is none.
    names : sequence of str
    most : int
        How many sets of columns ``together`` lists.
    """
    if not gone.any():
        return None
    counts = gone.sum(axis=0)
    sets, times = np.unique(gone[gone.any(axis=1)], axis=0, return_counts=True)
    top = np.argsort(-times, kind="stable")[:most]
    return Gaps(
        rows=len(gone),
        complete=int((~gone.any(axis=1)).sum()),
        cells=float(gone.mean()),
        columns=tuple((names[j], int(counts[j])) for j in map(int, np.argsort(-counts, kind="stable")) if counts[j]),
        together=tuple((tuple(names[j] for j in map(int, np.flatnonzero(sets[k]))), int(times[k])) for k in top),
        predictable=tuple(_predictable(gone, values, names)),
    )


def _predictable(gone: np.ndarray, values: np.ndarray, names: Sequence[str]) -> list[Predictable]:
    counts = gone.sum(axis=0)
    tested = np.flatnonzero((counts >= _FEW) & (counts <= len(gone) - _FEW))
    found = []
    limit = _RISK / max(2 * len(tested) * (gone.shape[1] - 1), 1)
    for j in map(int, tested):
        best: tuple[float, Predictable] | None = None
        for k in np.flatnonzero(np.arange(gone.shape[1]) != j):
            for p, one in _tests(gone, values, int(j), int(k), names):
                if p < limit and (best is None or p < best[0]):
                    best = (p, one)
        if best is not None:
            found.append(best[1])
    return found


def _tests(
    gone: np.ndarray, values: np.ndarray, j: int, k: int, names: Sequence[str]
) -> list[tuple[float, Predictable]]:
    """p-values of the gaps of column j against the values and against the gaps of column k."""
    from scipy import stats  # takes a second to load, and most tables have no gaps

    told = []
    known = ~np.isnan(values[:, k])
    here, there = values[known & gone[:, j], k], values[known & ~gone[:, j], k]
    if len(here) >= _FEW and len(there) >= _FEW and min(here.min(), there.min()) < max(here.max(), there.max()):
        p = float(stats.mannwhitneyu(here, there, method="asymptotic").pvalue)
        upper = values[:, k] > np.median(values[known, k])
        shares = [float(gone[known & half, j].mean()) if (known & half).any() else 0.0 for half in (upper, ~upper)]
        told.append((p, Predictable(names[j], names[k], shares[0], shares[1], True)))
    if _FEW <= gone[:, k].sum() <= len(gone) - _FEW:
        table = np.array([[np.sum((gone[:, j] == a) & (gone[:, k] == b)) for b in (0, 1)] for a in (0, 1)])
        p = float(stats.fisher_exact(table)[1])
        shares = [float(gone[gone[:, k] == b, j].mean()) for b in (True, False)]
        told.append((p, Predictable(names[j], names[k], shares[0], shares[1], False)))
    return told
