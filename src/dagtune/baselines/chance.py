"""Guesses that learn nothing, or nothing but scale. What can't beat them has found nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import complete
from dagtune.tables import read_table

__all__ = ["empty", "random_complete", "variance_sorted"]


def empty(X: Any, *, rng: Any = None) -> np.ndarray:
    """No edge at all; draws nothing from ``rng``."""
    d = read_table(X).values.shape[1]
    return np.zeros((d, d), dtype=bool)


def random_complete(X: Any, *, rng: Any = None) -> np.ndarray:
    """Complete DAG of a uniformly random order.

    A seed opens a stream of its own here: who simulates a graph and guesses it with one seed must not draw the true
    order twice.
    """
    d = read_table(X).values.shape[1]
    if isinstance(rng, (int, np.integer)):
        rng = np.random.SeedSequence(int(rng)).spawn(1)[0]
    return complete(np.argsort(np.random.default_rng(rng).random(d), kind="stable"))


def variance_sorted(X: Any, *, rng: Any = None) -> np.ndarray:
    """Complete DAG from the smallest variance to the largest, ties by position; draws nothing from ``rng``."""
    return complete(np.argsort(read_table(X).values.var(axis=0), kind="stable"))
