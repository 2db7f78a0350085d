"""Options that several verbs share, declared once, with the same words everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "DATA",
    "METHOD",
    "Categorical",
    "Checkpoint",
    "Columns",
    "Decimal",
    "Drop",
    "DropConstant",
    "Encoding",
    "Force",
    "Header",
    "Jobs",
    "Json",
    "Kinds",
    "Memory",
    "Missing",
    "Na",
    "Query",
    "Quiet",
    "Scheduler",
    "Seed",
    "Sep",
    "Spreadsheet",
    "Standardize",
    "TableFile",
    "TimeLimit",
    "Truth",
    "among",
    "word",
]

#: Headings of panels in the help.
DATA, METHOD = "Data", "Method"
WRITTEN, LARGE = "How the file is written (found out unless said)", "Large tables"


def among(*words: str) -> Callable[[str], list[str]]:
    """A function that tells the shell what may complete an option: the ``words`` that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def word(help: str, *words: str, panel: str | None = None) -> Any:
    """An option that takes a word; the shell completes it with one of ``words``."""
    return typer.Option(metavar="WORD", help=help, rich_help_panel=panel, autocompletion=among(*words))


TableFile = Annotated[Path, typer.Argument(help="CSV, Excel, Parquet, ...; - for stdin.", show_default=False)]
Sep = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Column separator: ';', tab, ...", rich_help_panel=WRITTEN)
]
Decimal = Annotated[str | None, typer.Option(metavar=".|,", help="Decimal sign.", rich_help_panel=WRITTEN)]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="utf-8, latin-1, ...", rich_help_panel=WRITTEN)]
Na = Annotated[
    list[str] | None, typer.Option(metavar="WORDS", help="More cells that mean missing.", rich_help_panel=WRITTEN)
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether row 1 holds names.", rich_help_panel=WRITTEN)
]
Query = Annotated[
    str | None, typer.Option(metavar="SQL", help="Read this: SQL, a sheet, a file of a zip.", rich_help_panel=WRITTEN)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Use only these columns (a,b,c).", rich_help_panel=DATA),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="NAMES", help="Leave these columns out.", rich_help_panel=DATA)]
Missing = Annotated[
    str,
    typer.Option(
        metavar="WORD",
        help="Gaps: error, drop, impute, model.",
        rich_help_panel=DATA,
        show_default=False,
        autocompletion=among("error", "drop", "impute", "model"),
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize", help="Scale columns to standard deviation 1.", rich_help_panel=DATA)
]
DropConstant = Annotated[
    bool, typer.Option("--drop-constant", help="Leave constant columns out.", rich_help_panel=DATA)
]
TimeLimit = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Give up after so long.", rich_help_panel=METHOD)
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=KIND", help="visits=count, size=s<m<l, ...", rich_help_panel=DATA),
]
Categorical = Annotated[
    list[str] | None, typer.Option(metavar="NAMES", help="Columns of categories.", rich_help_panel=DATA)
]
Memory = Annotated[
    str,
    typer.Option(
        metavar="SIZE",
        help="Larger tables are read in pieces (1GiB).",
        rich_help_panel=LARGE,
        show_default=False,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Go on from here after an interruption.", rich_help_panel=LARGE),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Dask scheduler whose workers read the rows and fit resamples.", rich_help_panel=LARGE
    ),
]
Truth = Annotated[Path | None, typer.Option(metavar="FILE", help="True graph.csv, to score what is learned.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed for all random draws.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of processors; default: all.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace earlier results in DIR.")]
Spreadsheet = Annotated[bool, typer.Option("--spreadsheet", help="Make CSV files safe for spreadsheets.")]
