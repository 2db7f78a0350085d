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
from dagtune.tables import Table, pick_names, read_adjacency, read_table, standardized
from dagtune.text import printable
from dagtune.validation import InputError

__all__ = ["read_data", "read_knowledge", "read_truth", "standardized"]


#: More memory than any table takes.
_WHOLE = 2**62


def read_data(
    path: Path,
    tell: Progress,
    *,
    missing: str = "error",
    drop_constant: bool = False,
    categorical: Sequence[str] | None = None,
    memory: str | int = _WHOLE,
    **reading: Any,
) -> Table:
    """Read the table of a file, and report how far the reading is; ``reading`` is what ``read_table`` takes.

    Baselines need all rows at once, so a table is read whole unless ``memory`` is given.
    """
    phase = f"reading {path.name}"
    tell(phase, 0.0)
    return read_table(
        path,
        missing=missing,
        drop_constant=drop_constant,
        categorical=categorical or (),
        memory=memory,
        progress=lambda share: tell(phase, share),
        **reading,
    )


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
    *,
    required: Sequence[str] | None = None,
    forbidden: Sequence[str] | None = None,
    tiers: str | None = None,
    prior: Sequence[str] | None = None,
    roots: Sequence[str] | None = None,
) -> Knowledge:
    """Combine the prior knowledge of the file and of the options; refuse names that are not columns."""
    known = Knowledge.of(file)
    if tiers and known.tiers:
        raise InputError("tiers are given in the knowledge file and by --tiers: keep one of the two")
    both = Knowledge(
        required=[*known.required, *(_edge("--required", text, names) for text in required or ())],
        forbidden=[*known.forbidden, *(_edge("--forbidden", text, names) for text in forbidden or ())],
        tiers=_tiers(tiers, names) if tiers else known.tiers,
        prior=[*known.prior, *(_belief(text, names) for text in prior or ())],
        roots=[*known.roots, *pick_names(roots or (), names)],
    )
    both.matrices(names)
    return both


def _tiers(text: str, names: Sequence[str]) -> list[list[str]]:
    """The tiers of "age > dose,size > *"; a star stands for all columns that are in no other tier."""
    parts = [part.strip() for part in text.split(">")]
    found = [pick_names([part], names) if part != "*" else [] for part in parts]
    named = {name for tier in found for name in tier}
    if parts.count("*") > 1:
        raise InputError(f"--tiers {text!r} has two stars: a star stands for all other columns, so keep one")
    return [[name for name in names if name not in named] if part == "*" else tier for part, tier in zip(parts, found)]


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


def _belief(text: str, names: Sequence[str]) -> tuple[str, str, float]:
    """The two columns and the probability of "a->b=0.8"; what follows the last equals sign is the number."""
    edge, equals, number = text.rpartition("=")
    try:
        return (*_edge("--prior", edge if equals else text, names), float(number))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f'--prior takes an edge and a probability, such as "a->b=0.8", not {text!r}: put the number after "="'
        ) from error


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
