"""Rows on the workers of a Dask cluster: partial sums are made where the rows live, and only sums leave.

Each partition gives its own arrays; those are combined eight at a time, in a tree whose shape follows from the number
of partitions alone. So neither the number of workers nor their timing changes a digit, and a worker that dies costs
the time of what it held. The client sees the combined arrays and the rows of a sample, never a partition. Without a
cluster Dask's own threads do the same here.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from importlib import import_module
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd

from dagtune.parallel import one_blas_thread
from dagtune.tables.rows import Combine, Done, MemoryRows, Rows, Statistic
from dagtune.tables.streams import (
    Coder,
    ParquetPart,
    Parts,
    StreamedRows,
    add_to_tally,
    numbers_of_frame,
    refuse_unlike,
)
from dagtune.validation import InputError

__all__ = ["DaskRows", "DaskTable", "connect", "is_dask", "map_there", "parted_dask", "run_there", "spread_out"]

Item = TypeVar("Item")
Value = TypeVar("Value")
#: Partial results that are combined at once.
_FAN = 8


def is_dask(data: Any) -> bool:
    """Whether data are a Dask array or frame."""
    return type(data).__module__.startswith("dask.") and hasattr(data, "to_delayed")


def connect(address: str) -> Any:
    """A client of the Dask scheduler at an address; from then on tables in parts are read by its workers.

    Parameters
    ----------
    address : str
        Such as "tcp://head:8786".

    Returns
    -------
    distributed.Client

    Raises
    ------
    InputError
        If Dask is not installed, no scheduler answers, or it has no workers.
    """
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'dagtune[dask]'") from None
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address} ({error}): start it, or check the address") from None
    if not client.scheduler_info()["workers"]:
        client.close()
        raise InputError(f"the Dask scheduler at {address} has no workers: start one with `dask worker {address}`")
    return client


def _cluster() -> bool:
    """Whether a client of a cluster is there."""
    import sys

    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.default_client()
    except ValueError:
        return False
    return True


def run_there(work: Callable[[], Value]) -> Value:
    """The result of a function without arguments, from a worker of the cluster, or from here if there is none.

    Parameters
    ----------
    work : callable

    Returns
    -------
    object
        What it returns.
    """
    if not _cluster():
        return work()
    dask = import_module("dask")
    # As bytes, not as a function: Dask would look into it for tasks.
    (found,) = _computed(dask.delayed(_run, pure=False)(import_module("cloudpickle").dumps(work)))
    return found


def _run(work: bytes) -> Any:
    return import_module("cloudpickle").loads(work)()


def map_there(work: Callable[[Item], Value], items: Sequence[Item]) -> Iterator[Value] | None:
    """``work(item)`` of each item, in order, from the workers of the cluster; None if there is no cluster.

    What a worker held when it died is computed again by another one.

    Parameters
    ----------
    work : callable
        It may hold a table: it is sent once to each worker, not with each item.
    items : sequence

    Returns
    -------
    iterator or None
    """
    if not _cluster():
        return None
    dask, dumps = import_module("dask"), import_module("cloudpickle").dumps
    # In the graph, not scattered: a worker that comes in place of a dead one gets it too.
    asked = dask.delayed(dumps(work), pure=False, traverse=False)
    apply = dask.delayed(_apply, pure=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        client = import_module("distributed").default_client()
        found = client.compute([apply(asked, dumps(item)) for item in items])
    return (one.result() for one in found)


def _apply(work: bytes, item: bytes) -> Any:
    loads = import_module("cloudpickle").loads
    return loads(work)(loads(item))


def _computed(*what: Any) -> tuple[Any, ...]:
    """The values of delayed ones. What is asked may be megabytes: once for all partitions, so Dask need not warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return import_module("dask").compute(*what)


# --- what a partition is asked ----------------------------------------------------------------------------------------


