"""`dagtune compare`: several methods on one table, where they agree, and how good they are if the truth is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.methods import method_names
from dagtune.cli.options import (
    METHOD,
    Columns,
    Drop,
    Force,
    Jobs,
    Json,
    Missing,
    Quiet,
    Seed,
    Sep,
    Spreadsheet,
    Standardize,
    TableFile,
    Truth,
)
from dagtune.cli.terminal import Talk
from dagtune.learners import METHODS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dagtune.progress import Progress
    from dagtune.tables import Table

__all__ = ["register"]

#: What is compared unless methods are named.
DEFAULT = "conditional,ot,ges,notears-linear,cam"


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("compare", epilog="Example: dagtune compare data.csv --methods conditional,ges,cam --time-limit 60")(
        compare
    )


def compare(
    data: TableFile,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="a,b,c, or all (docs/baselines.md lists them).",
            rich_help_panel=METHOD,
            autocompletion=method_names,
        ),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit for each method.", rich_help_panel=METHOD)
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    sep: Sep = None,
    columns: Columns = None,
    drop: Drop = None,
    missing: Missing = "error",
    standardize: Standardize = False,
    truth: Truth = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the tables and graphs.")] = None,
    spreadsheet: Spreadsheet = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods on one table: their graphs side by side, where they agree, which edges most find."""
    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress() as tell:
        tell("starting", 0.0)  # before anything heavy loads
        from dagtune.cli.compiling import compiling_shown
        from dagtune.cli.files import refuse_taken
        from dagtune.cli.reading import read_data, read_truth, standardized
        from dagtune.validation import InputError

        chosen = _methods(methods or [DEFAULT])
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"--time-limit is a positive number of seconds, not {time_limit:g}")
        if out is not None:
            refuse_taken(out, force=force)
        table = read_data(data, tell, sep=sep, columns=columns, drop=drop, missing=missing)
        table = standardized(table) if standardize else table
        true = None if truth is None else read_truth(truth, table.names)
        with compiling_shown(tell):
            attempts = [_attempt(name, table, true, time_limit, seed, jobs, tell) for name in chosen]
    compared = Compared(list(table.names), attempts, true)
    if out is not None:
        _write(compared, out, force=force, spreadsheet=spreadsheet)
    _summarize(compared, talk)
    talk.give(compared.as_dict())
    if not compared.graphs:
        raise InputError("no method gave a graph: the table above says why; choose others by --methods")


@dataclass(frozen=True)
class Attempt:
    """What one method did: its boolean graph and measures, or why there is none."""

    method: str
    seconds: float
    graph: np.ndarray | None = None
    trouble: str = ""
    scores: dict[str, float] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compared:
    """All attempts on one table; ``A[i, j]`` means ``i -> j``."""

    names: list[str]
    attempts: list[Attempt]
    truth: pd.DataFrame | None

    @property
    def graphs(self) -> dict[str, np.ndarray]:
        """The graphs of the methods that gave one."""
        return {attempt.method: attempt.graph for attempt in self.attempts if attempt.graph is not None}

    def agreement(self) -> tuple[np.ndarray, np.ndarray]:
        """For each two of m graphs, the share of their directed edges that both have, and their SHD: two (m, m) arrays.

        Two empty graphs have everything in common.
        """
        import numpy as np

        from dagtune.metrics import shd

        graphs = list(self.graphs.values())
        shares = np.ones((len(graphs), len(graphs)))
        apart = np.zeros((len(graphs), len(graphs)), dtype=int)
        for a, first in enumerate(graphs):
            for b, second in enumerate(graphs):
                either = int((first | second).sum())
                shares[a, b] = int((first & second).sum()) / either if either else 1.0
                apart[a, b] = shd(first, second)
        return shares, apart

    def consensus(self) -> list[tuple[str, str, int, int]]:
        """(cause, effect, methods with the edge, methods with its reverse), where most methods have the edge.

        Methods of chance have no vote.
        """
        import numpy as np

        voters = [graph for name, graph in self.graphs.items() if not METHODS[name].chance]
        if len(voters) < 2:
            return []
        votes = np.sum(voters, axis=0)
        found = [
            (self.names[i], self.names[j], int(votes[i, j]), int(votes[j, i]))
            for i, j in np.argwhere(2 * votes > len(voters))
        ]
        return sorted(found, key=lambda edge: (-edge[2], edge[3]))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        shares, apart = self.agreement()
        return {
            "names": self.names,
            "methods": [
                {
                    "method": attempt.method,
                    "seconds": attempt.seconds,
                    "edges": None
                    if attempt.graph is None
                    else [[self.names[i], self.names[j]] for i, j in zip(*attempt.graph.nonzero())],
                    "trouble": attempt.trouble,
                    "scores": attempt.scores,
                    "notes": list(attempt.notes),
                }
                for attempt in self.attempts
            ],
            "agreement": {"methods": list(self.graphs), "share_in_common": shares.tolist(), "shd": apart.tolist()},
            "consensus": [
                {"cause": cause, "effect": effect, "votes": votes, "reverse": reverse}
                for cause, effect, votes, reverse in self.consensus()
            ],
        }


