"""The one way in for data: arrays, frames and files become a :class:`Table` of numbers, names and kinds of columns.

Data that cannot be used are refused with an :class:`~dagtune.validation.InputError` that says what is wrong, where, and
what to do about it. A table is read once: what takes a table takes a :class:`Table` too, and passes it on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from dagtune.tables.checkpoint import Store
from dagtune.tables.coding import PLAIN, asked_kinds, inferred_kinds, numbers_of, plain_numbers, with_levels
from dagtune.tables.completing import completed
from dagtune.tables.dialect import ReadOptions
from dagtune.tables.files import Loaded, choose_positions, load_frame
from dagtune.tables.frames import as_frame, unmasked
from dagtune.tables.gaps import MISSING, look_at_gaps
from dagtune.tables.kinds import KINDS
from dagtune.tables.labels import Labels, merged, pulled
from dagtune.tables.opening import Streamed, Wanted, fingerprint, open_parts, refuse_pieces, streamed
from dagtune.tables.rows import MemoryRows
from dagtune.tables.table import Table, where
from dagtune.tables.together import blocks_of
from dagtune.tables.troubles import Troubles
from dagtune.tables.weights import pulled_weights, without_weightless
from dagtune.validation import InputError, check_choice, check_names, parse_memory

__all__ = ["MEMORY", "check_vector_pair", "read_table"]

#: Memory that reading takes at most, unless more is allowed.
MEMORY = "1GiB"


def read_table(
    data: Any,
    *,
    names: Sequence[str] | None = None,
    min_rows: int = 2,
    min_columns: int = 2,
    drop_constant: bool = False,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na: str | Sequence[str] = (),
    header: bool | None = None,
    query: str | None = None,
    columns: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    missing: str = "error",
    categorical: str | Sequence[str] = (),
    kinds: Mapping[str, str | Sequence[str]] | None = None,
    infer: bool = False,
    merge: Mapping[str, Sequence[str]] | None = None,
    groups: Any = None,
    conditions: Any = None,
    sample_weight: Any = None,
    blocks: int | str | None = None,
    memory: str | int = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Table:
    """Read a table: check it, and turn it into numbers with names.

    How a file is written is found out, and ``Table.notes`` say it: separator, encoding, decimal sign, comments, marks
    for "missing", signs in numbers; totals, units, empty columns and row numbers in a file are left out. Refused, all
    columns at once, with the bad cell and its row: text, missing and infinite values, constant columns; and duplicate
    names of a frame, and too few rows or columns. Booleans count as 0 and 1, masked values as missing.

    Parameters
    ----------
    data : array of shape (rows, columns), data frame, path, or Table
        Frames may come from pandas, Polars, pyarrow, Dask, xarray, whatever else narwhals knows, or anything with the
        Arrow C stream or ``__dataframe__``. A path is that of a text table, or .parquet, .feather, .xlsx, .json,
        .jsonl, .dta, .sav, .sas7bdat, .sqlite, .duckdb, or see :func:`dagtune.tables.register_format`; perhaps
        compressed (.gz, .zip, .xz, .zst, .bz2); "-" is standard input; a folder of Parquet files or a pattern such as
        "data/*.parquet" is one table. A Table comes back as it is, apart from what else is asked.
    names : sequence of str, optional
        Names of the columns. Default: those of the data, or x0, x1, ... for an array.
    min_rows, min_columns : int
        The fewest rows and columns that will do.
    drop_constant : bool
        Leave constant columns out instead of refusing them.
    sep : str, optional
        What separates the columns of a text file: one character, "tab" or "space". Default: found out, as are the next.
    decimal : {".", ","}, optional
        The decimal sign of a text file.
    encoding : str, optional
        The encoding of a text file, such as "latin-1".
    na : str or sequence of str
        Cells that mean "missing", besides empty ones, NA, ?, - and their like.
    header : bool, optional
        Whether the first row of a file holds the names.
    query : str, optional
        What to take from a file that holds several tables: SQL for a database, the name of a sheet or of a file in an
        archive.
    columns, drop : str or sequence of str, optional
        Which columns to use, and which to leave out; they keep the order of the table, and the others are not checked.
    missing : {"error", "drop", "impute", "model"}
        What to do about missing values: refuse them, leave those rows out, fill in the median of the column (the most
        frequent category of a categorical one), or draw them from what the other columns tell, so that all rows stay.
        The conditional learner then averages over several such draws; others take the first.
    categorical : str or sequence of str
        Columns of any type whose values are categories. They are coded 0, 1, ...
    kinds : mapping of str to str, optional
        The kind of columns, a name in :data:`dagtune.tables.KINDS`, or the levels of an ordinal one from low to high;
        ``categorical="sex"`` is short for ``kinds={"sex": "categorical"}``.
    infer : bool
        Tell the kinds of the other columns from their values (:func:`dagtune.tables.infer_kind`), and so take text.
        Otherwise they must be numbers, and are continuous.
    merge : mapping of str to sequence of str, optional
        Columns of 0 and 1 that are one variable, by its name: ``{"site": ["north", "south"]}`` gives a categorical
        column "site" that says which of them is 1, or "none", in place of the first of them.
    groups, conditions : str or array of shape (rows,), optional
        What says where each row comes from, and under which condition of an experiment it was taken: the name of a
        column, which is then no variable, or one label for each row.
    sample_weight : str or array of shape (rows,), optional
        How much each row counts: the name of a column, which is then no variable, or one number for each row. Rows of
        weight 0 are left out.
    blocks : int or "auto", optional
        How many successive rows are drawn together when rows are resampled, because rows resemble the next.
    memory : str or int
        Memory that reading may take, such as "1GiB". Text, Parquet, Arrow datasets, memory maps, lazy Polars frames and
        Dask collections that need more stay where they are: their rows are read again for each pass, in pieces.
    checkpoint : str or path, optional
        A folder in which such a table keeps what was computed, so that a second start goes on where the first ended.
    progress : callable, optional
        Called with the share of the file that was read.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        If the data cannot be used; the message says why and what to do.

    Examples
    --------
    >>> from dagtune.tables import read_table
    >>> table = read_table([[1, 2], [3, 5]])
    >>> table.names
    ('x0', 'x1')
    >>> table.values.tolist()
    [[1.0, 2.0], [3.0, 5.0]]
    """
    check_choice("treatment of missing values", missing, MISSING)
    if isinstance(data, Table):
        table = data if names is None else replace(data, names=check_names(names, count=data.width))
        table = _labelled(_selected(table, columns, drop), groups, conditions, sample_weight)
        if merge and not set(merge) <= set(table.names):
            return read_table(
                table.to_frame(),
                merge=merge,
                kinds=_kept_kinds(table, merge) | dict(kinds or {}),
                categorical=categorical,
                infer=infer,
                groups=None if table.groups is None else np.array(table.groups.names)[table.groups.codes],
                conditions=None
                if table.conditions is None
                else np.array(table.conditions.names)[table.conditions.codes],
                sample_weight=None if table.weights is None else table.weights.values,
                blocks=blocks,
            )
        asked = asked_kinds(table.names, categorical, kinds)
        if infer and not table.inferred:
            known = {name: kind for name, kind in zip(table.names, table.kinds) if kind != PLAIN}
            asked = {**inferred_kinds(table.to_frame(), table.names, {**known, **asked}), **asked}
            table = replace(table, inferred=True)
        table = _of_kinds(table, asked)
        _refuse_too_few(table, min_rows, min_columns)
        return _in_blocks(table, blocks)
    raw: pd.DataFrame | np.ndarray
    loaded: Loaded | None = None
    options = ReadOptions.of(sep, decimal, encoding, na, header, query)
    store = None if checkpoint is None else Store(checkpoint)
    all_rows = {
        "merge": merge,
        "groups": groups,
        "experiments": conditions,
        "sample_weight": sample_weight,
        "blocks": blocks,
    }
    whole = [
        name for name, asked in all_rows.items() if asked is not None and not (isinstance(asked, dict) and not asked)
    ]
    whole += [f"missing={missing!r}"] if missing in ("impute", "model") else []
    parts = open_parts(
        data,
        options=options,
        columns=columns,
        drop=drop,
        memory=parse_memory(memory),
        folder=None if store is None else store.folder,
        whole=whole,
        progress=progress,
    )
    if parts is not None and not isinstance(parts, pd.DataFrame):
        refuse_pieces(whole)
        wanted = Wanted(columns, drop, categorical, kinds, infer, missing, drop_constant)
        if store is not None:
            store.belongs_to("table", **fingerprint(data, parts), **asdict(wanted))
        table = _streamed_table(streamed(parts, wanted, store, progress), infer)
        table = table if names is None else replace(table, names=check_names(names, count=table.width))
        _refuse_too_few(table, min_rows, min_columns)
        return table
    if isinstance(parts, pd.DataFrame):
        raw, columns, drop = parts, None, ()
    elif isinstance(data, (str, os.PathLike)):
        loaded = load_frame(data, options=options, columns=columns, drop=drop, progress=progress)
        raw, columns, drop = loaded.frame, None, ()
    else:
        raw = _frame_or_array(data)
    raw = plain_numbers(raw) if isinstance(raw, pd.DataFrame) else raw
    given = raw.columns if isinstance(raw, pd.DataFrame) else [f"x{j}" for j in range(raw.shape[1])]
    found = check_names(given if names is None else names, count=raw.shape[1])
    if columns is not None or drop:
        chosen = choose_positions(found, columns, drop)
        raw = raw.iloc[:, chosen] if isinstance(raw, pd.DataFrame) else raw[:, chosen]
        found = tuple(found[position] for position in chosen)
    raw, found = merged(raw, found, merge)
    raw, found, group = pulled(raw, found, groups, "groups")
    if group is not None and isinstance(conditions, str) and conditions == group.column:
        condition: Labels | None = group  # every condition is a group of its own
    else:
        raw, found, condition = pulled(raw, found, conditions, "experiments")
    raw, found, weights = pulled_weights(raw, found, sample_weight)
    asked = asked_kinds(found, categorical, kinds)
    raw = with_levels(raw, found, kinds)
    troubles = Troubles(loaded, asked)
    if infer:
        asked |= inferred_kinds(raw, found, asked, troubles)
    values, coded = numbers_of(raw, found, asked, troubles)
    table = Table(
        MemoryRows(values),
        found,
        tuple(asked.get(name, PLAIN) for name in found),
        inferred=infer,
        labels={name: each.labels for name, each in coded.items() if each.labels},
        notes=(
            *(() if loaded is None else loaded.said()),
            *(each.note for each in coded.values() if each.note),
        ),
        groups=group,
        conditions=condition,
        weights=weights,
    )
    _refuse_too_few(table, min_rows, min_columns)
    if missing == "error":
        troubles.about_gaps(table)
    troubles.about_infinite(table)
    if not drop_constant:
        troubles.about_constant(table)
    troubles.tell()
    table = without_weightless(_in_blocks(table, blocks))
    table = _without_missing(table, missing, min_rows)
    _refuse_tiny(table)
    table = _without_constant(table, drop_constant)
    _refuse_constant(table)
    _refuse_too_few(table, min_rows, min_columns)
    return table


def _streamed_table(found: Streamed, infer: bool) -> Table:
    return Table(
        found.rows,
        found.names,
        found.kinds,
        dropped=found.dropped,
        lost_rows=found.lost_rows,
        inferred=infer,
        labels=found.labels,
        notes=tuple(found.notes),
    )


def check_vector_pair(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Read two samples of the same rows.

    Parameters
    ----------
    x, y : array of shape (rows,) or (rows, columns), data frame, or Table
        Whatever :func:`read_table` takes, or a vector.

    Returns
    -------
    tuple of two ndarray
        The numbers, float64 of shape (rows, columns); a vector becomes one column.

    Raises
    ------
    InputError
        If a sample cannot be read, or their numbers of rows differ.
    """
    pair = []
    for side, given in (("x", x), ("y", y)):
        if not isinstance(given, (Table, str, os.PathLike)):
            given = _frame_or_array(given, vector=True)
        lonely = isinstance(given, np.ndarray) and given.shape[1:] == (1,)
        pair.append(read_table(given, names=[side] if lonely else None, min_columns=1))
    if pair[0].count != pair[1].count:
        raise InputError(f"x has {pair[0].count} rows and y has {pair[1].count}: give the same rows of both")
    return pair[0].values, pair[1].values


