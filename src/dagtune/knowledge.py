"""What is known before the data speak: required edges, forbidden edges, tiers.

A required edge is in the learned graph, a forbidden one never. Tiers are groups of names, causes first: no edge leads
from a later tier to an earlier one; names in no tier are free. Knowledge that contradicts itself is refused with the
names, when it is made; names that the data do not have, when it meets the data.
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
    """Required and forbidden edges as (cause, effect) names, and tiers of names, causes first.

    >>> Knowledge(required=[("rain", "wet")], forbidden=[("wet", "rain")], tiers=[["rain"], ["wet", "slippery"]])
    Knowledge(required=(('rain', 'wet'),), forbidden=(('wet', 'rain'),), tiers=(('rain',), ('wet', 'slippery')))
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
        """Knowledge of a mapping with the keys required, forbidden, tiers; each may be missing, no other is allowed."""
        if not isinstance(mapping, Mapping):
            raise InputError(f"knowledge is a table with {', '.join(_FIELDS)}, not {type(mapping).__name__}")
        for key in mapping:
            if key not in _FIELDS:
                close = difflib.get_close_matches(str(key), _FIELDS, n=1, cutoff=0.5)
                guess = f"; did you mean {close[0]!r}?" if close else ""
                raise InputError(f"knowledge has no entry {key!r}: it has {', '.join(_FIELDS)}{guess}")
        return cls(**{key: mapping[key] for key in _FIELDS if key in mapping})

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Knowledge of a small .toml or .json file::

        required = [["rain", "wet"]]
        forbidden = [["wet", "rain"]]
        tiers = [["rain"], ["wet", "slippery"]]
        """
        path = Path(path)
        if path.suffix.lower() not in (".toml", ".json"):
            raise InputError(f"can't read knowledge from {str(path)!r}: its ending must be .toml or .json")
        if not path.is_file():
            raise InputError(f"there is no knowledge file {str(path)!r}: check the path")
        try:
            text = path.read_text(encoding="utf-8")
            found = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
        except ValueError as error:  # TOML's, JSON's and unicode errors are all one of these
            raise InputError(f"can't read {str(path)!r} ({str(error).splitlines()[0]}): mend the file") from error
        return cls.from_mapping(found)

    @classmethod
    def of(cls, given: Any) -> Knowledge:
        """Knowledge as a user may hand it in: None, a Knowledge, a mapping, or the path of a file."""
        if given is None:
            return cls()
        if isinstance(given, Knowledge):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.from_file(given)
        return cls.from_mapping(given)

    def __bool__(self) -> bool:
        """Whether anything is known at all."""
        return bool(self.required or self.forbidden or self.tiers)

    def as_mapping(self) -> dict[str, list[list[str]]]:
        """What :meth:`from_mapping` reads, made of lists and texts only."""
        return {key: [list(entry) for entry in getattr(self, key)] for key in _FIELDS}

    def matrices(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Boolean (d, d) matrices of the required and the forbidden edges; ``R[i, j]`` means ``i -> j``.

        Forbidden holds what the tiers forbid, and the way back of each required edge, which would close a cycle.
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
                    raise InputError(f"knowledge ({what} {list(used)}) names {name!r}, which is no column{guess}")
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
        """Boolean (d, d): ``B[i, j]`` means that i comes before j in an order of the variables, by edges or by tiers.

        Tiers forbid edges, not paths through names in no tier. Where required edges make such a path backwards, the
        tiers say nothing about the order.
        """
        required, _ = self.matrices(names)
        tier = {name: level for level, members in enumerate(self.tiers) for name in members}
        levels = np.array([tier.get(name, -1) for name in names])
        known = (levels >= 0)[:, None] & (levels >= 0)
        both = reachability(required | (known & (levels[:, None] < levels)))
        return reachability(required) if both.diagonal().any() else both

    def _refuse_contradictions(self) -> None:
        both = [edge for edge in self.required if edge in set(self.forbidden)]
        if both:
            raise InputError(f"edge {_arrow(both[0])} is both required and forbidden: drop one of the two")
        tier = {name: number for number, names in enumerate(self.tiers) for name in names}
        for cause, effect in self.required:
            if cause in tier and effect in tier and tier[cause] > tier[effect]:
                raise InputError(
                    f"required edge {_arrow((cause, effect))} leads from tier {tier[cause] + 1} back to tier "
                    f"{tier[effect] + 1}: drop the edge, or move one of the names"
                )
        nodes = sorted({name for edge in self.required for name in edge})
        matrix = np.zeros((len(nodes), len(nodes)), dtype=bool)
        for cause, effect in self.required:
            matrix[nodes.index(cause), nodes.index(effect)] = True
        cycle = find_cycle(matrix)
        if cycle is not None:
            raise InputError(f"required edges close a cycle ({_arrow([nodes[i] for i in cycle])}): drop one of them")


def _arrow(names: Iterable[str]) -> str:
    return " -> ".join(map(repr, names))


def _edges(what: str, edges: Iterable[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """(cause, effect) texts, each edge once, in the order given."""
    if isinstance(edges, (str, Mapping)) or not isinstance(edges, Iterable):
        raise InputError(f"{what} must be a list of [cause, effect] pairs, not {edges!r}")
    found: dict[tuple[str, str], None] = {}
    for edge in edges:
        if isinstance(edge, (str, Mapping)) or not isinstance(edge, Iterable) or len(list(edge)) != 2:
            raise InputError(f"{what} must be a list of [cause, effect] pairs, but one entry is {edge!r}")
        cause, effect = (str(name) for name in edge)
        if cause == effect:
            raise InputError(f"{what} edge {_arrow((cause, effect))} leads from a name to itself: drop it")
        found[cause, effect] = None
    return tuple(found)


def _tiers(tiers: Iterable[Iterable[Any]]) -> tuple[tuple[str, ...], ...]:
    """Groups of texts; a name may stand in one tier only."""
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
                raise InputError(f"{name!r} stands twice in the tiers: a name belongs to one tier")
            seen.add(name)
        found.append(tier)
    return tuple(found)
