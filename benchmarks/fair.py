"""An honest comparison: F1, SID, Brier score and time of all methods on tables of generators that are nobody's own.

`python -m benchmarks.fair --seeds 0-9 --methods conditional,cam` runs what is missing and keeps one line a table and
method in benchmarks/results/fair.jsonl.xz; `--show` prints the means, worst rows first. Development seeds are 0 to 89;
seeds 90 to 99 are reported, once. `--former CHECKOUT` adds the method "former", the conditional learner of another
checkout; `--judge` says what is not as asked (benchmarks.judge).

Core: ten nodes, twenty edges, 1000 rows, all mechanisms on all scales. Elsewhere one factor at a time is varied on
four mechanisms. A method that gives a class of graphs is scored by a random member of it; a method without
probabilities has the Brier score of its 0/1 graph.
"""

from __future__ import annotations

import argparse
import json
import lzma
import multiprocessing
import multiprocessing.util
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generators import MECHANISMS, SCALES, Setting
from benchmarks.side_by_side import HERE, Learner

KEPT = Path(__file__).parent / "results" / "fair.jsonl.xz"
RIVALS = ("boss", "grasp", "ges", "pc", "direct-lingam", "cam", "npvar", "score", "nogam")
CONTROLS = ("sortnregress", "r2-sortnregress", "random-complete", "empty")
METHODS = ("conditional", "former", *RIVALS, *CONTROLS)
#: Not part of `--methods all`: a quarter of a minute a table.
SLOW = ("nogam",)
#: Development, and what is reported.
CHOSEN_ON, REPORTED = range(90), range(90, 100)
FEW = ("linear-gaussian", "linear-uniform", "additive-gp", "network")
#: For the question whether d = 100 is as good as d = 50.
LARGE = ("linear-uniform", "additive-gp", "sigmoid")
#: Seconds after which a method counts as not finished.
LIMIT = 600.0


def settings() -> dict[str, list[Setting]]:
    """The parts of the benchmark by name."""
    base = [Setting(name, "standardised") for name in FEW]
    return {
        "core": [Setting(name, scale) for name in MECHANISMS for scale in SCALES],
        "rows-200": [Setting(name, scale, rows=200) for name in MECHANISMS for scale in SCALES],
        "rows-5000": [replace(one, rows=5000) for one in base],
        "degree-1": [replace(one, degree=1) for one in base],
        "degree-4": [replace(one, degree=4) for one in base],
        "scale-free": [replace(one, graph="sf") for one in base],
        "nodes-5": [replace(one, nodes=5, degree=1) for one in base],
        "nodes-20": [replace(one, nodes=20) for one in base],
        "nodes-50": [replace(one, nodes=50) for one in base],
        "nodes-100": [replace(one, nodes=100) for one in base],
        **{f"large-{d}": [Setting(m, scale, nodes=d) for m in LARGE for scale in SCALES[:2]] for d in (50, 100)},
    }


# --- one table, one method ------------------------------------------------------------------------------------------


#: Checkouts of the versions of the conditional learner, and the processes that answer for them.
_CHECKOUTS: dict[str, str | Path] = {"conditional": HERE}
_OPEN: dict[str, Learner] = {}


def _prepare(former: str | None) -> None:
    """In each process of the pool: where the former learner is, and that its process ends with this one."""
    if former is not None:
        _CHECKOUTS["former"] = former
    multiprocessing.util.Finalize(None, lambda: [learner.__exit__() for learner in _OPEN.values()], exitpriority=1)


