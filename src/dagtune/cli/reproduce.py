"""``dagtune reproduce`` runs the paper's experiments, and resumes after a stop; ``dagtune report`` writes the pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.errors import INTERRUPTED
from dagtune.cli.methods import method_names
from dagtune.cli.options import DATA, Quiet, Standardize, word
from dagtune.cli.terminal import Talk

if TYPE_CHECKING:
    from dagtune.experiments import Summary, Tick

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("reproduce", epilog="Example: dagtune reproduce fig5 --sizes 10,20 --repeats 2 --out run")(reproduce)
    app.command("report", epilog="Example: dagtune report run")(report)


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="table2, fig5, table-mlp2, table-tanh, table-real, all.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results; a folder with results is resumed.")
    ] = Path("reproduction"),
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Methods, such as ot,conditional,cam; chance is always added.",
            autocompletion=method_names,
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Cells to run at a time; default: one for each processor.")
    ] = None,
    cell_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for each cell.")] = 300.0,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers run the cells.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run cells again that failed or timed out.")] = False,
    quiet: Quiet = False,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help="Numbers of nodes among 10,20,25,30,40; default: all.", rich_help_panel=DATA
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", help="Tables for each setting.", rich_help_panel=DATA)] = 10,
    recipe: Annotated[
        str, word("printed (the paper), released (its script), or both.", "printed", "released", "both", panel=DATA)
    ] = "printed",
    standardize: Standardize = False,
    scale: Annotated[str | None, word("raw, standardized, or both.", "raw", "standardized", "both", panel=DATA)] = None,
) -> None:
    """Run the paper's experiments, cell by cell. A run that was stopped is resumed by the same command."""
    from dagtune import experiments

    talk = Talk(quiet=quiet)
    last: list[Tick] = []
    try:
        with talk.progress() as tell:

            def show(tick: Tick) -> None:
                if not last:
                    talk.say(f"{tick.total} cells, {tick.done} of them finished before")
                last.append(tick)
                del last[:-1]
                tell("cells", tick.share)

            summary = experiments.reproduce(
                names,
                out=out,
                sizes=None if sizes is None else _whole_numbers(sizes),
                repeats=repeats,
                recipe=recipe,
                standardize=_standardize(standardize, scale),
                methods=None if methods is None else _words(methods),
                jobs=jobs,
                cell_timeout=cell_timeout,
                scheduler=scheduler,
                retry=retry,
                progress=show,
            )
    except KeyboardInterrupt:
        done = f"{last[0].done} of {last[0].total} cells are finished in {out}; " if last else ""
        typer.echo(f"dagtune: stopped: {done}the same command resumes the run", err=True)
        raise typer.Exit(INTERRUPTED) from None
    talk.say(_told(summary, out))


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that dagtune reproduce wrote.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the pages; default: that of the results.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write REPRODUCTION.md and REPRODUCTION.html: the paper's numbers next to those of a run and of chance."""
    from dagtune.report.reproduction import write_reproduction

    talk = Talk(quiet=quiet)
    for path in write_reproduction(folder, out):
        talk.say(f"wrote {path}")


def _words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


def _whole_numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in _words(text)]
    except ValueError:
        raise typer.BadParameter(f"--sizes takes whole numbers separated by commas, not {text!r}") from None


def _standardize(flag: bool, scale: str | None) -> Any:
    """What ``reproduce`` takes; --standardize is short for --scale standardized."""
    scales = {"raw": False, "standardized": True, "both": "both"}
    if scale is None:
        return flag
    if scale not in scales or (flag and scale == "raw"):
        raise typer.BadParameter(
            f"--scale takes raw, standardized or both (--standardize is short for the second), not {scale!r}"
        )
    return scales[scale]


def _told(summary: Summary, out: Path) -> str:
    lost = f", {summary.timeout} timed out, {summary.failed} failed" if summary.timeout or summary.failed else ""
    return (
        f"{summary.total} cells in {out}: {summary.before} from before, {summary.ok} finished now{lost}\n"
        f"next: dagtune report {out}"
    )
