"""Which variables come first: what an order is judged by, and the search for the best one.

The regressions of each variable on all before it are those of :mod:`dagtune.conditional.factors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dagtune.conditional.factors import Best, Factor, Fresh, Prefixes, RegressionTable
from dagtune.conditional.links import LINK_FREEDOM, judge
from dagtune.regression import ROOM

__all__ = ["Objective", "best_insertion", "search", "top_down"]

#: A search goes without the settings that are the best for less than this share of the regressions it looks at.
_SELDOM = 0.03


@dataclass(frozen=True, eq=False)
class Objective:
    """What an order is judged by: the sum over all variables of a cost given everything before.

    The cost of a variable is log V, less the gain of a bent link where it pays; with ``any_noise`` less twice the
    negentropy of its residuals. With ``variance`` (d,) all variables are taken to have noise of one variance in the
    table's units, and the cost is ``V variance`` instead of its logarithm: the sum's logarithm is, up to constants, the
    Gaussian likelihood. ``joint`` offers another regression, of all parents together: see
    :mod:`dagtune.conditional.joint`.
    ``evidence`` is the share of the marginal likelihood in the judgement of weak regressions, the rest is GCV's: the
    first is surer where signals are weak, and wrong where they are strong.
    """

    table: RegressionTable
    any_noise: bool = False
    variance: np.ndarray | None = None
    joint: Any = None
    link: bool = True
    evidence: float = 0.5
    stopped: Callable[[], None] = field(default=lambda: None)

    def costs(self, regressions: Prefixes, places: np.ndarray, children: np.ndarray) -> np.ndarray:
        """log V of each child given everything before its place, less what is taken off."""
        return self._finish(regressions.best(places, children, self.evidence), children)

    def _finish(self, best: Best, children: np.ndarray) -> np.ndarray:
        """Costs from log GCV of the additive fits, less what their rows say: a bent link, and the noise."""
        if not self.link:
            return best.cost
        table = self.table
        room = np.maximum(1 - (1 + best.freedom) / table.n, ROOM + 0.01)
        penalty = 2 * (np.log(room) - np.log(np.maximum(room - LINK_FREEDOM / table.functions.shape[1], ROOM)))
        fits = best.weights.astype(np.float32) @ table.functions
        off = judge(fits, table.targets, children, penalty, table.bins, self.any_noise, table.smooth)
        return best.cost - off

    def scaled(self, costs: np.ndarray, children: np.ndarray) -> np.ndarray:
        """What is added up over the variables."""
        return costs if self.variance is None else np.exp(costs) * self.variance[children]

    def total(self, scaled: np.ndarray) -> float:
        """-2 / n times the log likelihood up to a constant, for comparison of objectives on one table."""
        return float(np.sum(scaled)) if self.variance is None else len(scaled) * float(np.log(np.mean(scaled)))

    def along(self, order: np.ndarray) -> np.ndarray:
        """Cost of each variable given those before it, log scale, in the order's arrangement."""
        order = np.asarray(order)
        return self.given(order, np.arange(len(order)), order)

    def given(self, arranged: np.ndarray, places: np.ndarray, children: np.ndarray) -> np.ndarray:
        """Cost of each child given the arranged variables before its place, log scale."""
        costs = self.costs(Fresh(self.table, arranged), places, children)
        return self._with_joint(costs, lambda: [arranged[:place] for place in places], children)

    def settings(self, order: np.ndarray) -> set[int]:
        """Rows of the table's penalties that are more than seldom the best for regressions along this order."""
        d = len(order)
        if d < 2:
            return {0}
        places = np.repeat(np.arange(1, d), 4)
        children = np.stack([np.arange(1, d), np.minimum(np.arange(2, d + 1), d - 1), np.arange(d + 1, 2 * d) // 2,
                             np.full(d - 1, d - 1)], axis=1).ravel()  # fmt: skip
        arranged = Fresh(self.table, np.asarray(order))
        setting = arranged.best(places, order[children], self.evidence).setting
        share = np.bincount(setting, minlength=len(self.table.penalty)) / len(setting)
        return set(np.flatnonzero(share >= _SELDOM).tolist())

    def only(self, settings: set[int]) -> Objective:
        """The same with these settings alone: quicker, and nearly the same."""
        return replace(self, table=replace(self.table, penalty=self.table.penalty[sorted(settings)]))

    def _with_joint(
        self, costs: np.ndarray, sets: Callable[[], Sequence[np.ndarray]], children: np.ndarray
    ) -> np.ndarray:
        """The better of the additive and the joint regression."""
        return costs if self.joint is None else np.minimum(costs, self.joint.costs(sets(), children))


def top_down(objective: Objective, variance: np.ndarray, before: np.ndarray) -> np.ndarray:
    """An order to begin with: again and again the variable with the least residual variance given those taken.

    ``before[i, j]`` means that i must come before j.
    """
    objective = objective.only(objective.settings(np.argsort(variance, kind="stable")))
    table = objective.table
    order: list[int] = []
    left = list(range(table.width))
    while left:
        objective.stopped()
        ready = [j for j in left if not before[left, j].any()]
        costs = objective.given(np.array(order, dtype=np.intp), np.full(len(ready), len(order)), np.array(ready))
        order.append(ready[int(np.argmin(costs + np.log(variance[ready])))])
        left.remove(order[-1])
    return np.array(order)