def _learn(method: str, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Graph, edge probabilities and processor seconds of a method; one thread."""
    seed = int(rng.integers(2**31))
    if method in _CHECKOUTS:  # both versions are asked in the same way, in processes of their own
        if method not in _OPEN:
            _OPEN[method] = Learner(_CHECKOUTS[method])
        answer = _OPEN[method].ask(X, random_state=seed, time_limit=LIMIT)
        return answer.graph, answer.probability, answer.seconds
    from dagtune.learners import METHODS as ALL

    began = time.process_time()
    fit = ALL[method].run(X, seed=seed, threads=1, time_limit=LIMIT)
    graph = fit.graph if fit.cpdag is None else _random_member(fit.cpdag, fit.graph, rng)
    seconds = time.process_time() - began
    return graph, graph.astype(np.float64) if fit.scores is None else fit.scores, seconds


def _random_member(cpdag: np.ndarray, otherwise: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A DAG of the class, its nodes taken in a random order; the library's own answer if the class has no member."""
    from dagtune.baselines.pdag import consistent_extension

    mixed = rng.permutation(len(cpdag))
    dag = consistent_extension(np.ascontiguousarray(cpdag[np.ix_(mixed, mixed)]))
    if dag is None:
        return otherwise
    back = np.argsort(mixed)
    return dag[np.ix_(back, back)]


def cell(job: tuple[Setting, int, str]) -> dict[str, Any]:
    """One line of the results."""
    from dagtune.metrics import brier, calibration, f1, sid
    from dagtune.parallel import one_blas_thread

    setting, seed, method = job
    X, truth = setting.draw(seed)
    began = time.monotonic()
    kept: dict[str, Any] = {**asdict(setting), "seed": seed, "method": method}
    with one_blas_thread():
        try:
            graph, probability, seconds = _learn(method, X, np.random.default_rng([seed, 7]))
        except Exception as error:  # a method that fails has the empty graph's score
            kept["trouble"] = f"{type(error).__name__}: {error}"[:200]
            graph, probability, seconds = np.zeros_like(truth), np.zeros(truth.shape), time.monotonic() - began
        kept["seconds"] = round(seconds, 3)
    bins = calibration(truth, probability)
    kept |= {
        "f1": round(float(np.nan_to_num(f1(truth, graph))), 4),
        "sid": int(sid(truth, graph)),
        "brier": round(brier(truth, probability), 5),
        "edges": int(graph.sum()),
        "bins": [[int(c), round(float(c and s), 4), round(float(c and r), 4)]
                 for c, s, r in zip(bins.count, bins.said, bins.right)],
    }  # fmt: skip
    return kept


# --- many -----------------------------------------------------------------------------------------------------------


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in lzma.open(KEPT, "rt")] if KEPT.exists() else []


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(record[name] for name in ("mechanism", "scale", "nodes", "degree", "rows", "graph", "seed", "method"))


def run(asked: argparse.Namespace, seeds: Iterable[int], methods: Iterable[str]) -> None:
    """Run what is not kept yet (with ``--again`` everything asked for); saved every minute."""
    known = {_key(record): record for record in read()}
    wanted = [
        (setting, seed, method)
        for part in asked.parts.split(",")
        for setting in settings()[part]
        for seed in seeds
        for method in methods
        if asked.again or _key({**asdict(setting), "seed": seed, "method": method}) not in known
    ]
    print(f"{len(wanted)} cells to run", flush=True)
    with multiprocessing.get_context("spawn").Pool(asked.jobs, _prepare, (asked.former,)) as pool:
        saved = time.monotonic()
        for done, record in enumerate(pool.imap_unordered(cell, wanted), 1):
            known[_key(record)] = record
            if time.monotonic() - saved > 60 or done == len(wanted):
                _save(known.values())
                saved = time.monotonic()
                print(f"  {done} of {len(wanted)}", flush=True)
        pool.close()
        pool.join()


def _save(records: Iterable[dict[str, Any]]) -> None:
    part = KEPT.with_name(KEPT.name + ".part")
    with lzma.open(part, "wt") as file:
        for record in sorted(records, key=_key):
            file.write(json.dumps(record) + "\n")
    os.replace(part, KEPT)


# --- what they say --------------------------------------------------------------------------------------------------


