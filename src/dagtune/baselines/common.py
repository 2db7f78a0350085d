"""What the baselines share: the result with its types, and prior knowledge as matrices.

``learn_<name>(X, *, rng, time_limit, progress, ...)`` gives a :class:`Learned`. A method that runs out of time raises
:class:`~dagtune.progress.TimeLimitError`: no graph is better than half of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dagtune.graph import as_matrix, find_cycle, topological_order
from dagtune.validation import InputError

__all__ = ["Learned", "missing_package", "read_knowledge"]


@dataclass(frozen=True, eq=False)
class Learned:
    """A baseline's answer and how it came about; ``A[i, j]`` means ``i -> j`` in every matrix.

    Parameters
    ----------
    method : str
    graph : boolean array (d, d)
        A DAG; a cycle is refused.
    names : tuple of str
        The columns.
    order : integer array (d,)
        Positions of the columns, causes first: the method's own order, or the smallest order of the graph.
    seconds : float
        Wall time.
    cpdag : boolean array (d, d), optional
        The equivalence class, where the method learns one. An edge in both directions is undirected.
    weights : array (d, d), optional
    converged : bool
        False when an iteration stopped at its limit.
    settings : mapping
        How the method was called.
    notes : tuple of str
        What else a reader should know.

    Raises
    ------
    InputError
        If the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from dagtune.baselines.common import Learned
    >>> Learned("mine", np.array([[0, 1], [0, 0]]), ("a", "b"), np.array([0, 1]), 0.1).graph.sum()
    np.int64(1)
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


def read_knowledge(d: int, required: Any = None, forbidden: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Boolean (d, d) matrices of the required and the forbidden edges, ``R[i, j]`` means ``i -> j``.

    Parameters
    ----------
    d : int
        Number of columns.
    required, forbidden : graph, optional
        None stands for no edge.

    Returns
    -------
    required, forbidden : boolean arrays (d, d)
        The reverse of a required edge is forbidden too, because it would close a cycle.

    Raises
    ------
    InputError
        If a matrix has another size, an edge is in both, or required edges close a cycle.
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
    """The error for a library that is not installed; ``install`` is what ``pip install`` is told."""
    return ImportError(f"{method} needs a package that is not installed: pip install {install}")
