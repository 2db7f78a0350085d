"""Rows that are drawn together when rows are resampled: stretches of successive rows, or all rows of a subject.

Rows that resemble their neighbours tell less than as many independent ones, and resamples that draw them one by one
make everything look surer than it is. Whole stretches that are drawn together keep what neighbours share (Carlstein
1986, "The use of subseries values for estimating the variance of a general statistic from a stationary sequence").
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from dagtune.tables.labels import Labels
from dagtune.validation import InputError, check_count

__all__ = ["AUTO", "block_length", "blocks_of", "draw_rows", "lag_correlation"]

#: Blocks below which resamples of them tell nothing.
_FEWEST = 10
#: What asks for a length that the data tell.
AUTO = "auto"


def lag_correlation(column: np.ndarray) -> float:
    """Correlation of the ranks of successive values of a column; 0 if it is constant.

    Parameters
    ----------
    column : ndarray of shape (rows,)
    """
    ranks = rankdata(column) - (len(column) + 1) / 2
    power = float(ranks @ ranks)
    return float(ranks[:-1] @ ranks[1:]) / power if power > 0 else 0.0


def block_length(correlation: float, count: int) -> int:
    """The number of successive rows that are best drawn together, ``(2 r / (1 - r^2))^(2/3) n^(1/3)``.

    Carlstein's rule for autoregressive columns: longer blocks keep more of the dependence, and are fewer.

    Parameters
    ----------
    correlation : float
        Of a value with the next.
    count : int
        Rows.

    Returns
    -------
    int
        At least 1, and so short that there are ten blocks.

    Examples
    --------
    >>> block_length(0.0, 1000), block_length(0.5, 1000), block_length(0.9, 1000)
    (1, 12, 45)
    """
    r = min(abs(correlation), 0.999)
    length = (2 * r / (1 - r**2)) ** (2 / 3) * count ** (1 / 3)
    return int(np.clip(round(length), 1, max(count // _FEWEST, 1)))


def blocks_of(blocks: float | str | None, values: np.ndarray, groups: Labels | None) -> np.ndarray | None:
    """(rows,) the block of each row, numbered from 0: successive rows of a group; None if each is drawn alone.

    Parameters
    ----------
    blocks : int, "auto" or None
        Rows of a block. "auto" takes :func:`block_length` of the column whose successive values are most alike.
    values : ndarray of shape (rows, columns)
    groups : Labels or None
        No block has rows of two groups.

    Returns
    -------
    ndarray of int, shape (rows,), or None

    Raises
    ------
    InputError
        If fewer than ten blocks would be left, or ``blocks`` is neither a number nor "auto".
    """
    if blocks is None:
        return None
    n = len(values)
    if isinstance(blocks, str) and blocks == AUTO:
        length = block_length(max((lag_correlation(column[~np.isnan(column)]) for column in values.T), key=abs), n)
    elif isinstance(blocks, str):
        raise InputError(f"blocks={blocks!r} is no number of rows: give one, such as blocks=20, or blocks='{AUTO}'")
    else:
        length = check_count("blocks", int(blocks) if isinstance(blocks, float) and blocks.is_integer() else blocks)
    group = np.zeros(n, dtype=np.int64) if groups is None else groups.codes
    found, first = np.empty(n, dtype=np.int64), 0
    for each in np.unique(group):
        rows = np.flatnonzero(group == each)
        count = max(round(len(rows) / length), 1)
        found[rows] = first + np.arange(len(rows)) * count // len(rows)
        first += count
    if length > 1 and first < _FEWEST:
        raise InputError(
            f"blocks={length} makes {first} blocks of {n} rows, and resamples of so few tell nothing: "
            f"take shorter ones, such as blocks={max(n // (2 * _FEWEST), 1)}, or leave blocks out"
        )
    return found


def draw_rows(together: np.ndarray | None, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of rows drawn with replacement: one by one, or all rows of as many blocks as there are.

    Parameters
    ----------
    together : ndarray of int, shape (rows,), or None
        The block of each row, numbered from 0.
    count : int
        Rows of the table.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int
    """
    if together is None:
        return rng.integers(count, size=count)
    order = np.argsort(together, kind="stable")
    ends = np.cumsum(np.bincount(together))
    starts = np.concatenate([[0], ends[:-1]])
    return np.concatenate([order[starts[b] : ends[b]] for b in rng.integers(len(ends), size=len(ends))])
