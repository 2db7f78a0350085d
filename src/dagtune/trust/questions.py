"""What to find out next: the pairs whose answer would settle most of the graph.

A pair has three states in a graph: i -> j, j -> i, or no edge. The sample of graphs gives the entropy of each pair's
state, and the mutual information of two pairs: how much the answer to one says of the other. Asking a pair lowers the
sum of all entropies by its own and by its information about the others, in expectation. Information counted from g
graphs is too large by about (a - 1)(b - 1) / 2 g nats, a and b the states seen (Miller 1955); that is taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagtune.text import printable

__all__ = ["Question", "next_questions", "pair_states"]

#: A pair is settled if one state has this share of the graphs.
SETTLED = 0.9


class Question(NamedTuple):
    """A pair to find out about, by an experiment or from someone who knows.

    Attributes
    ----------
    cause, effect : str
        The pair, in its likelier direction.
    forward, backward, none : float
        Shares of the graphs with cause -> effect, effect -> cause, and no edge between them.
    gain : float
        Nats by which the answer is expected to lower the sum of the entropies of all pairs.
    settles : float
        How many other open pairs the answer settles, in expectation.
    settled : tuple of (str, str)
        Those that the likelier answer settles.
    words : str
        The same for a person.
    """

    cause: str
    effect: str
    forward: float
    backward: float
    none: float
    gain: float
    settles: float
    settled: tuple[tuple[str, str], ...]
    words: str


def pair_states(graphs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The state of each pair in each graph.

    Parameters
    ----------
    graphs : (g, d, d) array of bool
        DAGs; ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    pairs : (p, 2) array of int
        All pairs i < j.
    states : (g, p) array of int
        0: no edge, 1: i -> j, 2: j -> i.

    Examples
    --------
    >>> pair_states(np.array([[[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool))[1].ravel().tolist()
    [1, 2]
    """
    i, j = np.triu_indices(graphs.shape[1], 1)
    return np.column_stack([i, j]), graphs[:, i, j] + 2 * graphs[:, j, i].astype(np.int64)


def next_questions(graphs: np.ndarray, names: Sequence[str], most: int = 10) -> tuple[Question, ...]:
    """Rank the open pairs by what their answer would settle.

    Parameters
    ----------
    graphs : (g, d, d) array of bool
        A sample of DAGs; ``A[i, j]`` means ``i -> j``.
    names : sequence of str
        The variables.
    most : int
        Give no more than so many.

    Returns
    -------
    tuple of Question
        The most useful first; empty if everything is settled or there is no sample.

    Examples
    --------
    >>> forth, back = np.eye(3, k=1, dtype=bool), np.eye(3, k=-1, dtype=bool)  # a -> b -> c or the reverse
    >>> questions = next_questions(np.array([forth, forth, back, forth]), "abc")
    >>> questions[0].words
    'if you know whether a causes b, 1 other pair is settled'
    """
    if len(graphs) < 2:
        return ()
    pairs, states = pair_states(np.asarray(graphs, dtype=bool))
    onehot = np.stack([states == state for state in range(3)]).astype(np.float64)  # (3, g, p)
    share = onehot.mean(axis=1)
    unsettled = np.flatnonzero(share.max(axis=0) < 1)
    is_open = share.max(axis=0) < SETTLED
    asked = [int(p) for p in unsettled if is_open[p] and share[1:, p].sum() > 0]
    found = []
    for p in asked:
        information = _information(onehot[:, :, p], onehot[:, :, unsettled])
        settles, settled = _settled(onehot, p, is_open, share[:, p])
        i, j = pairs[p].tolist() if share[1, p] >= share[2, p] else pairs[p][::-1].tolist()
        forward, backward = max(share[1:, p]), min(share[1:, p])
        found.append(
            Question(
                cause=names[i],
                effect=names[j],
                forward=float(forward),
                backward=float(backward),
                none=float(share[0, p]),
                gain=float(information.sum()),
                settles=settles,
                settled=tuple((names[a], names[b]) for a, b in pairs[settled].tolist()),
                words=_words(names[i], names[j], settles),
            )
        )
    return tuple(sorted(found, key=lambda question: -question.gain)[:most])


def _information(answer: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(p,) nats that the states (3, g) of a pair say of the states (3, g, p) of others, none below 0."""
    g = answer.shape[1]
    joint = np.einsum("ag,bgp->abp", answer, others) / g
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(joint > 0, joint / (rows[:, None] * columns[None]), 1.0)
    nats = np.sum(joint * np.log(ratio), axis=(0, 1))
    seen = (answer.sum(axis=1) > 0).sum() - 1
    return np.maximum(nats - seen * ((columns > 0).sum(axis=0) - 1) / (2 * g), 0.0)


def _settled(onehot: np.ndarray, p: int, is_open: np.ndarray, share: np.ndarray) -> tuple[float, np.ndarray]:
    """How many other open pairs the answer settles in expectation, and which ones the likelier answer settles."""
    expected, likeliest = 0.0, np.zeros(0, dtype=np.int64)
    for state in np.argsort(-share):
        if share[state] == 0:
            continue
        given = onehot[:, onehot[state, :, p] > 0].mean(axis=1)
        now = np.flatnonzero(is_open & (given.max(axis=0) >= SETTLED))
        now = now[now != p]
        expected += float(share[state]) * len(now)
        if state == np.argmax(share):
            likeliest = now
    return expected, likeliest


def _words(cause: str, effect: str, settles: float) -> str:
    asked = f"if you know whether {printable(cause)} causes {printable(effect)}"
    number = round(settles)
    if number == 0:
        return f"{asked}, that pair is settled, and hardly another"
    return f"{asked}, {number} other pair{'s are' if number > 1 else ' is'} settled"
