"""``dagtune reproduce`` runs what the paper ran, and can be stopped; ``dagtune report`` writes the pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dagtune.cli.errors import INTERRUPTED
from dagtune.cli.options import Quiet
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
        Path, typer.Option(help="Folder of the results; the same folder again goes on where it was.")
    ] = Path("reproduction"),
    sizes: Annotated[str | None, typer.Option(help="Numbers of nodes among 10,20,25,30,40; all if not given.")] = None,
    repeats: Annotated[int, typer.Option(help="Tables for each setting.")] = 10,
    recipe: Annotated[
        str, typer.Option(help="printed (the paper's formulas), released (its script's), or both.")
    ] = "printed",
    standardize: Annotated[
        bool, typer.Option("--standardize", help="Scale every column to mean 0, deviation 1.")
    ] = False,
    scale: Annotated[str | None, typer.Option(help="raw, standardized, or both.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names with commas, e.g. ot,conditional,cam; chance always comes along.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Cells side by side; one a processor if not given.")] = None,
    cell_timeout: Annotated[
        float, typer.Option(help="Seconds after which a cell is stopped and recorded as such.")
    ] = 300.0,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers run the cells.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run again what failed or ran out of time.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run what the paper ran, cell by cell. Stop it whenever you like: the same command goes on where it was."""
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
        done = f"{last[0].done} of {last[0].total} cells are kept in {out}; " if last else ""
        typer.echo(f"dagtune: stopped: {done}the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    talk.say(_told(summary, out))


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that dagtune reproduce wrote.")],
    out: Annotated[Path | None, typer.Option(help="Where the pages go; beside the results if not given.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write REPRODUCTION.md and REPRODUCTION.html: the paper's numbers beside those of a run, chance included."""
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
        raise typer.BadParameter(f"--sizes takes whole numbers with commas, not {text!r}") from None


def _standardize(flag: bool, scale: str | None) -> Any:
    """What the library is told; the flag is short for one of the scales."""
    scales = {"raw": False, "standardized": True, "both": "both"}
    if scale is None:
        return flag
    if scale not in scales or (flag and scale == "raw"):
        raise typer.BadParameter(
            f"--scale takes raw, standardized or both (and --standardize is one of them), not {scale!r}"
        )
    return scales[scale]


def _told(summary: Summary, out: Path) -> str:
    gone = f", {summary.timeout} timed out, {summary.failed} failed" if summary.timeout or summary.failed else ""
    return (
        f"{summary.total} cells in {out}: {summary.before} from before, {summary.ok} finished now{gone}\n"
        f"next: dagtune report {out}"
    )
