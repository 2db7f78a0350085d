"""Edge confidence: how often an edge is found again when rows are drawn with replacement, or a column is left out.

A resample only changes how often each row counts. So the features of all columns and sums, most of the engine's work,
are built once (:class:`Resampled`), and each resample costs one weighted product of them. Where that is not possible, a
clone of the learner is fitted to the rows that were drawn.

If i causes j, it still does in a table that lacks another column. A learner that then says the reverse contradicts
itself, and at least one of its two graphs is wrong: that needs no true graph to be seen (Faller et al. 2024,
"Self-compatibility: evaluating causal discovery without ground truth").
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from dagtune.engine.dependence import Dependence, measure_dependence
from dagtune.engine.paths import choose_path
from dagtune.engine.problem import combinations, pose
from dagtune.graph import reachability
from dagtune.interventions import Experiments
from dagtune.knowledge import Knowledge
from dagtune.parallel import one_blas_thread
from dagtune.tables import Table, draw_rows, map_there, read_table, standardized
from dagtune.text import printable
from dagtune.validation import InputError, check_count

__all__ = [
    "ColumnStability",
    "EdgeConfidence",
    "Resampled",
    "bootstrap",
    "drop_columns",
    "read_for",
    "reading_of",
]

#: Options of reading that a learner may carry as parameters of the same names.
_READING = [
    name
    for name in inspect.signature(read_table).parameters
    if name not in ("data", "names", "min_rows", "min_columns", "infer", "progress")
]
#: What is done once a table is read; names that were left out are not there any more.
_AS_READ: dict[str, Any] = {
    "columns": None,
    "drop": (),
    "standardize": False,
    "categorical": (),
    "groups": None,
    "sample_weight": None,
}
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
    graphs : (n_samples, d, d) array of bool or None
        The graph learned from each resample; ``A[i, j]`` means ``i -> j``.
    """

    probability: pd.DataFrame
    adjacency: pd.DataFrame
    path: pd.DataFrame
    n_samples: int
    redrawn: int
    graphs: np.ndarray | None = None

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


