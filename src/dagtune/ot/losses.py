"""Problem (10) of the paper, which selects the pairs of the skeleton: its loss, and that of the released script.

The pairs e = 1..s, s = d (d - 1) / 2, are in lexicographic order (0, 1), (0, 2), ..., with first order HSIC ``A_e``.
W is s x s with one-hot rows, written here as ``picks``: row r picks pair ``picks[r]``. A pair some row picks is kept.
Problem (10) is::

    minimise over W   ||(1 - W) A||_2^2 + penalty ||W||_2        (1: the all-ones matrix; ||W||_2: the spectral norm)

A row that picks e costs ``c_e = (sum A - A_e)^2``, and ``W^T W`` is diagonal with the counts of the picks, so
``||W||_2 = sqrt(largest count)``: the first term wants every row on the cheapest pair, the second wants them spread.
"""

from __future__ import annotations

import numpy as np

from dagtune.validation import InputError

__all__ = ["pair_vector", "released_loss", "row_costs_of", "selection_loss"]


def pair_vector(first: np.ndarray) -> np.ndarray:
    """The numbers above the diagonal of a symmetric matrix, pairs in lexicographic order.

    Parameters
    ----------
    first : ndarray, shape (d, d)

    Returns
    -------
    ndarray, shape (s,), s = d (d - 1) / 2

    Examples
    --------
    >>> pair_vector(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]]))
    array([1, 2, 3])
    """
    return first[np.triu_indices(len(first), 1)]


def selection_loss(picks: np.ndarray, A: np.ndarray, penalty: float) -> float:
    """Loss of problem (10): ``||(1 - W) A||_2^2 + penalty ||W||_2``.

    Parameters
    ----------
    picks : ndarray of int, shape (s,), or ndarray, shape (s, s)
        The pair that each row of W picks, or W itself.
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    penalty : float

    Returns
    -------
    float

    Raises
    ------
    InputError
        If ``picks`` is neither.

    Examples
    --------
    >>> selection_loss(np.array([1, 1, 2]), np.array([0.0, 3.0, 4.0]), penalty=0.0)  # 4^2 + 4^2 + 3^2
    41.0
    """
    picks = _as_picks(picks, len(A))
    return float(((A.sum() - A[picks]) ** 2).sum() + penalty * np.sqrt(np.bincount(picks).max()))


def released_loss(picks: np.ndarray, A: np.ndarray) -> float:
    """Loss of the released script: ``-A.w + 0.01 ||w||_2^2 / 2``, w the share of rows that pick each pair.

    Parameters
    ----------
    picks : ndarray of int, shape (s,), or ndarray, shape (s, s)
        As in :func:`selection_loss`.
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If ``picks`` is neither.

    Examples
    --------
    >>> released_loss(np.array([1, 1]), np.array([0.0, 3.0]))
    -2.995
    """
    picks = _as_picks(picks, len(A))
    w = np.bincount(picks, minlength=len(A)) / len(A)
    return float(-A @ w + 0.005 * w @ w)


def _as_picks(picks: np.ndarray, s: int) -> np.ndarray:
    picks = np.asarray(picks)
    if picks.ndim == 2:
        if picks.shape != (s, s) or not np.array_equal(np.sort(picks, axis=1), np.eye(s)[np.full(s, s - 1)]):
            raise InputError(f"W must be {s} x {s} with one 1 in each row and 0 elsewhere")
        return picks.argmax(axis=1)
    if picks.shape != (s,) or not np.issubdtype(picks.dtype, np.integer) or picks.min() < 0 or picks.max() >= s:
        raise InputError(f"picks must be {s} whole numbers from 0 to {s - 1}: the pair each row picks")
    return picks


def row_costs_of(A: np.ndarray) -> np.ndarray:
    """Cost of a row that picks each pair, ``c_e = (sum A - A_e)^2``.

    If A >= 0 the pair of largest HSIC is the cheapest. The sigmoid kernel can make A negative.

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs.

    Returns
    -------
    ndarray, shape (s,)

    Examples
    --------
    >>> row_costs_of(np.array([1.0, 2.0]))
    array([4., 1.])
    """
    return (A.sum() - A) ** 2
