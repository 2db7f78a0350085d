"""Options that several verbs share, declared once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["DATA", "Columns", "Drop", "Force", "Json", "Missing", "Quiet", "Sep", "Spreadsheet", "TableFile", "among"]

#: Heading of a panel in the help.
DATA = "Data"


def among(*words: str) -> Callable[[str], list[str]]:
    """What the shell may complete an option with."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


TableFile = Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Feather.", show_default=False)]
Sep = Annotated[
    str | None, typer.Option(metavar="CHAR", help="What separates columns: ';', tab, ...", rich_help_panel=DATA)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Use only these (a,b,c; may be repeated).", rich_help_panel=DATA),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Leave these out.", rich_help_panel=DATA)]
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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace our files in DIR.")]
Spreadsheet = Annotated[bool, typer.Option("--spreadsheet", help="Guard CSV files against formulas.")]
