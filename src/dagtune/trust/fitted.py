"""What a result keeps of the table it was learned from: fitted mechanisms, sums and findings, but no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dagtune.effects.mechanisms import Mechanism
from dagtune.effects.simulator import Simulator, fit_simulator
from dagtune.effects.stretches import Origins, Stretch
from dagtune.effects.summary import Summary, summarize
from dagtune.parallel import one_blas_thread
from dagtune.regression import Categories, Curve, Gram
from dagtune.tables import Table
from dagtune.trust.hidden import HiddenCause, HiddenCauseTest, draw_noises, find_hidden_causes
from dagtune.trust.independences import Independence, check_independences

__all__ = ["LEVELLED", "Fitted", "Workings", "fit_all", "pack", "unpack"]

#: Kinds of columns that have a level, which a group may shift.
LEVELLED = ("continuous", "date")
#: Fewer rows in which nothing was acted on, and nothing is tested.
_FEWEST_ALIKE = 100


@dataclass(frozen=True, eq=False)
class Workings:
    """What a result has in memory after a fit, and does not save.

    Attributes
    ----------
    table : Table
        What was learned from.
    origins : Origins
        Groups of its rows, and experiments.
    """

    table: Table
    origins: Origins = field(default_factory=Origins)

    def alike(self) -> Table:
        """The rows in which nothing was acted on, numbers less the mean of their group and plus that of all."""
        rows = self.origins.untouched()
        X, group = self.table.values[rows].copy(), self.origins.group
        if group is not None and len(X):
            group = np.unique(group[rows], return_inverse=True)[1]
            times = np.bincount(group)
            for j in np.flatnonzero([kind in LEVELLED for kind in self.table.kinds]):
                mean = np.bincount(group, weights=X[:, j]) / times
                X[:, j] += X[:, j].mean() - mean[group]
        return self.table.with_values(X)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What is fitted to the learned graph, and what was tested.

    Attributes
    ----------
    simulator : Simulator
        The learned graph with its mechanisms.
    hidden_cause_test : HiddenCauseTest or None
        Whether anything seems to be hidden; None if that can't be told.
    hidden_causes : tuple of HiddenCause
        Of all pairs.
    independences : tuple of Independence
        Of all missing edges.
    """

    simulator: Simulator
    hidden_cause_test: HiddenCauseTest | None
    hidden_causes: tuple[HiddenCause, ...]
    independences: tuple[Independence, ...]


def fit_all(workings: Workings, graph: np.ndarray, order: Sequence[int]) -> Fitted:
    """Fit the mechanisms of a graph to the table, and test what the graph implies.

    Parameters
    ----------
    workings : Workings
        The table, groups and experiments. Tests are made on rows in which nothing was acted on, without the levels of
        groups.
    graph : (d, d) array of bool
        The DAG; ``A[i, j]`` means ``i -> j``.
    order : sequence of int
        An order of the graph, causes first.

    Returns
    -------
    Fitted
    """
    table, origins = workings.table, workings.origins
    with one_blas_thread():
        summary = summarize(table, origins=origins)
        simulator = fit_simulator(summary, table, graph, origins)
        if not origins:
            return Fitted(simulator, *_tests(table, summary, graph, order))
        alike = workings.alike()
        spread = np.ptp(alike.values, axis=0) if alike.count else np.zeros(1)
        if alike.count < _FEWEST_ALIKE or not (spread > 1e-9 * np.ptp(table.values, axis=0)).all():
            return Fitted(simulator, None, (), ())  # experiments left too little to test
        return Fitted(simulator, *_tests(alike, summarize(alike), graph, order))


def _tests(
    table: Table, summary: Summary, graph: np.ndarray, order: Sequence[int]
) -> tuple[HiddenCauseTest | None, tuple[HiddenCause, ...], tuple[Independence, ...]]:
    """What the graph implies, tested on rows that count alike."""
    test, hidden = find_hidden_causes(*draw_noises(table, graph), graph, summary.names)
    return test, hidden, check_independences(summary, table.values, graph, order)


# --- on disk ----------------------------------------------------------------------------------------------------------


def pack(fitted: Fitted) -> tuple[dict[str, Any], np.ndarray]:
    """A fit as JSON values and one array of numbers; :func:`unpack` reads both."""
    simulator = fitted.simulator
    summary, gram = simulator.summary, simulator.summary.gram
    arrays = [gram.products[np.tril_indices(len(gram.products))], gram.cross, gram.roughness, gram.shift, gram.scale]
    arrays += [summary.quantiles, *summary.values]
    for curve in gram.curves:
        parts = (curve.codes, curve.turn) if isinstance(curve, Categories) else (curve.knots, curve.turn, curve.centre)
        arrays += parts
    for stretch in summary.stretches:
        arrays += [stretch.mean, stretch.scatter[np.tril_indices(len(stretch.scatter))]]
    for mechanism in simulator.mechanisms:
        arrays += [mechanism.weights, mechanism.spread, mechanism.noise, mechanism.values]
    described = {
        "rows": gram.n,
        "kinds": list(summary.kinds),
        "categorical": summary.categorical.tolist(),
        "starts": gram.starts.tolist(),
        "groups": summary.groups,
        "labels": {name: list(levels) for name, levels in summary.labels.items()},
        "stretches": [[list(one.acted), one.rows, one.levels] for one in summary.stretches],
        "products": [mechanism.products for mechanism in simulator.mechanisms],
        "shapes": [list(array.shape) for array in arrays],
        "hidden_cause_test": None if fitted.hidden_cause_test is None else fitted.hidden_cause_test._asdict(),
        "hidden_causes": [one._asdict() for one in fitted.hidden_causes],
        "independences": [one._asdict() for one in fitted.independences],
    }
    return described, np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


