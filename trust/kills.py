"""Kills at the moments that matter: ``python -m trust.kills [--count N] [--seed S]``.

A run of the command is stopped by kill -9, SIGTERM, SIGINT or SIGHUP just before or just after it opens, syncs, renames
or removes a file. Which of these calls is drawn with a seed; the run is a process forked from this one in which
``os.replace`` and its kin count themselves. Afterwards every file must be whole, old or new; a signal that can be
caught leaves nothing else; after kill -9 the next run of the same command leaves nothing else.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trust.fuzz import ROOT, warm

#: What changes something on the disk.
CALLS = ("open", "replace", "rename", "fsync", "mkdir", "unlink", "rmdir", "write")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
OT = ["--method", "ot", "--bootstrap", "0", "--jobs", "1", "--quiet"]
CELLS = ["reproduce", "table-real", "--methods", "empty", "--repeats", "1", "--jobs", "1", "--quiet", "--out", "out"]


class Verb(NamedTuple):
    """A command, whether it runs over earlier results, and the files that it leaves in its folder."""

    name: str
    argv: list[str]
    over: bool
    files: set[str]


_LEARNED = {
    *("edges.csv", "graph.csv", "graph.dot", "graph.graphml", "graph.json", "graph.png", "graph.svg"),
    *("report.html", "result.json", "result.npz"),
}
VERBS = [
    Verb("learn", ["learn", "t.csv", *OT, "--out", "out"], False, _LEARNED),
    Verb("learn --force", ["learn", "t.csv", *OT, "--out", "out", "--force"], True, _LEARNED),
    Verb("reproduce", CELLS, False, {"results.jsonl.xz"}),
    Verb("report", ["report", "out"], True, {"results.jsonl.xz", "REPRODUCTION.md", "REPRODUCTION.html"}),
]


class Struck(NamedTuple):
    """One kill and what was wrong afterwards, if anything."""

    verb: str
    signal: str
    moment: int
    call: str
    trouble: str


def _watched(act: Callable[[int, str, bool], None]) -> None:
    """Let ``act(number, call, before)`` hear of every call that changes something on the disk, in this process."""
    number = 0

    def wrapped(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal number
            writes = name != "open" or (len(args) > 1 and args[1] & (os.O_WRONLY | os.O_RDWR))
            if not writes or (name == "write" and args[0] < 3):
                return plain(*args, **options)
            number += 1
            mine = number
            act(mine, name, True)
            try:
                return plain(*args, **options)
            finally:  # also if there was nothing to remove
                act(mine, name, False)

        return call

    for name in CALLS:
        setattr(os, name, wrapped(name, getattr(os, name)))


def run(argv: list[str], desk: Path, act: Callable[[int, str, bool], None] | None = None) -> tuple[int, str]:
    """Run a command in a forked process; its exit code (negative: the signal) and what it said on stderr."""
    said = desk.parent / "said"
    said.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.chdir(desk)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
            sys.argv = ["dagtune", *argv]
            from dagtune.cli import main

            if act is not None:
                _watched(act)
            code = main()
            sys.stderr.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), said.read_text()


def moments(verb: Verb, earlier: Path) -> list[str]:
    """The calls of a whole run, in order, when runs have come to be alike: the first may write caches."""
    found = _moments(verb, earlier)
    for _ in range(5):
        before, found = found, _moments(verb, earlier)
        if found == before:
            return found
    raise AssertionError(f"{verb.name} never makes the same calls twice")


def _moments(verb: Verb, earlier: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        desk, told = _desk(Path(folder), verb, earlier), Path(folder) / "calls"
        plain = os.open
        handle = plain(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        write = os.write

        def note(number: int, call: str, before: bool) -> None:
            if before:
                write(handle, f"{call}\n".encode())

        code, words = run(verb.argv, desk, note)
        os.close(handle)
        assert code == 0, (verb.name, code, words)
        return told.read_text().split()


def _desk(folder: Path, verb: Verb, earlier: Path) -> Path:
    """A folder with the table, and earlier results if the command runs over some."""
    desk = folder / "desk"
    desk.mkdir()
    shutil.copy(earlier / "t.csv", desk / "t.csv")
    if verb.over:
        shutil.copytree(earlier / verb.name, desk / "out")
    return desk


def prepare(folder: Path) -> None:
    """The table, and earlier results for the commands that replace some."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4))
    table[:, 1] += np.tanh(2 * table[:, 0])
    np.savetxt(folder / "t.csv", table, delimiter=",", header="age,dose,size,price", comments="")
    for name, argv in (
        ("learn --force", ["learn", "t.csv", *OT, "--penalty", "1.0", "--out", "learn --force"]),
        ("report", [*CELLS[:-1], "report"]),
    ):
        code, words = run(argv, folder)
        assert code == 0, (name, words)
    code, words = run(["report", "report"], folder)
    assert code == 0, words


