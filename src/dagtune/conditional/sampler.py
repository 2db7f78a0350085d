"""A sample of orders from ``exp(score of an order)``, and what it says of edges.

**Moves.** Gibbs steps: a block of positions is chosen without a look at the order, then one variable x of the block;
its new place is drawn from the exact distribution over all places of x in the block, ``p_t ~ exp(score with x at t)``.
Nothing is rejected, and the distribution of orders stays what it is under any ``must_precede``, since the places of a
legal order are exactly those that can be drawn. Blocks are narrow, because far places cost evidence; with probability
``WIDTH / d`` a block is the whole order, so that both kinds cost about the same.

**Edges.** Given the order, ``P(i -> j) = parents_j(before j)[i]``; and given all but the place of x, a step knows the
probability of every place. Both are averaged, not drawn: each step adds ``p_t`` to the weight of the pairs (variable,
prefix) that place t makes, and ``P(. -> j)`` is the weighted mean of ``parents_j`` over the prefixes of j.

**Several optima.** Parallel tempering would cross valleys, but hot chains ask for evidence all over the place, which is
what costs time. The optima are known from the search, so a chain jumps between them: with A the optimum nearest to the
order o and B another, the order o' does to B what o does to A, by name (``o'_k = B_m`` where ``o_k = A_m``) or by
place (``o'_k = o_m`` where ``B_k = A_m``). Both undo themselves with A and B exchanged, so accepting with probability
``min(1, exp(score(o') - score(o)))``, if B is nearest to o', keeps the distribution. Chains start at optima in
proportion to ``exp(value)``: where no jump is accepted, an optimum 30 nats below another does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor
from typing import NamedTuple

import numpy as np

from dagtune.conditional.search import Optimum, OrderScore, Walk, is_legal, total
from dagtune.progress import Progress, silent

__all__ = ["Sample", "sample"]

#: Chains, and sweeps of each: d Gibbs steps and one jump. The first share of the sweeps, BURN_IN, is not counted.
CHAINS, SWEEPS, BURN_IN = 4, 5, 0.2
#: The first half of those draws from exp(HEAT * score), so that chains that start at the same optimum part.
HEAT = 0.5
#: Positions of a narrow block.
WIDTH = 8
#: Optima to jump between: at most so many, and not more than so many nats below the best.
OPTIMA, DEPTH = 8, 20.0
#: Two optima are one if their edges' probabilities differ nowhere by more than this.
ALIKE = 0.1
#: A chain whose jumps had less than this probability during its burn-in, all together, does not try any more.
FUTILE = 1e-3


class Sample(NamedTuple):
    """Orders from the posterior, one a sweep, their scores, and what all steps say of edges.

    ``probability[i, j]`` is P(i -> j), ``ancestry[i, j]`` the share of orders with i before j; ``graphs`` has a DAG for
    each order. ``disagreement`` is the largest difference of ``probability`` between two halves of the chains.
    """

    orders: np.ndarray
    values: np.ndarray
    probability: np.ndarray
    ancestry: np.ndarray
    graphs: np.ndarray
    disagreement: float


def sample(
    score: OrderScore,
    optima: Sequence[Optimum],
    rng: np.random.Generator,
    *,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    tell: Progress = silent,
) -> Sample:
    """Sample orders from ``exp(score)`` with chains that start at optima.

    Parameters
    ----------
    score : OrderScore
    optima : sequence of Optimum
        Best first, as :func:`dagtune.conditional.search.search` gives them.
    rng : numpy.random.Generator
        Each chain has its own, spawned from this one.
    sweeps, chains : int
        At least two chains.
    tell : callable
        Told ``("sampling", share)`` before each step; may raise.
    """
    anchors = _anchors(score, optima)
    weights = np.exp([anchor.value - anchors[0].value for anchor in anchors])
    # systematic resampling: an optimum with a share w of the weight gets w * chains chains, up to rounding
    picks = np.searchsorted(np.cumsum(weights / weights.sum()), (rng.random() + np.arange(chains)) / chains)
    orders, values, probabilities = [], [], []
    for number, (pick, stream) in enumerate(zip(picks, rng.spawn(chains))):
        chain = _Chain(score, anchors, min(int(pick), len(anchors) - 1), stream)
        burn_in = floor(BURN_IN * sweeps)
        for at in range(sweeps):
            if at == burn_in:
                chain.begin()
            share = (number + at / sweeps) / chains
            chain.sweep(HEAT if 2 * at < burn_in else 1.0, share, tell)
            if at >= burn_in:
                orders.append(tuple(chain.walk.order))
                values.append(total(score, chain.walk.order))
        probabilities.append(chain.probability())
    halves = [np.mean(probabilities[start::2] or probabilities, axis=0) for start in (0, 1)]
    rank = np.argsort(np.array(orders), axis=1)
    return Sample(
        orders=np.array(orders),
        values=np.array(values),
        probability=np.mean(probabilities, axis=0),
        ancestry=np.mean(rank[:, :, None] < rank[:, None, :], axis=0),
        graphs=np.array([_draw_graph(score, order, rng) for order in orders]),
        disagreement=float(np.max(np.abs(halves[0] - halves[1]))),
    )


class _Chain:
    """One Markov chain over orders; ``weight[i][before]`` is how long variable i had that prefix, in expectation."""

    def __init__(self, score: OrderScore, anchors: Sequence[Optimum], start: int, rng: np.random.Generator) -> None:
        self.score, self.rng = score, rng
        self.walk = Walk(score, anchors[start].order)
        self.anchors = np.array([anchor.order for anchor in anchors])
        self.ranks = np.argsort(self.anchors, axis=1)
        self.jumping = len(anchors) > 1
        self.hope, self.time = 0.0, 0  # sum of the probabilities of jumps; steps
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        d = self.score.width
        self.jumping = self.jumping and (self.time == 0 or self.hope >= FUTILE)
        self.time = 0
        self.weight: list[dict[int, float]] = [{} for _ in range(d)]
        self.since = [0] * d  # up to when each variable's weight is written down

    def sweep(self, heat: float, share: float, tell: Progress) -> None:
        """As many Gibbs steps as variables, then a jump."""
        d = self.score.width
        for kind, where, which, place in self.rng.random((d, 4)).tolist():
            tell("sampling", share)
            if kind * d < WIDTH:
                start, stop = 0, d
            else:  # from -(WIDTH - 2) on, so that the ends come about as often as the middle
                begin = floor(where * (d + WIDTH - 3)) - (WIDTH - 2)
                start, stop = max(begin, 0), min(begin + WIDTH, d)
            self._step(start, stop, start + floor(which * (stop - start)), place, heat)
        if self.jumping:
            self._jump(heat)
        self.walk.restart(self.walk.order)  # sums of scales without rounding

    def probability(self) -> np.ndarray:
        """P(i -> j) as ``[i, j]``: the mean of ``parents`` over the prefixes of each variable."""
        self._write_down(0, self.score.width)
        columns = []
        for i, prefixes in enumerate(self.weight):
            parents = np.array([self.score.local(i, before).parents for before in prefixes])
            columns.append(np.array(list(prefixes.values())) @ parents / self.time)
        return np.clip(np.stack(columns, axis=1), 0.0, 1.0)  # weights sum to 1 up to rounding

    def _step(self, start: int, stop: int, at: int, place: float, heat: float) -> None:
        """Draw the place of the variable at a position within a block; ``place`` is uniform."""
        walk = self.walk
        x = walk.order[at]
        first, values, block = walk.options(at, start, stop)
        best = max(values)
        chances = [exp(heat * (value - best)) for value in values]
        scale = 1.0 / sum(chances)
        self._write_down(first, first + len(values))
        before, bit, passed = walk.before[first], 1 << x, 0.0
        to, left = 0, place / scale
        for t, chance in enumerate(chances):
            share = chance * scale
            self._add(x, before, share)
            passed += share
            if left > chance and t < len(block):
                to, left = t + 1, left - chance
            else:
                left = -1.0  # drawn
            if t < len(block):
                self._add(block[t], before, 1.0 - passed)
                self._add(block[t], before | bit, passed)
                before |= 1 << block[t]
        self.time += 1
        for i in (x, *block):
            self.since[i] = self.time
        walk.move(at, first + to)

    def _jump(self, heat: float) -> None:
        """Try the way from the nearest optimum to another one."""
        order, d = np.array(self.walk.order), self.score.width
        count = len(self.anchors)
        a = self._nearest(order)
        b = (a + 1 + int(self.rng.integers(count - 1))) % count
        by_name, uniform = self.rng.random() < 0.5, self.rng.random()
        other = self._carry(order, a, b, by_name)
        new = other.tolist()
        if self._nearest(other) != b or not is_legal(self.score, new):
            self.time += 1
            return
        chance = exp(min(heat * (total(self.score, new) - total(self.score, self.walk.order)), 0.0))
        self.hope += chance
        self._write_down(0, d)
        there = Walk(self.score, new)
        for walk, share in ((self.walk, 1.0 - chance), (there, chance)):
            for i, before in zip(walk.order, walk.before):
                self._add(i, before, share)
        self.time += 1
        self.since = [self.time] * d
        if uniform < chance:
            self.walk = there

    def _carry(self, order: np.ndarray, a: int, b: int, by_name: bool) -> np.ndarray:
        """The order that does to optimum b what this one does to optimum a; undone with a and b exchanged."""
        return self.anchors[b][self.ranks[a][order]] if by_name else order[self.ranks[a][self.anchors[b]]]

    def _nearest(self, order: np.ndarray) -> int:
        """The optimum with the least sum of differences of places."""
        return int(np.argmin(np.abs(self.ranks - np.argsort(order)).sum(axis=1)))

    def _write_down(self, start: int, stop: int) -> None:
        """Add the time that the variables of some positions have kept their prefixes."""
        for i, before in zip(self.walk.order[start:stop], self.walk.before[start:stop]):
            self._add(i, before, self.time - self.since[i])
            self.since[i] = self.time

    def _add(self, i: int, before: int, amount: float) -> None:
        if amount > 1e-12:
            weight = self.weight[i]
            weight[before] = weight.get(before, 0.0) + amount


def _anchors(score: OrderScore, optima: Sequence[Optimum]) -> list[Optimum]:
    """The best optima that differ in edges, not only in the places of variables that have nothing to do there."""
    found: list[Optimum] = []
    edges: list[np.ndarray] = []
    for one in optima:
        own = _edges(score, one.order)
        if optima[0].value - one.value <= DEPTH and all(np.max(np.abs(own - other)) > ALIKE for other in edges):
            found.append(one)
            edges.append(own)
    return found[:OPTIMA]


def _edges(score: OrderScore, order: Sequence[int]) -> np.ndarray:
    """P(i -> j) given an order: ``parents_j(before j)[i]``."""
    walk = Walk(score, order)
    terms = {i: score.local(i, before).parents for i, before in zip(walk.order, walk.before)}
    return np.stack([terms[i] for i in range(score.width)], axis=1)


def _draw_graph(score: OrderScore, order: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """A DAG of an order: each parent by its own probability."""
    parents = _edges(score, order)
    draws = np.empty_like(parents)
    draws[np.ix_(order, order)] = rng.random(parents.shape)  # by place in the order, so that names play no part
    return draws < parents
