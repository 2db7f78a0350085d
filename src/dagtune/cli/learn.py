"""`dagtune learn`: from a table to a folder with the graph, its evidence and a report."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.methods import LearnerVerb, options_of
from dagtune.cli.options import (
    DATA,
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
    Truth,
)
from dagtune.cli.terminal import Talk
from dagtune.learners import DEFAULT, LEARNERS

if TYPE_CHECKING:
    import pandas as pd

    from dagtune.audit import Audit
    from dagtune.bootstrap import EdgeConfidence
    from dagtune.progress import Progress
    from dagtune.result import Result
    from dagtune.tables import Table

__all__ = ["register"]

KNOWLEDGE = "Prior knowledge"
#: Edges shown on the terminal; edges.csv has them all.
_SHOWN = 25


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("learn", epilog='Example: dagtune learn data.csv --out result --bootstrap 50 --forbid "price->age"')(
        LearnerVerb(learn)
    )


def learn(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, Parquet or Feather; none with --demo.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results.")] = None,
    truth: Truth = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    spreadsheet: Spreadsheet = False,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
    sep: Sep = None,
    columns: Columns = None,
    drop: Drop = None,
    missing: Missing = "error",
    drop_constant: Annotated[
        bool, typer.Option("--drop-constant", help="Leave constant columns out.", rich_help_panel=DATA)
    ] = False,
    standardize: Standardize = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use the bundled Sachs protein data.", rich_help_panel=DATA)
    ] = False,
    method: str = DEFAULT,
    bootstrap: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Learn from N resamples too.", rich_help_panel=METHOD),
    ] = 0,
    knowledge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=".toml or .json: required, forbidden, tiers.", rich_help_panel=KNOWLEDGE),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar='"a->b"', help="Edge the graph must contain.", rich_help_panel=KNOWLEDGE),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(metavar='"a->b"', help="Edge the graph must not contain.", rich_help_panel=KNOWLEDGE),
    ] = None,
    tiers: Annotated[
        str | None,
        typer.Option(metavar='"a,b>c"', help="Causes first; no edge leads back.", rich_help_panel=KNOWLEDGE),
    ] = None,
    **given: Any,
) -> None:
    """Learn a causal graph from a table; write it, its evidence and a report into DIR."""
    started = time.monotonic()
    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress() as tell:
        tell("starting", 0.0)  # before anything heavy loads
        from dagtune.cli.files import refuse_taken
        from dagtune.cli.reading import read_knowledge, read_truth, standardized

        options = options_of(method, given)
        reading = {"sep": sep, "columns": columns, "drop": drop, "missing": missing, "drop_constant": drop_constant}
        reading["categorical"] = options.get("categorical")
        source = _source(data, demo, reading)
        folder = out or Path(f"dagtune-{'demo' if source is None else source.stem}")
        refuse_taken(folder, force=force)
        task = _demo_task(tell) if source is None else _task(source, tell, reading)
        if truth is not None:
            task = replace(task, truth=read_truth(truth, task.table.names))
        if "categorical" in options:
            options["categorical"] = task.table.categorical  # by their names, without those left out as constant
        if standardize:
            task = replace(task, table=standardized(task.table))
        known = read_knowledge(task.table.names, knowledge, require, forbid, tiers)
        findings = _audited(task.table, tell)
        tell("preparing", 0.0)
        learner = LEARNERS[method].make(knowledge=known, random_state=seed, threads=jobs, progress=tell, **options)
        result, confidence = _fit(learner, LEARNERS[method].given(task.table), bootstrap, seed, jobs, tell)
        told = {"data": task.source, "standardized": standardize, "seed": seed}
        result = replace(result, settings={**result.settings, **told})
        learned = Learned(task, result, confidence, findings, _scores(task, result), folder)
        _write(learned, tell, force=force, spreadsheet=spreadsheet)
    learned = replace(learned, seconds=time.monotonic() - started)
    _summarize(learned, talk)
    talk.give(_document(learned))


@dataclass(frozen=True)
class Task:
    """What is learned from: the table, where it came from, and the true graph if it is known."""

    table: Table
    source: str
    truth: pd.DataFrame | None = None


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

    def confidence_of(self, cause: str, effect: str) -> float | None:
        """Share of resamples with the edge, else the learner's own probability, else None."""
        if self.confidence is not None:
            return float(self.confidence.probability.at[cause, effect])  # type: ignore[arg-type]
        if self.result.probability is None:
            return None
        i, j = (self.result.names.index(name) for name in (cause, effect))
        return float(self.result.probability[i, j])

    def edges(self) -> list[tuple[str, str, float, float | None]]:
        """(cause, effect, strength, confidence), the strongest first."""
        table = self.result.edges().itertuples(index=False)
        return [(cause, effect, strength, self.confidence_of(cause, effect)) for cause, effect, strength in table]


