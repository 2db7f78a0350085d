"""Edge confidence: how often an edge is found again when the rows are drawn with replacement.

A resample only changes how often each row counts. So the features of all columns and sums, most of the engine's work,
are built once (:class:`Resampled`), and each resample costs one weighted product of them. Where that is not possible, a
clone of the learner is fitted to the rows that were drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from dagtune.engine.dependence import Dependence, measure_dependence
from dagtune.engine.paths import choose_path
from dagtune.engine.problem import combinations, pose
from dagtune.graph import reachability
from dagtune.parallel import one_blas_thread
from dagtune.tables import Table, read_table
from dagtune.validation import InputError, check_count

__all__ = ["EdgeConfidence", "Resampled", "bootstrap", "reading_of"]

#: How often a resample with a constant column is drawn again.
_PATIENCE = 100


@dataclass(frozen=True)
class EdgeConfidence:
    """In which share of the resamples each edge was found.

    The shares say how stable the learner is on such data, not how right it is. The rows of all tables are causes, the
    columns effects.

    Parameters
    ----------
    probability : DataFrame
        Share of the resamples with this directed edge.
    adjacency : DataFrame
        Share with this edge or its reverse; symmetric.
    path : DataFrame
        Share with a directed path from the row to the column.
    n_samples : int
        Number of resamples.
    redrawn : int
        How many resamples had to be drawn again because a column was constant in them.
    """

    probability: pd.DataFrame
    adjacency: pd.DataFrame
    path: pd.DataFrame
    n_samples: int
    redrawn: int

    def edges(self, at_least: float = 0.5) -> pd.DataFrame:
        """The edges found in at least a given share of the resamples.

        Parameters
        ----------
        at_least : float
            Smallest share.

        Returns
        -------
        DataFrame
            Columns cause, effect and probability; the most probable first.
        """
        names = list(self.probability.columns)
        values = self.probability.to_numpy()
        rows = [(names[i], names[j], float(values[i, j])) for i, j in np.argwhere(values >= at_least) if i != j]
        table = pd.DataFrame(rows, columns=["cause", "effect", "probability"])
        return table.sort_values("probability", ascending=False, kind="stable", ignore_index=True)


class Resampled:
    """First and second order HSIC of resamples of one table, from features that are built once.

    With F_x (r, n) the features of x and w how often each row was drawn, sum w = n, the centred cross moment is
    ``C = F_x diag(w) F_y^T - (F_x w) (F_y w)^T / n`` and ``HSIC = sum_ab s_a t_b C_ab^2 / (n - 1)^2``. Bandwidths and
    ranges are those of the whole table, so that the kernel is the same in all resamples.

    Parameters
    ----------
    whole : Dependence
        First order of the whole table.
    features : ndarray, shape (total rank, n)
        Features of all variables, then of all sums X_j + X_k, j <= k.
    signs : ndarray, shape (total rank,)
        The sign of each feature.
    starts : ndarray of int
        Where the features of each variable or sum begin.
    """

    def __init__(self, whole: Dependence, features: np.ndarray, signs: np.ndarray, starts: np.ndarray) -> None:
        self._whole = whole
        self._features = features
        self._signs = signs
        self._starts = starts

    @classmethod
    def of(cls, X: Any, *, kernel: Any, bandwidth: str | float, memory: str | int) -> Resampled | None:
        """Build the features; None if some column has none, or they do not fit into the memory."""
        table = read_table(X)
        whole = measure_dependence(table, kernel=kernel, bandwidth=bandwidth, order=1)
        problem = pose(table, kernel, bandwidth, "sum", memory, None, None)
        d = problem.rows.width
        with one_blas_thread():
            try:
                path = choose_path(problem, "lowrank", [combinations(d, 1), combinations(d, 2)])
            except InputError:
                return None
            found = [*path.features(combinations(d, 1)), *path.features(combinations(d, 2))]
            kept = [one for one in found if one is not None and one.rank > 0]
            ranks = [one.rank for one in kept]
            if len(kept) < len(found) or 3 * 8 * sum(ranks) * problem.rows.count > problem.memory:
                return None
            everything = problem.rows.block(slice(None))
            features = np.concatenate([one.values(everything) for one in kept])
        return cls(whole, features, np.concatenate([one.signs for one in kept]), np.cumsum([0, *ranks[:-1]]))

    def dependence(self, counts: np.ndarray) -> Dependence:
        """Dependence of the resample in which row t occurs ``counts[t]`` times; p-values are not adapted."""
        d, n = len(self._whole.names), len(counts)
        children = slice(0, self._starts[d])
        left = self._features[children] * counts
        totals = self._features @ counts
        cross = left @ self._features.T - np.outer(totals[children], totals) / n
        cross *= cross
        cross *= self._signs
        cross *= self._signs[children, None]
        sums = np.add.reduceat(np.add.reduceat(cross, self._starts[:d], axis=0), self._starts, axis=1) / (n - 1) ** 2
        first = (sums[:, :d] + sums[:, :d].T) / 2
        second = np.empty((d, d, d))
        j, k = np.triu_indices(d)
        second[:, j, k] = second[:, k, j] = sums[:, d:]
        return replace(self._whole, first=first, higher={2: second}, source=None)


def reading_of(learner: Any) -> dict[str, Any]:
    """Options of ``read_table`` that a learner carries.

    Parameters
    ----------
    learner : estimator

    Returns
    -------
    dict

    Examples
    --------
    >>> from dagtune import OptimalTuning
    >>> reading_of(OptimalTuning(drop_constant=True))
    {'drop_constant': True}
    """
    return {name: getattr(learner, name) for name in ("drop_constant", "categorical") if hasattr(learner, name)}


def bootstrap(
    learner: Any,
    X: Any,
    n_samples: int = 100,
    *,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> EdgeConfidence:
    """Fit a learner to many tables whose rows are drawn with replacement, and count how often each edge is found.

    Every resample has its own seed for its rows and for the learner, so the result does not depend on ``n_jobs``. A
    resample in which a column is constant is drawn again. A learner may have a method ``_relearner(table)``: the
    function that it returns learns from counts of the rows, which is faster.

    Parameters
    ----------
    learner : estimator
        It is cloned for each resample.
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    n_samples : int
        Number of resamples.
    random_state : int, Generator, RandomState or SeedSequence, optional
        Seed of all resamples.
    n_jobs : int, optional
        Processes, as in joblib.
    progress : callable, optional
        Called as ``progress("bootstrap", share)`` after each resample.

    Returns
    -------
    EdgeConfidence

    Raises
    ------
    InputError
        If the table can't be used, or a column is constant in nearly every resample.

    References
    ----------
    Friedman, Goldszmidt and Wyner 1999, "Data analysis with Bayesian networks: a bootstrap approach".

    Examples
    --------
    >>> from dagtune import OptimalTuning
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = bootstrap(OptimalTuning(), np.column_stack([x, x.sum(axis=1)]), 5, random_state=0)
    >>> found.n_samples, found.probability.shape
    (5, (3, 3))
    """
    n_samples = check_count("n_samples", n_samples)
    table = read_table(X, **reading_of(learner))
    seeds = _seeds(random_state, n_samples)
    one = clone(learner)
    if "progress" in one.get_params():
        one.set_params(progress=None)  # one report for all resamples, not one from each
    if "categorical" in one.get_params():
        one.set_params(categorical=table.categorical)  # without those left out as constant
    relearn = one._relearner(table) if hasattr(one, "_relearner") else None
    graphs: list[np.ndarray] = []
    redrawn = 0
    fitted = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_once)(one, relearn, table, seed) for seed in seeds
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
    """Independent seeds, one for each resample."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    if isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**63))
    if not isinstance(random_state, np.random.SeedSequence):
        random_state = np.random.SeedSequence(random_state)
    return random_state.spawn(count)


def _fit_once(
    learner: Any,
    relearn: Callable[[np.ndarray, int], np.ndarray] | None,
    table: Table,
    seed: np.random.SeedSequence,
) -> tuple[np.ndarray, int]:
    """The boolean matrix learned from one resample, and how often it had to be drawn again."""
    rng = np.random.default_rng(seed)
    values, n = table.values, table.count
    drawn, again = rng.integers(n, size=n), 0
    while (constant := values[drawn].max(axis=0) == values[drawn].min(axis=0)).any():
        if again == _PATIENCE:
            raise InputError(
                f"column {table.names[int(constant.argmax())]!r} varies so rarely that it was constant in {_PATIENCE} "
                "resamples in a row: drop it, or add rows"
            )
        drawn, again = rng.integers(n, size=n), again + 1
    own_seed = int(rng.integers(2**31))
    if relearn is not None:
        return relearn(np.bincount(drawn, minlength=n).astype(np.float64), own_seed), again
    learner = clone(learner)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=own_seed)
    learner.fit(table.take(drawn).to_frame())
    return learner.adjacency_matrix_.to_numpy().astype(bool), again
