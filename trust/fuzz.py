"""Fuzzing of the command and of every loader: ``python -m trust.fuzz [--commands N] [--loads N] [--seed S]``.

Each case is made from its seed (:mod:`trust.hostile`) and runs in a process forked from this one, in which everything
is loaded already. A command may end with 0, 2, 3 (audit, doctor) or 130 and says at most one line on stderr; a loader
gives what it read or an ``InputError``. Anything else, more than 30 seconds or more than 2 GB are findings: they are
kept in ``tests/data/fuzz``, where the test suite runs them from then on. Neither what this process holds already nor
what is compiled on the way is counted: both differ between machines.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import json
import os
import random
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from trust.hostile import LOADERS, command, file_for

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "data" / "fuzz"
#: Seconds of processor and of clock that a case may take. On a busy machine the clock says little: it is only a bound.
SECONDS, CLOCK = 30, 300
#: Bytes that a case may take beyond what is loaded before it starts, which is less than half a GiB in a fresh process.
MEMORY = 3 * 2**29
#: Seconds of processor for a case that took too long: if it compiled, all is compiled after that.
COMPILING = 600
TOO_LONG = f"more than {SECONDS} seconds"


class Case(NamedTuple):
    """What is run: the arguments of a command, or the name of the one file to be loaded."""

    kind: str
    argv: list[str]
    files: dict[str, bytes]

    def kept(self, trouble: str) -> dict[str, Any]:
        """As JSON."""
        packed = {name: base64.b64encode(content).decode() for name, content in self.files.items()}
        return {"kind": self.kind, "argv": self.argv, "files": packed, "found": str(date.today()), "was": trouble}

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Case:
        """The case that was kept."""
        return cls(kept["kind"], kept["argv"], {n: base64.b64decode(c) for n, c in kept["files"].items()})


class Outcome(NamedTuple):
    """What became of a case; ``trouble`` is empty if all is well."""

    code: int
    trouble: str
    seconds: float
    memory: int


def made(kind: str, seed: int) -> Case:
    """The case of a seed."""
    rng = random.Random(f"{kind} {seed}")
    if kind == "command":
        return Case(kind, *command(rng))
    name = rng.choice(LOADERS)
    return Case(kind, [name], {name: file_for(rng, name)})


def warm() -> None:
    """Load and compile in this process what cases need, so that a case takes only its own time."""
    import importlib

    for name in (
        "matplotlib.pyplot",
        "pyarrow.parquet",
        "pyarrow.feather",
        "openpyxl",
        "sqlite3",
        "dagtune.report",
        "networkx",
    ):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        rng = random.Random(0)
        Path("t.csv").write_bytes(
            b"age,dose,size\n" + b"".join(b"%d,%d,%f\n" % (k, k * k % 17, rng.random()) for k in range(40))
        )
        with contextlib.redirect_stdout(sys.stderr if os.environ.get("FUZZ_SHOW") else open(os.devnull, "w")):
            from dagtune.cli import main

            for method in ("ot", "conditional"):
                assert main(["learn", "t.csv", "--method", method, "--out", method]) == 0
            main(["compare", "t.csv", "--methods", "ges,variance-sorted,empty"])
            main(["effect", "conditional", "--of", "age", "--on", "dose"])
            main(["audit", "t.csv"])


def load(name: str) -> None:
    """Read a file with the loader that it belongs to."""
    from dagtune.validation import InputError

    try:
        if name.startswith("t."):
            from dagtune.tables import read_table

            read_table(name, missing="drop", infer=True)
        elif name.startswith("k."):
            from dagtune.knowledge import Knowledge

            Knowledge.of(Path(name)).matrices(["age", "dose", "size"])
        elif name.startswith("e."):
            from dagtune.interventions import Experiments

            Experiments.of(Path(name))
        elif name.startswith("g."):
            from dagtune.cli.reading import read_truth

            read_truth(Path(name))
        elif name.startswith("result"):
            from dagtune import Result

            found = Result.load(Path(name).parent)
            found.to_json()
            str(found)
            for cause, effect in [(found.names[0], found.names[-1])]:
                if cause != effect:
                    found.why(cause, effect)
        else:
            from dagtune.report.reproduction import write_reproduction

            write_reproduction(Path(name).parent, Path("pages"))
    except InputError as error:
        if "\n" in str(error).strip() and not name.startswith("t."):
            raise AssertionError("a message of several lines") from error


def _child(case: Case, said: Path, seconds: int) -> int:
    """Run the case, in its own folder; the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    handle = os.open(said, os.O_WRONLY | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(handle, 2)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    if case.kind == "command":
        from dagtune.cli import main

        code = main(case.argv)
        sys.stderr.flush()
        return code
    try:
        load(case.argv[0])
    except BaseException as error:
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def run(case: Case) -> Outcome:
    """Run a case; one that took too long is run again when nothing is left to compile, and judged by that."""
    outcome = _once(case, SECONDS)
    if outcome.trouble == TOO_LONG and _once(case, COMPILING).trouble != TOO_LONG:
        outcome = _once(case, SECONDS)
    return outcome


def _once(case: Case, limit: int) -> Outcome:
    """Run a case in a forked process, in an empty folder with its files."""
    folder = Path(tempfile.mkdtemp(prefix="dagtune-fuzz-"))
    try:
        desk, said, loaded = folder / "desk", folder / "said", folder / "loaded"
        desk.mkdir()
        for name, content in case.files.items():
            (desk / name).parent.mkdir(parents=True, exist_ok=True)
            (desk / name).write_bytes(content)
        (desk / "loop").symlink_to("loop")
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                os.chdir(desk)
                # A forked process starts with the pages of this one, in which many other tests may have run.
                loaded.write_text(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
                code = _child(case, said, limit)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            finally:
                os._exit(code)
        status, usage, late = _wait(pid, began + CLOCK * limit / SECONDS)
        told = said.read_text(errors="replace") if said.exists() else ""
        seconds, memory = usage.ru_utime + usage.ru_stime, 1024 * (usage.ru_maxrss - int(loaded.read_text()))
        code = os.waitstatus_to_exitcode(status)
        late = late or code in (-signal.SIGXCPU, -signal.SIGKILL) or seconds > limit
        return Outcome(code, TOO_LONG if late else _trouble(case, code, memory, told), seconds, memory)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(pid: int, end: float) -> tuple[int, Any, bool]:
    while time.monotonic() < end:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage, False
        time.sleep(0.003)
    os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage, True


def _trouble(case: Case, code: int, memory: int, told: str) -> str:
    trouble = ""
    if memory > MEMORY:
        trouble = f"{memory / 2**30:.1f} GiB"
    elif "Traceback" in told:
        trouble = f"traceback: {told.strip().splitlines()[-1][:300]}"
    elif code not in (0, 2, 3, 130):
        trouble = f"exit {code}: {told.strip()[:300]}"
    elif case.kind == "command" and code == 2 and told.count("\n") != 1:
        trouble = f"{told.count(chr(10))} lines: {told[:300]!r}"
    elif "\x1b" in told:
        trouble = "an escape sequence reaches the terminal"
    return trouble


def keep(case: Case, trouble: str) -> str:
    """Write down a case that found something, for the test suite; where the first such case is written."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for path in KEPT.glob("*.json"):
        if json.loads(path.read_text())["was"][:80] == trouble[:80]:
            return path.name
    path = KEPT / f"{case.kind}-{hashlib.sha256(repr(case).encode()).hexdigest()[:10]}.json"
    path.write_text(json.dumps(case.kept(trouble), indent=1) + "\n")
    return path.name


def write(told: dict[str, Any], seed: int, first: int) -> None:
    """Write what was found so far, beside what stands there of the other kind of cases."""
    path = ROOT / "trust" / "results" / "fuzz.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    of = {"date": str(date.today()), "commit": commit.strip(), "seed": seed, "first": first}
    path.write_text(json.dumps(before | {kind: of | each for kind, each in told.items()}, indent=1) + "\n")


def main() -> None:
    """Run so many cases, keep what they find, and write what they did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", type=int, default=2000)
    parser.add_argument("--loads", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=None, help="default: any")
    parser.add_argument("--first", type=int, default=0, help="number of the first case of each kind")
    parser.add_argument("--write", action="store_true", help="write the dated result")
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    warm()
    told: dict[str, Any] = {}
    for kind, count in (("load", given.loads), ("command", given.commands)):
        codes: Counter[int] = Counter()
        found, slowest, most = 0, 0.0, 0
        for done in range(1, count + 1):
            number = given.first + done - 1
            case = made(kind, seed * 10**6 + number)
            outcome = run(case)
            codes[outcome.code] += 1
            slowest, most = max(slowest, outcome.seconds), max(most, outcome.memory)
            if outcome.trouble:
                found += 1
                print(f"{kind} {number}: {case.argv}: {outcome.trouble}: {keep(case, outcome.trouble)}", flush=True)
            if done % 50 and done < count:
                continue
            told[kind] = {
                "cases": done,
                "findings": found,
                "exit codes": {str(code): times for code, times in sorted(codes.items())},
                "slowest, processor seconds": round(slowest, 1),
                "most memory, GiB": round(most / 2**30, 2),
            }
            if given.write:  # each time: a run may be stopped
                write(told, seed, given.first)
        print(kind, told.get(kind), flush=True)
    sys.exit(any(each["findings"] for each in told.values() if isinstance(each, dict)))


if __name__ == "__main__":
    main()
