"""Where bytes come from: files, compressed files, archives and standard input, as one stream that can look ahead.

What a file is, its first bytes decide; only where they say nothing does the ending of its name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from dagtune.validation import InputError

__all__ = ["STDIN", "Source", "refuse_no_file"]

#: The path that stands for standard input.
STDIN = "-"
#: First bytes of files, and the ending that files of this kind have.
_MAGIC = (
    (b"\x1f\x8b", ".gz"),
    (b"BZh", ".bz2"),
    (b"\xfd7zXZ\x00", ".xz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"PK\x03\x04", ".zip"),
    (b"PK\x05\x06", ".zip"),
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".feather"),
    (b"FEA1", ".feather"),
    (b"SQLite format 3\x00", ".sqlite"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".sav"),
    (b"<stata_dta>", ".dta"),
    (b"\x80\x04\x95", ".pkl"),
    (b"\x80\x05\x95", ".pkl"),
)
#: Endings of files that hold another file.
_PACKED = (".gz", ".bz2", ".xz", ".zst")
#: Files of an archive that an operating system put there, and those that tell about a table.
_HIDDEN = re.compile(r"^__MACOSX|(^|/)(\.|Thumbs\.db$|desktop\.ini$)", re.I)
_ABOUT = re.compile(
    r"(^|/)(read[ _-]?me|licen[cs]e|about|metadata|codebook)[^/]*$|\.(pdf|docx?|html?|md|rtf|xml)$", re.I
)
#: How many bytes are looked at before anything is decided.
_LOOK = 2**18
#: A first line longer than this is no table's.
_LONGEST = 2**28


class Source:
    """The bytes of one table.

    Parameters
    ----------
    path : str or path
        A file, or "-" for standard input.
    member : str, optional
        Which file of a .zip to take.
    progress : callable, optional
        Called with the share of the file that was read.
    given : bytes, optional
        What was read from standard input before.

    Attributes
    ----------
    ending : str
        What kind of file it is, such as ".csv", after unpacking.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        member: str | None = None,
        progress: Callable[[float], None] | None = None,
        given: bytes | None = None,
    ) -> None:
        self.stdin = os.fspath(path) == STDIN
        self.path = Path(path)
        self.name = "standard input" if self.stdin else repr(str(path))
        self._open: list[Any] = []
        if not self.stdin:
            refuse_no_file(self.path)
        self._given = sys.stdin.buffer.read() if self.stdin and given is None else given
        file: Any = io.BufferedReader(_Counted(self.path, progress)) if self._given is None else io.BytesIO(self._given)
        self._open.append(file)
        self.ending = "" if self.stdin else self.path.suffix.lower()
        self._unpack(file, member)

    def _unpack(self, file: Any, member: str | None) -> None:
        """Unpack until something is left that holds no other file."""
        stem = self.path.stem
        for _ in range(4):  # packed twice is a mistake, packed for ever an attack
            head = file.read(_LOOK)
            kind = next((ending for start, ending in _MAGIC if head.startswith(start)), "")
            if kind == ".zip" and re.match(
                rb".{30}(\[Content_Types\]\.xml|_rels/|docProps/|customXml/|xl/)", head, re.S
            ):
                kind = ".xlsx"
            if kind == "" and head[8:12] == b"DUCK":
                kind = ".duckdb"
            if kind == "" and self.ending in (*_PACKED, ".zip", ".xlsx", ".xls"):
                if head.lstrip()[:1] == b"<":
                    raise InputError(f"can't read {self.name}: it is a web page (HTML); open it, and save it as CSV")
                if _looks_like_text(head) and head.count(b"\n") > 1:  # many programs call their text tables .xls
                    inner = Path(stem).suffix.lower()
                    self.ending = inner if self.ending in _PACKED and inner else ".csv"
                    self.head, self._rest = head, file
                    return
                raise InputError(
                    f"can't read {self.name}: it is no {self.ending} file, or it is damaged; save it again"
                )
            if kind in _PACKED:
                file, self.ending = _decompressed(kind, _Pushed(head, file)), Path(stem).suffix.lower()
                stem = Path(stem).stem
            elif kind == ".zip":
                file, chosen = self._member(file, head, member)
                self.ending, stem, member = Path(chosen).suffix.lower(), Path(chosen).stem, None
            else:
                self.ending = kind or self.ending
                self.head, self._rest = head, file
                return
            self._open.append(file)
        raise InputError(f"can't read {self.name}: it is packed more than three times; unpack it")

    def _member(self, file: Any, head: bytes, member: str | None) -> tuple[Any, str]:
        """The one table of an archive, or the one asked for."""
        archive = zipfile.ZipFile(_whole(head, file))
        self._open.append(archive)
        names = [name for name in archive.namelist() if not name.endswith("/") and not _HIDDEN.search(name)]
        tables = [name for name in names if not _ABOUT.search(name)]
        if member is not None and member in names:
            chosen = member
        elif member is None and len(tables) == 1:
            chosen = tables[0]
        else:
            some = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
            first = f": choose one, such as query={names[0]!r}" if names else ": unpack it yourself"
            raise InputError(f"the archive {self.name} holds {len(names)} files ({some}){first}")
        try:
            return archive.open(chosen), chosen
        except RuntimeError as error:  # a password
            raise InputError(f"can't read {chosen!r} in {self.name} ({error}): unpack it first") from error

    def is_text(self) -> bool:
        """Whether the beginning looks like lines of text, and neither like markup nor like JSON."""
        return _looks_like_text(self.head) and self.head.lstrip()[:1] not in (b"<", b"{", b"[")

    def is_json(self) -> bool:
        """Whether the beginning looks like lists or records in JSON."""
        return re.match(rb"(\xef\xbb\xbf)?\s*(\{\s*\"|\[\s*[\[{])", self.head) is not None

    def look(self, lines: int = 3) -> bytes:
        """The beginning: at least so many lines, or everything there is."""
        while self.head.count(b"\n") + self.head.count(b"\r") < lines and len(self.head) < _LONGEST:
            more = self._rest.read(2**20)
            if not more:
                break
            self.head += more
        return self.head

    @property
    def whole(self) -> bool:
        """Whether :meth:`look` has seen everything."""
        if len(self.head) >= _LONGEST:
            return False
        more = self._rest.read(1)
        self.head += more
        return not more

    def stream(self, after: int = 0) -> IO[bytes]:
        """All bytes but the first ``after``, as a file that can be read once."""
        return io.BufferedReader(_Pushed(self.head[after:], self._rest), buffer_size=2**18)

    def file(self) -> Any:
        """What a library can read a binary file from: the path itself where nothing was unpacked."""
        if not self.stdin and len(self._open) == 1 and (self.ending != ".xlsx" or self.path.suffix.lower() == ".xlsx"):
            return self.path
        return _whole(self.head, self._rest)

    def again(self) -> Source:
        """The same bytes from their beginning; standard input can be read only once."""
        return Source(self.path, given=self._given)

    def close(self) -> None:
        """Close everything that was opened."""
        for one in reversed(self._open):
            one.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def refuse_no_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    try:
        folder, file = path.is_dir(), path.is_file()
    except (OSError, ValueError) as error:  # too long, a zero byte
        raise InputError(f"no file can have the name {str(path)[:80]!r} ({error}): check the path") from error
    if folder:
        raise InputError(f"{str(path)!r} is a folder: name a file in it")
    if not file and not path.is_fifo():
        raise InputError(f"there is no file {str(path)!r}: check the path (this folder is {str(Path.cwd())!r})")


