"""`dagtune audit`: what is wrong with a table, before a graph is learned from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dagtune.cli.options import DATA, Columns, Drop, Json, Quiet, Sep, TableFile

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("audit", epilog="Example: dagtune audit data.csv --drop id --json  (exit 0: clean, 3: findings)")(audit)


def audit(
    data: TableFile,
    sep: Sep = None,
    columns: Columns = None,
    drop: Drop = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="True graph.csv, for sortability.", rich_help_panel=DATA),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what is wrong with a table: each finding with a code, the columns and a cure."""
    from dagtune.audit import audit as look
    from dagtune.cli.errors import DONE, FINDINGS
    from dagtune.cli.reading import choose_columns, read_truth
    from dagtune.cli.terminal import Talk
    from dagtune.text import printable

    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress(after=1.0) as tell:
        tell(f"reading {data.name}", 0.0)
        graph = None if truth is None else read_truth(truth)
        found = look(data, truth=graph, progress=tell, **choose_columns(data, sep, columns, drop))
    talk.say(f"{printable(data)}: {found}")
    talk.give(found.as_dict())
    return DONE if found.clean else FINDINGS
