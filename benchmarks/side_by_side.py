"""ConditionalTuning of this checkout ("present") and of another one ("former"), asked in the same way.

Each learner lives in a process of its own that imports dagtune from its checkout's ``src``, has one thread, and answers
one table after the other: order, graph, probabilities, margins, processor seconds. Only the public interface is used,
so any version can be asked. The first table is fitted twice and timed the second time: the first compiles.

``python -m benchmarks.side_by_side`` alone is the process that answers; benchmarks use :func:`ask_all`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent.parent
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


@dataclass(frozen=True, eq=False)
class Answer:
    """What a learner says of one table; ``A[i, j]`` true means ``i -> j``.

    ``probability`` is ``result_.probability`` or, where a version gives none by default, ``result_.scores``. ``margin``
    (nats a row) is ``result_.margin`` or None.
    """

    order: np.ndarray
    graph: np.ndarray
    probability: np.ndarray
    margin: np.ndarray | None
    seconds: float
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Task:
    """A table, made when it is needed, the learner's options, and what the asker calls it."""

    name: Any
    table: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)


class Learner:
    """A process with one version of the learner.

    Parameters
    ----------
    checkout : path
        Folder that has ``src/dagtune``.
    answers : path, optional
        Folder where answers are kept and found again, under a name made of the sources, the table and the options.
    """

    def __init__(self, checkout: str | Path = HERE, answers: str | Path | None = None) -> None:
        self.source = Path(checkout).resolve() / "src"
        if not (self.source / "dagtune" / "__init__.py").exists():
            raise SystemExit(f"{checkout} is no checkout of dagtune: it has no src/dagtune")
        self._folder = tempfile.TemporaryDirectory(prefix="dagtune-ask-")
        self._answers = None if answers is None else Path(answers)
        self._version = _fingerprint(self.source) if answers is not None else ""
        self._process: subprocess.Popen[str] | None = None

    def ask(self, X: Any, **options: Any) -> Answer:
        """Fit one table (array or DataFrame of numbers) with ``random_state=0`` unless options say otherwise."""
        question = Path(self._folder.name) / "question.npz"
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
        stated = {
            "names": [str(name) for name in frame.columns] if isinstance(X, pd.DataFrame) else None,
            "kinds": [str(kind) for kind in frame.dtypes],
            "options": {"random_state": 0, **options},
        }
        values = np.ascontiguousarray(frame.to_numpy(np.float64))
        kept = None
        if self._answers is not None:
            text = json.dumps([self._version, stated, values.shape], sort_keys=True).encode()
            kept = self._answers / f"{hashlib.sha256(text + values.tobytes()).hexdigest()[:32]}.npz"
        if kept is None or not kept.exists():
            np.savez(question, values=values, stated=json.dumps(stated))
            self._answer_to(question)
            found = question.with_name("answer.npz")
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                part = kept.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
                part.write_bytes(found.read_bytes())
                os.replace(part, kept)
        return _read(kept or question.with_name("answer.npz"))

    def _answer_to(self, question: Path) -> None:
        if self._process is None:
            paths = os.pathsep.join([str(self.source), str(HERE)])
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.side_by_side", str(self.source)],
                cwd=self._folder.name,
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": paths},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline().strip()
        if told != "done":
            raise RuntimeError(told or f"the process of {self.source} ended")

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Learner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._folder.cleanup()


