"""A result in a notebook: the graph as SVG, the surest edges as a table. All text is escaped; nothing is loaded."""

from __future__ import annotations

import html

import numpy as np

from dagtune.pictures import svg_graph
from dagtune.result.learned import LearnedGraph
from dagtune.result.summary import count_words, edge_lines

__all__ = ["notebook_html"]

#: More edges than this are not drawn: the surest are.
_DRAWN = 60
#: Edges that are listed.
_LISTED = 12


def notebook_html(result: LearnedGraph) -> str:
    """A picture with the surest edges, the number of edges, and a list of the surest.

    Parameters
    ----------
    result : LearnedGraph

    Returns
    -------
    str
        HTML without script.
    """
    surest = result.edges().head(_DRAWN)
    ends = [(result.names.index(a), result.names.index(b)) for a, b in zip(surest["cause"], surest["effect"])]
    matrix = np.zeros(result.matrix.shape, dtype=bool)
    for end in ends:
        matrix[end] = True
    pairs = {frozenset(end) for end in ends}
    shown = result.matrix.sum() <= _DRAWN
    undecided = [
        (result.names.index(a), result.names.index(b))
        for a, b in result.undecided
        if shown or frozenset((result.names.index(a), result.names.index(b))) in pairs
    ]
    told = count_words(result) + ("" if shown else f" (the surest {_DRAWN} are drawn)")
    lines = html.escape("\n".join(edge_lines(result, most=_LISTED)))
    picture = svg_graph(matrix, result.names, undecided=undecided)
    return f"<div><p>{html.escape(told)}</p>{picture}<pre>{lines}</pre></div>"
