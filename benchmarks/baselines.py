"""Every registered baseline at the paper's dense sizes, one seed; and our GES beside the package `ges`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from benchmarks.measure import in_child, seconds_of

SIZES = ("d10", "d20", "d40")
MODEL, SEED = "mlp100", 0

#: Seconds a method may take; a time-out is a row too.
LIMITS = {"ges": 1800.0, "notears-mlp": 1800.0}
LIMIT = 600.0


def row(method: str, size: str) -> dict[str, Any]:
    """One method on one table: its time on the clock and on the processor, its flags, and how it scored."""
    import numpy as np

    from dagtune.baselines import BASELINES, LEARNERS, TimeLimitError
    from dagtune.metrics import f1, sid, sid_bounds
    from dagtune.simulate import SIZES, random_dag, sample

    nodes, edges, rows = SIZES[size].nodes, SIZES[size].edges, SIZES[size].rows
    graph = random_dag(nodes, edges, rng=SEED)
    X = sample(graph, MODEL, n=rows, rng=SEED)
    found: dict[str, Any] = {"method": method, "nodes": nodes, "edges": edges, "rows": rows}
    BASELINES[method](np.random.default_rng(0).normal(size=(60, 3)), rng=0)  # compiled and imported now
    start, cpu = time.perf_counter(), time.process_time()
    try:
        if method in LEARNERS:
            learned = LEARNERS[method](X, rng=SEED, time_limit=LIMITS.get(method, LIMIT))
            guess, cpdag, converged, notes = learned.graph, learned.cpdag, bool(learned.converged), list(learned.notes)
        else:
            guess, cpdag, converged, notes = BASELINES[method](X, rng=SEED), None, True, []
    except TimeLimitError as error:
        return {**found, "timed_out": True, "converged": False, "seconds": error.seconds, "notes": [str(error)]}
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    bounds = None if cpdag is None else sid_bounds(graph, cpdag, rng=SEED)
    return {
        **found,
        "timed_out": False,
        "converged": converged,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "sid_of_class": None if bounds is None else [int(bounds.lower), int(bounds.upper)],
        "guessed": int(guess.sum()),
        "sid": int(sid(graph, guess)),
        "f1": float(f1(graph, guess)),
        "notes": notes,
    }


def beside_package_ges() -> dict[str, Any]:
    """Our GES and the package `ges` take turns on 14 nodes, 40 edges, 400 rows; the same CPDAG is asked of both."""
    import ges

    from dagtune.baselines.ges import learn_ges
    from dagtune.simulate import random_dag, sample

    X = sample(random_dag(14, 40, rng=SEED), MODEL, n=400, rng=SEED).to_numpy()
    same = bool((learn_ges(X).cpdag == ges.fit_bic(X)[0].astype(bool)).all())
    ours, theirs = seconds_of(lambda: learn_ges(X), lambda: ges.fit_bic(X), repeats=5)
    return {"ours": ours, "package": theirs, "ratio": theirs / ours, "same": same}


def measure(sizes: Iterable[str] = SIZES, methods: Iterable[str] | None = None) -> dict[str, Any]:
    """A row for every method at every size, each in a process of its own; half an hour, most of it NOTEARS-MLP."""
    from dagtune.baselines import BASELINES

    rows = []
    for size in sizes:
        for method in methods or BASELINES:
            rows.append(in_child(row, method, size))
            print(f"  {method} {size}: {_cell(rows[-1])}", flush=True)
    return {"model": MODEL, "seed": SEED, "rows": rows, "ges": in_child(beside_package_ges)}


def render(found: dict[str, Any]) -> str:
    """The section of BENCHMARKS.md: one line for each method, one column for each size."""
    sizes = sorted({(one["nodes"], one["edges"], one["rows"]) for one in found["rows"]})
    cells = {(one["method"], one["nodes"]): _cell(one) for one in found["rows"]}
    methods = list(dict.fromkeys(one["method"] for one in found["rows"]))
    lines = [
        "## The baselines\n",
        f"Model `{found['model']}` (printed recipe), seed {found['seed']}, each method at its defaults, in a process "
        "of its own: processor seconds (seconds on the clock) and SID. A method that stops at a cap is marked; a "
        "time-out has no graph and so no score.\n",
        "| method | " + " | ".join(f"d = {d}, {edges} edges, n = {rows}" for d, edges, rows in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    lines += [
        f"| `{method}` | " + " | ".join(cells.get((method, d), "") for d, _, _ in sizes) + " |" for method in methods
    ]
    pair = found["ges"]
    same = "the same CPDAG" if pair["same"] else "ANOTHER CPDAG"
    lines.append(
        f"\n`ges` beside the package `ges`, d = 14, 40 edges, n = 400: {pair['ours']:.3f} s and "
        f"{pair['package']:.2f} s, **{pair['ratio']:.0f}** times faster, {same} (medians of 5, taking turns).\n"
    )
    return "\n".join(lines)


def _cell(one: dict[str, Any]) -> str:
    if one["timed_out"]:
        return f"time-out after {one['seconds']:.0f} s"
    flag = "" if one["converged"] else ", not converged"
    low_high = "" if one["sid_of_class"] is None else " (its class {} to {})".format(*one["sid_of_class"])
    score = f"F1 {one['f1']:.2f}" if one["sid"] is None else f"SID {one['sid']}"
    told = "".join(f"; {note}" for note in one["notes"] if one["sid"] is None)
    return f"{one['cpu_seconds']:.2f} s ({one['seconds']:.2f}), {score}{low_high}{flag}{told}"
