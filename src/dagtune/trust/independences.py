"""What the graph says is independent, tested: for each missing edge, with the power the test had.

If i comes before j and there is no edge, the graph says that i and j are independent given the parents of j. Both are
regressed on those parents by sums of smooth functions; with the residuals r and s, ``sqrt(n) mean(r s) / std(r s)`` is
about normal if they are independent (the generalised covariance measure of Shah and Peters 2020). Holm's correction
over all missing edges. With a partial correlation rho the statistic's mean is about ``sqrt(n) rho std(r) std(s) /
std(r s)``: that gives the power, which is less where the residuals have heavy tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from dagtune.effects.summary import Summary
from dagtune.text import printable

__all__ = ["LEVEL", "WEAK", "Independence", "check_independences"]

#: Chance of a false alarm over all missing edges.
LEVEL = 0.05
#: The partial correlation for which the power is given: it explains 1 % of what is left.
WEAK = 0.1
#: Rows looked at, evenly spread.
_ROWS = 5000
#: A ridge, as a share of the functions' variance.
_RIDGE = 1e-3


class Independence(NamedTuple):
    """An independence that the graph implies, tested.

    Attributes
    ----------
    pair : tuple of str
        Two variables without an edge, the earlier first.
    given : tuple of str
        The parents of the later one.
    statistic : float
        About standard normal if they are independent.
    p_value : float
        Of independence.
    holds : bool
        The judgement, after allowing for the number of tests.
    power : float
        The probability that a partial correlation of 0.1 would have been found.
    detectable : float
        The partial correlation that would have been found with probability 0.8.
    words : str
        The same for a person.
    """

    pair: tuple[str, str]
    given: tuple[str, ...]
    statistic: float
    p_value: float
    holds: bool
    power: float
    detectable: float
    words: str


def check_independences(
    summary: Summary, X: np.ndarray, graph: np.ndarray, order: Sequence[int]
) -> tuple[Independence, ...]:
    """Test the independence behind each missing edge.

    Parameters
    ----------
    summary : Summary
        Of the table.
    X : (rows, d) array
        The table.
    graph : (d, d) array of bool
        The DAG; ``A[i, j]`` means ``i -> j``.
    order : sequence of int
        An order of the graph, causes first.

    Returns
    -------
    tuple of Independence
        The smallest p-value first. Pairs of which one is categorical with more than two values are tested by the worst
        of its functions.
    """
    X = X[np.unique(np.linspace(0, len(X) - 1, min(len(X), _ROWS)).astype(np.intp))]
    gram, n = summary.gram, len(X)
    F = [gram.curves[j].values(X[:, j] - gram.shift[j]) for j in range(len(graph))]
    lines = [F[j] if summary.categorical[j] else F[j][:1] for j in range(len(graph))]
    found = []
    for place, j in enumerate(order):
        before = [i for i in order[:place] if not graph[i, j]]
        if not before:
            continue
        parents = np.flatnonzero(graph[:, j])
        blocks = [lines[i] for i in (*before, j)]
        left = _left([F[k] for k in parents], np.vstack(blocks))
        ends = np.cumsum([len(block) for block in blocks])
        own = left[ends[-2] :]
        for i, start, end in zip(before, [0, *ends], ends[:-1]):
            products = (left[start:end, None] * own[None]).reshape(-1, n)
            spread = np.maximum(products.std(axis=1), 1e-300)
            z = products.mean(axis=1) / spread * np.sqrt(n)
            at = int(np.argmax(np.abs(z)))
            p = min(1.0, float(2 * special.ndtr(-abs(z[at]))) * len(z))
            size = (left[start:end].std(axis=1)[:, None] * own.std(axis=1)).ravel()[at]
            found.append((p, float(z[at]), int(i), int(j), parents, float(size / spread[at])))
    found.sort(key=lambda one: one[0])
    return tuple(_judged(summary.names, n, found))


def _left(causes: Sequence[np.ndarray], Y: np.ndarray) -> np.ndarray:
    """Residuals of the rows of Y on functions of the causes, each of mean 0."""
    Y = Y - Y.mean(axis=1, keepdims=True)
    if not causes:
        return Y
    F = np.vstack(list(causes))
    F = F - F.mean(axis=1, keepdims=True)
    A = F @ F.T / F.shape[1]
    return Y - np.linalg.solve(A + _RIDGE * np.eye(len(A)), F @ Y.T / F.shape[1]).T @ F


def _judged(names: Sequence[str], n: int, found: Sequence[tuple]) -> list[Independence]:
    judged, falls = [], True
    cut = -special.ndtri(LEVEL / 2 / max(len(found), 1))
    for rank, (p, z, i, j, parents, size) in enumerate(found):
        power = float(special.ndtr(np.sqrt(n) * WEAK * size - cut))
        detectable = float(min((cut + special.ndtri(0.8)) / (np.sqrt(n) * max(size, 1e-9)), 1.0))
        falls = falls and p <= LEVEL / (len(found) - rank)  # Holm
        given = tuple(names[int(k)] for k in parents)
        pair = (names[i], names[j])
        judged.append(
            Independence(pair, given, z, p, not falls, power, detectable, _words(pair, given, p, falls, detectable))
        )
    return judged


def _words(pair: tuple[str, str], given: tuple[str, ...], p: float, falls: bool, detectable: float) -> str:
    a, b = map(printable, pair)
    knowing = f" given {', '.join(map(printable, given))}" if given else ""
    if falls:
        return f"{a} and {b} are not independent{knowing} (p = {p:.2g}), as the graph says: an edge is missing, or more"
    return (
        f"{a} and {b} look independent{knowing} (p = {p:.2g}); a partial correlation of {detectable:.2f} would have "
        "shown 4 times in 5"
    )