def rows(
    records: list[dict[str, Any]], part: str, seeds: Iterable[int], of: str = "conditional"
) -> Iterator[dict[str, Any]]:
    """One row a setting: mean F1 of each method, and how far ``of`` is behind the best rival on tables both have."""
    seeds = set(seeds)
    for setting in settings()[part]:
        mine = [r for r in records if r["seed"] in seeds and all(r[k] == v for k, v in asdict(setting).items())]
        by_method: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        for record in mine:
            by_method[record["method"]][record["seed"]] = record
        if of not in by_method:
            continue
        row: dict[str, Any] = {"setting": setting, "methods": {}}
        for method, found in by_method.items():
            row["methods"][method] = {
                name: float(np.mean([one[name] for one in found.values()]))
                for name in ("f1", "sid", "brier", "seconds")
            } | {"tables": len(found)}
        gaps = {
            name: np.array([found[s]["f1"] - by_method[of][s]["f1"] for s in sorted(set(found) & set(by_method[of]))])
            for name, found in by_method.items()
            if name in RIVALS and set(found) & set(by_method[of])
        }
        if gaps:
            best = max(gaps, key=lambda name: gaps[name].mean())
            gap = gaps[best]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            row |= {"best": best, "behind": float(gap.mean()), "error": float(error)}
        yield row


def of_part(
    records: list[dict[str, Any]], part: str, seeds: Iterable[int], method: str, mechanisms: Iterable[str] = MECHANISMS
) -> list[dict[str, Any]]:
    """The lines of a method on the tables of a part."""
    seeds, names = set(seeds), {tuple(asdict(one).values()) for one in settings()[part] if one.mechanism in mechanisms}
    return [
        r
        for r in records
        if r["seed"] in seeds and r["method"] == method and tuple(r[k] for k in asdict(Setting("x"))) in names
    ]


def pooled_bins(some: list[dict[str, Any]]) -> np.ndarray:
    """(10, 3): ordered pairs, said and right, over all lines."""
    bins = np.array([r["bins"] for r in some])
    count = bins[:, :, 0].sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.column_stack([count, *((bins[:, :, 0] * bins[:, :, k]).sum(axis=0) / count for k in (1, 2))])


def show(part: str, seeds: Iterable[int], of: str = "conditional") -> str:
    """The part as a table, worst rows first, then means and calibration."""
    records = read()
    found = sorted(rows(records, part, seeds, of), key=lambda row: -row.get("behind", -1.0))
    if not found:
        return f"nothing kept of {part} by {of}"
    names = [name for name in METHODS if any(name in row["methods"] for row in found)]
    lines = [
        f"### {part}\n",
        "| mechanism | scale | behind best | " + " | ".join(names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    for row in found:
        setting = row["setting"]
        cells = [f"{row['methods'][name]['f1']:.2f}" if name in row["methods"] else "" for name in names]
        behind = f"{row['behind']:+.3f} ± {row['error']:.3f} {row['best']}" if "best" in row else ""
        lines.append(f"| {setting.mechanism} | {setting.scale} | {behind} | " + " | ".join(cells) + " |")
    for name, digits in (("f1", 3), ("sid", 1), ("brier", 4), ("seconds", 2)):
        means = [np.mean([row["methods"][m][name] for row in found if m in row["methods"]]) for m in names]
        lines.append(f"| mean {name} | | | " + " | ".join(f"{mean:.{digits}f}" for mean in means) + " |")
    lines.append(f"\n{of}, ordered pairs by what was said: said / right (pairs)")
    bins = pooled_bins(of_part(records, part, seeds, of))
    lines.append(", ".join(f"{said:.2f} / {right:.2f} ({count:.0f})" for count, said, right in bins if count))
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fair", description=__doc__)
    parser.add_argument("--parts", default="core")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--methods", default="conditional")
    parser.add_argument("--again", action="store_true", help="run cells that are kept already, too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--former", metavar="PATH", help="checkout of the former learner, to run the method former")
    parser.add_argument("--of", default="conditional", help="whom tables and judgement are about")
    parser.add_argument("--judge", action="store_true", help="say what is not as asked, instead of the tables")
    parser.add_argument("--show", action="store_true", help="only print what is kept")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    methods = asked.methods.split(",")
    if asked.methods == "all":
        methods = [name for name in METHODS if name not in SLOW and (name != "former" or asked.former)]
    if "former" in methods and not asked.former and not asked.show:
        parser.error("the former learner needs its checkout: --former PATH")
    if not asked.show:
        run(asked, seeds, methods)
    for part in asked.parts.split(","):
        if asked.judge:
            from benchmarks.judge import judge

            print(judge(part, seeds, asked.of))
        else:
            print(show(part, seeds, asked.of))


if __name__ == "__main__":
    main()
