"""What the page shows, as JSON values: nodes are positions, and one list holds their names, already escaped."""

from __future__ import annotations

import datetime
import inspect
import json
import os
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from dagtune import graph, metrics
from dagtune.layout import NODE_HEIGHT, Layout, lay_out
from dagtune.learners import LEARNERS
from dagtune.report.decision import CLOSE, decision_content, number, table
from dagtune.result import Change, Result
from dagtune.tables import KINDS, Table, as_frame, read_table
from dagtune.text import short_label, shown
from dagtune.validation import InputError

__all__ = ["page_content"]

_PACKAGES = ("dagtune", "numpy", "scipy", "scikit-learn", "pandas", "networkx", "numba")
_BARS = 24
#: How many random complete DAGs are scored.
_DRAWS = 20


def page_content(
    result: Result,
    *,
    data: Any = None,
    dependence: Any = None,
    confidence: Any = None,
    audit: Any = None,
    truth: Any = None,
    title: str = "",
    command: str = "",
) -> dict[str, Any]:
    """Everything on the page, by the names that page.js reads; parameters as in :func:`dagtune.report.write_report`."""
    true = None if truth is None else _aligned_truth(truth, result)
    ever = np.any([*result.history.values(), *([] if true is None else [true])], axis=0)
    if result.probability is not None:  # what is likely enough to be asked about has a line
        ever |= np.triu(result.probability + result.probability.T >= CLOSE, 1) & ~ever.T
    labels = [short_label(name) for name in result.names]
    layout = lay_out(result.matrix, labels, also=ever)
    return {
        "title": title or "A learned causal graph",
        "written": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "names": [shown(name) for name in result.names],
        "labels": labels,
        "order": [result.names.index(name) for name in result.causal_order],
        "layout": _layout(layout),
        "phases": [{"name": phase, "edges": _pairs(matrix)} for phase, matrix in result.history.items()],
        "strengthWords": result.strength_words,
        "probabilityWords": shown(result.probability_words) if result.probability_words else "",
        "trackRecordWords": shown(result.track_record_words) if result.track_record_words else "",
        **decision_content(result),
        "undecided": [[result.names.index(name) for name in pair] for pair in result.undecided],
        "edges": _edges(result, confidence, true),
        "resamples": None if confidence is None else int(confidence.n_samples),
        **_changes(result),
        "opening": {"words": result.opening_words, "values": table(result.opening)},
        "heat": _heat(result, dependence),
        "columns": _columns(data, result),
        "checks": _checks(result),
        "audit": None if audit is None else _audit(audit),
        "truth": None if true is None else {"edges": _pairs(true), "scores": _scores(true, result)},
        "assumptions": list(map(shown, result.assumptions)),
        "warnings": list(map(shown, result.warnings)),
        "settings": [[shown(key), _setting(value)] for key, value in result.settings.items()],
        "versions": _versions(),
        "command": shown(command) if command else "",
        "rerun": _rerun(result.settings),
        "python": _python(result),
        "dot": result.to_dot(),
    }


def _pairs(matrix: np.ndarray) -> list[list[int]]:
    return np.argwhere(matrix).tolist()


# --------------------------------------------------------------------------------------------------------- the graph


def _layout(layout: Layout) -> dict[str, Any]:
    return {
        "height": NODE_HEIGHT,
        "size": [round(side, 1) for side in layout.size],
        "nodes": [
            [round(float(v), 1) for v in (*centre, width)] for centre, width in zip(layout.positions, layout.widths)
        ],
        "routes": [[i, j, np.round(points).astype(int).ravel().tolist()] for (i, j), points in layout.routes.items()],
    }


def _edges(result: Result, confidence: Any, true: np.ndarray | None) -> list[dict[str, Any]]:
    """The edges of the graph, strongest first, each with its evidence."""
    position = {name: i for i, name in enumerate(result.names)}
    shares = None
    if confidence is not None:
        shares = confidence.probability.reindex(index=list(result.names), columns=list(result.names)).to_numpy()
    stories: dict[frozenset[str], list[Change]] = defaultdict(list)
    came: dict[tuple[str, str], str] = {}
    for change in result.changes:
        stories[frozenset(change.edge)].append(change)
        came[change.edge] = change.phase  # of an edge that is there, the last change put it in
    rows = []
    strongest = result.edges().sort_values("strength", ascending=False, kind="stable")
    for edge in strongest.to_dict("records"):
        cause, effect = edge["cause"], edge["effect"]
        i, j = position[cause], position[effect]
        about = replace(result, changes=tuple(stories[frozenset((cause, effect))]))  # why() reads all changes
        rows.append(
            {
                "cause": i,
                "effect": j,
                "strength": number(edge["strength"]),
                "explained": number(edge.get("explained")),
                "confidence": None if shares is None else number(shares[i, j]),
                "probability": number(edge.get("probability")),
                "reverse": number(edge.get("reverse")),
                "none": number(edge.get("none")),
                "record": number(edge.get("track_record")),
                "came": came.get((cause, effect), result.phases[0]),
                "truth": None if true is None else ("right" if true[i, j] else "reversed" if true[j, i] else "extra"),
                "why": about.why(cause, effect),
            }
        )
    return rows


