"""What every baseline's richer call shares: the typed result, the clock with its limit, plain knowledge.

A method's ``learn_<name>(X, *, rng, time_limit, progress, ...)`` gives a :class:`Learned`; ``graph_of(learn_<name>)``
is the plain call that BASELINES holds. A method that runs out of time raises :class:`TimeLimitError`: a time-out is no
graph.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dagtune.graph import as_matrix, find_cycle, topological_order
from dagtune.validation import InputError

__all__ = ["Clock", "Learned", "Learner", "Progress", "TimeLimitError", "graph_of", "missing_package", "read_knowledge"]

#: Called now and then with one line that says how far a method is.
Progress = Callable[[str], None]


class TimeLimitError(RuntimeError):
    """A method did not finish within its time limit, and so has no graph to show."""

    def __init__(self, method: str, limit: float, seconds: float, done: str) -> None:
        super().__init__(
            f"{method} did not finish within {limit:g} seconds (stopped after {seconds:.1f}, {done}): "
            "give a larger time_limit, or fewer columns"
        )
        self.method, self.limit, self.seconds, self.done = method, limit, seconds, done

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.method, self.limit, self.seconds, self.done)


@dataclass(frozen=True, eq=False)
class Learned:
    """A baseline's answer and how it came about; ``A[i, j]`` means ``i -> j`` in every matrix.

    ``graph`` is a boolean DAG. ``order`` holds positions, causes first: the method's own, or the graph's smallest.
    ``cpdag`` (both entries true: undirected) and ``weights`` are None where the method has none. ``converged`` is false
    when an iteration stopped at a cap; ``notes`` say in words what else a reader should know. ``seconds`` is wall time.
    """

    method: str
    graph: np.ndarray
    names: tuple[str, ...]
    order: np.ndarray
    seconds: float
    cpdag: np.ndarray | None = None
    weights: np.ndarray | None = None
    converged: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        graph = as_matrix(self.graph)
        topological_order(graph)  # refuses a cycle by its nodes
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = (self.method, self.graph, self.names, self.order, self.seconds, self.cpdag, self.weights)
        return type(self), (*values, self.converged, dict(self.settings), self.notes)


#: (data, rng=, ...) -> Learned.
Learner = Callable[..., Learned]


def graph_of(learn: Learner) -> Callable[..., np.ndarray]:
    """The plain call of a richer one: same arguments, only the boolean DAG back."""

    @functools.wraps(learn)
    def call(X: Any, *, rng: Any = None, **options: Any) -> np.ndarray:
        return learn(X, rng=rng, **options).graph

    return call


class Clock:
    """The time since a method began, its limit, and who wants to hear how far it is."""

    def __init__(self, method: str, time_limit: float | None = None, progress: Progress | None = None) -> None:
        if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
            raise InputError(f"time_limit must be a positive number of seconds or None, not {time_limit!r}")
        self.method, self.limit, self._progress, self._began = method, time_limit, progress, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Wall time since the clock was made."""
        return time.perf_counter() - self._began

    def check(self, done: str) -> None:
        """Raise TimeLimitError when the limit has passed; ``done`` says how far the method came."""
        if self.limit is not None and self.seconds > self.limit:
            raise TimeLimitError(self.method, self.limit, self.seconds, done)

    def tell(self, done: str) -> None:
        """Report progress, then check the limit."""
        if self._progress is not None:
            self._progress(f"{self.method}: {done}")
        self.check(done)


def read_knowledge(d: int, required: Any = None, forbidden: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Boolean (d, d) matrices of required and forbidden edges, ``R[i, j]`` means ``i -> j``; None knows nothing.

    What is required one way comes back as forbidden the other way, which would close a cycle.
    """
    known = []
    for what, given in (("required", required), ("forbidden", forbidden)):
        matrix = np.zeros((d, d), dtype=bool) if given is None else as_matrix(given)
        if len(matrix) != d:
            raise InputError(f"{what} is a matrix of {len(matrix)} nodes for {d} columns: give one row for each column")
        known.append(matrix)
    if (known[0] & known[1]).any():
        i, j = np.argwhere(known[0] & known[1])[0]
        raise InputError(f"edge {i} -> {j} is both required and forbidden: drop one of the two")
    cycle = find_cycle(known[0])
    if cycle is not None:
        raise InputError(f"required edges close a cycle ({' -> '.join(map(str, cycle))}): drop one of them")
    return known[0], known[1] | known[0].T


def missing_package(method: str, install: str) -> ImportError:
    """The error for a library that is not there; ``install`` is what pip is told."""
    return ImportError(f"{method} needs a package that is not installed: pip install {install}")
