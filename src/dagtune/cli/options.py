"""Options that several verbs share, declared once, with the same words everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "DATA",
    "METHOD",
    "Columns",
    "Drop",
    "Force",
    "Jobs",
    "Json",
    "Missing",
    "Quiet",
    "Seed",
    "Sep",
    "Spreadsheet",
    "Standardize",
    "TableFile",
    "Truth",
    "among",
    "word",
]

#: Headings of panels in the help.
DATA, METHOD = "Data", "Method"


def among(*words: str) -> Callable[[str], list[str]]:
    """A function that tells the shell what may complete an option: the ``words`` that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def word(help: str, *words: str, panel: str | None = None) -> Any:
    """An option that takes a word; the shell completes it with one of ``words``."""
    return typer.Option(metavar="WORD", help=help, rich_help_panel=panel, autocompletion=among(*words))


TableFile = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather.", show_default=False)]
Sep = Annotated[str | None, typer.Option(metavar="CHAR", help="Column separator: ';', tab, ...", rich_help_panel=DATA)]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Use only these columns (a,b,c).", rich_help_panel=DATA),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Leave these columns out.", rich_help_panel=DATA)]
Missing = Annotated[
    str,
    typer.Option(
        metavar="error|drop|impute",
        help="Missing values: refuse, drop rows, use medians.",
        rich_help_panel=DATA,
        show_default=False,
        autocompletion=among("error", "drop", "impute"),
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Scale columns to standard deviation 1.", rich_help_panel=DATA)
]
Truth = Annotated[Path | None, typer.Option(metavar="FILE", help="True graph.csv, to score what is learned.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed for all random draws.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processors; default: all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace earlier results in DIR.")]
Spreadsheet = Annotated[bool, typer.Option("--spreadsheet", help="Make CSV files safe for spreadsheets.")]
