"""The stored results of a folder: one line of JSON for each finished cell, written by one runner at a time.

While a run goes on, lines are appended to ``results.jsonl``, each in a single write followed by fsync: a line is whole
or not there. A crash can leave an incomplete last line; it is moved to ``results.torn`` and its cell counts as not run.
When a run ends, all lines are packed into ``results.jsonl.xz`` (whole or not at all) and ``results.jsonl`` is deleted.
The next run appends to a new one, and packs both. Readers read both files, if they exist.

Two files, because a compressed file can't be appended to safely: a crash inside a compressed block costs all cells of
the block, and small blocks hardly compress. xz, because a file in version control is kept for ever: of the committed
14 849 cells it makes 0.44 MB in 7.5 s, gzip 0.76 MB in 0.3 s (on a busy machine), plain lines are 9.7 MB.

What all cells of a run share (versions, time limit, format) is written once in a line of its own, before the first cell
that refers to it by its number: ``{"run": 0, "shared": {...}}``, then ``{"cell": ..., "run": 0}``. Lines without a
``run``, as version 0.1 wrote them, hold everything themselves. A record in memory always does.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from dagtune.files import write_whole
from dagtune.validation import InputError

try:
    import fcntl
except ImportError:  # no such locks on Windows: a second runner is not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["PACKED", "RESULTS", "Record", "Store", "check_complete", "from_uncommitted_code", "read_results"]

RESULTS = "results.jsonl"
PACKED = "results.jsonl.xz"
_TORN = "results.torn"
#: What the cells of a run have in common.
_SHARED = ("format", "versions", "cell_timeout")

#: One finished cell.
Record = dict[str, Any]


def read_results(path: str | os.PathLike[str]) -> list[Record]:
    """Read stored results, packed or not.

    Parameters
    ----------
    path : path
        A folder that ``dagtune reproduce`` wrote, or a results file, plain or packed.

    Returns
    -------
    list of dict
        One record for each finished cell, oldest first: ``cell``, ``settings``, ``seeds``, ``status``, ``metrics``,
        ``versions`` and more. A last line that is still being written is left out.

    Raises
    ------
    InputError
        If there are no results, or a line is not a result.

    Examples
    --------
    >>> _ = Path("results.jsonl").write_text('{"cell": {"method": "ot"}, "status": "ok"}\\n')
    >>> read_results("results.jsonl")
    [{'cell': {'method': 'ot'}, 'status': 'ok'}]
    """
    path = Path(path)
    if path.is_file():
        return _read_packed(path) if path.suffix == ".xz" else _parse(_split_torn(path.read_bytes())[0], path)
    plain, packed = path / RESULTS, path / PACKED
    if not plain.is_file() and not packed.is_file():
        raise InputError(f"no results in {path}: run `dagtune reproduce all --out {path}` first")
    lines = _split_torn(plain.read_bytes())[0] if plain.is_file() else b""
    return _joined(_read_packed(packed), _parse(lines, plain))


def from_uncommitted_code(record: Record) -> bool:
    """Whether a record was made by code that differed from the commit that it names.

    Parameters
    ----------
    record : dict
        From :func:`read_results`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from_uncommitted_code({"versions": {"commit": "0123456789ab+changes"}})
    True
    """
    return str(record.get("versions", {}).get("commit", "")).endswith("+changes")


class Store:
    """The results of a folder, held by one runner: ``with Store(folder) as store``.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Attributes
    ----------
    records : list of dict
        Everything stored so far.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / RESULTS
        self.records: list[Record] = []
        self._runs: list[Record] = []

    def __enter__(self) -> Store:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file: results need a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self._open_locked()
        try:
            self._set_torn_line_aside()
            packed, plain = _read_packed(self.folder / PACKED), _parse(self.path.read_bytes(), self.path, self._runs)
            self.records = _joined(packed, plain)
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)  # and with it the lock, as at any death of this process

    def append(self, records: Sequence[Record]) -> None:
        """Write records, all of them or none."""
        runs = list(self._runs)
        lines = _lines(records, runs)
        before = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, lines)
            if written != len(lines):
                raise OSError(f"only {written} of {len(lines)} bytes went to {self.path}: is the disk full?")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise
        self.records += records
        self._runs = runs

    def pack(self) -> None:
        """Move everything into the packed file and delete the plain one; nothing more can be appended.

        A crash between the two steps leaves the same cells in both, which every reader notices.
        """
        if self.path.stat().st_size:
            write_whole(self.folder / PACKED, lzma.compress(_lines(self.records, [])))
        with suppress(PermissionError):  # Windows keeps a file that is open: then both hold the same cells
            self.path.unlink()

    def _open_locked(self) -> int:
        """The plain file, open for appending and locked; not one that another run has just packed and deleted."""
        while True:
            file = _opened(self.path)
            try:
                self._take_lock(file)
                if self.path.exists() and os.path.samestat(os.fstat(file), self.path.stat()):
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)

    def _take_lock(self, file: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {self.folder}: wait for it, stop it, or choose another --out"
            ) from None

    def _set_torn_line_aside(self) -> None:
        whole, torn = _split_torn(self.path.read_bytes())
        if not torn:
            return
        with os.fdopen(_opened(self.folder / _TORN), "ab") as file:
            file.write(torn + b"\n")
        os.ftruncate(self._file, len(whole))


