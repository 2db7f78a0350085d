"""The Sachs proteins with and without their experiments: order SID, graph SID and F1, beside CAM and chance.

One table and a graph of people's opinion, so no choice was made on it. Values are log(x + 1). The order's SID is that
of its complete DAG; chance is the mean over 200 random orders, and over graphs with as many edges as the learned one.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning
from dagtune.datasets import load
from dagtune.graph import complete
from dagtune.learners import METHODS
from dagtune.metrics import f1, sid


def main() -> None:
    data = load("sachs")
    X, truth = np.log1p(data.X), data.graph.to_numpy().astype(bool)
    rows = data.conditions.to_numpy()
    fits: dict[str, dict[str, Any]] = {
        "all rows pooled": {},
        "conditions, targets known, data say how": {"experiments": {"rows": rows, "targets": data.targets}},
        "conditions, targets known, taken as set": {
            "experiments": {
                "rows": rows,
                "targets": {name: dict.fromkeys(acted, "set") for name, acted in data.targets.items()},
            }
        },
        "conditions, targets not known": {"experiments": {"rows": rows, "targets": dict.fromkeys(data.targets, "?")}},
        "conditions as groups": {"groups": rows},
    }
    lines: list[list[Any]] = []
    for name, options in fits.items():
        began = time.process_time()
        result = ConditionalTuning(random_state=0, threads=1, **options).fit(X).result_
        order = [result.names.index(each) for each in result.causal_order]
        lines.append([*_line(name, truth, result.matrix, complete(order)), time.process_time() - began])
        print(lines[-1], flush=True)
    fit = METHODS["cam"].run(X, seed=0)
    lines.append([*_line("CAM, all rows pooled", truth, np.asarray(fit.graph, dtype=bool), None), ""])
    rng = np.random.default_rng(0)
    orders = [complete(rng.permutation(len(truth))) for _ in range(200)]
    some = [order & (rng.random(order.shape) < 31 / 55) for order in orders]
    lines.append(
        [
            "chance",
            float(np.mean([sid(truth, order) for order in orders])),
            float(np.mean([sid(truth, graph) for graph in some])),
            float(np.mean([f1(truth, graph) for graph in some])),
            31,
            "",
        ]
    )
    print(markdown(["", "order SID", "graph SID", "F1", "edges", "seconds"], lines))


def _line(name: str, truth: np.ndarray, graph: np.ndarray, order: np.ndarray | None) -> list[Any]:
    if order is None:
        from dagtune.graph import topological_order

        order = complete(topological_order(graph))
    return [name, int(sid(truth, order)), int(sid(truth, graph)), float(f1(truth, graph)), int(graph.sum())]


if __name__ == "__main__":
    main()
