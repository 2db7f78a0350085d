"""Entries of prior knowledge as people give them, checked and brought into one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dagtune.validation import InputError

__all__ = ["arrow", "read_edges", "read_prior", "read_roots", "read_tiers"]


def arrow(names: Iterable[str]) -> str:
    """'a' -> 'b' -> 'c', for messages."""
    return " -> ".join(map(repr, names))


def read_edges(what: str, edges: Iterable[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """(cause, effect) strings without duplicates, in the given order."""
    if isinstance(edges, (str, Mapping)) or not isinstance(edges, Iterable):
        raise InputError(f"{what} must be a list of [cause, effect] pairs, not {edges!r}")
    found: dict[tuple[str, str], None] = {}
    for edge in edges:
        if isinstance(edge, (str, Mapping)) or not isinstance(edge, Iterable) or len(list(edge)) != 2:
            raise InputError(f"{what} must be a list of [cause, effect] pairs, but one entry is {edge!r}")
        cause, effect = (str(name) for name in edge)
        if cause == effect:
            raise InputError(f"{what} edge {arrow((cause, effect))} leads from a node to itself: drop it")
        found[cause, effect] = None
    return tuple(found)


def read_tiers(tiers: Iterable[Iterable[Any]]) -> tuple[tuple[str, ...], ...]:
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


def read_prior(prior: Mapping[Any, Any] | Iterable[Sequence[Any]]) -> tuple[tuple[str, str, float], ...]:
    """(cause, effect, p) without duplicates, in the given order; p strictly between 0 and 1."""
    form = "prior must be {(cause, effect): p} or a list of [cause, effect, p]"
    if isinstance(prior, Mapping):
        strange = [key for key in prior if not isinstance(key, (tuple, list)) or len(key) != 2]
        if strange:
            raise InputError(f"{form}, but one key is {strange[0]!r}")
        prior = [(*key, p) for key, p in prior.items()]
    if isinstance(prior, str) or not isinstance(prior, Iterable):
        raise InputError(f"{form}, not {prior!r}")
    found: dict[tuple[str, str], float] = {}
    for entry in prior:
        if isinstance(entry, (str, Mapping)) or not isinstance(entry, Iterable) or len(list(entry)) != 3:
            raise InputError(f"{form}, but one entry is {entry!r}")
        *ends, number = entry
        (edge,) = read_edges("prior", [ends])
        p = _belief(edge, number)
        if found.setdefault(edge, p) != p:
            raise InputError(f"prior has two beliefs in {arrow(edge)}, {found[edge]:g} and {p:g}: keep one of them")
    return tuple((cause, effect, p) for (cause, effect), p in found.items())


def _belief(edge: tuple[str, str], p: Any) -> float:
    """The number ``p`` of a belief in an edge, if it is one."""
    number = isinstance(p, (int, float, np.integer, np.floating)) and not isinstance(p, bool)
    if number and 0 < p < 1:
        return float(p)
    cure = {0: ": if you are sure, make the edge forbidden", 1: ": if you are sure, make the edge required"}
    raise InputError(
        f"the belief in {arrow(edge)} must be a number strictly between 0 and 1, not {p!r}"
        f"{cure.get(p, '') if number else ''}"
    )


def read_roots(roots: str | Iterable[Any]) -> tuple[str, ...]:
    """Names without duplicates, in the given order; a single text is one name."""
    if isinstance(roots, Mapping) or not isinstance(roots, Iterable):
        raise InputError(f"roots must be a list of names, not {roots!r}")
    return tuple(dict.fromkeys([roots] if isinstance(roots, str) else map(str, roots)))
