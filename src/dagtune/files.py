"""Files and folders that appear whole or not at all: everything this package writes goes through here.

Content goes to a temporary name beside its place, reaches the disk, and is moved there by one rename, so a reader sees
the earlier file or the new one and never half of one. The temporary name is random and must be new: a file or link
that somebody has put in its way is never opened. Permissions are those of any new file (0666 less the umask).

What is not finished yet is listed, so that a program that must end at once can remove it (:func:`remove_unfinished`).
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "held",
    "remove_unfinished",
    "sweep",
    "undisturbed",
    "whole_file",
    "whole_folder",
    "whole_path",
    "write_whole",
]

_unfinished: set[Path] = set()
#: The temporary name: machine, process, something random.
_PART = re.compile(r"\.dagtune-([0-9a-f]{8})-(\d+)-[0-9a-f]{16}\.part")


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path
        Where it goes; a file or link of that name is replaced.
    content : str or bytes
        What it holds; text is written as UTF-8 with line ends as they are.

    Returns
    -------
    Path
        The path written.

    Raises
    ------
    OSError
        The disk is full, or the folder can't be written: an earlier file is still as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "note.txt", "one line\\n").read_text()
    'one line\\n'
    """
    with whole_file(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def whole_file(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file that takes its place when the block ends well, and vanishes when it does not.

    Parameters
    ----------
    path : path
        Where it goes; a file or link of that name is replaced.
    mode : {"wb", "w"}
        Bytes or text.
    **options
        ``encoding`` and ``newline``, as :func:`open` takes them.

    Yields
    ------
    file
        To write to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "note.txt", "w", encoding="utf-8") as file:
    ...         _ = file.write("one line")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    path = Path(path)
    with _part_of(path.parent) as part:
        # O_EXCL follows no link, and the mode is cut down by the umask as for any new file.
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(handle)
        os.replace(part, path)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make a folder to write into, whose files take their place when the block ends well and vanish when it does not.

    Parameters
    ----------
    path : path
        The folder. A new one appears as a whole. In one that is there files of the same name are replaced, each by one
        rename, and everything else stays.

    Yields
    ------
    Path
        The folder to write into meanwhile; files only, no folders in it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_folder(Path(folder) / "out") as part:
    ...         _ = write_whole(part / "note.txt", "one line")
    ...     [path.name for path in Path(folder).iterdir()]
    ['out']
    """
    path = Path(path).resolve()
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside a new folder, but inside one that is there: that may be another disk, or the only place to write to.
    with _part_of(path.parent if new else path) as part:
        part.mkdir()  # fails if anything has this name
        yield part
        with undisturbed():
            if new:
                os.replace(part, path)
                return
            for file in sorted(part.iterdir()):
                os.replace(file, path / file.name)


@contextmanager
def whole_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a random name for another library to write a file under, which takes its place when the block ends well.

    Parameters
    ----------
    path : path
        Where it goes; a file or link of that name is replaced.

    Yields
    ------
    Path
        The name to write to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_path(Path(folder) / "note.txt") as part:
    ...         _ = part.write_text("one line")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    path = Path(path)
    with _part_of(path.parent) as part:
        yield part
        os.replace(part, path)


@contextmanager
def _part_of(folder: Path) -> Iterator[Path]:
    """A new name in the folder; what stands under it when the block ends, however it ends, is removed."""
    sweep(folder)
    part = folder / f".dagtune-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.part"
    _unfinished.add(part)
    try:
        yield part
    finally:
        try:
            _remove(part)
        except BaseException:  # a signal while it is removed
            _remove(part)
            raise
        finally:
            _unfinished.discard(part)


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove what a killed program has left unfinished in a folder: parts whose process on this machine is gone.

    Parameters
    ----------
    folder : path

    Examples
    --------
    >>> sweep(".")
    """
    with suppress(OSError):
        for path in [Path(entry.path) for entry in os.scandir(folder) if entry.name.startswith(".dagtune-")]:
            found = _PART.fullmatch(path.name)
            if found and found[1] == _machine() and not path.is_symlink() and not _alive(int(found[2])):
                _remove(path)


@cache
def _machine() -> str:
    """A short name of this machine: process numbers of another one say nothing here."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's, or can't be asked
        return True
    return True


@contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a place to write to, so that a second program that wants it hears so at its start.

    The lock is a file in this user's folder below the system's temporary one; it ends with the process, however that
    ends. Where there are no such locks (Windows), nothing is held.

    Parameters
    ----------
    path : path
        The file or folder that will be written; it need not exist.

    Raises
    ------
    BlockingIOError
        Another process holds it.

    Examples
    --------
    >>> with held("result"):
    ...     pass
    """
    if fcntl is None:
        yield
        return
    home = Path(tempfile.gettempdir()) / f"dagtune-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.is_symlink() or home.stat().st_uid != os.getuid():  # somebody else's: do without
        yield
        return
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    handle = os.open(home / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def remove_unfinished() -> None:
    """Remove what is being written now, for a program that ends without unwinding its blocks."""
    for part in list(_unfinished):
        _remove(part)


def _remove(part: Path) -> None:
    """Remove a file or folder if it is there; what can't be removed must not hide why the writing failed."""
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    else:
        with suppress(OSError):
            part.unlink()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep signals to stop waiting until the block has ended: for the few renames that must happen together."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
