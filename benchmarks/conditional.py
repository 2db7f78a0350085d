"""ConditionalTuning beside the lab's prototype and quick rivals on the same tables, and at its largest."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import in_child, with_memory

#: Rivals that take seconds, not minutes.
RIVALS = ("cam", "npvar", "ges", "sortnregress", "variance-sorted")
MODELS = ("mlp100", "mlp2", "tanh", "sigmoid-mix", "abs", "mlp-tanh", "abs-tanh")
#: size -> development seeds; d = 40 takes the prototype a third of a minute a table.
SEEDS = {"d10": range(90, 95), "d20": range(90, 93), "d40": range(90, 91)}


def beside_prototype(size: str, standardize: bool, prototype: str | None) -> dict[str, Any]:
    """Means over the models and seeds of one size, all methods on the same tables, taking turns, on one thread.

    Processor seconds; SID of the complete DAG of the order (of a rival without one: not a number), SID and F1.
    """
    from dagtune.baselines import BASELINES
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.graph import complete
    from dagtune.metrics import f1, sid
    from dagtune.parallel import one_blas_thread
    from dagtune.simulate import SIZES, random_dag, sample

    methods: dict[str, Any] = {"ours": lambda X: as_pair(conditional_tuning(X, rng=0, threads=1))}
    if prototype is not None:
        methods["prototype"] = load_prototype(prototype)
    for rival in RIVALS:
        methods[rival] = lambda X, rival=rival: (None, BASELINES[rival](X, rng=0))
    small = np.random.default_rng(0).normal(size=(60, 3))
    for method in methods.values():
        method(small)  # compiled now
    rows: dict[str, list[list[float]]] = {name: [] for name in methods}
    for model in MODELS:
        for seed in SEEDS[size]:
            truth = random_dag(SIZES[size].nodes, SIZES[size].edges, rng=seed)
            X = sample(truth, model, n=SIZES[size].rows, rng=seed, standardize=standardize).to_numpy()
            for name, method in methods.items():
                start = time.process_time()
                with one_blas_thread():
                    order, guess = method(X)
                seconds = time.process_time() - start
                of_order = np.nan if order is None else sid(truth, complete(order))
                rows[name].append([seconds, of_order, sid(truth, guess), f1(truth, guess)])
    means = {name: [float(value) for value in np.mean(found, axis=0)] for name, found in rows.items()}
    return {"size": size, "standardize": standardize, "tables": len(rows["ours"]), "means": means}


def as_pair(result: Any) -> tuple[list[int], Any]:
    """The order as positions, and the graph."""
    return [result.names.index(name) for name in result.order], result.matrix


def load_prototype(folder: str) -> Any:
    """The lab code as its README calls it."""
    sys.path.insert(0, str(Path(folder).resolve()))
    from edges import edges  # type: ignore[import-not-found]
    from iil import learn  # type: ignore[import-not-found]

    def run(X: Any) -> tuple[Any, Any]:
        order, gram, _ = learn(X, ng=True, ns=True, eqrat=0.5, eqadd=3.0, eqng=0.0)
        return order, edges(gram, order) > 0

    return run


def wide() -> dict[str, Any]:
    """d = 200, n = 2000, two edges a node."""
    return _large(200, 400, 2000)


def long() -> dict[str, Any]:
    """d = 20, n = 10^6, two edges a node."""
    return _large(20, 40, 10**6)


def _large(nodes: int, edges: int, rows: int) -> dict[str, Any]:
    from dagtune import ConditionalTuning
    from dagtune.metrics import f1, sid
    from dagtune.simulate import random_dag, sample

    truth = random_dag(nodes, edges, rng=90)
    X = sample(truth, "tanh", n=rows, rng=90).to_numpy()
    ConditionalTuning(random_state=0).fit(X[:500, :5])
    seconds, megabytes, fitted = with_memory(lambda: ConditionalTuning(random_state=0).fit(X))
    found = fitted.result_
    return {
        "nodes": nodes,
        "rows": rows,
        "seconds": seconds,
        "MiB": megabytes,
        "order_sid": int(sid(truth, found.complete_dag.to_numpy())),
        "f1": float(f1(truth, found.matrix)),
    }


def measure(prototype: str | None = None) -> dict[str, Any]:
    beside = []
    for size in SEEDS:
        for standardize in (False, True) if size != "d40" else (False,):
            beside.append(in_child(beside_prototype, size, standardize, prototype))
            print(f"  {beside[-1]}", flush=True)
    return {"beside": beside, "large": [in_child(wide), in_child(long)]}


def render(found: dict[str, Any]) -> str:
    lines = [
        "## The conditional learner\n",
        "Beside the lab's prototype and the quick rivals on the same tables, taking turns on one thread, means over "
        "the seven printed models (development seeds from 90): processor seconds (ours with the residual checks), SID "
        "of the complete DAG of the order, SID and F1 of the default graph.\n",
        "| tables | method | seconds | ours is so many times its time | SID of the order | SID | F1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found["beside"]:
        kind = "standardised" if one["standardize"] else "raw"
        for name, (seconds, order, graph, f1) in one["means"].items():
            ratio = "" if name == "ours" else f"{one['means']['ours'][0] / seconds:.2f}"
            lines.append(
                f"| {one['tables']} of {one['size']}, {kind} | {name} | {seconds:.3f} | "
                f"{f'**{ratio}**' if name == 'prototype' else ratio} | {'' if np.isnan(order) else f'{order:.0f}'} | "
                f"{graph:.0f} | {f1:.2f} |"
            )
    lines += [
        f"\nd = {one['nodes']}, n = {one['rows']}: {one['seconds']:.0f} s, {one['MiB']:.0f} MiB over the data, order "
        f"SID {one['order_sid']}, F1 {one['f1']:.2f} (printed tanh, two edges a node)."
        for one in found["large"]
    ]
    return "\n".join(lines) + "\n"
