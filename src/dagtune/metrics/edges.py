"""Edge by edge: AuPR, average precision, structural Hamming distance, precision, recall, F1.

e is the number of true edges, d the number of nodes, P precision, R recall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.graph import skeleton as skeleton_of
from dagtune.metrics.pairs import read_pair, read_scores
from dagtune.validation import InputError

__all__ = ["aupr", "average_precision", "f1", "precision", "recall", "shd"]


def aupr(truth: Any, guess: Any) -> float:
    """Area under the precision-recall curve as cdt and the paper compute it: trapezoids, diagonal included.

    ``guess`` is a graph or a matrix of edge scores (larger is surer, 0 is no edge). For a graph with edges the area is
    R (1 + P) / 2 + (1 - R) (P + e / d^2) / 2. The *empty* graph gets (1 + e / d^2) / 2, more than most methods: the
    trapezoid from "nothing guessed, precision 1" to "everything guessed" pays it for silence. nan without true edges.
    """
    found, recalled = _precision_recall(truth, guess)
    return float((np.diff(recalled) * (found[1:] + found[:-1]) / 2).sum())


def average_precision(truth: Any, guess: Any) -> float:
    """sum_k (R_k - R_{k-1}) P_k over falling thresholds, diagonal included: steps, where AuPR has trapezoids.

    For a graph with edges it is R P + (1 - R) e / d^2, for the empty graph e / d^2. nan without true edges.
    """
    found, recalled = _precision_recall(truth, guess)
    return float((np.diff(recalled) * found[1:]).sum())


def shd(truth: Any, guess: Any, *, reversal: int = 1) -> int:
    """Structural Hamming distance: pairs of nodes that are joined differently; an edge turned round costs ``reversal``.

    ``reversal=2`` counts the matrix entries that differ. An undirected edge (both entries) against a directed one
    costs 1 either way.
    """
    if reversal not in (1, 2):
        raise InputError(f"reversal must be 1 or 2, not {reversal!r}")
    true, guessed = read_pair(truth, guess)
    wrong = true != guessed
    return int(wrong.sum()) if reversal == 2 else int(np.triu(wrong | wrong.T).sum())


def precision(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """True guessed edges / guessed edges; nan for the empty guess. ``skeleton=True`` ignores directions."""
    hits, guessed, _ = _counts(truth, guess, skeleton)
    return hits / guessed if guessed else float("nan")


def recall(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """True guessed edges / true edges; nan for a truth without edges. ``skeleton=True`` ignores directions."""
    hits, _, true = _counts(truth, guess, skeleton)
    return hits / true if true else float("nan")


def f1(truth: Any, guess: Any, *, skeleton: bool = False) -> float:
    """2 hits / (guessed edges + true edges); nan when there are neither. ``skeleton=True`` ignores directions."""
    hits, guessed, true = _counts(truth, guess, skeleton)
    return 2 * hits / (guessed + true) if guessed + true else float("nan")


def _counts(truth: Any, guess: Any, skeleton: bool) -> tuple[int, int, int]:
    """How many edges are right, guessed, true."""
    true, guessed = read_pair(truth, guess)
    if skeleton:
        true, guessed = np.triu(skeleton_of(true)), np.triu(skeleton_of(guessed))
    return int((true & guessed).sum()), int(guessed.sum()), int(true.sum())


def _precision_recall(truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Precision and recall of "score at least s" for each score s that occurs, s falling, after the point (1, 0).

    Over all d^2 entries; scikit-learn's precision_recall_curve, in the other direction. nan without true edges.
    """
    true, scores = read_scores(truth, guess)
    if not true.any():
        return np.array([np.nan, np.nan]), np.array([0.0, 1.0])
    falling = np.argsort(-scores, axis=None, kind="stable")
    scores, hits = scores.ravel()[falling], np.cumsum(true.ravel()[falling])
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # the last entry of each distinct score
    return np.append(1.0, hits[last] / (last + 1)), np.append(0.0, hits[last] / hits[-1])
