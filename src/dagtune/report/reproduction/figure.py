"""Fig. 5 in the paper's layout: SID above, AuPR below, one panel for each model, against the number of nodes.

Written as SVG by hand: the same bytes from the same results on any machine, and colours that follow the reader's light
or dark page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from dagtune.experiments import EXPERIMENTS, METHODS, Published, published
from dagtune.learners import readings
from dagtune.report.reproduction.numbers import Numbers, Setting, label_of

__all__ = ["draw_fig5"]

_WIDE, _HIGH, _LEFT, _TOP, _GAP = 172, 150, 46, 34, 14
_STYLE = (
    ".f5 text{font:11px system-ui,sans-serif;fill:#1b1f24}.f5 .axis{stroke:#8a929b;fill:none}"
    ".f5 .hole{fill:#ffffff}"
    "@media (prefers-color-scheme:dark){.f5 text{fill:#e6e9ec}.f5 .hole{fill:#14171a}}"
)


def draw_fig5(numbers: Numbers, recipe: str, standardized: bool) -> str:
    """The figure as SVG text; methods without results are left out, and published points are drawn as diamonds."""
    experiment = EXPERIMENTS["fig5"]
    sizes = tuple(experiment.sizes)
    width = _LEFT + len(experiment.models) * (_WIDE + _GAP)
    height = _TOP + 2 * (_HIGH + 40) + 50
    told = [number for number in published() if number.experiment == "fig5"]
    lines = _lines()
    parts = [
        f'<svg class="f5" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'width="{width}" height="{height}">',
        f"<title>SID and AuPR against the number of nodes, {recipe} recipe</title><style>{_STYLE}</style>",
    ]
    for row, (metric, top) in enumerate((("sid", float(max(sizes) * (max(sizes) - 1))), ("aupr", 1.0))):
        y = _TOP + row * (_HIGH + 40)
        parts.append(f'<text x="4" y="{y - 8}">{metric.upper() if metric == "sid" else "AuPR"}</text>')
        for column, model in enumerate(experiment.models):
            x = _LEFT + column * (_WIDE + _GAP)
            panel = _Panel(x, y, sizes, top)
            parts += panel.frame(model if row == 0 else "", ticks=column == 0)
            for line in lines:
                points = _points(numbers, model, sizes, line.row, metric, recipe, standardized)
                parts += panel.line(points, line.colour, line.dashed)
                parts += [
                    panel.mark(number, line.colour)
                    for number in told
                    if (number.model, number.metric, number.method) == (model, metric, line.published)
                ]
    parts += _legend(lines, height - 22)
    return "\n".join([*parts, "</svg>"])


class _Line(NamedTuple):
    """One line of the figure; published points of the name ``published`` share its colour."""

    row: str
    colour: str
    dashed: bool
    published: str | None


def _lines() -> list[_Line]:
    """The methods that have a colour: the paper's, then ours with the other graphs of their fits, then chance."""
    drawn = sorted((method for method in METHODS.values() if method.colour), key=lambda method: not method.stands_for)
    others = readings()
    lines = []
    for method in drawn:
        lines.append(_Line(method.name, method.colour, method.chance, method.stands_for))
        lines += [_Line(row, of.colour, True, None) for row, (of, _) in others.items() if of is method]
    return lines


def _points(
    numbers: Numbers, model: str, sizes: Sequence[int], method: str, metric: str, recipe: str, standardized: bool
) -> list[tuple[int, float]]:
    means = [(d, numbers.of(Setting("fig5", model, d, recipe, standardized), method, metric).mean) for d in sizes]
    return [(d, mean) for d, mean in means if not math.isnan(mean)]


class _Panel:
    """One pair of axes: nodes to the right, a measure from 0 to ``top`` upwards."""

    def __init__(self, x: float, y: float, sizes: Sequence[int], top: float) -> None:
        self._x, self._y, self._sizes, self._top = x, y, sizes, top

    def at(self, d: int, value: float) -> tuple[float, float]:
        low, high = min(self._sizes) - 3, max(self._sizes) + 3
        return self._x + _WIDE * (d - low) / (high - low), self._y + _HIGH * (1 - min(value / self._top, 1.0))

    def frame(self, title: str, *, ticks: bool) -> list[str]:
        parts = [
            f'<rect class="axis" x="{self._x}" y="{self._y}" width="{_WIDE}" height="{_HIGH}"/>',
            f'<text x="{self._x + _WIDE / 2}" y="{self._y - 8}" text-anchor="middle">{html.escape(title)}</text>',
        ]
        for d in self._sizes:
            x, y = self.at(d, 0.0)
            parts.append(f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle">{d}</text>')
        for share in (0.0, 0.5, 1.0) if ticks else ():
            x, y = self.at(min(self._sizes), share * self._top)
            parts.append(f'<text x="{self._x - 4}" y="{y + 4:.1f}" text-anchor="end">{share * self._top:g}</text>')
        return parts

    def line(self, points: Sequence[tuple[int, float]], colour: str, dashed: bool) -> list[str]:
        placed = [self.at(d, value) for d, value in points]
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>' for x, y in placed]
        return (
            [f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>', *dots] if way else []
        )

    def mark(self, number: Published, colour: str) -> str:
        x, y = self.at(number.nodes, number.value)
        return f'<path class="hole" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" stroke="{colour}" stroke-width="1.8"/>'


def _legend(lines: Sequence[_Line], y: float) -> list[str]:
    parts, x = [], float(_LEFT)
    for line in lines:
        dash = ' stroke-dasharray="4 3"' if line.dashed else ""
        label = label_of(line.row)
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 20}" y2="{y}" stroke="{line.colour}" stroke-width="2"{dash}/>')
        parts.append(f'<text x="{x + 25}" y="{y + 4}">{html.escape(label)}</text>')
        x += 38 + 6.2 * len(label)
    parts.append(f'<path class="hole" d="M{x + 8} {y - 5}l5 5l-5 5l-5 -5z" stroke="#808890" stroke-width="1.8"/>')
    parts.append(f'<text x="{x + 18}" y="{y + 4}">published</text>')
    return parts