def _as_frame(partition: Any) -> pd.DataFrame:
    """A partition as a frame: of an array the columns are x0, x1, ...; a Parquet part is read here, on the worker."""
    if isinstance(partition, ParquetPart):
        return pd.concat(partition.frames(list(partition.types)), ignore_index=True)
    if isinstance(partition, np.ndarray):
        partition = pd.DataFrame(partition)
        partition.columns = pd.Index([f"x{j}" for j in range(partition.shape[1])])
    return partition.set_axis(list(map(str, partition.columns)), axis=1)


def _word(column: pd.Series) -> str:
    kind = column.dtype
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind):
        return "numbers"
    if pd.api.types.is_datetime64_any_dtype(kind):
        return "dates"
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_string_dtype(kind):
        return "text"
    return str(kind)


def _described(partition: Any) -> tuple[int, dict[str, str]]:
    frame = _as_frame(partition)
    return len(frame), {str(name): _word(frame[name]) for name in frame}


def _tallied(partition: Any, columns: list[str]) -> dict[str, Counter[Any]]:
    found: dict[str, Counter[Any]] = {name: Counter() for name in columns}
    add_to_tally(found, _as_frame(partition))
    return found


def _merged(found: list[dict[str, Counter[Any]]]) -> dict[str, Counter[Any]]:
    return {name: sum((one[name] for one in found), Counter()) for name in found[0]}


def _values(partition: Any, names: list[str], coders: list[Coder], complete: bool) -> np.ndarray:
    """(rows, columns) of a partition."""
    if isinstance(partition, ParquetPart):
        pieces = [numbers_of_frame(frame, coders) for frame in partition.frames(names)]
        values = np.concatenate(pieces)
    elif isinstance(partition, np.ndarray) and all(one.plain for one in coders):
        some = [int(name[1:]) for name in names]  # x0, x1, ...
        values = np.ascontiguousarray(partition[:, some], dtype=np.float64)
    else:
        values = numbers_of_frame(_as_frame(partition)[names], coders)
    return values[~np.isnan(values).any(axis=1)] if complete else values


def _partial(asked: bytes, partition: Any) -> list[np.ndarray]:
    """The arrays of one partition."""
    statistic, combine, how, shift, scale, size = import_module("cloudpickle").loads(asked)
    rows = MemoryRows(_values(partition, *how)).standardized(shift, scale).rechunked(size)
    with one_blas_thread():
        return rows.combined(statistic, combine)