def _opened(path: Path) -> int:
    """A file to append to; not one that a link leads to, which somebody may have put there."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)


def _lines(records: Sequence[Record], runs: list[Record]) -> bytes:
    """Records as lines; ``runs`` are those that the file has already, and grow by the new ones."""
    lines = []
    for record in records:
        shared = {name: record[name] for name in _SHARED if name in record}
        if shared not in runs:
            lines.append({"run": len(runs), "shared": shared})
            runs.append(shared)
        own = {name: value for name, value in record.items() if name not in shared}
        lines.append(own | {"run": runs.index(shared)})
    return "".join(json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n" for line in lines).encode()


def _parse(data: bytes, file: Path, runs: list[Record] | None = None) -> list[Record]:
    """The records of whole lines; ``runs`` takes what they share."""
    runs = [] if runs is None else runs
    records = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            found = json.loads(line)
            if "shared" in found:
                if found["run"] != len(runs):
                    raise ValueError("runs are numbered as they come")
                runs.append(dict(found["shared"]))
                continue
            record = found | runs[found.pop("run")] if "run" in found else found
            cell, status = record["cell"], record["status"]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise InputError(
                f"line {number} of {file} is not a result: delete the line, and its cell will be run again"
            ) from None
        if not isinstance(cell, dict) or status not in ("ok", "failed", "timeout") or not _well_typed(record):
            raise InputError(
                f"line {number} of {file} is not a result: delete the line, and its cell will be run again"
            )
        records.append(record)
    return records


#: Types of what a record or its cell holds, where it does.
_TYPES: dict[str, Any] = {
    "experiment": str,
    "model": str,
    "method": str,
    "recipe": str,
    "finished": str,
    "reason": str,
    "nodes": int,
    "repeat": int,
    "standardized": bool,
    "cpu_seconds": (int, float, type(None)),
    "versions": dict,
    "metrics": dict,
    "readings": dict,
}


def _well_typed(record: Record) -> bool:
    """Whether everything that a report reads is of its type."""
    entries = {**record["cell"], **{name: value for name, value in record.items() if name in _TYPES}}
    if not all(isinstance(value, _TYPES.get(name, object)) for name, value in entries.items()):
        return False
    measured = [record.get("metrics", {}), *record.get("readings", {}).values()]
    numbers = (int, float, type(None))
    return all(
        isinstance(each, dict) and all(isinstance(n, numbers) for n in each.values()) for each in measured
    ) and all(isinstance(version, str) for version in record.get("versions", {}).values())


#: What a report needs of every record, and of every cell.
_NEEDED = ("finished",)
_NEEDED_OF_CELL = ("experiment", "model", "nodes", "recipe", "standardized", "method", "repeat")


def check_complete(records: Sequence[Record]) -> None:
    """Refuse records that lack what a report reads, as files written by other programs may.

    Parameters
    ----------
    records : list of dict
        From :func:`read_results`.

    Raises
    ------
    InputError
        The message says which result it is, counted from 1, and what is missing.

    Examples
    --------
    >>> check_complete([])
    """
    for number, record in enumerate(records, start=1):
        outcome = ("metrics",) if record["status"] == "ok" else ("reason",)
        lacking = [name for name in (*_NEEDED, *outcome) if name not in record]
        lacking += [name for name in _NEEDED_OF_CELL if name not in record["cell"]]
        if lacking:
            raise InputError(
                f"result {number} of {len(records)} has no {lacking[0]!r}: delete its line, and its cell will be run "
                "again"
            )


def _read_packed(file: Path) -> list[Record]:
    """The records of a packed file; none if there is no such file."""
    if not file.is_file():
        return []
    try:
        lines = _unpacked(file)
    except (lzma.LZMAError, EOFError) as error:
        raise InputError(f"can't unpack {file} ({error}): restore it, or delete it and run its cells again") from None
    return _parse(lines, file)


#: The most bytes that packed results may unpack to; all that are committed make 10 MB.
_LARGEST = 2**29


def _unpacked(file: Path) -> bytes:
    """The lines of a packed file; refused if there are more than any run writes."""
    with lzma.open(file) as packed:
        lines = packed.read(_LARGEST + 1)
    if len(lines) > _LARGEST:
        raise lzma.LZMAError(f"it holds more than {_LARGEST} bytes")
    return lines


def _joined(packed: list[Record], plain: list[Record]) -> list[Record]:
    """All records, oldest first; a crash while packing may have left the plain ones in both files."""
    return packed if plain and packed[-len(plain) :] == plain else packed + plain


def _split_torn(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and what follows the last of them."""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]
