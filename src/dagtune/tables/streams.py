"""Rows that are read again for each pass, a piece at a time: Parquet files and folders, and Arrow datasets.

A table in parts says its columns and their types before any row is read, so a part that does not fit is refused by its
name at once. Text tables and lazy Polars frames become a Parquet file first (:mod:`dagtune.tables.spool`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from dagtune.tables.kinds import KINDS
from dagtune.tables.rows import SAMPLES, Rows, sample_positions
from dagtune.validation import InputError, check_names

__all__ = [
    "ArrayPart",
    "Coder",
    "FragmentPart",
    "ParquetPart",
    "Part",
    "PartedTable",
    "Parts",
    "StreamedRows",
    "add_to_tally",
    "numbers_of_frame",
    "parquet_parts",
    "refuse_unlike",
]

#: Rows read at once, as far as the memory allows, and at least.
_MOST, _LEAST = 2**15, 2**8
#: A column of text with more different values than this names its rows.
MOST_LABELS = 10_000


@dataclass(frozen=True)
class Coder:
    """How a column of a piece becomes numbers: by its kind, or by the code of each label; other labels are ``rest``."""

    kind: str
    codes: Mapping[str, float] | None = None
    rest: float = np.nan
    shift: float = 0.0
    scale: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether numbers stay as they are."""
        return self.codes is None and self.kind == "continuous" and (self.shift, self.scale) == (0.0, 1.0)

    def __call__(self, column: pd.Series, name: str) -> np.ndarray:
        return (self._coded(column, name) - self.shift) / self.scale

    def _coded(self, column: pd.Series, name: str) -> np.ndarray:
        if self.codes is None:
            return KINDS[self.kind].encode(column, name)
        known = column.astype(object).map(_label, na_action="ignore")
        coded = known.map(self.codes).to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isnan(coded) & known.notna().to_numpy(), self.rest, coded)


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)


def numbers_of_frame(frame: pd.DataFrame, coders: Sequence[Coder]) -> np.ndarray:
    """(rows, columns) float64 of a piece whose columns are in the order of the coders."""
    if all(coder.plain for coder in coders) and all(
        isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in frame.dtypes
    ):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    found = np.empty(frame.shape)
    for j, coder in enumerate(coders):
        found[:, j] = coder(frame.iloc[:, j], str(frame.columns[j]))
    return found


