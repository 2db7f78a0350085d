"""What decides between equal numbers: other numbers, never the place or the name of a column."""

from __future__ import annotations

import numpy as np

__all__ = ["tie_ranks"]

#: Digits of a number that count: with the columns in another order the last ones may differ.
_DIGITS = 10


def tie_ranks(first: np.ndarray, second: np.ndarray | None = None) -> np.ndarray:
    """Ranks of the columns by their own numbers, which decide where everything else is equal.

    The numbers are a column's HSIC with itself, those with all columns in ascending order, and its sums of second
    orders, to ten digits. Columns that agree in all of these are copies of each other for OT, and only their places
    are left to tell them apart.

    Parameters
    ----------
    first : ndarray, shape (d, d)
        First order HSIC.
    second : ndarray, shape (d, d, d), optional
        Second order HSIC.

    Returns
    -------
    ndarray of int, shape (d,)

    Examples
    --------
    >>> tie_ranks(np.array([[1.0, 0.2, 0.2], [0.2, 0.9, 0.2], [0.2, 0.2, 0.8]])).tolist()
    [2, 1, 0]
    """
    numbers = [first.diagonal(), *np.sort(first, axis=1).T]
    if second is not None:
        numbers += [second.sum(axis=(1, 2)), second.sum(axis=(0, 2))]
    keys = [np.round(each / (np.abs(each).max(initial=0.0) or 1.0), _DIGITS) for each in numbers]
    order = np.lexsort(keys[::-1])
    ranks = np.empty(len(first), dtype=np.intp)
    ranks[order] = np.arange(len(first))
    return ranks
