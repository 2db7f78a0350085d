"""The optimal phase: which pairs enter the skeleton, by problem (10) of the paper.

The pairs e = 1..s, s = d (d - 1) / 2, stand in lexicographic order (0, 1), (0, 2), ..., with first order HSIC ``A_e``.
W is s x s with one-hot rows, written here as ``picks``: row r picks pair ``picks[r]``. A pair some row picks is kept.
Problem (10) is::

    minimise over W   ||(1 - W) A||_2^2 + penalty ||W||_2        (1: the all-ones matrix; ||W||_2: the spectral norm)

A row that picks e costs ``c_e = (sum A - A_e)^2``, and ``W^T W`` is diagonal with the counts of the picks, so
``||W||_2 = sqrt(largest count)``: the first term wants every row on the cheapest pair, the second wants them spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dagtune.validation import InputError, check_choice, check_count, format_bytes, parse_memory

__all__ = [
    "SOLVERS",
    "GumbelFit",
    "check_selection",
    "count_for_penalty",
    "pair_vector",
    "penalty_for_count",
    "released_loss",
    "select_skeleton",
    "selection_loss",
    "solve_exact",
    "solve_gumbel",
    "solve_gumbel_released",
]

#: The closed form, the paper's solver, and the released script's, which solves another problem.
SOLVERS = ("exact", "gumbel", "released")


def pair_vector(first: np.ndarray) -> np.ndarray:
    """The s = d (d - 1) / 2 numbers above the diagonal of a symmetric (d, d) matrix, pairs in lexicographic order."""
    return first[np.triu_indices(len(first), 1)]


def selection_loss(picks: np.ndarray, A: np.ndarray, penalty: float) -> float:
    """Loss of problem (10): ``||(1 - W) A||_2^2 + penalty ||W||_2``.

    ``picks`` is W as the (s,) column that each row picks, or W itself, (s, s) with one-hot rows.
    """
    picks = _as_picks(picks, len(A))
    return float(((A.sum() - A[picks]) ** 2).sum() + penalty * np.sqrt(np.bincount(picks).max()))


def released_loss(picks: np.ndarray, A: np.ndarray) -> float:
    """Loss of the released script: ``-A.w + 0.01 ||w||_2^2 / 2``, w the share of rows that pick each pair."""
    picks = _as_picks(picks, len(A))
    w = np.bincount(picks, minlength=len(A)) / len(A)
    return float(-A @ w + 0.005 * w @ w)


def _as_picks(picks: np.ndarray, s: int) -> np.ndarray:
    picks = np.asarray(picks)
    if picks.ndim == 2:
        if picks.shape != (s, s) or not np.array_equal(np.sort(picks, axis=1), np.eye(s)[np.full(s, s - 1)]):
            raise InputError(f"W must be {s} x {s} with one 1 in each row and 0 elsewhere")
        return picks.argmax(axis=1)
    if picks.shape != (s,) or not np.issubdtype(picks.dtype, np.integer) or picks.min() < 0 or picks.max() >= s:
        raise InputError(f"picks must be {s} whole numbers from 0 to {s - 1}: the pair each row picks")
    return picks


def select_skeleton(
    first: np.ndarray,
    *,
    penalty: float | None = None,
    n_pairs: int | float | None = None,
    alpha: float | None = None,
    pvalues: np.ndarray | None = None,
    solver: str = "exact",
    rng: Any = None,
    **solver_options: Any,
) -> np.ndarray:
    """Symmetric boolean (d, d) skeleton of a symmetric (d, d) matrix ``first`` of first order HSIC.

    One of three says how many pairs are kept: ``penalty`` (problem (10), by ``solver``), ``n_pairs`` (that many of the
    pairs with smallest c_e, or that share of them if it is a fraction below 1), or ``alpha`` (those whose independence
    ``pvalues`` rejects at that level). By default all are kept: the optimum of problem (10) once the penalty is large
    enough. docs/ot.md says why. The Gumbel solver gets the penalty that has the count asked for as its optimum. The
    released solver takes none of the three.
    """
    check_selection(solver, penalty, n_pairs, alpha)
    A, d = pair_vector(first), len(first)
    if alpha is not None:
        if pvalues is None:
            raise InputError("alpha= needs the pvalues= it is compared with")
        return _skeleton(np.flatnonzero(pair_vector(pvalues) <= alpha), d)
    if solver == "released":
        return _skeleton(solve_gumbel_released(A, rng=rng, **solver_options).picks, d)
    if solver == "gumbel":
        aim = penalty_for_count(A, pair_count(n_pairs, len(A))) if penalty is None else check_penalty(penalty)
        return _skeleton(solve_gumbel(A, aim, rng=rng, **solver_options).picks, d)
    if penalty is not None:
        return _skeleton(solve_exact(A, check_penalty(penalty)), d)
    return _skeleton(np.argsort(_costs(A), kind="stable")[: pair_count(n_pairs, len(A))], d)


def check_selection(solver: Any, penalty: Any, n_pairs: Any, alpha: Any) -> None:
    """Refuse what can not be meant, before anything is measured."""
    check_choice("solver", solver, SOLVERS)
    given = {"penalty": penalty, "n_pairs": n_pairs, "alpha": alpha}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise InputError(f"{' and '.join(chosen)} both say how many pairs to keep: give one of them")
    if chosen and solver == "released":
        raise InputError(f"solver='released' takes no {chosen[0]}: the script's loss has none; use solver='exact'")
    if penalty is not None:
        check_penalty(penalty)
    pair_count(n_pairs, 1)
    if alpha is not None and not (isinstance(alpha, (float, np.floating)) and 0 < alpha < 1):
        raise InputError(f"alpha must lie between 0 and 1, not {alpha!r}")


def check_penalty(penalty: Any) -> float:
    """``penalty`` as a finite number of at least 0."""
    if isinstance(penalty, bool) or not np.isscalar(penalty) or not 0 <= float(penalty) < np.inf:  # type: ignore[arg-type]
        raise InputError(f"penalty must be a number of at least 0, not {penalty!r}")
    return float(penalty)  # type: ignore[arg-type]


def pair_count(n_pairs: int | float | None, s: int) -> int:
    """How many of s pairs ``n_pairs`` means: a count, a share below 1 (rounded up), or None for all."""
    if n_pairs is None:
        return s
    if isinstance(n_pairs, (float, np.floating)):
        if not 0 < n_pairs < 1:
            raise InputError(f"n_pairs must be a count, or a share of the pairs between 0 and 1, not {n_pairs!r}")
        return int(np.ceil(n_pairs * s))
    return min(check_count("n_pairs", n_pairs, least=0), s)


def _skeleton(pairs: np.ndarray, d: int) -> np.ndarray:
    chosen = np.zeros(d * (d - 1) // 2, dtype=bool)
    chosen[pairs] = True
    skeleton = np.zeros((d, d), dtype=bool)
    skeleton[np.triu_indices(d, 1)] = chosen
    return skeleton | skeleton.T


# Exact ---------------------------------------------------------------------------------------------------------------


def _costs(A: np.ndarray) -> np.ndarray:
    """``c_e = (sum A - A_e)^2``. Cheapest is largest where A >= 0; the sigmoid kernel can make A negative."""
    return (A.sum() - A) ** 2


def _losses_by_cap(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each cap m = 1..s on the counts: the least sum of row costs, the pairs that keeps; and all pairs by cost.

    With at most m rows on a pair, the best W puts m rows on each of the cheapest pairs and the rest on the next one.
    """
    order = np.argsort(_costs(A), kind="stable")
    cheapest = _costs(A)[order]
    before = np.concatenate([[0.0], np.cumsum(cheapest)])
    caps = np.arange(1, len(A) + 1)
    full, rest = np.divmod(len(A), caps)
    return caps * before[full] + rest * np.append(cheapest, 0.0)[full], full + (rest > 0), order


