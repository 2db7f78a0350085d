"""A learned graph as text for other programs. Names are escaped wherever they could mean something else."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

import numpy as np

from dagtune.text import printable

__all__ = ["csv_text", "dot_text", "graphml_text"]


def dot_text(matrix: np.ndarray, names: Sequence[str]) -> str:
    """Graphviz text of a boolean (d, d) matrix; nodes are n0, n1, ... with the names as labels."""
    lines = ["digraph {"]
    lines += [f'  n{i} [label="{_quoted(name)}"];' for i, name in enumerate(names)]
    lines += [f"  n{i} -> n{j};" for i, j in np.argwhere(matrix)]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    """``name`` inside a quoted Graphviz label, where a backslash starts an escape."""
    return printable(name).replace("\\", "\\\\").replace('"', '\\"')


def graphml_text(matrix: np.ndarray, names: Sequence[str], strength: np.ndarray) -> str:
    """GraphML text; nodes are n0, n1, ... with the attribute ``name``, edges have ``strength``."""
    root = ElementTree.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for key, kind, what in (("name", "string", "node"), ("strength", "double", "edge")):
        ElementTree.SubElement(root, "key", {"id": key, "for": what, "attr.name": key, "attr.type": kind})
    body = ElementTree.SubElement(root, "graph", edgedefault="directed")
    for i, name in enumerate(names):
        node = ElementTree.SubElement(body, "node", id=f"n{i}")
        ElementTree.SubElement(node, "data", key="name").text = printable(name)  # XML has no control characters
    for i, j in np.argwhere(matrix):
        edge = ElementTree.SubElement(body, "edge", source=f"n{i}", target=f"n{j}")
        ElementTree.SubElement(edge, "data", key="strength").text = repr(float(strength[i, j]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def csv_text(edges: Iterable[tuple[str, str, float]]) -> str:
    """CSV text of (cause, effect, strength) rows, numbers to the last digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cause", "effect", "strength"])
    writer.writerows([cause, effect, repr(strength)] for cause, effect, strength in edges)
    return text.getvalue()
