"""What the probabilities say of a pair of variables: this edge, its reverse, or none; in numbers and in words."""

from __future__ import annotations

import numpy as np

__all__ = [
    "DECIDED",
    "all_pairs",
    "edge_words",
    "explains_words",
    "pair_numbers",
    "pair_sentence",
    "times_in",
    "undecided_pairs",
]

#: A pair is surely joined if its two directions together have so much, and a direction is decided if it has so much of
#: that (issue 20).
DECIDED = 0.9
#: Shares are told as so many times in one of these.
_TIMES = (2, 3, 4, 5, 6, 8, 10, 20)
#: The error of a share told in words.
_ROUGH = 0.025


def undecided_pairs(probability: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (i, j) that are surely joined, with an open direction; i -> j is the likelier one.

    Parameters
    ----------
    probability : (d, d) array
        Entry [i, j] is P(i -> j).

    Returns
    -------
    list of (int, int)
        Those with P(i -> j) + P(j -> i) >= 0.9 of which neither has 0.9 of the sum; in the order of the columns.

    Examples
    --------
    >>> undecided_pairs(np.array([[0.0, 0.3], [0.65, 0.0]]))
    [(1, 0)]
    """
    either = probability + probability.T
    larger = np.maximum(probability, probability.T)
    open_pairs = np.triu((either >= DECIDED) & (larger < DECIDED * either), 1)
    return [(i, j) if probability[i, j] >= probability[j, i] else (j, i) for i, j in np.argwhere(open_pairs).tolist()]


def all_pairs(probability: np.ndarray) -> np.ndarray:
    """Every unordered pair once, as (i, j) with i -> j the likelier direction; those most likely joined first.

    Parameters
    ----------
    probability : (d, d) array
        Entry [i, j] is P(i -> j).

    Returns
    -------
    (d (d - 1) / 2, 2) array of int

    Examples
    --------
    >>> all_pairs(np.array([[0.0, 0.3, 0.0], [0.65, 0.0, 0.0], [0.1, 0.0, 0.0]])).tolist()
    [[1, 0], [2, 0], [1, 2]]
    """
    i, j = np.triu_indices(len(probability), 1)
    turned = probability[i, j] < probability[j, i]
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    return np.stack([i, j], axis=1)[np.argsort(-(probability[i, j] + probability[j, i]), kind="stable")]


def pair_numbers(
    probability: np.ndarray, track_record: np.ndarray | None, cause: np.ndarray, effect: np.ndarray
) -> dict[str, np.ndarray]:
    """Numbers of the edges cause -> effect, by the names of the columns of ``Result.edges``.

    Parameters
    ----------
    probability : (d, d) array
        Entry [i, j] is P(i -> j).
    track_record : (d, d) array or None
        How often such a direction was right on real tables.
    cause, effect : arrays of int
        Positions of the ends.

    Returns
    -------
    dict of str to array
        probability, reverse, none (what is left of 1, not below 0), track_record. The last is NaN if it is not known,
        or if the margin, from which it is read, is for the other direction than the probabilities are (an undecided
        pair): then nothing is claimed that could have been right.

    Examples
    --------
    >>> probability, record = np.array([[0.0, 0.49], [0.46, 0.0]]), np.array([[0.0, 0.17], [0.83, 0.0]])
    >>> float(pair_numbers(probability, record, np.array([0]), np.array([1]))["track_record"][0])
    nan
    """
    forth, back = probability[cause, effect], probability[effect, cause]
    record = np.full(np.shape(cause), np.nan) if track_record is None else track_record[cause, effect]
    against = (forth > back) & (record < 0.5) | (forth < back) & (record > 0.5)
    record = np.where(against, np.nan, record)
    return {"probability": forth, "reverse": back, "none": np.maximum(0.0, 1.0 - forth - back), "track_record": record}


def edge_words(probability: float, reverse: float, none: float, track_record: float, resamples: int = 0) -> str:
    """The numbers of an edge in words.

    Parameters
    ----------
    probability, reverse, none : float
        Of the edge, of its reverse, of neither.
    track_record : float
        How often such a direction was right on real tables, or NaN.
    resamples : int
        If not 0, the first three are shares of so many resamples of the rows.

    Returns
    -------
    str

    Examples
    --------
    >>> edge_words(0.95, 0.0, 0.05, np.nan, 20)
    'it was found in 0.95 of 20 resamples of the rows (reverse 0.00, none 0.05)'
    >>> edge_words(0.95, 0.04, 0.01, 0.76)
    '0.95 if the model holds (reverse 0.04, none 0.01); on real pairs such directions were right 3 times in 4'
    """
    others = f"(reverse {reverse:.2f}, none {none:.2f})"
    if resamples:
        return f"it was found in {probability:.2f} of {resamples} resamples of the rows {others}"
    said = f"{probability:.2f} if the model holds {others}"
    if np.isnan(track_record):
        return said
    return f"{said}; on real pairs such directions were right {times_in(track_record)}"


def explains_words(share: float, effect: str) -> str:
    """How strong an edge is, in words.

    Parameters
    ----------
    share : float
        Share of the variance of the effect, after its other causes, that goes with this cause.
    effect : str
        The effect, as a person may read it.

    Returns
    -------
    str

    Examples
    --------
    >>> explains_words(0.341, "erk"), explains_words(0.002, "erk")
    ('explains 34 % of what is left of erk', 'explains less than 1 % of what is left of erk')
    """
    told = "less than 1 %" if share < 0.005 else f"{100 * min(share, 0.99):.0f} %"
    return f"explains {told} of what is left of {effect}"


def pair_sentence(
    probability: np.ndarray, track_record: np.ndarray | None, cause: int, effect: int, resamples: int = 0
) -> str:
    """What the probabilities say of cause -> effect, as one sentence or two."""
    numbers = pair_numbers(probability, track_record, np.array(cause), np.array(effect))
    open_pair = undecided_pairs(probability[np.ix_([cause, effect], [cause, effect])])
    forth, back, none, record = (float(value) for value in numbers.values())
    words = edge_words(forth, back, none, record, resamples)
    told = f"{words.capitalize()}." if resamples else f"Its probability is {words}."
    return f"{told} The direction of this pair is undecided." if open_pair else told


def times_in(share: float) -> str:
    """A share as a person says it: never none or all, because a share that was counted is not that sure.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str

    Examples
    --------
    >>> times_in(0.76), times_in(0.5), times_in(0.99)
    ('3 times in 4', '1 time in 2', '19 times in 20')
    """
    ways = [(min(max(round(share * q), 1), q - 1), q) for q in _TIMES]
    near = [(p, q) for p, q in ways if abs(p / q - share) <= _ROUGH]
    p, q = near[0] if near else min(ways, key=lambda way: abs(way[0] / way[1] - share))
    return f"{p} {'time' if p == 1 else 'times'} in {q}"
