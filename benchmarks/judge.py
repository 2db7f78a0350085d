"""Is a part of benchmarks.fair as asked? `python -m benchmarks.fair --show --judge --parts core --seeds 90-99`.

Asked: mean F1 at least 0.92 and Brier score at most 0.03 (d = 10, n = 1000); no row behind its best rival by more than
0.03 plus two paired standard errors; raw at most 0.02 behind standardised, paired over the seeds, by mechanism; in bins
of ten per cent with at least 200 ordered pairs said and right within 0.05 or two standard errors (binomial), where a
cell of the model is true; d = 100 within 0.03 of d = 50.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.fair import METHODS, RIVALS, of_part, pooled_bins, read, rows
from benchmarks.side_by_side import markdown

F1, BRIER, BEHIND, RAW, OFF, PAIRS, LARGER = 0.92, 0.03, 0.03, 0.02, 0.05, 200, 0.03
#: Mechanisms that a cell of the score describes, whatever the node: sums, joint functions, other noise, varying spread.
TRUE_CELLS = (
    "linear-gaussian", "linear-uniform", "linear-laplace", "linear-exponential", "additive-gp", "joint-gp", "network",
    "quadratic", "sigmoid", "location-scale",
)  # fmt: skip


def judge(part: str, seeds: Iterable[int], of: str = "conditional") -> str:
    """What is and what is not as asked, in words and tables."""
    records, seeds = read(), list(seeds)
    mine = of_part(records, part, seeds, of)
    if not mine:
        return f"nothing kept of {part} by {of}"
    failed = [line for line in mine if "trouble" in line]
    lines = [
        f"### {of} on {part}, seeds {min(seeds)} to {max(seeds)}: {len(mine)} tables, {len(failed)} failed\n",
        _means(records, part, seeds, of),
        _behind(list(rows(records, part, seeds, of))),
        _raw(mine),
        _calibrated("all mechanisms", mine),
        _calibrated("where a cell is true", of_part(records, part, seeds, of, TRUE_CELLS)),
    ]
    if part == "large-100":
        lines.append(_larger(of_part(records, "large-50", seeds, of), mine))
    return "\n".join(lines)


def _means(records: list[dict[str, Any]], part: str, seeds: list[int], of: str) -> str:
    """Of all methods, over the tables that ``of`` has too; the best first."""
    known = {_table(line) for line in of_part(records, part, seeds, of)}
    found = []
    for method in METHODS:
        some = [line for line in of_part(records, part, seeds, method) if _table(line) in known]
        if some:
            means = [float(np.mean([line[name] for line in some])) for name in ("f1", "brier", "sid", "seconds")]
            found.append([f"**{method}**" if method == of else method, len(some), *means])
    found.sort(key=lambda row: -row[2])
    return markdown(["method", "tables", f"F1 ({F1} asked)", f"Brier ({BRIER} asked)", "SID", "seconds"], found)


def _table(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("mechanism", "scale", "nodes", "degree", "rows", "graph", "seed"))


def _behind(found: list[dict[str, Any]]) -> str:
    judged = [row for row in found if "best" in row]
    if not judged:
        return f"No rival ({', '.join(RIVALS)}) is kept.\n"
    late = [row for row in judged if row["behind"] > BEHIND + 2 * np.nan_to_num(row["error"])]
    told = f"Behind the best rival by more than {BEHIND} + two standard errors: {len(late)} of {len(judged)} rows.\n"
    table = [
        [row["setting"].mechanism, row["setting"].scale, row["best"], row["behind"], row["error"]]
        for row in sorted(late, key=lambda row: -row["behind"])
    ]
    return told + ("\n" + markdown(["mechanism", "scale", "best rival", "behind", "error"], table) if late else "")


def _raw(mine: list[dict[str, Any]]) -> str:
    """Standardised less raw, the same tables otherwise."""
    f1 = {(line["mechanism"], line["scale"], line["seed"]): line["f1"] for line in mine}
    gaps: dict[str, list[float]] = defaultdict(list)
    for (mechanism, scale, seed), value in f1.items():
        if scale == "raw" and (mechanism, "standardised", seed) in f1:
            gaps[mechanism].append(f1[mechanism, "standardised", seed] - value)
    table = [[name, float(np.mean(gap)), _error(gap)] for name, gap in gaps.items() if np.mean(gap) > RAW]
    told = f"Raw behind standardised by more than {RAW}: {len(table)} of {len(gaps)} mechanisms.\n"
    return told + ("\n" + markdown(["mechanism", "behind", "error"], table) if table else "")


def _calibrated(words: str, some: list[dict[str, Any]]) -> str:
    if not some:
        return f"Calibration, {words}: no table.\n"
    table, off = [], 0
    for count, said, right in pooled_bins(some):
        if count >= PAIRS:
            error = float(np.sqrt(said * (1 - said) / count))
            wrong = abs(said - right) > max(OFF, 2 * error)
            off += wrong
            table.append([int(count), f"{said:.3f}", f"{right:.3f}", f"{error:.3f}", "off" if wrong else ""])
    told = f"Calibration, {words}: {off} of {len(table)} bins with {PAIRS} or more ordered pairs are off.\n\n"
    return told + markdown(["pairs", "said", "right", "error", ""], table)


def _larger(small: list[dict[str, Any]], large: list[dict[str, Any]]) -> str:
    """F1 at d = 50 less F1 at d = 100, which are different tables."""
    by: dict[tuple[str, str], tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for k, some in enumerate((small, large)):
        for line in some:
            by[line["mechanism"], line["scale"]][k].append(line["f1"])
    table = []
    for (mechanism, scale), (fifty, hundred) in by.items():
        if fifty and hundred:
            lost = float(np.mean(fifty) - np.mean(hundred))
            error = float(np.hypot(_error(fifty), _error(hundred)))
            means = (float(np.mean(fifty)), float(np.mean(hundred)))
            table.append([mechanism, scale, *means, lost, error, "off" if lost > LARGER else ""])
    return f"d = 100 within {LARGER} of d = 50:\n\n" + markdown(
        ["mechanism", "scale", "F1, d = 50", "F1, d = 100", "lost", "error", ""], table
    )


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
