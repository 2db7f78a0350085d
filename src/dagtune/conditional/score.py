"""One score, in nats: how likely a variable is after a prefix of an order, over all parent sets and all cells.

    L(i, S) = log mean over cells of p(x_i | x_S, cell)                    (cells.py: mechanism x scale x spread x
                                                                            distribution)
    alpha_i(U) = log sum over S within U of exp(L(i, S)) prior(S)           (parents.py)
    score(order) = sum over i of alpha_i(before i) + log prior(noise scales)

*Prior of parent sets*: every edge has the same odds, those under which the order found first is likeliest (empirical
Bayes); a belief about an edge multiplies its odds.

*Prior of noise scales*: log variances v_i of the noise, in the units of the table, are drawn from a narrow spike
N(mu, tau^2) with a small share eps of the variables apart, uniform over the range R of what is possible; mu is averaged
over a grid. The other half of the prior is "all apart". So noise that is equal in the units of the table tells
directions, and where it is not equal the units say nothing. What is known of v_i is a mean and a variance: n rows leave
2 / n open, and the prior variances of the weights what they differ by. A variable whose mechanism is simple on another
scale counts as apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from dagtune.compiled import address_of
from dagtune.conditional.cells import CELLS, JOINT, evidence, of_other_kind, one_evidence
from dagtune.conditional.design import Design
from dagtune.conditional.discrete import NUMBER
from dagtune.conditional.numbers import APART, EDGE_RATES, NEEDED, NEGLIGIBLE, SPIKE, START_RATES
from dagtune.conditional.parents import Prior, empty_store, grown, local, look_up
from dagtune.conditional.problem import Calls, Offer, Problem
from dagtune.conditional.resamples import changes_of_other_kind, draw_weights
from dagtune.conditional.shares import UNEVENLY, learned, lost, raw
from dagtune.progress import Progress, silent

__all__ = ["Local", "Score", "posed"]


class Local(NamedTuple):
    """A variable after a prefix.

    Parameters
    ----------
    value : float
        alpha_i(before), in nats.
    parents : ndarray, shape (d,)
        Probability of each variable to be a parent of i, given this prefix.
    scale : ndarray, shape (H,)
        Log density of its noise scale at each point of the grid of the shared prior; empty without one.
    """

    value: float
    parents: np.ndarray
    scale: np.ndarray


class Score:
    """The score of orders of the variables of a table.

    Parameters
    ----------
    design : Design
    offer : Offer
        Which cells are averaged.
    shared : {"mixed", "equal", "none"}
        The prior of the noise scales: from equal to free, equal, or none.
    prior : Prior
        Log odds of edges beyond the learned rate, edges that are allowed and required; by default all are allowed.
    must_precede : ndarray of bool, shape (d, d)
        [i, j]: i comes before j in every order; transitive.
    """

    def __init__(
        self,
        design: Design,
        offer: Offer | None = None,
        *,
        shared: str = "mixed",
        prior: Prior | None = None,
        must_precede: np.ndarray | None = None,
    ) -> None:
        d = self.width = design.width
        self.design = design
        self.problem = posed(design, offer or Offer())
        #: Of each variable as an effect: not all rows count for each.
        self.problems = [design.own[i](self.problem) if i in design.own else self.problem for i in range(d)]
        none = np.zeros((d, d), dtype=bool)
        self._given = prior or Prior(np.zeros((d, d)), ~np.eye(d, dtype=bool), none)
        self.must_precede = none if must_precede is None else must_precede
        self._codes = np.random.default_rng(0)  # of the hash: any numbers will do
        self._store = empty_store(self._codes.integers(2**64, size=(2, d), dtype=np.uint64), 4096)
        self._known: dict[tuple[int, int], Local] = {}
        self._grid = _scale_grid(design.log_variance, shared, self.problem.sums.n)
        self._range = _range(design.log_variance)[1]
        self._free_too = shared == "mixed"
        self._exact, self._resample = True, -1
        self.set_rate(START_RATES[0])

    @property
    def may_be_dense(self) -> bool:
        """Whether the rows could tell a dense graph: with as many functions as rows everything fits."""
        return len(self.problem.sums.rough) < self.problem.sums.n

    # The prior of parent sets ---------------------------------------------------------------------------------------

    def set_rate(self, rate: float) -> None:
        """Give every edge this probability before the data, beside beliefs."""
        self.rate = rate
        odds = self._given.odds + special.logit(rate)
        both = rate > START_RATES[0] and self.may_be_dense
        self._prior = self._given._replace(odds=odds, both=both, exact=self._exact, resample=self._resample)
        self._known.clear()

    def learn_rate(self, order: Sequence[int]) -> float:
        """Take the rate of edges under which an order is likeliest, all its graphs and cells together; the evidence.

        Uphill over a grid from two starts, a sparse and a dense one: the evidence may have two tops.
        """
        known: dict[int, float] = {}

        def value(k: int) -> float:
            if k not in known:
                self.set_rate(EDGE_RATES[k])
                known[k] = self._log_evidence(order)
            return known[k]

        count = len(EDGE_RATES)
        best = max((count // 3, 2 * count // 3), key=value)
        while (better := max(range(max(best - 1, 0), min(best + 2, count)), key=value)) != best:
            best = better
        self.set_rate(EDGE_RATES[best])
        return known[best]

    def draw_rate(self, order: Sequence[int], rng: np.random.Generator) -> None:
        """Draw the rate of edges from its posterior given an order, all rates of the grid being alike before.

        From the present rate up and down, until a rate is negligible.
        """
        here = int(np.argmin(np.abs(np.array(EDGE_RATES) - self.rate)))
        evidence = np.full(len(EDGE_RATES), -np.inf)
        for way in (range(here, len(EDGE_RATES)), range(here - 1, -1, -1)):
            for k in way:
                self.set_rate(EDGE_RATES[k])
                evidence[k] = self._log_evidence(order)
                if evidence[k] < evidence.max() - NEGLIGIBLE:
                    break
        chances = np.cumsum(special.softmax(evidence))
        self.set_rate(EDGE_RATES[int(np.searchsorted(chances, rng.random() * chances[-1]))])

    def _log_evidence(self, order: Sequence[int]) -> float:
        """Log evidence of an order, the prior of its graphs summing to 1."""
        terms = [self.local(i, before) for i, before in _along(order)]
        place = np.argsort(order)
        required, odds = self._prior.required, self._prior.odds
        open_pairs = (place[:, None] < place) & self._prior.allowed & ~required
        total = sum(term.value for term in terms) - np.logaddexp(0.0, odds[open_pairs]).sum() - odds[required].sum()
        return float(total + self.shared(np.sum([term.scale for term in terms], axis=0)))

    # What a variable is worth after a prefix ------------------------------------------------------------------------

    def local(self, child: int, before: int) -> Local:
        """The variable after the variables of a bit mask."""
        found = self._known.get((child, before))
        if found is None:
            found = self._known[child, before] = self._local(child, before)
        return found

    def _local(self, child: int, before: int) -> Local:
        d = self.width
        prefix = np.frombuffer(bin((1 << d) | before)[:2:-1].encode(), np.uint8) == ord("1")
        parents = np.empty(d)
        while True:
            value, record = local(self.problems[child], self._store, self._prior, child, prefix, parents)
            if record >= 0:
                break
            self._store = grown(self._store)
        found = (float(column[record]) for column in (self._store.log_v, self._store.vague, self._store.free))
        scale = self._scale(child, *found)
        return Local(value, parents, scale)

    def record(self, child: int, S: Iterable[int]) -> tuple[float, float]:
        """L(child, S), and log V of what is left of the child on its own, standardised scale."""
        member = np.zeros(self.width, dtype=bool)
        member[list(S)] = True
        while (found := look_up(self.problems[child], self._store, child, member, True)) < 0:
            self._store = grown(self._store)
        return float(self._store.evidence[found]), float(self._store.log_v[found])

    def cells(self, child: int, S: Iterable[int]) -> np.ndarray:
        """(targets of the child, CELLS) log evidence of every cell, its share of the prior included."""
        starts = self.problem.targets.starts
        found = np.empty((int(starts[child + 1] - starts[child]), CELLS))
        evidence(self.problems[child], child, np.array(sorted(S), dtype=np.int64), found)
        return found

    # What is dear ---------------------------------------------------------------------------------------------------

    def judge(self, exact: bool) -> None:
        """Judge single flips of parents by all cells, or for a search by the Gaussian one."""
        self._exact = exact
        self.set_rate(self.rate)

    def draw_resamples(self, count: int, rng: np.random.Generator) -> None:
        """Resample the rows so many times; :meth:`resample` says which one counts. Nothing is known of any set then."""
        rows = self.problem.rows
        weights = draw_weights(self.design.values, count, rng, self.design.together)
        self.problem = self.problem._replace(rows=rows._replace(weights=weights))
        for i, own in enumerate(self.problems):
            kept = self.design.own[i].kept if i in self.design.own else slice(None)
            mine = np.ascontiguousarray(weights[:, kept])
            self.problems[i] = own._replace(rows=own.rows._replace(weights=mine))
        self._store = empty_store(self._store.codes, len(self._store.evidence), count)
        self._known.clear()

    @property
    def resamples(self) -> int:
        """How many resamples have been drawn."""
        return len(self.problem.rows.weights)

    def resample(self, number: int) -> None:
        """Score orders by this resample of the rows from now on; -1: by the table itself."""
        self._resample = number
        self.set_rate(self.rate)

    def put_off(self) -> None:
        """Leave out the dear cells, until :meth:`offer_dear`: the joint mechanism and the varying spread."""
        self.problem.targets.joint[:] = False
        self.problem.targets.spread[:] = False

    def offer_dear(self, orders: Sequence[Sequence[int]], tell: Progress = silent) -> bool:
        """Offer the dear cells, and learn how common each cell is; whether there is more than one.

        The joint mechanism costs as much as all others together. It is tried at the likely parents of each variable, in
        these orders and among all others; where it is negligible at all of them, it is left out at all sets. The
        varying spread is left out if at none of these sets any variable needs it. How common cells are is learned at
        the likely parents in the first order.
        """
        offer = self.problem.offer
        if not any(offer) and len(self.problem.targets.own) == self.width:
            return False
        targets, everything = self.problem.targets, (1 << self.width) - 1
        first = {i: self._likely(i, before) for i, before in _along(orders[0])}
        sets: list[set[tuple[int, ...]]] = [
            {first[i], self._likely(i, everything & ~(1 << i) & ~self._followers(i))} for i in range(self.width)
        ]
        for order in orders[1:]:
            for i, before in _along(order):
                sets[i].add(self._likely(i, before))
        targets.joint[:], targets.spread[:] = offer.joint, True
        cells: list[dict[tuple[int, ...], np.ndarray]] = []
        for i in range(self.width):
            tell("searching", 0.0)
            cells.append({S: self.cells(i, S) for S in sets[i]})
        numbers = np.flatnonzero(self.problem.discrete.family == NUMBER).tolist()
        plain = [{S: raw(self.problems[i], i, len(S), found) for S, found in cells[i].items()} for i in numbers]
        at_first = [plain[k][first[i]] for k, i in enumerate(numbers)]
        shares = learned(at_first)
        needed = sum(max(lost(one, shares, UNEVENLY) for one in sets.values()) for sets in plain)
        uneven = offer.varying_spread and needed > NEEDED
        if not uneven:
            shares = learned(at_first, without=UNEVENLY)
        for i in range(self.width):
            a, b = targets.starts[i], targets.starts[i + 1]
            targets.spread[a:b] = uneven
            hope = np.zeros(b - a, dtype=bool)
            for S, found in cells[i].items():
                if len(S) > 1 and offer.joint:
                    hope |= found[:, JOINT:].max(axis=1) > found.max() - NEGLIGIBLE
            targets.joint[a:b] = hope
            # what is known of this variable no longer holds: a new code, and it is not found again
            self._store.codes[1, i] = self._codes.integers(2**64, dtype=np.uint64)
        self.problem = self.problem._replace(shares=shares)
        self.problems = [own._replace(shares=shares) for own in self.problems]
        self._known.clear()
        return True

    def _likely(self, child: int, before: int) -> tuple[int, ...]:
        return tuple(int(j) for j in np.flatnonzero(self.local(child, before).parents > 0.5))

    def _followers(self, child: int) -> int:
        """What must come after a variable, as a bit mask."""
        return sum(1 << int(j) for j in np.flatnonzero(self.must_precede[child]))

    # The prior of noise scales --------------------------------------------------------------------------------------

    def _scale(self, child: int, log_v: float, vague: float, free: float) -> np.ndarray:
        mu, tau, eps, _ = self._grid
        s2 = tau**2 + vague + 2 / self.problems[child].sums.n  # what rows and settings leave open of a log variance
        off = log_v + self.design.log_variance[child] - mu
        spike = np.exp(-(off**2) / (2 * s2)) / np.sqrt(2 * np.pi * s2)
        return np.log((1 - free) * ((1 - eps) * spike + eps / self._range) + free / self._range + 1e-300)

    def shared(self, total: np.ndarray) -> np.ndarray:
        """Log prior of all noise scales, from the sums (..., H) of ``Local.scale`` over the variables."""
        if not self._grid.shape[1]:
            return np.zeros(total.shape[:-1])
        terms = total + self._grid[3]
        most = terms.max(axis=-1)
        found = most + np.log(np.exp(terms - most[..., None]).sum(axis=-1))
        if not self._free_too:
            return found
        return np.logaddexp(found, -self.width * np.log(self._range)) - np.log(2)


def posed(design: Design, offer: Offer) -> Problem:
    """A table as the score sees it, with the compiled functions that it needs."""
    problem = Problem(design.sums, design.rows, design.targets, offer, design.discrete)
    child, S, cells, changes = 0, np.empty(0, np.int64), np.empty((1, CELLS)), np.empty(0)
    other_kind = of_changes = 0
    if (design.discrete.family != NUMBER).any():
        other_kind = address_of(of_other_kind, problem, child, S, cells)
        of_changes = address_of(changes_of_other_kind, problem, child, S, 0, changes)
    own = address_of(one_evidence, problem, child, S, cells, changes)
    return problem._replace(calls=Calls(own, other_kind, of_changes))


def _along(order: Sequence[int]) -> Iterable[tuple[int, int]]:
    before = 0
    for i in order:
        yield i, before
        before |= 1 << i


def _range(log_variance: np.ndarray) -> tuple[float, float]:
    """The least log noise variance worth a thought, and the length of the range up to the greatest of all columns."""
    low = float(log_variance.min()) - 7.0
    return low, max(float(log_variance.max()) - low, 3.0)


def _scale_grid(log_variance: np.ndarray, shared: str, n: float) -> np.ndarray:
    """(4, H): mu, tau, eps and the log prior weight of each point; a step of mu is as wide as what n rows see of the
    spike."""
    if shared == "none":
        return np.zeros((4, 0))
    low, length = _range(log_variance)
    step = np.sqrt(SPIKE**2 + 2 / n)
    count = int(length / step) + 1
    eps = APART if shared == "mixed" else 0.0
    points = [(low + k * step, SPIKE, eps, -np.log(count)) for k in range(count)]
    return np.array(points).T
