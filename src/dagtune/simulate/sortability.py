"""How far a benchmark can be won by sorting (Reisach et al. 2021, 2023).

1 when the score rises along every causal path, 0 when it falls, 1/2 when it says nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import as_matrix, names_of, topological_order
from dagtune.tables import Table, as_frame, read_table
from dagtune.validation import InputError

__all__ = ["r2_sortability", "var_sortability"]


def var_sortability(X: Any, graph: Any) -> float:
    """Share of causal paths i -> ... -> j along which the variance rises from i to j, ties counted half.

    sum_k #{(i, j) joined by a path of k edges, Var X_i < Var X_j} / sum_k #{(i, j) joined by a path of k edges}: a pair
    counts once for each length at which it is joined. nan for a graph without edges.
    """
    values, matrix = _table_and_graph(X, graph)
    return _agreement(matrix, values.var(axis=0))


def r2_sortability(X: Any, graph: Any) -> float:
    """Share of causal paths i -> ... -> j along which R^2 rises, ties counted half; R^2 of each variable regressed
    linearly on all the others, so that no change of scale plays a part.
    """
    values, matrix = _table_and_graph(X, graph)
    return _agreement(matrix, _r_squared(values))


def _agreement(matrix: np.ndarray, score: np.ndarray) -> float:
    """Weighted share of joined pairs whose score rises, over path lengths 1 to d - 1; ties count half."""
    rise = score[None, :] - score[:, None]
    won = np.where(rise > 0, 1.0, np.where(rise == 0, 0.5, 0.0))
    step = matrix.astype(np.float64)
    joined = step
    agreed = paths = 0.0
    while joined.any():
        agreed += float(won[joined > 0].sum())
        paths += float((joined > 0).sum())
        joined = np.minimum(joined @ step, 1.0)
    return agreed / paths if paths else float("nan")


def _r_squared(values: np.ndarray) -> np.ndarray:
    """R^2_j = 1 - 1 / (C^-1)_jj with C the correlation matrix; by least squares where C can't be inverted safely."""
    centred = values - values.mean(axis=0)
    centred /= np.sqrt((centred**2).sum(axis=0))
    correlation = centred.T @ centred
    if len(values) > values.shape[1] and np.linalg.cond(correlation) < 1e10:
        return 1.0 - 1.0 / np.diag(np.linalg.inv(correlation))
    fits = np.empty(values.shape[1])
    for j in range(len(fits)):
        others = np.delete(centred, j, axis=1)
        fits[j] = 1.0 - ((centred[:, j] - others @ np.linalg.lstsq(others, centred[:, j], rcond=None)[0]) ** 2).sum()
    return fits


def _table_and_graph(X: Any, graph: Any) -> tuple[np.ndarray, np.ndarray]:
    """Values and DAG with columns in the graph's order; names are matched when both sides have them."""
    data = X if isinstance(X, Table) else as_frame(X)
    table = read_table(X if data is None else data)
    matrix = as_matrix(graph)
    topological_order(matrix)
    names = names_of(graph)
    values = table.values
    if len(matrix) != values.shape[1]:
        raise InputError(
            f"the graph has {len(matrix)} nodes and the data {values.shape[1]} columns: give the same ones"
        )
    if names is not None and data is not None:
        if set(names) != set(table.names):
            raise InputError(
                f"graph and data name different variables ({', '.join(sorted(set(names) ^ set(table.names)))}): "
                "rename them alike"
            )
        values = values[:, [table.names.index(name) for name in names]]
    return values, matrix
