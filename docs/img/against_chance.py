"""Draw conditional.png from the stored reproduction: python docs/img/against_chance.py."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from dagtune.experiments import latest, read_results

HERE = Path(__file__).parent
METHODS = {
    "ot": ("OT", "o", ":"),
    "variance-sorted": ("variance-sorted", "^", "-."),
    "conditional": ("conditional, default graph", "s", "-"),
    "order": ("conditional, complete DAG of its order", "D", "--"),
}


def main() -> None:
    """Mean SID over the printed models as a share of a random complete DAG's, against the number of variables."""
    found: dict[tuple[str, bool, int], list[float]] = defaultdict(list)
    for record in latest(read_results(HERE.parents[1] / "reproduction")).values():
        cell = record["cell"]
        if cell["experiment"] not in ("fig5", "table-mlp2") or cell["recipe"] != "printed" or record["status"] != "ok":
            continue
        key = (cell["standardized"], cell["nodes"])
        found[cell["method"], *key].append(record["metrics"]["sid"])
        if "order" in record.get("readings", {}):
            found["order", *key].append(record["readings"]["order"]["sid"])
    sizes = sorted({nodes for _, _, nodes in found})
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for axes, standardized in zip(panels, (False, True)):
        for method, (label, marker, dashes) in METHODS.items():
            shares = [
                np.mean(found[method, standardized, d]) / np.mean(found["random-complete", standardized, d])
                if found[method, standardized, d]
                else np.nan
                for d in sizes
            ]
            axes.plot(sizes, shares, dashes, marker=marker, label=label)
        axes.axhline(1, color="grey", linewidth=0.8)
        axes.set(xlabel="variables", xticks=sizes, title="standardised" if standardized else "raw", ylim=(0, 1.25))
    panels[0].set_ylabel("SID / SID of a random complete DAG")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.savefig(HERE / "conditional.png", dpi=90)


if __name__ == "__main__":
    main()
