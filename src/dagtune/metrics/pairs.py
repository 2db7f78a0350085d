"""Truth and guess, brought to the same order of nodes. The truth always comes first."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from dagtune.graph import as_matrix, find_cycle, is_dag, names_of
from dagtune.validation import InputError

__all__ = ["read_dag", "read_pair", "read_scores"]


def read_pair(truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two boolean (d, d) matrices in the truth's order of nodes; names are matched if both sides have them."""
    true, guessed = as_matrix(truth), as_matrix(guess)
    return true, _in_order_of(truth, guess, len(true), guessed)


def read_scores(truth: Any, guess: Any) -> tuple[np.ndarray, np.ndarray]:
    """Boolean truth and float (d, d) edge scores, larger meaning more certain; a 0/1 graph is such a matrix too."""
    true = as_matrix(truth)
    if isinstance(guess, nx.Graph):
        scores = nx.to_numpy_array(guess, weight="weight")
    elif isinstance(guess, pd.DataFrame):
        if list(map(str, guess.index)) != list(map(str, guess.columns)):
            raise InputError(
                "rows and columns of the score table have different names: use the same names in the same order"
            )
        scores = guess.to_numpy()
    else:
        scores = np.asarray(guess)
    try:
        scores = scores.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("edge scores must be numbers, not text: check the table's header and index column") from error
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise InputError(
            f"edge scores must be a square matrix (rows are causes, columns effects), not of shape {scores.shape}"
        )
    if not (scores >= 0).all():
        i, j = np.argwhere(~(scores >= 0))[0]
        raise InputError(
            f"edge scores must not be negative (0 is no edge), but entry [{i}, {j}] is {scores[i, j]}: "
            "take absolute values of weights, and 0 for missing values"
        )
    return true, _in_order_of(truth, guess, len(true), scores)


def read_dag(what: str, matrix: np.ndarray, cure: str, *named: Any) -> None:
    """Refuse a cyclic graph and show its shortest cycle, with the names of the first of ``named`` that has any."""
    if not is_dag(matrix):
        cycle = find_cycle(matrix)
        assert cycle is not None
        names = next(filter(None, map(names_of, named)), None) or range(len(matrix))
        raise InputError(f"the {what} has a cycle ({' -> '.join(str(names[node]) for node in cycle)}): {cure}")


def _in_order_of(truth: Any, guess: Any, size: int, guessed: np.ndarray) -> np.ndarray:
    """The guess with its nodes in the truth's order."""
    if len(guessed) != size:
        raise InputError(f"the truth has {size} nodes and the guess {len(guessed)}: compare graphs of the same nodes")
    true_names, guess_names = names_of(truth), names_of(guess)
    if true_names is None or guess_names is None or true_names == guess_names:
        return guessed
    strangers = [name for name in guess_names if name not in true_names]
    if strangers:
        missing = [name for name in true_names if name not in guess_names]
        raise InputError(
            f"the guess has nodes {', '.join(map(repr, strangers))} where the truth has "
            f"{', '.join(map(repr, missing))}: rename the nodes to match, or pass plain matrices in the same order"
        )
    place = [guess_names.index(name) for name in true_names]
    return guessed[np.ix_(place, place)]
