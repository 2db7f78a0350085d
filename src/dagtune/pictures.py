"""Pictures of graphs and tables: a layered layout of our own (no graphviz), and matplotlib drawings over it.

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

from dagtune import graph

__all__ = [
    "NODE_HEIGHT",
    "Layout",
    "draw_dependence",
    "draw_graph",
    "draw_phases",
    "lay_out",
    "layered_layout",
    "printable",
    "short_label",
    "shown",
]

#: Height of a node's box.
NODE_HEIGHT = 28.0
#: Width of a character, room left and right of it in its box, room between boxes and between lanes.
_CHARACTER, _PADDING, _APART, _LANE = 7.6, 24.0, 22.0, 11.0
#: Room between layers, and how much of it a long way across may add.
_GAP, _MORE_GAP = 32.0, 54.0
_SWEEPS, _PULLS = 16, 40
#: Room for an edge's head on a box, and how wide many of them may make it.
_PORT, _WIDEST = 9.0, 200.0
#: With more long edges than this through one layer, those of one cause share their lanes.
_MOST_LANES = 40
#: How hard pieces of edges resist bending: node to node, node to lane, lane to lane.
_STIFF = (1.0, 2.0, 8.0)
_LONGEST_LABEL = 18
#: Letters and signs that Unicode calls printable and nobody sees.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"


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


# ------------------------------------------------------------------------------------------------------------ layout


def _acyclic(matrix: np.ndarray) -> np.ndarray:
    """The graph itself, or of a cyclic one the edges that follow the order by effects minus causes."""
    if graph.is_dag(matrix):
        return matrix
    rank = np.argsort(np.argsort(matrix.sum(axis=0).astype(int) - matrix.sum(axis=1), kind="stable"))
    return matrix & (rank[:, None] < rank)


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
            x[row] = _isotonic(wish - room, total[row]) + room
    return x


def _isotonic(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Nearest ascending values in weighted least squares, by pooling neighbours that violate the order."""
    pools: list[list[float]] = []  # mean, weight, count
    for value, weight in zip(values, weights):
        pools.append([float(value), float(weight), 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, more, count = pools.pop()
            last = pools[-1]
            last[0] = (last[0] * last[1] + mean * more) / (last[1] + more)
            last[1] += more
            last[2] += count
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])


def _heights(items: _Items, rows: list[list[int]], x: np.ndarray) -> np.ndarray:
    """y of every layer; where edges go far across, the room between two layers is larger."""
    across = np.zeros(len(rows))
    for a, b in items.links:
        across[items.layer[b]] = max(across[items.layer[b]], abs(x[a] - x[b]))
    gaps = NODE_HEIGHT + _GAP + np.minimum(_MORE_GAP, across / 10)
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


# ------------------------------------------------------------------------------------------------------------ labels


def printable(text: Any) -> str:
    r"""``text`` for a terminal, a picture or XML: control characters and the like become visible, as in ``\x1b``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in str(text))


def shown(name: Any) -> str:
    """``name`` for people: control characters visible, one that looks empty in quotes."""
    text = printable(name)
    return text if any(not c.isspace() and c not in _BLANK for c in text) else f'"{text}"'


def short_label(name: Any, longest: int = _LONGEST_LABEL) -> str:
    """``name`` for a box: as :func:`shown`, a long one without its middle."""
    text = shown(name)
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{text[-tail:]}"


def _text_width(label: str) -> float:
    """Width of the box that holds ``label``; wide characters count twice."""
    cells = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in label)
    return max(40.0, cells * _CHARACTER + _PADDING)


# ---------------------------------------------------------------------------------------------------------- drawings

#: Line of an edge that stays, whose direction was decided, that came or that went: colour, dashes, factor of its width.
_STYLES = {
    "went": ("#b3261e", (0, (4, 3)), 1.2),
    "kept": ("#3b4a5a", "-", 1.0),
    "decided": ("#1f5fbf", (0, (8, 2, 1.5, 2)), 1.5),
    "came": ("#00796b", "-", 2.2),
}


def draw_graph(
    matrix: Any,
    names: Sequence[str],
    *,
    strength: np.ndarray | None = None,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw a graph in layers, causes above effects, wider lines for larger ``strength``; returns the axes."""
    matrix = graph.as_matrix(matrix)
    labels = [short_label(name) for name in names]
    layout = lay_out(matrix, labels)
    if ax is None:
        ax = _new_axes([layout.size])[0]
    widths = np.ones(matrix.shape) if strength is None else _line_widths(matrix, strength)
    _prepare(ax, layout, title)
    _draw_edges(ax, layout, {"kept": matrix}, widths)
    _draw_nodes(ax, layout, labels)
    return ax