def solve_exact(A: np.ndarray, penalty: float) -> np.ndarray:
    """Picks (s,) of an optimal W of problem (10), in O(s log s): sort by c_e, scan the cap on the counts.

    Of equally good caps the smallest, which keeps the most pairs.
    """
    row_costs, _, order = _losses_by_cap(A)
    caps = np.arange(1, len(A) + 1)
    cap = int(np.argmin(row_costs + penalty * np.sqrt(caps))) + 1
    return np.repeat(order, cap)[: len(A)]


def count_for_penalty(A: np.ndarray, penalty: float) -> int:
    """How many pairs the optimum of problem (10) keeps."""
    return len(np.unique(solve_exact(A, penalty)))


def penalty_for_count(A: np.ndarray, count: int) -> float:
    """A penalty whose optimum keeps ``count`` pairs; not every count can be reached.

    The optimum is the lower envelope of the lines ``row cost + penalty sqrt(m)`` over the caps m: each cap on the
    envelope rules between two penalties, and this gives the middle (or twice the last).
    """
    row_costs, counts, _ = _losses_by_cap(A)
    roots = np.sqrt(np.arange(1, len(A) + 1))
    for m in np.flatnonzero(counts == count):
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = (row_costs - row_costs[m]) / (roots[m] - roots)
        low = crossing[m + 1 :].max(initial=0.0)  # below this a larger cap wins
        high = crossing[:m].min(initial=np.inf)  # above this a smaller cap wins
        if low < high:
            return float(2 * low + (low == 0) if np.isinf(high) else (low + high) / 2)
    raise InputError(f"no penalty keeps exactly {count} of {len(A)} pairs: use n_pairs={count}")


