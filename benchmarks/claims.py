"""What is said of ConditionalTuning, beside fair, dense, cost, stability and pairs: chance, noise, Sachs, large tables.

The shares of chance are means of the stored cells in reproduction/; the rest is measured here. Only the large tables
are about time.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import in_child, with_memory
from benchmarks.tables import PAPER_MODELS as MODELS

#: Development seeds that no setting was chosen on.
SEEDS = range(90, 100)
SCALES = ("raw", "standardised")
#: For other distributions: (nodes, edges, rows), models, and what is done to the noise or to the finished columns.
OTHER, OTHER_MODELS, OTHER_SEEDS = (10, 20, 500), ("tanh", "gp", "abs-tanh", "linear"), range(90, 95)
DISTRIBUTIONS = ("gaussian", "uniform", "exponential", "laplace", "t3", "unequal", "cubed", "rounded", "half-binary")


def _order_sid(truth: Any, result: Any) -> float:
    """SID of the complete DAG of a result's order."""
    from dagtune.metrics import sid

    return float(sid(truth, result.complete_dag.to_numpy()))


def printed() -> list[dict[str, Any]]:
    """Means over models of the stored cells of the printed recipe: SID as a share of a random complete DAG's."""
    from dagtune.experiments import latest, read_results

    kept: dict[Any, list[float]] = defaultdict(list)
    for stored in latest(read_results(Path(__file__).parent.parent / "reproduction")).values():
        cell = stored["cell"]
        if cell["experiment"] not in ("fig5", "table-mlp2") or cell["recipe"] != "printed" or stored["status"] != "ok":
            continue
        key = (cell["standardized"], cell["nodes"], cell["model"])
        for name, value in stored["metrics"].items():
            kept[cell["method"], name, *key].append(value)
        if cell["method"] == "conditional":
            kept["order", "sid", *key].append(stored["readings"]["order"]["sid"])
    found = []
    for standardize, size in sorted({key[2:4] for key in kept if key[0] == "conditional"}):
        models = sorted({key[4] for key in kept if key[:4] == ("conditional", "sid", standardize, size)})
        mean = {
            (method, name): np.array([np.mean(kept[method, name, standardize, size, model]) for model in models])
            for method, name in (
                *product(("order", "conditional", "variance-sorted", "random-complete"), ("sid",)),
                *product(("conditional",), ("aupr_ranked", "aupr", "f1")),
            )
        }
        chance = mean["random-complete", "sid"]
        row: dict[str, Any] = {"standardize": standardize, "nodes": size, "models": models}
        for name in ("order", "conditional", "variance-sorted"):
            row[name] = float(np.mean(mean[name, "sid"] / chance))
            row[f"{name} by model"] = mean[name, "sid"].tolist()
        row |= {name: float(mean["conditional", name].mean()) for name in ("aupr_ranked", "aupr", "f1")}
        found.append(row)
    return found


def unequal_table(job: tuple[str, int]) -> tuple[str, list[float]]:
    """One d = 20 table whose noise scales are drawn from U(0.5, 2): what the order, graph and sorting get."""
    from dagtune.baselines import BASELINES
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.metrics import aupr, sid
    from dagtune.simulate import SIZES, random_dag, sample

    model, seed = job
    truth = random_dag(SIZES["d20"].nodes, SIZES["d20"].edges, rng=seed)
    X = sample(truth, model, n=SIZES["d20"].rows, rng=seed, noise_scale=(0.5, 2.0)).to_numpy()
    found = conditional_tuning(X, rng=0, threads=1)
    sids = [sid(truth, BASELINES["random-complete"](X, rng=draw)) for draw in range(20)]
    return model, [
        _order_sid(truth, found),
        float(sid(truth, found.matrix)),
        float(aupr(truth, found.scores)),
        float(sid(truth, BASELINES["variance-sorted"](X))),
        float(np.mean(sids)),
    ]


