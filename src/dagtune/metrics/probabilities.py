"""How far edge probabilities can be believed: the Brier score, and said against right in bins.

``P[i, j]`` is the probability of ``i -> j``; every ordered pair of different nodes is one prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dagtune.metrics.pairs import read_scores
from dagtune.validation import InputError, check_count

__all__ = ["Calibration", "brier", "calibration"]


def brier(truth: Any, probability: Any) -> float:
    """Brier score of edge probabilities: the mean of ``(P[i, j] - A[i, j])^2`` over ordered pairs i != j.

    Parameters
    ----------
    truth : matrix, DataFrame or networkx DiGraph
        The true graph; ``A[i, j]`` true means ``i -> j``.
    probability : matrix or DataFrame
        Probability of each edge, from 0 to 1; a 0/1 graph is a method that is always sure.

    Returns
    -------
    float
        From 0 (sure and right) to 1 (sure and wrong). Nan for a single node.

    Raises
    ------
    InputError
        If an entry is no probability, or the two have different nodes.

    References
    ----------
    Brier 1950, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78.

    Examples
    --------
    >>> brier([[0, 1], [0, 0]], [[0, 0.9], [0.1, 0]])
    0.01
    """
    said, right = _predictions(truth, probability)
    return float(round(np.mean((said - right) ** 2), 15)) if len(said) else float("nan")


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions in bins: how many there are, what they said on average, how often they were right.

    Parameters
    ----------
    edges : array (bins + 1,)
        The limits of the bins.
    count : integer array (bins,)
        Ordered pairs in each bin.
    said, right : array (bins,)
        Mean probability, and share of pairs with an edge; nan in a bin without pairs.
    """

    edges: np.ndarray
    count: np.ndarray
    said: np.ndarray
    right: np.ndarray

    @property
    def error(self) -> float:
        """Expected calibration error: mean of ``|said - right|`` over all predictions."""
        some = self.count > 0
        return float(np.average(np.abs(self.said - self.right)[some], weights=self.count[some]))

    def __str__(self) -> str:
        lines = ["  from    to  pairs   said  right"]
        for low, high, count, said, right in zip(self.edges, self.edges[1:], self.count, self.said, self.right):
            lines.append(f"  {low:.2f}  {high:.2f}  {count:>5}  {said:.3f}  {right:.3f}")
        return "\n".join(lines)


def calibration(truth: Any, probability: Any, *, bins: int = 10) -> Calibration:
    """Said against right, in bins of equal width, over the ordered pairs of one graph or of many.

    Parameters
    ----------
    truth : a graph, or a list of graphs
        ``A[i, j]`` true means ``i -> j``.
    probability : probabilities of one graph, or a list of them
        As in :func:`brier`; as many as there are true graphs.
    bins : int
        Bins of equal width between 0 and 1.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> found = calibration([[0, 1], [0, 0]], [[0, 0.9], [0.1, 0]], bins=2)
    >>> found.said.tolist(), found.right.tolist()
    ([0.1, 0.9], [0.0, 1.0])
    """
    bins = check_count("bins", bins)
    many = isinstance(truth, (list, tuple)) and len(truth) > 0 and np.ndim(truth[0]) == 2
    truths, guesses = (truth, probability) if many else ([truth], [probability])
    if len(truths) != len(guesses):
        raise InputError(f"{len(truths)} true graphs and {len(guesses)} matrices of probabilities: give one for each")
    pairs = [_predictions(one, guess) for one, guess in zip(truths, guesses)]
    said, right = (np.concatenate(side) for side in zip(*pairs))
    edges = np.linspace(0, 1, bins + 1)
    which = np.minimum((said * bins).astype(np.intp), bins - 1)
    count = np.bincount(which, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(which, values, minlength=bins) / count for values in (said, right)]
    return Calibration(edges, count, *means)


def _predictions(truth: Any, probability: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and truth (as 0 and 1) of all ordered pairs of different nodes."""
    true, said = read_scores(truth, probability)
    if (said > 1).any():
        i, j = np.argwhere(said > 1)[0]
        raise InputError(f"probabilities lie between 0 and 1, but entry [{i}, {j}] is {said[i, j]:g}")
    apart = ~np.eye(len(true), dtype=bool)
    return said[apart], true[apart].astype(np.float64)
