"""Pictures of graphs and dependence tables: matplotlib drawings on the layered layout."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dagtune import graph
from dagtune.layout import GAP, NODE_HEIGHT, Layout, lay_out
from dagtune.text import printable, short_label

__all__ = ["draw_dependence", "draw_graph", "draw_phases", "svg_graph"]

#: Line of an edge that was removed, kept, whose direction was decided or is open, or that is new: colour, dashes, width
#: factor.
_STYLES = {
    "went": ("#b3261e", (0, (4, 3)), 1.2),
    "kept": ("#3b4a5a", "-", 1.0),
    "decided": ("#1f5fbf", (0, (8, 2, 1.5, 2)), 1.5),
    "came": ("#00796b", "-", 2.2),
    "undecided": ("#8a5300", (0, (5, 2.5)), 1.0),
}
#: Text in the middle of its point.
_CENTRED = 'text-anchor="middle" dominant-baseline="central"'


def draw_graph(
    matrix: Any,
    names: Sequence[str],
    *,
    strength: np.ndarray | None = None,
    undecided: Sequence[tuple[int, int]] = (),
    ax: Any = None,
    title: str = "",
) -> Any:
    """Draw a graph in layers, causes above effects.

    A pair whose direction is undecided is a line without a head, with a question mark.

    Parameters
    ----------
    matrix : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : sequence of str
        Text of the boxes.
    strength : ndarray, shape (d, d), optional
        Larger values get wider lines.
    undecided : sequence of (int, int)
        Positions of pairs that are joined, with an open direction.
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
    open_pairs = _placed(matrix, undecided)
    layout = lay_out(matrix, labels, also=matrix | open_pairs)
    if ax is None:
        ax = _new_axes([layout.size])[0]
    widths = np.ones(matrix.shape) if strength is None else _line_widths(matrix, strength)
    _prepare(ax, layout, title)
    _draw_edges(ax, layout, {"kept": matrix & ~open_pairs, "undecided": open_pairs}, widths)
    _draw_nodes(ax, layout, labels)
    return ax


def svg_graph(
    matrix: Any, names: Sequence[str], *, undecided: Sequence[tuple[int, int]] = (), width: float = 720.0
) -> str:
    """A graph in layers as SVG text for a notebook, as :func:`draw_graph` draws it; needs no matplotlib.

    Parameters
    ----------
    matrix : array-like, DataFrame or networkx.DiGraph
        ``A[i, j]`` means ``i -> j``.
    names : sequence of str
        Text of the boxes; escaped, so that it can't become markup.
    undecided : sequence of (int, int)
        Positions of pairs that are joined, with an open direction.
    width : float
        Most pixels across; a wider graph is scaled down.

    Returns
    -------
    str

    Examples
    --------
    >>> svg_graph([[0, 1], [0, 0]], ["rain", "<wet>"]).count("&lt;wet&gt;")
    2
    """
    matrix = graph.as_matrix(matrix)
    labels = [short_label(name) for name in names]
    open_pairs = _placed(matrix, undecided)
    layout = lay_out(matrix, labels, also=matrix | open_pairs)
    wide, high = (side + 24 for side in layout.size)
    scale = min(1.0, width / wide)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="-12 -12 {wide:.0f} {high:.0f}" '
        f'width="{wide * scale:.0f}" height="{high * scale:.0f}" font-family="sans-serif" font-size="13">'
    ]
    for style, group in (("kept", matrix & ~open_pairs), ("undecided", open_pairs)):
        colour = _STYLES[style][0]
        for i, j in np.argwhere(group).tolist():
            points = layout.routes[i, j] if (i, j) in layout.routes else layout.routes[j, i]
            ends = _curves(points)
            told = f"M{points[0][0]:.0f} {points[0][1]:.0f}" + "".join(
                ("C" if len(piece) == 3 else "L") + " ".join(f"{x:.0f} {y:.0f}" for x, y in piece) for piece in ends
            )
            dashes = ' stroke-dasharray="5 3"' if style == "undecided" else ""
            parts.append(f'<path d="{told}" fill="none" stroke="{colour}" stroke-width="1.4"{dashes}/>')
            if style == "undecided":
                (x, y), around = np.mean([points[0], points[-1]], axis=0), f'fill="#fff" stroke="{colour}"'
                parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="9" {around}/>')
                parts.append(f'<text x="{x:.0f}" y="{y:.0f}" {_CENTRED} fill="{colour}">?</text>')
                continue
            tip, before = np.array(ends[-1][-1]), np.array(ends[-1][-2] if len(ends[-1]) > 1 else points[-2])
            if (i, j) not in layout.routes:
                tip, before = np.array(points[0]), np.array(ends[0][0])
            corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in _head(tip, before, 8.0))
            parts.append(f'<polygon points="{corners}" fill="{colour}"/>')
    for (x, y), box, label, name in zip(layout.positions, layout.widths, labels, names):
        left, top, whole = x - box / 2, y - NODE_HEIGHT / 2, html.escape(printable(name))
        parts.append(
            f'<g><title>{whole}</title><rect x="{left:.0f}" y="{top:.0f}" '
            f'width="{box:.0f}" height="{NODE_HEIGHT}" rx="6" fill="#eef3f8" stroke="#2b3a4a"/>'
            f'<text x="{x:.0f}" y="{y:.0f}" {_CENTRED} fill="#111">{html.escape(label)}</text></g>'
        )
    return "".join([*parts, "</svg>"])


def _placed(matrix: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """(d, d) bool: each pair in the direction that the graph has, or as it is given."""
    found = np.zeros(matrix.shape, dtype=bool)
    for i, j in pairs:
        found[(j, i) if matrix[j, i] else (i, j)] = True
    return found


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
            if style == "undecided":
                _draw_question(ax, path, colour)
                continue
            ends = path.vertices[[-1, -2]], path.vertices[[0, 1]]
            for tip, before in ends[: 1 + bool(matrix[j, i])]:
                ax.add_patch(Polygon(_head(tip, before, 6 + 1.5 * width), color=colour, linewidth=0, zorder=2))


def _draw_question(ax: Any, path: Any, colour: str) -> None:
    """Draw a question mark half-way along a path."""
    from matplotlib.patches import Circle

    points = path.to_polygons(closed_only=False)[0]  # the curves as short straight lines
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    x, y = (np.interp(along[-1] / 2, along, points[:, k]) for k in (0, 1))
    ax.add_patch(Circle((x, y), 9, facecolor="white", edgecolor=colour, linewidth=0.8, zorder=2))
    size = 11 * _points_per_pixel(ax)
    ax.text(x, y, "?", ha="center", va="center", fontsize=size, color=colour, weight="bold", zorder=2.5)


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
