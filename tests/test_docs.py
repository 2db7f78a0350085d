"""The documentation runs: examples in docstrings, Python blocks of the pages, links, and names of files.

A Python block of a page runs unless the comment ``<!-- not run: reason -->`` stands before it. The blocks of a page run
in order, in an empty folder, and share their variables; ``X`` (a DataFrame with the columns x0 to x4) is there from the
start. A block without a language right after a Python block is what it prints.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import dagtune
from dagtune.simulate import MODELS, random_dag, sample

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", ".github/**/*.md", "reproduction/*.md") for page in ROOT.glob(pattern)
)
#: Modules whose public names have numpydoc docstrings throughout.
DOCUMENTED = ("datasets", "graph", "knowledge", "layout", "metrics", "pictures", "simulate", "text")

_BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^>]+-->\n)?^```python\n(?P<code>.*?)^```\n(?:```\n(?P<shown>.*?)^```\n)?", re.M | re.S
)


def name_of(path):
    return str(path.relative_to(ROOT))


def modules_with_examples():
    for found in pkgutil.walk_packages(dagtune.__path__, "dagtune."):
        file = importlib.util.find_spec(found.name).origin
        if ">>>" in Path(file).read_text(encoding="utf-8"):
            yield found.name


@pytest.mark.parametrize("module", sorted(modules_with_examples()))
def test_the_examples_of_docstrings_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(module))
    assert tried
    assert not failed, "the report of doctest above says what differs"


def documented():
    for room in DOCUMENTED:
        module = importlib.import_module(f"dagtune.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield pytest.param(value, id=f"{room}.{name}")


def sections(text):
    """The body of each numpydoc section by its heading."""
    parts = re.split(r"^([A-Z]\w+)\n-{3,}\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("value", list(documented()))
def test_a_docstring_names_every_parameter_and_a_function_has_an_example(value):
    text = inspect.getdoc(value)
    found = sections(text)
    entries = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", found.get("Parameters", ""), flags=re.M)
    names = {name for entry in entries for name in entry.split(", ")}
    assert names == set(inspect.signature(value).parameters)
    if inspect.isfunction(value):
        assert "Returns" in found
        assert ">>>" in found["Examples"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    blocks = list(_BLOCK.finditer(page.read_text(encoding="utf-8")))
    if not any(block["skip"] is None for block in blocks):
        pytest.skip("no Python to run")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = set(MODELS)
    names = {"X": sample(random_dag(5, 6, rng=0), n=200, rng=0)}
    for block in blocks:
        if block["skip"] is None:
            capsys.readouterr()
            exec(compile(block["code"], name_of(page), "exec"), names)
            if block["shown"] is not None:
                assert capsys.readouterr().out == block["shown"]
    for name in set(MODELS) - known:  # other tests look at the models of the package
        del MODELS[name]


def test_the_example_scripts_run(capsys):
    for script in sorted((ROOT / "examples").glob("*.py")):
        runpy.run_path(str(script), run_name="__main__")
        assert capsys.readouterr().out


def prose(page):
    """The text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_file_names_lead_somewhere(page):
    text = prose(page)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    missing = [link for link in links if link and not (page.parent / link).exists()]
    files = re.findall(r"`((?:src|tests|docs|benchmarks|examples|reproduction|\.ci)/[\w./-]*)`", text)
    missing += [file for file in files if not (ROOT / file).exists()]
    assert not missing


def test_the_drawing_of_the_packages_shows_each_above_what_it_imports():
    from test_architecture import ROOMS

    drawing = re.search(r"^```\n(┌.*?)^```", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.M | re.S)[
        1
    ]
    rows = re.findall(r"^│ (.*?) *│", drawing, re.M)
    row_of = {room: number for number, row in enumerate(rows) for room in row.split()}
    assert set(ROOMS) <= set(row_of)
    assert not [(room, other) for room, others in ROOMS.items() for other in others if row_of[other] <= row_of[room]]


def test_every_decision_is_listed():
    index = (ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    pages = [page.name for page in (ROOT / "docs/decisions").glob("[0-9]*.md")]
    assert len(pages) >= 16
    assert not [name for name in pages if f"]({name})" not in index]
