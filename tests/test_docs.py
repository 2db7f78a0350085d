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
from dagtune.methods import METHODS
from dagtune.simulate import MODELS, random_dag, sample

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", ".github/**/*.md", "reproduction/*.md") for page in ROOT.glob(pattern)
)
#: Modules whose public names have numpydoc docstrings throughout.
DOCUMENTED = (
    "bootstrap",
    "datasets",
    "engine.dependence",
    "engine.independence",
    "engine.kernels",
    "estimators",
    "experiments",
    "graph",
    "knowledge",
    "layout",
    "metrics",
    "ot.algorithm",
    "ot.cycles",
    "ot.gumbel",
    "ot.losses",
    "ot.optimal",
    "ot.released",
    "ot.ties",
    "ot.tuning",
    "pictures",
    "regression",
    "report",
    "simulate",
    "tables",
    "text",
)
#: The functions of these describe their parameters, but not all of them have an example yet.
WITHOUT_EXAMPLES = ("tables",)

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


def documented(rooms=DOCUMENTED):
    for room in rooms:
        module = importlib.import_module(f"dagtune.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield pytest.param(value, id=f"{room}.{name}")


def sections(text):
    """The body of each numpydoc section by its heading."""
    parts = re.split(r"^([A-Z]\w+)\n-{3,}\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def entries(section):
    """The names that a section describes; "Those of :class:`X`" describes all parameters of X."""
    lines = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", section, flags=re.M)
    names = {name for line in lines for name in line.split(", ")}
    for borrowed in re.findall(r"^Those of :class:`dagtune\.(\w+)`", section, flags=re.M):
        names |= set(inspect.signature(getattr(dagtune, borrowed)).parameters)
    return names


@pytest.mark.parametrize("value", list(documented()))
def test_a_docstring_names_every_parameter(value):
    found = sections(inspect.getdoc(value))
    given = set(inspect.signature(value).parameters)
    described = entries(found.get("Parameters", ""))
    assert described <= given
    if inspect.isclass(value):  # a class may describe its fields as attributes
        described |= entries(found.get("Attributes", ""))
    assert given <= described


@pytest.mark.parametrize("value", list(documented(room for room in DOCUMENTED if room not in WITHOUT_EXAMPLES)))
def test_a_function_says_what_it_returns_and_has_an_example(value):
    if not inspect.isfunction(value):
        pytest.skip("a class")
    found = sections(inspect.getdoc(value))
    if inspect.signature(value).return_annotation != "None":
        assert {"Returns", "Yields"} & set(found)
    assert ">>>" in found["Examples"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    blocks = list(_BLOCK.finditer(page.read_text(encoding="utf-8")))
    if not any(block["skip"] is None for block in blocks):
        pytest.skip("no Python to run")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = [(registry, set(registry)) for registry in (MODELS, METHODS)]
    names = {"X": sample(random_dag(5, 6, rng=0), n=200, rng=0)}
    for block in blocks:
        if block["skip"] is None:
            capsys.readouterr()
            exec(compile(block["code"], name_of(page), "exec"), names)
            if block["shown"] is not None:
                assert capsys.readouterr().out == block["shown"]
    for registry, before in known:  # other tests look at what the package itself has
        for name in set(registry) - before:
            del registry[name]


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
    assert len(pages) >= 6
    assert not [name for name in pages if f"]({name})" not in index]
