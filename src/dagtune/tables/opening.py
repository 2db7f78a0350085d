"""Tables that do not fit into memory: which they are, and how their columns become numbers without all rows at hand.

The passes are: text columns and categories are counted (only if there are any), then ranges. The rest is left to those
who compute with the rows. A table that fits into ``memory=`` is read whole, as ever.
"""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagtune.tables.cluster import DaskTable, is_dask, parted_dask, spread_out
from dagtune.tables.coding import PLAIN, asked_kinds
from dagtune.tables.dialect import ReadOptions
from dagtune.tables.files import choose_positions
from dagtune.tables.formats import FORMATS
from dagtune.tables.kinds import KINDS, infer_kind, kind_of_values, pool_rare
from dagtune.tables.rows import SAMPLES, Ranges, Rows
from dagtune.tables.sources import STDIN
from dagtune.tables.spool import spool_polars, spool_text
from dagtune.tables.streams import ArrayPart, Coder, FragmentPart, PartedTable, Parts, parquet_parts
from dagtune.validation import InputError, format_bytes

__all__ = ["Streamed", "Wanted", "fits", "may_stay_outside", "open_parts", "refuse_pieces", "streamed"]

#: Bytes that reading a table whole takes at its peak, for each byte of its numbers; measured for Parquet.
_PEAK = 4.2
#: The same for each byte of a text file.
_TEXT_PEAK = 2.5


@dataclass(frozen=True)
class Streamed:
    """A table whose rows stay where they are.

    Attributes
    ----------
    rows : Rows
    names, kinds : tuple of str
    labels : dict of str to tuple of str
    notes : list of str
    dropped : tuple of str
        Constant columns that were left out.
    lost_rows : int
        Rows with missing values that were left out.
    """

    rows: Rows
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    dropped: tuple[str, ...] = ()
    lost_rows: int = 0


def fits(count: int, width: int, memory: int) -> bool:
    """Whether a table can be read whole within the memory allowed."""
    return _PEAK * 8 * count * width <= memory


def may_stay_outside(data: Any) -> bool:
    """Whether data are of a kind whose rows may stay where they are: Dask, lazy Polars, an Arrow dataset, a memory map.

    Parameters
    ----------
    data : object

    Returns
    -------
    bool
    """
    return is_dask(data) or _is_lazy(data) or _is_dataset(data) or isinstance(data, np.memmap)


def _is_lazy(data: Any) -> bool:
    return type(data).__module__.startswith("polars.") and type(data).__name__ == "LazyFrame"


def _is_dataset(data: Any) -> bool:
    return type(data).__module__.startswith("pyarrow.") and hasattr(data, "get_fragments")


