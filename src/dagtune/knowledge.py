"""Prior knowledge about a graph: required edges, forbidden edges, tiers.

The learned graph contains every required edge and no forbidden one. Tiers are groups of names, causes first: no edge
leads from a later tier to an earlier one, and names in no tier are unrestricted. Knowledge that contradicts itself is
refused when it is created; names that are not columns are refused when it is applied to a table.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dagtune.graph import find_cycle, reachability
from dagtune.validation import InputError

__all__ = ["Knowledge"]

_FIELDS = ("required", "forbidden", "tiers")


@dataclass(frozen=True, init=False)
class Knowledge:
    """Required and forbidden edges, and tiers.

    Parameters
    ----------
    required : iterable of (str, str)
        (cause, effect) names of edges that the graph must contain.
    forbidden : iterable of (str, str)
        (cause, effect) names of edges that the graph must not contain.
    tiers : iterable of iterables of str
        Groups of names, causes first: no edge leads from a later group to an earlier one. A name is in one tier at
        most.

    Raises
    ------
    InputError
        If an entry is no pair of names, or the knowledge contradicts itself: an edge both required and forbidden, a
        required edge back to an earlier tier, or a cycle of required edges.

    Examples
    --------
    >>> Knowledge(required=[("rain", "wet")], tiers=[["rain"], ["wet", "slippery"]])
    Knowledge(required=(('rain', 'wet'),), forbidden=(), tiers=(('rain',), ('wet', 'slippery')))
    """

    required: tuple[tuple[str, str], ...]
    forbidden: tuple[tuple[str, str], ...]
    tiers: tuple[tuple[str, ...], ...]

    def __init__(
        self,
        required: Iterable[Sequence[Any]] = (),
        forbidden: Iterable[Sequence[Any]] = (),
        tiers: Iterable[Iterable[Any]] = (),
    ) -> None:
        object.__setattr__(self, "required", _edges("required", required))
        object.__setattr__(self, "forbidden", _edges("forbidden", forbidden))
        object.__setattr__(self, "tiers", _tiers(tiers))
        self._refuse_contradictions()

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Knowledge:
        """Knowledge from a mapping.

        Parameters
        ----------
        mapping : Mapping
            May have the keys ``required``, ``forbidden`` and ``tiers``, with values as in the constructor.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If there are other keys, or the constructor refuses the values.

        Examples
        --------
        >>> Knowledge.from_mapping({"forbidden": [["wet", "rain"]]})
        Knowledge(required=(), forbidden=(('wet', 'rain'),), tiers=())
        """
        if not isinstance(mapping, Mapping):
            raise InputError(
                f"knowledge must be a mapping with the keys {', '.join(_FIELDS)}, not {type(mapping).__name__}"
            )
        for key in mapping:
            if key not in _FIELDS:
                close = difflib.get_close_matches(str(key), _FIELDS, n=1, cutoff=0.5)
                guess = f"; did you mean {close[0]!r}?" if close else ""
                raise InputError(f"unknown knowledge entry {key!r}: use {', '.join(_FIELDS)}{guess}")
        return cls(**{key: mapping[key] for key in _FIELDS if key in mapping})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Knowledge from a small .toml or .json file.

        The entries are those of :meth:`from_mapping`; in TOML::

            required = [["rain", "wet"]]
            forbidden = [["wet", "rain"]]
            tiers = [["rain"], ["wet", "slippery"]]

        Parameters
        ----------
        path : str or path-like
            The suffix must be .toml or .json.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            If the file does not exist, can't be parsed, or holds entries that are refused.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "known.toml"
        ...     _ = path.write_text('required = [["rain", "wet"]]')
        ...     Knowledge.from_file(path)
        Knowledge(required=(('rain', 'wet'),), forbidden=(), tiers=())
        """
        path = Path(path)
        if path.suffix.lower() not in (".toml", ".json"):
            raise InputError(f"can't read knowledge from {str(path)!r}: the file name must end in .toml or .json")
        if not path.is_file():
            raise InputError(f"there is no knowledge file {str(path)!r}: check the path")
        try:
            text = path.read_text(encoding="utf-8")
            found = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
        except ValueError as error:  # TOML's, JSON's and unicode errors are all one of these
            raise InputError(f"can't read {str(path)!r} ({str(error).splitlines()[0]}): fix the file") from error
        return cls.from_mapping(found)

    @classmethod
    def of(cls, given: Any) -> Knowledge:
        """Knowledge in any form that a learner accepts.

        Parameters
        ----------
        given : None, Knowledge, Mapping, str or path-like
            None stands for no knowledge; a string is the path of a file.

        Returns
        -------
        Knowledge

        Raises
        ------
        InputError
            As :meth:`from_mapping` and :meth:`from_file`.

        Examples
        --------
        >>> bool(Knowledge.of(None))
        False
        """
        if given is None:
            return cls()
        if isinstance(given, Knowledge):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.from_file(given)
        return cls.from_mapping(given)

    def __bool__(self) -> bool:
        """Whether there is any knowledge at all."""
        return bool(self.required or self.forbidden or self.tiers)

    def as_mapping(self) -> dict[str, list[list[str]]]:
        """Mapping that :meth:`from_mapping` reads, made of dict, list and str only.

        Returns
        -------
        dict of str to list of list of str

        Examples
        --------
        >>> Knowledge(required=[("rain", "wet")]).as_mapping()
        {'required': [['rain', 'wet']], 'forbidden': [], 'tiers': []}
        """
        return {key: [list(entry) for entry in getattr(self, key)] for key in _FIELDS}

    def matrices(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Required and forbidden edges as matrices.

        Parameters
        ----------
        names : sequence of str
            Columns of the table, in order.

        Returns
        -------
        required, forbidden : ndarray of bool, shape (d, d)
            Entry [i, j] is about the edge ``i -> j``. ``forbidden`` includes what the tiers forbid and the reverse of
            each required edge, which would close a cycle.

        Raises
        ------
        InputError
            If the knowledge uses a name that is not in ``names``.

        Examples
        --------
        >>> required, forbidden = Knowledge(required=[("a", "b")]).matrices(["a", "b"])
        >>> forbidden
        array([[False, False],
               [ True, False]])
        """
        position = {name: i for i, name in enumerate(names)}
        for what, used in (
            *(("edge", edge) for edge in self.required + self.forbidden),
            *(("tier", t) for t in self.tiers),
        ):
            for name in used:
                if name not in position:
                    close = difflib.get_close_matches(name, list(position), n=1, cutoff=0.5)
                    guess = f"; did you mean {close[0]!r}?" if close else ""
                    raise InputError(f"knowledge ({what} {list(used)}) uses {name!r}, which is not a column{guess}")
        required = np.zeros((len(names), len(names)), dtype=bool)
        forbidden = required.copy()
        for matrix, edges in ((required, self.required), (forbidden, self.forbidden)):
            for cause, effect in edges:
                matrix[position[cause], position[effect]] = True
        for late in range(len(self.tiers)):
            for early in range(late):
                forbidden[np.ix_([position[x] for x in self.tiers[late]], [position[x] for x in self.tiers[early]])] = (
                    True
                )
        return required, forbidden | required.T

    def before(self, names: Sequence[str]) -> np.ndarray:
        """Which variables must come before which others in a causal order.

        Tiers forbid edges, not paths through names that are in no tier. If required edges form such a path backwards,
        the tiers say nothing about the order and are left out.

        Parameters
        ----------
        names : sequence of str
            Columns of the table, in order.

        Returns
        -------
        ndarray of bool, shape (d, d)
            Entry [i, j] is true if i must come before j.

        Raises
        ------
        InputError
            If the knowledge uses a name that is not in ``names``.

        Examples
        --------
        >>> Knowledge(tiers=[["b"], ["a"]]).before(["a", "b"])
        array([[False, False],
               [ True, False]])
        """
        required, _ = self.matrices(names)
        tier_of = {name: number for number, members in enumerate(self.tiers) for name in members}
        tier = np.array([tier_of.get(name, -1) for name in names])
        in_tier = tier >= 0
        both = reachability(required | (in_tier[:, None] & in_tier & (tier[:, None] < tier)))
        return reachability(required) if both.diagonal().any() else both

    def _refuse_contradictions(self) -> None:
        """Refuse edges both required and forbidden, required edges against the tiers, and cycles of required edges."""
        both = [edge for edge in self.required if edge in set(self.forbidden)]
        if both:
            raise InputError(f"edge {_arrow(both[0])} is both required and forbidden: drop one of the two")
        tier = {name: number for number, names in enumerate(self.tiers) for name in names}
        for cause, effect in self.required:
            if cause in tier and effect in tier and tier[cause] > tier[effect]:
                raise InputError(
                    f"required edge {_arrow((cause, effect))} leads from tier {tier[cause] + 1} back to tier "
                    f"{tier[effect] + 1}: drop the edge, or move one of the names to another tier"
                )
        nodes = sorted({name for edge in self.required for name in edge})
        matrix = np.zeros((len(nodes), len(nodes)), dtype=bool)
        for cause, effect in self.required:
            matrix[nodes.index(cause), nodes.index(effect)] = True
        cycle = find_cycle(matrix)
        if cycle is not None:
            raise InputError(f"required edges close a cycle ({_arrow([nodes[i] for i in cycle])}): drop one of them")


def _arrow(names: Iterable[str]) -> str:
    """'a' -> 'b' -> 'c', for messages."""
    return " -> ".join(map(repr, names))


def _edges(what: str, edges: Iterable[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """(cause, effect) strings without duplicates, in the given order."""
    if isinstance(edges, (str, Mapping)) or not isinstance(edges, Iterable):
        raise InputError(f"{what} must be a list of [cause, effect] pairs, not {edges!r}")
    found: dict[tuple[str, str], None] = {}
    for edge in edges:
        if isinstance(edge, (str, Mapping)) or not isinstance(edge, Iterable) or len(list(edge)) != 2:
            raise InputError(f"{what} must be a list of [cause, effect] pairs, but one entry is {edge!r}")
        cause, effect = (str(name) for name in edge)
        if cause == effect:
            raise InputError(f"{what} edge {_arrow((cause, effect))} leads from a node to itself: drop it")
        found[cause, effect] = None
    return tuple(found)


def _tiers(tiers: Iterable[Iterable[Any]]) -> tuple[tuple[str, ...], ...]:
    """Groups of strings; each name in one tier at most."""
    if isinstance(tiers, (str, Mapping)) or not isinstance(tiers, Iterable):
        raise InputError(f"tiers must be a list of lists of names, causes first, not {tiers!r}")
    found: list[tuple[str, ...]] = []
    seen: set[str] = set()
    for names in tiers:
        if isinstance(names, (str, Mapping)) or not isinstance(names, Iterable):
            raise InputError(f"tiers must be a list of lists of names, but one entry is {names!r}")
        tier = tuple(str(name) for name in names)
        for name in tier:
            if name in seen:
                raise InputError(f"{name!r} appears twice in the tiers: keep it in one tier")
            seen.add(name)
        found.append(tier)
    return tuple(found)