# Gumbel --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GumbelFit:
    """Picks of the W that was kept, its loss, and the loss of the W drawn at each step."""

    picks: np.ndarray
    loss: float
    losses: np.ndarray


#: The spectral norm of W is the limit of the Schatten norms ``(sum_e count_e^p)^(1 / 2p)``. Its own gradient moves only
#: the rows on the fullest pair; a finite p moves all crowded ones. Of 4, 8, 16 and infinity, 8 came closest.
_SCHATTEN = 8.0
#: Logits, two Adam moments, noise, soft and hard W, gradient, one to spare: float32 arrays of s x s.
_ARRAYS = 8


def solve_gumbel(
    A: np.ndarray,
    penalty: float,
    *,
    rng: Any = None,
    steps: int = 2000,
    rate: float = 0.2,
    tau: tuple[float, float] = (1.0, 0.85),
    memory: str | int = "4GiB",
) -> GumbelFit:
    """Problem (10) as the paper solves it: Gumbel-softmax rows, straight-through gradient, Adam, annealed temperature.

    Row r of W is ``softmax((log pi_r + g) / tau)`` with Gumbel noise g; forward its argmax counts as one-hot, backward
    the softmax is differentiated. ``tau`` falls geometrically from the first to the last value. Of all W drawn, and the
    argmax of the logits at the end, the best is kept. The loss is divided by that of a random W, so that the scale of
    the data does not matter to Adam.
    """
    scale = float(_costs(A).sum() + penalty) or 1.0
    schedule = _Schedule(steps, rate, tau, spread=0.01)
    best, last, losses = _descend(A / np.sqrt(scale), penalty / scale, schedule, rng, memory, released=False)
    picks = min((best, last), key=lambda picks: selection_loss(picks, A, penalty))
    return GumbelFit(picks, selection_loss(picks, A, penalty), losses * scale)


def solve_gumbel_released(
    A: np.ndarray,
    *,
    rng: Any = None,
    steps: int = 10_000,
    rate: float = 1e-4,
    tau: tuple[float, float] = (0.1, 0.1),
    memory: str | int = "4GiB",
) -> GumbelFit:
    """The released script's loss and settings: ``-A.w + 0.01 ||w||^2 / 2``, temperature 0.1 throughout, 10^4 steps.

    w is the column mean of the soft W. At tau <= 0.1 the row softmax is saturated and the logits barely move, so the
    argmax of the rows, which is all that counts, stays close to random: about 63 % of the pairs. The last W is kept.
    The script's rate is not on our record; at this one the rows move as little as the script's were seen to.
    """
    _, last, losses = _descend(A, 0.0, _Schedule(steps, rate, tau, spread=1.0), rng, memory, released=True)
    return GumbelFit(last, released_loss(last, A), losses)


