"""Write docs/licences.md: the licences of all packages that `pip install 'dagtune[all]'` brings, as they say."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


HEAD = """# Licences

dagtune is under Apache-2.0. These are the packages that `pip install 'dagtune[all]'` brings on Linux, with the version
that was looked at and the licence that each states. Written by `make licences` (`.ci/licences.py`). None is linked into
or shipped with dagtune; gadjid (MPL-2.0) is used unmodified as a library.

| package | version | licence | |
|---|---|---|---|
"""


def licence(name: str) -> str:
    """The licence by the package's metadata: the SPDX expression, the classifiers, or the first line of the field."""
    told = distribution(name).metadata
    if told["License-Expression"]:
        return told["License-Expression"]
    classes = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or [] if each.startswith("License ::")]
    named = [each for each in classes if each != "OSI Approved"]
    if named:
        return ", ".join(named)
    field = (told["License"] or "").strip().splitlines()
    return field[0][:60] if field else "unknown"


def needed(asked: list[str]) -> dict[str, str]:
    """All packages that these bring, here, by lower-case name."""
    found, todo = {}, [(Requirement(each), "") for each in asked]
    while todo:
        one, extra = todo.pop()
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        try:
            there = distribution(one.name)
        except PackageNotFoundError:
            continue
        name = there.metadata["Name"]
        wanted = one.extras or {""}
        if (name.lower(), *sorted(wanted)) in found:
            continue
        found[(name.lower(), *sorted(wanted))] = name
        todo += [(Requirement(more), extra) for more in there.requires or [] for extra in wanted]
    return {key[0]: name for key, name in found.items()}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *extras["files"], *extras["baselines"], *extras["dask"]]
    own = {re.match(r"[\w.-]+", each)[0].lower() for each in direct}
    rows = []
    for key, name in sorted(needed(direct).items()):
        why = "asked for" if key in own else "brought along"
        rows.append(f"| {name} | {distribution(name).version} | {licence(name)} | {why} |")
    text = HEAD + "".join(f"{row}\n" for row in rows)
    (ROOT / "docs" / "licences.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
