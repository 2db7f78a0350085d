"""How common each cell is among the variables of a table: the prior of cells, learned from the table itself.

The variables of one table often resemble each other: all effects straight, all noise heavy-tailed. So the cells of a
variable have a prior that all variables share,

    p(cell) = mechanism[g] distribution[k] scale[t],

each factor with an even prior over all its values (Dirichlet, 1 each), and is learned by expectation maximisation from
the likely parents of each variable: with r the posterior weights of the cells of each variable, summed over variables,

    mechanism[g] = (1 + sum r) / (5 + number of variables), and so on.

A cell that no variable needs then weighs little, so that it can't win by chance at a wrong parent set; one that most
need is believed of the others, too. Of two variables little is learned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from dagtune.conditional.cells import CELLS, log_shares, stands_for
from dagtune.conditional.problem import EVEN, Problem, Shares

__all__ = ["UNEVENLY", "learned", "lost", "raw"]

#: The mechanisms with a varying spread.
UNEVENLY = (2, 4)

#: Rounds of expectation maximisation, and a change of a share that no longer matters.
_ROUNDS, _SMALL = 200, 1e-4


def raw(problem: Problem, child: int, causes: int, cells: np.ndarray) -> np.ndarray:
    """(targets, 5, 3) log evidence of every mechanism and distribution without the prior, from ``cells`` with it.

    One that is not offered has the evidence of the simpler one that it then is.
    """
    first = problem.targets.starts[child]
    found = np.empty((len(cells), 5, 3))
    for t, mine in enumerate(cells):
        plain = (mine - log_shares(problem, child, first + t, causes)).reshape(CELLS // 3, 3)
        mechanism, distribution = stands_for(problem, first + t, causes)
        found[t] = plain[np.ix_(mechanism, distribution)]
    return np.where(found < -1e250, -np.inf, found)


def learned(evidence: Sequence[np.ndarray], without: Sequence[int] = ()) -> Shares:
    """The shares that the variables' evidence, as :func:`raw` gives it, speaks for.

    ``without`` are mechanisms that are not offered: they have no share. A variable on one scale says nothing of scales.
    """
    offered = np.ones(5)
    offered[list(without)] = 0.0
    shares = Shares(offered / offered.sum(), EVEN.distribution, EVEN.scale)
    for _ in range(_ROUNDS):
        mechanism, distribution, scale = offered.copy(), np.ones(3), np.ones(2)
        for one in evidence:
            both = _weighted(one, shares)
            weight = np.exp(both - special.logsumexp(both))
            mechanism += weight.sum(axis=(0, 2))
            distribution += weight.sum(axis=(0, 1))
            if len(one) > 1:
                scale += weight.sum(axis=(1, 2))
        new = Shares(mechanism / mechanism.sum(), distribution / distribution.sum(), scale / scale.sum())
        change = max(float(np.abs(a - b).max()) for a, b in zip(new, shares))
        shares = new
        if change < _SMALL:
            break
    return shares


def lost(one: np.ndarray, shares: Shares, without: Sequence[int]) -> float:
    """Nats that a variable would lose without some mechanisms, the others keeping their proportions."""
    both = _weighted(one, shares)
    kept = np.delete(both, list(without), axis=1)
    rest = 1.0 - shares.mechanism[list(without)].sum()
    return float(special.logsumexp(both) - special.logsumexp(kept) + np.log(rest))


def _weighted(one: np.ndarray, shares: Shares) -> np.ndarray:
    """Log evidence and log prior of every mechanism and distribution on every scale."""
    with np.errstate(divide="ignore"):
        prior = np.log(shares.mechanism)[:, None] + np.log(shares.distribution)
    return one + prior + (np.log(shares.scale)[: len(one), None, None] if len(one) > 1 else 0.0)
