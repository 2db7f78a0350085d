"""Problem (10) by Gumbel-softmax and Adam, as the paper and the released script solve it. Needs jax and optax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dagtune.ot.losses import released_loss, row_costs_of, selection_loss
from dagtune.validation import InputError, check_count, format_bytes, parse_memory

__all__ = ["GumbelFit", "solve_gumbel", "solve_gumbel_released"]


@dataclass(frozen=True)
class GumbelFit:
    """Outcome of a Gumbel solver.

    Parameters
    ----------
    picks : ndarray of int, shape (s,)
        The pair that each row of W picks.
    loss : float
        Loss of that W.
    losses : ndarray, shape (steps,)
        Loss of the W drawn at each step.

    Examples
    --------
    >>> found = GumbelFit(picks=np.array([2, 2, 0]), loss=0.5, losses=np.array([0.9, 0.5]))
    >>> np.unique(found.picks)  # the pairs that are kept
    array([0, 2])
    """

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

    Row r of W is ``softmax((log pi_r + g) / tau)`` with Gumbel noise g. The loss is computed from its argmax as a
    one-hot row, the gradient from the softmax. The best of all W drawn, and of the argmax of the final logits, is kept.
    The loss is divided by that of a random W, so that the scale of the data does not matter to Adam.

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    penalty : float
    rng : int or Generator, optional
        Seed of the noise.
    steps : int
        Number of steps.
    rate : float
        Learning rate of Adam.
    tau : tuple of float
        First and last temperature; in between it falls geometrically.
    memory : str or int
        Memory that the s x s matrices may use.

    Returns
    -------
    GumbelFit

    Raises
    ------
    InputError
        If the matrices do not fit into the memory.
    ImportError
        If jax or optax is not installed.

    References
    ----------
    Jang, Gu and Poole 2017, "Categorical reparameterization with Gumbel-softmax".

    Examples
    --------
    >>> solve_gumbel(np.array([0.1, 0.5, 0.3]), penalty=1.0, rng=0).picks  # doctest: +SKIP
    """
    scale = float(row_costs_of(A).sum() + penalty) or 1.0
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

    w is the column mean of the soft W. At tau <= 0.1 the softmax of a row is saturated and the logits hardly move, so
    the argmax of the rows, which alone decides, stays close to random: about 63 % of the pairs are kept. The last W is
    the answer. We do not know the script's learning rate; at this one the rows move as little as the script's did.

    Parameters
    ----------
    A : ndarray, shape (s,)
        First order HSIC of the pairs, from :func:`pair_vector`.
    rng : int or Generator, optional
        Seed of the noise.
    steps : int
        Number of steps.
    rate : float
        Learning rate of Adam.
    tau : tuple of float
        First and last temperature; in between it falls geometrically.
    memory : str or int
        Memory that the s x s matrices may use.

    Returns
    -------
    GumbelFit

    Raises
    ------
    InputError
        If the matrices do not fit into the memory.
    ImportError
        If jax or optax is not installed.

    Examples
    --------
    >>> solve_gumbel_released(np.array([0.1, 0.5, 0.3]), rng=0).picks  # doctest: +SKIP
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
            f"memory={memory!r}: use solver='exact', which needs no such matrix, or allow more memory"
        )
    run = _compiled(s, steps, released)
    seed = int(np.random.default_rng(rng).integers(2**31))
    found = run(seed, np.float32(A), penalty, schedule.rate, *schedule.tau, schedule.spread)
    best, last, losses = (np.asarray(part) for part in found)
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
    def run(seed: Any, a: Any, penalty: Any, rate: Any, hot: Any, cold: Any, spread: Any) -> Any:
        adam = optax.adam(rate)
        start, draws = jax.random.split(jax.random.key(seed))
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
        return best, jnp.argmax(final, axis=1), losses

    return run
