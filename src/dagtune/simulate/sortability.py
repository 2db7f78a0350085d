"""How much of the causal order sorting the variables reveals.

1 if the score rises along every causal path, 0 if it always falls, 1/2 if it says nothing about the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import as_matrix, names_of, topological_order
from dagtune.tables import Table, as_frame, read_table
from dagtune.validation import InputError

__all__ = ["r2_sortability", "var_sortability"]


def var_sortability(X: Any, graph: Any) -> float:
    """Share of causal paths along which the variance rises.

    sum_k #{(i, j) joined by a path of k edges, Var X_i < Var X_j} / sum_k #{(i, j) joined by a path of k edges}, where
    ties count half. A pair counts once for each path length that joins it.

    Parameters
    ----------
    X : array-like, DataFrame or path of a table
        The data.
    graph : array-like, DataFrame or networkx.DiGraph
        The true DAG; ``A[i, j]`` means ``i -> j``. Names are matched if both sides have them.

    Returns
    -------
    float
        From 0 to 1; nan for a graph without edges.

    Raises
    ------
    InputError
        If the graph has a cycle, or graph and data have different variables.

    References
    ----------
    A. Reisach, C. Seiler, S. Weichwald: Beware of the simulated DAG! Causal discovery benchmarks may be easy to game.
    NeurIPS 2021.

    Examples
    --------
    >>> var_sortability([[1.0, 2.0], [2.0, 5.0], [3.0, 1.0]], [[0, 1], [0, 0]])
    1.0
    """
    values, matrix = _table_and_graph(X, graph)
    return _agreement(matrix, values.var(axis=0))


def r2_sortability(X: Any, graph: Any) -> float:
    """Share of causal paths along which R^2 rises, where R^2 is that of each variable regressed linearly on all others.

    Unlike the variance, R^2 does not depend on the scale of the columns. Ties count half.

    Parameters
    ----------
    X : array-like, DataFrame or path of a table
        The data.
    graph : array-like, DataFrame or networkx.DiGraph
        The true DAG; ``A[i, j]`` means ``i -> j``. Names are matched if both sides have them.

    Returns
    -------
    float
        From 0 to 1; nan for a graph without edges.

    Raises
    ------
    InputError
        If the graph has a cycle, or graph and data have different variables.

    References ---------- A. Reisach, M. Tami, C. Seiler, A. Chambaz, S. Weichwald: A scale-invariant sorting criterion
    to find a causal order in additive noise models. NeurIPS 2023.

    Examples
    --------
    >>> from dagtune.simulate import sample
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> r2_sortability(sample(chain, "linear", n=1000, rng=0), chain)
    0.6666666666666666
    """
    values, matrix = _table_and_graph(X, graph)
    return _agreement(matrix, _r_squared(values))


def _agreement(matrix: np.ndarray, score: np.ndarray) -> float:
    """Share of joined pairs whose score rises, over path lengths 1 to d - 1; ties count half."""
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
    """R^2_j = 1 - 1 / (C^-1)_jj with the correlation matrix C; by least squares if C is ill-conditioned."""
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
    """Values and DAG, columns in the order of the graph; names are matched if both sides have them."""
    data = X if isinstance(X, Table) else as_frame(X)
    table = read_table(X if data is None else data)
    matrix = as_matrix(graph)
    topological_order(matrix)
    names = names_of(graph)
    values = table.values
    if len(matrix) != values.shape[1]:
        raise InputError(
            f"the graph has {len(matrix)} nodes and the data {values.shape[1]} columns: they must be the same variables"
        )
    if names is not None and data is not None:
        if set(names) != set(table.names):
            raise InputError(
                f"graph and data have different variables ({', '.join(sorted(set(names) ^ set(table.names)))}): "
                "rename them to match"
            )
        values = values[:, [table.names.index(name) for name in names]]
    return values, matrix
