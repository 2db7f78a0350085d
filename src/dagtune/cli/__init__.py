"""The command line, one module for each verb. Nothing heavy loads before a verb runs, so that --help is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dagtune.cli.audit import register as register_audit
from dagtune.cli.compare import register as register_compare
from dagtune.cli.doctor import register as register_doctor
from dagtune.cli.doctor import version_lines
from dagtune.cli.effect import register as register_effect
from dagtune.cli.errors import INTERRUPTED, guarded
from dagtune.cli.interrupt import leave, stops_soon, tell_stopped
from dagtune.cli.learn import register as register_learn
from dagtune.cli.reproduce import register as register_reproduce
from dagtune.cli.simulate import register as register_simulate

__all__ = ["app", "main"]


class _Verbs(TyperGroup):
    """The verbs; Ctrl-C that a verb does not handle itself is handled here, because typer would say nothing."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            tell_stopped()
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="dagtune",
    cls=_Verbs,
    help="Causal graphs from tables: audit the data, learn a graph, check it.",
    epilog="Start with: dagtune audit data.csv, then dagtune learn data.csv --out DIR. No data? dagtune learn --demo",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)
for register in (
    register_learn,
    register_effect,
    register_audit,
    register_compare,
    register_simulate,
    register_reproduce,
    register_doctor,
):
    register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def _dagtune(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show versions.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code.

    0 done, 1 a bug of dagtune, 2 wrong input or a full disk, 3 audit or doctor found something, 130 stopped.
    """

    def run() -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a name the terminal can't show is no failure
        return typer.main.get_command(app)(args=argv, prog_name="dagtune", standalone_mode=False)

    if argv is not None:  # called from Python: signals are the caller's
        return guarded(run)
    with stops_soon():
        code = guarded(run)
    if code == INTERRUPTED:
        leave(code)
    return code
