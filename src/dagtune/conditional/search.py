"""The best orders by a score that is a sum over variables: insertion search from several starts.

The score of an order is ``sum_i value_i(before i) + shared(sum_i scale_i(before i))``, in nats. Moving one variable x
changes only the prefixes between its old and its new place, and then only by x itself. So the scores of all places of
x come in one go from three terms a position: x there, the variable there without x before it, and with x before it.

Nothing here looks at the number of a column: ties are broken by what the score says of a variable, and chance acts on
positions in an order made of the same. A renamed table gives the renamed answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np

from dagtune.progress import Progress, silent

__all__ = ["LocalScore", "Optimum", "OrderScore", "Walk", "descend", "is_legal", "places", "search", "starts", "total"]

#: Starts of the search: one top-down, one bottom-up, the others grown in a random sequence.
STARTS = 4
#: Places that are near: the search looks at this many around a variable before it looks at all.
NEAR = 8
#: Nats by which a move has to be better than staying: more than rounding.
LEAST_GAIN = 1e-7


class LocalScore(Protocol):
    """What a score says of one variable with a prefix; see :class:`dagtune.conditional.score.Local`."""

    @property
    def value(self) -> float: ...
    @property
    def parents(self) -> np.ndarray: ...
    @property
    def scale(self) -> np.ndarray: ...


class OrderScore(Protocol):
    """A score of orders as search and sampler see it; ``before`` is the prefix as a bit mask."""

    @property
    def width(self) -> int: ...
    @property
    def must_precede(self) -> np.ndarray: ...
    def local(self, child: int, before: int) -> LocalScore: ...
    def shared(self, total: np.ndarray) -> np.ndarray: ...


class Optimum(NamedTuple):
    """An order that no insertion improves, causes first, and its score."""

    order: tuple[int, ...]
    value: float


class Options(NamedTuple):
    """What x can do within a block: its places ``first + t``, their scores up to a constant, the block without x.

    ``block[u]`` is the variable before which x stands at place ``first + u``.
    """

    first: int
    values: list[float]
    block: list[int]


class Walk:
    """An order that changes by insertions, and what is needed to score the next one.

    ``before[k]`` is the mask of the variables before position k, ``scale`` the sum of the variables' ``scale``.
    """

    def __init__(self, score: OrderScore, order: Sequence[int]) -> None:
        self.score, self.needs = score, _needs(score)
        self.constrained = any(self.needs)
        self.restart(order)

    def restart(self, order: Sequence[int]) -> None:
        """Continue at another order."""
        self.order = [int(i) for i in order]
        self.before = _prefixes(self.order)
        self.scale = _scale(self.score, self.order)

    def options(self, at: int, start: int, stop: int) -> Options:
        """Scores of the variable at a position, x, at all places from start up to stop that obey ``must_precede``.

        With the others r_0 .. r_m in the block, place t has ``own_t + sum_{u < t} without_u + sum_{u >= t} given_u``,
        where own is x's value there, without and given are that of r_u without and with x before it.
        """
        order, local = self.order, self.score.local
        x = order[at]
        if self.constrained:
            start, stop = self._room(at, start, stop)
        block = order[start:at] + order[at + 1 : stop]
        before, bit = self.before[start], 1 << x
        own, without, given = [], [], []
        for i in block:
            own.append(local(x, before))
            without.append(local(i, before))
            given.append(local(i, before | bit))
            before |= 1 << i
        own.append(local(x, before))
        ahead = accumulate((term.value for term in without), initial=0.0)
        behind = list(accumulate((term.value for term in reversed(given)), initial=0.0))
        values = [a + term.value + b for a, term, b in zip(ahead, own, reversed(behind))]
        if self.scale.size:
            scales = np.array([term.scale for term in own], dtype=float)
            if block:
                scales[1:] += np.cumsum([term.scale for term in without], axis=0)
                scales[:-1] += np.cumsum([term.scale for term in reversed(given)], axis=0)[::-1]
            scales += self.scale - scales[at - start]
            values = [value + more for value, more in zip(values, self.score.shared(scales).tolist())]
        return Options(start, values, block)

    def move(self, at: int, to: int) -> None:
        """Take the variable at one position to another."""
        if at == to:
            return
        order, before, local = self.order, self.before, self.score.local
        low, high = min(at, to), max(at, to) + 1
        change = (order[low:high], before[low:high])
        order.insert(to, order.pop(at))
        mask = before[low]
        for k in range(low, high):
            before[k] = mask
            mask |= 1 << order[k]
        if self.scale.size:
            for k, i, old in zip(range(low, high), *change):
                self.scale = self.scale + local(order[k], before[k]).scale - local(i, old).scale

    def _room(self, at: int, start: int, stop: int) -> tuple[int, int]:
        """The positions of a block, around ``at``, where its variable may stand."""
        order, needs = self.order, self.needs
        x = order[at]
        first = next((k + 1 for k in range(at - 1, start - 1, -1) if needs[x] >> order[k] & 1), start)
        last = next((k for k in range(at + 1, stop) if needs[order[k]] >> x & 1), stop)
        return first, last


def total(score: OrderScore, order: Sequence[int]) -> float:
    """Score of an order: ``sum_i value_i(before i) + shared(sum_i scale_i(before i))``."""
    value = sum(score.local(i, before).value for i, before in zip(order, _prefixes(order)))
    scale = _scale(score, order)
    return float(value + score.shared(scale)) if scale.size else float(value)


def places(score: OrderScore, order: Sequence[int], x: int) -> np.ndarray:
    """Scores of the d orders that have x at place 0 .. d - 1, the others as they are; -inf where x must not stand."""
    walk, at, d = Walk(score, order), list(order).index(x), len(order)
    first, values, _ = walk.options(at, 0, d)
    scores = np.full(d, -np.inf)
    scores[first : first + len(values)] = np.array(values) - values[at - first] + total(score, order)
    return scores


def descend(score: OrderScore, order: Sequence[int], tell: Progress = silent, far: bool = True) -> Optimum:
    """Insertion search: each variable in turn goes to its best place, until a whole round brings nothing.

    Rounds look at near places first, since far ones cost evidence that nobody has asked for yet, and at all in the end
    unless ``far`` is false.
    """
    walk, d = Walk(score, order), len(order)
    for reach in (NEAR // 2, d) if far else (NEAR // 2,):
        quiet = 0
        while quiet < d:
            for x in tuple(walk.order):
                tell("searching", 0.0)
                at = walk.order.index(x)
                first, values, _ = walk.options(at, max(at - reach, 0), min(at + reach + 1, d))
                best = max(range(len(values)), key=values.__getitem__)
                better = values[best] > values[at - first] + LEAST_GAIN
                walk.move(at, first + best if better else at)
                quiet = 0 if better else quiet + 1
                if quiet == d:
                    break
    return Optimum(tuple(walk.order), total(score, walk.order))


def starts(
    score: OrderScore, rng: np.random.Generator, count: int = STARTS, tell: Progress = silent
) -> list[tuple[int, ...]]:
    """Orders to start from: top-down, bottom-up, and others grown by chance, each as ``must_precede`` wants it.

    Top-down takes next the variable that loses least by coming now, ``value(all others) - value(prefix)``; bottom-up
    puts last, of those that remain, the one that gains most by it, ``value(the others that remain) - value(nothing)``.
    The others take the variables in a random sequence, each to its best place among those that have come: that asks
    for small prefixes only, and ends hundreds of nats above a random order.
    """
    if not count:
        return []
    d, needs = score.width, _needs(score)

    def local(i: int, before: int) -> LocalScore:
        tell("searching", 0.0)
        return score.local(i, before)

    follow = [sum(1 << j for j in range(d) if needs[j] >> i & 1) for i in range(d)]
    every = (1 << d) - 1
    late = [local(i, every & ~(1 << i) & ~follow[i]).value for i in range(d)]
    early = [local(i, needs[i]).value for i in range(d)]
    plain = sorted(range(d), key=lambda i: (late[i] - early[i], late[i]))

    down: list[int] = []
    prefix, left = 0, plain.copy()
    while left:
        ready = [i for i in left if not needs[i] & ~prefix]
        x = min(ready, key=lambda i: late[i] - local(i, prefix).value)
        down.append(x)
        left.remove(x)
        prefix |= 1 << x

    up: list[int] = []
    remaining, left = every, plain.copy()
    while left:
        ready = [i for i in left if not follow[i] & remaining]
        x = max(ready, key=lambda i: local(i, remaining & ~(1 << i)).value - early[i])
        up.append(x)
        left.remove(x)
        remaining &= ~(1 << x)

    found = [tuple(down), tuple(reversed(up))]
    found += [_grow(score, _legal([plain[k] for k in rng.permutation(d)], needs), tell) for _ in range(count - 2)]
    return found[:count]


def search(
    score: OrderScore,
    rng: np.random.Generator,
    *,
    count: int = STARTS,
    also: Sequence[Sequence[int]] = (),
    tell: Progress = silent,
) -> list[Optimum]:
    """All different optima of the insertion search, best first.

    Parameters
    ----------
    score : OrderScore
    rng : numpy.random.Generator
    count : int
        Starts of :func:`starts`.
    also : sequence of orders
        More starts, such as an order that another table or learner has found.
    tell : callable
        Told ``("searching", share)`` before each variable; may raise.
    """
    begins = [*map(tuple, also), *starts(score, rng, count, tell)]
    found: dict[tuple[int, ...], Optimum] = {}
    for k, order in enumerate(begins):
        optimum = descend(score, order, partial(_tell_share, tell, k / len(begins)))
        found.setdefault(optimum.order, optimum)
    return sorted(found.values(), key=lambda optimum: -optimum.value)


def is_legal(score: OrderScore, order: Sequence[int]) -> bool:
    """Whether an order has everything before a variable that ``must_precede`` wants there."""
    return not any(needed & ~before for needed, before in zip(map(_needs(score).__getitem__, order), _prefixes(order)))


def _tell_share(tell: Progress, share: float, phase: str, _: float) -> None:
    tell(phase, share)


def _grow(score: OrderScore, sequence: Sequence[int], tell: Progress = silent) -> tuple[int, ...]:
    """An order grown from a sequence, each variable put at its best place among those that have come."""
    walk = Walk(score, sequence[:1])
    for at, x in enumerate(sequence[1:], start=1):
        tell("searching", 0.0)
        walk.restart([*walk.order, x])
        first, values, _ = walk.options(at, 0, at + 1)
        walk.move(at, first + max(range(len(values)), key=values.__getitem__))
    return tuple(walk.order)


def _legal(sequence: Sequence[int], needs: Sequence[int]) -> tuple[int, ...]:
    """The sequence, each variable put off until what must precede it has come."""
    order: list[int] = []
    prefix, left = 0, list(sequence)
    while left:
        x = next(i for i in left if not needs[i] & ~prefix)
        order.append(x)
        left.remove(x)
        prefix |= 1 << x
    return tuple(order)


def _needs(score: OrderScore) -> list[int]:
    """For each variable the mask of those that must precede it."""
    return [sum(1 << int(i) for i in np.flatnonzero(column)) for column in np.asarray(score.must_precede).T]


def _prefixes(order: Sequence[int]) -> list[int]:
    """For each position the mask of the variables before it."""
    return list(accumulate((1 << int(i) for i in order[:-1]), int.__or__, initial=0))


def _scale(score: OrderScore, order: Sequence[int]) -> np.ndarray:
    """Sum of the variables' ``scale`` along an order."""
    return np.sum([score.local(i, before).scale for i, before in zip(order, _prefixes(order))], axis=0, dtype=float)
