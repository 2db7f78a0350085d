"""F1 on sparse tables: ConditionalTuning, the lab's prototype and the rivals on the same tables; then other noise.

Not about time: the tables are spread over the processors.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np

from benchmarks.conditional import MODELS, as_pair, load_prototype

#: (nodes, edges, rows)
SETTINGS = ((20, 20, 500), (20, 40, 500), (10, 18, 300))
RIVALS = ("cam", "npvar", "ges", "notears-linear", "sortnregress", "r2-sortnregress")
#: Development seeds that no setting was chosen on.
SEEDS = range(90, 93)
#: For the other distributions: (nodes, edges, rows), models, and what is done to the noise or to the finished columns.
ROBUST, ROBUST_MODELS, ROBUST_SEEDS = (10, 20, 500), ("tanh", "gp", "abs-tanh", "linear"), range(90, 95)
DISTRIBUTIONS = ("gaussian", "uniform", "exponential", "laplace", "t3", "unequal", "cubed", "rounded", "half-binary")


def _methods(prototype: str | None, rivals: tuple[str, ...]) -> dict[str, Any]:
    """name -> function of a table giving the order (None without one) and the graph."""
    from dagtune.baselines import BASELINES
    from dagtune.conditional.algorithm import conditional_tuning

    methods: dict[str, Any] = {"ours": lambda X: as_pair(conditional_tuning(X, rng=0, threads=1))}
    if prototype is not None:
        methods["prototype"] = load_prototype(prototype)
    for rival in rivals:
        methods[rival] = lambda X, rival=rival: (None, BASELINES[rival](X, rng=0))
    try:
        from causallearn.search.FCMBased.lingam import DirectLiNGAM  # type: ignore[import-not-found]
    except ImportError:
        return methods

    def direct(X: Any) -> tuple[Any, Any]:
        model = DirectLiNGAM(random_state=0)
        model.fit(X)
        return np.asarray(model.causal_order_), np.abs(np.asarray(model.adjacency_matrix_).T) > 0.05

    if rivals:
        methods["direct-lingam"] = direct
    return methods


def _score(truth: Any, found: tuple[Any, Any]) -> tuple[float, float]:
    from dagtune.graph import complete
    from dagtune.metrics import f1, sid

    order, graph = found
    if order is None:
        return float(f1(truth, graph)), float("nan")
    return float(f1(truth, graph)), float(sid(truth, complete(order)))


def sparse_table(job: tuple[Any, ...]) -> tuple[Any, ...]:
    """One table, all methods: (setting, model, standardised, {method: (F1, SID of the order)})."""
    from dagtune.parallel import one_blas_thread
    from dagtune.simulate import random_dag, sample

    (nodes, edges, rows), model, standardize, seed, prototype = job
    truth = random_dag(nodes, edges, rng=seed)
    noise = {"noise": ("laplace", "uniform")[seed % 2]} if model == "linear" else {}
    X = sample(truth, model, n=rows, rng=seed, standardize=standardize, **noise).to_numpy()
    with one_blas_thread():
        found = {name: _score(truth, method(X)) for name, method in _methods(prototype, RIVALS).items()}
    return f"{nodes}/{edges}/{rows}", model, standardize, found


def robust_table(job: tuple[Any, ...]) -> tuple[Any, ...]:
    """One table under another distribution: (distribution, model, standardised, {method: (F1, SID of the order)})."""
    from dagtune.parallel import one_blas_thread
    from dagtune.simulate import random_dag, sample

    noise, model, standardize, seed, prototype = job
    nodes, edges, rows = ROBUST
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
    with one_blas_thread():
        found = {name: _score(truth, method(X)) for name, method in _methods(prototype, ()).items()}
    return noise, model, standardize, found


def measure(prototype: str | None = None) -> dict[str, Any]:
    scales = (False, True)
    tables = [(*job, prototype) for job in product(SETTINGS, (*MODELS, "linear", "gp"), scales, SEEDS)]
    others = [(*job, prototype) for job in product(DISTRIBUTIONS, ROBUST_MODELS, scales, ROBUST_SEEDS)]
    with multiprocessing.get_context("spawn").Pool() as pool:
        return {
            "sparse": _means(pool.imap_unordered(sparse_table, tables, chunksize=2), len(tables)),
            "robust": _means(pool.imap_unordered(robust_table, others, chunksize=4), len(others)),
        }


def _means(found: Any, count: int) -> list[list[Any]]:
    """[first, second, standardised, {method: (F1, SID)}] with means over the seeds, sorted."""
    kept: dict[Any, list[Any]] = defaultdict(list)
    for done, (*key, scores) in enumerate(found, 1):
        kept[tuple(key)].append(scores)
        if done % 50 == 0:
            print(f"  {done} of {count} tables", flush=True)
    return [
        [*key, {name: np.mean([one[name] for one in many], axis=0).tolist() for name in many[0]}]
        for key, many in sorted(kept.items())
    ]


def render(found: dict[str, Any]) -> str:
    rows = found["sparse"]
    names = list(rows[0][3])
    rivals = [name for name in names if name not in ("ours", "prototype")]
    lines = [
        "## Sparse tables\n",
        f"Mean F1 over seeds {SEEDS.start} to {SEEDS.stop - 1}, on which no setting was chosen; nodes/edges/rows. "
        "`linear` has Laplace and uniform noise in turn, DirectLiNGAM's home ground (weights above 0.05, in the "
        "table's units). In bold where ours is more than 0.03 behind the best rival.\n",
        "| table | model | scale | " + " | ".join(names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    for setting, model, standardize, scores in rows:
        best = max(scores[name][0] for name in rivals)
        cells = [f"{scores[name][0]:.2f}" for name in names]
        if scores["ours"][0] < best - 0.03:
            cells[0] = f"**{cells[0]}**"
        lines.append(f"| {setting} | {model} | {_scale(standardize)} | " + " | ".join(cells) + " |")
    means = [float(np.mean([scores[name][0] for *_, scores in rows])) for name in names]
    lines.append("| all | | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    nodes, edges, count = ROBUST
    lines += [
        f"\nOther distributions, d = {nodes}, {edges} edges, n = {count}, seeds {ROBUST_SEEDS.start} to "
        f"{ROBUST_SEEDS.stop - 1}: F1, and in parentheses the SID of the order (chance: about 56). Cubed, rounded (to "
        "half a standard deviation) and half-binary (half of the columns cut at their median) columns are made from "
        "the finished table; `linear` then has Laplace noise. Linear effects with Gaussian noise, standardised, have "
        "no direction that data could show.\n",
        "| distribution | scale | method | " + " | ".join(ROBUST_MODELS) + " |",
        "|---" * (3 + len(ROBUST_MODELS)) + "|",
    ]
    cell = {(noise, model, standardize): scores for noise, model, standardize, scores in found["robust"]}
    methods = list(next(iter(cell.values())))
    for noise, standardize, method in product(DISTRIBUTIONS, (False, True), methods):
        shown = [cell[noise, model, standardize][method] for model in ROBUST_MODELS]
        numbers = " | ".join(f"{f1:.2f} ({order:.0f})" for f1, order in shown)
        lines.append(f"| {noise} | {_scale(standardize)} | {method} | {numbers} |")
    return "\n".join(lines) + "\n"


def _scale(standardize: bool) -> str:
    return "standardised" if standardize else "raw"