def draw_phases(graphs: Mapping[str, Any], names: Sequence[str], *, axes: Any = None) -> np.ndarray:
    """Draw one panel a phase, all in the layout of the last; returns the axes.

    Edges that came are bold, those that went dashed; where one of two directions went, the other is dash-dotted.
    """
    matrices = [graph.as_matrix(each) for each in graphs.values()]
    labels = [short_label(name) for name in names]
    layout = lay_out(matrices[-1], labels, also=np.any(matrices, axis=0))
    if axes is None:
        axes = _new_axes([layout.size] * len(matrices))
    axes = np.ravel(axes)
    for k, (ax, phase, matrix) in enumerate(zip(axes, graphs, matrices, strict=True)):
        before = matrices[max(k - 1, 0)]
        came, went = matrix & ~before, before & ~matrix
        change = f" (+{int(came.sum())}, \N{MINUS SIGN}{int(went.sum())})" if k else ""
        decided = matrix & before & went.T
        groups = {"went": went & ~matrix.T, "kept": matrix & before & ~decided, "decided": decided, "came": came}
        _prepare(ax, layout, f"{phase}: {int(matrix.sum())} edges{change}")
        _draw_edges(ax, layout, groups, np.ones(matrix.shape))
        _draw_nodes(ax, layout, labels)
    return axes


def draw_dependence(values: np.ndarray, names: Sequence[str], *, ax: Any = None, title: str = "HSIC") -> Any:
    """Draw a (d, d) table of dependence as a heat map with names; small tables show their numbers. Returns the axes.

    The diagonal, every variable with itself, is left blank: it would hide all else.
    """
    import matplotlib.pyplot as plt

    values = np.array(values, dtype=np.float64)
    np.fill_diagonal(values, np.nan)
    d = len(values)
    if ax is None:
        side = min(16.0, 3.0 + 0.32 * d)
        ax = plt.subplots(figsize=(side + 1, side), layout="constrained")[1]
    shown = ax.imshow(values, cmap="cividis")
    ax.figure.colorbar(shown, ax=ax, shrink=0.8)
    labels = [short_label(name) for name in names]
    size = 9 if d <= 40 else 6
    ax.set_xticks(range(d), labels=labels, rotation=90, fontsize=size, parse_math=False)
    ax.set_yticks(range(d), labels=labels, fontsize=size, parse_math=False)
    ax.set_title(title, parse_math=False)
    if d <= 12:
        middle = (np.nanmin(values) + np.nanmax(values)) / 2 if d > 1 else 0.0
        for i, j in np.argwhere(~np.isnan(values)):
            colour = "white" if values[i, j] < middle else "black"
            ax.text(j, i, f"{values[i, j]:.2g}", ha="center", va="center", fontsize=7, color=colour)
    return ax


