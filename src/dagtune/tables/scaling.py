"""Columns on a common scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagtune.tables.rows import Rows
from dagtune.tables.table import Table
from dagtune.validation import InputError

__all__ = ["standardized"]


def standardized(table: Table) -> Table:
    """The table with mean 0 and standard deviation 1 in each continuous column; levels and counts stay as they are.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the numbers of a column are too large or too small.
    """
    if not table.rows.in_memory:
        return replace(table, rows=_standardized_rows(table))
    frame, weights = table.to_frame(), None if table.weights is None else table.weights.values
    centred = frame - np.average(frame, axis=0, weights=weights)
    scaled = centred / np.sqrt(np.average(centred**2, axis=0, weights=weights))
    continuous = np.array([kind in ("continuous", "date") for kind in table.kinds])
    values = np.where(continuous, scaled, frame)
    bad = ~np.isfinite(values).all(axis=0)
    if bad.any():
        raise InputError(
            f"column {table.names[int(bad.argmax())]!r} can't be standardized, its numbers are too large or too small: "
            "rescale it"
        )
    return table.with_values(values)


def _standardized_rows(table: Table) -> Rows:
    """The same for rows that are not in memory."""
    ranges = table.rows.ranges()
    continuous = np.array([kind in ("continuous", "date") for kind in table.kinds])
    return table.rows.restated(np.where(continuous, ranges.mean, 0.0), np.where(continuous, ranges.scale, 1.0))
