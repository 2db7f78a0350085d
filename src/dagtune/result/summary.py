"""A result in lines of text: each edge with how sure it is first and how strong it is second."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dagtune.result.learned import LearnedGraph
from dagtune.result.pairs import explains_words, pair_numbers, times_in
from dagtune.text import columns_of_text, printable

__all__ = ["count_words", "edge_lines"]


def count_words(result: LearnedGraph) -> str:
    """How many edges there are, and how many of them have a direction."""
    edges = result.edges()
    told = f"{len(edges)} {'edge' if len(edges) == 1 else 'edges'} among {len(result.names)} variables"
    if not result.undecided:
        return told
    return f"{told}: {int((~edges['undecided']).sum())} with a direction, {int(edges['undecided'].sum())} undecided"


def edge_lines(result: LearnedGraph, *, shares: pd.DataFrame | None = None, most: int | None = None) -> list[str]:
    """The edges, the surest first, then the undecided pairs: a heading and aligned lines.

    Parameters
    ----------
    result : LearnedGraph
    shares : DataFrame, optional
        Share of the resamples with each edge, row causes column, shown beside the probabilities of the model.
    most : int, optional
        Most lines of each of the two kinds.

    Returns
    -------
    list of str
        Empty without edges.
    """
    edges = result.edges()
    sure = edges if result.probability is None else edges[~edges["undecided"]]
    pairs = [(a, b, "->") for a, b in zip(sure["cause"], sure["effect"])]
    # An undecided pair stands in the direction that the graph has, which is nearly always the likelier one.
    turned = {(b, a) for a, b in zip(edges["cause"], edges["effect"])}
    unsure = [(b, a, "?") if (a, b) in turned else (a, b, "?") for a, b in result.undecided]
    if not pairs and not unsure:
        return []
    head = _head(result, shares)
    cells = [_cells(result, *pair, shares=shares) for some in (pairs, unsure) for pair in some[:most]]
    lines = [f"  {line}" for line in columns_of_text([head, *cells], right=range(1, len(head) - 1))]
    cut = 1 + len(pairs[:most])
    told = lines[:cut] + _more(len(pairs), most)
    if unsure:
        told += ["joined, but with an undecided direction:", *lines[cut:], *_more(len(unsure), most)]
    return told


def _more(count: int, most: int | None) -> list[str]:
    return [] if most is None or count <= most else [f"  ... and {count - most} more"]


def _head(result: LearnedGraph, shares: pd.DataFrame | None) -> list[str]:
    cells = ["edge"]
    if result.probability is not None:
        cells += ["in resamples" if result.resamples else "probability", "reverse", "none"]
    if shares is not None:
        cells.append("in resamples")
    if result.track_record is not None:
        cells.append("right on real pairs")
    return [*cells, "strength" if result.explained is None else "how strong"]


def _cells(result: LearnedGraph, cause: str, effect: str, sign: str, *, shares: pd.DataFrame | None) -> list[str]:
    """What is said of cause -> effect, in the columns of the heading."""
    i, j = result.names.index(cause), result.names.index(effect)
    cells = [f"{printable(cause)} {sign} {printable(effect)}"]
    record = np.nan
    if result.probability is not None:
        numbers = pair_numbers(result.probability, result.track_record, np.array(i), np.array(j))
        cells += [f"{float(numbers[name]):.2f}" for name in ("probability", "reverse", "none")]
        record = float(numbers["track_record"])
    if shares is not None:
        cells.append(f"{shares.to_numpy()[i, j]:.2f}")
    if result.track_record is not None:
        cells.append(times_in(record) if np.isfinite(record) else "")
    if not result.matrix[i, j]:
        return [*cells, ""]
    if result.explained is None:
        return [*cells, f"{result.strength[i, j]:.4g}"]
    return [*cells, explains_words(float(result.explained[i, j]), printable(effect))]
