"""What a default fit with its probabilities costs beside the former learner's plain fit: processor seconds, one thread.

``python -m benchmarks.cost --former CHECKOUT`` fits each table with both learners in turn, so that a noisy moment hits
both: sparse tables of ``benchmarks.generators`` (n = 1000, two edges a node, raw and standardised in turn) and the
paper's dense ones. The first table of each kind and size is fitted and not counted. At most five times is asked, the
aim is three.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from benchmarks.generators import Setting
from benchmarks.measure import machine
from benchmarks.side_by_side import Task, add_arguments, ask_all, checkouts, markdown
from benchmarks.tables import paper_table

MECHANISMS = ("linear-gaussian", "linear-uniform", "additive-gp", "network", "sigmoid", "location-scale")
MODELS = ("mlp100", "tanh", "sigmoid-mix", "abs", "mlp2", "abs-tanh")
KINDS = ("sparse", "dense")


def tasks(nodes: int, kind: str, tables: int, seed: int) -> Iterator[Task]:
    """So many tables and one more, which comes first, to warm up."""
    for k in range(-1, tables):
        standardize = bool(k % 2)
        if kind == "sparse":
            setting = Setting(MECHANISMS[k % len(MECHANISMS)], ("raw", "standardised")[standardize], nodes=nodes)
            made = lambda setting=setting, k=k: setting.draw(seed + max(k, 0))[0]  # noqa: E731
        else:
            model = MODELS[k % len(MODELS)]
            made = lambda model=model, s=standardize: paper_table(model, f"d{nodes}", seed, standardize=s)[0]  # noqa: E731
        yield Task((nodes, kind, k), made)


def report(asked: argparse.Namespace) -> str:
    sizes, learners = [int(size) for size in asked.nodes.split(",")], list(checkouts(asked))
    todo = [
        task
        for nodes in sizes
        for kind in asked.kinds.split(",")
        for task in tasks(nodes, kind, asked.tables, asked.seed)
    ]
    seconds: dict[tuple[int, str], list[list[float]]] = defaultdict(list)
    for task, answers in ask_all(todo, asked):
        nodes, kind, k = task.name
        if k >= 0:
            seconds[nodes, kind].append([answers[name].seconds for name in learners])
    rows = []
    for (nodes, kind), many in seconds.items():
        taken = np.array(many)
        row = [nodes, kind, len(taken), *(f"{s:.2f}" for s in np.median(taken, axis=0))]
        if len(learners) == 2:
            ratio = taken[:, 0] / taken[:, 1]
            total = taken[:, 0].sum() / taken[:, 1].sum()
            row += [f"**{np.median(ratio):.2f}**", f"{ratio.min():.2f} to {ratio.max():.2f}", f"{total:.2f}"]
        rows.append(row)
    head = ["d", "tables", "number", *(f"{name}, median s" for name in learners)]
    head += ["ratio, median", "ratio, range", "ratio of the sums"] if len(learners) == 2 else []
    return f"### Cost of a default fit, processor seconds, one thread\n\n{markdown(head, rows)}\n*{machine()}.*\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost", description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--nodes", default="10,20,40", help="of 10, 20, 25, 30, 40")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tables", type=int, default=6, help="of each kind and size")
    parser.add_argument("--seed", type=int, default=90)
    asked = parser.parse_args()
    if asked.answers or asked.processes != 1:
        parser.error("times are measured, one table at a time: leave --answers and --processes out")
    print(report(asked))


if __name__ == "__main__":
    main()
