"""Print the lowest versions that pyproject.toml allows of what dagtune needs, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    if not re.fullmatch(r"[\w-]+>=[\d.]+", requirement):
        raise SystemExit(f"{requirement!r} in pyproject.toml names no lowest version: write it as name>=version")
    print(requirement.replace(">=", "=="))
