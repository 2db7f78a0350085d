"""`dagtune doctor`: what is installed, which extras are missing, and whether compilation works."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

import typer

from dagtune.cli.options import Json, Quiet

__all__ = ["register", "version_lines"]

#: Extras for people who work on dagtune; a user misses nothing without them.
_OURS = ("all", "docs", "lint", "test")
#: Packages whose versions decide what the program computes, and how fast.
_MATTER = ("numpy", "scipy", "scikit-learn", "pandas", "numba")


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("doctor", epilog="Example: dagtune doctor --json  (exit 0: all is well, 3: something is wrong)")(doctor)


def version_lines() -> list[str]:
    """dagtune's version, then those of what it runs on."""
    import dagtune

    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    packages = ", ".join(f"{name} {_version(name) or 'missing'}" for name in _MATTER)
    return [f"dagtune {dagtune.__version__}", system, packages]


def doctor(as_json: Json = False, quiet: Quiet = False) -> int:
    """Say what is installed, which extras are missing, and whether compilation works."""
    from dagtune.cli.errors import DONE, FINDINGS
    from dagtune.cli.terminal import Talk

    talk = Talk(quiet=quiet, as_json=as_json)
    with talk.progress(after=1.0) as tell:
        tell("looking at packages", 0.0)
        packages = _required()
        extras = {name: _needed(name) for name in _extras()}
        tell("compiling a small function", 0.0)
        compiler = _compiler()
    others, plugged = _other_methods(), _plug_ins()
    troubles = [f"{package.name} {package.trouble}" for package in packages if package.trouble]
    troubles += [compiler["trouble"]] if compiler["trouble"] else []
    _say(talk, packages, extras, others | plugged, compiler)
    for trouble in troubles:
        talk.say(f"trouble: {trouble}", style="bold red")
    talk.say("All is well." if not troubles else f"{len(troubles)} to put right.", style="bold")
    talk.give(
        "doctor",
        {
            "versions": version_lines(),
            "python": sys.executable,
            "processors": _processors(),
            "packages": [asdict(package) for package in packages],
            "extras": {name: [asdict(package) for package in found] for name, found in extras.items()},
            "methods": others,
            "plug_ins": plugged,
            "compilation": compiler,
            "troubles": troubles,
        },
    )
    return FINDINGS if troubles else DONE


@dataclass(frozen=True)
class Package:
    """A package that is required, the version that is there, and what is wrong with it."""

    name: str
    needs: str
    version: str | None
    trouble: str


def _say(
    talk: Any, packages: list[Package], extras: dict[str, list[Package]], others: dict[str, str], compiler: Any
) -> None:
    """The findings for a person."""
    for line in version_lines()[:2]:
        talk.say(line)
    talk.say(f"{sys.executable}, {_processors()} processors")
    talk.say("\nPackages", style="bold")
    for each in packages:  # padded here: dagtune.text needs numpy, which may be what is missing
        talk.say(f"  {each.name:<15}{each.version or 'missing':<12}{each.needs}")
    if not packages:
        talk.say("  dagtune runs from a folder, not installed: pip install . lets it know what it needs")
    talk.say("\nExtras", style="bold")
    for name, found in extras.items():
        missing = [each.name for each in found if each.version is None or each.trouble]
        cure = f"missing {', '.join(missing)}: pip install 'dagtune[{name}]'" if missing else "complete"
        talk.say(f"  {name}: {cure}")
    talk.say("\nMethods and plug-ins of other packages", style="bold")
    for name, told in others.items():
        talk.say(f"  {name}: {told}")
    talk.say("\nCompilation", style="bold")
    talk.say(f"  {compiler['trouble'] or compiler['told']}")
    talk.say()


# --- what is installed ------------------------------------------------------------------------------------------------


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _requirements() -> list[Any]:
    """What dagtune's own metadata say it needs; empty where it runs from a folder."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        return [Requirement(text) for text in requires("dagtune") or ()]
    except PackageNotFoundError:
        return []


def _required() -> list[Package]:
    return [_package(each) for each in _requirements() if each.marker is None or each.marker.evaluate({"extra": ""})]


def _extras() -> list[str]:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        found = metadata("dagtune").get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return []
    return [name for name in found if name not in _OURS]


def _needed(extra: str) -> list[Package]:
    """The packages of an extra."""
    return [
        _package(each)
        for each in _requirements()
        if each.marker is not None
        and each.marker.evaluate({"extra": extra})
        and not each.marker.evaluate({"extra": ""})
    ]


def _package(requirement: Any) -> Package:
    version = _version(requirement.name)
    needs = str(requirement.specifier)
    trouble = ""
    if version is None:
        trouble = f"is missing: pip install '{requirement.name}{needs}'"
    elif not requirement.specifier.contains(version, prereleases=True):
        trouble = f"is {version}, but {needs} is needed: pip install -U '{requirement.name}{needs}'"
    return Package(requirement.name, needs, version, trouble)


def _other_methods() -> dict[str, str]:
    """For each method that needs further packages, whether it can run."""
    from dagtune.learners import METHODS

    return {
        name: "ready" if method.available else f"pip install {method.install}"
        for name, method in METHODS.items()
        if method.needs
    }


def _plug_ins() -> dict[str, str]:
    """What installed packages plug in, and whether it can be imported."""
    from dagtune.registry import plug_ins

    found = {}
    for kind in ("method", "kernel", "generator"):
        for entry in plug_ins(f"dagtune.{kind}s"):
            try:
                entry.load()
                told = "ready"
            except Exception as error:
                told = f"can't be imported ({type(error).__name__}: {error})"
            found[f"{kind} {entry.name}"] = f"{entry.value}, {told}"
    return found


def _processors() -> int:
    import os  # not dagtune.parallel: that needs packages which may be what is missing

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# --- whether compilation works ----------------------------------------------------------------------------------------


def _twice(x: float) -> float:
    return x + x


def _compiler() -> dict[str, Any]:
    """Compile a small function; ``told`` says how long it took and where compiled code is kept."""
    import time

    started = time.perf_counter()
    try:
        from numba import njit

        right = njit(_twice)(2.0) == 4.0
    except Exception as error:
        return {"trouble": f"numba does not compile ({type(error).__name__}: {error}): reinstall numba", "told": ""}
    seconds = time.perf_counter() - started
    if not right:
        return {"trouble": "numba compiles wrongly (2 + 2 is not 4): reinstall numba", "told": "", "seconds": seconds}
    kept = _cache()
    if kept is None:
        trouble = "compiled code can't be kept, so every run compiles anew: set NUMBA_CACHE_DIR to a folder of yours"
        return {"trouble": trouble, "told": "", "seconds": seconds, "cache": None}
    told = f"works ({seconds:.1f} s for a small function); compiled code is kept in {kept}"
    return {"trouble": "", "told": told, "seconds": seconds, "cache": kept}


def _cache() -> str | None:
    """The folder in which numba keeps dagtune's compiled code; None if it can write none."""
    try:
        from dagtune.conditional import noise

        compiled: Any = next(value for value in vars(noise).values() if hasattr(value, "py_func"))
        kept = compiled._cache
        kept._impl.locator.ensure_cache_path()
        return str(kept.cache_path)
    except (AttributeError, ImportError, OSError):
        return None