def other_table(job: tuple[str, str, bool, int]) -> tuple[str, str, bool, list[float]]:
    """One table under another distribution: F1, and SID of the order."""
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.metrics import f1
    from dagtune.simulate import random_dag, sample

    noise, model, standardize, seed = job
    nodes, edges, rows = OTHER
    truth = random_dag(nodes, edges, rng=seed)
    options: dict[str, Any] = {
        "noise": noise if noise in DISTRIBUTIONS[:5] else ("laplace" if model == "linear" else "gaussian")
    }
    if noise == "unequal":
        options["noise_scale"] = (0.5, 2.0)
    X = sample(truth, model, n=rows, rng=seed, standardize=standardize, **options).to_numpy()
    if noise in ("cubed", "rounded", "half-binary"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    if noise == "cubed":
        X = X**3
    elif noise == "rounded":
        X = np.round(2 * X)
    elif noise == "half-binary":
        half = np.random.default_rng(seed).permutation(nodes)[: nodes // 2]
        X[:, half] = X[:, half] > np.median(X[:, half], axis=0)
    found = conditional_tuning(X, rng=0, threads=1)
    return noise, model, standardize, [float(f1(truth, found.matrix)), _order_sid(truth, found)]


def sachs_table(job: tuple[str, str, int]) -> tuple[str, str, list[float]]:
    """Sachs on one scale by one method: SID of the order, SID, SHD and F1 of the graph, edges."""
    from dagtune.baselines import BASELINES
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.datasets import load
    from dagtune.metrics import f1, shd, sid

    scale, method, seed = job
    proteins = load("sachs")
    X = proteins.X if scale == "raw" else np.log1p(proteins.X)
    truth = proteins.graph.to_numpy()
    order = np.nan
    if method == "ours":
        found = conditional_tuning(X, rng=seed, threads=1)
        graph, order = found.matrix, _order_sid(truth, found)
    else:
        graph = np.asarray(BASELINES[method](X, rng=seed))
    return scale, method, [order, *(float(score(truth, graph)) for score in (sid, shd, f1)), float(graph.sum())]


def wide() -> dict[str, Any]:
    """d = 100, n = 2000, two edges a node."""
    return _large(100, 200, 2000)


def long() -> dict[str, Any]:
    """d = 20, n = 10^6, two edges a node."""
    return _large(20, 40, 10**6)


def _large(nodes: int, edges: int, rows: int) -> dict[str, Any]:
    from dagtune import ConditionalTuning
    from dagtune.metrics import f1
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
        "order_sid": int(_order_sid(truth, found)),
        "f1": float(f1(truth, found.matrix)),
    }


def measure() -> dict[str, Any]:
    sachs = [(scale, "ours", seed) for scale in ("raw", "log(x + 1)") for seed in SEEDS]
    sachs += [(scale, method, 0) for scale in ("raw", "log(x + 1)") for method in ("cam", "npvar", "ges", "empty")]
    sachs += [("raw", "random-complete", seed) for seed in range(100)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        unequal, others, proteins = (defaultdict(list) for _ in range(3))
        for model, row in pool.imap_unordered(unequal_table, product(MODELS, SEEDS)):
            unequal[model].append(row)
        jobs = product(DISTRIBUTIONS, OTHER_MODELS, (False, True), OTHER_SEEDS)
        for *key, row in pool.imap_unordered(other_table, jobs, chunksize=4):
            others[tuple(key)].append(row)
        for scale, method, row in pool.imap_unordered(sachs_table, sachs):
            proteins[f"{scale}|{method}"].append(row)
    return {
        "printed": printed(),
        "unequal": {model: np.mean(rows, axis=0).tolist() for model, rows in unequal.items()},
        "other": [[*key, np.mean(rows, axis=0).tolist()] for key, rows in sorted(others.items())],
        "sachs": {key: [np.mean(rows, axis=0).tolist(), *_range(rows)] for key, rows in proteins.items()},
        "large": [in_child(wide), in_child(long)],
    }


def _range(rows: list[list[float]]) -> list[list[float]]:
    return [np.min(rows, axis=0).tolist(), np.max(rows, axis=0).tolist()]


def render(found: dict[str, Any]) -> str:
    lines = [
        "## What is said of the conditional learner\n",
        "Printed recipe, the seven models, ten tables each (stored in `reproduction/`): SID as a share of a random "
        "complete DAG's, means over the models; AuPR of the ranked edges and of the 0/1 graph.\n",
        "| scale | d | order | default graph | variance-sorted | AuPR, ranked | AuPR, 0/1 | F1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in found["printed"]:
        names = ("order", "conditional", "variance-sorted", "aupr_ranked", "aupr", "f1")
        numbers = " | ".join(f"{row[name]:.3f}" for name in names)
        lines.append(f"| {SCALES[row['standardize']]} | {row['nodes']} | {numbers} |")
    largest = [row for row in found["printed"] if row["nodes"] == 40]
    for row in largest:
        orders = zip(row["models"], row["order by model"], row["conditional by model"])
        told = ", ".join(f"{model} {order:.0f} ({graph:.0f})" for model, order, graph in orders)
        lines.append(f"\nd = 40, {SCALES[row['standardize']]}, SID of the order (of the default graph): {told}.")
    lines += [
        f"\nNoise scales drawn from U(0.5, 2), d = 20, raw, seeds {SEEDS.start} to {SEEDS.stop - 1}:\n",
        "| model | order | default graph | AuPR, ranked | variance-sorted | chance |",
        "|---|---|---|---|---|---|",
    ]
    for model, (order, graph, aupr, sorted_, chance) in found["unequal"].items():
        lines.append(f"| {model} | {order:.0f} | {graph:.0f} | {aupr:.2f} | {sorted_:.0f} | {chance:.0f} |")
    rows = np.array(list(found["unequal"].values()))
    share = [np.mean(rows[:, k] / rows[:, 4]) for k in (0, 1, 3)]
    lines.append(f"| share of chance | {share[0]:.2f} | {share[1]:.2f} | {rows[:, 2].mean():.2f} | {share[2]:.2f} | |")
    nodes, edges, count = OTHER
    lines += [
        f"\nOther distributions, d = {nodes}, {edges} edges, n = {count}, seeds {OTHER_SEEDS.start} to "
        f"{OTHER_SEEDS.stop - 1}: F1, and in parentheses the SID of the order (chance: about 56). Cubed, rounded (to "
        "half a standard deviation) and half-binary (half of the columns cut at their median) columns are made from "
        "the finished table; `linear` then has Laplace noise.\n",
        "| distribution | scale | " + " | ".join(OTHER_MODELS) + " |",
        "|---" * (2 + len(OTHER_MODELS)) + "|",
    ]
    cell = {(noise, model, standardize): scores for noise, model, standardize, scores in found["other"]}
    for noise, standardize in product(DISTRIBUTIONS, (False, True)):
        shown = [cell[noise, model, standardize] for model in OTHER_MODELS]
        numbers = " | ".join(f"{f1:.2f} ({order:.0f})" for f1, order in shown)
        lines.append(f"| {noise} | {SCALES[standardize]} | {numbers} |")
    lines += [
        f"\nSachs, means over seeds {SEEDS.start} to {SEEDS.stop - 1} of ours (least to greatest), one run of the "
        "others, 100 random complete DAGs:\n",
        "| scale | method | SID of the order | SID | SHD | F1 | edges |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, (mean, low, high) in sorted(found["sachs"].items()):
        scale, method = key.split("|")
        spread = method == "ours"
        digits = (0, 0, 0, 2, 0)
        cells = [
            "" if np.isnan(m) else f"{m:.{k}f}" + (f" ({a:.{k}f} to {b:.{k}f})" if spread else "")
            for m, a, b, k in zip(mean, low, high, digits)
        ]
        lines.append(f"| {scale} | {method} | " + " | ".join(cells) + " |")
    lines += [
        f"\nd = {one['nodes']}, n = {one['rows']}: {one['seconds']:.0f} s, {one['MiB']:.0f} MiB over the data, order "
        f"SID {one['order_sid']}, F1 {one['f1']:.2f} (printed tanh, two edges a node)."
        for one in found["large"]
    ]
    return "\n".join(lines) + "\n"
