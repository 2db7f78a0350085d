"""Where the nodes and edges of a drawing go: a layered layout of our own (no graphviz).

The layout is Sugiyama's: layers by longest path, order in the layers by barycentres, places by least squares. A long
edge runs through the layers between on a lane of its own, so no edge crosses a node; in a dense graph all long edges of
one cause share a lane as far as they go together, which saves most of the ink. Lengths are in pixels, y points down.
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
#: Width of a character, room left and right of it in its box, room between boxes and between lanes.
_CHARACTER, _PADDING, _APART, _LANE = 7.6, 24.0, 22.0, 11.0
#: Room between layers, and how much of it a long way across may add.
GAP, _MORE_GAP = 32.0, 54.0
_SWEEPS, _PULLS = 16, 40
#: Room for an edge's head on a box, and how wide many of them may make it.
_PORT, _WIDEST = 9.0, 200.0
#: With more long edges than this through one layer, those of one cause share their lanes.
_MOST_LANES = 40
#: How hard pieces of edges resist bending: node to node, node to lane, lane to lane.
_STIFF = (1.0, 2.0, 8.0)


class Layout(NamedTuple):
    """Where things go: node centres (d, 2), box widths (d,), routes from the upper to the lower node, the whole size.

    A route holds the points that an edge passes: it leaves the first downwards, enters the last from above and runs
    straight down through the layer of every point between. Two nodes of one layer have a route of their two feet.
    """

    positions: np.ndarray
    widths: np.ndarray
    routes: dict[tuple[int, int], np.ndarray]
    size: tuple[float, float]


def layered_layout(matrix: Any) -> np.ndarray:
    """(d, 2) node centres of a layered layout, causes above effects; x to the right, y down."""
    return lay_out(matrix).positions


def lay_out(matrix: Any, labels: Sequence[str] | None = None, also: Any = None) -> Layout:
    """Layout of a graph whose boxes hold ``labels``; pairs adjacent in ``also`` get routes but do not shape it.

    A graph with cycles is laid out by those of its edges that lead from nodes with more effects to nodes with fewer.
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
    """The graph itself, or of a cyclic one the edges that follow the order by effects minus causes."""
    if graph.is_dag(matrix):
        return matrix
    order = np.argsort(matrix.sum(axis=0).astype(int) - matrix.sum(axis=1), kind="stable")
    return matrix & graph.complete(order)


def _layers(dag: np.ndarray) -> np.ndarray:
    """A layer for each node, every edge leading to a later one: longest path, tightened, wide layers split."""
    d = len(dag)
    order = graph.topological_order(dag)
    layer = np.zeros(d, dtype=int)
    for node in order:
        layer[node] = max((layer[parent] + 1 for parent in np.flatnonzero(dag[:, node])), default=0)
    for node in order[::-1]:  # where that shortens more edges than it stretches, come down to the nearest effect
        below = np.flatnonzero(dag[node])
        if len(below) > dag[:, node].sum():
            layer[node] = layer[below].min() - 1
    alone = ~(dag.any(axis=0) | dag.any(axis=1))
    layer[alone] = layer.max() + 1  # nodes without edges stand below all others
    most = int(np.ceil(1.1 * np.sqrt(d))) + 2
    result = np.zeros(d, dtype=int)
    start = 0
    for level in np.unique(layer):
        # of a layer that is split, nodes that nothing causes go up, nodes that cause nothing go down
        members = sorted(np.flatnonzero(layer == level), key=lambda i: (dag[:, i].any(), not dag[i].any(), i))
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
            lane = [cause]  # where it is shared, each effect leaves it one layer above its own
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
        for node in range(self.count):  # room for the heads of many edges side by side
            ports = max(len(self.down[node]), len(self.up[node]))
            self.widths[node] = max(self.widths[node], min(_WIDEST, _PORT * ports + 12))

    def stiffness(self, a: int, b: int) -> float:
        """How hard the piece from a to b resists bending."""
        return _STIFF[(a >= self.count) + (b >= self.count)]

    def room(self, a: int, b: int) -> float:
        """Least distance of the centres of two neighbours in a layer."""
        lanes = (a >= self.count) + (b >= self.count)
        return (self.widths[a] + self.widths[b]) / 2 + (_APART, 0.75 * _APART, _LANE)[lanes]

    def routes(self, x: np.ndarray, y: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """Points of every edge, from a place of its own on the lower side of its cause to one on its effect's top."""
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
    """Where the edge to each of ``others`` meets the box of ``node``: side by side, in the order of the others."""
    ordered = sorted(others, key=lambda i: x[i])
    step = min(12.0, (widths[node] - 16) / max(1, len(ordered) - 1))
    return {other: float(x[node] + (k - (len(ordered) - 1) / 2) * step) for k, other in enumerate(ordered)}


def _reduce_crossings(items: _Items) -> list[list[int]]:
    """Items of each layer, left to right: of several sweeps by barycentres, the order with the fewest crossings."""
    rows: list[list[int]] = [[] for _ in range(int(items.layer.max()) + 1)]
    seen = set()
    for start in range(items.count):  # depth first keeps what belongs together side by side
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
    """Items by their barycentre; among equals lanes go in the middle, or every layer would lean to one side."""
    result: list[int] = []
    for _, group in itertools.groupby(sorted(row, key=lambda i: centre[i]), key=lambda i: centre[i]):
        tied = list(group)
        nodes, lanes = [i for i in tied if i < count], [i for i in tied if i >= count]
        result += [*nodes[: len(nodes) // 2], *lanes, *nodes[len(nodes) // 2 :]]
    return result


def _number(place: np.ndarray, row: list[int]) -> None:
    """Places of one layer's items, centred on 0 so that short and long layers compare."""
    place[row] = np.arange(len(row)) - (len(row) - 1) / 2


def _crossings(items: _Items, place: np.ndarray) -> int:
    """How many pairs of pieces between two layers cross."""
    count = 0
    levels = items.layer[items.links[:, 0]] if len(items.links) else np.zeros(0)
    for level in np.unique(levels):
        upper, lower = place[items.links[levels == level]].T
        count += int(((upper[:, None] < upper) & (lower[:, None] > lower)).sum())
    return count


def _places(items: _Items, rows: list[list[int]]) -> np.ndarray:
    """x of every item: least squares of how far pieces of edges lean, in the order and with the room of the rows."""
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
    """y of every layer; where edges go far across, the room between two layers is larger."""
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
    """A route between two nodes that the layout did not reserve: the straight way, stepping aside for boxes."""
    half = NODE_HEIGHT / 2
    (xa, ya), (xb, yb) = positions[a], positions[b]
    if layer[a] == layer[b]:
        return np.array([(xa, ya + half), (xb, yb + half)])
    points = [(xa, ya + half)]
    for level in range(layer[a] + 1, layer[b]):
        straight = xa + (xb - xa) * (y[level] - ya) / (yb - ya)
        taken = [(positions[i, 0] - widths[i] / 2 - 8, positions[i, 0] + widths[i] / 2 + 8) for i in rows[level]]
        free = [straight, *(end for box in taken for end in box)]
        points.append((min(free, key=lambda at: _cost(at, straight, taken)), y[level]))
    return np.array([*points, (xb, yb - half)])


def _cost(at: float, straight: float, taken: list[tuple[float, float]]) -> tuple[bool, float]:
    """First stay out of boxes, then stay near the straight way."""
    return any(left < at < right for left, right in taken), abs(at - straight)


def _text_width(label: str) -> float:
    """Width of the box that holds ``label``; wide characters count twice."""
    cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in label)
    return max(40.0, cells * _CHARACTER + _PADDING)
