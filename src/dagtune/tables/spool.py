"""Tables that can be read from end to end only, such as text, become a Parquet file that can be read again and again.

Text is parsed once, a piece at a time, by the same parser and the same dialect as a file that fits into memory. The
Parquet file lies in the folder of the checkpoint, where a second start finds it, or else in a temporary folder that
goes when the rows do.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagtune.files import whole_file, whole_path
from dagtune.tables.dialect import Dialect, ReadOptions, find_dialect
from dagtune.tables.files import Loaded, about_dialect, choose_positions
from dagtune.tables.sources import Source
from dagtune.tables.streams import ParquetPart
from dagtune.tables.text import text_chunks
from dagtune.tables.tidy import Note, Tidy, name_columns, tidy, without_empty_rows
from dagtune.validation import InputError, check_width, format_bytes

__all__ = ["spool_polars", "spool_text"]

#: Rows parsed at once.
_ROWS = 50_000


def _place(folder: Path | None) -> tuple[Path, bool]:
    """Where the spool goes, and whether it is there already."""
    if folder is None:
        path = Path(tempfile.mkdtemp(prefix="dagtune-"))
        weakref.finalize(_Held.of(path), shutil.rmtree, path, ignore_errors=True)
        return path / "rows.parquet", False
    path = folder / "rows.parquet"
    return path, path.exists()


class _Held:
    """What keeps a temporary folder: its part, for as long as somebody has it."""

    by_path: dict[Path, _Held] = {}  # noqa: RUF012  until a part takes it over

    @classmethod
    def of(cls, path: Path) -> _Held:
        held = cls.by_path[path] = cls()
        return held


def _part(path: Path) -> ParquetPart:
    part = ParquetPart(path)
    if _notes(path).exists():
        part.notes = tuple(json.loads(_notes(path).read_text(encoding="utf-8")))
    part.held = _Held.by_path.pop(path.parent, None)  # type: ignore[attr-defined]
    return part


def _notes(path: Path) -> Path:
    """Where it stands what was found out about the text."""
    return path.with_suffix(".notes.json")


def refuse_full_disk(path: Path, needed: float) -> None:
    """Refuse to begin what the disk can't hold."""
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise InputError(
            f"the rows need {format_bytes(needed)} in {str(path.parent)!r}, which has {format_bytes(free)} free: set "
            "TMPDIR to a larger disk, or give checkpoint= a folder there"
        )


def spool_text(
    path: str | os.PathLike[str],
    usual: str,
    options: ReadOptions,
    *,
    columns: Any = None,
    drop: Any = (),
    folder: Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> ParquetPart:
    """Parse a text table, a piece at a time, into a Parquet file."""
    open_source = partial(Source, path, progress=progress)
    target, there = _place(folder)
    if there:
        return _part(target)
    with open_source() as source:
        dialect = find_dialect(source.look(), source.whole, usual, options, source.name)
        refuse_full_disk(target, 1.5 * source.path.stat().st_size)
    check_width(dialect.width)
    given = [f"x{j}" for j in range(dialect.width)] if dialect.names is None else list(dialect.names)
    given += [""] * (dialect.width - len(given))
    names, notes = name_columns(given)
    chosen = choose_positions(names, columns, drop)
    pieces = _Pieces(str(path), dialect, options, [names[position] for position in chosen], columns)
    pieces.notes = about_dialect(dialect, names, usual, options) + notes
    pieces.unnamed = [name for name, text in zip(names, given) if not text.strip() and name in pieces.names]
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    with whole_file(target) as file, ExitStack() as opened:
        writer = None
        for chunk in text_chunks(open_source, dialect, options, chosen, _ROWS):
            table = pyarrow.Table.from_pandas(pieces.neat(chunk), preserve_index=False)
            if writer is None:
                writer = parquet.ParquetWriter(file, table.schema, compression="none", use_dictionary=False)
                opened.enter_context(writer)
            writer.write_table(table.cast(writer.schema))
        if writer is None:
            raise InputError(f"{str(path)!r} has no rows: check the file")
        _notes(target).write_text(json.dumps(pieces.said()), encoding="utf-8")
    return _part(target)


class _Pieces:
    """The pieces of one text table, tidied alike."""

    def __init__(
        self, path: str, dialect: Dialect, options: ReadOptions, names: list[str], columns: Sequence[str] | None
    ) -> None:
        self.path, self.dialect, self.options, self.names, self.columns = path, dialect, options, names, columns
        self.unnamed: list[str] = []
        self.notes: list[Note] = []
        self._kept: list[str] | None = None
        self._numbers: set[str] = set()
        self._behind = 0

    def neat(self, chunk: pd.DataFrame) -> pd.DataFrame:
        """The piece with the columns and types of the first one, or InputError."""
        behind, first, last = self._behind, self._kept is None, len(chunk) < _ROWS
        self._behind += len(chunk)
        chunk, kept = chunk.set_axis(self.names, axis=1).reset_index(drop=True), np.arange(len(chunk))
        if len(self.names) == self.dialect.width:
            chunk, kept, left_out = without_empty_rows(chunk, lambda row: f"row {row + behind + 1}")
            self.notes += left_out
        asked = self.columns if self._kept is None else self._kept
        found: Tidy = tidy(
            chunk,
            decimal=self.dialect.decimal,
            na=self.options.na,
            unnamed=self.unnamed if first else (),
            asked=asked,
            where=lambda row: f"row {kept[row] + behind + 1}",
        )
        self.notes += found.notes
        for problem in found.problems:
            where = f"row {kept[problem.row] + behind + 1}"
            raise InputError(f"column {problem.text.format(where=where)}: {problem.cure}")
        below = len(chunk) - len(found.frame) - found.first_row
        if (found.first_row and not first) or (below and not last):
            raise InputError(
                f"{self.path!r} has lines that are no data between rows {behind + 1} and {self._behind}, and is "
                "too large to be tidied in memory: remove them, or pass more memory="
            )
        if self._kept is None:
            self._kept = [str(name) for name in found.frame.columns]
            self._numbers = {name for name in self._kept if _is_number(found.frame[name])}
        frame = found.frame[self._kept]
        for name in self._kept:
            if name in self._numbers and not _is_number(frame[name]):
                bad = next(str(cell) for cell in frame[name].dropna() if isinstance(cell, str))
                raise InputError(
                    f"column {name!r} holds numbers at first, and text ({bad[:40]!r}) between rows {behind + 1} and "
                    f"{self._behind}: correct it, or leave the column out (drop=[{name!r}])"
                )
        return pd.DataFrame(
            {
                name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
                if name in self._numbers
                else frame[name].map(str, na_action="ignore").astype("string")
                for name in self._kept
            }
        )

    def said(self) -> list[str]:
        """What was found out about the whole file; what several pieces say alike is said once."""
        alike = dict.fromkeys((note.code, note.text) for note in self.notes)
        return Loaded(pd.DataFrame(), [Note(code, text) for code, text in alike]).said()


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) or bool(column.isna().all())


def spool_polars(frame: Any, folder: Path | None = None) -> ParquetPart:
    """A lazy Polars frame, computed by its own streaming engine into a Parquet file."""
    target, there = _place(folder)
    if not there:
        with whole_path(target) as part:
            frame.sink_parquet(part, compression="uncompressed", row_group_size=2**17)
    return _part(target)
