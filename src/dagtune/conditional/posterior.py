"""The posterior over orders and graphs: search, sample, and what is decided from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from dagtune.conditional.numbers import RESAMPLE_SWEEPS
from dagtune.conditional.sampler import CHAINS, SWEEPS, sample
from dagtune.conditional.search import STARTS, Optimum, OrderScore, descend, places, search, total
from dagtune.progress import Progress, silent

__all__ = ["SURE", "Posterior", "averaged", "decide", "explore", "order_of", "resample", "undecided"]

#: A pair is undecided if it is an edge with at least this probability and neither direction has this share of it.
SURE = 0.9


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the score and the sample say of d variables; ``[i, j]`` is about ``i -> j``.

    Attributes
    ----------
    order : tuple of int
        The best order found, causes first.
    value : float
        Its score in nats.
    probability : (d, d) array
        P(i -> j), the mean over sampled orders.
    ancestry : (d, d) array
        Share of the sampled orders in which i comes before j.
    margin : (d, d) array
        Nats: the best order found with i before j less the best found with j before i. Antisymmetric; infinite where
        knowledge leaves one of the two only.
    graphs : (g, d, d) bool array
        A sample of DAGs, one for each of ``orders``.
    disagreement : float
        The largest difference of ``probability`` between two halves of the chains.
    orders : (g, d) int array
        Sampled orders.
    optima : tuple of orders
        All that the search ended at, best first.
    """

    order: tuple[int, ...]
    value: float
    probability: np.ndarray
    ancestry: np.ndarray
    margin: np.ndarray
    graphs: np.ndarray
    disagreement: float
    orders: np.ndarray
    optima: tuple[tuple[int, ...], ...] = ()


def explore(
    score: OrderScore,
    rng: np.random.Generator,
    *,
    sweeps: int = SWEEPS,
    chains: int = CHAINS,
    count: int = STARTS,
    also: Sequence[Sequence[int]] = (),
    tell: Progress = silent,
) -> Posterior:
    """Search for the best orders, sample around them, and sum up.

    Parameters
    ----------
    score : OrderScore
    rng : numpy.random.Generator
    sweeps, chains : int
        Of the sampler.
    count : int
        Starts of the search.
    also : sequence of orders
        More starts.
    tell : callable
        Told ``(phase, share)`` often; may raise.
    """
    optima = search(score, rng, count=count, also=also, tell=tell)
    drawn = sample(score, optima, rng, sweeps=sweeps, chains=chains, tell=tell)
    top = int(np.argmax(drawn.values))
    if drawn.values[top] > optima[0].value:  # the chains found a way that the search had not
        optima.append(descend(score, drawn.orders[top].tolist(), tell))
    best = max(optima, key=lambda optimum: optimum.value)
    seen = [*optima, *(Optimum(tuple(order), value) for order, value in zip(drawn.orders.tolist(), drawn.values))]
    return Posterior(
        order=best.order,
        value=best.value,
        probability=drawn.probability,
        ancestry=drawn.ancestry,
        margin=_margins(score, best, seen),
        graphs=drawn.graphs,
        disagreement=drawn.disagreement,
        orders=drawn.orders,
        optima=tuple(one.order for one in sorted(optima, key=lambda optimum: -optimum.value)),
    )


def averaged(found: Sequence[Posterior]) -> Posterior:
    """The mean of posteriors of the same variables: of tables that differ in draws of what is missing.

    The order is the first one's; the sample has equal shares of all.
    """
    first, count = found[0], len(found)
    return replace(
        first,
        probability=np.mean([one.probability for one in found], axis=0),
        ancestry=np.mean([one.ancestry for one in found], axis=0),
        margin=np.mean([one.margin for one in found], axis=0),
        graphs=np.concatenate([one.graphs[k::count] for k, one in enumerate(found)]),
        orders=np.concatenate([one.orders[k::count] for k, one in enumerate(found)]),
        disagreement=float(np.mean([one.disagreement for one in found])),
    )


class ResampledScore(OrderScore, Protocol):
    """A score that can be asked what it would be had other rows been drawn."""

    rate: float

    @property
    def resamples(self) -> int: ...

    def resample(self, number: int) -> None: ...

    def set_rate(self, rate: float) -> None: ...

    def draw_rate(self, order: Sequence[int], rng: np.random.Generator) -> None: ...


