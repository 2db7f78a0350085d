"""`dagtune audit`: what is wrong with a table, before a graph is learned from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagtune.cli.options import (
    DATA,
    Columns,
    Decimal,
    Drop,
    Encoding,
    Header,
    Json,
    Na,
    Query,
    Quiet,
    Sep,
    TableFile,
)

if TYPE_CHECKING:
    from dagtune.audit import Audit

__all__ = ["in_options", "register"]


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("audit", epilog="Example: dagtune audit data.csv --drop id --json  (exit 0: clean, 3: findings)")(audit)


def audit(
    data: TableFile,
    sep: Sep = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    na: Na = None,
    header: Header = None,
    query: Query = None,
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
    from dagtune.cli.reading import read_truth
    from dagtune.cli.terminal import Talk
    from dagtune.text import printable

    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress(after=1.0) as tell:
        tell(f"reading {data.name}", 0.0)
        graph = None if truth is None else read_truth(truth)
        found = look(
            data,
            truth=graph,
            progress=tell,
            sep=sep,
            decimal=decimal,
            encoding=encoding,
            na=na or (),
            header=header,
            query=query,
            columns=columns or None,
            drop=drop or (),
        )
    found = in_options(found)
    talk.say(f"{printable(data)}: {found}")
    talk.give("audit", found.as_dict())
    return DONE if found.clean else FINDINGS


def in_options(found: Audit) -> Audit:
    """The audit with its cures in options of ``dagtune learn`` instead of keywords."""
    from dataclasses import replace

    from dagtune.cli.errors import as_options

    return replace(found, findings=tuple(replace(each, cure=as_options(each.cure)) for each in found.findings))
