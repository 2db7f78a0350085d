"""File formats by the ending of the name. A format is one call of :func:`register_format`."""

from __future__ import annotations

import io
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from dagtune.registry import Registry
from dagtune.validation import InputError

__all__ = ["FORMATS", "Format", "Grid", "flattened", "register_format"]


@dataclass(frozen=True)
class Format:
    """How files of one ending (``name``) are read.

    Text has a ``separator``, the others ``read``, which is given ``query`` if the file can hold several tables. The
    cells of a ``loose`` format may be texts that are numbers to a person.
    """

    name: str
    separator: str | None = None
    read: Callable[..., Any] | None = None
    header: Callable[[Any], Iterable[Any]] | None = None
    several: bool = False
    loose: bool = False


@dataclass(frozen=True)
class Grid:
    """Cells of a spreadsheet or a JSON document, of which the first row may hold the names."""

    frame: pd.DataFrame
    names: bool
    note: str = ""


#: Formats by the ending of the file's name.
FORMATS: Registry[Format] = Registry("file format")


def register_format(
    suffix: str,
    read: Callable[[Path], pd.DataFrame] | None = None,
    *,
    header: Callable[[Path], Iterable[Any]] | None = None,
    separator: str | None = None,
) -> None:
    """Make a file format known by the ending of its files.

    Parameters
    ----------
    suffix : str
        The ending, with its dot, such as ".xlsx".
    read : callable, optional
        Takes a path and returns a DataFrame; where the file is compressed, or standard input, it takes the unpacked
        bytes as a file object instead. It may raise ValueError, OSError or ImportError; the message then says that the
        file cannot be read, and why.
    header : callable, optional
        Takes the same and returns the column names without reading the rows. Default: reads the whole file.
    separator : str, optional
        For text files: what usually separates the columns. Then ``read`` and ``header`` are not given.

    Raises
    ------
    InputError
        If the ending is already registered, or both or neither of ``read`` and ``separator`` are given.

    Examples
    --------
    >>> from dagtune.tables import FORMATS, register_format
    >>> register_format(".ssv", separator=";")
    >>> ".ssv" in FORMATS
    True
    >>> del FORMATS[".ssv"]
    """
    suffix = suffix.lower()
    if not suffix.startswith(".") or (read is None) == (separator is None):
        raise InputError(f"the file format {suffix!r} needs an ending with a dot, and either read= or separator=")
    FORMATS.register(Format(suffix, separator, read, header))


def _parquet_header(file: Any) -> pd.Index:
    return _without_row_labels(import_module("pyarrow.parquet").read_schema(file))


def _feather_header(file: Any) -> pd.Index:
    return _without_row_labels(import_module("pyarrow.feather").read_table(file, memory_map=False).schema)


def _without_row_labels(schema: Any) -> pd.Index:
    """The columns of an Arrow schema, without those that pandas stored as row labels."""
    return schema.empty_table().to_pandas().columns


def _read_stata(file: Any) -> pd.DataFrame:

    def read(convert_categoricals: bool = True) -> pd.DataFrame:
        frame = pd.read_stata(file, convert_categoricals=convert_categoricals, order_categoricals=False)
        assert isinstance(frame, pd.DataFrame)
        return frame  # labels have numbers, which need not be an order

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.CategoricalConversionWarning)  # some values have no label
            return _with_numbers(read)
    except ValueError as error:
        if "label" not in str(error).lower():
            raise
        return read(convert_categoricals=False)  # two codes share one label