def unpack(described: Mapping[str, Any], numbers: np.ndarray, names: tuple[str, ...], graph: np.ndarray) -> Fitted:
    """The fit that was packed; ValueError, KeyError or TypeError if it does not fit together."""
    shapes = [tuple(int(size) for size in shape) for shape in described["shapes"]]
    sizes = [int(np.prod(shape)) for shape in shapes]
    if numbers.dtype != np.float64 or numbers.ndim != 1 or any(size < 0 for size in sizes):
        raise ValueError("the fitted mechanisms are not numbers")
    if sum(sizes) != len(numbers) or not np.isfinite(numbers).all():
        raise ValueError("the fitted mechanisms do not fit their description")
    d, ends = len(names), np.cumsum(sizes)
    arrays = iter(numbers[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes))
    categorical = np.array(described["categorical"], dtype=bool)
    starts = np.array(described["starts"], dtype=np.int64)
    if (
        len(categorical) != d
        or len(starts) != d + 1
        or len(described["kinds"]) != d
        or starts[0]
        or np.any(np.diff(starts) < 1)
    ):
        raise ValueError("the fitted mechanisms do not fit the names")
    try:
        half, cross, roughness, shift, scale, quantiles = (next(arrays) for _ in range(6))
        values = tuple(next(arrays) for _ in range(d))
        D = int(starts[-1])
        products = _symmetric(half, D)
        curves: list[Curve | Categories] = []
        for j in range(d):
            if categorical[j]:
                curves.append(Categories(next(arrays), next(arrays)))
            else:
                knots, turn, centre = (next(arrays) for _ in range(3))
                curves.append(Curve(knots, turn, centre, roughness[starts[j] : starts[j + 1]]))
        stretches = [
            _stretch(one, next(arrays), next(arrays), D + d, d) for one in described.get("stretches", ())
        ]  # results of the version before have none
        parents = [tuple(np.flatnonzero(graph[:, j]).tolist()) for j in range(d)]
        mechanisms = []
        for j, with_products in enumerate(described["products"]):
            weights, spread, noise, own = (next(arrays) for _ in range(4))
            mechanisms.append(Mechanism(j, parents[j], weights, bool(with_products), spread, noise, own))
    except (StopIteration, IndexError) as error:
        raise ValueError("the fitted mechanisms are not complete") from error
    if cross.shape != (D, d) or roughness.shape != (D,) or shift.shape != (d,) or scale.shape != (d,):
        raise ValueError("the fitted mechanisms do not fit the names")
    if len(mechanisms) != d or quantiles.shape[0] != d:
        raise ValueError("the fitted mechanisms do not fit the names")
    gram = Gram(int(described["rows"]), products, cross, roughness, starts, shift, scale, tuple(curves))
    kinds, groups = tuple(map(str, described["kinds"])), int(described.get("groups", 0))
    labels = _labels(described.get("labels", {}), names, values)
    summary = Summary(names, kinds, categorical, gram, quantiles, values, tuple(stretches), groups, labels)
    hidden = [HiddenCause(**{**one, "pair": tuple(one["pair"])}) for one in described["hidden_causes"]]
    independences = [
        Independence(**{**one, "pair": tuple(one["pair"]), "given": tuple(one["given"])})
        for one in described["independences"]
    ]
    known = described.get("hidden_cause_test")
    test = None if known is None else HiddenCauseTest(**known)
    return Fitted(Simulator(summary, graph, tuple(mechanisms)), test, tuple(hidden), tuple(independences))


def _labels(
    described: Mapping[str, Any], names: tuple[str, ...], values: tuple[np.ndarray, ...]
) -> dict[str, tuple[str, ...]]:
    """What codes stand for, if there is a name for each; results of the version before have none."""
    labels = {name: tuple(levels) for name, levels in described.items()}
    for name, levels in labels.items():
        codes = values[names.index(name)][0] if name in names else ()
        if not all(isinstance(level, str) for level in levels) or not all(code in range(len(levels)) for code in codes):
            raise ValueError("the names of levels do not fit the columns")
    return labels


def _symmetric(half: np.ndarray, size: int) -> np.ndarray:
    """The matrix of which ``half`` is the lower triangle."""
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = half
    return matrix + np.tril(matrix, -1).T


def _stretch(described: Sequence[Any], mean: np.ndarray, half: np.ndarray, size: int, d: int) -> Stretch:
    """A stretch of rows that was packed."""
    acted, rows, levels = tuple(map(int, described[0])), int(described[1]), int(described[2])
    if mean.shape != (size,) or not all(0 <= j < d for j in acted) or not 1 <= levels <= rows:
        raise ValueError("a stretch of rows does not fit the names")
    return Stretch(acted, rows, levels, mean, _symmetric(half, size))