@dataclass(frozen=True)
class ColumnStability:
    """What becomes of each edge if another column is left out.

    Parameters
    ----------
    edges : DataFrame
        Columns cause, effect, kept (share of the fits without another column in which the cause still comes before the
        effect, on some path), turned (share with a path from the effect to the cause) and neither; the least stable
        first. Only edges whose direction is decided.
    columns : DataFrame
        Columns dropped and turned: how many of the edges between others turn around without it.
    """

    edges: pd.DataFrame
    columns: pd.DataFrame

    @property
    def turned(self) -> bool:
        """Whether any edge turns around."""
        return bool((self.edges["turned"] > 0).any())

    @property
    def words(self) -> str:
        """The same as a sentence."""
        turned = self.edges[self.edges["turned"] > 0]
        held = f"{len(self.edges) - len(turned)} of {len(self.edges)} decided edges never turn around"
        told = f"without one of {len(self.columns)} columns at a time {held}"
        if not len(turned):
            return told
        some = [f"{printable(one.cause)} -> {printable(one.effect)}" for one in turned.head(4).itertuples()]
        return f"{told}; these do: {', '.join(some)}{', ...' if len(turned) > 4 else ''}"


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
    >>> reading_of(OptimalTuning(drop_constant=True))["drop_constant"]
    True
    """
    given = {name: getattr(learner, name) for name in _READING if hasattr(learner, name)}
    experiments = Experiments.of(getattr(learner, "experiments", None))
    if experiments:
        given["conditions"] = experiments.conditions
    return {**given, "infer": True} if "categorical" in given else given


def read_for(learner: Any, X: Any, **also: Any) -> Table:
    """The table that a learner learns from: read and scaled as its parameters say.

    Parameters
    ----------
    learner : estimator
    X : array-like of shape (n, d), DataFrame, path or Table
        The data.
    also : keywords
        Those of :func:`dagtune.tables.read_table` in place of the learner's.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the data can't be used.

    Examples
    --------
    >>> from dagtune import OptimalTuning
    >>> read_for(OptimalTuning(drop="x1"), [[1, 1, 2], [2, 2, 4], [3, 5, 5]]).names
    ('x0', 'x2')
    """
    table = read_table(X, **reading_of(learner) | also)
    return standardized(table) if getattr(learner, "standardize", False) else table


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
        Processes, as in joblib; not used with a client of a Dask cluster, whose workers then do the work.
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
    table = read_for(learner, X)
    seeds = _seeds(random_state, n_samples)
    one = clone(learner)
    if "progress" in one.get_params():
        one.set_params(progress=None)  # one report for all resamples, not one from each
    as_read = dict(_AS_READ)
    if "kinds" in one.get_params():  # a resample must not change them
        as_read["kinds"] = dict(zip(table.names, table.kinds))
    one.set_params(**{name: value for name, value in as_read.items() if name in one.get_params()})
    relearn = one._relearner(table) if hasattr(one, "_relearner") and table.weights is None else None
    graphs: list[np.ndarray] = []
    redrawn = 0
    for matrix, again in _each(partial(_fit_once, one, relearn), table, seeds, n_jobs):
        graphs.append(matrix)
        redrawn += again
        if progress is not None:
            progress("bootstrap", len(graphs) / n_samples)
    edges = np.array(graphs)
    paths = np.array([reachability(matrix) for matrix in graphs])

    def share(which: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame(which.mean(axis=0), index=list(table.names), columns=list(table.names))

    return EdgeConfidence(
        share(edges),
        share(edges | edges.transpose(0, 2, 1)),
        share(paths),
        n_samples=n_samples,
        redrawn=redrawn,
        graphs=edges,
    )


def drop_columns(
    learner: Any,
    X: Any,
    *,
    most: int = 30,
    n_jobs: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> ColumnStability:
    """Fit a learner again without each column in turn, and see which edges keep their direction.

    Parameters
    ----------
    learner : estimator
        It is cloned for each fit.
    X : array-like of shape (n, d), DataFrame, path or Table
        The data, of at least three columns.
    most : int
        Leave out no more than so many columns, those with the most edges.
    n_jobs : int, optional
        Processes, as in joblib; not used with a client of a Dask cluster, whose workers then do the work.
    progress : callable, optional
        Called as ``progress("without a column", share)`` after each fit.

    Returns
    -------
    ColumnStability

    Raises
    ------
    InputError
        If the table can't be used, or has fewer than three columns.

    Examples
    --------
    >>> from dagtune import OptimalTuning
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = drop_columns(OptimalTuning(), np.column_stack([x, x.sum(axis=1)]))
    >>> list(found.edges.columns)
    ['cause', 'effect', 'kept', 'turned', 'neither']
    """
    table = read_for(learner, X)
    if table.width < 3:
        raise InputError(f"the table has {table.width} columns: without one of them there is nothing to compare")
    one = clone(learner)
    settled: dict[str, Any] = {**_AS_READ, "progress": None}
    if getattr(one, "roots", ()):
        settled |= {"knowledge": Knowledge.of(one.knowledge).with_roots(one.roots), "roots": ()}
    one.set_params(**{name: value for name, value in settled.items() if name in one.get_params()})
    whole = clone(one).fit(table).result_
    matrix, names = whole.matrix, list(whole.names)
    degree = matrix.sum(axis=0) + matrix.sum(axis=1)
    dropped = np.sort(np.argsort(-degree, kind="stable")[: check_count("most", most)])
    open_pairs = {frozenset(pair) for pair in whole.undecided}
    edges = [(i, j) for i, j in np.argwhere(matrix).tolist() if frozenset((names[i], names[j])) not in open_pairs]
    kept, turned, fits = np.zeros((3, len(names), len(names)))
    columns = []
    for k, paths in zip(dropped, _each(partial(_paths_without, one), table, dropped.tolist(), n_jobs)):
        rest = np.flatnonzero(np.arange(len(names)) != k)
        fits[np.ix_(rest, rest)] += 1
        kept[np.ix_(rest, rest)] += paths
        turned[np.ix_(rest, rest)] += paths.T
        place = {int(i): at for at, i in enumerate(rest)}
        back = sum(bool(paths[place[j], place[i]]) for i, j in edges if k not in (i, j))
        columns.append((names[k], back))
        if progress is not None:
            progress("without a column", len(columns) / len(dropped))
    rows = [
        (names[i], names[j], kept[i, j] / fits[i, j], turned[i, j] / fits[i, j]) for i, j in edges if fits[i, j] > 0
    ]
    found = pd.DataFrame(rows, columns=["cause", "effect", "kept", "turned"])
    found["neither"] = 1 - found["kept"] - found["turned"]
    found = found.sort_values(["turned", "kept"], ascending=[False, True], kind="stable", ignore_index=True)
    by_column = pd.DataFrame(columns, columns=["dropped", "turned"])
    return ColumnStability(found, by_column.sort_values("turned", ascending=False, kind="stable", ignore_index=True))


def _paths_without(learner: Any, table: Table, column: int) -> np.ndarray:
    """Which variable leads to which in the graph learned without a column."""
    learner = clone(learner)
    if getattr(learner, "knowledge", None) is not None:
        learner.set_params(knowledge=_without(Knowledge.of(learner.knowledge), table.names[column]))
    return reachability(learner.fit(table.only(np.arange(table.width) != column)).result_.matrix)


def _without(known: Knowledge, name: str) -> Knowledge:
    """What is left of the knowledge if a variable is not in the table."""
    tiers = [[one for one in tier if one != name] for tier in known.tiers]
    return Knowledge(
        required=[edge for edge in known.required if name not in edge],
        forbidden=[edge for edge in known.forbidden if name not in edge],
        tiers=[tier for tier in tiers if tier],
        prior=[belief for belief in known.prior if name not in belief[:2]],
        roots=[root for root in known.roots if root != name],
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


def _each(work: Callable[..., Any], table: Table, items: Sequence[Any], n_jobs: int | None) -> Iterator[Any]:
    """``work(table, item)`` of each item, in order: on a cluster if there is one, else in processes here."""
    there = map_there(partial(work, table), items) if table.rows.in_memory else None
    if there is not None:
        return there
    return iter(Parallel(n_jobs=n_jobs, return_as="generator")(delayed(work)(table, item) for item in items))


def _fit_once(
    learner: Any,
    relearn: Callable[[np.ndarray, int], np.ndarray] | None,
    table: Table,
    seed: np.random.SeedSequence,
) -> tuple[np.ndarray, int]:
    """The boolean matrix learned from one resample, and how often it had to be drawn again."""
    rng = np.random.default_rng(seed)
    values, n = table.values, table.count
    drawn, again = draw_rows(table.together, n, rng), 0
    while (constant := values[drawn].max(axis=0) == values[drawn].min(axis=0)).any():
        if again == _PATIENCE:
            raise InputError(
                f"column {table.names[int(constant.argmax())]!r} varies so rarely that it was constant in {_PATIENCE} "
                "resamples in a row: drop it, or add rows"
            )
        drawn, again = draw_rows(table.together, n, rng), again + 1
    own_seed = int(rng.integers(2**31))
    if relearn is not None:
        return relearn(np.bincount(drawn, minlength=n).astype(np.float64), own_seed), again
    learner = clone(learner)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=own_seed)
    taken = table.take(drawn)
    done = Experiments.of(getattr(learner, "experiments", None))
    if done.rows and taken.conditions is not None:  # the condition of each row that was drawn
        learner.set_params(experiments=replace(done, rows=tuple(taken.conditions.words())))
    learner.fit(taken if "missing" in learner.get_params() else taken.to_frame())
    return learner.adjacency_matrix_.to_numpy().astype(bool), again
