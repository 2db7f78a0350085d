"""CAM: causal additive models, in the three steps of its paper.

Bühlmann, Peters, Ernest 2014, "CAM: Causal additive models, high-dimensional order search and penalized regression"
(Annals of Statistics 42:2526), and their R package: preliminary neighbourhood selection by boosting, a greedy search
that includes edges by the gain in log likelihood (IncEdge), pruning by the significance of each smooth term. The score
of a graph is ``-sum_j log var(X_j - sum_{k in pa(j)} f_jk(X_k))``: multiplying a column changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dagtune.baselines.common import Learned, read_knowledge
from dagtune.compiled import compiled
from dagtune.graph import reachability, topological_order
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.regression import Fit, Gram, Spline, fit, measure_gram, try_each
from dagtune.tables import read_table
from dagtune.validation import InputError, check_choice, check_count

__all__ = ["learn_cam", "learn_cam_no_selection", "learn_cam_r_defaults", "select_neighbours"]

#: mboost's bbs(): 20 inner knots over the range, cubic, second differences, four degrees of freedom.
BOOSTING_SPLINE = Spline(24, knots="uniform", penalty="difference")
BOOSTING_DF = 4.0
#: mboost's defaults.
BOOSTING_STEPS, BOOSTING_RATE = 100, 0.1


def learn_cam(
    X: Any,
    *,
    rng: Any = None,
    selection: str = "boosting",
    least_share: float = 0.02,
    most_neighbours: int = 10,
    basis: int = 10,
    max_parents: int | None = None,
    near: float = 0.5,
    prune: bool = True,
    alpha: float = 0.001,
    required: Any = None,
    forbidden: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """CAM as its paper describes it; nothing is drawn from ``rng``.

    Parameters
    ----------
    X : array (n, d), DataFrame, or path of a table
    selection : "boosting" (the paper; ``selGamBoost``) or "none"
    least_share, most_neighbours : a possible parent is chosen in more than this share of the 100 boosting steps, and
        is among so many most often chosen (the package's 0.02 and 10)
    basis : functions of each parent, the mean included (``numBasisFcts`` 10); fewer, as in the package, when a
        regression has less than ``3 basis`` rows for each parent
    max_parents : default ``min(d - 1, round(n / 20))``, the package's
    near : the gain of an edge is first found with the smoothing of the child's present parents held, and found anew,
        all smoothing free, if it is at least ``near`` times the largest; 0 refits all, as the package does
    prune : drop parents whose smooth term has a p-value of ``alpha`` or more (``selGam``, cutOffPVal 0.001)
    required, forbidden : boolean (d, d); required edges are put in first and survive pruning
    time_limit : seconds, or None
    progress : called with one line now and then
    """
    settings: dict[str, Any] = {
        "selection": check_choice("selection", selection, ("boosting", "none")),
        "least_share": least_share,
        "most_neighbours": check_count("most_neighbours", most_neighbours),
        "basis": check_count("basis", basis, least=3, most=20),
        "near": near,
        "prune": prune,
        "alpha": alpha,
    }
    if not 0 < alpha <= 1:
        raise InputError(f"alpha must be above 0 and at most 1, not {alpha!r}: the paper uses 0.001")
    if not 0 <= near <= 1:
        raise InputError(f"near must be a share from 0 (refit every edge) to 1 (the best alone), not {near!r}")
    return _learn("cam", X, settings, max_parents, required, forbidden, Clock("cam", time_limit, progress))


def learn_cam_no_selection(X: Any, *, rng: Any = None, **options: Any) -> Learned:
    """CAM without its first step: every column is a possible parent of every other.

    Options as in :func:`learn_cam`. The first step is for sparse graphs of many nodes; where nodes have more than ten
    parents it takes true ones away, and this row shows what CAM can do then.
    """
    return replace(learn_cam(X, selection="none", **options), method="cam-no-selection")


def learn_cam_r_defaults(
    X: Any,
    *,
    rng: Any = None,
    required: Any = None,
    forbidden: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """CAM with the R package's own defaults: no neighbourhood selection, no pruning; the edges IncEdge can include.

    Other arguments as in :func:`learn_cam`. A second, labelled row: this is not what the paper recommends, but what
    the package does when nothing is said.
    """
    settings = {
        "selection": "none",
        "least_share": 0.02,
        "most_neighbours": 10,
        "basis": 10,
        "near": 0.5,
        "prune": False,
        "alpha": 0.001,
    }
    clock = Clock("cam-r-defaults", time_limit, progress)
    return _learn("cam-r-defaults", X, settings, None, required, forbidden, clock)


def _learn(
    method: str,
    X: Any,
    settings: dict[str, Any],
    max_parents: int | None,
    required: Any,
    forbidden: Any,
    clock: Clock,
) -> Learned:
    """The three steps."""
    table = read_table(X)
    n, d = table.values.shape
    must, mustnt = read_knowledge(d, required, forbidden)
    if max_parents is None:
        max_parents = max(min(d - 1, round(n / 20)), 1)
    settings["max_parents"] = check_count("max_parents", max_parents)
    possible = ~mustnt & ~np.eye(d, dtype=bool)
    with one_blas_thread():
        if settings["selection"] == "boosting":
            clock.tell("selecting neighbours")
            possible &= select_neighbours(table.values, settings["least_share"], settings["most_neighbours"])
        gram = measure_gram(table.values, Spline(max(2 * settings["basis"], 20), settings["basis"] - 1))
        search = _IncEdge(gram, possible, must, settings["basis"], max_parents, settings["near"])
        while search.include_best_edge():
            clock.tell(f"{int(search.graph.sum())} edges in")
        order = topological_order(search.graph)
        graph = _prune(search.fits, must, settings["alpha"]) if settings["prune"] else search.graph
    return Learned(method, graph, table.names, order, clock.seconds, converged=search.converged, settings=settings)


# --- step 1: preliminary neighbourhood selection --------------------------------------------------------------------


def select_neighbours(X: np.ndarray, least_share: float = 0.02, most: int = 10) -> np.ndarray:
    """Boolean (d, d): ``N[i, j]`` when i is a possible parent of j.

    Component-wise boosting of each column on smooth functions of all others: at each of 100 steps the one whose
    penalised spline (4 degrees of freedom) fits the residuals best moves a tenth of the way. Chosen are those taken in
    more than ``least_share`` of the steps, and of them the ``most`` most often taken.
    """
    gram = measure_gram(X, BOOSTING_SPLINE)
    shrinkage = np.concatenate([_shrinkage(curve.roughness) for curve in gram.curves])
    taken = _boost(gram.products, gram.cross, shrinkage, gram.starts, BOOSTING_STEPS, BOOSTING_RATE)
    often = taken > least_share * BOOSTING_STEPS
    rank = np.argsort(np.argsort(-taken, axis=0, kind="stable"), axis=0)
    return often & (rank < most)


def _shrinkage(roughness: np.ndarray) -> np.ndarray:
    """Factors h = 1 / (1 + theta s) of a smoother with ``1 + sum (2 h - h^2) = 4``, mboost's degrees of freedom."""

    def excess(rho: float) -> float:
        h = 1 / (1 + np.exp(rho) * roughness)
        return float(1 + np.sum(2 * h - h * h) - BOOSTING_DF)

    if len(roughness) + 1 <= BOOSTING_DF:  # a column with few values can't bend more than it can
        return np.ones(len(roughness))
    return 1 / (1 + np.exp(brentq(excess, -60.0, 60.0)) * roughness)


@compiled
def _boost(
    G: np.ndarray, cross: np.ndarray, shrinkage: np.ndarray, starts: np.ndarray, steps: int, rate: float
) -> np.ndarray:
    """(d, d) how often column i was taken in the boosting of column j.

    The residual u is known by c = F u / n alone: a step that adds rate * f, f = F_i^T (h c_i), lowers c by
    rate G_.i (h c_i), and |u - f|^2 / n = |u|^2 / n - sum_a (2 h_a - h_a^2) c_a^2 because F_i F_i^T / n = I.
    """
    d = len(starts) - 1
    taken = np.zeros((d, d))
    for child in range(d):
        c = cross[:, child].copy()
        for _ in range(steps):
            best, gain = -1, 0.0
            for i in range(d):
                if i == child:
                    continue
                total = 0.0
                for a in range(starts[i], starts[i + 1]):
                    total += (2.0 - shrinkage[a]) * shrinkage[a] * c[a] * c[a]
                if total > gain:
                    best, gain = i, total
            if best < 0:
                break
            taken[best, child] += 1
            first, last = starts[best], starts[best + 1]
            move = rate * shrinkage[first:last] * c[first:last]
            for a in range(first, last):
                m = move[a - first]
                for e in range(len(c)):
                    c[e] -= G[a, e] * m
    return taken


# --- step 2: IncEdge ------------------------------------------------------------------------------------------------


class _IncEdge:
    """The greedy search: include the edge with the largest gain in log likelihood until no edge is left.

    ``gains[i, j]`` is what edge i -> j would gain now, -inf where it can't be: not possible, in already, closing a
    cycle, or beyond ``max_parents``. A gain is first found with the smoothing of the child's present parents held
    (``try_each``), which is quick, then anew with all smoothing free when it is ``near`` times the largest or more.
    """

    def __init__(
        self, gram: Gram, possible: np.ndarray, required: np.ndarray, basis: int, max_parents: int, near: float
    ) -> None:
        self.gram, self.graph, self.converged = gram, required.copy(), True
        self._possible, self._basis, self._max_parents, self._near = possible & ~required, basis, max_parents, near
        self._reach = reachability(required)
        self.fits = [self._fit(j, tuple(map(int, np.flatnonzero(required[:, j]))), None) for j in range(gram.width)]
        self._gains = np.full(required.shape, -np.inf)
        self._starts = np.zeros(required.shape)  # log theta of the new parent, from try_each
        self._trials: dict[tuple[int, int], Fit] = {}  # edges whose gain has been found anew
        for j in range(gram.width):
            self._try_parents(j)

    def include_best_edge(self) -> bool:
        """Whether there was an edge left to include."""
        best = self._find_best_edge()
        if best is None:
            return False
        cause, effect = best
        self.graph[cause, effect] = True
        above, below = self._reach[:, cause].copy(), self._reach[effect].copy()
        above[cause] = below[effect] = True
        self._reach |= np.outer(above, below)
        self._gains[self._reach.T] = -np.inf
        trial = self._trials[best]
        self.fits[effect] = self._fit(effect, trial.parents, np.log(trial.smoothing), sweeps=2)
        self.converged &= self.fits[effect].converged
        self._try_parents(effect)
        return True

    def _find_best_edge(self) -> tuple[int, int] | None:
        """The edge with the largest gain, once all that come near it have been found anew."""
        while True:
            largest = self._gains.max()
            if largest == -np.inf:
                return None
            bar = largest - (1 - self._near) * abs(largest) if self._near else np.finfo(float).min
            near = [(int(i), int(j)) for i, j in np.argwhere(self._gains >= bar)]
            rough = [edge for edge in near if edge not in self._trials]
            if not rough:
                return max(near, key=lambda edge: self._gains[edge])
            for cause, effect in rough:
                present = self.fits[effect]
                start = np.append(np.log(present.smoothing), self._starts[cause, effect])
                trial = self._fit(effect, (*present.parents, cause), start)
                self._trials[cause, effect] = trial
                self._gains[cause, effect] = present.log_variance - trial.log_variance

    def _fit(self, child: int, parents: tuple[int, ...], start: np.ndarray | None, sweeps: int = 1) -> Fit:
        functions = _functions(self.gram.n, len(parents), self._basis)
        return fit(self.gram, child, parents, functions=functions, start=start, sweeps=sweeps)

    def _try_parents(self, child: int) -> None:
        """Score every edge into ``child`` anew, roughly."""
        present = self.fits[child]
        self._gains[:, child] = -np.inf
        self._trials = {edge: trial for edge, trial in self._trials.items() if edge[1] != child}
        candidates = np.flatnonzero(self._possible[:, child] & ~self.graph[:, child] & ~self._reach[child])
        if len(present.parents) >= self._max_parents or not len(candidates):
            return
        functions = _functions(self.gram.n, len(present.parents) + 1, self._basis)
        base = present
        if functions < _functions(self.gram.n, len(present.parents), self._basis):  # one parent more, fewer for each
            base = fit(self.gram, child, present.parents, functions=functions, start=np.log(present.smoothing))
        trials = try_each(self.gram, base, candidates, functions=functions)
        self._starts[candidates, child] = trials.log_smoothing
        self._gains[candidates, child] = np.log(present.relative) - np.log(trials.relative)


def _functions(n: int, parents: int, basis: int) -> int:
    """The package's rule: with too few rows for ``basis``, ceil(n / (3 parents)); the mean is one of them."""
    if parents and n < 3 * basis * parents:
        basis = max(-(-n // (3 * parents)), 3)
    return basis - 1


# --- step 3: pruning ------------------------------------------------------------------------------------------------


def _prune(fits: list[Fit], required: np.ndarray, alpha: float) -> np.ndarray:
    """Of each column's parents, those whose smooth terms are significant in the regression on all of them."""
    kept = required.copy()
    for found in fits:
        kept[np.array(found.parents, dtype=np.intp)[found.p_values < alpha], found.child] = True
    return kept
