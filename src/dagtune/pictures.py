"""Pictures of graphs and dependence tables: matplotlib drawings on the layered layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dagtune import graph
from dagtune.layout import GAP, NODE_HEIGHT, Layout, lay_out
from dagtune.text import short_label

__all__ = ["draw_dependence", "draw_graph", "draw_phases"]

#: Line of an edge that was removed, kept, whose direction was decided, or that is new: colour, dashes, width factor.
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
    """Draw a graph in layers, causes above effects.

    Parameters
    ----------
    matrix : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : sequence of str
        Text of the boxes.
    strength : ndarray, shape (d, d), optional
        Larger values get wider lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    title : str
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = draw_graph([[0, 1], [0, 0]], ["rain", "wet"])
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'wet']
    """
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
    """Draw the graph after each phase of a learner, all in the layout of the last one.

    New edges are bold, removed ones dashed. Where one of two directions was removed, the other is dash-dotted.

    Parameters
    ----------
    graphs : mapping of str to array-like
        Phases and their graphs, in order.
    names : sequence of str
        Text of the boxes.
    axes : array of matplotlib.axes.Axes, optional
        One for each phase. Default: a new figure.

    Returns
    -------
    ndarray of matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> axes = draw_phases({"start": [[0, 1], [1, 0]], "end": [[0, 1], [0, 0]]}, ["rain", "wet"])
    >>> axes[1].get_title()
    'end: 1 edges (+0, −1)'
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
    """Draw a table of dependence as a heat map; small tables show their numbers.

    The diagonal, each variable with itself, is left blank because it would dominate the colour scale.

    Parameters
    ----------
    values : ndarray, shape (d, d)
        Dependence of each pair.
    names : sequence of str
        Labels of rows and columns.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.
    title : str
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = draw_dependence([[1.0, 0.2], [0.2, 1.0]], ["rain", "wet"])
    >>> ax.get_title()
    'HSIC'
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
    """Axes side by side in a new figure, large enough for text of about 9 points, but no larger than a screen."""
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
    """Widths (d, d) from 0.6 for the weakest edge to 2.6 for the strongest; 1 if all strengths are equal."""
    known = strength[matrix & np.isfinite(strength)]
    if not len(known) or known.min() == known.max():
        return np.ones(matrix.shape)
    share = (np.where(np.isfinite(strength), strength, known.min()) - known.min()) / (known.max() - known.min())
    return 0.6 + 2.0 * np.clip(share, 0.0, 1.0)


def _prepare(ax: Any, layout: Layout, title: str) -> None:
    """Axes in the pixels of the layout, y down, without ticks and frame."""
    width, height = layout.size
    ax.set_xlim(-12, width + 12)
    ax.set_ylim(height + 12, -12)
    ax.set_aspect("equal")
    ax.set_axis_off()
    if title:
        ax.set_title(title, parse_math=False)


def _points_per_pixel(ax: Any) -> float:
    """Size of one layout pixel on paper, in points."""
    box = ax.get_window_extent()
    across, down = (abs(np.subtract(*limits)) for limits in (ax.get_xlim(), ax.get_ylim()))
    return float(min(box.width / across, box.height / down) * 72 / ax.figure.dpi)


def _draw_edges(ax: Any, layout: Layout, groups: Mapping[str, np.ndarray], widths: np.ndarray) -> None:
    """Draw each group of edges in its style; both directions of one pair are one line with two arrowheads."""
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
    """Corners of an arrowhead that ends at ``tip`` and comes from ``before``."""
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
    """Pieces of a route: a curve with vertical ends between layers, a straight line through a layer."""
    half = NODE_HEIGHT / 2
    pieces: list[list[tuple[float, float]]] = []
    (x0, y0), *rest = points
    for k, (x1, y1) in enumerate(rest):
        last = k == len(rest) - 1
        top = y1 if last else y1 - half
        middle = y0 + 0.8 * GAP if top <= y0 else (y0 + top) / 2
        pieces.append([(x0, middle), (x1, middle), (x1, top)])
        if not last:
            pieces.append([(x1, y1 + half)])
        x0, y0 = x1, y1 + half
    return pieces


def _draw_nodes(ax: Any, layout: Layout, labels: Sequence[str]) -> None:
    """Draw a rounded box with its label for each node."""
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
