"""Print the lowest versions that pyproject.toml allows of what dagtune and its tests need, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    found = re.fullmatch(r"([\w-]+)(\[[\w,]+\])?>=([\d.]+)", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} in pyproject.toml names no lowest version: write it as name>=version")
    print(f"{found[1]}=={found[3]}")
