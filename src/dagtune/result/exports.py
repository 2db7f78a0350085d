"""A learned graph as text for other programs. Names are escaped wherever they could mean something else."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["csv_text", "dagitty_text", "dot_text", "graphml_text", "json_table", "tetrad_text"]


def dot_text(matrix: np.ndarray, names: Sequence[str], undecided: Collection[tuple[int, int]] = ()) -> str:
    """Graphviz text of a boolean (d, d) matrix; nodes are the names in quotes.

    The edge of an undecided pair is drawn without a head, with a question mark; a program that reads the graph finds
    the direction that the matrix has.
    """
    quoted = [_quoted(name) for name in names]
    lines = ["digraph {", *(f"  {name};" for name in quoted)]
    for i, j in np.argwhere(matrix).tolist():
        drawn = ' [dir=none, style=dashed, label="?"]' if {(i, j), (j, i)} & set(undecided) else ""
        lines.append(f"  {quoted[i]} -> {quoted[j]}{drawn};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    """``name`` in quotes, as Graphviz and dagitty read it; only a quote or backslash in it is not as it was."""
    return '"' + printable(name).replace("\\", "\\\\").replace('"', '\\"') + '"'


def dagitty_text(matrix: np.ndarray, names: Sequence[str], undirected: Collection[tuple[int, int]] = ()) -> str:
    """Text for dagitty: a ``dag``, or a ``pdag`` if some pairs are to have no direction."""
    quoted = [_quoted(name) for name in names]
    kept = np.asarray(matrix, dtype=bool).copy()
    for i, j in undirected:
        kept[i, j] = kept[j, i] = False
    lines = ["pdag {" if undirected else "dag {", *quoted]
    lines += [f"{quoted[i]} -> {quoted[j]}" for i, j in np.argwhere(kept).tolist()]
    lines += [f"{quoted[i]} -- {quoted[j]}" for i, j in undirected]
    return "\n".join([*lines, "}"]) + "\n"


def tetrad_text(matrix: np.ndarray, names: Sequence[str], undirected: Collection[tuple[int, int]] = ()) -> str:
    """Text as Tetrad saves a graph: the nodes, then numbered edges ``a --> b``, undirected ones ``a --- b``.

    The format parts names by spaces and semicolons: underscores stand for these, and an InputError is raised where two
    names would become one.
    """
    safe = [re.sub(r"[\s;,]", "_", printable(name)) or "_" for name in names]
    if len(set(safe)) < len(safe):
        twice = next(name for name in safe if safe.count(name) > 1)
        raise InputError(f"two columns would both be called {twice!r} in Tetrad's format: rename one of them")
    kept = np.asarray(matrix, dtype=bool).copy()
    for i, j in undirected:
        kept[i, j] = kept[j, i] = False
    edges = [f"{safe[i]} --> {safe[j]}" for i, j in np.argwhere(kept).tolist()]
    edges += [f"{safe[i]} --- {safe[j]}" for i, j in undirected]
    numbered = [f"{k}. {edge}" for k, edge in enumerate(edges, 1)]
    return "\n".join(["Graph Nodes:", ";".join(safe), "", "Graph Edges:", *numbered]) + "\n"


def graphml_text(names: Sequence[str], edges: Sequence[Mapping[str, Any]]) -> str:
    """GraphML text; nodes are n0, n1, ... with the attribute ``name``, edges have all that their row holds."""
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    numbers = {
        key: "boolean" if isinstance(value, bool) else "double"
        for edge in edges
        for key, value in edge.items()
        if key not in ("cause", "effect")
    }
    for key, kind, what in (("name", "string", "node"), *((key, kind, "edge") for key, kind in numbers.items())):
        ElementTree.SubElement(root, "key", {"id": key, "for": what, "attr.name": key, "attr.type": kind})
    body = ElementTree.SubElement(root, "graph", edgedefault="directed")
    position = {name: i for i, name in enumerate(names)}
    for i, name in enumerate(names):
        node = ElementTree.SubElement(body, "node", id=f"n{i}")
        ElementTree.SubElement(node, "data", key="name").text = printable(name)  # XML has no control characters
    for row in edges:
        ends = {"source": f"n{position[row['cause']]}", "target": f"n{position[row['effect']]}"}
        edge = ElementTree.SubElement(body, "edge", ends)
        for key, kind in numbers.items():
            if key in row:
                told = str(row[key]).lower() if kind == "boolean" else repr(float(row[key]))
                ElementTree.SubElement(edge, "data", key=key).text = told
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def csv_text(columns: Sequence[str], edges: Iterable[Mapping[str, Any]]) -> str:
    """CSV text of the edges, numbers to the last digit; a number that is not known is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(column, "") for column in columns] for row in edges)
    return text.getvalue()


def json_table(values: np.ndarray) -> list[list[float | None]]:
    """Rows of numbers for JSON, which has neither NaN nor infinity: None stands for them."""
    return [[float(value) if np.isfinite(value) else None for value in row] for row in values]