def _looks_like_text(head: bytes) -> bool:
    """Whether bytes are text in UTF-8 or an encoding of one byte a letter: no control characters but ends of lines."""
    return bool(head.strip()) and not any(byte < 32 and byte not in b"\t\r\n\f" for byte in head[:4096])


class _Counted(io.FileIO):
    """A file that reports which share of it was read."""

    def __init__(self, path: Path, progress: Callable[[float], None] | None) -> None:
        super().__init__(path)
        self._size, self._done, self._progress = max(path.stat().st_size, 1), 0, progress

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if self._progress is not None and count:
            self._done += count
            self._progress(min(self._done / self._size, 1.0))
        return count


class _Pushed(io.RawIOBase):
    """Bytes that were read already, then the rest of their file."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if len(self._head):
            count = min(len(buffer), len(self._head))
            buffer[:count], self._head = self._head[:count], self._head[count:]
            return count
        found = self._rest.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _whole(head: bytes, rest: Any) -> io.BytesIO:
    """Everything in memory, for libraries that jump back and forth."""
    return io.BytesIO(head + rest.read())


def _decompressed(kind: str, stream: _Pushed) -> Any:
    """The unpacked bytes of a compressed stream."""
    file = io.BufferedReader(stream)
    if kind == ".gz":
        return gzip.GzipFile(fileobj=file)
    if kind == ".bz2":
        return bz2.BZ2File(file)
    if kind == ".xz":
        return lzma.LZMAFile(file)
    try:
        return import_module("compression.zstd").ZstdFile(file)  # Python 3.14 has it
    except ImportError:
        pass
    try:
        return io.BufferedReader(import_module("zstandard").ZstdDecompressor().stream_reader(file))
    except ImportError as error:
        raise InputError("reading .zst needs zstandard: pip install 'dagtune[files]'") from error
