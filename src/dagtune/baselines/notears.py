"""NOTEARS, linear (Zheng et al. 2018): a DAG by continuous optimisation, on the covariance matrix alone.

    minimise  1/(2n) ||X - X W||^2 + lambda1 ||W||_1   subject to   h(W) = tr(exp(W o W)) - d = 0

by an augmented Lagrangian, + rho/2 h^2 + alpha h, whose subproblems L-BFGS-B solves on W = W+ - W- with W+, W- >= 0.
X is centred. With C = X'X / n the loss is tr((I - W)' C (I - W)) / 2 and its gradient C W - C: no rows are needed.
The loop, the bounds, the defaults and the cut at the threshold are those of the authors' program. Not scale-invariant:
the penalty and the threshold are in the data's units, and the loss prefers small variances first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize

from dagtune.baselines.common import Learned, read_knowledge
from dagtune.graph import is_dag, topological_order
from dagtune.parallel import one_blas_thread
from dagtune.progress import Clock, Progress
from dagtune.tables import read_table
from dagtune.validation import InputError, check_count

__all__ = [
    "Limits",
    "Solution",
    "acyclicity",
    "augmented_lagrangian",
    "check_positive",
    "cut_to_dag",
    "learn_notears_linear",
]

#: (parameters, rho, alpha) -> (value, gradient) of the augmented Lagrangian.
Objective = Callable[[np.ndarray, float, float], tuple[float, np.ndarray]]


def learn_notears_linear(
    X: Any,
    *,
    rng: Any = None,
    lambda1: float = 0.1,
    threshold: float = 0.3,
    max_iter: int = 100,
    h_tol: float = 1e-8,
    rho_max: float = 1e16,
    forbidden: Any = None,
    required: Any = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Linear NOTEARS with least squares; draws nothing from ``rng``. The defaults are the authors'.

    lambda1: the L1 penalty. threshold: weights smaller than this are cut; raised as little as makes the graph a DAG
        where it is none (then in the notes, and ``settings["cut_at"]`` says to what).
    max_iter, h_tol, rho_max: dual steps at most; the h that counts as acyclic; the rho at which the search gives up
        (``converged`` is h <= h_tol).
    forbidden: boolean matrix of edges whose weight is held at 0. required is refused: no bound makes a weight nonzero.
    """
    table = read_table(X)
    d = table.values.shape[1]
    lambda1, threshold = check_positive("lambda1", lambda1), check_positive("threshold", threshold)
    held = zero_weights(d, required, forbidden)
    clock = Clock("notears-linear", time_limit, progress)
    with one_blas_thread():
        centred = table.values - table.values.mean(axis=0)
        C = centred.T @ centred / len(centred)
        upper = np.where(held, 0.0, np.inf).ravel()
        solution = augmented_lagrangian(
            lambda w, rho, alpha: _lagrangian(w, C, lambda1, rho, alpha),
            lambda w: acyclicity(_weights(w) ** 2)[0],
            np.zeros(2 * d * d),
            (np.zeros(2 * d * d), np.concatenate([upper, upper])),
            restart=True,
            limits=Limits(max_iter, h_tol, rho_max),
            clock=clock,
        )
        W = _weights(solution.parameters)
        graph, cut_at = cut_to_dag(W, threshold)
    settings = {"lambda1": lambda1, "threshold": threshold, "max_iter": max_iter, "h_tol": h_tol, "rho_max": rho_max}
    return Learned(
        method="notears-linear",
        graph=graph,
        names=table.names,
        order=topological_order(graph),
        seconds=clock.seconds,
        weights=np.where(graph, W, 0.0),
        converged=solution.h <= h_tol,
        settings={**settings, **solution.facts(), "cut_at": cut_at},
        notes=solution.notes(h_tol) + cut_notes(threshold, cut_at),
    )


