"""Mutation testing: does a test fail when the source is a little wrong? ``python -m trust.mutants [package ...]``.

100 mutants a package are drawn with a stated seed. Each runs in a forked process, in which the mutated module is
imported in place of the file (nothing is written to ``src/``), against the tests that reach the mutated function, the
quickest first, until one fails. Which tests reach a function is measured once with a profiler.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from trust.operators import Mutant, mutants_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dagtune"
RESULTS = ROOT / "trust" / "results"
SEED = 19
COUNT = 100
#: Seconds of tests for each mutant (as measured without a mutant), and the longest test that is used.
BUDGET, LONGEST = 45.0, 15.0
#: Processor seconds of a mutant, compilation included; one that takes longer counts as killed.
PATIENCE = 240
#: Folders and modules of each package, as the issue names them.
PACKAGES = {
    "conditional": ["conditional"],
    "ot": ["ot"],
    "engine": ["engine"],
    "metrics": ["metrics"],
    "knowledge": ["knowledge"],
    "validation": ["validation.py"],
    "result": ["result"],
}
#: Tests that look at the source itself, or start programs that import the file on the disk.
NOT_USED = (
    "test_architecture.py",
    "test_browser_decisions.py",
    "test_browser_graph.py",
    "test_browser_look.py",
    "test_browser_tables.py",
    "test_compiled.py",
    "test_reproduction.py",
    "test_cli_program.py",
)
PRELOADED = [
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.interpolate",
    "scipy.sparse",
    "pandas",
    "sklearn.base",
    "sklearn.utils.validation",
    "sklearn.metrics",
    "numba",
    "networkx",
    "joblib",
    "matplotlib.pyplot",
    "pyarrow.parquet",
    "polars",
    "narwhals",
    "hypothesis",
    "pytest",
    "typer",
    "rich.console",
    "gadjid",
    "xarray",
    "typer.testing",
]


def files_of(package: str) -> list[Path]:
    """The modules of a package."""
    homes = [SOURCE / name for name in PACKAGES[package]]
    return sorted(path for home in homes for path in ([home] if home.is_file() else home.rglob("*.py")))


def mutants_in(package: str) -> dict[str, Mutant]:
    """All mutants of a package by their keys."""
    everything = [
        mutant
        for path in files_of(package)
        for mutant in mutants_of(str(path.relative_to(SOURCE)), path.read_text(encoding="utf-8"))
    ]
    return {mutant.key: mutant for mutant in everything}


def drawn(
    everything: Mapping[str, Mutant], package: str, count: int = COUNT, seed: int = SEED, before: Iterable[str] = ()
) -> list[Mutant]:
    """``count`` mutants, drawn with the seed; all that there are if there are no more.

    Those of ``before`` that the source still has are taken first, so that a draw is kept when some lines change.
    """
    still = [key for key in before if key in everything]
    others = [key for key in everything if key not in set(still)]
    more = max(count - len(still), 0)
    chosen = {*still[:count], *random.Random(f"{seed} {package}").sample(others, min(more, len(others)))}
    return [mutant for key, mutant in everything.items() if key in chosen]


# --- which tests reach which function --------------------------------------------------------------------------------


class Recorder:
    """A pytest plugin that notes for each test how long it takes and which functions of dagtune it enters."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def pytest_runtest_setup(self, item: Any) -> None:
        self.began = time.process_time()  # others may have the processor, too
        self.entered: set[Any] = set()
        entered = self.entered

        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call":
                entered.add(frame.f_code)

        import threading

        threading.setprofile(note)
        sys.setprofile(note)

    def pytest_runtest_teardown(self, item: Any) -> None:
        sys.setprofile(None)
        home = str(SOURCE) + os.sep
        functions = sorted(
            {
                f"{code.co_filename.removeprefix(home)} {name}"
                for code in self.entered
                if code.co_filename.startswith(home)
                for name in code.co_qualname.replace(".<locals>", "").split(".<")[:1]
            }
        )
        seconds = time.process_time() - self.began
        self.found[item.nodeid] = {
            "seconds": round(seconds, 3),
            "functions": functions,
            "uses": sorted(_names_used(item)),
        }


def _names_used(item: Any) -> set[str]:
    """Names that a test function reads: it may call compiled functions itself, which no profiler sees."""
    code = getattr(getattr(item, "function", None), "__code__", None)
    return set() if code is None else _all_names(code)


def _all_names(code: Any) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            names |= _all_names(constant)
    return names


def measure(out: Path, tests: list[str]) -> None:
    """Run the tests under the profiler, and write what they reach."""
    import pytest

    recorder = Recorder()
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[recorder])
    out.write_text(json.dumps(recorder.found))


