"""Draw posterior.png, what the conditional learner says of one small table: python docs/img/posterior.py.

Five variables, 300 rows, columns standardised. The truth is in :data:`TRUTH`; x1 -> x2 is linear with Gaussian noise
and neither has another cause, so no data can tell its direction; x4 -> x5 is weak.
The table was made for the picture and proves nothing.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from dagtune import ConditionalTuning, Result

NAMES = ["x1", "x2", "x3", "x4", "x5"]
TRUTH = [("x1", "x2"), ("x2", "x4"), ("x3", "x4"), ("x4", "x5")]
#: Where the variables stand in the drawing.
PLACES = {"x1": (0.0, 1.0), "x2": (0.0, 0.0), "x3": (0.85, 0.5), "x4": (0.5, -0.75), "x5": (1.2, -0.75)}
SURE, UNDECIDED, FAINT = "#0072b2", "#d55e00", "#999999"
#: Probabilities below this are not drawn as arrows.
LEAST = 0.03


def table(rows: int = 300, seed: int = 1) -> pd.DataFrame:
    """x2 = x1 + e; x4 = tanh(2 x2) + x3^2 / 2 + e; x5 = x4 / 4 + e."""
    e = np.random.default_rng(seed).normal(size=(rows, 5))
    x1, x3 = e[:, 0], e[:, 2]
    x2 = x1 + e[:, 1]
    x4 = np.tanh(2 * x2) + 0.5 * x3**2 + 0.5 * e[:, 3]
    x5 = 0.25 * x4 + e[:, 4]
    X = np.column_stack([x1, x2, x3, x4, x5])
    return pd.DataFrame((X - X.mean(axis=0)) / X.std(axis=0), columns=NAMES)


def draw_graph(axes: Axes, result: Result) -> None:
    """Arrows as wide as edges are probable; both directions of an undecided pair in one colour."""
    open_pairs = [set(pair) for pair in result.undecided]
    for i, cause in enumerate(NAMES):
        for j, effect in enumerate(NAMES):
            p = float(result.probability[i, j])
            if p < LEAST:
                continue
            is_open = {cause, effect} in open_pairs
            colour = UNDECIDED if is_open else SURE if p > 0.5 else FAINT
            arrow = FancyArrowPatch(
                PLACES[cause],
                PLACES[effect],
                connectionstyle="arc3,rad=0.22" if float(result.probability[j, i]) >= LEAST else "arc3,rad=0",
                arrowstyle="-|>",
                mutation_scale=9 + 9 * p,
                linewidth=0.4 + 4 * p,
                color=colour,
                shrinkA=15,
                shrinkB=15,
                zorder=1,
            )
            axes.add_patch(arrow)
    for name, (x, y) in PLACES.items():
        axes.scatter(x, y, s=620, color="white", edgecolor="black", zorder=2)
        axes.text(x, y, name, ha="center", va="center", zorder=3)
    axes.set(xlim=(-0.35, 1.45), ylim=(-1.05, 1.25), title="arrows as wide as edges are probable")
    axes.set_aspect("equal")
    axes.axis("off")


def draw_matrix(axes: Axes, result: Result) -> None:
    """P(row -> column); a frame around the edges of the truth."""
    shown = np.ma.masked_array(result.probability, mask=np.eye(5, dtype=bool))
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=1)
    open_pairs = [set(pair) for pair in result.undecided]
    for i, cause in enumerate(NAMES):
        for j, effect in enumerate(NAMES):
            if i == j:
                continue
            p = float(result.probability[i, j])
            axes.text(
                j,
                i,
                f"{p:.2f}",
                ha="center",
                va="center",
                color="white" if p > 0.6 else "black",
                weight="bold" if {cause, effect} in open_pairs else "normal",
            )
            if (cause, effect) in TRUTH:
                axes.add_patch(plt.Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, fill=False, linewidth=1.8))
            if {cause, effect} in open_pairs:
                box = plt.Rectangle((j - 0.38, i - 0.38), 0.76, 0.76, fill=False, color=UNDECIDED, linewidth=1.8)
                axes.add_patch(box)
    axes.set(xticks=range(5), xticklabels=NAMES, yticks=range(5), yticklabels=NAMES)
    axes.set_title("P(row causes column)", pad=10)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlabel("black: edges of the truth; orange: undecided direction", fontsize=9)
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> None:
    result = ConditionalTuning(random_state=0).fit(table()).result_
    print(result)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.0), layout="constrained")
    draw_graph(left, result)
    draw_matrix(right, result)
    figure.savefig(Path(__file__).parent / "posterior.png", dpi=100)


if __name__ == "__main__":
    main()
