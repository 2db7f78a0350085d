"""NOTEARS-MLP (Zheng et al. 2020): a DAG by continuous optimisation, one small network for each variable.

    minimise  1/(2n) sum_j ||X_j - f_j(X)||^2 + lambda1 ||W1||_1 + lambda2/2 (||W1||^2 + ||W2||^2)   subject to
    h = tr(exp(A)) - d = 0,   A[i, j] = sum_u W1[j, u, i]^2

where f_j(X) = W2[j] . sigmoid(W1[j] X + b1[j]) + b2[j] has one hidden layer of 10 units. Edge i -> j weighs
sqrt(A[i, j]). Loop, split, bounds, start and defaults are those of the authors' torch program; the gradient is written
out instead of traced, a few variables at a time so that their hidden units stay in cache (measured: half the time of
jax under jit). Not scale-invariant: penalties and threshold are in the data's units.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np

from dagtune.baselines.common import Learned
from dagtune.baselines.notears import (
    Limits,
    acyclicity,
    augmented_lagrangian,
    check_positive,
    cut_notes,
    cut_to_dag,
    zero_weights,
)
from dagtune.graph import topological_order
from dagtune.parallel import count_threads, one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.tables import read_table
from dagtune.validation import check_count

__all__ = ["learn_notears_mlp"]

#: Hidden values worked on at a time: 320 kB, so that a core's own cache holds them.
_BLOCK = 40_000

#: Hidden values from which a second thread is worth its hand-over.
_WORTH_A_THREAD = 200_000


def learn_notears_mlp(
    X: Any,
    *,
    rng: Any = None,
    hidden: int = 10,
    lambda1: float = 0.01,
    lambda2: float = 0.01,
    threshold: float = 0.3,
    max_iter: int = 100,
    h_tol: float = 1e-8,
    rho_max: float = 1e16,
    forbidden: Any = None,
    required: Any = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """NOTEARS with one network for each variable; ``rng`` draws the start. The defaults are the authors'.

    hidden: units of each network. lambda1, lambda2: the L1 penalty on first-layer weights, the squared one on all
        weights (biases are free).
    threshold, max_iter, h_tol, rho_max, forbidden, required: as in linear NOTEARS.
    threads: for the networks of large tables; None is one for each processor. Any number gives the same numbers.
    """
    table = read_table(X)
    d = table.values.shape[1]
    hidden = check_count("hidden", hidden)
    lambda1, lambda2 = check_positive("lambda1", lambda1), check_positive("lambda2", lambda2)
    threshold = check_positive("threshold", threshold)
    held = zero_weights(d, required, forbidden)
    clock = Clock("notears-mlp", time_limit, progress)
    with one_blas_thread(), _Networks(table.values, hidden, lambda1, lambda2, count_threads(threads)) as networks:
        lower, upper = networks.bounds(held)
        solution = augmented_lagrangian(
            networks.lagrangian,
            lambda parameters: acyclicity(networks.strengths(parameters))[0],
            np.clip(networks.start(np.random.default_rng(rng)), lower, upper),
            (lower, upper),
            restart=False,
            limits=Limits(max_iter, h_tol, rho_max),
            clock=clock,
        )
        W = np.sqrt(networks.strengths(solution.parameters))
        graph, cut_at = cut_to_dag(W, threshold)
    settings = {"hidden": hidden, "lambda1": lambda1, "lambda2": lambda2, "threshold": threshold}
    settings |= {"max_iter": max_iter, "h_tol": h_tol, "rho_max": rho_max}
    return Learned(
        method="notears-mlp",
        graph=graph,
        names=table.names,
        order=topological_order(graph),
        seconds=clock.seconds,
        weights=np.where(graph, W, 0.0),
        converged=solution.h <= h_tol,
        settings={**settings, **solution.facts(), "cut_at": cut_at},
        notes=solution.notes(h_tol) + cut_notes(threshold, cut_at),
    )


class _Networks:
    """The d networks and their penalised loss as a function of one vector of parameters.

    The vector holds, one after the other: W1+ and b1+, W1- and b1- (first layer, d * hidden rows; W1 = W1+ - W1-), W2
    (d, hidden), b2 (d). Inside, a first layer is one matrix [W1, b1] that meets the rows of X and a row of ones.
    """

    def __init__(self, X: np.ndarray, hidden: int, lambda1: float, lambda2: float, threads: int = 1) -> None:
        self._n, self._d = X.shape
        self._hidden, self._lambda1, self._lambda2 = hidden, lambda1, lambda2
        self._rows = np.column_stack([X, np.ones(self._n)])
        self._columns = np.ascontiguousarray(self._rows.T)
        at_a_time = max(1, min(self._d, _BLOCK // (hidden * self._n)))
        blocks = [(a, min(a + at_a_time, self._d)) for a in range(0, self._d, at_a_time)]
        units = self._d * hidden
        threads = min(threads, len(blocks)) if units * self._n >= _WORTH_A_THREAD else 1
        # Blocks do not depend on the threads, and each has its own place in every sum: the same numbers for any number.
        self._shares = [list(enumerate(blocks))[k::threads] for k in range(threads)]
        self._rooms = np.empty((threads, 2, at_a_time * hidden, self._n))
        self._block_loss = np.empty(len(blocks))
        self._stack = ExitStack()
        self._map: Any = map
        if threads > 1:
            self._map = self._stack.enter_context(ThreadPoolExecutor(threads)).map
        sizes = (units * self._d, units, units * self._d, units, units, self._d)
        self._cuts = np.cumsum((0, *sizes))

    def __enter__(self) -> _Networks:
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def _parts(self, parameters: np.ndarray) -> list[np.ndarray]:
        """W1+, b1+, W1-, b1-, W2, b2 as views."""
        d, units = self._d, self._d * self._hidden
        shapes = ((units, d), (units,), (units, d), (units,), (d, self._hidden), (d,))
        cuts = self._cuts
        return [parameters[cuts[k] : cuts[k + 1]].reshape(shape) for k, shape in enumerate(shapes)]

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """torch's own: first layer from U(-1, 1) / sqrt(d), second from U(-1, 1) / sqrt(hidden)."""
        parameters = rng.uniform(-1.0, 1.0, self._cuts[-1])
        parameters[: self._cuts[4]] /= np.sqrt(self._d)
        parameters[self._cuts[4] :] /= np.sqrt(self._hidden)
        return parameters

    def bounds(self, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W1+ and W1- at least 0, and at 0 for the edges that are held there; the rest is free."""
        lower, upper = np.full(self._cuts[-1], -np.inf), np.full(self._cuts[-1], np.inf)
        for part in (0, 2):
            self._parts(lower)[part][:] = 0.0
            self._parts(upper)[part][np.repeat(held.T, self._hidden, axis=0)] = 0.0
        return lower, upper

    def strengths(self, parameters: np.ndarray) -> np.ndarray:
        """A[i, j] = sum of squares of the weights that lead from X_i into network j."""
        positive, _, negative, *_ = self._parts(parameters)
        return self._strengths(positive - negative)

    def _strengths(self, first: np.ndarray) -> np.ndarray:
        return np.square(first).reshape(self._d, self._hidden, self._d).sum(axis=1).T

    def lagrangian(self, parameters: np.ndarray, rho: float, alpha: float) -> tuple[float, np.ndarray]:
        """Value and gradient of the penalised loss + rho/2 h^2 + alpha h."""
        positive, bias_positive, negative, bias_negative, second, bias = self._parts(parameters)
        gradient = np.empty_like(parameters)
        to_positive, to_bias_positive, to_negative, to_bias_negative, to_second, to_bias = self._parts(gradient)

        first = np.column_stack([positive - negative, bias_positive - bias_negative])
        loss, to_first = self._loss(first, second, bias, to_second, to_bias)
        W1, to_W1 = first[:, :-1], to_first[:, :-1]
        h, of_squares = acyclicity(self._strengths(W1))
        to_W1 += self._lambda2 * W1
        to_W1 += (rho * h + alpha) * 2 * np.repeat(of_squares.T, self._hidden, axis=0) * W1
        to_second += self._lambda2 * second

        np.add(to_W1, self._lambda1, out=to_positive)
        np.subtract(self._lambda1, to_W1, out=to_negative)
        to_bias_positive[:] = to_first[:, -1]
        to_bias_negative[:] = -to_first[:, -1]
        value = loss + 0.5 * rho * h * h + alpha * h
        value += self._lambda1 * float(positive.sum() + negative.sum())
        value += 0.5 * self._lambda2 * float(np.vdot(W1, W1) + np.vdot(second, second))
        return value, gradient

    def _loss(
        self, first: np.ndarray, second: np.ndarray, bias: np.ndarray, to_second: np.ndarray, to_bias: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """1/(2n) sum ||X_j - f_j(X)||^2 and its gradient by ``first``; those by the second layer fill the last two."""
        to_first, less = np.empty_like(first), -first
        last, gradients = (second, bias), (to_first, to_second, to_bias)

        def work(share: list[tuple[int, tuple[int, int]]], room: np.ndarray) -> None:
            with np.errstate(over="ignore"):  # exp may overflow to inf, which gives the right 0; flags are per thread
                for number, span in share:
                    self._block_loss[number] = self._block(span, room, less, last, gradients)

        list(self._map(work, self._shares, self._rooms))
        return 0.5 * float(self._block_loss.sum()) / self._n, to_first

    def _block(
        self,
        span: tuple[int, int],
        room: np.ndarray,
        less: np.ndarray,
        last: tuple[np.ndarray, np.ndarray],
        gradients: tuple[np.ndarray, np.ndarray, np.ndarray],
    ) -> float:
        """Networks a to z - 1: their squared residuals, and their share of the gradients; ``less`` is minus first.

        ``last`` are the second layer's weights and bias; the gradients, of the first layer and those two, are filled.
        """
        (a, z), (second, bias), (to_first, to_second, to_bias) = span, last, gradients
        n, u = self._n, self._hidden
        units = slice(a * u, z * u)
        S, slope = room[0, : (z - a) * u], room[1, : (z - a) * u]
        np.matmul(less[units], self._columns, out=S)
        np.exp(S, out=S)
        S += 1.0
        np.reciprocal(S, out=S)  # sigmoid(W1 X + b1)
        by_network = S.reshape(z - a, u, n)
        left = np.matmul(second[a:z, None, :], by_network)[:, 0]
        left += bias[a:z, None]
        left -= self._columns[a:z]
        loss = float(np.vdot(left, left))
        left /= n
        to_bias[a:z] = left.sum(axis=1)
        to_second[a:z] = np.matmul(by_network, left[:, :, None])[:, :, 0]
        np.multiply(S, S, out=slope)
        np.subtract(S, slope, out=slope)
        slope.reshape(z - a, u, n)[:] *= left[:, None, :]
        np.matmul(slope, self._rows, out=to_first[units])
        to_first[units] *= second[a:z].reshape(-1, 1)
        return loss
