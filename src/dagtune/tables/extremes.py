"""Extremes of sums of columns, compiled."""

from __future__ import annotations

import numpy as np

from dagtune.compiled import compiled

__all__ = ["extend"]


@compiled
def extend(chunk: np.ndarray, members: np.ndarray, part: np.ndarray, found: np.ndarray) -> None:
    """Extend the extremes ``found`` so far of the sums ``part`` by those of a chunk."""
    for column in part:
        low, high, smallest = found[0, column], found[1, column], found[2, column]
        for i in range(chunk.shape[1]):
            x = 0.0
            for m in range(members.shape[1]):
                if members[column, m] >= 0:
                    x += chunk[members[column, m], i]
            low = min(low, x)
            high = max(high, x)
            smallest = min(smallest, abs(x))
        found[0, column], found[1, column], found[2, column] = low, high, smallest