# --- what to learn from, and how --------------------------------------------------------------------------------------


def _source(data: Path | None, demo: bool, reading: dict[str, Any]) -> Path | None:
    """The file to read, or None for the demo."""
    from dagtune.validation import InputError

    if data is None and not demo:
        raise InputError("which table? dagtune learn data.csv, or dagtune learn --demo for the bundled one")
    if demo and (data is not None or any(value not in (None, False, "error") for value in reading.values())):
        raise InputError("--demo uses the bundled table: leave out the file, and the options that say how to read it")
    return data


def _task(path: Path, tell: Progress, reading: dict[str, Any]) -> Task:
    """The table of a file."""
    from dagtune.cli.reading import read_data

    return Task(read_data(path, tell, **reading), path.name)


def _demo_task(tell: Progress) -> Task:
    """The Sachs protein data on a log scale, with the accepted graph as the truth."""
    import numpy as np

    from dagtune.datasets import load
    from dagtune.tables import read_table

    tell("reading the Sachs proteins", 0.0)
    proteins = load("sachs")
    return Task(read_table(proteins.X.transform(np.log1p)), "sachs proteins, log(x + 1)", truth=proteins.graph)


def _fit(
    learner: Any, X: Any, bootstrap: int, seed: int, jobs: int | None, tell: Progress
) -> tuple[Result, EdgeConfidence | None]:
    """What was learned and, if resamples were asked for, how often each edge was found in them."""
    from dagtune.bootstrap import bootstrap as resample
    from dagtune.cli.compiling import compiling_shown

    with compiling_shown(tell):
        result = learner.fit(X).result_
        if not bootstrap:
            return result, None
        tell("bootstrap", 0.0)
        return result, resample(learner, X, bootstrap, random_state=seed, n_jobs=jobs, progress=tell)


def _audited(table: Table, tell: Progress) -> Audit:
    """What is wrong with the columns of numbers."""
    from dagtune.audit import audit

    return audit(table, progress=tell)


def _scores(task: Task, result: Result) -> dict[str, dict[str, float]]:
    from dagtune.cli.reading import truth_scores

    return {} if task.truth is None else truth_scores(task.truth, result.to_frame(), task.table)


# --- what comes out ---------------------------------------------------------------------------------------------------


def _write(learned: Learned, tell: Progress, *, force: bool, spreadsheet: bool) -> None:
    """Write every file; the folder appears when it is complete."""
    from dagtune.cli.files import whole_folder, write_graph, write_rows
    from dagtune.engine.dependence import measure_dependence
    from dagtune.files import write_whole
    from dagtune.report import write_report

    task, result = learned.task, learned.result
    with whole_folder(learned.folder, force=force) as part:
        tell("writing", 0.0)
        write_graph(part / "graph.csv", result.to_frame(), spreadsheet=spreadsheet)
        header = ["cause", "effect", "strength", "confidence", "evidence"]
        rows = [[*edge, result.why(edge[0], edge[1])] for edge in learned.edges()]
        write_rows(part / "edges.csv", header, rows, spreadsheet=spreadsheet)
        for ending, text in (("json", result.to_json()), ("dot", result.to_dot()), ("graphml", result.to_graphml())):
            write_whole(part / f"graph.{ending}", text)
        result.save(part)
        tell("drawing", 0.0)
        _draw(result, part)
        tell("writing the report", 0.0)
        write_report(
            part / "report.html",
            result,
            data=task.table,
            dependence=measure_dependence(task.table, order=1, **_kernel(result)),
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
    from dagtune.cli.terminal import columns_of_text
    from dagtune.text import printable

    task, result, edges = learned.task, learned.result, learned.edges()
    talk.say(f"{printable(task.source)}: {task.table.count} rows, {task.table.width} columns, {learned.seconds:.1f} s")
    talk.say(f"{len(edges)} edges ({result.strength_words})", style="bold")
    rows = [
        [f"  {printable(cause)} -> {printable(effect)}", f"{strength:.4g}", "" if sure is None else f"{sure:.0%}"]
        for cause, effect, strength, sure in edges[:_SHOWN]
    ]
    for line in columns_of_text(rows, right=(1, 2)):
        talk.say(line)
    if len(edges) > _SHOWN:
        talk.say(f"  ... and {len(edges) - _SHOWN} more in edges.csv")
    if "decision" in result.settings:
        talk.say(f"decided: {result.settings['decision']}")
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
    if learned.confidence is None:
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
        "edges": [
            {"cause": cause, "effect": effect, "strength": strength, "confidence": sure}
            for cause, effect, strength, sure in learned.edges()
        ],
        "causal_order": result.causal_order,
        "warnings": list(result.warnings),
        "findings": [finding.code for finding in learned.audit.findings],
        "scores": learned.scores,
        "settings": dict(result.settings),
        "seconds": learned.seconds,
    }
