"""Tables of mixed kinds: F1, SID and Brier score beside the same learner on codes, rivals on codes, and chance.

Half of the columns are continuous, the others binary, ordinal, categorical and counts; every kind is a cause and an
effect. "mixed": the links and noise of the learner. "other": probit and log-log links, products of causes,
overdispersed counts and skewed noise. Numbers are standardised, and their noise has different scales. Seeds from 0 on
are development seeds; a row of the table is one model and number of rows.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from benchmarks.side_by_side import markdown
from dagtune import ConditionalTuning
from dagtune.graph import parents, topological_order
from dagtune.learners import METHODS
from dagtune.metrics import brier, evaluate
from dagtune.simulate import random_dag

Rng = np.random.Generator
KINDS = ("continuous", "binary", "continuous", "ordinal", "continuous", "categorical", "continuous", "count")
RIVALS = ("ges", "boss", "pc")
CHANCE = ("random-complete", "empty")
MODELS = ("mixed", "other")


def draw(
    model: str, nodes: int, rows: int, seed: int, *, level: np.ndarray | None = None, numbers: bool = False
) -> tuple[pd.DataFrame, dict[str, str], np.ndarray]:
    """A table, the kinds of its columns, and its graph; ``A[i, j]`` means i -> j.

    ``level`` (rows, nodes) is added to numbers, which their effects feel; with ``numbers`` all columns are such.
    """
    rng = np.random.default_rng([2026, MODELS.index(model), nodes, rows, seed])
    truth = random_dag(nodes, int(1.5 * nodes), rng=rng)
    kinds = ["continuous" if numbers else KINDS[k % len(KINDS)] for k in rng.permutation(nodes)]
    X = np.zeros((rows, nodes))
    for j in topological_order(truth):
        X[:, j] = _node(kinds[j], [(X[:, i], kinds[i]) for i in parents(truth, j)], model == "other", rows, rng)
        if level is not None and kinds[j] == "continuous":
            X[:, j] += level[:, j]
    names = [f"x{j}" for j in range(nodes)]
    return pd.DataFrame(X, columns=names), dict(zip(names, kinds)), truth


def _index(causes: list[tuple[np.ndarray, str]], other: bool, rng: Rng) -> np.ndarray | float:
    """Sum of a function of each cause, of standard deviation about 1; perhaps the product of two."""
    parts = []
    for x, kind in causes:
        if kind == "categorical":
            part = rng.normal(size=int(x.max()) + 1)[x.astype(int)]
        else:
            z = (x - x.mean()) / max(x.std(), 1e-9)
            w = rng.uniform(0.7, 1.3) * rng.choice([-1, 1])
            part = w * (z if rng.random() < 0.5 else np.tanh(1.5 * z + rng.normal()))
        parts.append(part)
    total = np.sum(parts, axis=0) if parts else 0.0
    if other and len(parts) > 1:
        total = total + parts[0] * parts[1]
    return total


def _node(kind: str, causes: list[tuple[np.ndarray, str]], other: bool, n: int, rng: Rng) -> np.ndarray:
    u = _index(causes, other, rng) + np.zeros(n)
    if kind == "continuous":
        x = u + rng.uniform(0.5, 1.2) * (rng.gumbel(size=n) / 1.28 if other else rng.normal(size=n))
        return (x - x.mean()) / x.std()  # units must not tell directions: our learner would read them, rivals can't
    noise = rng.normal(size=n) if other else rng.logistic(size=n)
    strong = (1.2 if other else 2.0) * u
    if kind == "binary":
        p = 1 - np.exp(-np.exp(strong - 0.4)) if other else special.expit(strong)
        return (rng.random(n) < p).astype(float)
    if kind == "ordinal":
        return np.digitize(strong + noise, np.sort(rng.normal(scale=1.5, size=4))).astype(float)
    if kind == "categorical":
        k = int(rng.integers(3, 6))
        w = rng.normal(scale=1.5, size=k)
        scores = np.outer(u, w) + rng.normal(scale=0.5, size=k) + rng.gumbel(size=(n, k))
        return scores.argmax(axis=1).astype(float)
    rate = np.exp(np.clip(0.7 * u + 1.0, -4, 4))
    return rng.poisson(rate * rng.gamma(1.5, 1 / 1.5, size=n) if other else rate).astype(float)


def methods(
    frame: pd.DataFrame, kinds: dict[str, str], seed: int, names: list[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Graph and probabilities of each method."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    codes = dict.fromkeys(kinds, "continuous")
    for name, how in (("conditional", kinds), ("conditional on codes", codes)):
        if name not in names:
            continue
        result = ConditionalTuning(random_state=seed, threads=1, kinds=how).fit(frame).result_
        found[name] = result.matrix, result.probability
    for name in (name for name in names if name in METHODS and name != "conditional"):
        graph = np.asarray(METHODS[name].run(frame, seed=seed).graph, dtype=bool)
        found[name] = graph, graph.astype(float)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="tables a row")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--nodes", default="6,10", help="numbers of columns")
    parser.add_argument("--rows", default="500,2000", help="numbers of rows")
    parser.add_argument("--methods", default=",".join(("conditional", "conditional on codes", *RIVALS, *CHANCE)))
    given = parser.parse_args()
    asked = given.methods.split(",")
    scores: dict[tuple[str, int, int], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    said: dict[str, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    for model in MODELS:
        for nodes in map(int, given.nodes.split(",")):
            for rows in map(int, given.rows.split(",")):
                for seed in range(given.first, given.first + given.seeds):
                    frame, kinds, truth = draw(model, nodes, rows, seed)
                    varied = [name for name in frame if frame[name].nunique() > 1]
                    if len(varied) < nodes:
                        continue
                    for name, (graph, probability) in methods(frame, kinds, seed, asked).items():
                        e = evaluate(truth.astype(int), graph.astype(int)).as_dict()
                        off = float(brier(truth, probability))
                        scores[model, nodes, rows][name].append((e["f1"], e["sid"], off))
                        if name == "conditional":
                            said[model].append((truth, probability))
                _tell(scores[model, nodes, rows], f"{model}, {nodes} columns, {rows} rows")
    names = next(iter(scores.values()))
    _tell({name: [one for row in scores.values() for one in row[name]] for name in names}, "all")
    for model, pairs in said.items():
        _calibration(model, pairs)


def _tell(found: dict[str, list[Any]], title: str) -> None:
    ours = np.array([f1 for f1, _, _ in found["conditional"]])
    lines = []
    for name, some in found.items():
        f1, sid, off = np.nan_to_num(np.array(some)).T
        behind = f1 - ours
        error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else np.nan
        lines.append([name, len(some), f1.mean(), sid.mean(), off.mean(), behind.mean(), error])
    head = ["method", "tables", "F1", "SID", "Brier", "F1 ahead of ours", "paired error"]
    print(f"**{title}**\n\n{markdown(head, lines)}", flush=True)


def _calibration(model: str, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    off = [~np.eye(len(truth), dtype=bool) for truth, _ in pairs]
    true = np.concatenate([truth[at] for (truth, _), at in zip(pairs, off)])
    told = np.concatenate([probability[at] for (_, probability), at in zip(pairs, off)])
    lines = []
    for low in np.arange(0, 1, 0.1):
        here = (told >= low) & (told < low + 0.1 + (low > 0.85))
        if here.sum() >= 20:
            lines.append([f"{low:.1f} to {low + 0.1:.1f}", int(here.sum()), told[here].mean(), true[here].mean()])
    print(f"**Calibration, {model}**\n\n{markdown(['said', 'ordered pairs', 'mean said', 'right'], lines)}", flush=True)


if __name__ == "__main__":
    main()
