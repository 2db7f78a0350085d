"""The results file: one line of JSON a finished cell, whole or not there, written by one runner at a time.

A line goes out in a single write to a file opened for appending, followed by fsync. What a crash can leave is a last
line without its end: it is set aside into ``results.torn`` and its cell counts as not run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from dagtune.validation import InputError

try:
    import fcntl
except ImportError:  # no such locks on Windows: a second runner is not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["RESULTS", "Record", "Store", "read_results"]

RESULTS = "results.jsonl"
_TORN = "results.torn"

#: One line of the file.
Record = dict[str, Any]


def read_results(path: str | os.PathLike[str]) -> list[Record]:
    """The records of a results file, or of the folder that holds it; a last line still being written is left out."""
    file = Path(path) if Path(path).is_file() else Path(path) / RESULTS
    if not file.is_file():
        raise InputError(f"no results at {file}: run `dagtune reproduce all --out {file.parent}` first")
    whole, _ = _split_torn(file.read_bytes())
    return _parse(whole, file)


class Store:
    """The results file of a folder, held by one runner: ``with Store(folder) as store``."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / RESULTS
        self.records: list[Record] = []

    def __enter__(self) -> Store:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file: results need a folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            self._take_lock()
            self._set_torn_line_aside()
            self.records = _parse(self.path.read_bytes(), self.path)
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)  # and with it the lock, as at any death of this process

    def append(self, records: Sequence[Record]) -> None:
        """Write records, all of them or none."""
        lines = "".join(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n" for record in records).encode()
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

    def _take_lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing to {self.folder}: wait for it, stop it, or choose another --out"
            ) from None

    def _set_torn_line_aside(self) -> None:
        whole, torn = _split_torn(self.path.read_bytes())
        if not torn:
            return
        with open(self.folder / _TORN, "ab") as file:
            file.write(torn + b"\n")
        os.ftruncate(self._file, len(whole))


def _split_torn(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and what follows the last of them."""
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


def _parse(data: bytes, file: Path) -> list[Record]:
    records = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            record = json.loads(line)
            cell, status = record["cell"], record["status"]
        except (ValueError, TypeError, KeyError):
            raise InputError(f"line {number} of {file} is no result: delete the line, its cell is run again") from None
        if not isinstance(cell, dict) or status not in ("ok", "failed", "timeout"):
            raise InputError(f"line {number} of {file} is no result: delete the line, its cell is run again")
        records.append(record)
    return records
