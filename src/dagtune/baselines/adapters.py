"""Methods of other packages, for users who have them; each adapter converts matrices to our convention, once.

No extra of dagtune installs these packages: causal-learn is heavy, lingam pins an old SciPy, dagma brings torch. The
error for a missing one holds the ``pip install`` line.

Every adapter takes the same parameters:

X : array (n, d), DataFrame, or path of a table
rng : int or numpy.random.Generator, optional
    Seed for all random draws.
time_limit : float, optional
    Seconds. A running library can't be stopped, so the limit is checked when it returns; a graph that comes too late
    is refused by :class:`dagtune.baselines.TimeLimitError`.
progress : callable, optional
    Called with one line of text.
**options
    Handed on to the library.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dagtune.baselines.common import Learned, missing_package
from dagtune.baselines.notears import cut_notes, cut_to_dag
from dagtune.baselines.pdag import nearest_dag
from dagtune.graph import topological_order
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.tables import Table, read_table
from dagtune.validation import InputError

__all__ = ["learn_boss", "learn_dagma_linear", "learn_direct_lingam", "learn_grasp", "learn_pc", "learn_resit"]

_NO_EXTENSION = "no DAG extends the library's pattern: its edges were directed with the fewest contradictions"


def learn_pc(
    X: Any,
    *,
    rng: Any = None,
    alpha: float = 0.05,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Learned:
    """PC of causal-learn (Spirtes and Glymour 1991), with Fisher's z test at level ``alpha`` by default."""
    module = _load("causallearn.search.ConstraintBased.PC", "pc", "causal-learn")
    table, clock = read_table(X), Clock("pc", time_limit, progress)
    settings = {"alpha": alpha, **options}
    with one_blas_thread():
        found = module.pc(table.values, **{"show_progress": False, **settings})
    return _from_pattern(found.G, table, clock, settings)


def learn_grasp(
    X: Any, *, rng: Any = None, time_limit: float | None = None, progress: Progress | None = None, **options: Any
) -> Learned:
    """GRaSP of causal-learn (Lam, Andrews and Ramsey 2022) with its BIC; ``rng`` draws the first order."""
    module = _load("causallearn.search.PermutationBased.GRaSP", "grasp", "causal-learn")
    table, clock = read_table(X), Clock("grasp", time_limit, progress)
    with one_blas_thread(), _seeded(rng):
        found = module.grasp(table.values, **{"verbose": False, **options})
    return _from_pattern(found, table, clock, options)


def learn_boss(
    X: Any, *, rng: Any = None, time_limit: float | None = None, progress: Progress | None = None, **options: Any
) -> Learned:
    """BOSS of causal-learn (Andrews et al. 2023) with its BIC; ``rng`` shuffles the variables."""
    module = _load("causallearn.search.PermutationBased.BOSS", "boss", "causal-learn")
    table, clock = read_table(X), Clock("boss", time_limit, progress)
    with one_blas_thread(), _seeded(rng):
        found = module.boss(table.values, **{"verbose": False, **options})
    return _from_pattern(found, table, clock, options)


def learn_direct_lingam(
    X: Any, *, rng: Any = None, time_limit: float | None = None, progress: Progress | None = None, **options: Any
) -> Learned:
    """DirectLiNGAM of lingam (Shimizu et al. 2011); its adaptive lasso selects the edges."""
    module = _load("lingam", "direct-lingam", "lingam")
    table, clock = read_table(X), Clock("direct-lingam", time_limit, progress)
    with one_blas_thread():
        model = module.DirectLiNGAM(random_state=_seed(rng), **options)
        model.fit(table.values)
    return _from_lingam(model, table, clock, options)