# --- running ----------------------------------------------------------------------------------------------------------


def _methods(given: Sequence[str]) -> list[str]:
    """Method names, each once; "all" is every method that needs no further package."""
    from dagtune.validation import check_choice

    chosen: dict[str, None] = {}
    for name in (part.strip() for text in given for part in text.split(",")):
        if name == "all":
            chosen |= {name: None for name, method in METHODS.items() if not method.needs}
        else:
            chosen[check_choice("method", name, METHODS)] = None
    return list(chosen)


def _attempt(
    name: str,
    table: Table,
    truth: pd.DataFrame | None,
    time_limit: float | None,
    seed: int,
    jobs: int | None,
    tell: Progress,
) -> Attempt:
    """Run one method; whatever stops it becomes a line in the table."""
    from dagtune.baselines import TimeLimitError
    from dagtune.metrics import evaluate

    tell(name, 0.0)
    started = time.monotonic()
    try:
        fit = METHODS[name].run(
            table, seed=seed, threads=jobs, time_limit=time_limit, progress=lambda phase, share: tell(name, share)
        )
    except TimeLimitError:
        return Attempt(name, time.monotonic() - started, trouble=f"no answer within {time_limit:g} s")
    except ImportError as error:
        return Attempt(name, time.monotonic() - started, trouble=str(error))
    except Exception as error:  # a method that fails is a result of the comparison
        return Attempt(name, time.monotonic() - started, trouble=f"failed: {type(error).__name__}: {error}")
    seconds = time.monotonic() - started
    scores = None if truth is None else evaluate(truth, fit.graph).as_dict()
    return Attempt(name, seconds, fit.graph, scores=scores, notes=(*fit.notes, *fit.warnings))


# --- telling ----------------------------------------------------------------------------------------------------------


def _table(compared: Compared) -> tuple[list[str], list[list[Any]]]:
    """Header and one row for each method."""
    measures = ["sid", "shd", "f1", "skeleton_f1", "aupr"] if compared.truth is not None else []
    rows: list[list[Any]] = []
    for attempt in compared.attempts:
        edges = "" if attempt.graph is None else int(attempt.graph.sum())
        scores = [attempt.scores[name] if attempt.scores else "" for name in measures]
        rows.append([attempt.method, round(attempt.seconds, 3), edges, *scores, attempt.trouble])
    return ["method", "seconds", "edges", *measures, "trouble"], rows


def _summarize(compared: Compared, talk: Talk) -> None:
    from dagtune.cli.terminal import columns_of_text
    from dagtune.text import printable

    header, rows = _table(compared)
    shown = [[_cell(cell) for cell in row] for row in rows]
    for line in columns_of_text([header, *shown], right=range(1, len(header) - 1)):
        talk.say(printable(line))
    names = list(compared.graphs)
    if len(names) > 1:
        shares, apart = compared.agreement()
        talk.say("\nAgreement: share of directed edges in common, and (SHD)")
        cells = [["", *names]]
        cells += [
            [name, *(f"{shares[a, b]:.2f} ({apart[a, b]})" for b in range(len(names)))] for a, name in enumerate(names)
        ]
        for line in columns_of_text(cells, right=range(1, len(names) + 1)):
            talk.say(f"  {line}")
    edges = compared.consensus()
    if edges:
        talk.say("\nEdges that most methods find (and how many find the reverse)")
        lines = [
            [f"{printable(cause)} -> {printable(effect)}", str(votes), f"({back})"]
            for cause, effect, votes, back in edges
        ]
        for line in columns_of_text(lines, right=(1, 2)):
            talk.say(f"  {line}")
    elif len(names) > 1:
        talk.say("\nNo edge is found by most methods.")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.2f}"
    return str(value)


def _write(compared: Compared, out: Path, *, force: bool, spreadsheet: bool) -> None:
    """The tables as CSV, and the graph of each method."""
    from dagtune.cli.files import whole_folder, write_graph, write_rows
    from dagtune.graph import to_frame

    names = list(compared.graphs)
    shares, apart = compared.agreement()
    pairs = [
        [first, second, shares[a, b].item(), int(apart[a, b])]
        for a, first in enumerate(names)
        for b, second in enumerate(names)
    ]
    with whole_folder(out, force=force) as part:
        write_rows(part / "methods.csv", *_table(compared), spreadsheet=spreadsheet)
        write_rows(
            part / "agreement.csv", ["method", "other", "share_in_common", "shd"], pairs, spreadsheet=spreadsheet
        )
        write_rows(
            part / "consensus.csv",
            ["cause", "effect", "votes", "reverse"],
            compared.consensus(),
            spreadsheet=spreadsheet,
        )
        for name, graph in compared.graphs.items():
            write_graph(part / f"{name}.csv", to_frame(graph, compared.names), spreadsheet=spreadsheet)