def strike(verb: Verb, number: signal.Signals, moment: int, before: bool, earlier: Path) -> str:
    """Kill a run at a moment and say what is wrong then, and after the next run."""
    with tempfile.TemporaryDirectory(prefix="dagtune-kills-") as folder:
        desk = _desk(Path(folder), verb, earlier)

        def act(mine: int, call: str, first: bool) -> None:
            if mine == moment and first == before:
                os.kill(os.getpid(), number)

        code, words = run(verb.argv, desk, act)
        caught = number != signal.SIGKILL
        if caught and code not in (130, 0):  # 0: it came when all was written
            return f"exit {code}: {words[:200]!r}"
        if not caught and code != -signal.SIGKILL:
            return f"it was not killed: {code}"
        if "Traceback" in words or words.count("\n") > 1:
            return f"it said {words[:300]!r}"
        trouble = _broken(desk / "out", verb, complete=verb.over and verb.name != "report") or (
            _others(desk, verb) if caught else ""
        )
        if trouble:
            return f"after the kill: {trouble}"
        time.sleep(0.01)
        again = verb.argv + (["--force"] if verb.name == "learn" else [])
        code, words = run(again, desk)
        if code != 0:
            return f"the next run ended with {code}: {words[:200]!r}"
        trouble = _broken(desk / "out", verb, complete=True) or _others(desk, verb)
        return f"after the next run: {trouble}" if trouble else ""


def _broken(out: Path, verb: Verb, complete: bool) -> str:
    """What is not whole in the folder of the results."""
    if not out.exists():
        return "the folder is gone" if complete else ""
    there = {path.name for path in out.iterdir() if not path.name.endswith(".part")}
    if (complete or verb.name == "learn") and not verb.files <= there:
        return f"missing {sorted(verb.files - there)}"
    for name in sorted(there):
        try:
            _read(out / name)
        except Exception as error:
            return f"{name} is not whole: {type(error).__name__} {error}"
    return ""


def _others(desk: Path, verb: Verb) -> str:
    """What is there beside the table and the results."""
    found = {str(path.relative_to(desk)) for path in desk.rglob("*")}
    known = {"t.csv", "out", *(f"out/{name}" for name in verb.files)}
    if verb.name == "reproduce":  # a run that was stopped is resumed from these
        known |= {"out/results.jsonl", "out/results.torn"}
    more = sorted(found - known)
    return f"left behind: {more}" if more else ""


def _read(path: Path) -> None:
    """Raise if a file is not whole."""
    content = path.read_bytes()
    if path.suffix == ".npz":
        from dagtune import Result

        Result.load(path.parent)
    elif path.suffix == ".json":
        json.loads(content)
    elif path.suffix == ".html":
        assert content.rstrip().endswith(b"</html>")
    elif path.suffix in (".svg", ".graphml"):
        assert content.rstrip().endswith((b"</svg>", b"</graphml>"))
    elif path.suffix == ".png":
        assert content.endswith(b"IEND\xaeB`\x82")
    elif path.suffix == ".dot":
        assert content.rstrip().endswith(b"}")
    elif path.suffix == ".xz":
        lzma.decompress(content)
    elif path.suffix == ".csv":
        import pandas as pd

        assert len(pd.read_csv(io.BytesIO(content)).columns) > 1
        assert content.endswith(b"\n")


def struck(count: int, seed: int, tell: Callable[[Struck], None]) -> list[Struck]:
    """So many kills, shared out among the commands, signals and moments."""
    rng, found = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="dagtune-kills-") as folder:
        earlier = Path(folder)
        prepare(earlier)
        known = {verb.name: moments(verb, earlier) for verb in VERBS}
        for number in range(count):
            verb, sent = VERBS[number % len(VERBS)], SIGNALS[number // len(VERBS) % len(SIGNALS)]
            calls = known[verb.name]
            rare = [k for k, call in enumerate(calls, 1) if call in ("replace", "rename", "unlink", "rmdir", "mkdir")]
            moment = rng.choice(rare if rng.random() < 0.6 else range(1, len(calls) + 1))
            before = rng.random() < 0.5
            trouble = strike(verb, sent, moment, before, earlier)
            where = f"{'before' if before else 'after'} {calls[moment - 1]}"
            found.append(Struck(verb.name, sent.name, moment, where, trouble))
            tell(found[-1])
    return found


def write(found: list[Struck], seed: int) -> None:
    """Write what became of the kills so far."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    told = {
        "date": str(date.today()),
        "commit": commit.strip(),
        "seed": seed,
        "kills": len(found),
        "by command": dict(Counter(each.verb for each in found)),
        "by signal": dict(Counter(each.signal for each in found)),
        "by call": dict(Counter(each.call for each in found)),
        "troubles": [each._asdict() for each in found if each.trouble],
    }
    (ROOT / "trust" / "results" / "kills.json").write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    """Strike so many times, and write what became of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--write", action="store_true", help="write the dated result")
    given = parser.parse_args()
    warm()
    found: list[Struck] = []

    def tell(each: Struck) -> None:
        found.append(each)
        print(*each, flush=True)
        if given.write:  # each time: a run may be stopped
            write(found, given.seed)

    struck(given.count, given.seed, tell)
    bad = [each for each in found if each.trouble]
    print(f"{len(found)} kills, {len(bad)} with something wrong")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
