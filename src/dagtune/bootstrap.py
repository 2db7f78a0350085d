"""Edge confidence: how often an edge comes back when the rows are drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from sklearn.base import clone

from dagtune.graph import reachability
from dagtune.validation import InputError, check_count, read_table

__all__ = ["EdgeConfidence", "bootstrap"]

#: How often a resample with a constant column is drawn again.
_PATIENCE = 100


@dataclass(frozen=True)
class EdgeConfidence:
    """Shares of the resamples; tables have names, row causes column.

    ``probability``: with this directed edge. ``adjacency``: with this edge or its reverse (symmetric). ``path``: with a
    directed path from row to column. The shares say how stable the learner is on such data, not how right it is.
    """

    probability: pd.DataFrame
    adjacency: pd.DataFrame
    path: pd.DataFrame
    n_samples: int
    #: How many resamples had to be drawn again because a column was constant in them.
    redrawn: int

    def edges(self, at_least: float = 0.5) -> pd.DataFrame:
        """One row for each directed edge at least that probable: cause, effect, probability; the surest first."""
        names = list(self.probability.columns)
        values = self.probability.to_numpy()
        rows = [(names[i], names[j], float(values[i, j])) for i, j in np.argwhere(values >= at_least) if i != j]
        table = pd.DataFrame(rows, columns=["cause", "effect", "probability"])
        return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


def bootstrap(
    learner: Any,
    X: Any,
    n_samples: int = 100,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> EdgeConfidence:
    """Fit a clone of ``learner`` to ``n_samples`` tables of as many rows, drawn with replacement from ``X``.

    Every resample has a seed of its own, spawned from ``random_state``, for its rows and for the learner, so the result
    does not depend on ``n_jobs``. A resample in which a column is constant is drawn again.
    """
    n_samples = check_count("n_samples", n_samples)
    table = read_table(X, drop_constant=bool(getattr(learner, "drop_constant", False)))
    seeds = _seeds(random_state, n_samples)
    one = clone(learner)
    if "progress" in one.get_params():
        one.set_params(progress=None)  # one report for all, not one from each
    graphs: list[np.ndarray] = []
    redrawn = 0
    fitted = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_once)(one, table.values, table.names, seed) for seed in seeds
    )
    for matrix, again in fitted:
        graphs.append(matrix)
        redrawn += again
        if progress is not None:
            progress("bootstrap", len(graphs) / n_samples)
    edges = np.array(graphs)
    paths = np.array([reachability(matrix) for matrix in graphs])

    def share(which: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(which.mean(axis=0), index=list(table.names), columns=list(table.names))

    return EdgeConfidence(
        share(edges), share(edges | edges.transpose(0, 2, 1)), share(paths), n_samples=n_samples, redrawn=redrawn
    )


def _seeds(random_state: Any, count: int) -> list[np.random.SeedSequence]:
    """Independent seeds, one a resample."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    if not isinstance(random_state, np.random.SeedSequence):
        random_state = np.random.SeedSequence(random_state)
    return random_state.spawn(count)


def _fit_once(
    learner: Any, values: np.ndarray, names: tuple[str, ...], seed: np.random.SeedSequence
) -> tuple[np.ndarray, int]:
    """The boolean matrix learned from one resample, and how often it had to be drawn again."""
    rng = np.random.default_rng(seed)
    drawn, again = values[rng.integers(len(values), size=len(values))], 0
    while (constant := drawn.max(axis=0) == drawn.min(axis=0)).any():
        if again == _PATIENCE:
            raise InputError(
                f"column {names[int(constant.argmax())]!r} varies so rarely that it was constant in {_PATIENCE} "
                "resamples in a row: drop it, or add rows"
            )
        drawn, again = values[rng.integers(len(values), size=len(values))], again + 1
    learner = clone(learner)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=int(rng.integers(2**31)))
    learner.fit(pd.DataFrame(drawn, columns=list(names)))
    return learner.adjacency_matrix_.to_numpy().astype(bool), again
