"""What is said of ConditionalTuning's graphs: shares of chance, unequal noise, other scales, Sachs, calibration.

The shares of chance are means of the stored cells in reproduction/; the rest is measured here. Not about time.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.conditional import MODELS, as_pair, load_prototype

#: Development seeds that no setting was chosen on.
SEEDS = range(90, 100)
SCALES = ("raw", "standardised")
#: For the question whether any model is worse than chance when standardised: sizes and seeds.
CHANCE_SIZES, CHANCE_SEEDS = ("d10", "d20"), range(80, 100)
#: Monotone functions of standardised columns, and the models and noise distributions below them.
FUNCTIONS = {
    "exp": np.exp,
    "cube": lambda x: x**3,
    "root": lambda x: np.sign(x) * np.sqrt(np.abs(x)),
    "log": lambda x: np.log(x - x.min(axis=0) + 0.3),
}
OTHER_MODELS, OTHER_NOISES = (
    ("tanh", "gp", "abs-tanh", "mlp-tanh", "linear"),
    ("gaussian", "laplace", "exponential", "uniform"),
)
OTHER_SEEDS = range(90, 93)
#: For the calibration: (nodes, edges, rows), models, seeds, bags; and the classes of probabilities.
SETTINGS, BAGGED_MODELS, BAGGED_SEEDS = ((10, 20, 300), (10, 35, 300), (15, 30, 400)), (*MODELS, "gp"), range(90, 92)
BAGS, CLASSES = 8, (0.5, 0.7, 0.9, 0.99, 1.0)


def _order_sid(truth: Any, order: Any) -> float:
    from dagtune.graph import complete
    from dagtune.metrics import sid

    return float(sid(truth, complete(order)))


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
        _order_sid(truth, as_pair(found)[0]),
        float(sid(truth, found.matrix)),
        float(aupr(truth, found.scores)),
        float(sid(truth, BASELINES["variance-sorted"](X))),
        float(np.mean(sids)),
    ]


def chance_table(job: tuple[str, str, int]) -> tuple[str, str, list[float]]:
    """One standardised table: SID of the order, and of random complete DAGs."""
    from dagtune.baselines import BASELINES
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.metrics import sid
    from dagtune.simulate import SIZES, random_dag, sample

    size, model, seed = job
    truth = random_dag(SIZES[size].nodes, SIZES[size].edges, rng=seed)
    X = sample(truth, model, n=SIZES[size].rows, rng=seed, standardize=True).to_numpy()
    found = conditional_tuning(X, rng=0, threads=1)
    sids = [sid(truth, BASELINES["random-complete"](X, rng=draw)) for draw in range(20)]
    return size, model, [_order_sid(truth, as_pair(found)[0]), float(np.mean(sids))]


def other_table(job: tuple[Any, ...]) -> tuple[Any, ...]:
    """One table seen through a monotone function: F1 and SID of the order, ours and the prototype's."""
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.metrics import f1
    from dagtune.parallel import one_blas_thread
    from dagtune.simulate import random_dag, sample

    model, noise, function, seed, prototype = job
    truth = random_dag(10, 20, rng=seed)
    X = FUNCTIONS[function](sample(truth, model, n=500, rng=seed, noise=noise, standardize=True).to_numpy())
    methods: dict[str, Any] = {"ours": lambda X: as_pair(conditional_tuning(X, rng=0, threads=1))}
    if prototype is not None:
        methods["prototype"] = load_prototype(prototype)
    with one_blas_thread():
        pairs = {name: method(X) for name, method in methods.items()}
    return noise, {name: [float(f1(truth, graph)), _order_sid(truth, order)] for name, (order, graph) in pairs.items()}


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
        graph, order = found.matrix, _order_sid(truth, as_pair(found)[0])
    else:
        graph = np.asarray(BASELINES[method](X, rng=seed))
    return scale, method, [order, *(float(score(truth, graph)) for score in (sid, shd, f1)), float(graph.sum())]


