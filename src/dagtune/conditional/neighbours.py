"""In sparse graphs: likely neighbours, and a search for the order whose regressions know of them alone.

A regression on everything before a variable pays for all that is irrelevant there; the more of it, the more chance has
a say in the order. Where each variable has but few neighbours, what any regression on *all* others keeps contains
them, with the other parents of its children, and ``V(c | S)`` needs only those of S near c. Then few terms change when
a variable moves: its own, and those of its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dagtune.conditional.factors import RegressionTable
from dagtune.conditional.orders import Objective, best_insertion
from dagtune.conditional.selection import keep_backward

__all__ = ["find_neighbours", "search_near"]


#: Where variables have more likely neighbours than this, on average, ``least + share d``, the graph counts as dense.
_LEAST, _SHARE = 1.0, 0.45
#: So many variables are looked at before it is asked for the first time whether the graph is dense.
_FIRST = 8


def find_neighbours(table: RegressionTable, stopped: Callable[[], None] = lambda: None) -> np.ndarray | None:
    """(d, d), symmetric: pairs of which one is kept when the other is regressed on all variables but itself.

    None where the graph is dense. ``stopped`` is called now and then, and may raise.
    """
    d = table.width
    kept = np.zeros((d, d), dtype=bool)
    for child in range(d):
        stopped()
        others = np.delete(np.arange(d), child)
        kept[others, child] = keep_backward(table, child, others, np.zeros(d - 1, dtype=bool), passes=1)
        if child + 1 >= _FIRST and kept.sum() > (_LEAST + _SHARE * d) * (child + 1):
            return None
    kept |= kept.T
    return kept if kept.sum() <= (_LEAST + _SHARE * d) * d else None


class _Costs:
    """What a child costs given a set, in the objective's scale; remembered."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._known: dict[tuple[int, frozenset[int]], float] = {}

    def growing(self, child: int, arranged: list[int], places: range) -> list[float]:
        """Costs of the child given the first of the arranged ones, for each number of them."""
        keys = [(child, frozenset(arranged[:place])) for place in places]
        if any(key not in self._known for key in keys):
            children = np.full(len(places), child)
            found = self._objective.given(np.array(arranged, dtype=np.intp), np.array(places), children)
            self._known.update(zip(keys, self._objective.scaled(found, children).tolist()))
        return [self._known[key] for key in keys]


def search_near(
    objective: Objective, order: np.ndarray, near: np.ndarray, before: np.ndarray, *, sweeps: int = 30
) -> np.ndarray:
    """Move one variable at a time to its best place until no move helps, each regressed on those near it alone.

    ``near`` (d, d) is symmetric; ``before[i, j]`` keeps i before j.
    """
    costs = _Costs(objective.only(objective.settings(order)))
    arranged = np.asarray(order).tolist()
    for _ in range(sweeps):
        moved = False
        for x in tuple(arranged):
            objective.stopped()
            place = _best_place(costs, arranged, x, near, before)
            if place is not None:
                arranged.remove(x)
                arranged.insert(place, x)
                moved = True
        if not moved:
            break
    return np.array(arranged, dtype=np.intp)


def _best_place(costs: _Costs, order: list[int], x: int, near: np.ndarray, before: np.ndarray) -> int | None:
    """Where x costs least among the others, itself and its neighbours counted; None if it stands there."""
    at = order.index(x)
    others = order[:at] + order[at + 1 :]
    places = [t for t, j in enumerate(others) if near[x, j]]
    mine = [others[t] for t in places]
    own = costs.growing(x, mine, range(len(mine) + 1))
    without, behind = [], []
    for t in places:
        c = others[t]
        known = [j for j in others[:t] if near[j, c]]
        alone, added = costs.growing(c, [*known, x], range(len(known), len(known) + 2))
        without.append(alone)
        behind.append(added)
    low = max((t + 1 for t, j in enumerate(others) if before[j, x]), default=0)
    high = min((t for t, j in enumerate(others) if before[x, j]), default=len(others))
    # Between two neighbours all places are alike; the first that is allowed stands for them.
    begins = np.maximum([0, *(t + 1 for t in places)], low)
    ends = np.minimum([*places, len(others)], high)
    here = sum(t < at for t in places)
    best = best_insertion(np.array(own), np.array(without), np.array(behind), here, begins <= ends)
    return None if best == here else int(begins[best])
