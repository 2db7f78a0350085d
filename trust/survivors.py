"""Mutants that survived, each with its reason: ``python -m trust.survivors`` writes them into docs/promises.md.

``trust/survivors.toml`` says of each survivor of :mod:`trust.mutants` whether nobody can tell it from the source
(equivalent), or why no test does. ``tests/test_promises.py`` compares that file, the results and the page.
"""

from __future__ import annotations

from trust.mutants import PACKAGES, ROOT, mutants_in, reasons, results_of

PAGE = ROOT / "docs" / "promises.md"
_BEGIN, _END = "<!-- survivors: written by python -m trust.survivors -->\n", "<!-- end of survivors -->\n"


def survivors(package: str) -> list[str]:
    """Keys of the mutants of a package that no test killed."""
    return [entry["key"] for entry in results_of(package) if entry["fate"] != "killed"]


def listed() -> str:
    """The table of the packages, and the survivors one by one, as docs/promises.md has them."""
    known = reasons()
    rows, lines = [], []
    for package in PACKAGES:
        entries = results_of(package)
        if not entries:
            continue
        alive = survivors(package)
        same = sum(known[key].equivalent for key in alive)
        when = sorted({f"{entry['date']} at {entry['commit']}" for entry in entries})
        killed = len(entries) - len(alive)
        rows.append(f"| {package} | {len(entries)} | {killed} | {same} | {len(alive) - same} | {', '.join(when)} |")
        for key in alive:
            sort = "equivalent" if known[key].equivalent else "not tested"
            lines.append(f"| `{key.replace('|', chr(92) + '|')}` | {sort}: {known[key].why} |")
    head = "| package | drawn | killed | equivalent | not tested | tried on |\n|---|---|---|---|---|---|\n"
    return "\n".join([head + "\n".join(rows), "", "| survivor | reason |\n|---|---|\n" + "\n".join(lines), ""])


def main() -> None:
    """Write the list into the page; say which survivors have no reason, and which reasons no survivor."""
    known, alive = reasons(), {key for package in PACKAGES for key in survivors(package)}
    source = {key for package in PACKAGES for key in mutants_in(package)}
    for key in sorted(alive - set(known)):
        print(f"no reason: {key}")
    for key in sorted(set(known) - alive):
        print(f"no survivor{'' if key in source else ', nor in the source'}: {key}")
    if alive <= set(known):
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
        _, _, after = rest.partition(_END)
        PAGE.write_text(before + _BEGIN + listed() + _END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
