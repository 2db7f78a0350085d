"""Promises of docs/promises.md name tests that are there; nothing reaches the network; licences are listed."""

import ast
import re
import socket
import tomllib
import urllib.request
from pathlib import Path

import pytest

from trust.mutants import PACKAGES, reasons, results_of
from trust.survivors import listed, survivors
from trust.terms import TERMS, spoiled

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_every_promise_names_tests_that_are_there():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "`test_" in line]
    assert len(rows) >= 40
    missing = []
    for file, name in re.findall(r"(test_\w+\.py)::(test_\w+)", PAGE):
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        if name not in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}:
            missing.append(f"{file}::{name}")
    assert missing == []
    assert all(re.search(r"`test_\w+\.py::test_\w+`", row) for row in rows)


@pytest.mark.parametrize("term", TERMS, ids=[term.name for term in TERMS])
def test_every_term_of_the_score_has_a_mutant_that_still_fits_the_source(term):
    """If this fails the score has changed: let the term in trust/terms.py follow, and run ``make mutants``."""
    assert spoiled(term).source


def test_every_mutant_that_survived_has_its_reason_and_stands_on_the_page():
    """If this fails: say why in trust/survivors.toml, or write a test, and run ``python -m trust.survivors``."""
    known, alive = reasons(), {package: survivors(package) for package in PACKAGES}
    assert sorted(known) == sorted(key for keys in alive.values() for key in keys)
    assert listed() in PAGE
    for package, keys in alive.items():
        untested = [key for key in keys if not known[key].equivalent]
        assert len(untested) <= len(results_of(package)) / 10, package


def test_no_test_reaches_the_network():
    for address in (("192.0.2.1", 80), ("2001:db8::1", 80)):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with socket.socket(family) as plug, pytest.raises(AssertionError, match="without a network"):
            plug.connect(address)
    with pytest.raises(AssertionError, match="without a network"):
        urllib.request.urlopen("http://example.org", timeout=1)
    with socket.socket() as here:
        here.bind(("127.0.0.1", 0))
        here.listen()
        with socket.create_connection(here.getsockname(), timeout=5):
            pass


def test_every_dependency_has_its_licence_on_the_page():
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = {name.lower() for name in re.findall(r"^\| ([\w.-]+) \|", page, re.M)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["files"], *extras["baselines"], *extras["dask"]]
    direct = {re.match(r"[\w.-]+", each)[0].lower() for each in asked}
    assert direct <= listed
    assert "unknown" not in page.lower()


def test_the_lock_file_has_everything_that_the_project_asks_for():
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    locked = {name.lower().replace("_", "-") for name in re.findall(r"^([\w.-]+)==", lock, re.M)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [
        *project["dependencies"],
        *(each for name in ("lint", "test", "docs", "baselines") for each in extras[name]),
    ]
    direct = {re.match(r"[\w.-]+", each)[0].lower().replace("_", "-") for each in asked}
    assert direct <= locked
