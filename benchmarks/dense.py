"""The paper's dense tables, printed recipe: orders, rankings and graphs of the present and the former learner.

``python -m benchmarks.dense --former CHECKOUT --sizes d10,d20,d40 --seeds 90-92`` prints, for each size and scale and
the mean of the models:

order SID    SID of the complete DAG of ``causal_order_``
AuPR         of the ranked probabilities
F1, SID      of the default graph
SID, dense   of the graph with ``density="dense"``, the loss under which a missing edge costs more (a second fit)

and what is asked: order SID and AuPR at most 5 % worse than the former's, F1 better, SID of the dense graph at most 5 %
worse than SID of the former's default graph. "Chance" is the SID of random complete DAGs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np

from benchmarks.side_by_side import Answer, Task, add_arguments, as_seeds, ask_all, checkouts, markdown
from benchmarks.tables import PAPER_MODELS, paper_table

SCALES = ("raw", "standardised")
MEASURES = ("order SID", "AuPR", "F1", "SID", "SID, dense")
#: How much worse than the former's an answer may be.
ALLOWED = 0.05
#: Random complete DAGs for the SID of chance.
RANDOM = 20


def measures(truth: np.ndarray, answer: Answer) -> dict[str, float]:
    from dagtune.graph import complete
    from dagtune.metrics import aupr, f1, sid

    return {
        "order SID": float(sid(truth, complete(answer.order))),
        "AuPR": float(aupr(truth, answer.probability)),
        "F1": float(np.nan_to_num(f1(truth, answer.graph))),
        "SID": float(sid(truth, answer.graph)),
        "seconds": answer.seconds,
    }


def chance(truth: np.ndarray, seed: int) -> float:
    """Mean SID of random complete DAGs."""
    from dagtune.graph import complete
    from dagtune.metrics import sid

    rng = np.random.default_rng(seed)
    return float(np.mean([sid(truth, complete(rng.permutation(len(truth)))) for _ in range(RANDOM)]))


#: size, scale, model -> learner -> measure -> one number a seed
Found = dict[tuple[str, str, str], dict[str, dict[str, list[float]]]]


def run(asked: argparse.Namespace) -> Found:
    """All numbers that were asked for; learners take turns on each table."""
    from dagtune.metrics import sid

    densities = ({}, {"density": "dense"}) if asked.dense_fit else ({},)
    tasks = [
        Task(
            (size, scale, model, seed, bool(options)),
            lambda model=model, size=size, seed=seed, scale=scale: paper_table(
                model, size, seed, standardize=scale == "standardised"
            )[0].to_numpy(),
            options,
        )
        for size, scale, seed, model, options in product(
            asked.sizes.split(","), asked.scales.split(","), as_seeds(asked.seeds), asked.models.split(","), densities
        )
    ]
    found: Found = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for task, answers in ask_all(tasks, asked):
        size, scale, model, seed, dense = task.name
        truth = paper_table(model, size, seed, standardize=False)[1]
        cell = found[size, scale, model]
        for learner, answer in answers.items():
            if dense:
                cell[learner]["SID, dense"].append(float(sid(truth, answer.graph)))
            else:
                for name, value in measures(truth, answer).items():
                    cell[learner][name].append(value)
        if not dense:
            cell["chance"]["SID"].append(chance(truth, seed))
    return found


# --- what they say --------------------------------------------------------------------------------------------------


def mean(found: Found, size: str, scale: str, models: list[str], learner: str, measure: str) -> float:
    """Over the tables of each model, then over the models."""
    cells = [found[size, scale, model][learner].get(measure, [np.nan]) for model in models]
    return float(np.mean([np.mean(cell) for cell in cells]))


def judged(value: dict[tuple[str, str], float]) -> str:
    """What is not as asked, in words; empty if all is."""
    wanted = {
        "order SID": value["present", "order SID"] <= (1 + ALLOWED) * value["former", "order SID"],
        "AuPR": value["present", "AuPR"] >= (1 - ALLOWED) * value["former", "AuPR"],
        "F1": value["present", "F1"] > value["former", "F1"],
        "SID, dense": value["present", "SID, dense"] <= (1 + ALLOWED) * value["former", "SID"],
    }
    missed = [name for name, holds in wanted.items() if not holds and not np.isnan(value["present", name])]
    return ", ".join(missed) or "as asked"


def render(found: Found, asked: argparse.Namespace) -> str:
    learners, models = list(checkouts(asked)), asked.models.split(",")
    rows, parts = [], []
    for size, scale in product(asked.sizes.split(","), asked.scales.split(",")):
        value = {
            (who, what): mean(found, size, scale, models, who, what)
            for who, what in product(learners, (*MEASURES, "seconds"))
        }
        random = mean(found, size, scale, models, "chance", "SID")
        for who in learners:
            row: list[Any] = [size, scale, who, *(value[who, what] for what in (*MEASURES, "seconds"))]
            rows.append([*row, f"{value[who, 'order SID'] / random:.2f}", ""])
        if len(learners) == 2:
            ratios = [f"{value['present', what] / value['former', what]:.2f}" for what in MEASURES[:4]]
            dense = f"{value['present', 'SID, dense'] / value['former', 'SID']:.2f}"
            seconds = f"{value['present', 'seconds'] / value['former', 'seconds']:.1f}"
            rows.append([size, scale, "**ratio**", *ratios, dense, seconds, "", judged(value)])
    head = ["size", "scale", "learner", *MEASURES, "seconds", "order SID / chance", "not as asked"]
    parts += [
        f"### Dense tables of the paper, printed recipe, seeds {asked.seeds}, means over {len(models)} models\n",
        "The ratio of SID, dense is to the former's default graph.\n",
        markdown(head, rows),
    ]
    if len(models) > 1:
        parts.append("Order SID, AuPR, F1 of each model (chance: SID of random complete DAGs):\n")
        lines = []
        for size, scale in product(asked.sizes.split(","), asked.scales.split(",")):
            random = [f"{mean(found, size, scale, [m], 'chance', 'SID'):.0f}" for m in models]
            lines.append([size, scale, "chance", *random])
            lines += [[size, scale, who, *(_three(found, size, scale, m, who) for m in models)] for who in learners]
        parts.append(markdown(["size", "scale", "learner", *models], lines))
    return "\n".join(parts)


def _three(found: Found, size: str, scale: str, model: str, who: str) -> str:
    order, aupr, f1 = (mean(found, size, scale, [model], who, what) for what in MEASURES[:3])
    return f"{order:.0f}, {aupr:.2f}, {f1:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dense", description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--sizes", default="d10,d20,d40", help="of d10, d20, d25, d30, d40")
    parser.add_argument("--scales", default=",".join(SCALES))
    parser.add_argument("--models", default=",".join(PAPER_MODELS))
    parser.add_argument("--seeds", default="0-2", help="such as 90-99; nothing was chosen on 90 to 99")
    parser.add_argument("--no-dense-fit", dest="dense_fit", action="store_false", help='without density="dense"')
    asked = parser.parse_args()
    print(render(run(asked), asked))


if __name__ == "__main__":
    main()
