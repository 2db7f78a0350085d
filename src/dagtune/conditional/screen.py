"""A screen of candidate neighbours: pairs of variables that are looked at for an edge where there are very many pairs.

Two things are asked of every pair, from sums over rows alone: how much their straight lines have to do with each other
given the lines of all other variables, and how much their curves have to do with each other. The first finds what
cancels along other ways, the second what is bent. Either one alone loses a tenth to a fifth of the edges of sparse
graphs at d = 200; the candidates of a variable are those that come first in one of the two. What both together lose is
measured by ``python -m benchmarks.screen``; the first orders found tell what is missing, and that is looked at, too.

A pair that is left out is taken not to be an edge, and what is not a candidate of a variable does not matter before it:
many prefixes become one. What is required or believed stays. The prior stays that of all pairs: had a hundred been
looked at to find ten, it would be no likelier that the ten are edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from dagtune.conditional.design import Design
from dagtune.conditional.mechanisms import Sums, additive, flips
from dagtune.conditional.parents import Prior
from dagtune.conditional.problem import Offer
from dagtune.conditional.score import Local, Score
from dagtune.progress import Progress, silent

__all__ = ["CANDIDATES", "Screened", "candidates", "score_of"]

#: Candidates of each variable's own choice. A table of so many other variables is not screened.
CANDIDATES = 40
#: What of an inverse correlation matrix would otherwise be noise, in units of a variance.
RIDGE = 1e-3


def score_of(
    design: Design, offer: Offer, *, shared: str, prior: Prior, must_precede: np.ndarray, count: int = CANDIDATES
) -> Score:
    """The score of a table; what is neither among ``count`` candidates nor known is left out."""
    known = prior.required | (prior.odds != 0)
    left_out = prior.allowed & ~(candidates(design.sums, count) | known | known.T)
    if not left_out.any():
        return Score(design, offer, shared=shared, prior=prior, must_precede=must_precede)
    return Screened(design, offer, shared=shared, prior=prior, must_precede=must_precede, left_out=left_out)


class Screened(Score):
    """The score of orders where some edges are not looked at.

    Parameters
    ----------
    left_out : ndarray of bool, shape (d, d)
        Edges that the prior allows, none of them required or believed.
    """

    def __init__(
        self, design: Design, offer: Offer, *, shared: str, prior: Prior, must_precede: np.ndarray, left_out: np.ndarray
    ) -> None:
        looked_at = prior.allowed & ~left_out
        super().__init__(
            design, offer, shared=shared, prior=prior._replace(allowed=looked_at), must_precede=must_precede
        )
        self.left_out = left_out
        self._look_at(looked_at)

    def local(self, child: int, before: int) -> Local:
        """The variable after the variables of a bit mask; only its candidates among them matter."""
        return super().local(child, before & self._heeded[child])

    def offer_dear(self, orders: Sequence[Sequence[int]], tell: Progress = silent) -> bool:
        """Offer the dear cells, and what the screen has left out although it would gain in one of these orders."""
        widened = self._widen(orders)
        return super().offer_dear(orders, tell) or widened

    def _widen(self, orders: Sequence[Sequence[int]]) -> bool:
        """Look at each pair from now on that would gain as an edge, by straight sums, beside the likely parents in an
        order; whether there is any."""
        d, targets, gains = self.width, self.problem.targets, np.empty(self.width)
        wanted = np.zeros((d, d), dtype=bool)
        for order in orders:
            place = np.argsort(order)
            for i, before in zip(order, accumulate((1 << int(j) for j in order), initial=0)):
                S = np.flatnonzero(self.local(i, before).parents > 0.5)
                for target in range(targets.starts[i], targets.starts[i + 1]):
                    settings = additive(self.problem.sums, target, S, targets.first[target])[3:]
                    flips(self.problem.sums, target, S, settings, gains)
                    wanted[:, i] |= (gains + self._prior.odds[:, i] > 0) & (place < place[i])
        found = self.left_out & (wanted | wanted.T)
        self._look_at(self._given.allowed | found)
        self.left_out = self.left_out & ~found
        return bool(found.any())

    def _look_at(self, allowed: np.ndarray) -> None:
        self._given = self._given._replace(allowed=allowed)
        self._heeded = [sum(1 << int(j) for j in np.flatnonzero(column)) for column in allowed.T]
        self.set_rate(self.rate)

    def _log_evidence(self, order: Sequence[int]) -> float:
        """The prior of all graphs sums to 1, those with edges that are left out included."""
        place = np.argsort(order)
        return super()._log_evidence(order) + np.log1p(-self.rate) * (self.left_out & (place[:, None] < place)).sum()


def candidates(sums: Sums, count: int = CANDIDATES) -> np.ndarray:
    """(d, d) boolean, symmetric: for each variable the ``count`` that come first, and who chose it.

    The order of the columns plays no part: of variables that come equally late all are taken.
    """
    d = len(sums.starts) - 1
    others = ~np.eye(d, dtype=bool)
    if d - 1 <= count:
        return others
    correlation = _whitened(sums)
    lines = sums.rough == 0
    place = np.minimum(
        _places(_given_all(correlation[np.ix_(lines, lines)], _starts_of(lines, sums.starts))),
        _places(_alone(correlation, sums.starts)),
    )
    np.fill_diagonal(place, d)
    chosen = place <= np.partition(place, count - 1, axis=1)[:, count - 1, None]
    return (chosen | chosen.T) & others


def _whitened(sums: Sums) -> np.ndarray:
    """(D, D) correlations of functions that are orthonormal within each variable."""
    found = sums.G.copy()
    for a, b in pairwise(sums.starts.tolist()):
        block = sums.G[a:b, a:b]
        # functions of a few distinct values depend on each other up to rounding
        factor = np.linalg.cholesky(block + 1e-9 * np.trace(block) / (b - a) * np.eye(b - a))
        found[a:b] = np.linalg.solve(factor, found[a:b])
        found[:, a:b] = np.linalg.solve(factor, found[:, a:b].T).T
    return found


def _starts_of(some: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Where each variable begins among some of the functions."""
    return np.concatenate([[0], np.cumsum(some)])[starts]


def _given_all(correlation: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(d, d) the largest squared partial correlation of two variables' functions given those of all others."""
    precision = np.linalg.inv(correlation + RIDGE * np.eye(len(correlation)))
    scale = np.diag(precision)
    squares = precision**2 / np.outer(scale, scale)
    return np.maximum.reduceat(np.maximum.reduceat(squares, starts[:-1], axis=0), starts[:-1], axis=1)


def _alone(correlation: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(d, d) the sum of the squared canonical correlations of two variables' functions."""
    return np.add.reduceat(np.add.reduceat(correlation**2, starts[:-1], axis=0), starts[:-1], axis=1)


def _places(score: np.ndarray) -> np.ndarray:
    """(d, d) place of each other variable in a variable's row, from 0 for the largest score; equal ones share one."""
    score = score.copy()
    np.fill_diagonal(score, np.inf)
    return np.stack([np.searchsorted(np.sort(-row), -row) for row in score]) - 1