def search(
    objective: Objective, order: np.ndarray, before: np.ndarray, *, window: int | None = None, sweeps: int = 30
) -> tuple[np.ndarray, np.ndarray]:
    """Move one variable at a time to its best place until no move helps; the order and its scaled costs.

    ``window`` is how far a variable may move at once (None: anywhere); ``before[i, j]`` keeps i before j. Settings that
    hardly ever win are left out, and taken in again if at the order found they do.
    """
    order = np.asarray(order)
    used: set[int] = set()
    while (wanted := objective.settings(order)) - used:
        used |= wanted
        order = _descend(objective.only(used), order, before, window, sweeps)
    return order, objective.scaled(objective.along(order), order)


def _descend(
    objective: Objective, order: np.ndarray, before: np.ndarray, window: int | None, sweeps: int
) -> np.ndarray:
    """The order where no move of one variable helps."""
    d = len(order)
    window = d if window is None else window
    factor = Factor(objective.table, order)
    current = objective.scaled(objective.along(order), factor.order)
    settled: set[int] = set()  # those looked at since the last move: not the same as the last d looks
    for _ in range(sweeps):
        factor.L = []  # rounding of the last sweep's rotations is gone
        for x in factor.order.copy():
            objective.stopped()
            here, low, current = _best_place(objective, factor, current, x, before, window)
            if here is None:
                settled.add(int(x))
            else:
                settled.clear()
                factor.rearrange(low, here)
            if len(settled) == d:
                return factor.order
    return factor.order


def best_insertion(
    own: np.ndarray, without: np.ndarray, behind: np.ndarray, here: int, allowed: np.ndarray | None = None
) -> int:
    """Before which of the others, in their order, a variable costs least in all; where it stands if that is no better.

    ``own`` is its cost at each place, one more than there are others; ``without`` and ``behind`` are the costs of each
    other with the variable after and before it, ``here`` is where it stands, ``allowed`` says where it may.
    """
    totals = own.copy()
    totals[1:] += np.cumsum(without)
    totals[:-1] += np.cumsum(behind[::-1])[::-1]
    if allowed is not None:
        totals[~allowed] = np.inf
    best = int(np.argmin(totals))
    return here if totals[best] >= totals[here] - 1e-9 * max(1.0, abs(totals[here])) else best


def _best_place(
    objective: Objective, factor: Factor, current: np.ndarray, x: int, before: np.ndarray, window: int
) -> tuple[np.ndarray | None, int, np.ndarray]:
    """The rearranged window that moves x to its best place (None if it stands there), where it begins, and the costs.

    With r the others in the window, in order: ``without`` is the cost of each given those before it, x not among them;
    ``behind`` the same with x among them; ``own`` the cost of x at each place. Those at the present place are known.
    """
    order = factor.order
    at = int(np.flatnonzero(order == x)[0])
    low, high = max(at - window, 0), min(at + window, len(order) - 1)
    blocked_low = np.flatnonzero(before[order[low:at], x])
    blocked_high = np.flatnonzero(before[x, order[at + 1 : high + 1]])
    low = low + int(blocked_low[-1]) + 1 if len(blocked_low) else low
    high = at + int(blocked_high[0]) if len(blocked_high) else high
    if low == high:
        return None, low, current
    r = np.concatenate([order[low:at], order[at + 1 : high + 1]])
    here, size = at - low, high - low
    places = np.concatenate([np.arange(here), np.arange(here + 1, size + 1)])
    children = np.concatenate([r[here:], np.full(size, x)])
    last = factor.window(low, np.append(r, x))
    costs = objective.costs(last, np.concatenate([np.arange(here, size), places]), children)
    head = order[:low]
    costs = objective._with_joint(
        costs, lambda: [np.concatenate([head, r[:p]]) for p in (*range(here, size), *places)], children
    )
    costs = objective.scaled(costs, children)
    without = np.concatenate([current[low:at], costs[: size - here]])
    elsewhere = costs[size - here :]
    own = np.concatenate([elsewhere[:here], current[at : at + 1], elsewhere[here:]])
    behind = current[at + 1 : high + 1]
    if here:
        first = r[:here]
        costs = objective.costs(factor.window(low, np.append(x, first)), np.arange(1, here + 1), first)
        costs = objective._with_joint(costs, lambda: [np.concatenate([head, [x], r[:p]]) for p in range(here)], first)
        behind = np.concatenate([objective.scaled(costs, first), behind])
    best = best_insertion(own, without, behind, here)
    if best == here:
        return None, low, current
    found = current.copy()
    found[low : high + 1] = np.concatenate([without[:best], own[best : best + 1], behind[best:]])
    return np.insert(r, best, x), low, found