def _frame_or_array(data: Any, *, vector: bool = False) -> pd.DataFrame | np.ndarray:
    """Data in memory as a pandas frame, if they have names, or as an array (rows, columns)."""
    frame = as_frame(data)
    if frame is not None:
        return frame
    if hasattr(data, "toarray"):
        raise InputError("data are a sparse matrix: pass data.toarray()")
    array = np.asarray(unmasked(data))
    if array.ndim == 0:
        raise InputError(
            f"data of type {type(data).__name__} are no table: pass an array, a frame or the path of a file"
        )
    if vector and array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        raise InputError(f"data must be a table with rows and columns (2 dimensions), not {array.ndim}: reshape it")
    return array


def _selected(table: Table, columns: Sequence[str] | None, drop: Sequence[str]) -> Table:
    """The columns asked for, of a table that was read before."""
    if columns is None and not drop:
        return table
    keep = np.zeros(table.width, dtype=bool)
    keep[choose_positions(table.names, columns, drop)] = True
    return table.only(keep)


def _labelled(table: Table, groups: Any, conditions: Any, sample_weight: Any) -> Table:
    """Groups, conditions and weights of the rows of a table that was read before."""
    for what, given in (("groups", groups), ("conditions", conditions)):
        known = getattr(table, what)
        if given is None or (known is not None and isinstance(given, str) and known.column == given):
            continue
        if known is not None and not isinstance(given, str) and len(given) != table.count:
            continue  # the table was read with them, and has lost rows since
        if isinstance(given, str) and table.groups is not None and table.groups.column == given:
            table = replace(table, conditions=table.groups)
            continue
        option = "groups" if what == "groups" else "experiments"
        _, left, found = pulled(table.values, table.names, given, option)
        assert found is not None
        if found.column in table.labels:
            words = table.labels[found.column]
            found = replace(found, names=tuple(words[int(float(name))] for name in found.names))
        table = table.only(np.array([name in left for name in table.names]))
        table = replace(table, groups=found) if what == "groups" else replace(table, conditions=found)
    if sample_weight is None:
        return table
    if isinstance(sample_weight, str) and table.weights is not None and table.weights.column == sample_weight:
        return table
    if not table.rows.in_memory:
        raise InputError("sample_weight needs all rows in memory, and this table is read in pieces: raise memory=")
    _, left, weights = pulled_weights(table.values, table.names, sample_weight)
    table = table.only(np.array([name in left for name in table.names]))
    return without_weightless(replace(table, weights=weights))


