"""Cells in child processes that can be killed: ``python -m dagtune.experiments.worker`` is the child.

A child answers one line of JSON with one line of JSON and lives on for the next cell, so imports are paid once. It
computes on one thread. It ends when its input does, so that nothing survives the death of the parent, however sudden.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import platform
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dagtune.experiments.cells import Cell

__all__ = ["InterruptedRunError", "Workers", "run_on_cluster"]

#: One thread each: children run side by side, and small linear algebra is slower on two.
_ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
#: Modules that a child imports first, because they register methods from outside this package.
_IMPORTS = "DAGTUNE_IMPORTS"
_READY = "ready\n"


# The parent's side ------------------------------------------------------------------------------------------------


class InterruptedRunError(RuntimeError):
    """The run was stopped while a cell was under way; the cell has no result."""


class Workers:
    """Children that wait for cells, started as they are needed, killed together."""

    def __init__(self) -> None:
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._closed = False
        self._guard = threading.Lock()

    def run(self, cell: Cell, timeout: float | None) -> dict[str, Any]:
        """The cell's record: status ok, failed (also when the child dies) or timeout, and what came of it."""
        child = self._take()
        answer = child.ask(cell, timeout)
        with self._guard:
            if self._closed:
                raise InterruptedRunError("the run was stopped")
            (self._idle.append if child.alive else self._all.discard)(child)
        return {"cell": asdict(cell), "seeds": asdict(cell.seeds), "settings": cell.settings} | answer

    def close(self) -> None:
        """Kill every child, busy or not."""
        with self._guard:
            self._closed = True
            children = list(self._all)
        for child in children:
            child.kill()

    def _take(self) -> _Child:
        with self._guard:
            if self._closed:
                raise InterruptedRunError("the run was stopped")
            while self._idle:
                child = self._idle.pop()
                if child.alive:
                    return child
                self._all.discard(child)  # died between two cells, so no cell is to blame
            child = _Child()
            self._all.add(child)
            return child


class _Child:
    """One child process, seen from the parent."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed with the child
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env=os.environ | _ONE_THREAD | _outside(),
            start_new_session=True,  # Ctrl-C goes to the parent alone, which then kills its children
        )
        self._ready = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, cell: Cell, timeout: float | None) -> dict[str, Any]:
        """The child's answer, or the reason why there is none. The time limit starts after the child's imports."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        if not self._ready:
            self._ready = stdout.readline() == _READY
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.kill()

        timer = threading.Timer(timeout or threading.TIMEOUT_MAX, stop)
        timer.daemon = True
        answer = ""
        if timeout is not None:
            timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(json.dumps(asdict(cell)) + "\n")
                answer = stdout.readline()
        finally:
            timer.cancel()
        if answer.endswith("\n"):
            return json.loads(answer)
        self.kill()
        if late.is_set():
            return {"status": "timeout", "reason": f"stopped after {timeout:g} seconds", "seconds": timeout}
        return {"status": "failed", "reason": self._last_words()}

    def kill(self) -> None:
        """End the process now, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def _last_words(self) -> str:
        code = self._process.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        if code == -9:
            how += ", as the system does when memory runs out"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"the process ended ({how})" + (f": {said[-1][:300]}" if said else "")


def _outside() -> dict[str, str]:
    """Environment in which a child finds the methods that were registered from outside this package."""
    from dagtune.learners import outside_modules

    modules = outside_modules()
    return {_IMPORTS: ",".join(modules), "PYTHONPATH": os.pathsep.join(sys.path)} if modules else {}


_on_this_machine = Workers()


def run_on_cluster(cell: Mapping[str, Any], timeout: float | None) -> dict[str, Any]:
    """What a Dask worker calls: run the cell in a child process, as on a single machine."""
    return _on_this_machine.run(Cell(**cell), timeout)


# The child's side --------------------------------------------------------------------------------------------------


def _serve() -> None:
    """Answer cells until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not be mistaken for an answer
    from dagtune.experiments.measure import measure
    from dagtune.learners import METHODS

    for module in filter(None, os.environ.get(_IMPORTS, "").split(",")):
        importlib.import_module(module)
    for method in METHODS.values():  # imports are paid once, and not by the first cell's time limit
        with contextlib.suppress(Exception):  # its cells will say so
            method.load()
    cells: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(cells,), daemon=True).start()
    answers.write(_READY)
    while True:
        cell = Cell(**json.loads(cells.get()))
        _forget_peak()
        answer: dict[str, Any]
        try:
            answer = {"status": "ok"} | measure(cell)
        except BaseException as error:  # gadjid's panics are not derived from Exception
            answer = {"status": "failed", "reason": _one_line(error)}
        answers.write(json.dumps(answer | {"peak_mib": _peak_mib(), "versions": _versions()}, allow_nan=False) + "\n")


def _listen(cells: queue.Queue[str]) -> None:
    """Pass lines on. The input ends when the parent does, and then this process ends too."""
    for line in sys.stdin:
        cells.put(line)
    os._exit(0)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:500]


def _forget_peak() -> None:
    """Reset the peak memory that Linux reports for this process; elsewhere it covers the whole life of the process."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak_mib() -> float:
    """Most memory held since the last :func:`_forget_peak`, the interpreter and its libraries included."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as file:
        return round(int(next(line for line in file if line.startswith("VmHWM:")).split()[1]) / 1024, 1)
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


@functools.cache
def _versions() -> dict[str, str]:
    import numpy
    import scipy

    import dagtune

    found = {
        "dagtune": dagtune.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
    }
    commit = _commit(Path(dagtune.__file__).parent)
    return found | ({"commit": commit} if commit else {})


def _commit(home: Path) -> str | None:
    """The commit this package was loaded from, marked where its files differ from it; None outside a checkout."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(home), *words], capture_output=True, text=True, check=True).stdout

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # an installed copy inside another checkout does not count
        changed = "+changes" if git("status", "--porcelain", "--", ".").strip() else ""
        return git("rev-parse", "--short=12", "HEAD").strip() + changed
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    _serve()
