"""Signs in the data, and in the options, that a user must know of before trusting the graph."""

from __future__ import annotations

import numpy as np
from scipy import stats

from dagtune.engine.dependence import Dependence
from dagtune.ot.losses import pair_vector
from dagtune.tables import Table, few_rows
from dagtune.text import printable

__all__ = ["order_matters", "signs_of_trouble"]


def order_matters(preset: str) -> list[str]:
    """What the result owes to the places of the columns."""
    if preset != "released":
        return []
    return [
        "preset='released' visits pairs in the order of the columns, as the script does: another order may give "
        "another graph"
    ]


#: Rows that tell whether columns look Gaussian.
_LOOKED_AT = 5000


def signs_of_trouble(table: Table, dependence: Dependence) -> list[str]:
    """Signs in the data that the assumptions may not hold."""
    names, ranges = [printable(name) for name in table.names], table.rows.ranges()
    found = list(dependence.notes)
    if few_rows(dependence.n_samples):
        found.append(f"only {dependence.n_samples} rows: differences between HSIC values are mostly noise")
    spread = ranges.scale
    wide, narrow = int(spread.argmax()), int(spread.argmin())
    if spread[wide] > 10 * spread[narrow]:
        found.append(
            f"{names[wide]} varies {spread[wide] / spread[narrow]:.3g} times as much as {names[narrow]}: in a sum of "
            "the two the second is lost; rescale the columns unless their units are comparable"
        )
    negative = int((pair_vector(dependence.first) < 0).sum())
    if negative:
        found.append(f"{negative} pairs have a negative HSIC: the {dependence.kernel} kernel is not positive definite")
    if table.count >= 8:
        values = table.some(_LOOKED_AT).values
        sample = values[np.linspace(0, len(values) - 1, min(len(values), _LOOKED_AT)).astype(int)]
        varied = sample[:, sample.std(axis=0) > 0]
        if varied.shape[1] and (stats.normaltest(varied).pvalue > 0.05).all():
            found.append("every column looks Gaussian: if effects are linear too, no method can find directions")
        few = [name for name, column in zip(names, sample.T) if len(np.unique(column)) <= 5]
        if few:
            found.append(f"columns with at most 5 distinct values ({', '.join(few[:5])}): additive noise is doubtful")
    correlation = np.abs(np.triu(ranges.covariance / np.outer(spread, spread), 1))
    if correlation.max() > 0.99:
        a, b = np.unravel_index(int(correlation.argmax()), correlation.shape)
        found.append(f"{names[a]} and {names[b]} are nearly copies of each other: their direction is arbitrary")
    return found