def _in_blocks(table: Table, blocks: int | str | None) -> Table:
    """The table with the block of each row, unless it has them already."""
    if blocks is None or table.blocks is not None:
        return table
    return replace(table, blocks=blocks_of(blocks, table.values, table.groups))


def _kept_kinds(table: Table, merge: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The kinds of the columns that are not merged."""
    gone = {name for names in merge.values() for name in names}
    return {name: kind for name, kind in zip(table.names, table.kinds) if name not in gone}


def _of_kinds(table: Table, asked: Mapping[str, str]) -> Table:
    """The kinds asked for, of a table that was read before: amounts can still become another kind."""
    new = {name: kind for name, kind in asked.items() if kind != table.kinds[table.names.index(name)]}
    if not new:
        return table
    values, kinds, labels, notes = table.values.copy(), list(table.kinds), dict(table.labels), list(table.notes)
    for name, kind in new.items():
        j = table.names.index(name)
        if not table.quantitative[j]:
            raise InputError(f"column {name!r} was read as {kinds[j]}, not as {kind}: read the data again")
        coded = KINDS[kind].read(pd.Series(values[:, j]), name)
        values[:, j], kinds[j] = coded.values, kind
        if coded.labels:
            labels[name] = coded.labels
        if coded.note:
            notes.append(coded.note)
    return replace(table.with_values(values), kinds=tuple(kinds), labels=labels, notes=tuple(notes))


def _refuse_too_few(table: Table, min_rows: int, min_columns: int) -> None:
    """Refuse a table with too few columns or rows."""
    for count, least, what in ((table.width, min_columns, "column"), (table.count, min_rows, "row")):
        if count < least:
            raise InputError(
                f"the data have {count} {what}{'' if count == 1 else 's'}, but at least {least} are needed: "
                f"add {what}s, or check that the table is not transposed"
            )


#: Columns whose largest number is smaller than this lose digits: 1e-310 has two digits less than 1e-300.
_TINIEST = 1e-300


def _refuse_tiny(table: Table) -> None:
    """Refuse columns of numbers so small that nothing can be computed with them."""
    values = table.values
    largest = np.maximum(values.max(axis=0), -values.min(axis=0)) if len(values) else np.ones(table.width)
    tiny = (largest > 0) & (largest < _TINIEST)
    if tiny.any():
        j = int(np.argmax(tiny))
        raise InputError(f"column {table.names[j]!r} has no number above {largest[j]:.1g}: rescale it")


def _without_missing(table: Table, missing: str, min_rows: int) -> Table:
    """The table with missing values treated as asked for."""
    values = table.values
    if missing == "error" or not np.isnan(values).any():
        return table
    gone = np.isnan(values)
    if gone.all(axis=0).any():
        raise InputError(f"column {table.names[int(np.argmax(gone.all(axis=0)))]!r} has no values at all: drop it")
    table = replace(table, gaps=look_at_gaps(gone, values, table.names))
    if missing == "drop":
        kept = ~gone.any(axis=1)
        if kept.sum() < min_rows:
            raise InputError(
                f"{kept.sum()} of {len(values)} rows have no missing value: use missing='model', or drop the columns "
                f"with most of them ({table.names[int(gone.sum(axis=0).argmax())]!r} first)"
            )
        return replace(table.take(np.flatnonzero(kept)), lost_rows=int((~kept).sum()))
    if missing == "model":
        first = next(completed(values, table.kinds, np.random.default_rng(0), 1))
        return replace(table.with_values(first), gone=gone)
    typical = [KINDS[kind].typical(values[~gone[:, j], j]) for j, kind in enumerate(table.kinds)]
    return replace(table.with_values(np.where(gone, typical, values)), filled=int(gone.sum()))


def _refuse_constant(table: Table) -> None:
    """Refuse columns that vary only in rows that were left out; of the others :class:`Troubles` has told."""
    for name, values in zip(table.names, table.values.T) if table.lost_rows and table.count else ():
        if values.max() == values.min():
            raise InputError(
                f"column {name!r} is constant ({values[0]:g} in all {len(values)} rows without missing values): drop "
                "it, or pass drop_constant=True"
            )


def _without_constant(table: Table, drop_constant: bool) -> Table:
    """The table without its constant columns, if the user wants them dropped."""
    values = table.values
    constant = values.max(axis=0) == values.min(axis=0)
    if not drop_constant or not constant.any():
        return table
    return replace(table.only(~constant), dropped=where(table.names, constant))
