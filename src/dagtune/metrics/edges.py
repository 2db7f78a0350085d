"""Measures that compare edge by edge: AuPR, average precision, structural Hamming distance, precision, recall, F1.

In the formulas, e is the number of true edges, d the number of nodes, P precision and R recall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import skeleton as skeleton_of
from dagtune.metrics.pairs import read_pair, read_scores
from dagtune.validation import InputError

__all__ = ["aupr", "average_precision", "f1", "precision", "recall", "shd"]


def aupr(truth: Any, guess: Any) -> float:
    """Area under the precision-recall curve as the package cdt and the paper compute it: trapezoids, with the diagonal.

    For a graph with at least one edge the area is R (1 + P) / 2 + (1 - R) (P + e / d^2) / 2. The *empty* graph gets
    (1 + e / d^2) / 2, more than most methods: the trapezoid from "nothing guessed, precision 1" to "everything guessed"
    rewards guessing nothing. Read it beside :func:`average_precision`.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true graph.
    guess : array-like, DataFrame or networkx.DiGraph
        A graph, or a matrix of edge scores: larger means more certain, 0 means no edge.

    Returns
    -------
    float
        From 0 to 1; nan if the truth has no edges.

    Raises
    ------
    InputError
        If the graphs have different nodes, or a score is negative or missing.

    Examples
    --------
    >>> truth = [[0, 1], [0, 0]]
    >>> aupr(truth, truth), aupr(truth, [[0, 0], [0, 0]])
    (1.0, 0.625)
    """
    found, recalled = _precision_recall(truth, guess)
    return float((np.diff(recalled) * (found[1:] + found[:-1]) / 2).sum())


def average_precision(truth: Any, guess: Any) -> float:
    """Average precision, sum_k (R_k - R_{k-1}) P_k over decreasing thresholds, diagonal included.

    The curve is that of :func:`aupr`, integrated in steps instead of trapezoids. For a graph with at least one edge it
    is R P + (1 - R) e / d^2, for the empty graph e / d^2.

    Parameters
    ----------
    truth : array-like, DataFrame or networkx.DiGraph
        The true graph.
    guess : array-like, DataFrame or networkx.DiGraph
        A graph, or a matrix of edge scores: larger means more certain, 0 means no edge.

    Returns
    -------
    float
        From 0 to 1; nan if the truth has no edges.

    Raises
    ------
    InputError
        If the graphs have different nodes, or a score is negative or missing.

    Examples
    --------
    >>> truth = [[0, 1], [0, 0]]
    >>> average_precision(truth, truth), average_precision(truth, [[0, 0], [0, 0]])
    (1.0, 0.25)
    """
    found, recalled = _precision_recall(truth, guess)
    return float((np.diff(recalled) * found[1:]).sum())


def shd(truth: Any, guess: Any, *, reversal: int = 1) -> int:
    """Structural Hamming distance: the number of node pairs that the two graphs join differently.

    Parameters
    ----------
    truth, guess : array-like, DataFrame or networkx.DiGraph
        Graphs; both entries of a pair together are an undirected edge.
    reversal : {1, 2}
        Cost of a reversed edge. With 2 the distance is the number of matrix entries that differ. An undirected edge
        against a directed one costs 1 in both cases.

    Returns
    -------
    int
        0 is best.

    Raises
    ------
    InputError
        If the graphs have different nodes, or ``reversal`` is neither 1 nor 2.

    References ---------- I. Tsamardinos, L. Brown, C. Aliferis: The max-min hill-climbing Bayesian network structure
    learning algorithm. Machine Learning 65 (2006).

    Examples
    --------
    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]]), shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], reversal=2)
    (1, 2)
    """
    if reversal not in (1, 2):
        raise InputError(f"reversal must be 1 or 2, not {reversal!r}")
    true, guessed = read_pair(truth, guess)
    wrong = true != guessed
    return int(wrong.sum()) if reversal == 2 else int(np.triu(wrong | wrong.T).sum())


def precision(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """Share of the guessed edges that are true.

    Parameters
    ----------
    truth, guess : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    skeleton : bool
        Whether to ignore directions.

    Returns
    -------
    float
        From 0 to 1; nan if no edge is guessed.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> precision([[0, 1], [0, 0]], [[0, 0], [1, 0]]), precision([[0, 1], [0, 0]], [[0, 0], [1, 0]], skeleton=True)
    (0.0, 1.0)
    """
    hits, guessed, _ = _counts(truth, guess, skeleton)
    return hits / guessed if guessed else float("nan")


def recall(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """Share of the true edges that are guessed.

    Parameters
    ----------
    truth, guess : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    skeleton : bool
        Whether to ignore directions.

    Returns
    -------
    float
        From 0 to 1; nan if the truth has no edges.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> recall([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    0.5
    """
    hits, _, true = _counts(truth, guess, skeleton)
    return hits / true if true else float("nan")


def f1(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """F1: harmonic mean of precision and recall, 2 hits / (guessed edges + true edges).

    Parameters
    ----------
    truth, guess : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    skeleton : bool
        Whether to ignore directions.

    Returns
    -------
    float
        From 0 to 1; nan if neither graph has edges.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> f1([[0, 1, 1], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    0.5
    """
    hits, guessed, true = _counts(truth, guess, skeleton)
    return 2 * hits / (guessed + true) if guessed + true else float("nan")


def _counts(truth: Any, guess: Any, skeleton: bool) -> tuple[int, int, int]:
    """Numbers of correct, guessed and true edges."""
    true, guessed = read_pair(truth, guess)
    if skeleton:
        true, guessed = np.triu(skeleton_of(true)), np.triu(skeleton_of(guessed))
    return int((true & guessed).sum()), int(guessed.sum()), int(true.sum())


def _precision_recall(truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall of "score at least s" for each score s that occurs, s decreasing, after the point (1, 0).

    Computed over all d^2 entries, as scikit-learn's precision_recall_curve in reverse. nan if the truth has no edges.
    """
    true, scores = read_scores(truth, guess)
    if not true.any():
        return np.array([np.nan, np.nan]), np.array([0.0, 1.0])
    falling = np.argsort(-scores, axis=None, kind="stable")
    scores, hits = scores.ravel()[falling], np.cumsum(true.ravel()[falling])
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # the last entry of each distinct score
    return np.append(1.0, hits[last] / (last + 1)), np.append(0.0, hits[last] / hits[-1])
