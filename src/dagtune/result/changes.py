"""The steps that lead to a graph, each with its evidence, and the checks of the fitted model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["ACTIONS", "Change", "Check", "Measured", "replay"]

#: Whether an edge is there after the action.
ACTIONS = {"add": True, "require": True, "delete": False, "remove": False, "forbid": False}
#: How a person says that the action was done.
_DONE = {"add": "added", "require": "put in", "delete": "deleted", "remove": "removed", "forbid": "taken out"}


class Measured(NamedTuple):
    """One of the numbers compared: ``what`` measured between a child and its candidate parents together.

    Attributes
    ----------
    what : str
        Name of the measure.
    child : str
        The effect.
    parents : tuple of str
        The candidate causes.
    value : float
        The number.

    Examples
    --------
    >>> print(Measured("HSIC", "c", ("a", "b"), 0.0123))
    HSIC(c, a + b) = 0.0123
    """

    what: str
    child: Any
    parents: tuple[Any, ...]
    value: float

    def __str__(self) -> str:
        """``HSIC(c, a + b) = 0.0123``; a joint kernel writes ``joint HSIC(c, (a, b))``."""
        names = [printable(name) for name in self.parents]
        together = f"({', '.join(names)})" if self.what.startswith("joint") and len(names) > 1 else " + ".join(names)
        return f"{self.what}({printable(self.child)}, {together}) = {self.value:.4g}"


class Change(NamedTuple):
    """One edge that came or went: when, by which rule, and the numbers that were compared.

    Inside a learner nodes are positions; in a :class:`Result` they are names.

    Attributes
    ----------
    phase : str
        The phase it happened in, one of ``Result.phases``.
    action : {"add", "require", "delete", "remove", "forbid"}
        The first two put the edge in, the others take it out.
    edge : tuple
        (cause, effect).
    rule : str
        The rule that fired, in words.
    triple : tuple or None
        (child, j, k, ...) whose rule fired, if it was one of a child and its candidate parents.
    numbers : tuple of Measured
        The numbers compared.
    cycle : tuple
        The directed cycle that had to be broken, its first node repeated at the end, if there was one.

    Examples
    --------
    >>> print(Change("deletion", "delete", ("a", "b"), "it says nothing new"))
    deletion: delete a -> b: it says nothing new
    """

    phase: str
    action: str
    edge: tuple[Any, Any]
    rule: str
    triple: tuple[Any, ...] | None = None
    numbers: tuple[Measured, ...] = ()
    cycle: tuple[Any, ...] = ()

    def named(self, names: Sequence[str]) -> Change:
        """Put names for positions.

        Parameters
        ----------
        names : sequence of str
            Name of each position.

        Returns
        -------
        Change
            The same change by name.
        """
        return self._replace(
            edge=(names[self.edge[0]], names[self.edge[1]]),
            triple=None if self.triple is None else tuple([names[i] for i in self.triple]),
            numbers=tuple(
                [Measured(m.what, names[m.child], tuple([names[j] for j in m.parents]), m.value) for m in self.numbers]
            ),
            cycle=tuple([names[i] for i in self.cycle]),
        )

    def sentence(self) -> str:
        """Tell the change to a person who knows which edge it is about.

        Returns
        -------
        str
            One sentence with the phase, the rule and the numbers compared.
        """
        around = f" from the cycle {' -> '.join(map(printable, self.cycle))}" if self.cycle else ""
        numbers = f" ({'; '.join(map(str, self.numbers))})" if self.numbers else ""
        return f"In phase '{self.phase}' it was {_DONE[self.action]}{around}: {self.rule}{numbers}."

    def __str__(self) -> str:
        """One line for a person."""
        cause, effect = map(printable, self.edge)
        compared = f" [{'; '.join(map(str, self.numbers))}]" if self.numbers else ""
        around = f" in the cycle {' -> '.join(map(printable, self.cycle))}" if self.cycle else ""
        return f"{self.phase}: {self.action} {cause} -> {effect}{around}: {self.rule}{compared}"


class Check(NamedTuple):
    """One check of the fitted model: are the residuals of a child independent of its causes, as additive noise asks?

    Attributes
    ----------
    child : str
        Whose residuals.
    against : tuple of str
        What they must be independent of.
    statistic : float
        The measured dependence.
    p_value : float
        Of independence: small where the model does not hold.
    holds : bool
        The judgement, after allowing for the number of checks.
    words : str
        The same for a person.
    """

    child: str
    against: tuple[str, ...]
    statistic: float
    p_value: float
    holds: bool
    words: str


def replay(first: np.ndarray, changes: Iterable[Change], names: Sequence[str]) -> np.ndarray:
    """Apply changes to a graph.

    Parameters
    ----------
    first : (d, d) array of bool
        The graph before; ``A[i, j]`` means ``i -> j``.
    changes : iterable of Change
        By name.
    names : sequence of str
        Names of the nodes.

    Returns
    -------
    (d, d) array of bool
        The graph after all changes.

    Raises
    ------
    InputError
        A change adds an edge that is there, or takes out one that is not.

    Examples
    --------
    >>> first = np.array([[False, True], [False, False]])
    >>> bool(replay(first, [Change("deletion", "delete", ("a", "b"), "no reason")], "ab").any())
    False
    """
    position = {name: i for i, name in enumerate(names)}
    matrix = first.copy()
    for change in changes:
        cause, effect = (position[name] for name in change.edge)
        if matrix[cause, effect] == ACTIONS[change.action]:
            raise InputError(f"the trace does not fit its graph at '{change}'")
        matrix[cause, effect] = not matrix[cause, effect]
    return matrix
