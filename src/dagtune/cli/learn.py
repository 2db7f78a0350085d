"""`dagtune learn`: from a table to a folder with the graph, its evidence and a report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.methods import LearnerVerb, options_of
from dagtune.cli.options import (
    DATA,
    METHOD,
    Checkpoint,
    Columns,
    Decimal,
    Drop,
    DropConstant,
    Encoding,
    Force,
    Header,
    Jobs,
    Json,
    Memory,
    Missing,
    Na,
    Query,
    Quiet,
    Scheduler,
    Seed,
    Sep,
    Spreadsheet,
    Standardize,
    TimeLimit,
    Truth,
)
from dagtune.cli.terminal import Talk
from dagtune.learners import DEFAULT, LEARNERS

if TYPE_CHECKING:
    import pandas as pd

    from dagtune.audit import Audit
    from dagtune.bootstrap import ColumnStability, EdgeConfidence
    from dagtune.progress import Progress
    from dagtune.result import Result
    from dagtune.tables import Table

__all__ = ["register"]

KNOWLEDGE = "Prior knowledge"
#: How many resamples tell how sure the edges are of a method that gives no probabilities.
RESAMPLES = 20
#: Edges shown on the terminal; edges.csv has them all.
_SHOWN = 25


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("learn", epilog='Example: dagtune learn data.csv --out result --forbidden "price->age"')(
        LearnerVerb(learn)
    )


def learn(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, Excel, Parquet, ...; - for stdin; none with --demo.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results.")] = None,
    truth: Truth = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    spreadsheet: Spreadsheet = False,
    force: Force = False,
    keep_rows: Annotated[bool, typer.Option("--keep-rows", help="Keep the rows of the table in the result.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
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
    standardize: Standardize = False,
    memory: Memory = "1GiB",
    checkpoint: Checkpoint = None,
    scheduler: Scheduler = None,
    demo: Annotated[bool, typer.Option("--demo", help="Take bundled protein data.", rich_help_panel=DATA)] = False,
    method: str = DEFAULT,
    bootstrap: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Learn again from so many resamples.",
            show_default=False,
            rich_help_panel=METHOD,
        ),
    ] = None,
    drop_each: Annotated[
        bool,
        typer.Option(
            "--drop-each",
            help="Learn again without each column.",
            rich_help_panel=METHOD,
        ),
    ] = False,
    time_limit: TimeLimit = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".toml or .json, see docs/cli.md.", rich_help_panel=KNOWLEDGE),
    ] = None,
    required: Annotated[
        list[str] | None,
        typer.Option(
            "--required", "--require", metavar='"a->b"', help="Edge the graph must contain.", rich_help_panel=KNOWLEDGE
        ),
    ] = None,
    forbidden: Annotated[
        list[str] | None,
        typer.Option(
            "--forbidden",
            "--forbid",
            metavar='"a->b"',
            help="Edge the graph must not contain.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    tiers: Annotated[
        str | None,
        typer.Option(metavar='"a,b>c"', help="Causes first; * is the rest.", rich_help_panel=KNOWLEDGE),
    ] = None,
    roots: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Columns that have no causes.", rich_help_panel=KNOWLEDGE),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(metavar='"a->b=0.8"', help="Belief in an edge; 0.5 says nothing.", rich_help_panel=KNOWLEDGE),
    ] = None,
    **given: Any,
) -> None:
    """Learn a causal graph from a table; write it, its evidence and a report into DIR."""
    started = time.monotonic()
    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress() as tell, ExitStack() as held:
        tell("starting", 0.0)  # before anything heavy loads
        from dagtune.cli.files import claimed
        from dagtune.cli.reading import read_knowledge, read_truth, standardized
        from dagtune.interventions import Experiments

        options = options_of(method, given)
        reading: dict[str, Any] = {
            "sep": sep,
            "decimal": decimal,
            "encoding": encoding,
            "na": na or (),
            "header": header,
            "query": query,
            "columns": columns or None,
            "drop": drop or (),
            "missing": missing,
            "drop_constant": drop_constant,
        }
        named = ("categorical", "kinds", "sample_weight", "blocks")
        reading |= {name: options.pop(name) for name in named if name in options}
        larger = {"memory": memory, "checkpoint": checkpoint}
        if method == DEFAULT:
            reading["infer"] = True
            reading |= {name: options.pop(name, None) for name in ("merge", "groups")}
            reading["conditions"] = Experiments.of(options.get("experiments")).conditions
        source = _source(data, demo, reading)
        folder = out or Path(f"dagtune-{_stem(source)}")
        held.enter_context(claimed(folder, force=force))
        if scheduler is not None:
            held.callback(_connected(scheduler, tell).close)
        task = _demo_task(tell) if source is None else _task(source, tell, reading | larger)
        if truth is not None:
            task = replace(task, truth=read_truth(truth, task.table.names))
        if standardize:
            task = replace(task, table=standardized(task.table))
        known = read_knowledge(
            task.table.names,
            knowledge,
            required=required,
            forbidden=forbidden,
            tiers=tiers,
            prior=prior,
            roots=roots,
        )
        if task.targets is not None and method == DEFAULT and task.table.conditions is not None:
            options["experiments"] = {"rows": task.table.conditions.words(), "targets": task.targets}
        findings = _audited(task.table.some(), tell)
        tell("preparing", 0.0)
        learner = LEARNERS[method].make(
            knowledge=known, random_state=seed, threads=jobs, time_limit=time_limit, progress=tell, **larger, **options
        )
        result, confidence = _fit(learner, LEARNERS[method].given(task.table), bootstrap, seed, jobs, tell)
        stable = None
        if drop_each:
            stable = learner.drop_columns(LEARNERS[method].given(task.table), n_jobs=jobs, progress=tell)
            if stable.turned:
                result = replace(result, warnings=(*result.warnings, stable.words))
        told = {"data": task.source, "standardized": standardize, "seed": seed}
        result = replace(result, settings={**result.settings, **told})
        learned = Learned(task, result, confidence, findings, _scores(task, result), folder, stable=stable)
        _write(learned, tell, force=force, spreadsheet=spreadsheet, keep_rows=keep_rows)
    learned = replace(learned, seconds=time.monotonic() - started)
    _summarize(learned, talk)
    talk.give("learn", _document(learned))


@dataclass(frozen=True)
class Task:
    """What is learned from: the table, where it came from, the true graph if known, and what conditions acted on."""

    table: Table
    source: str
    truth: pd.DataFrame | None = None
    targets: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Learned:
    """Everything that was found, for the files, the terminal and the JSON document."""

    task: Task
    result: Result
    confidence: EdgeConfidence | None
    audit: Audit
    scores: dict[str, dict[str, float]]
    folder: Path
    seconds: float = 0.0
    stable: ColumnStability | None = None

    def edges(self) -> list[dict[str, Any]]:
        """The rows of ``Result.edges``, in its order, each with its share of resamples; None is not known."""
        rows = self.result.edges().to_dict("records")
        shares = [self._share(row["cause"], row["effect"]) for row in rows]
        known = [{str(key): None if value != value else value for key, value in row.items()} for row in rows]
        return [{**row, "confidence": share} for row, share in zip(known, shares, strict=True)]

    def _share(self, cause: str, effect: str) -> float | None:
        """Share of the resamples with the edge, if there are any."""
        if self.confidence is None:
            return None
        return float(self.confidence.probability.at[cause, effect])  # type: ignore[arg-type]


# --- what to learn from, and how --------------------------------------------------------------------------------------


def _source(data: Path | None, demo: bool, reading: dict[str, Any]) -> Path | None:
    """The file to read, or None for the demo."""
    from dagtune.validation import InputError

    if data is None and not demo:
        raise InputError("which table? dagtune learn data.csv, or dagtune learn --demo for the bundled one")
    if demo and (
        data is not None
        or any(value not in (None, False, "error", ()) for name, value in reading.items() if name != "infer")
    ):
        raise InputError("--demo uses the bundled table: leave out the file, and the options that say how to read it")
    return data


def _stem(source: Path | None) -> str:
    """What the folder of the results is called after."""
    if source is None:
        return "demo"
    if "*" in source.name:  # all files of a folder
        return source.absolute().parent.name
    return "stdin" if str(source) == "-" else source.name.partition(".")[0] or source.stem


def _task(path: Path, tell: Progress, reading: dict[str, Any]) -> Task:
    """The table of a file."""
    from dagtune.cli.reading import read_data

    return Task(read_data(path, tell, **reading), path.name)


def _connected(address: str, tell: Progress) -> Any:
    """The client of a cluster."""
    from dagtune.tables import connect

    tell(f"connecting to {address}", 0.0)
    return connect(address)


def _demo_task(tell: Progress) -> Task:
    """The Sachs protein data on a log scale, with their conditions, and the accepted graph as the truth."""
    import numpy as np

    from dagtune.datasets import load
    from dagtune.tables import read_table

    tell("reading the Sachs proteins", 0.0)
    proteins = load("sachs")
    table = read_table(proteins.X.transform(np.log1p), conditions=proteins.conditions)
    return Task(
        table, "sachs proteins under nine conditions, log(x + 1)", truth=proteins.graph, targets=proteins.targets
    )


def _fit(
    learner: Any, X: Any, bootstrap: int | None, seed: int, jobs: int | None, tell: Progress
) -> tuple[Result, EdgeConfidence | None]:
    """What was learned and how often each edge was found in resamples.

    A method without probabilities of its own gets its confidence from resamples, unless none were asked for.
    """
    from dagtune.bootstrap import bootstrap as resample
    from dagtune.cli.compiling import compiling_shown
    from dagtune.tables import Table

    some = X.some() if isinstance(X, Table) else X
    with compiling_shown(tell):
        result = learner.fit(X).result_
        if bootstrap is None:
            bootstrap = RESAMPLES if result.probability is None and some is X else 0
        if not bootstrap:
            return result, None
        tell("bootstrap", 0.0)
        found = resample(learner, some, bootstrap, random_state=seed, n_jobs=jobs, progress=tell)
        return result.with_resamples(found) if result.probability is None else result, found


def _audited(table: Table, tell: Progress) -> Audit:
    """What is wrong with the columns of numbers."""
    from dagtune.audit import audit
    from dagtune.cli.audit import in_options

    return in_options(audit(table, progress=tell))


def _scores(task: Task, result: Result) -> dict[str, dict[str, float]]:
    from dagtune.cli.reading import truth_scores

    return {} if task.truth is None else truth_scores(task.truth, result.to_frame(), task.table.some())


# --- what comes out ---------------------------------------------------------------------------------------------------


def _write(learned: Learned, tell: Progress, *, force: bool, spreadsheet: bool, keep_rows: bool) -> None:
    """Write every file; the folder appears when it is complete."""
    from dagtune.cli.files import whole_folder, write_graph, write_rows
    from dagtune.engine.dependence import measure_dependence
    from dagtune.files import write_whole
    from dagtune.report import write_report

    task, result = learned.task, learned.result
    with whole_folder(learned.folder, force=force) as part:
        tell("writing", 0.0)
        write_graph(part / "graph.csv", result.to_frame(), spreadsheet=spreadsheet)
        header = [*result.edges().columns, "confidence", "evidence"]
        rows = [[*edge.values(), result.why(edge["cause"], edge["effect"])] for edge in learned.edges()]
        write_rows(part / "edges.csv", header, rows, spreadsheet=spreadsheet)
        for ending, text in (("json", result.to_json()), ("dot", result.to_dot()), ("graphml", result.to_graphml())):
            write_whole(part / f"graph.{ending}", text)
        result.save(part, keep_rows=keep_rows)
        tell("drawing", 0.0)
        _draw(result, part)
        tell("writing the report", 0.0)
        write_report(
            part / "report.html",
            result,
            data=task.table.some(),
            dependence=measure_dependence(task.table.some(), order=1, **_kernel(result)),
            confidence=learned.confidence,
            audit=learned.audit,
            truth=task.truth,
            title=task.source,
            command=_command(),
        )


def _kernel(result: Result) -> dict[str, Any]:
    """The kernel with which the learner measured dependence, if it did."""
    return {name: result.settings[name] for name in ("kernel", "bandwidth") if name in result.settings}


def _draw(result: Result, part: Path) -> None:
    import logging

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it announces its font cache on stderr
    import matplotlib

    matplotlib.use("Agg")
    figure = result.plot().figure
    for ending in ("png", "svg"):
        figure.savefig(part / f"graph.{ending}")
    matplotlib.pyplot.close(figure)


def _command() -> str:
    """The command that was typed."""
    import shlex
    import sys

    return shlex.join(["dagtune", *sys.argv[1:]])


def _summarize(learned: Learned, talk: Talk) -> None:
    """Print the summary."""
    from dagtune.cli.reading import score_rows
    from dagtune.result.summary import count_words, edge_lines
    from dagtune.text import columns_of_text, printable

    task, result, found = learned.task, learned.result, learned.confidence
    talk.say(f"{printable(task.source)}: {task.table.count} rows, {task.table.width} columns, {learned.seconds:.1f} s")
    talk.say(count_words(result), style="bold")
    shares = None if found is None or result.resamples else found.probability
    for line in edge_lines(result, shares=shares, most=_SHOWN):
        talk.say(line)
    if result.probability_words:
        talk.say(f"{'in resamples' if result.resamples else 'probability'}: {result.probability_words}")
    if result.track_record_words:
        talk.say(f"right on real pairs: {result.track_record_words}")
    if result.explained is None:
        talk.say(result.strength_words)
    for line in str(result.verdict()).splitlines():
        talk.say(line, style="" if line.startswith(" ") else "bold")
    if learned.stable is not None and not learned.stable.turned:
        talk.say(learned.stable.words)
    for warning in result.warnings:
        talk.say(f"warning: {warning}", style="yellow")
    if learned.scores:
        talk.say("Against the true graph, beside guesses that know nothing:")
        for line in columns_of_text(score_rows(learned.scores), right=range(1, 7)):
            talk.say(f"  {line}")
    if not learned.audit.clean:
        codes = ", ".join(dict.fromkeys(finding.code for finding in learned.audit.findings))
        talk.say(f"The audit found: {codes} (in the report, or dagtune audit)", style="yellow")
    where = printable(learned.folder)
    talk.say(f"Written to {where}: {', '.join(sorted(path.name for path in learned.folder.iterdir()))}")
    talk.say(f"Next: open {printable(learned.folder / 'report.html')} in a browser", style="bold")
    if found is None:
        talk.say("      learn again with --bootstrap 50 to see which edges are stable")


def _document(learned: Learned) -> dict[str, Any]:
    """The summary as JSON values."""
    result = learned.result
    return {
        "out": str(learned.folder),
        "files": sorted(path.name for path in learned.folder.iterdir()),
        "data": learned.task.source,
        "rows": learned.task.table.count,
        "names": list(result.names),
        "edges": learned.edges(),
        "undecided": result.undecided,
        "causal_order": result.causal_order,
        "warnings": list(result.warnings),
        **({} if learned.stable is None else {"columns_left_out": learned.stable.edges.to_dict("records")}),
        "findings": [finding.code for finding in learned.audit.findings],
        "scores": learned.scores,
        "verdict": asdict(result.verdict()),
        "next_questions": [question._asdict() for question in result.next_questions()],
        "settings": dict(result.settings),
        "seconds": learned.seconds,
    }