def bagged_table(job: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """One standardised table: probabilities of one fit and of bags for all ordered pairs, and the truth."""
    from dagtune.conditional.algorithm import conditional_tuning
    from dagtune.simulate import random_dag, sample

    (nodes, edges, rows), model, seed = job
    truth = random_dag(nodes, edges, rng=seed)
    X = sample(truth, model, n=rows, rng=seed, standardize=True)
    found = conditional_tuning(X, rng=0, threads=1, bags=BAGS)
    apart = ~np.eye(nodes, dtype=bool)
    return np.asarray(found.scores)[apart], np.asarray(found.probability)[apart], np.asarray(truth)[apart]


def measure(prototype: str | None = None) -> dict[str, Any]:
    others = [
        (*job, prototype)
        for job in product(OTHER_MODELS, OTHER_NOISES, FUNCTIONS, OTHER_SEEDS)
        if job[:2] != ("linear", "gaussian")  # standardised, these have no direction
    ]
    sachs = [(scale, "ours", seed) for scale in ("raw", "log(x + 1)") for seed in SEEDS]
    sachs += [(scale, method, 0) for scale in ("raw", "log(x + 1)") for method in ("cam", "npvar", "ges", "empty")]
    sachs += [("raw", "random-complete", seed) for seed in range(100)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        unequal, chance, noises, proteins = (defaultdict(list) for _ in range(4))
        for model, row in pool.imap_unordered(unequal_table, product(MODELS, SEEDS)):
            unequal[model].append(row)
        for size, model, row in pool.imap_unordered(chance_table, product(CHANCE_SIZES, MODELS, CHANCE_SEEDS)):
            chance[f"{size}|{model}"].append(row)
        for noise, scores in pool.imap_unordered(other_table, others, chunksize=4):
            noises[noise].append(scores)
        for scale, method, row in pool.imap_unordered(sachs_table, sachs):
            proteins[f"{scale}|{method}"].append(row)
        bagged = pool.map(bagged_table, product(SETTINGS, BAGGED_MODELS, BAGGED_SEEDS), chunksize=1)
    return {
        "printed": printed(),
        "unequal": {model: np.mean(rows, axis=0).tolist() for model, rows in unequal.items()},
        "chance": {key: [*np.mean(rows, axis=0), _error(rows)] for key, rows in chance.items()},
        "other": {
            noise: {name: np.mean([one[name] for one in many], axis=0).tolist() for name in many[0]}
            for noise, many in noises.items()
        },
        "sachs": {key: [np.mean(rows, axis=0).tolist(), *_range(rows)] for key, rows in proteins.items()},
        "calibration": _calibrated(bagged),
    }


def _error(rows: list[list[float]]) -> float:
    """Standard error of the mean of the first numbers."""
    first = np.array(rows)[:, 0]
    return float(first.std(ddof=1) / np.sqrt(len(first)))


def _range(rows: list[list[float]]) -> list[list[float]]:
    return [np.min(rows, axis=0).tolist(), np.max(rows, axis=0).tolist()]


def _calibrated(bagged: list[Any]) -> dict[str, list[list[float]]]:
    """For one fit and for bags, in classes of what was said: mean said, share that is right, number of pairs."""
    said = {"one fit": np.concatenate([one[0] for one in bagged]), "bags": np.concatenate([one[1] for one in bagged])}
    right = np.concatenate([one[2] for one in bagged])
    found = {}
    for name, p in said.items():
        rows = []
        for low, high in pairwise(CLASSES):
            inside = (p > low) & (p <= high)
            rows.append([float(p[inside].mean()), float(right[inside].mean()), int(inside.sum())])
        found[name] = rows
    return found


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
    lines += [
        f"\nStandardised, SID of the order (standard error) over seeds {CHANCE_SEEDS.start} to "
        f"{CHANCE_SEEDS.stop - 1}, and of random complete DAGs:\n",
        "| size | " + " | ".join(MODELS) + " |",
        "|---" * (1 + len(MODELS)) + "|",
    ]
    for size in CHANCE_SIZES:
        cells = [found["chance"][f"{size}|{model}"] for model in MODELS]
        lines.append(f"| {size} | " + " | ".join(f"{m:.0f} ({error:.0f}), {c:.0f}" for m, c, error in cells) + " |")
    lines += [
        f"\nColumns seen through a monotone function ({', '.join(FUNCTIONS)}) over noise of another distribution, "
        f"d = 10, 20 edges, n = 500, {', '.join(OTHER_MODELS)} (`linear` without Gaussian noise), seeds "
        f"{OTHER_SEEDS.start} to {OTHER_SEEDS.stop - 1}: F1 and SID of the order (chance: about 56).\n",
    ]
    methods = list(next(iter(found["other"].values())))
    lines += ["| noise | " + " | ".join(methods) + " |", "|---" * (1 + len(methods)) + "|"]
    for noise in OTHER_NOISES:
        cells = [found["other"][noise][method] for method in methods]
        lines.append(f"| {noise} | " + " | ".join(f"{f1:.2f} ({order:.0f})" for f1, order in cells) + " |")
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
    settings = ", ".join("/".join(map(str, one)) for one in SETTINGS)
    lines += [
        f"\nProbabilities of edges, standardised tables ({settings} nodes/edges/rows, {len(BAGGED_MODELS)} models, "
        f"seeds {BAGGED_SEEDS.start} and {BAGGED_SEEDS.stop - 1}): said, right, and how many; one fit and {BAGS} "
        "bags.\n",
        "| said | one fit | bags |",
        "|---|---|---|",
    ]
    for k, (low, high) in enumerate(pairwise(CLASSES)):
        cells = [found["calibration"][name][k] for name in ("one fit", "bags")]
        told = " | ".join(f"{said:.3f}: {right:.2f} ({count})" for said, right, count in cells)
        lines.append(f"| {low} to {high} | {told} |")
    return "\n".join(lines) + "\n"