class PartedTable(Protocol):
    """A table in parts, wherever they are: here, or on the workers of a cluster."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def types(self) -> Mapping[str, str]: ...

    @property
    def count(self) -> int: ...

    @property
    def memory(self) -> int: ...

    def tally(self, columns: Sequence[str]) -> dict[str, Counter[Any]]:
        """How many rows have each value of some columns; missing ones are left out."""
        ...

    def rows(self, names: Sequence[str], coders: Sequence[Coder], *, complete: bool) -> Rows:
        """The rows of some columns; ``complete`` leaves out rows with a missing value."""
        ...


# --- parts that are read here -----------------------------------------------------------------------------------------


class Part(ABC):
    """One part of a table, such as a file: its name, its columns with their types, and its rows as frames."""

    name: str
    count: int
    types: dict[str, str]
    batch: int = _MOST
    notes: tuple[str, ...] = ()

    @abstractmethod
    def frames(self, columns: Sequence[str], start: int = 0) -> Iterator[pd.DataFrame]:
        """Some columns of the rows from ``start`` on, a piece at a time."""


def _types(schema: Any) -> dict[str, str]:
    """A word for the type of each column of an Arrow schema, without those that pandas stored as row labels."""
    names = check_names(schema.empty_table().to_pandas().columns, count=len(schema.empty_table().to_pandas().columns))
    return {name: _type_word(schema.field(name).type) for name in names}


def _type_word(kind: Any) -> str:
    types = import_module("pyarrow").types
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind) or "string" in str(kind):
        return "text"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "dates"
    return str(kind)


class ParquetPart(Part):
    """A Parquet file, or some of its row groups."""

    def __init__(self, path: Path, groups: tuple[int, ...] | None = None) -> None:
        self.path, self.name, self.groups = path, repr(str(path)), groups
        file = self._open()
        try:
            self.types = _types(file.schema_arrow)
            found = range(file.metadata.num_row_groups) if groups is None else groups
            self._sizes = [(group, file.metadata.row_group(group).num_rows) for group in found]
        finally:
            file.close()
        self.count = sum(size for _, size in self._sizes)

    def _open(self) -> Any:
        parquet = import_module("pyarrow.parquet")
        # Without these two a whole row group would be held, compressed, while it is read.
        return parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=2**18)

    def split(self) -> list[ParquetPart]:
        """One part for each row group."""
        return [self._group(group, size) for group, size in self._sizes]

    def _group(self, group: int, size: int) -> ParquetPart:
        part = copy(self)
        part.groups, part.count, part._sizes = (group,), size, [(group, size)]
        part.name = f"row group {group} of {self.name}"
        return part

    def frames(self, columns: Sequence[str], start: int = 0) -> Iterator[pd.DataFrame]:
        groups: list[int] = []
        skip = start
        for group, size in self._sizes:
            if not groups and skip >= size:
                skip -= size
            else:
                groups.append(group)
        if not groups:
            return
        file = self._open()
        try:
            for batch in file.iter_batches(self.batch, row_groups=groups, columns=list(columns), use_threads=False):
                if skip >= batch.num_rows:
                    skip -= batch.num_rows
                    continue
                frame = (batch.slice(skip) if skip else batch).to_pandas()[list(columns)]
                skip = 0
                yield frame
        finally:
            file.close()


class FragmentPart(Part):
    """A fragment of an Arrow dataset."""

    def __init__(self, fragment: Any, schema: Any, number: int) -> None:
        self._fragment, self._schema = fragment, schema
        self.name = repr(fragment.path) if getattr(fragment, "path", "") else f"fragment {number} of the dataset"
        self.types, self.count = _types(fragment.physical_schema), fragment.count_rows()

    def frames(self, columns: Sequence[str], start: int = 0) -> Iterator[pd.DataFrame]:
        skip = start
        for batch in self._fragment.to_batches(
            columns=list(columns), batch_size=self.batch, batch_readahead=1, fragment_readahead=1, use_threads=False
        ):
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            yield (batch.slice(skip) if skip else batch).to_pandas()[list(columns)]
            skip = 0


class ArrayPart(Part):
    """An array in a file that is mapped into memory; its columns are x0, x1, ..."""

    def __init__(self, values: np.ndarray) -> None:
        self.name, self.count, self._values = "the memory map", len(values), values
        self.types = dict.fromkeys((f"x{j}" for j in range(values.shape[1])), "numbers")

    def frames(self, columns: Sequence[str], start: int = 0) -> Iterator[pd.DataFrame]:
        for first in range(start, self.count, self.batch):
            yield pd.DataFrame(self._values[first : first + self.batch], columns=pd.Index(list(self.types)))[
                list(columns)
            ]


def refuse_unlike(parts: Sequence[tuple[str, int, Mapping[str, str]]]) -> None:
    """Refuse a part, by its name, that lacks a column, has one of another type, or has no rows."""
    first, _, types = parts[0]
    for name, count, own in parts:
        for column, kind in types.items():
            if column not in own:
                raise InputError(f"{name} has no column {column!r}, but {first} has one: correct it or leave it out")
            if own[column] != kind:
                raise InputError(
                    f"{name} holds {own[column]} in column {column!r}, but {first} holds {kind}: write them alike"
                )
        for column in own:
            if column not in types:
                raise InputError(f"{name} has a column {column!r}, but {first} has none: leave it out with drop=")
        if not count:
            raise InputError(f"{name} has no rows: leave it out")


class Parts:
    """A table whose parts are read here, one after the other.

    Parameters
    ----------
    parts : sequence of Part
        At least one. They must have the same columns.
    memory : int
        Bytes that may be held at once.
    """

    def __init__(self, parts: Sequence[Part], memory: int) -> None:
        refuse_unlike([(part.name, part.count, part.types) for part in parts])
        self.parts, self.memory = list(parts), memory
        self.types = parts[0].types
        self.names = tuple(self.types)
        self.count = sum(part.count for part in parts)
        self.notes = [note for part in parts for note in part.notes]
        for part in parts:  # a piece is held some eight times while it is decoded and becomes numbers
            part.batch = min(_MOST, max(memory // (8 * 8 * len(self.names)), _LEAST))

    def frame(self, columns: Sequence[str]) -> pd.DataFrame:
        """Some columns of all rows in memory."""
        return pd.concat([frame for part in self.parts for frame in part.frames(columns)], ignore_index=True)

    def tally(self, columns: Sequence[str]) -> dict[str, Counter[Any]]:
        found: dict[str, Counter[Any]] = {name: Counter() for name in columns}
        for part in self.parts:
            for frame in part.frames(columns):
                add_to_tally(found, frame)
        return found

    def rows(self, names: Sequence[str], coders: Sequence[Coder], *, complete: bool) -> Rows:
        return PartRows(self, names, coders, complete=complete)


def add_to_tally(found: dict[str, Counter[Any]], frame: pd.DataFrame) -> None:
    """Count the values of a piece; refuse a column in which nearly every row has another value."""
    for name, counter in found.items():
        counter.update({_plain(value): int(times) for value, times in frame[name].value_counts().items() if times})
        if len(counter) > MOST_LABELS:
            raise InputError(
                f"column {name!r} has more than {MOST_LABELS} different values: it names the rows; leave it out "
                f"(drop={name!r})"
            )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class StreamedRows(Rows):
    """Rows that are not in memory: samples are kept, and all that one pass can draw are drawn by one."""

    def with_coders(self, coders: Sequence[Coder]) -> Self:
        """The same rows with other numbers."""
        raise NotImplementedError

    @property
    def coders(self) -> Sequence[Coder]:
        """How each column becomes numbers."""
        raise NotImplementedError

    def restated(self, shift: np.ndarray, scale: np.ndarray) -> Self:
        moved = zip(self.coders, shift.tolist(), scale.tolist())
        made = self.with_coders([replace(one, shift=by, scale=size) for one, by, size in moved])
        made._samples = {key: (values - shift) / scale for key, values in self._samples.items()}
        if "_ranges" in self.__dict__:
            made._ranges = self._ranges.moved(shift, scale)
        return made

    def __init__(self, memory: int | None) -> None:
        self.memory = memory
        self._samples: dict[tuple[int, int], np.ndarray] = {}

    def _sampled(self, size: int, seed: int) -> np.ndarray:
        if (size, seed) not in self._samples:
            together = {size, *(min(each, self.count) for each in SAMPLES)} if seed == 0 else {size}
            wanted = {each: sample_positions(self.count, each, seed) for each in together}
            every = np.unique(np.concatenate(list(wanted.values())))
            values = self.read(every)
            for each, positions in wanted.items():
                self._samples[each, seed] = values[np.searchsorted(every, positions)]
        return self._samples[size, seed]


class PartRows(StreamedRows):
    """The rows of a table in parts."""

    @property
    def coders(self) -> Sequence[Coder]:
        return self._coders

    def with_coders(self, coders: Sequence[Coder]) -> Self:
        made = copy(self)
        made._coders = list(coders)
        return made

    def __init__(self, table: Parts, names: Sequence[str], coders: Sequence[Coder], *, complete: bool) -> None:
        super().__init__(table.memory)
        self._table, self._names, self._coders, self._complete = table, list(names), list(coders), complete
        self._count = table.count if not complete else sum(len(piece) for piece in self.stretches())

    @property
    def count(self) -> int:
        return self._count

    @property
    def width(self) -> int:
        return len(self._names)

    def only(self, keep: np.ndarray) -> Rows:
        some = copy(self)
        some._names = [name for name, kept in zip(self._names, keep) if kept]
        some._coders = [coder for coder, kept in zip(self._coders, keep) if kept]
        some._samples = {key: values[:, keep] for key, values in self._samples.items()}
        some.__dict__.pop("_ranges", None)
        return some

    def stretches(self, start: int = 0) -> Iterator[np.ndarray]:
        skip = start
        for part in self._table.parts:
            if not self._complete and skip >= part.count:
                skip -= part.count
                continue
            for frame in part.frames(self._names, 0 if self._complete else skip):
                values = numbers_of_frame(frame, self._coders)
                if not self._complete:
                    skip = 0
                    yield values
                    continue
                values = values[~np.isnan(values).any(axis=1)]
                if skip < len(values):
                    yield values[skip:]
                skip = max(skip - len(values), 0)

    def read(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(self.count)
            if rows == slice(None):
                self.refuse_if_too_many()
            rows = np.arange(start, stop)
        found, at = np.empty((len(rows), self.width)), 0
        before = int(rows[0]) if len(rows) else 0
        for piece in self.stretches(before) if len(rows) else ():
            end = int(np.searchsorted(rows, before + len(piece)))
            found[at:end] = piece[rows[at:end] - before]
            at, before = end, before + len(piece)
            if at == len(rows):
                break
        return found


def parquet_parts(paths: Sequence[Path], memory: int, tell: Callable[[float], None] | None = None) -> Parts:
    """The table of some Parquet files, in the order of their names."""
    damaged = (import_module("pyarrow").ArrowException, OSError)
    parts = []
    for done, path in enumerate(paths):
        try:
            parts.append(ParquetPart(path))
        except damaged as error:
            raise InputError(f"can't read {str(path)!r} as Parquet ({error}): check the file") from error
        if tell is not None:
            tell(done / len(paths))
    return Parts(parts, memory)