def _weights(w: np.ndarray) -> np.ndarray:
    """W = W+ - W- of the doubled parameters."""
    d = int(np.sqrt(len(w) // 2))
    return (w[: d * d] - w[d * d :]).reshape(d, d)


def _lagrangian(w: np.ndarray, C: np.ndarray, lambda1: float, rho: float, alpha: float) -> tuple[float, np.ndarray]:
    """Value and gradient of loss + lambda1 |W| + rho/2 h^2 + alpha h for the doubled parameters."""
    W = _weights(w)
    left = np.eye(len(W)) - W
    pull = C @ left  # minus the gradient of the loss
    loss = 0.5 * float((left * pull).sum())
    h, of_squares = acyclicity(W * W)
    smooth = (rho * h + alpha) * of_squares * 2 * W - pull
    value = loss + lambda1 * float(w.sum()) + 0.5 * rho * h * h + alpha * h
    return value, np.concatenate([smooth.ravel() + lambda1, lambda1 - smooth.ravel()])


# --- shared with NOTEARS-MLP ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """Where an augmented Lagrangian ended: its parameters, h there, the last rho, and what it took."""

    parameters: np.ndarray
    h: float
    rho: float
    dual_steps: int
    evaluations: int

    def facts(self) -> dict[str, Any]:
        return {"h": self.h, "rho": self.rho, "dual_steps": self.dual_steps, "evaluations": self.evaluations}

    def notes(self, h_tol: float) -> tuple[str, ...]:
        if self.h <= h_tol:
            return ()
        return (f"stopped at h = {self.h:.2g} > {h_tol:g} with rho = {self.rho:.0e}, {self.dual_steps} dual steps",)


def acyclicity(A: np.ndarray) -> tuple[float, np.ndarray]:
    """h = tr(exp(A)) - d of a matrix A >= 0, 0 for a DAG, and its gradient exp(A)'."""
    E = expm(A)
    return float(np.trace(E)) - len(A), E.T


@dataclass(frozen=True)
class Limits:
    """Where the search ends: after so many dual steps, at an h so small, or at a rho so large."""

    max_iter: int
    h_tol: float
    rho_max: float

    def __post_init__(self) -> None:
        check_count("max_iter", self.max_iter)
        check_positive("h_tol", self.h_tol)
        check_positive("rho_max", self.rho_max)


def augmented_lagrangian(
    objective: Objective,
    h_of: Callable[[np.ndarray], float],
    start: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    *,
    restart: bool,
    limits: Limits,
    clock: Clock,
) -> Solution:
    """Minimise under h = 0: alpha grows by rho h, and rho tenfold until a subproblem cuts h to a quarter.

    With ``restart``, a subproblem with a larger rho begins where its predecessor began (the authors' linear program);
    without, where it ended (their MLP).
    """
    box = list(zip(*(side.tolist() for side in bounds)))
    rho_max = limits.rho_max
    parameters, h, rho, alpha, evaluations, step = start, np.inf, 1.0, 0.0, 0, 0

    def timed(values: np.ndarray, rho: float, alpha: float) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        clock.check(f"in dual step {step}, h = {h:.2g}")
        return objective(values, rho, alpha)

    with np.errstate(over="ignore", invalid="ignore"):  # exp of a wild trial point: L-BFGS-B backs off
        while step < limits.max_iter and h > limits.h_tol and rho < rho_max:
            step += 1
            begin, new_h = parameters, np.inf
            while rho < rho_max:
                parameters = minimize(timed, begin, args=(rho, alpha), method="L-BFGS-B", jac=True, bounds=box).x
                new_h = h_of(parameters)
                clock.tell(f"dual step {step}, rho = {rho:.0e}, h = {new_h:.2g}, {evaluations} evaluations")
                if new_h <= 0.25 * h:
                    break
                rho *= 10
                begin = begin if restart else parameters
            h = new_h
            alpha += rho * h
    return Solution(parameters, float(h), rho, step, evaluations)


def cut_to_dag(W: np.ndarray, threshold: float) -> tuple[np.ndarray, float]:
    """Boolean graph of the weights that reach the threshold, or the least higher one that leaves a DAG, and that one.

    Fewer edges never close a cycle, so the least threshold is found by halving.
    """
    size = np.abs(W)
    if is_dag((size >= threshold) & (size > 0)):
        return (size >= threshold) & (size > 0), threshold
    steps = np.unique(size[size >= threshold])  # cutting just above steps[k] leaves what is larger
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        if is_dag(size > steps[middle]):
            high = middle
        else:
            low = middle + 1
    return size > steps[low], float(steps[low])


def cut_notes(threshold: float, cut_at: float) -> tuple[str, ...]:
    if cut_at == threshold:
        return ()
    return (f"weights cut at {threshold:g} left a cycle: cut at {cut_at:.4g} instead, the least that leaves a DAG",)


def zero_weights(d: int, required: Any, forbidden: Any) -> np.ndarray:
    """Boolean (d, d): the weights held at 0, the diagonal among them."""
    needed, held = read_knowledge(d, required, forbidden)
    if needed.any():
        raise InputError("notears can't require an edge, only forbid one: leave required out, or use ot")
    return held | np.eye(d, dtype=bool)


def check_positive(what: str, value: Any) -> float:
    """A finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
        raise InputError(f"{what} must be a number of at least 0, not {value!r}")
    return float(value)