def learn_resit(
    X: Any,
    *,
    rng: Any = None,
    regressor: Any = None,
    alpha: float = 0.01,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Learned:
    """RESIT of lingam (Peters et al. 2014); by default with a random forest of depth 4, as in lingam's example."""
    module = _load("lingam", "resit", "lingam")
    table, clock = read_table(X), Clock("resit", time_limit, progress)
    seed = _seed(rng)
    if regressor is None:
        regressor = importlib.import_module("sklearn.ensemble").RandomForestRegressor(max_depth=4, random_state=seed)
    with one_blas_thread():
        model = module.RESIT(regressor=regressor, random_state=seed, alpha=alpha, **options)
        model.fit(table.values)
    return _from_lingam(model, table, clock, {"regressor": repr(regressor), "alpha": alpha, **options})


def learn_dagma_linear(
    X: Any,
    *,
    rng: Any = None,
    lambda1: float = 0.03,
    threshold: float = 0.3,
    time_limit: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Learned:
    """Linear DAGMA of dagma (Bello et al. 2022) with least squares and dagma's defaults; ``rng`` is not used."""
    module = _load("dagma.linear", "dagma-linear", "dagma")
    table, clock = read_table(X), Clock("dagma-linear", time_limit, progress)
    with one_blas_thread():
        # dagma centres what it is given in place: hand it a copy
        W = module.DagmaLinear(loss_type="l2").fit(
            table.values.copy(), lambda1=lambda1, w_threshold=threshold, **options
        )
    clock.check("after the library returned")
    graph, cut_at = cut_to_dag(np.asarray(W), threshold)
    return Learned(
        method="dagma-linear",
        graph=graph,
        names=table.names,
        order=topological_order(graph),
        seconds=clock.seconds,
        weights=np.where(graph, W, 0.0),
        settings={"lambda1": lambda1, "threshold": threshold, "cut_at": cut_at, **options},
        notes=cut_notes(threshold, cut_at),
    )


# --- the border -------------------------------------------------------------------------------------------------------


def _load(module: str, method: str, package: str) -> Any:
    """The library's module; a missing one raises the error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_package(method, package) from error


def _from_pattern(found: Any, table: Table, clock: Clock, settings: dict[str, Any]) -> Learned:
    """Learned of a causal-learn graph.

    Its matrix holds the mark at the row's end of the edge: -1 a tail, 1 an arrowhead. i -> j is [i, j] = -1 and
    [j, i] = 1; two tails are undirected, and two arrowheads a contradiction, which is taken as undirected.
    """
    clock.check("after the library returned")
    marks = np.asarray(found.graph)
    pattern = (marks == -1) | ((marks == 1) & (marks.T == 1))
    contradicted = int(np.triu((marks == 1) & (marks.T == 1)).sum())
    graph, consistent = nearest_dag(pattern)
    notes: tuple[str, ...] = () if consistent else (_NO_EXTENSION,)
    if contradicted:
        notes += (f"{contradicted} edges came with two arrowheads and were taken as undirected",)
    return Learned(
        method=clock.method,
        graph=graph,
        names=table.names,
        order=topological_order(graph),
        seconds=clock.seconds,
        cpdag=pattern,
        settings=settings,
        notes=notes,
    )


def _from_lingam(model: Any, table: Table, clock: Clock, settings: dict[str, Any]) -> Learned:
    """Learned of a fitted lingam model, whose matrix is child by parent: transposed here, and nowhere else."""
    clock.check("after the library returned")
    weights = np.nan_to_num(np.asarray(model.adjacency_matrix_, dtype=np.float64)).T
    order = np.asarray(model.causal_order_, dtype=np.intp)
    if sorted(order.tolist()) != list(range(len(table.names))):
        raise InputError(f"{clock.method} gave an order of {len(order)} of {len(table.names)} columns: update lingam")
    return Learned(
        method=clock.method,
        graph=weights != 0,
        names=table.names,
        order=order,
        seconds=clock.seconds,
        weights=weights,
        settings=settings,
    )


def _seed(rng: Any) -> int:
    """A seed for a library that wants a whole number."""
    return int(np.random.default_rng(rng).integers(2**31))


@contextmanager
def _seeded(rng: Any) -> Iterator[None]:
    """Seed Python's global generator, which causal-learn uses, and restore its state afterwards."""
    before = random.getstate()
    random.seed(_seed(rng))
    try:
        yield
    finally:
        random.setstate(before)
