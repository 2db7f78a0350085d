"""What the page says for a decision: the verdict, what to find out next, the effect of each edge, the stored sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from dagtune.effects.estimates import Effect
from dagtune.result import Result
from dagtune.text import shown
from dagtune.validation import InputError

__all__ = ["CLOSE", "decision_content", "number", "table"]

#: A pair that is joined with this probability, or a greater one, is close even if it has no edge.
CLOSE = 0.1
#: Pairs listed of what was tested, the most doubtful first.
_LISTED = 6
#: Edges whose effect curve is on the page, the surest first: each costs a kilobyte.
_CURVES = 120


def number(value: Any) -> float | None:
    """A finite float with 6 digits, or None: JSON has neither NaN nor infinity."""
    return float(f"{float(value):.6g}") if value is not None and np.isfinite(value) else None


def table(values: np.ndarray) -> list[list[float | None]]:
    """Rows of such numbers."""
    return [[number(value) for value in row] for row in values]


def decision_content(result: Result) -> dict[str, Any]:
    """By the names that page.js reads."""
    return {
        "likely": None if result.probability is None else table(result.probability),
        "sample": _sample(result),
        "sampled": len(result.graphs),
        "ownResamples": result.resamples,
        "least": number(result.settings.get("least_probability", 0.5)),
        "cells": list(map(shown, result.cells)),
        "ownNames": list(result.names),
        "knowledge": result.settings.get("knowledge", {}),
        "verdict": _verdict(result),
        "tested": _tested(result),
        "next": _next(result),
        "effects": _effects(result),
    }


def _sample(result: Result) -> list[list[Any]]:
    """Each different graph of the sample: how often it was drawn, and the edges (i d + j) that differ."""
    if not len(result.graphs):
        return []
    d = len(result.names)
    other = (result.graphs ^ result.matrix).reshape(len(result.graphs), d * d)
    distinct, counts = np.unique(np.packbits(other, axis=1), axis=0, return_counts=True)
    unpacked = np.unpackbits(distinct, axis=1, count=d * d).astype(bool)
    return [[int(count), np.flatnonzero(row).tolist()] for count, row in zip(counts, unpacked)]


def _verdict(result: Result) -> dict[str, Any] | None:
    if not result.answers:
        return None
    found = result.verdict()
    lists = {"believe": found.believe, "doubt": found.doubt, "settle": found.settle}
    return {"headline": shown(found.headline), **{name: list(map(shown, texts)) for name, texts in lists.items()}}


def _tested(result: Result) -> list[dict[str, Any]]:
    """What was tested over all pairs: a title, a sentence, and the most doubtful pairs in words."""
    if not result.answers:
        return []
    parts = []
    test, independences = result.hidden_cause_test, result.implied_independences
    if test is not None:
        worst = [one.words for one in result.hidden_causes[:_LISTED]]
        parts.append(("Hidden common causes", test.words, worst))
    if independences:
        holding = sum(one.holds for one in independences)
        said = f"{holding} of {len(independences)} independences that missing edges imply were not rejected"
        parts.append(("Missing edges", said, [one.words for one in independences[:_LISTED]]))
    return [{"title": title, "words": shown(words), "pairs": list(map(shown, pairs))} for title, words, pairs in parts]


def _next(result: Result) -> list[list[Any]]:
    """Pairs (positions) to find out about, and why, in words."""
    return [
        [result.names.index(one.cause), result.names.index(one.effect), shown(one.words)]
        for one in result.next_questions()
    ]


def _effects(result: Result) -> dict[str, dict[str, Any]]:
    """Effect and curve of the surest edges, and of the reverse of undecided ones, by "i-j"."""
    if not result.answers:
        return {}
    edges = [(cause, effect) for cause, effect in zip(*(result.edges()[end] for end in ("cause", "effect")))]
    edges = edges[:_CURVES] + [(b, a) for a, b in edges[:_CURVES] if (a, b) in result.undecided]
    found = {}
    for cause, effect in edges:
        try:
            told = _effect(result.effect(cause, effect))
        except InputError:  # a table may say too little of one pair
            continue
        found[f"{result.names.index(cause)}-{result.names.index(effect)}"] = told
    return found


def _effect(effect: Effect) -> dict[str, Any]:
    curve = effect.curve
    shown_at = np.unique(np.linspace(0, len(curve.grid) - 1, min(len(curve.grid), 31)).astype(int))
    lines = {name: [number(value) for value in getattr(curve, name)[shown_at]] for name in curve._fields}
    levels = [shown(level) for level in effect.of_levels]
    return {"words": shown(effect.words), "what": shown(effect.what), "levels": levels, **lines}