def reach(stale: bool, files: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """What each test reaches, measured a file at a time and kept in a folder until ``--measure`` asks for it anew.

    Of all test files, or of those whose names are given.
    """
    kept = Path(os.environ.get("MUTANTS_CACHE", ROOT / ".mutants"))
    kept.mkdir(exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((ROOT / "tests").glob("test_*.py")):
        if path.name in NOT_USED or (files and path.stem.removeprefix("test_") not in files):
            continue
        out = kept / f"{path.stem}.json"
        if stale or not out.exists() or out.stat().st_mtime < path.stat().st_mtime:
            print(f"measuring {path.name}", flush=True)
            code = f"from trust.mutants import Path, measure; measure(Path({str(out)!r}), [{str(path)!r}])"
            subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        if out.exists():
            found |= json.loads(out.read_text())
    return found


def tests_for(
    mutant: Mutant, reached: dict[str, dict[str, Any]], referring: dict[str, set[str]], budget: float
) -> list[str]:
    """Tests that reach a mutant, quickest first, within the budget."""
    wanted, names = {f"{mutant.path} {mutant.function}"}, set()
    if mutant.function in referring["compiled"] or not mutant.function or mutant.function in referring["classes"]:
        names = {mutant.function.split(".")[-1]} if mutant.function else _assigned(mutant)
        for _ in range(6):  # through compiled callers up to the functions that a profiler sees
            callers = {function for function, used in referring["uses"].items() if used & names}
            wanted |= callers
            more = {f.split()[-1].split(".")[-1] for f in callers if f.split()[-1] in referring["compiled"]}
            if more <= names:
                break
            names |= more
    parts = mutant.function.split(".")
    wanted |= {f"{mutant.path} {'.'.join(parts[:k])}" for k in range(1, len(parts) + 1)}
    hits = [
        (entry["seconds"], test)
        for test, entry in reached.items()
        if entry["seconds"] <= LONGEST and (wanted & set(entry["functions"]) or names & set(entry["uses"]))
    ]
    chosen, spent = [], 0.0
    for seconds, test in sorted(hits):
        if spent + seconds <= budget:
            chosen.append(test)
            spent += seconds
    return chosen


def _assigned(mutant: Mutant) -> set[str]:
    """The name that the mutated statement of a module's top assigns."""
    import ast

    lines = (SOURCE / mutant.path).read_text(encoding="utf-8")
    for node in ast.parse(lines).body:
        if node.lineno <= mutant.line <= (node.end_lineno or node.lineno):
            return {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
    return set()


def references() -> dict[str, Any]:
    """Which names every function of dagtune reads, which functions are compiled, and what is a class."""
    import ast

    uses: dict[str, set[str]] = {}
    compiled: set[str] = set()
    classes: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        where = str(path.relative_to(SOURCE))

        def visit(node: Any, name: str, where: str = where) -> None:
            for child in ast.iter_child_nodes(node):
                inner = name
                if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                    inner = f"{name}.{child.name}" if name else child.name
                    if any("compiled" in ast.unparse(each) for each in child.decorator_list):
                        compiled.add(inner)
                    if isinstance(child, ast.ClassDef):
                        classes.add(inner)
                    else:
                        read = {n.id for n in ast.walk(child) if isinstance(n, ast.Name)}
                        uses[f"{where} {inner}"] = read | {
                            n.attr for n in ast.walk(child) if isinstance(n, ast.Attribute)
                        }
                visit(child, inner)

        visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return {"uses": uses, "compiled": compiled, "classes": classes}


# --- one mutant ------------------------------------------------------------------------------------------------------


class _Mutated(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module from the mutated text."""

    def __init__(self, mutant: Mutant) -> None:
        parts = Path(mutant.path).with_suffix("").parts
        self._name = ".".join(["dagtune", *(part for part in parts if part != "__init__")])
        self._path, self._source = str(SOURCE / mutant.path), mutant.source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        package = self._path.endswith("__init__.py")
        return importlib.util.spec_from_file_location(
            name,
            self._path,
            loader=self,
            submodule_search_locations=[str(Path(self._path).parent)] if package else None,
        )

    def get_filename(self, name: str) -> str:
        return self._path

    def get_data(self, path: str) -> bytes:
        return self._source.encode()


def _with_callers(mutant: Mutant, referring: dict[str, Any]) -> set[str]:
    """The mutated function, and all compiled ones that call it."""
    names = {mutant.function.split(".")[-1]} if mutant.function else _assigned(mutant)
    while True:
        more = {
            function.split()[-1].split(".")[-1]
            for function, used in referring["uses"].items()
            if function.split()[-1] in referring["compiled"] and used & names
        }
        if more <= names:
            return names
        names |= more


def _forget_compiled(mutant: Mutant, referring: dict[str, Any]) -> None:
    """Let the mutated function, and all compiled ones that call it, be compiled anew and not be kept."""
    from numba.core.caching import NullCache

    names = _with_callers(mutant, referring)
    for module in [each for name, each in sys.modules.items() if name.startswith("dagtune")]:
        for value in list(vars(module).values()):
            if hasattr(value, "py_func") and value.py_func.__name__ in names:
                value._cache = NullCache()


def _is_compiled(mutant: Mutant, referring: dict[str, Any]) -> bool:
    """Whether the mutant is in a compiled function, or may be a number that one holds."""
    return mutant.function in referring["compiled"] or not mutant.function


def child(mutant: Mutant, tests: list[str], referring: dict[str, Any], whole: bool = True) -> None:
    """Import the mutant and run the tests; the exit code says whether one failed.

    ``whole``: all modules are imported first, so that every compiled function that calls the mutant is known;
    otherwise at most those of its package.
    """
    os.setpgid(0, 0)
    quiet = os.open(os.environ.get("MUTANTS_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (12 * 2**30, 12 * 2**30))
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    sys.meta_path.insert(0, _Mutated(mutant))
    try:
        import pkgutil

        import dagtune

        for found in pkgutil.walk_packages(dagtune.__path__, "dagtune."):
            home = mutant.path.startswith("conditional") and found.name.startswith("dagtune.conditional")
            if (whole or home) and not any(word in found.name for word in ("gumbel", "notears_mlp", "adapters")):
                importlib.import_module(found.name)
        if _is_compiled(mutant, referring):
            _forget_compiled(mutant, referring)
        import pytest

        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]))
    except BaseException:
        code = 1
    os._exit(0 if code == 0 else 1)


def try_one(mutant: Mutant, tests: list[str], referring: dict[str, Any]) -> dict[str, Any]:
    """Whether the tests notice a mutant."""
    began = os.times()
    if not tests:
        fate = "survived"
    else:
        pid = os.fork()
        if pid == 0:
            child(mutant, tests, referring, whole=_is_compiled(mutant, referring))
        fate = awaited(pid, 3600.0)
    ended = os.times()
    return {
        "key": mutant.key,
        "line": mutant.line,
        "fate": fate,
        "tests": len(tests),
        "seconds": round(sum(ended[2:4]) - sum(began[2:4]), 1),
    }


def awaited(pid: int, patience: float) -> str:
    """Whether the child ended well (the mutant survived); one that never ends counts as killed."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return "survived" if status == 0 else "killed"
        time.sleep(0.02)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "killed"  # it never ended: a timeout counts as noticed


def main() -> None:
    """Draw and try the mutants of the packages named, or of all; write what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="try those whose key contains this, and write nothing")
    parser.add_argument(
        "--again", action="store_true", help="try those that survived without a reason, and new ones for lost"
    )
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests for each mutant")
    parser.add_argument("--measure", action="store_true", help="measure anew which tests reach what")
    parser.add_argument("--tests", default="", help="use these test files only: names without test_, with commas")
    parser.add_argument(
        "--by", nargs="+", default=[], help="use just these tests, as pytest names them, for every mutant"
    )
    given = parser.parse_args()
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", "/tmp/hypothesis-mutants")
    files = [name for name in given.tests.split(",") if name]
    reached, referring = {} if given.by else reach(given.measure, files), references()
    for name in PRELOADED:
        importlib.import_module(name)
    RESULTS.mkdir(exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    today = {"date": str(date.today()), "commit": commit.stdout.strip()}
    decided = reasons()
    for package in given.packages:
        everything = {key: mutant for key, mutant in mutants_in(package).items() if given.only in key}
        before = {entry["key"]: entry for entry in results_of(package)} if given.again else {}
        known = {key: entry for key, entry in before.items() if entry["fate"] == "killed" or key in decided}
        results: list[dict[str, Any]] = []
        for mutant in drawn(everything, package, given.count, given.seed, before):
            entry = known.get(mutant.key)
            if entry is None:
                tests = given.by or tests_for(mutant, reached, referring, given.budget)
                entry = try_one(mutant, tests, referring) | today
            results.append(entry | {"line": mutant.line})
            if entry["fate"] != "killed":
                print(f"{entry['fate']}: {entry['key']} (line {mutant.line}, {entry['tests']} tests)", flush=True)
        killed = sum(entry["fate"] == "killed" for entry in results)
        print(f"{package}: {killed} of {len(results)} killed", flush=True)
        if not given.only:
            told = {"seed": given.seed, "of": len(everything), "mutants": results}
            (RESULTS / f"mutants-{package}.json").write_text(json.dumps(told, indent=1) + "\n")


class Reason(NamedTuple):
    """Why no test tells a mutant from the source, and whether anybody could."""

    equivalent: bool
    why: str


def reasons() -> dict[str, Reason]:
    """What ``trust/survivors.toml`` says of survivors, by their keys."""
    found = tomllib.loads((ROOT / "trust" / "survivors.toml").read_text(encoding="utf-8"))
    return {
        key: Reason(sort == "equivalent", each["why"])
        for sort in ("equivalent", "untested")
        for each in found.get(sort, [])
        for key in each["mutants"]
    }


def results_of(package: str) -> list[dict[str, Any]]:
    """What became of the mutants of a package, as written last."""
    out = RESULTS / f"mutants-{package}.json"
    found: list[dict[str, Any]] = json.loads(out.read_text())["mutants"] if out.exists() else []
    return found


if __name__ == "__main__":
    main()
