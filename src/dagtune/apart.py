"""One method in a process of its own, which is killed when its time is over: ``python -m dagtune.apart`` is the child.

A method of somebody else's may hang, crash, or ignore its time limit; in a process of its own it harms nobody. The
child reads the table once and then answers line by line, in JSON; numbers travel in ``.npz``, and nothing is pickled.
It ends when its input does, so that it does not survive its parent.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from dagtune.compiled import compilation_heard
from dagtune.learners import METHODS, outside_modules
from dagtune.methods import Fit, Method
from dagtune.progress import Progress, TimeLimitError, silent
from dagtune.tables import MemoryRows, Table
from dagtune.validation import InputError

__all__ = ["Apart", "MethodError", "can_go_apart"]

#: Seconds that a method may take beyond its limit to end by itself, before its process is killed.
_GRACE = 0.5
#: Seconds in which a method must be imported; the limit begins afterwards.
_IMPORT = 30.0
#: Modules that the child imports first, because they register methods from outside this package.
_IMPORTS = "DAGTUNE_IMPORTS"


class MethodError(RuntimeError):
    """A method failed in its own process; the message is the last line of what it said."""


def can_go_apart(name: str, table: Table) -> bool:
    """Whether a child process can know the method and the table.

    A function that was registered in a script or a notebook exists in this process only.
    """
    home, module = METHODS[name].home, METHODS[name].module
    if not isinstance(home, str):
        there: Any = sys.modules.get(module)
        for part in home.__qualname__.split("."):
            there = getattr(there, part, None)
        if module == "__main__" or there is not home:
            return False
    return _packed(table) is not None


class Apart:
    """A child process that knows a table and runs methods on it. A context manager; the child is gone afterwards.

    Parameters
    ----------
    table : Table

    Examples
    --------
    >>> from dagtune.tables import read_table
    >>> with Apart(read_table([[1, 2], [2, 4], [3, 5]])) as apart:
    ...     apart.run("empty").graph.tolist()
    [[False, False], [False, False]]
    """

    def __init__(self, table: Table) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="dagtune-")
        arrays, rest = _packed(table) or ({}, {})
        np.savez(Path(self._folder.name, "table.npz"), **arrays)  # type: ignore[arg-type]
        Path(self._folder.name, "table.json").write_text(json.dumps(rest), encoding="utf-8")
        self._child: _Child | None = None

    def __enter__(self) -> Self:
        self._child = _Child(self._folder.name)  # imports go on while the parent reads or prints
        return self

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
        self._folder.cleanup()

    def run(
        self,
        name: str,
        *,
        seed: Any = None,
        threads: int | None = None,
        time_limit: float | None = None,
        progress: Progress | None = None,
    ) -> Fit:
        """What a method finds on the table; see :meth:`dagtune.methods.Method.run`.

        Raises
        ------
        TimeLimitError
            If there is no answer within the limit, which begins when the method is imported.
        MethodError
            If the method, or its process, fails.
        """
        child = self.prepare()
        asked = {
            "method": name,
            "home": METHODS[name].module,
            "seed": seed,
            "threads": threads,
            "time_limit": time_limit,
        }
        return child.ask(asked, time_limit, progress or silent)

    def prepare(self) -> _Child:
        """Wait until the child is there, a new one if the last was killed, so that no method pays for its start."""
        if self._child is None or not self._child.alive:
            self._child = _Child(self._folder.name)
        self._child.wait()
        return self._child


class _Child:
    """The process, seen from the parent."""

    def __init__(self, folder: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed with the child
        paths = {
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            _IMPORTS: ",".join(outside_modules()),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env=os.environ | paths,
            start_new_session=True,  # Ctrl-C goes to the parent alone; and what the method starts is killed with it
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._ready = False
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait(self) -> None:
        """Return when the child has read the table."""
        if not self._ready:
            self._next(None)
            self._ready = True

    def ask(self, asked: Mapping[str, Any], limit: float | None, tell: Progress) -> Fit:
        """The child's answer."""
        started, loaded, compiling = time.monotonic(), False, False
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asked) + "\n")
        while True:
            allowed = None if limit is None else (limit + _GRACE if loaded else max(limit, _IMPORT))
            left = None if allowed is None else max(started + allowed - time.monotonic(), 0.0)
            try:
                answer = self._next(left)
            except queue.Empty:
                self.kill()
                assert limit is not None
                done = "while it was compiled, which is done once: try again" if compiling else "it was killed"
                raise TimeLimitError(asked["method"], limit, time.monotonic() - started, done) from None
            except BaseException:  # Ctrl-C too
                self.kill()
                raise
            if "progress" in answer:
                compiling = False
                tell(*answer["progress"])
            elif "compiling" in answer:
                compiling = True
            elif "loaded" in answer:
                started, loaded = time.monotonic(), True
            elif "late" in answer:
                raise TimeLimitError(**answer["late"])
            elif "failed" in answer:
                raise MethodError(answer["failed"])
            else:
                return Fit(
                    np.array(answer["graph"], dtype=bool),
                    notes=tuple(answer["notes"]),
                    warnings=tuple(answer["warnings"]),
                )

    def _next(self, seconds: float | None) -> dict[str, Any]:
        line = self._lines.get(timeout=seconds)
        if line is None:
            self.kill()
            raise MethodError(self._last_words())
        return json.loads(line)

    def kill(self) -> None:
        """End the process, and all that it started, and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _last_words(self) -> str:
        code = self._process.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"its process ended ({how})" + (f": {said[-1][:300]}" if said else "")


# --- the table on its way ---------------------------------------------------------------------------------------------


def _packed(table: Table) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
    """A table as arrays and plain values; None if a field is neither."""
    arrays, rest = {"rows": table.values}, {}
    for field in fields(table):
        value = getattr(table, field.name)
        if field.name == "rows":
            continue
        if isinstance(value, np.ndarray) and value.dtype != object:
            arrays[field.name] = value
        else:
            rest[field.name] = dict(value) if isinstance(value, Mapping) else value
    try:
        return (arrays, rest) if _as_tuples(json.loads(json.dumps(rest))) == rest else None
    except TypeError:
        return None


def _unpacked(folder: Path) -> Table:
    with np.load(folder / "table.npz", allow_pickle=False) as file:
        arrays: dict[str, Any] = dict(file)
    rest = _as_tuples(json.loads((folder / "table.json").read_text(encoding="utf-8")))
    return Table(**{**arrays, **rest, "rows": MemoryRows(np.ascontiguousarray(arrays["rows"]))})


def _as_tuples(value: Any) -> Any:
    """Lists are tuples before they become JSON."""
    if isinstance(value, dict):
        return {key: _as_tuples(entry) for key, entry in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


# --- the child's side -------------------------------------------------------------------------------------------------


def _serve(folder: Path) -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not be mistaken for an answer

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")

    for module in filter(None, os.environ.get(_IMPORTS, "").split(",")):
        with contextlib.suppress(Exception):  # a method that is not there says so when it is asked for
            importlib.import_module(module)
    table = _unpacked(folder)
    asked: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    say(ready=True)
    while True:
        request = json.loads(asked.get())
        try:
            method = _method(request.pop("method"), request.pop("home"))
            method.load()
            say(loaded=True)
            with compilation_heard(lambda: say(compiling=True)):
                found = method.run(table, progress=lambda phase, share: say(progress=[phase, share]), **request)
            say(graph=found.graph.tolist(), notes=list(found.notes), warnings=list(found.warnings))
        except TimeLimitError as error:
            say(late={"method": error.method, "limit": error.limit, "seconds": error.seconds, "done": error.done})
        except BaseException as error:  # panics of compiled libraries are not derived from Exception
            told = str(error) if isinstance(error, (ImportError, InputError)) else f"{type(error).__name__}: {error}"
            say(failed=" ".join(told.split())[:500])


def _method(name: str, home: str) -> Method:
    if name not in METHODS or METHODS[name].module != home:
        raise InputError(f"{name} is not registered by {home} itself: register it in that module, not elsewhere")
    return METHODS[name]


def _listen(asked: queue.Queue[str]) -> None:
    """Pass lines on. The input ends when the parent does, and then this process ends too."""
    for line in sys.stdin:
        asked.put(line)
    os._exit(0)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