def _with_numbers(read: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """The frame with labels, but with numbers where only some of them have labels, such as 99 for "refused"."""
    frame = read()
    some = [
        name
        for name in frame.columns
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        and not all(isinstance(label, str) for label in frame[name].cat.categories)
    ]
    return frame.assign(**read(convert_categoricals=False)[some]) if some else frame


def _read_spss(file: Any) -> pd.DataFrame:
    read = partial(pd.read_spss, _needs_path(file, "it"))
    return _with_numbers(read)


def _read_spss_portable(file: Any) -> pd.DataFrame:
    path = _needs_path(file, "it")

    def read(convert_categoricals: bool = True) -> pd.DataFrame:
        frame: pd.DataFrame = import_module("pyreadstat").read_por(path, apply_value_formats=convert_categoricals)[0]
        return frame

    return _with_numbers(read)


def _read_sas(file: Any) -> pd.DataFrame:
    frame = pd.read_sas(file, format="sas7bdat", encoding="infer")
    assert isinstance(frame, pd.DataFrame)
    return frame


def _read_xport(file: Any) -> pd.DataFrame:
    frame = pd.read_sas(file, format="xport", encoding="latin-1")
    assert isinstance(frame, pd.DataFrame)
    return frame


def _read_workbook(file: Any, query: str | None) -> Grid:
    """The first sheet with a table of two columns or more, else the first that is not empty; or the one asked for."""
    book = import_module("openpyxl").load_workbook(file, read_only=True, data_only=True)
    try:
        names = [sheet.title for sheet in book.worksheets]
        if query is not None and query not in names:
            raise InputError(
                f"there is no sheet {query!r}: the sheets are {', '.join(map(repr, names))}; choose one, such as "
                f"query={names[0]!r}"
            )
        filled: dict[str, list[list[Any]]] = {}
        for name in names if query is None else [query]:
            rows = [list(row) for row in book[name].iter_rows(values_only=True)]
            last = max((k for k, row in enumerate(rows) if _holds_any(row)), default=-1)
            rows = rows[: last + 1]
            if rows:
                filled[name] = rows
            if any(sum(cell is not None for cell in row) > 1 for row in rows):
                break
        else:  # none is wider than one column
            if not filled:
                raise InputError("the workbook is empty: put a row of names above rows of numbers")
            name, rows = next(iter(filled.items()))
    finally:
        book.close()
    width = max(max((j + 1 for j, cell in enumerate(row) if cell is not None), default=0) for row in rows)
    others = [other for other in names if other != name]
    note = f"sheet {name!r} was read, not {', '.join(map(repr, others))} (choose with query=)" if others else ""
    return Grid(pd.DataFrame([row[:width] for row in rows], dtype=object), names=True, note=note)


def _holds_any(row: list[Any]) -> bool:
    return any(cell is not None and str(cell).strip() for cell in row)


def _read_json(file: Any) -> pd.DataFrame | Grid:
    text = _text_of(file)
    try:
        return _frame_of_json(json.loads(text))
    except json.JSONDecodeError:
        return _read_json_lines_text(text)  # many name files of JSON lines .json
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _read_json_lines(file: Any) -> pd.DataFrame | Grid:
    text = _text_of(file)
    try:
        return _read_json_lines_text(text)
    except ValueError:
        try:
            return _frame_of_json(json.loads(text))  # one document over several lines
        except (json.JSONDecodeError, RecursionError):
            pass
        raise


def _read_json_lines_text(text: str) -> pd.DataFrame | Grid:
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (json.JSONDecodeError, RecursionError) as error:
                raise ValueError(f"line {number} is no JSON: {error}") from error
    return _frame_of_json(rows)


def _text_of(file: Any) -> str:
    data = file.read_bytes() if isinstance(file, Path) else file.read()
    return data.decode(json.detect_encoding(data))


def flattened(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with a column for each field of nested records, called "record.field"."""
    parts: list[pd.DataFrame] = []
    nested = False
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        known = column.dropna() if column.dtype == object else column.iloc[:0]
        if len(known) and known.map(lambda cell: isinstance(cell, dict)).all():
            records = column.map(lambda cell: cell if isinstance(cell, dict) else {}).tolist()
            inner = pd.json_normalize(records).set_index(frame.index)
            nested = True
            parts.append(inner.set_axis([f"{name}.{field}" for field in inner.columns], axis=1))
        else:
            parts.append(column.to_frame())
    return pd.concat(parts, axis=1) if nested else frame


def _read_arff(file: Any) -> pd.DataFrame:
    """A table of Weka: names and kinds above the rows."""
    rows, _ = import_module("scipy.io.arff").loadarff(io.StringIO(_text_of(file)))
    frame = pd.DataFrame(rows)
    return frame.apply(lambda column: column if column.dtype != object else column.map(bytes.decode).replace("?", None))


def _frame_of_json(found: Any) -> pd.DataFrame | Grid:
    """A list of records, a list of rows, columns by name, or one of these below a single key."""
    if isinstance(found, dict) and {"columns", "data"} <= set(found):
        return pd.DataFrame(found["data"], columns=found["columns"])
    if isinstance(found, dict):
        lists = {key: value for key, value in found.items() if isinstance(value, list) and value}
        records = [value for value in lists.values() if all(isinstance(one, dict) for one in value)]
        if len(records) == 1:
            return pd.DataFrame(records[0])
        inner = [value for value in found.values() if isinstance(value, dict)]
        deeper = [value for value in inner if any(isinstance(each, (list, dict)) for each in value.values())]
        if not records and len(deeper) == 1 and not any(isinstance(value, list) for value in found.values()):
            return _frame_of_json(deeper[0])
        if found and len(inner) == len(found) and _one_record_each(inner):
            return pd.DataFrame(inner)
        if found and all(isinstance(value, (list, dict)) for value in found.values()):
            return pd.DataFrame(found).reset_index(drop=True)
    elif isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
        return pd.DataFrame(found)
    elif isinstance(found, list) and found and all(isinstance(one, list) for one in found):
        return Grid(pd.DataFrame(found, dtype=object), names=True)
    raise ValueError('it holds no table; write [{"age": 3, "size": 1.5}, ...] or {"age": [3, ...], "size": [1.5, ...]}')


def _one_record_each(inner: list[dict[str, Any]]) -> bool:
    """Whether records by the names of rows are meant, not columns by name: those hold values by the numbers of rows."""
    fields = dict.fromkeys(name for record in inner for name in record)
    return len(fields) < len(inner) and not any(name.isdigit() for name in fields)


def _read_sqlite(file: Any, query: str | None) -> Grid:
    path = _needs_path(file)
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        listed = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
        asked, note = _query(query, [name for (name,) in connection.execute(listed)])
        try:
            cursor = connection.execute(asked)
            rows, names = cursor.fetchall(), [column[0] for column in cursor.description or ()]
        except sqlite3.Error as error:
            raise InputError(f"the database refuses the query ({error}): correct query=") from error
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error
    finally:
        connection.close()
    return Grid(pd.DataFrame(rows, columns=names), names=False, note=note)


def _read_duckdb(file: Any, query: str | None) -> Grid:
    duckdb = import_module("duckdb")
    path = _needs_path(file)
    try:
        connection = duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"})
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    try:
        listed = "select table_name from information_schema.tables order by 1"
        asked, note = _query(query, [name for (name,) in connection.execute(listed).fetchall()])
        try:
            return Grid(connection.execute(asked).df(), names=False, note=note)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"the database refuses the query ({reason}): correct query=") from error
    finally:
        connection.close()


def _needs_path(file: Any, what: str = "a database") -> Path:
    """The path of a file that a library reads by its path only."""
    if not isinstance(file, Path):
        raise ValueError(f"{what} can't be read from a compressed file or standard input; unpack it first")
    return file


def _query(query: str | None, tables: list[str]) -> tuple[str, str]:
    """The SQL to run, and a note where it was chosen here: a database with one table needs none."""
    if query is not None:
        return query, ""
    if not tables:
        raise InputError("the database holds no table: check the path")
    ask = ['select * from "{}"'.format(name.replace('"', '""')) for name in tables]
    if len(tables) > 1:
        some = ", ".join(map(repr, tables[:8])) + (", ..." if len(tables) > 8 else "")
        raise InputError(f"the database holds {len(tables)} tables ({some}): choose rows, such as query='{ask[0]}'")
    return ask[0], f"the table {tables[0]!r} was read (choose rows and columns with query=)"


for _ending, _separator in {
    ".csv": ",",
    ".tsv": "\t",
    ".tab": "\t",
    ".txt": ",",
    ".dat": ",",
    ".data": ",",
    ".psv": "|",
}.items():
    register_format(_ending, separator=_separator)
for _format in (
    Format(".parquet", read=pd.read_parquet, header=_parquet_header),
    Format(".feather", read=pd.read_feather, header=_feather_header),
    Format(".arrow", read=pd.read_feather, header=_feather_header),
    Format(".xlsx", read=_read_workbook, several=True, loose=True),
    Format(".json", read=_read_json, loose=True),
    Format(".jsonl", read=_read_json_lines, loose=True),
    Format(".ndjson", read=_read_json_lines, loose=True),
    Format(".arff", read=_read_arff),
    Format(".dta", read=_read_stata),
    Format(".sav", read=_read_spss),
    Format(".por", read=_read_spss_portable),
    Format(".sas7bdat", read=_read_sas),
    Format(".xpt", read=_read_xport),
    Format(".sqlite", read=_read_sqlite, several=True, loose=True),
    Format(".sqlite3", read=_read_sqlite, several=True, loose=True),
    Format(".db", read=_read_sqlite, several=True, loose=True),
    Format(".duckdb", read=_read_duckdb, several=True),
):
    FORMATS.register(_format)