@dataclass(frozen=True)
class _Schedule:
    """Of Adam: steps, rate, first and last temperature, and the standard deviation of the logits it starts from."""

    steps: int
    rate: float
    tau: tuple[float, float]
    spread: float


def _descend(
    A: np.ndarray, penalty: float, schedule: _Schedule, rng: Any, memory: str | int, *, released: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Adam on the logits of s one-hot rows: the best picks drawn, those at the end, and the drawn losses."""
    steps = check_count("steps", schedule.steps)
    s = len(A)
    need, room = 4 * _ARRAYS * s * s, parse_memory(memory)
    if need > room:
        raise InputError(
            f"the Gumbel solver needs {format_bytes(need)} for the {s} x {s} matrix W of {s} pairs, more than "
            f"memory={memory!r}: use solver='exact', which finds the optimum in no time, or allow more memory"
        )
    try:
        import jax
    except ImportError as error:
        raise ImportError("solver='gumbel' needs jax and optax: pip install 'dagtune[baselines]'") from error
    run = _compiled(s, steps, released)
    seed = int(np.random.default_rng(rng).integers(2**31))
    found = run(jax.random.key(seed), np.float32(A), penalty, schedule.rate, *schedule.tau, schedule.spread)
    _, best, last, losses = (np.asarray(part) for part in found)
    return best, last, losses


@lru_cache(maxsize=32)
def _compiled(s: int, steps: int, released: bool) -> Callable[..., Any]:
    """The descent for s pairs, jit-compiled: one compilation serves all data of that size."""
    try:
        import jax
        import jax.numpy as jnp
        import optax
    except ImportError as error:
        raise ImportError("solver='gumbel' needs jax and optax: pip install 'dagtune[baselines]'") from error

    def loss(logits: Any, noise: Any, temperature: Any, a: Any, penalty: Any) -> Any:
        """The loss that is differentiated, and the loss and the picks of the W that was drawn."""
        soft = jax.nn.softmax((logits + noise) / temperature)
        picks = jnp.argmax(logits + noise, axis=1)
        counts = jnp.bincount(picks, length=s)
        if released:
            w, share = soft.mean(axis=0), counts / s
            return -a @ w + 0.005 * w @ w, (-a @ share + 0.005 * share @ share, picks)
        W = jax.nn.one_hot(picks, s) + soft - jax.lax.stop_gradient(soft)
        crowding = (W.sum(axis=0) ** _SCHATTEN).sum() ** (0.5 / _SCHATTEN)
        drawn = ((a.sum() - a[picks]) ** 2).sum() + penalty * jnp.sqrt(counts.max())
        return ((a.sum() - W @ a) ** 2).sum() + penalty * crowding, (drawn, picks)

    @jax.jit
    def run(key: Any, a: Any, penalty: Any, rate: Any, hot: Any, cold: Any, spread: Any) -> Any:
        adam = optax.adam(rate)
        start, draws = jax.random.split(key)
        logits = spread * jax.random.normal(start, (s, s))

        def step(state: Any, inputs: Any) -> Any:
            logits, moments, least, best = state
            key, temperature = inputs
            noise = jax.random.gumbel(key, (s, s))
            (_, (drawn, picks)), slope = jax.value_and_grad(loss, has_aux=True)(logits, noise, temperature, a, penalty)
            move, moments = adam.update(slope, moments)
            better = drawn < least
            least, best = jnp.where(better, drawn, least), jnp.where(better, picks, best)
            return (optax.apply_updates(logits, move), moments, least, best), drawn

        temperatures = hot * (cold / hot) ** (jnp.arange(steps) / steps)
        begin = (logits, adam.init(logits), jnp.float32(jnp.inf), jnp.argmax(logits, axis=1))
        (final, _, _, best), losses = jax.lax.scan(step, begin, (jax.random.split(draws, steps), temperatures))
        return begin[-1], best, jnp.argmax(final, axis=1), losses

    return run
