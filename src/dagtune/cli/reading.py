"""What the commands read: tables with the columns asked for, graphs, prior knowledge from files and options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagtune.graph import as_matrix, find_cycle, to_frame
from dagtune.knowledge import Knowledge
from dagtune.progress import Progress
from dagtune.tables import Table, pick_names, read_adjacency, read_header, read_table
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["choose_columns", "read_data", "read_knowledge", "read_truth", "standardized"]


def choose_columns(
    path: Path, sep: str | None, columns: Sequence[str] | None, drop: Sequence[str] | None
) -> dict[str, Any]:
    """Arguments of read_table for --sep, --columns and --drop."""
    if not columns and not drop:
        return {"sep": sep}
    header = read_header(path, sep=sep)
    picked = pick_names(columns, header) if columns else None
    return {"sep": sep, "columns": picked, "drop": pick_names(drop or (), header)}


def read_data(
    path: Path,
    tell: Progress,
    *,
    sep: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    missing: str = "error",
    drop_constant: bool = False,
    categorical: Sequence[str] | None = None,
) -> Table:
    """Read the table of a file, and report how far the reading is."""
    phase = f"reading {path.name}"
    tell(phase, 0.0)
    return read_table(
        path,
        missing=missing,
        drop_constant=drop_constant,
        categorical=categorical or (),
        progress=lambda share: tell(phase, share),
        **choose_columns(path, sep, columns, drop),
    )


def standardized(table: Table) -> Table:
    """The table with mean 0 and standard deviation 1 in each column of numbers; categories stay as they are."""
    frame = table.to_frame()
    scaled = (frame - frame.mean()) / frame.std(ddof=0)
    values = np.where(table.quantitative, scaled, frame)
    bad = ~np.isfinite(values).all(axis=0)
    if bad.any():
        raise InputError(
            f"column {table.names[int(bad.argmax())]!r} can't be standardized, its numbers are too large or too small: "
            "rescale it"
        )
    return table.with_values(values)


def read_truth(path: Path, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a true graph, with its nodes in the order of ``names``; refuse a cycle, or other nodes."""
    frame = read_adjacency(path)
    truth = to_frame(as_matrix(frame), frame.columns)
    cycle = find_cycle(truth)
    if cycle is not None:
        around = " -> ".join(truth.columns[list(cycle)])
        raise InputError(f"the graph in {str(path)!r} has a cycle ({around}): a causal graph must not have one")
    if names is None:
        return truth
    strange = sorted(set(truth.columns) ^ set(names))
    if strange:
        where = "the data do not have" if strange[0] in truth.columns else "the graph does not have"
        raise InputError(
            f"the graph in {str(path)!r} and the data differ: {where} {strange[0]!r}; give the same columns"
        )
    return truth.loc[list(names), list(names)]


def read_knowledge(
    names: Sequence[str],
    file: Path | None,
    require: Sequence[str] | None,
    forbid: Sequence[str] | None,
    tiers: str | None,
) -> Knowledge:
    """Combine the prior knowledge of the file and of the options; refuse names that are not columns."""
    known = Knowledge.of(file)
    if tiers and known.tiers:
        raise InputError("tiers are given in the knowledge file and by --tiers: keep one of the two")
    both = Knowledge(
        required=[*known.required, *(_edge("--require", text, names) for text in require or ())],
        forbidden=[*known.forbidden, *(_edge("--forbid", text, names) for text in forbid or ())],
        tiers=[pick_names([tier.strip()], names) for tier in tiers.split(">")] if tiers else known.tiers,
    )
    both.matrices(names)
    return both


def _edge(option: str, text: str, names: Sequence[str]) -> tuple[str, str]:
    """The two columns of "a->b"; a name may contain an arrow if only one way to read the text gives columns."""
    parts = text.split("->")
    splits = [("->".join(parts[:k]), "->".join(parts[k:])) for k in range(1, len(parts))]
    if not splits:
        raise InputError(f'{option} takes an edge such as "a->b", not {text!r}: put an arrow between two columns')
    readings = {
        pair
        for cause, effect in splits
        for pair in ((cause, effect), (cause.strip(), effect.strip()))
        if pair[0] in names and pair[1] in names
    }
    if len(readings) == 1:
        return readings.pop()
    if readings:
        raise InputError(f"{option} {text!r} can be read in several ways: use a knowledge file")
    cause, effect = (side.strip() for side in splits[0])
    stranger = effect if cause in names else cause
    some = ", ".join(map(printable, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError(f"{option} {text!r} names {stranger!r}, which is not a column: the columns are {some}")


def truth_scores(truth: pd.DataFrame, guess: pd.DataFrame, table: Table) -> dict[str, Any]:
    """Compare a learned graph, and graphs drawn by chance, with the true one."""
    from dagtune.baselines import BASELINES, CHANCE
    from dagtune.metrics import evaluate

    guesses = {"learned": guess, **{name: BASELINES[name](table, rng=0) for name in CHANCE}}
    return {name: evaluate(truth, each).as_dict() for name, each in guesses.items()}


def score_rows(scores: dict[str, dict[str, float]]) -> list[list[str]]:
    """The main measures as lines of a small table, one for each graph."""
    rows = [["", "edges", "SID", "SHD", "F1", "skeleton F1", "AuPR"]]
    for name, found in scores.items():
        shares = [found["f1"], found["skeleton_f1"], found["aupr"]]
        counts = [f"{found[key]:.0f}" for key in ("guessed_edges", "sid", "shd")]
        rows.append([name, *counts, *("-" if np.isnan(share) else f"{share:.2f}" for share in shares)])
    return rows