def _new_axes(sizes: Sequence[tuple[float, float]]) -> np.ndarray:
    """Axes side by side in a new figure, large enough for text of about 9 points, or as large as a screen."""
    import matplotlib.pyplot as plt

    width, height = (max(3.0, side / 80) for side in sizes[0])
    columns = min(len(sizes), max(1, round(np.sqrt(len(sizes) * 1.6 * height / width))))
    rows = -(-len(sizes) // columns)
    shrink = min(1.0, 24 / (columns * width), 24 / (rows * height))
    axes = plt.subplots(
        rows,
        columns,
        figsize=(columns * width * shrink, rows * (height * shrink + 0.4)),
        layout="constrained",
        squeeze=False,
    )[1]
    for spare in axes.ravel()[len(sizes) :]:
        spare.set_axis_off()
    return axes.ravel()[: len(sizes)]


def _line_widths(matrix: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """(d, d) widths from 0.6 for the weakest edge to 2.6 for the strongest; equal strengths get 1."""
    known = strength[matrix & np.isfinite(strength)]
    if not len(known) or known.min() == known.max():
        return np.ones(matrix.shape)
    share = (np.where(np.isfinite(strength), strength, known.min()) - known.min()) / (known.max() - known.min())
    return 0.6 + 2.0 * np.clip(share, 0.0, 1.0)


def _prepare(ax: Any, layout: Layout, title: str) -> None:
    """Axes in the layout's pixels, y down, nothing but the title around."""
    width, height = layout.size
    ax.set_xlim(-12, width + 12)
    ax.set_ylim(height + 12, -12)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title:
        ax.set_title(title, parse_math=False)


def _points_per_pixel(ax: Any) -> float:
    """How large one pixel of the layout is on paper, in points."""
    box = ax.get_window_extent()
    across, down = (abs(np.subtract(*limits)) for limits in (ax.get_xlim(), ax.get_ylim()))
    return float(min(box.width / across, box.height / down) * 72 / ax.figure.dpi)


def _draw_edges(ax: Any, layout: Layout, groups: Mapping[str, np.ndarray], widths: np.ndarray) -> None:
    """Each group of edges in its style; both directions of one pair are one line with two heads."""
    from matplotlib.patches import PathPatch, Polygon

    scale = max(0.35, _points_per_pixel(ax))
    for style, matrix in groups.items():
        colour, dashes, factor = _STYLES[style]
        for i, j in np.argwhere(matrix):
            if matrix[j, i] and i > j:
                continue
            path = _path(layout, int(i), int(j))
            width = factor * widths[i, j]
            line = {"edgecolor": colour, "linewidth": width * scale, "linestyle": dashes, "gid": f"edge-{i}-{j}"}
            ax.add_patch(PathPatch(path, facecolor="none", capstyle="butt", zorder=1, **line))
            ends = path.vertices[[-1, -2]], path.vertices[[0, 1]]
            for tip, before in ends[: 1 + bool(matrix[j, i])]:
                ax.add_patch(Polygon(_head(tip, before, 6 + 1.5 * width), color=colour, linewidth=0, zorder=2))


def _head(tip: np.ndarray, before: np.ndarray, length: float) -> np.ndarray:
    """Corners of an arrow's head that ends at ``tip``, coming from ``before``."""
    back = (before - tip) / max(1e-9, float(np.hypot(*(before - tip)))) * length
    side = 0.42 * back[::-1] * (1, -1)
    return np.array([tip, tip + back + side, tip + back - side])


def _path(layout: Layout, i: int, j: int) -> Any:
    """Matplotlib path from i to j along its route."""
    from matplotlib.path import Path

    points = layout.routes[i, j] if (i, j) in layout.routes else layout.routes[j, i]
    vertices, codes = [points[0]], [Path.MOVETO]
    for piece in _curves(points):
        vertices += piece
        codes += [Path.CURVE4 if len(piece) == 3 else Path.LINETO] * len(piece)
    if (i, j) not in layout.routes:
        return Path(vertices[::-1], codes[:1] + codes[:0:-1])
    return Path(vertices, codes)


def _curves(points: np.ndarray) -> list[list[tuple[float, float]]]:
    """Pieces of a route: between layers a curve that starts and ends upright, through a layer a straight line."""
    half = NODE_HEIGHT / 2
    pieces: list[list[tuple[float, float]]] = []
    (x0, y0), *rest = points
    for k, (x1, y1) in enumerate(rest):
        last = k == len(rest) - 1
        top = y1 if last else y1 - half
        middle = y0 + 0.8 * _GAP if top <= y0 else (y0 + top) / 2
        pieces.append([(x0, middle), (x1, middle), (x1, top)])
        if not last:
            pieces.append([(x1, y1 + half)])
        x0, y0 = x1, y1 + half
    return pieces


def _draw_nodes(ax: Any, layout: Layout, labels: Sequence[str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    scale = _points_per_pixel(ax)
    for (x, y), width, label in zip(layout.positions, layout.widths, labels):
        corner = (x - width / 2 + 4, y - NODE_HEIGHT / 2 + 4)
        ax.add_patch(
            FancyBboxPatch(
                corner,
                width - 8,
                NODE_HEIGHT - 8,
                boxstyle="round,pad=4",
                facecolor="#eef3f8",
                edgecolor="#2b3a4a",
                linewidth=max(0.5, scale),
                zorder=3,
            )
        )
        ax.text(x, y, label, ha="center", va="center", fontsize=12.5 * scale, color="#111", parse_math=False, zorder=4)
