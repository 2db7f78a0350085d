"""`dagtune compare`: several methods on one table, where they agree, and how good they are if the truth is known."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.differences import are_results, compare_results
from dagtune.cli.methods import method_names
from dagtune.cli.options import (
    METHOD,
    Categorical,
    Columns,
    Decimal,
    Drop,
    DropConstant,
    Encoding,
    Force,
    Header,
    Jobs,
    Json,
    Kinds,
    Missing,
    Na,
    Query,
    Quiet,
    Seed,
    Sep,
    Spreadsheet,
    Standardize,
    TimeLimit,
    Truth,
)
from dagtune.cli.terminal import Talk
from dagtune.learners import METHODS, read_kinds

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dagtune.apart import Apart
    from dagtune.methods import Fit
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
    data: Annotated[
        list[Path], typer.Argument(help="A table as for learn; or two folders that learn wrote.", show_default=False)
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="a,b,c, or all (docs/baselines.md lists them).",
            rich_help_panel=METHOD,
            autocompletion=method_names,
        ),
    ] = None,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Na = None,
    header: Header = None,
    query: Query = None,
    columns: Columns = None,
    drop: Drop = None,
    missing: Missing = "error",
    drop_constant: DropConstant = False,
    kinds: Kinds = None,
    categorical: Categorical = None,
    standardize: Standardize = False,
    truth: Truth = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the tables and graphs.")] = None,
    spreadsheet: Spreadsheet = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods on one table, side by side; or show how two results differ."""
    talk = Talk(quiet=quiet, as_json=as_json)
    if are_results(data):
        compare_results(data, talk)
        return
    with talk.progress() as tell, ExitStack() as held:
        tell("starting", 0.0)  # before anything heavy loads
        from dagtune.cli.compiling import compiling_shown
        from dagtune.cli.files import claimed
        from dagtune.cli.reading import read_data, read_truth, standardized
        from dagtune.validation import InputError

        chosen = _methods(methods or [DEFAULT])
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"--time-limit is a positive number of seconds, not {time_limit:g}")
        if out is not None:
            held.enter_context(claimed(out, force=force))
        table = read_data(
            data[0],
            tell,
            sep=sep,
            decimal=decimal,
            encoding=encoding,
            na=na or (),
            header=header,
            query=query,
            columns=columns or None,
            drop=drop or (),
            missing=missing,
            drop_constant=drop_constant,
            kinds=read_kinds(kinds or []),
            categorical=categorical or (),
        )
        table = standardized(table) if standardize else table
        true = None if truth is None else read_truth(truth, table.names)
        runner = _Runner(table, time_limit, seed, jobs, held)
        with compiling_shown(tell):
            attempts = [_attempt(name, runner, true, tell) for name in chosen]
        compared = Compared(list(table.names), attempts, true)
        if out is not None:
            _write(compared, out, force=force, spreadsheet=spreadsheet)
    _summarize(compared, talk)
    talk.give("compare", compared.as_dict())
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


@dataclass
class _Runner:
    """Runs methods on one table: in a process of their own where there is a time limit, or they are not ours."""

    table: Table
    time_limit: float | None
    seed: int
    jobs: int | None
    held: ExitStack
    apart: Apart | None = None
    alone: bool = False

    def prepare(self, name: str) -> None:
        """Start the process in which a method will run, so that its time does not count."""
        from dagtune.apart import Apart, can_go_apart

        method = METHODS[name]
        self.alone = not (
            (self.time_limit is None and method.ours) or method.chance or not can_go_apart(name, self.table)
        )
        if self.alone:
            self.apart = self.apart or self.held.enter_context(Apart(self.table))
            self.apart.prepare()

    def run(self, name: str, tell: Progress) -> Fit:
        options: dict[str, Any] = {
            "seed": self.seed,
            "threads": self.jobs,
            "time_limit": self.time_limit,
            "progress": lambda phase, share: tell(name, share),
        }
        if self.apart is not None and self.alone:
            return self.apart.run(name, **options)
        return METHODS[name].run(self.table, **options)


def _attempt(name: str, runner: _Runner, truth: pd.DataFrame | None, tell: Progress) -> Attempt:
    """Run one method; whatever stops it becomes a line in the table."""
    from dagtune.apart import MethodError
    from dagtune.baselines import TimeLimitError
    from dagtune.metrics import evaluate

    table, time_limit = runner.table, runner.time_limit

    tell(name, 0.0)
    if table.categorical and not METHODS[name].takes_categories:
        return Attempt(name, 0.0, trouble=f"takes numbers only: {table.categorical[0]!r} is categorical")
    runner.prepare(name)
    started = time.monotonic()
    try:
        fit = runner.run(name, tell)
    except TimeLimitError as error:
        why = f" ({error.done})" if "compiled" in error.done else ""
        return Attempt(name, time.monotonic() - started, trouble=f"no answer within {time_limit:g} s{why}")
    except MethodError as error:
        return Attempt(name, time.monotonic() - started, trouble=f"failed: {error}")
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
    from dagtune.text import columns_of_text, printable

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