def resample(
    score: ResampledScore,
    found: Posterior,
    rng: np.random.Generator,
    *,
    sweeps: int = RESAMPLE_SWEEPS,
    tell: Progress = silent,
) -> Posterior:
    """The same with the mean of the posteriors of the score's resamples: one chain each, from its own best order near
    one of our optima, that which is best in the resample: what is tens of nats behind in the table may be ahead there.
    Each has a rate of edges of its own, drawn from what is likely given that order: one rate for all would be too sure.

    Probabilities, the share of orders and the sample of graphs are those of all chains together; margins and what says
    whether chains converge stay those of the table itself.
    """
    drawn, count, rate = [], score.resamples, score.rate
    for number, stream in enumerate(rng.spawn(count)):
        score.resample(number)
        score.set_rate(rate)

        def told(phase: str, share: float, number: int = number) -> None:
            tell("sampling", (number + (share if phase == "sampling" else 0.0)) / count)

        begin = max(found.optima, key=partial(total, score))
        score.draw_rate(begin, stream)
        best = descend(score, begin, told, far=False)
        drawn.append(sample(score, [best], stream, sweeps=sweeps, chains=1, tell=told))
    score.resample(-1)
    score.set_rate(rate)
    return replace(
        found,
        probability=np.mean([one.probability for one in drawn], axis=0),
        ancestry=np.mean([one.ancestry for one in drawn], axis=0),
        graphs=np.concatenate([one.graphs for one in drawn]),
        orders=np.concatenate([one.orders for one in drawn]),
    )


def decide(probability: np.ndarray, least: float = 0.5, must_precede: np.ndarray | None = None) -> np.ndarray:
    """The graph: each pair with ``P(i -> j) + P(j -> i) > least`` in its likelier direction, made acyclic.

    Edges are taken in descending probability; one that closes a cycle, together with ``must_precede`` if given, is
    left out.
    """
    d = len(probability)
    edges = [
        (i, j) if probability[i, j] >= probability[j, i] else (j, i)
        for i in range(d)
        for j in range(i + 1, d)
        if probability[i, j] + probability[j, i] > least
    ]
    graph = np.zeros((d, d), dtype=bool)
    reach = np.eye(d, dtype=bool)  # reach[i, j]: from i a way leads to j
    if must_precede is not None:
        reach |= must_precede
    for i, j in sorted(edges, key=lambda edge: -probability[edge]):
        if not reach[j, i]:
            graph[i, j] = True
            reach |= np.outer(reach[:, i], reach[j])
    return graph


def undecided(probability: np.ndarray) -> list[tuple[int, int]]:
    """Pairs i < j that are an edge, ``P(i -> j) + P(j -> i) >= 0.9``, with neither direction at 0.9 of that sum."""
    either = probability + probability.T
    unsure = (either >= SURE) & (np.maximum(probability, probability.T) < SURE * either)
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(unsure, 1))]


def order_of(graph: np.ndarray, ancestry: np.ndarray, must_precede: np.ndarray | None = None) -> tuple[int, ...]:
    """An order that obeys a DAG, and else the sampled orders: next is what comes before most of the rest in them."""
    held = np.asarray(graph, dtype=bool) if must_precede is None else graph | must_precede
    order: list[int] = []
    left = np.arange(len(graph))
    while left.size:
        ready = left[~held[np.ix_(left, left)].any(axis=0)]
        x = ready[np.argmax(ancestry[np.ix_(ready, left)].sum(axis=1))]
        order.append(int(x))
        left = left[left != x]
    return tuple(order)


def _margins(score: OrderScore, best: Optimum, seen: Sequence[Optimum]) -> np.ndarray:
    """Best score seen with i before j less that with j before i, from orders and all single insertions at the best."""
    d = score.width
    reached = np.full((d, d), -np.inf)
    for order, value in seen:
        rank = np.argsort(order)
        np.maximum(reached, value, out=reached, where=rank[:, None] < rank)
    for x in best.order:
        rest = [i for i in best.order if i != x]
        values = places(score, best.order, x)
        ahead, behind = np.maximum.accumulate(values), np.maximum.accumulate(values[::-1])[::-1]
        reached[x, rest] = np.maximum(reached[x, rest], ahead[:-1])
        reached[rest, x] = np.maximum(reached[rest, x], behind[1:])
    np.fill_diagonal(reached, 0.0)
    return reached - reached.T