def _changes(result: Result) -> dict[str, Any]:
    """Every change. Rules and measures are positions in two lists, because they repeat thousands of times."""
    position = {name: i for i, name in enumerate(result.names)}
    phase = {name: k for k, name in enumerate(result.phases)}
    rules: dict[str, int] = {}
    measures: dict[str, int] = {}
    changes = []
    for change in result.changes:
        numbers = [
            [
                measures.setdefault(m.what, len(measures)),
                position[m.child],
                [position[parent] for parent in m.parents],
                f"{m.value:.4g}",
            ]
            for m in change.numbers
        ]
        i, j = (position[name] for name in change.edge)
        rule = rules.setdefault(change.rule, len(rules))
        changes.append(
            [phase[change.phase], change.action, i, j, rule, numbers, [position[name] for name in change.cycle]]
        )
    return {"changes": changes, "rules": list(map(shown, rules)), "measures": list(map(shown, measures))}


def _heat(result: Result, dependence: Any) -> dict[str, Any] | None:
    """The dependence of every pair as measured, or else the numbers that the first phase compared."""
    if dependence is None:
        if not np.isfinite(result.opening).any() or not result.opening.any():
            return None
        return {
            "what": "What the first phase judged each pair by",
            "values": table(result.opening),
            "notes": [],
        }
    where = [list(dependence.names).index(name) for name in result.names if name in dependence.names]
    if len(where) < len(result.names):
        raise InputError("the dependence lacks columns of the result: measure it on the same table")
    return {
        "what": f"HSIC, {shown(dependence.kernel)} kernel, {dependence.n_samples} rows",
        "values": table(dependence.first[np.ix_(where, where)]),
        "notes": list(map(shown, dependence.notes)),
    }


# ---------------------------------------------------------------------------------------------- data, checks, audit


def _columns(data: Any, result: Result) -> list[dict[str, Any]] | None:
    """Kind, counts, range and moments of each column, None if there is no table; the page shows no single row."""
    if data is None:
        if result.workings is None:
            return None
        data = result.workings.table
    if isinstance(data, str | os.PathLike):
        data = read_table(data, infer=True, missing="drop", drop_constant=True)
    kinds = result.settings.get("kinds") or {}
    labels = data.labels if isinstance(data, Table) else {}
    frame = data.to_frame() if isinstance(data, Table) else as_frame(data)
    if frame is None:
        frame = pd.DataFrame(np.asarray(data), columns=list(result.names))
    frame = frame.rename(columns=str)
    missing = [name for name in result.names if name not in frame.columns]
    if missing:
        raise InputError(f"the data lack the column {missing[0]!r} of the result: pass the table it was learned from")
    return [_column(frame[name], labels.get(name, ()), kinds.get(name, "")) for name in result.names]


def _column(column: pd.Series, levels: Sequence[str], kind: str) -> dict[str, Any]:
    if not levels and not pd.api.types.is_numeric_dtype(column.dtype):
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.isna().sum() > column.isna().sum():  # text: its values, the frequent ones first
            levels = [str(value) for value in column.value_counts().index]
            column = column.map(str, na_action="ignore").map({level: code for code, level in enumerate(levels)})
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    known = values[np.isfinite(values)]
    bars = np.histogram(known, bins=_BARS)[0].tolist() if len(known) else []
    about = [known.min(), known.max(), known.mean(), known.std()] if len(known) else [None] * 4
    if levels:
        bars = np.bincount(known.astype(np.intp), minlength=len(levels))[:_BARS].tolist()
    return {
        "kind": KINDS[kind].words if kind in KINDS else "",
        "levels": [shown(level) for level in levels[:_BARS]],
        "bars": bars,
        "missing": len(values) - len(known),
        "distinct": len(np.unique(known)),
        **dict(zip(("least", "most", "mean", "spread"), map(number, about))),
    }


def _checks(result: Result) -> list[dict[str, Any]]:
    return [
        {
            "child": shown(check.child),
            "against": [shown(name) for name in check.against],
            "statistic": number(check.statistic),
            "p": number(check.p_value),
            "holds": bool(check.holds),
            "words": shown(check.words),
        }
        for check in result.checks
    ]


