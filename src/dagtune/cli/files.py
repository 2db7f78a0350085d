"""What the verbs write: a folder that appears whole or not at all, and CSV files that hold names verbatim."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from dagtune import files
from dagtune.validation import InputError

__all__ = ["claimed", "refuse_taken", "whole_folder", "write_graph", "write_rows"]

#: What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def refuse_taken(out: Path, *, force: bool) -> None:
    """Refuse, before any work is done, a folder that can't be written or holds something already."""
    try:
        out.resolve(strict=False)
        out.exists()
    except (OSError, RuntimeError) as error:  # a link to itself, a name that is too long
        raise InputError(f"can't write into {str(out)[:100]!r} ({error}): choose another folder with --out") from error
    if out.is_symlink() and not out.exists():
        raise InputError(f"{str(out)!r} is a link that leads nowhere: choose another folder with --out")
    files.sweep(out)
    if out.exists() and not out.is_dir():
        raise InputError(f"{str(out)!r} is a file: choose another folder with --out")
    if out.is_dir() and not force and any(out.iterdir()):
        raise InputError(
            f"{str(out)!r} is not empty: choose another folder with --out, or replace its files by --force"
        )
    above = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"can't write into {str(above)!r}: choose another folder with --out")


@contextmanager
def claimed(out: Path, *, force: bool) -> Iterator[None]:
    """Refuse a folder that can't be written, and hold it against other runs while the block goes on."""
    refuse_taken(out, force=force)
    try:
        with files.held(out):
            yield
    except BlockingIOError as error:
        raise InputError(
            f"another run is writing to {str(out)!r}: wait for it, or choose another folder with --out"
        ) from error


@contextmanager
def whole_folder(out: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write into, which becomes ``out`` when the block ends well and vanishes when it does not.

    With ``force`` the files written replace those of the same name in ``out``; everything else there stays.
    """
    refuse_taken(out, force=force)
    with files.whole_folder(out) as part:
        yield part


def write_graph(path: Path, graph: pd.DataFrame, *, spreadsheet: bool = False) -> None:
    """An adjacency table with names, as :func:`dagtune.validation.read_adjacency` reads it; row causes column."""
    names = list(map(str, graph.columns))
    rows = ([name, *map(int, row)] for name, row in zip(names, graph.to_numpy()))
    write_rows(path, ["", *names], rows, spreadsheet=spreadsheet)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], *, spreadsheet: bool = False) -> None:
    """CSV with every text quoted, so that names with commas, quotes or line ends read back as they are.

    ``spreadsheet`` puts a quote before what a spreadsheet would run as a formula, and the mark by which it knows UTF-8.
    """
    with files.whole_file(path, "w", encoding="utf-8-sig" if spreadsheet else "utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        for row in (header, *rows):
            writer.writerow([_guarded(cell) for cell in row] if spreadsheet else row)


def _guarded(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
