"""Positions of the nodes and edges of a drawing: a layered layout, without graphviz.

The layout is Sugiyama's: layers by longest path, order within layers by barycentres, positions by least squares. An
edge that passes through other layers runs on a lane of its own there, so no edge crosses a node. In a dense graph all
long edges of one cause share a lane as far as they go together, which makes the drawing much lighter. Lengths are in
pixels, and y points down.

References ---------- K. Sugiyama, S. Tagawa, M. Toda: Methods for visual understanding of hierarchical system
structures. IEEE Transactions on Systems, Man, and Cybernetics 11 (1981).
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from dagtune import graph

__all__ = ["GAP", "NODE_HEIGHT", "Layout", "lay_out", "layered_layout"]

#: Height of a node's box.
NODE_HEIGHT = 28.0
#: Width of a character, total horizontal padding of a box, distance between boxes and between lanes.
_CHARACTER, _PADDING, _APART, _LANE = 7.6, 24.0, 22.0, 11.0
#: Distance between layers, and how much edges that run far sideways may add to it.
GAP, _MORE_GAP = 32.0, 54.0
_SWEEPS, _PULLS = 16, 40
#: Room for an arrowhead on a box, and the largest width that arrowheads may give a box.
_PORT, _WIDEST = 9.0, 200.0
#: With more long edges than this through one layer, those of one cause share their lanes.
_MOST_LANES = 40
#: How strongly pieces of edges resist leaning: node to node, node to lane, lane to lane.
_STIFF = (1.0, 2.0, 8.0)


class Layout(NamedTuple):
    """Positions of a drawing.

    A route lists the points that an edge passes: it leaves the first downwards, enters the last from above, and runs
    straight down through the layer of every point between. The route of two nodes in the same layer joins the bottoms
    of their boxes.

    Parameters
    ----------
    positions : ndarray, shape (d, 2)
        Centres of the nodes.
    widths : ndarray, shape (d,)
        Widths of their boxes.
    routes : dict of (int, int) to ndarray, shape (points, 2)
        From the upper to the lower node of each adjacent pair.
    size : (float, float)
        Width and height of the whole drawing.
    """

    positions: np.ndarray
    widths: np.ndarray
    routes: dict[tuple[int, int], np.ndarray]
    size: tuple[float, float]


def layered_layout(matrix: Any) -> np.ndarray:
    """Node centres of a layered layout, causes above effects.

    Parameters
    ----------
    matrix : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.

    Returns
    -------
    ndarray, shape (d, 2)
        x to the right, y down.

    Examples
    --------
    >>> layered_layout([[0, 1], [0, 0]])
    array([[20., 14.],
           [20., 74.]])
    """
    return lay_out(matrix).positions


def lay_out(matrix: Any, labels: Sequence[str] | None = None, also: Any = None) -> Layout:
    """Layout of a graph.

    A graph with cycles is laid out by those of its edges that lead from nodes with more effects to nodes with fewer.

    Parameters
    ----------
    matrix : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    labels : sequence of str, optional
        Text of the boxes, which sets their widths. Default: the positions.
    also : array-like, optional
        A second graph on the same nodes. Its adjacent pairs get routes but do not influence the layout.

    Returns
    -------
    Layout

    Raises
    ------
    InputError
        If ``matrix`` or ``also`` is no graph.

    Examples
    --------
    >>> lay_out([[0, 1], [0, 0]], ["rain", "wet"]).routes[0, 1]
    array([[27.2, 28. ],
           [27.2, 60. ]])
    """
    matrix = graph.as_matrix(matrix)
    d = len(matrix)
    if d == 0:
        return Layout(np.zeros((0, 2)), np.zeros(0), {}, (0.0, 0.0))
    forward = _acyclic(matrix)
    boxes = np.array([_text_width(label) for label in (labels or [str(i) for i in range(d)])])
    items = _Items(forward, _layers(forward), boxes)
    rows = _reduce_crossings(items)
    x = _places(items, rows)
    x -= min(x[i] - items.widths[i] / 2 for row in rows for i in row)
    y = _heights(items, rows, x)
    widths = items.widths[:d]
    positions = np.column_stack([x[:d], y[items.layer[:d]]])
    size = (float((x + items.widths / 2).max()), float(y[-1] + NODE_HEIGHT / 2))
    routes = items.routes(x, y)
    extra = np.zeros_like(matrix) if also is None else graph.as_matrix(also)
    nodes = [[i for i in row if i < d] for row in rows]
    for i, j in np.argwhere(np.triu(matrix | matrix.T | extra | extra.T)):
        a, b = (int(i), int(j)) if items.layer[i] <= items.layer[j] else (int(j), int(i))
        if (a, b) not in routes and (b, a) not in routes:
            routes[a, b] = _detour(positions, widths, nodes, items.layer, y, a, b)
    return Layout(positions, widths, routes, size)


def _acyclic(matrix: np.ndarray) -> np.ndarray:
    """The graph itself; of a cyclic graph, the edges that follow the order by effects minus causes."""
    if graph.is_dag(matrix):
        return matrix
    order = np.argsort(matrix.sum(axis=0).astype(int) - matrix.sum(axis=1), kind="stable")
    return matrix & graph.complete(order)


def _layers(dag: np.ndarray) -> np.ndarray:
    """A layer for each node, every edge leading to a later one: longest path, then shorter edges, wide layers split."""
    d = len(dag)
    order = graph.topological_order(dag)
    layer = np.zeros(d, dtype=int)
    for node in order:
        layer[node] = max((layer[parent] + 1 for parent in np.flatnonzero(dag[:, node])), default=0)
    for node in order[::-1]:  # move down to the nearest effect where that shortens more edges than it lengthens
        below = np.flatnonzero(dag[node])
        if len(below) > dag[:, node].sum():
            layer[node] = layer[below].min() - 1
    alone = ~(dag.any(axis=0) | dag.any(axis=1))
    layer[alone] = layer.max() + 1  # nodes without edges go below all others
    most = int(np.ceil(1.1 * np.sqrt(d))) + 2
    result = np.zeros(d, dtype=int)
    start = 0
    for current in np.unique(layer):
        # when a layer is split, nodes without causes go up and nodes without effects go down
        members = sorted(np.flatnonzero(layer == current), key=lambda i: (dag[:, i].any(), not dag[i].any(), i))
        parts = np.array_split(np.array(members), -(-len(members) // most))
        for offset, part in enumerate(parts):
            result[part] = start + offset
        start += len(parts)
    return result


class _Items:
    """Nodes and the pieces of lanes between them, as a graph whose edges lead from one layer to the next."""

    def __init__(self, dag: np.ndarray, layer: np.ndarray, widths: np.ndarray) -> None:
        self.count = len(dag)
        layers, links = list(map(int, layer)), []
        self.ways: dict[tuple[int, int], list[int]] = {}
        passing = np.zeros(max(layers) + 1, dtype=int)
        for i, j in np.argwhere(dag):
            passing[layers[i] + 1 : layers[j]] += 1
        self.shared = passing.max() > _MOST_LANES
        for cause in range(self.count):
            lane = [cause]  # a shared lane is left one layer above the effect
            for effect in sorted(map(int, np.flatnonzero(dag[cause])), key=lambda j: layers[j]):
                lane = lane if self.shared else [cause]
                while layers[lane[-1]] < layers[effect] - 1:
                    links.append((lane[-1], len(layers)))
                    layers.append(layers[lane[-1]] + 1)
                    lane.append(len(layers) - 1)
                used = lane[: layers[effect] - layers[cause]]
                links.append((used[-1], effect))
                self.ways[cause, effect] = [*used, effect]
        self.layer = np.array(layers)
        self.links = np.array(links, dtype=int).reshape(-1, 2)
        self.widths = np.concatenate([widths, np.full(len(layers) - self.count, 2.0)])
        self.up: list[list[int]] = [[] for _ in layers]
        self.down: list[list[int]] = [[] for _ in layers]
        for a, b in links:
            self.down[a].append(b)
            self.up[b].append(a)
        for node in range(self.count):  # room for many arrowheads side by side
            ports = max(len(self.down[node]), len(self.up[node]))
            self.widths[node] = max(self.widths[node], min(_WIDEST, _PORT * ports + 12))

    def stiffness(self, a: int, b: int) -> float:
        """How strongly the piece from a to b resists leaning."""
        return _STIFF[(a >= self.count) + (b >= self.count)]

    def room(self, a: int, b: int) -> float:
        """Smallest distance between the centres of two neighbours in a layer."""
        lanes = (a >= self.count) + (b >= self.count)
        return (self.widths[a] + self.widths[b]) / 2 + (_APART, 0.75 * _APART, _LANE)[lanes]

    def routes(self, x: np.ndarray, y: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """Points of every edge, from a place of its own at the bottom of its cause to one at the top of its effect."""
        half = NODE_HEIGHT / 2
        leave = {node: _ports(x, self.widths, node, self.down[node]) for node in range(self.count)}
        enter = {node: _ports(x, self.widths, node, self.up[node]) for node in range(self.count)}
        routes = {}
        for (cause, effect), way in self.ways.items():
            first = (leave[cause][way[1]], y[self.layer[cause]] + half)
            last = (enter[effect][way[-2]], y[self.layer[effect]] - half)
            routes[cause, effect] = np.array([first, *((x[i], y[self.layer[i]]) for i in way[1:-1]), last])
        return routes


def _ports(x: np.ndarray, widths: np.ndarray, node: int, others: list[int]) -> dict[int, float]:
    """Where the edges to ``others`` meet the box of ``node``: side by side, from left to right as the others are."""
    ordered = sorted(others, key=lambda i: x[i])
    step = min(12.0, (widths[node] - 16) / max(1, len(ordered) - 1))
    return {other: float(x[node] + (k - (len(ordered) - 1) / 2) * step) for k, other in enumerate(ordered)}


def _reduce_crossings(items: _Items) -> list[list[int]]:
    """Items of each layer from left to right: of several sweeps by barycentres, the order with the fewest crossings."""
    rows: list[list[int]] = [[] for _ in range(int(items.layer.max()) + 1)]
    seen = set()
    for start in range(items.count):  # depth-first search keeps related nodes next to each other
        stack = [start]
        while stack:
            item = stack.pop()
            if item not in seen and all(above in seen for above in items.up[item]):
                seen.add(item)
                rows[items.layer[item]].append(item)
                stack += items.down[item][::-1]
    best, fewest = [list(row) for row in rows], np.inf
    place = np.zeros(len(items.layer))
    for row in rows:
        _number(place, row)
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else rows[::-1]:
            near = items.up if downwards else items.down
            centre = {i: float(np.mean(place[near[i]])) if near[i] else float(place[i]) for i in row}
            row[:] = _sorted_row(row, centre, items.count)
            _number(place, row)
        crossings = _crossings(items, place)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sorted_row(row: list[int], centre: Mapping[int, float], count: int) -> list[int]:
    """Items by barycentre; among equal ones lanes go to the middle, otherwise every layer would lean to one side."""
    result: list[int] = []
    for _, group in itertools.groupby(sorted(row, key=lambda i: centre[i]), key=lambda i: centre[i]):
        tied = list(group)
        nodes, lanes = [i for i in tied if i < count], [i for i in tied if i >= count]
        result += [*nodes[: len(nodes) // 2], *lanes, *nodes[len(nodes) // 2 :]]
    return result


def _number(place: np.ndarray, row: list[int]) -> None:
    """Number the items of one layer from left to right, centred on 0 so that short and long layers are comparable."""
    place[row] = np.arange(len(row)) - (len(row) - 1) / 2


def _crossings(items: _Items, place: np.ndarray) -> int:
    """Number of crossings between pieces of neighbouring layers."""
    count = 0
    start = items.layer[items.links[:, 0]] if len(items.links) else np.zeros(0)
    for layer in np.unique(start):
        upper, lower = place[items.links[start == layer]].T
        count += int(((upper[:, None] < upper) & (lower[:, None] > lower)).sum())
    return count


def _places(items: _Items, rows: list[list[int]]) -> np.ndarray:
    """x of every item: least squares of how far pieces of edges lean, given order and distances in each layer."""
    x = np.zeros(len(items.layer))
    rooms = [np.cumsum([0.0, *(items.room(a, b) for a, b in itertools.pairwise(row))]) for row in rows]
    for row, room in zip(rows, rooms):
        x[row] = room - room[-1] / 2
    near = [np.array(items.up[i] + items.down[i], dtype=int) for i in range(len(x))]
    weights = [np.array([items.stiffness(i, int(j)) for j in near[i]]) for i in range(len(x))]
    total = np.array([weight.sum() if len(weight) else 0.1 for weight in weights])
    for pull in range(_PULLS):
        for k in range(len(rows)) if pull % 2 == 0 else range(len(rows))[::-1]:
            row, room = rows[k], rooms[k]
            wish = np.array([weights[i] @ x[near[i]] / total[i] if len(near[i]) else x[i] for i in row])
            x[row] = isotonic_regression(wish - room, sample_weight=total[row]) + room
    return x


def _heights(items: _Items, rows: list[list[int]], x: np.ndarray) -> np.ndarray:
    """y of every layer; there is more room between two layers where edges run far sideways."""
    across = np.zeros(len(rows))
    for a, b in items.links:
        across[items.layer[b]] = max(across[items.layer[b]], abs(x[a] - x[b]))
    gaps = NODE_HEIGHT + GAP + np.minimum(_MORE_GAP, across / 10)
    gaps[0] = NODE_HEIGHT / 2
    return np.cumsum(gaps)


def _detour(
    positions: np.ndarray,
    widths: np.ndarray,
    rows: list[list[int]],
    layer: np.ndarray,
    y: np.ndarray,
    a: int,
    b: int,
) -> np.ndarray:
    """Route between two nodes for which the layout reserved no lane: straight, but around boxes."""
    half = NODE_HEIGHT / 2
    (xa, ya), (xb, yb) = positions[a], positions[b]
    if layer[a] == layer[b]:
        return np.array([(xa, ya + half), (xb, yb + half)])
    points = [(xa, ya + half)]
    for between in range(layer[a] + 1, layer[b]):
        straight = xa + (xb - xa) * (y[between] - ya) / (yb - ya)
        taken = [(positions[i, 0] - widths[i] / 2 - 8, positions[i, 0] + widths[i] / 2 + 8) for i in rows[between]]
        free = [straight, *(end for box in taken for end in box)]
        points.append((min(free, key=lambda at: _cost(at, straight, taken)), y[between]))
    return np.array([*points, (xb, yb - half)])


def _cost(at: float, straight: float, taken: list[tuple[float, float]]) -> tuple[bool, float]:
    """Staying out of boxes comes first, staying close to the straight line second."""
    return any(left < at < right for left, right in taken), abs(at - straight)


def _text_width(label: str) -> float:
    """Width of the box around ``label``; wide characters count twice."""
    cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in label)
    return max(40.0, cells * _CHARACTER + _PADDING)