def open_parts(
    data: Any,
    *,
    options: ReadOptions,
    columns: Any,
    drop: Any,
    memory: int,
    folder: Path | None,
    whole: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> PartedTable | pd.DataFrame | None:
    """The parts of a table that does not fit into memory; a frame if it is in parts and fits; None if it is neither.

    ``whole`` says what was asked that needs all rows in memory: then a text table that is surely too large is not read.
    """
    table: Parts | DaskTable | None
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        if columns is None and not drop and _surely_too_large(path, memory):
            refuse_pieces(whole)
        table = _open_path(path, options, columns, drop, memory, folder, progress)
    elif is_dask(data):
        table = parted_dask(data, memory)
    elif _is_lazy(data):
        table = _open_polars(data, memory, folder)
    elif _is_dataset(data):
        parts = [FragmentPart(one, data.schema, k) for k, one in enumerate(data.get_fragments())]
        if not parts:
            raise InputError("the Arrow dataset has no files: check its path")
        table = Parts(parts, memory)
    elif isinstance(data, np.memmap) and data.ndim == 2 and data.dtype.kind in "biuf":
        table = None if fits(len(data), data.shape[1], memory) else Parts([ArrayPart(data)], memory)
    else:
        return None
    if table is None:
        return None
    chosen = [table.names[position] for position in choose_positions(table.names, columns, drop)]
    if not isinstance(table, Parts):
        return None if fits(table.count, len(chosen), memory) else table
    spread = spread_out(table, memory)
    if spread is not None:
        return spread
    return table.frame(chosen) if fits(table.count, len(chosen), memory) else table


def refuse_pieces(whole: Sequence[str]) -> None:
    """Refuse what needs all rows in memory, of a table that is read in pieces."""
    if whole:
        raise InputError(
            f"{whole[0]} needs the table in memory, and this one is read in pieces: pass more memory=, or "
            + ("missing='drop'" if whole[0].startswith("missing") else f"leave {whole[0]} out")
        )


def _surely_too_large(path: str, memory: int) -> bool:
    """Whether a text table has more numbers than fit into memory, even with 25 characters to each."""
    ending = Path(path).suffix.lower()
    text = ending in FORMATS and FORMATS[ending].separator is not None and os.path.isfile(path)
    return text and not fits(os.path.getsize(path) // 25, 1, memory)


def _open_path(
    path: str,
    options: ReadOptions,
    columns: Any,
    drop: Any,
    memory: int,
    folder: Path | None,
    progress: Callable[[float], None] | None,
) -> Parts | None:
    """A folder or pattern of Parquet files, or one large file; None for what is read whole."""
    files = _parquet_files(path)
    if files is not None:
        return parquet_parts(files, memory, progress)
    if path == STDIN or not os.path.isfile(path):
        return None
    ending = Path(path).suffix.lower()
    if ending == ".parquet" and _PEAK * os.path.getsize(path) > memory / 4:  # numbers may be packed
        return parquet_parts([Path(path)], memory, progress)
    separator = FORMATS[ending].separator if ending in FORMATS else None
    if separator is None or _TEXT_PEAK * os.path.getsize(path) <= memory:
        return None
    part = spool_text(path, separator, options, columns=columns, drop=drop, folder=folder, progress=progress)
    return Parts([part], memory)


def _parquet_files(path: str) -> list[Path] | None:
    """The files of a folder or of a pattern such as data/*.parquet, by name; None for any other path."""
    if os.path.isdir(path):
        found = sorted(Path(path).rglob("*.parquet"))
        if not found:
            raise InputError(f"{path!r} is a folder without .parquet files: name a file in it")
    elif glob.has_magic(path) and not os.path.exists(path):
        found = sorted(map(Path, glob.glob(path, recursive=True)))
        if not found:
            raise InputError(f"no file is called {path!r}: check the pattern (this folder is {str(Path.cwd())!r})")
        other = next((str(one) for one in found if one.suffix.lower() != ".parquet"), None)
        if other is not None:
            raise InputError(f"a table in several files must be Parquet, but {other!r} is not: convert it")
    else:
        return None
    return [one for one in found if not one.name.startswith((".", "_"))]


def _open_polars(data: Any, memory: int, folder: Path | None) -> Parts | None:
    polars = import_module("polars")
    try:
        import_module("pyarrow")
    except ImportError:
        return None
    count = data.select(polars.len()).collect(engine="streaming").item()
    if fits(count, len(data.collect_schema()), memory):
        return None
    return Parts([spool_polars(data, folder)], memory)


def fingerprint(data: Any, table: PartedTable) -> dict[str, Any]:
    """What tells whether a table is the one that a checkpoint was begun with."""
    files: list[Path] = []
    if isinstance(data, (str, os.PathLike)):
        files = _parquet_files(os.fspath(data)) or [Path(data)]
    return {
        "names": list(table.names),
        "rows": table.count,
        "files": [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files],
    }


@dataclass(frozen=True)
class Wanted:
    """What is asked of a table in parts; the names are those of :func:`dagtune.tables.read_table`."""

    columns: Any = None
    drop: Any = ()
    categorical: Any = ()
    kinds: Mapping[str, str | Sequence[str]] | None = None
    infer: bool = False
    missing: str = "error"
    drop_constant: bool = False


def streamed(
    table: PartedTable, wanted: Wanted, store: Any = None, progress: Callable[[float], None] | None = None
) -> Streamed:
    """The columns of a table in parts as numbers; what can't be used is refused, all columns at once."""
    names = tuple(table.names[position] for position in choose_positions(table.names, wanted.columns, wanted.drop))
    refuse_little_memory(table, len(names))
    asked = asked_kinds(names, wanted.categorical, wanted.kinds)
    coding = _Coding(table, names, asked, wanted.kinds or {}, wanted.infer)
    rows = table.rows(names, coding.coders, complete=wanted.missing == "drop")
    if store is not None:
        rows.store = store
    ranges = rows.ranges(progress)
    _refuse(names, ranges, wanted.drop_constant)
    for j, name in enumerate(names):
        if wanted.infer and name not in coding.kinds and len(ranges.values[j]):
            coding.kinds[name] = kind_of_values(ranges.values[j], ranges.count)
    varies = ranges.low < ranges.high
    found = [coding.kinds.get(name, PLAIN) for name in names]
    return Streamed(
        rows if varies.all() else rows.only(varies),
        tuple(name for name, kept in zip(names, varies) if kept),
        tuple(kind for kind, kept in zip(found, varies) if kept),
        coding.labels,
        [*getattr(table, "notes", ()), *coding.notes, _said(rows)],
        tuple(name for name, kept in zip(names, varies) if not kept),
        table.count - rows.count,
    )


def refuse_little_memory(table: PartedTable, width: int) -> None:
    """Refuse, before any row is read, a table whose sample alone takes more memory than is allowed."""
    needed = 2 * 8 * width * min(table.count, SAMPLES[-1])
    if needed > table.memory:
        raise InputError(
            f"a sample of {min(table.count, SAMPLES[-1])} rows and {width} columns needs {format_bytes(needed)}, but "
            f"only memory={format_bytes(table.memory)!r} is allowed: pass memory='{math.ceil(needed / 2**20)}MiB', or "
            "fewer columns"
        )


def _said(rows: Rows) -> str:
    size = format_bytes(8 * rows.count * rows.width)
    return (
        f"{rows.count} rows ({size}) do not fit into memory={format_bytes(rows.memory or math.inf)!r} as a whole: sums "
        "are over all of them, what needs single rows looks at a seeded sample of at most 100000"
    )


class _Coding:
    """Kinds and coders of the columns: from their types, what was asked, and the values of text."""

    def __init__(
        self,
        table: PartedTable,
        names: tuple[str, ...],
        asked: Mapping[str, str],
        kinds: Mapping[str, str | Sequence[str]],
        infer: bool,
    ) -> None:
        self.kinds = dict(asked)
        self.labels: dict[str, tuple[str, ...]] = {}
        self.notes: list[str] = []
        levels = {name: list(map(str, given)) for name, given in kinds.items() if not isinstance(given, str)}
        for name in names:
            word = table.types[name]
            if word not in ("numbers", "text", "dates"):
                raise InputError(f"column {name!r} holds {word}: leave it out (drop={name!r})")
            if word != "numbers" and name not in asked and not infer:
                raise InputError(f"column {name!r} is not numeric ({word}): leave it out (drop=[{name!r}])")
            if word == "dates" and name not in asked:
                raise InputError(f"column {name!r} holds dates: say kinds={{{name!r}: 'date'}}, or leave it out")
        counted = [
            name
            for name in names
            if name not in levels
            and (
                not KINDS[asked.get(name, PLAIN)].quantitative
                or (table.types[name] == "text" and asked.get(name) != "date")
            )
        ]
        tallies = table.tally(counted) if counted else {}
        self.coders = [self._coder(name, tallies.get(name), levels.get(name), table.count) for name in names]

    def _coder(self, name: str, tally: Any, levels: list[str] | None, count: int) -> Coder:
        if levels is not None:
            self.labels[name] = tuple(levels)
            return Coder("ordinal", {level: float(code) for code, level in enumerate(levels)})
        if tally is None:
            return Coder(self.kinds.get(name, PLAIN))
        values = sorted(tally, key=lambda value: (isinstance(value, str), value))
        labels = tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
        times = np.array([tally[value] for value in values])
        kind = self.kinds.get(name)
        if kind is None:
            some = pd.Series(np.repeat(np.array(labels, dtype=object), np.minimum(times, 20)))
            kind = self.kinds[name] = infer_kind(some, name)
        if kind not in ("binary", "categorical"):
            raise InputError(f"column {name!r} holds text, not what is {kind}: leave it out (drop=[{name!r}])")
        if kind == "binary":
            codes = np.arange(len(values))
        else:
            codes, kept, note = pool_rare(times, labels, name)
            self.notes += [note] if note else []
        self.labels[name] = labels if kind == "binary" else kept
        return Coder(kind, dict(zip(labels, map(float, codes))))


def _refuse(names: tuple[str, ...], ranges: Ranges, drop_constant: bool) -> None:
    """Refuse missing, infinite and constant columns, with as many as there are."""
    told = []
    for j, name in enumerate(names):
        if ranges.missing[j]:
            told.append(f"column {name!r} has {ranges.missing[j]} missing (NaN) of {ranges.count} values")
        elif ranges.infinite[j]:
            told.append(f"column {name!r} has {ranges.infinite[j]} infinite of {ranges.count} values")
        elif ranges.low[j] == ranges.high[j] and not drop_constant:
            told.append(f"column {name!r} is constant ({ranges.low[j]:g} in all {ranges.count} rows)")
    if told:
        more = f", and {len(told) - 6} more columns" if len(told) > 6 else ""
        raise InputError(
            f"{', '.join(told[:6])}{more}: drop such columns or rows (missing='drop', drop_constant=True, drop=)"
        )
