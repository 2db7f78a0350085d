"""Conditional incremental information: the paper's Theorem 1 without its cut-off at two variables.

For a child i and a set S of determined parents, V(i | S) is the residual variance of X_i given S. What j adds is
``log V(i | S) - log V(i | S + j)``. The optimal phase finds the order of the variables in which everything before
explains everything after best (:mod:`dagtune.conditional.orders`); the tuning phase deletes and adds parents within
that order (:mod:`dagtune.conditional.selection`). Which noise is assumed decides how an order is judged:

- free: Gaussian noise of any variance; the scale of a column means nothing.
- equal: Gaussian noise of one variance in the table's units.
- non-gaussian: the residuals' negentropy counts too.
- post-nonlinear: ``T_i(X_i)`` is the target, T_i a transform of bounded or skewed variables; its slope is paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dagtune.conditional.data import Transform, measure, with_targets
from dagtune.conditional.factors import RegressionTable
from dagtune.conditional.joint import Joint
from dagtune.conditional.links import negentropy
from dagtune.conditional.neighbours import find_neighbours, search_near
from dagtune.conditional.orders import Objective, search, top_down
from dagtune.conditional.selection import likely_edges
from dagtune.conditional.transforms import fit_bounded, fit_normal_scores
from dagtune.graph import complete
from dagtune.parallel import parallel_map
from dagtune.progress import Progress

__all__ = ["NOISES", "Attempt", "Ordered", "find_order"]

NOISES = ("auto", "equal", "free", "non-gaussian", "post-nonlinear")

#: Rows that the joint regressions look at.
JOINT_ROWS = 2500
#: From so many variables on, searches from different starts run side by side; below, threads cost more than they save.
MANY = 15
#: Up to so many variables a search may move one anywhere; beyond, so far at once.
ANYWHERE, WINDOW = 60, 12
#: In sparse graphs searches start from so many random orders too: many orders are nearly as good as the best, and a
#: search stops at the first that no single move betters.
STARTS = 3
#: Searches know of likely neighbours alone if those with an edge at the order found are no more, on average, than this:
#: so many and such a share of all variables.
FEW = 3.3, 0.1
#: How far a variable may move at once while joint regressions are tried.
JOINT_WINDOW = 5
#: Their landmarks: so many rows and one in so many of all, but no more than the last number.
LANDMARKS = 50, 5, 150
#: Joint regressions are searched with if, at the order found without, they lower log V by this + 1/n on average.
JOINT_GAIN = 0.0015

#: The least gain of bent functions over straight lines, in log n / n a variable, that tells directions.
BENT = 0.25
#: -2 / n log likelihood a variable by which another kind of noise must win: over free variances, and over equal ones.
SLIGHT, CLEAR = 0.01, 0.3
#: So far behind the best, in the same units, an attempt gets no more starts.
FAR = 0.05
#: A residual variance so many times the usual one is misfit.
MISSED = 3.0
#: Log residual variances that vary less than this over the earlier half of the order are alike; more, and over all they
#: must vary by less than this share of what they do at the order found under free variances.
ALIKE, MUCH = 0.25, 0.6


@dataclass(frozen=True, eq=False)
class Attempt:
    """An order found under one kind of noise; ``score`` is -2 / n times its log likelihood with what it costs added."""

    noise: str
    order: np.ndarray
    score: float
    objective: Objective
    words: str = ""


@dataclass(frozen=True, eq=False)
class Ordered:
    """The order, the objective that chose it, all attempts, and in words what was decided and how clearly."""

    chosen: Attempt
    attempts: tuple[Attempt, ...]
    decision: str
    joint_used: bool
    #: Did a last search regress each variable on its likely neighbours alone?
    neighbours_used: bool
    #: Under free variances, are all effects straight lines with Gaussian noise? Then no order is better than others.
    straight: bool
    #: (d, rows): the variables at the rows that the objective's table looks at.
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class _Alike:
    """The attempt under equal variances: are they so much alike that it can be taken, and how much in words."""

    attempt: Attempt
    enough: bool
    words: str


class Learner:
    """One table, one set of rules: makes attempts under each kind of noise."""

    def __init__(
        self,
        X: np.ndarray,
        before: np.ndarray,
        rng: np.random.Generator,
        *,
        categorical: np.ndarray | None = None,
        units: bool = True,
        threads: int = 1,
        stopped: Callable[[], None] = lambda: None,
    ) -> None:
        self.data = measure(X, categorical)
        self.before, self.rng, self.threads, self.stopped = before, rng, threads, stopped
        self.n, self.d = X.shape
        #: Rows that histograms and transforms saw: what is learned from them is paid for at their number.
        self.seen = len(self.data.rows)
        self.window = None if self.d <= ANYWHERE else WINDOW
        #: Likely neighbours, where the graph is sparse. Beyond some variables that is too long a question.
        self.near = find_neighbours(self.data.table, stopped) if self.d <= ANYWHERE else None
        plain = self._objective()
        # Where the columns' units mean nothing, not even the place to start from may depend on them.
        self.first = top_down(plain, self.data.variance if units else np.ones(self.d), before)

    def _objective(self, table: RegressionTable | None = None, **options: object) -> Objective:
        return Objective(table or self.data.table, stopped=self.stopped, **options)  # type: ignore[arg-type]

    def _search(self, objective: Objective, *starts: np.ndarray) -> tuple[np.ndarray, float]:
        """The best order from these starts, and its score."""

        def descend(start: np.ndarray) -> tuple[np.ndarray, float]:
            order, costs = search(objective, start, self.before, window=self.window)
            return order, objective.total(costs)

        threads = self.threads if self.d >= MANY else 1
        return min(parallel_map(descend, starts, threads), key=lambda one: one[1])

    def _random(self, count: int) -> list[np.ndarray]:
        """Random orders to start from; large tables go without."""
        return [_random_order(self.before, self.rng) for _ in range(count if self.d <= ANYWHERE else 0)]

    def _better(self, objective: Objective, *orders: np.ndarray) -> np.ndarray:
        """The order that the objective likes best as it stands."""
        return min(orders, key=lambda order: float(np.sum(objective.scaled(objective.along(order), order))))

    def free(self) -> Attempt:
        """Gaussian noise of any variance."""
        objective = self._objective()
        order, score = self._search(objective, self.first, *self._random(1))
        if self.near is not None:
            order, score = self._search(objective, order, *self._random(STARTS - 1))
        return Attempt("free", order, score, objective)

    def equal(self) -> Attempt:
        """Gaussian noise of one variance: from the top-down order alone, which is right for it but for chance."""
        left = np.empty(self.d)
        left[self.first] = np.exp(self._objective().along(self.first))
        left *= self.data.variance
        numbers = self.first[~self.data.categorical[self.first]]
        usual = np.median(left[numbers[: max(len(numbers) // 2, 1)]])
        # Where variances explode, what the functions miss of a large one is far above the noise; there it counts by its
        # share, not by its size, or it alone would decide.
        weight = self.data.variance / np.maximum(left / (MISSED * usual), 1.0)
        objective = self._objective(variance=weight)
        order, score = self._search(objective, self.first)
        return Attempt("equal", order, score, objective)

    def non_gaussian(self, free: Attempt, limit: float | None = None) -> Attempt:
        """Noise of any distribution; two parameters a variable are paid for, as if it had a shape and a skewness.

        Where it does not win over free variances, or is far above the ``limit``, one search is enough.
        """
        objective = self._objective(any_noise=True)
        # No limit here: at a wrong order residuals are mixtures, nearly Gaussian; the gain shows after the search.
        order, score = self._search(objective, free.order)
        if score + self._any_noise_penalty() < (np.inf if limit is None else min(free.score, limit + FAR * self.d)):
            order, score = self._search(objective, order, *self._random(STARTS))
        return Attempt("non-gaussian", order, score + self._any_noise_penalty(), objective)

    def equal_shape(
        self, equal: Attempt, free: Attempt, any_noise: Attempt, limit: float | None = None
    ) -> _Alike | None:
        """Noise of one distribution, where that shows: the entropy power takes the place of the variance."""
        least = free.score - SLIGHT * self.d
        if limit is not None:
            least = min(least, limit + FAR * self.d)
        if any_noise.score > least or _likeliest([any_noise, free], self.n) is free:
            return None
        objective = replace(equal.objective, any_noise=True)
        order, score = self._search(objective, equal.order, any_noise.order)
        words = "noise of one distribution, not Gaussian"
        return self.alike(Attempt("equal", order, score + self._any_noise_penalty(), objective, words), any_noise)

    def any_noise_on_scale(self, free: Attempt, scales: Sequence[Attempt], any_noise: Attempt | None) -> Attempt | None:
        """Noise of any distribution on the best of other scales, if that is clearly better than the table's own.

        Not where noise is of one variance there: that is seldom met by accident, and says enough. And not where the
        ``any_noise`` on the table's own scale does nearly as well.
        """
        attempt = min(scales, key=lambda one: one.score, default=free)
        if attempt.score >= free.score - SLIGHT * self.d or attempt.objective.variance is not None:
            return None
        penalty = attempt.score - attempt.objective.total(attempt.objective.along(attempt.order))
        objective = replace(attempt.objective, any_noise=True)
        order, score = self._search(objective, attempt.order, *self._random(STARTS))
        words = f"{attempt.words}, noise of any distribution on that scale"
        found = Attempt(attempt.noise, order, score + penalty + self._any_noise_penalty(), objective, words)
        return found if any_noise is None or found.score < any_noise.score - SLIGHT * self.d else None

    def _any_noise_penalty(self) -> float:
        """What noise of any distribution costs."""
        return 2 * self.d * float(np.log(self.seen)) / self.seen

    def scales(self, start: np.ndarray, limit: float | None = None) -> list[Attempt]:
        """Post-nonlinear attempts; each is searched for if where it starts it is better than all before in the end.

        Those before begin with the ``limit``; None searches always.
        """
        found = []
        for attempt in (self.bounded, partial(self.scored, both=False), partial(self.scored, both=True)):
            if (one := attempt(start, limit)) is not None:
                found.append(one)
                limit = None if limit is None else min(limit, one.score)
        return found

    def bounded(self, start: np.ndarray, limit: float | None = None) -> Attempt | None:
        """Post-nonlinear: targets of bounded variables through Johnson's SB, which has a bound on each side to pay."""
        fits = {int(j): fit_bounded(self.data.rows[:, j]) for j in np.flatnonzero(self.data.table.smooth)}
        penalty = 2 * np.log(self.seen) / self.seen
        chosen = {j: fit for j, fit in fits.items() if fit.change < -penalty}
        if not chosen:
            return None
        cost = sum(fit.change + penalty for fit in chosen.values())
        # All variables on one kind of scale: only then can their noise be of one variance there.
        scale = np.array([fits[j].standard_deviation ** 2 for j in range(self.d)]) if len(fits) == self.d else None
        return self._transformed(
            with_targets(self.data, dict(chosen)), start, cost, f"bounded of {len(chosen)} variables", limit, scale
        )

    def scored(self, start: np.ndarray, limit: float | None = None, *, both: bool) -> Attempt | None:
        """Post-nonlinear: normal scores as targets, and with ``both`` as causes too."""
        table = self.data.table
        targets = table.targets.astype(np.float64)
        J = np.array([2 * negentropy(y, table.bins) if s else 0.0 for y, s in zip(targets, table.smooth)])
        penalty = 4 * np.log(self.seen) / self.seen
        which = np.flatnonzero(penalty < J)
        if not len(which):
            return None
        transforms: dict[int, Transform] = {int(j): fit_normal_scores(self.data.rows[:, j]) for j in which}
        cost = float(np.sum(penalty - J[which]))
        if not both:
            return self._transformed(
                with_targets(self.data, transforms), start, cost, f"normal scores of {len(which)} variables", limit
            )
        X = self.data.X.copy()
        for j, transform in transforms.items():
            X[:, j] = transform(X[:, j])
        told = f"normal scores, as causes too, of {len(which)} variables"
        return self._transformed(measure(X, self.data.categorical).table, start, cost, told, limit)

    def _transformed(
        self,
        table: RegressionTable,
        start: np.ndarray,
        cost: float,
        words: str,
        limit: float | None,
        scale: np.ndarray | None = None,
    ) -> Attempt:
        """Search with other targets; ``scale`` is their variance where equal noise may be tried on their scale."""
        objective = self._objective(table)
        there = objective.total(objective.along(start)) + cost
        attempt = Attempt("post-nonlinear", start, there, objective, words)
        if limit is not None and there > limit:  # worse where it starts: not worth a search
            return attempt
        order, score = self._search(objective, start, *self._random(int(self.near is not None)))
        attempt = replace(attempt, order=order, score=score + cost)
        if scale is not None:
            alike = replace(objective, variance=scale)
            order, _ = self._search(alike, self._better(alike, top_down(objective, scale, self.before), order))
            if _more_equal(*self.equality(order, objective, scale), self.n):
                words = f"{attempt.words}, noise of one variance on that scale"
                return replace(attempt, order=order, objective=alike, words=words)
        return attempt

    def equality(
        self, order: np.ndarray, objective: Objective, variance: np.ndarray, *, early: bool = False
    ) -> tuple[float, float]:
        """Variance over the variables of their log residual variance at this order, and of their log variance.

        With ``early`` over the first half of the order only, whose small regressions hardly misfit.
        """
        numbers = np.flatnonzero(~self.data.categorical[order])
        if early:
            numbers = numbers[: max(len(numbers) // 2, 2)]
        log_v = replace(objective, variance=None).along(order[: numbers[-1] + 1])[numbers]
        log_variance = np.log(variance[order[numbers]])
        return float(np.var(log_v + log_variance)), float(np.var(log_variance))

    def alike(self, equal: Attempt, free: Attempt) -> _Alike:
        """Are residual variances alike at the order found under equal ones, more than those of the columns?"""
        variance = self.data.variance
        left, before = self.equality(equal.order, equal.objective, variance)
        enough = _more_equal(left, before, self.n)
        if enough and self.equality(equal.order, equal.objective, variance, early=True)[0] > ALIKE:
            enough = left < MUCH * self.equality(free.order, free.objective, variance)[0]
        what = "log entropy powers of residuals" if equal.objective.any_noise else "log residual variances"
        return _Alike(equal, enough, f"{what} vary by {left:.3g} against {before:.3g} of log variances")

    def straight(self, attempt: Attempt) -> bool:
        """Does nothing bent, at this order, explain the variables better than straight lines?

        By the mean over the variables of log V in units of log n / n: on development seeds at most 0.2 for linear
        effects with Gaussian noise (d = 10 and 20, n = 100 to 500), at least 0.3 for all other models.
        """
        table = attempt.objective.table
        bent = self.data.gram.roughness > 0
        lines = replace(table, penalty=np.where(bent, 1e3, table.penalty))
        gain = self._objective(lines, link=False).along(attempt.order) - attempt.objective.along(attempt.order)
        return bool(np.mean(gain) < BENT * np.log(self.n) / self.n)

    def refine(self, attempt: Attempt, others: Sequence[np.ndarray] = ()) -> tuple[Attempt, bool]:
        """Search on with joint regressions if they fit clearly better at the attempt's order.

        The search is a short one: it starts from the order that they like best, be it one of the ``others``.
        """
        objective = attempt.objective
        if objective.any_noise:
            return attempt, False
        m = min(len(self.data.rows), JOINT_ROWS)
        some = np.linspace(0, self.seen - 1, m).astype(np.intp)  # spread out: the table may be sorted
        rows, starts = self._embedded(self.data.rows[some])
        joint = Joint(
            rows,
            objective.table.targets[:, some],
            starts=starts,
            landmarks=min(LANDMARKS[0] + m // LANDMARKS[1], LANDMARKS[2]),
            rng=np.random.default_rng(self.rng.integers(2**63)),
            threads=self.threads,
        )
        order = attempt.order
        additive = replace(objective, variance=None, evidence=0.0).along(order)
        together = joint.costs([order[:t] for t in range(self.d)], order)
        if np.mean(np.maximum(additive - together, 0)) < JOINT_GAIN + 1 / len(rows):
            return attempt, False
        objective = replace(objective, joint=joint, evidence=0.0)  # joint regressions are judged by GCV alone
        start = self._better(objective, order, *others)
        found, _ = search(objective, start, self.before, window=JOINT_WINDOW)
        return replace(attempt, order=found, objective=objective), True

    def _embedded(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Standardised columns for the joint regressions; a categorical variable has one for each of its functions."""
        gram = self.data.gram
        standard = (rows - gram.shift) / gram.scale
        if not self.data.categorical.any():
            return standard, None
        columns = [
            gram.curves[j].values(rows[:, j] - gram.shift[j]).T if some else standard[:, [j]]
            for j, some in enumerate(self.data.categorical)
        ]
        columns = [one / np.sqrt(one.shape[1]) for one in columns]  # together as large as one number
        return np.concatenate(columns, axis=1), np.cumsum([0, *(one.shape[1] for one in columns)])

    def narrow(self, attempt: Attempt) -> Attempt:
        """In a sparse graph search on with regressions on likely neighbours alone.

        Those of any order first, and those that the order found has; then those that are likely at the order so found.
        """
        if self.near is None:
            return attempt
        objective = attempt.objective
        likely = self._joined(objective.table, attempt.order)
        if likely.sum() > (FEW[0] + FEW[1] * self.d) * self.d:
            return attempt
        order = search_near(objective, attempt.order, likely | self.near, self.before)
        return replace(attempt, order=search_near(objective, order, self._joined(objective.table, order), self.before))

    def _joined(self, table: RegressionTable, order: np.ndarray) -> np.ndarray:
        """(d, d), symmetric: pairs with a likely edge at this order."""
        _, likely = likely_edges(table, complete(order), np.zeros((self.d, self.d), dtype=bool))
        return likely | likely.T


def _random_order(before: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order in which i comes before j where ``before[i, j]``."""
    left = rng.permutation(len(before)).tolist()
    order: list[int] = []
    while left:
        order.append(next(j for j in left if not before[left, j].any()))
        left.remove(order[-1])
    return np.array(order, dtype=np.intp)


def _more_equal(left: float, before: float, n: int) -> bool:
    """Are residual variances so much more alike than variances that the noise can be taken for equal?"""
    return left < before and left < before / 2 + 3 / n


def find_order(
    X: np.ndarray,
    before: np.ndarray,
    *,
    categorical: np.ndarray | None = None,
    noise: str = "auto",
    rng: np.random.Generator,
    threads: int = 1,
    tell: Progress = lambda phase, share: None,
) -> Ordered:
    """The order of the columns of X (n, d), causes first; ``before[i, j]`` keeps i before j.

    Where ``categorical`` (d,) the values are categories; ``before`` must keep those before all numbers.
    """
    share = 0.0

    def stopped() -> None:
        tell("order", share)

    units = noise in ("auto", "equal")
    learner = Learner(X, before, rng, categorical=categorical, units=units, threads=threads, stopped=stopped)
    share = 0.1
    free = learner.free()
    share = 0.4
    attempts = [free]
    limit = free.score if noise == "auto" else None
    scales = learner.scales(free.order, limit) if noise in ("auto", "post-nonlinear") else []
    attempts += scales
    share = 0.6
    any_noise = None
    if noise == "auto":
        alike = learner.alike(learner.equal(), free)
        share = 0.65
        limit = min(one.score for one in attempts)
        any_noise = learner.non_gaussian(free, limit)
        attempts += [alike.attempt, any_noise]
        if one_shape := learner.equal_shape(alike.attempt, free, any_noise, limit):
            alike = one_shape
            attempts.append(alike.attempt)
    elif noise == "equal":
        attempts.append(learner.equal())
    elif noise == "non-gaussian":
        attempts.append(learner.non_gaussian(free))
    share = 0.7
    if both := learner.any_noise_on_scale(free, scales, any_noise):
        attempts.append(both)
    chosen, decision = _decide(attempts, alike, learner.n) if noise == "auto" else _asked(attempts, noise, learner.n)
    share = 0.8
    refined, used = learner.refine(chosen, [learner.first, *(one.order for one in attempts if one is not chosen)])
    final = learner.narrow(refined)
    tell("order", 1.0)
    straight = chosen.noise == "free" and not used and learner.straight(chosen)
    return Ordered(final, tuple(attempts), decision, used, final is not refined, straight, learner.data.rows.T)


def _likeliest(attempts: Sequence[Attempt], n: int) -> Attempt:
    """The attempt of least score; with noise of any distribution only if the usual variable shows it."""

    def shown(attempt: Attempt) -> bool:
        objective, order = attempt.objective, attempt.order
        bare = replace(objective, any_noise=False).along(order) - objective.along(order)
        return bool(np.median(bare) > 2 * np.log(n) / n)

    by_score = sorted(attempts, key=lambda one: one.score)
    return next((one for one in by_score if not one.objective.any_noise or shown(one)), by_score[0])


def _asked(attempts: list[Attempt], noise: str, n: int) -> tuple[Attempt, str]:
    """The best attempt under the kind of noise that was asked for, and that in words."""
    able = [one for one in attempts if one.noise == noise]
    if not able:
        return attempts[0], f"noise={noise!r} was asked for, but no variable has another scale that fits better: free"
    best = _likeliest(able, n)
    return best, f"noise={noise!r} as asked" + (f" ({best.words})" if best.words else "")


def _decide(attempts: list[Attempt], alike: _Alike, n: int) -> tuple[Attempt, str]:
    """The attempt to go on with, and in words why."""
    free, d = attempts[0], len(attempts[0].order)
    best = _likeliest([one for one in attempts if one.noise != "equal"], n)
    # Equal variances are seldom met by accident, a better likelihood is: a misfit looks like other noise.
    usual, least = free, SLIGHT
    if alike.enough:
        least = CLEAR
        if alike.attempt.objective.any_noise:  # that noise is not Gaussian is no news then
            usual = next(one for one in attempts if one.noise == "non-gaussian")
    if best is not free and (usual.score - best.score) / d > least:
        words = f" ({best.words})" if best.words else ""
        told = f"{(free.score - best.score) * n / 2:.1f}"
        return best, f"{best.noise} noise{words}: log likelihood {told} above free Gaussian noise, penalties included"
    if alike.enough:
        words = f" ({alike.attempt.words})" if alike.attempt.words else ""
        return alike.attempt, f"equal noise variances{words}: {alike.words}"
    return free, f"free noise variances: {alike.words}, too much for equal ones"