def _fingerprint(source: Path) -> str:
    """Of all sources of a checkout: an answer belongs to the code that gave it."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*.py")):
        digest.update(str(path.relative_to(source)).encode() + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> Answer:
    with np.load(path) as found:
        return Answer(
            order=found["order"],
            graph=found["graph"],
            probability=found["probability"],
            margin=found["margin"] if found["margin"].size else None,
            seconds=float(found["seconds"]),
            warnings=tuple(json.loads(str(found["warnings"]))),
        )


# --- many tables ----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser, *, real: bool = False) -> None:
    """The options that all of these benchmarks share."""
    parser.add_argument("--former", metavar="PATH", help="a checkout whose learner runs beside this one's")
    parser.add_argument("--without-present", action="store_true", help="run only the former learner")
    parser.add_argument("--processes", type=int, default=1, help="tables at a time, one thread each")
    parser.add_argument("--answers", metavar="PATH", help="folder that keeps answers, so that none is computed twice")
    if real:
        parser.add_argument("--real", metavar="PATH", help="folder of real tables, as shared/real")


def checkouts(asked: argparse.Namespace) -> dict[str, str | Path]:
    """Names and checkouts of the learners that were asked for."""
    found: dict[str, str | Path] = {} if asked.without_present else {"present": HERE}
    return found | ({"former": asked.former} if asked.former else {})


def ask_all(tasks: Iterable[Task], asked: argparse.Namespace) -> Iterator[tuple[Task, dict[str, Answer]]]:
    """Each task with the answer of each learner, in the order of the tasks; the learners take turns on each table."""
    sources = checkouts(asked)
    if not sources:
        raise SystemExit("no learner to run: give --former PATH with --without-present")
    mine = threading.local()
    opened: list[Learner] = []

    def one(task: Task) -> tuple[Task, dict[str, Answer]]:
        if not hasattr(mine, "learners"):
            mine.learners = {name: Learner(path, asked.answers) for name, path in sources.items()}
            opened.extend(mine.learners.values())
        X = task.table()
        return task, {name: learner.ask(X, **task.options) for name, learner in mine.learners.items()}

    tasks = list(tasks)
    began, shown = time.monotonic(), 0.0
    try:
        with ThreadPoolExecutor(asked.processes) as pool:
            for done, answered in enumerate(pool.map(one, tasks), 1):
                if time.monotonic() - shown > 30 or done == len(tasks):
                    shown = time.monotonic()
                    print(f"  {done} of {len(tasks)} tables, {shown - began:.0f} s", file=sys.stderr, flush=True)
                yield answered
    finally:
        for learner in opened:
            learner.__exit__()


def as_seeds(text: str) -> list[int]:
    """ "90-92" is 90, 91, 92; commas join ranges."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def markdown(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table; floats have three significant digits."""
    names = list(head)
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        cells = [f"{cell:.3g}" if isinstance(cell, float) and abs(cell) < 100 else _whole(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _whole(cell: Any) -> str:
    return f"{cell:.0f}" if isinstance(cell, float) else str(cell)


# --- the process that answers ---------------------------------------------------------------------------------------


def _serve(source: str) -> None:
    """Answer the questions whose paths come in, one a line; "done" or what went wrong goes out."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not pass for an answer
    import dagtune

    if not Path(dagtune.__file__).resolve().is_relative_to(source):
        raise SystemExit(f"dagtune comes from {dagtune.__file__}, not from {source}")
    first = True
    for line in sys.stdin:
        question = Path(line.strip())
        try:
            for _ in range(1 + first):
                _answer(question)
            first = False
            told = "done"
        except Exception as error:  # the asker decides what a failure is worth
            told = " ".join(f"{type(error).__name__}: {error}".split())
        print(told, file=said, flush=True)


def _answer(question: Path) -> None:
    from dagtune import ConditionalTuning

    with np.load(question) as asked:
        X, stated = asked["values"], json.loads(str(asked["stated"]))
    if stated["names"] is not None:
        X = pd.DataFrame(X, columns=stated["names"]).astype(dict(zip(stated["names"], stated["kinds"])))
    began = time.process_time()
    learner = ConditionalTuning(threads=1, **stated["options"]).fit(X)
    seconds = time.process_time() - began
    result = learner.result_
    probability = result.scores if result.probability is None else result.probability
    margin = getattr(result, "margin", None)
    np.savez(
        question.with_name("answer.npz"),
        order=np.array([list(result.names).index(name) for name in learner.causal_order_]),
        graph=learner.adjacency_matrix_.to_numpy(bool),
        probability=np.asarray(probability, dtype=np.float64),
        margin=np.empty(0) if margin is None else np.asarray(margin, dtype=np.float64),
        seconds=seconds,
        warnings=json.dumps(list(result.warnings)),
    )


if __name__ == "__main__":
    _serve(sys.argv[1])