def _audit(audit: Any) -> dict[str, Any]:
    return {
        "rows": int(audit.rows),
        "findings": [
            {
                "code": shown(finding.code),
                "columns": [shown(name) for name in finding.columns],
                "message": shown(finding.message),
                "cure": shown(finding.cure),
                "severity": shown(finding.severity),
            }
            for finding in audit.findings
        ],
    }


# --------------------------------------------------------------------------------------------------------- the truth


def _aligned_truth(truth: Any, result: Result) -> np.ndarray:
    """The true graph with its nodes in the order of the result's; if its nodes have names, they must be the same."""
    names, matrix = graph.names_of(truth), graph.as_matrix(truth)
    if len(matrix) != len(result.names):
        raise InputError(
            f"the truth has {len(matrix)} nodes, the result {len(result.names)}: pass one of these columns"
        )
    if names is None:
        return matrix
    lacking = [name for name in result.names if name not in names]
    if lacking:
        raise InputError(f"the truth has no node {lacking[0]!r}: name its nodes as the columns are named")
    where = [names.index(name) for name in result.names]
    return matrix[np.ix_(where, where)]


def _scores(true: np.ndarray, result: Result) -> list[dict[str, Any]]:
    """Scores of the graph after each phase, and of the empty graph and random ones."""
    rng = np.random.default_rng(0)
    rows = [{"name": f"after {phase}", **_score(true, matrix)} for phase, matrix in result.history.items()]
    drawn = [_score(true, graph.complete(rng.permutation(len(true)))) for _ in range(_DRAWS)]
    mean = {key: _mean([each[key] for each in drawn]) for key in drawn[0]}
    return [
        *rows,
        {"name": "the empty graph", **_score(true, np.zeros_like(true))},
        {"name": f"a random complete DAG (mean of {_DRAWS})", **mean},
    ]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return number(np.mean(known)) if known else None


def _score(true: np.ndarray, guess: np.ndarray) -> dict[str, float | None]:
    return {
        "edges": int(guess.sum()),
        "SID": number(metrics.sid(true, guess, cyclic="parents")),
        "SHD": number(metrics.shd(true, guess)),
        "AuPR": number(metrics.aupr(true, guess)),
        "precision": number(metrics.precision(true, guess)),
        "recall": number(metrics.recall(true, guess)),
        "F1": number(metrics.f1(true, guess)),
    }


# ------------------------------------------------------------------------------------------------------- once more


def _setting(value: Any) -> str:
    return shown(value) if isinstance(value, str) else json.dumps(value)


def _versions() -> list[list[str]]:
    """Versions of everything that the numbers depend on."""
    found = [["Python", platform.python_version()], ["system", platform.platform()]]
    for package in _PACKAGES:
        try:
            found.append([package, metadata.version(package)])
        except metadata.PackageNotFoundError:  # run from a source tree that was never installed
            found.append([package, "not installed as a package"])
    return found


def _rerun(settings: Mapping[str, Any]) -> str:
    """Python that fits the same learner again, or nothing for a learner that is not registered."""
    by_name = {learner.result_name: learner for learner in LEARNERS.values() if learner.result_name}
    learner = by_name.get(settings.get("learner", ""))
    if learner is None:
        return ""
    kind, module = learner.load(), learner.module
    parameters = inspect.signature(kind).parameters
    given = {key: value for key, value in settings.items() if key in parameters and value is not None}
    by_row = [key for key in ("groups", "sample_weight") if given.get(key) == "given"]  # arrays, which nothing keeps
    given = {key: value for key, value in given.items() if key not in by_row}
    more = "".join(f", {key}={key}" for key in by_row)
    if settings.get("seed") is not None:
        given["random_state"] = settings["seed"]
    arguments = "".join(f"    {key}={value!a},\n" for key, value in given.items())
    fit = f".fit(X{more})  # X: the table, or its path"
    return f"import {module}\n\nlearner = {module}.{kind.__name__}(\n{arguments}){fit}\n"


def _python(result: Result) -> str:
    """Python that makes the graph, in ASCII whatever the names of the columns."""
    names = "".join(f"    {name!a},\n" for name in result.names)
    edges = "".join(f"    ({cause!a}, {effect!a}),\n" for cause, effect in graph.edge_list(result.matrix, result.names))
    return (
        "from dagtune.graph import from_edge_list, to_networkx\n\n"
        f"names = [\n{names}]\nedges = [  # (cause, effect)\n{edges}]\n"
        "adjacency = from_edge_list(edges, names)  # 0/1 DataFrame, row causes column\n"
        "network = to_networkx(adjacency)\n"
    )