def _together(asked: bytes, parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    """The arrays of partitions next to each other, in their order."""
    combine = import_module("cloudpickle").loads(asked)[1]
    total = [array.copy() for array in parts[0]]
    for part in parts[1:]:
        total = combine(total, part)
    return total


def _length(how: tuple[Any, ...], partition: Any) -> int:
    return len(_values(partition, *how))


def _picked(how: tuple[Any, ...], partition: Any, positions: np.ndarray) -> np.ndarray:
    return _values(partition, *how)[positions]


# --- the table --------------------------------------------------------------------------------------------------------


class DaskTable:
    """A Dask array or frame, or Parquet files whose row groups are read by the workers.

    Parameters
    ----------
    partitions : list
        Delayed frames or arrays, or Parquet parts.
    memory : int
        Bytes that the client may hold at once.
    known : Parts, optional
        What is known of the columns and rows; else every partition is asked.
    """

    def __init__(self, partitions: list[Any], memory: int, known: Parts | None = None) -> None:
        self.partitions, self.memory = partitions, memory
        if known is not None:
            self.names, self.types, self.count = known.names, known.types, known.count
            self.lengths = [part.count for part in partitions]
            return
        found = self.ask(_described)
        refuse_unlike([(f"partition {k}", count, types) for k, (count, types) in enumerate(found)])
        self.types = found[0][1]
        self.names = tuple(self.types)
        self.lengths = [count for count, _ in found]
        self.count = sum(self.lengths)

    def ask(self, question: Callable[..., Any], *more: Any) -> list[Any]:
        """The answers of all partitions."""
        dask = import_module("dask")
        asked = dask.delayed(question, pure=False)
        return list(_computed(*[asked(partition, *more) for partition in self.partitions]))

    def tally(self, columns: Sequence[str]) -> dict[str, Counter[Any]]:
        return _merged(self.ask(_tallied, list(columns)))

    def rows(self, names: Sequence[str], coders: Sequence[Coder], *, complete: bool) -> Rows:
        return DaskRows(self, names, coders, complete=complete)


class DaskRows(StreamedRows):
    """The rows of a Dask table."""

    elsewhere = True

    def __init__(self, table: DaskTable, names: Sequence[str], coders: Sequence[Coder], *, complete: bool) -> None:
        super().__init__(table.memory)
        self._table, self._how = table, (list(names), list(coders), complete)
        dask = import_module("dask")
        self._lengths = table.lengths
        if complete:
            length = dask.delayed(_length, pure=False)
            self._lengths = list(_computed(*[length(self._how, one) for one in table.partitions]))

    @property
    def coders(self) -> Sequence[Coder]:
        return self._how[1]

    def with_coders(self, coders: Sequence[Coder]) -> Self:
        made = copy(self)
        made._how = (self._how[0], list(coders), self._how[2])
        return made

    @property
    def count(self) -> int:
        return sum(self._lengths)

    @property
    def width(self) -> int:
        return len(self._how[0])

    def only(self, keep: np.ndarray) -> Rows:
        names, coders, complete = self._how
        if complete:
            raise InputError("a constant column and missing values at once, on a cluster: leave the column out (drop=)")
        some = copy(self)
        kept = np.flatnonzero(keep)
        some._how = [names[j] for j in kept], [coders[j] for j in kept], complete
        some._samples = {key: values[:, keep] for key, values in self._samples.items()}
        some.__dict__.pop("_ranges", None)
        return some

    def combined(self, statistic: Statistic, combine: Combine, done: Done | None = None, **_: Any) -> list[np.ndarray]:
        dask = import_module("dask")
        what = (statistic, combine, self._how, self._shift, self._scale, self._chunk_rows)
        # A literal in the graph, not scattered: the scheduler can give it to a new worker if the first one dies.
        asked = dask.delayed(import_module("cloudpickle").dumps(what), pure=False, traverse=False)
        partial, together = dask.delayed(_partial, pure=False), dask.delayed(_together, pure=False)
        level = [partial(asked, one) for one, length in zip(self._table.partitions, self._lengths) if length]
        while len(level) > 1:
            level = [together(asked, level[k : k + _FAN]) for k in range(0, len(level), _FAN)]
        (found,) = _computed(level[0])
        if done is not None:
            done(1.0)
        return [np.array(array) for array in found]  # what comes over the wire may not be written to

    def read(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            if rows == slice(None):
                self.refuse_if_too_many()
            rows = np.arange(*rows.indices(self.count))
        dask = import_module("dask")
        picked = dask.delayed(_picked, pure=False)
        ends = np.cumsum(self._lengths)
        cuts = np.searchsorted(rows, np.concatenate([[0], ends]))
        wanted = [
            picked(self._how, one, rows[cuts[k] : cuts[k + 1]] - (ends[k] - self._lengths[k]))
            for k, one in enumerate(self._table.partitions)
            if cuts[k + 1] > cuts[k]
        ]
        return np.concatenate([np.empty((0, self.width)), *_computed(*wanted)])


def parted_dask(data: Any, memory: int) -> DaskTable:
    """The table of a Dask array or frame."""
    if type(data).__module__.startswith("dask.array"):
        if data.ndim != 2:
            raise InputError(f"data must be a table with rows and columns (2 dimensions), not {data.ndim}: reshape it")
        if data.numblocks[1] > 1:
            data = data.rechunk({1: -1})
        return DaskTable(list(data.to_delayed().ravel()), memory)
    return DaskTable(list(data.to_delayed()), memory)


def spread_out(table: Parts, memory: int) -> DaskTable | None:
    """Parquet files for the workers to read, if there is a cluster: a partition for each row group."""
    if not _cluster() or not all(isinstance(part, ParquetPart) for part in table.parts):
        return None
    groups = [group for part in table.parts if isinstance(part, ParquetPart) for group in part.split()]
    return DaskTable([group for group in groups if group.count], memory, table)
