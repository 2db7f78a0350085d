"""Who may import whom: imports point one way, and heavy extras load only where they are needed."""

import ast
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import dagtune

HOME = Path(dagtune.__file__).parent
EVERYONE = {"compiled", "files", "graph", "progress", "text", "validation"}
#: A room is a package or a module of the top level; beside each, the rooms it may import.
ROOMS = {
    "compiled": set(),
    "progress": {"validation"},
    "validation": set(),
    "files": set(),
    "text": set(),
    "registry": {"validation"},
    "methods": {"progress", "registry", "tables"},
    "graph": {"validation"},
    "layout": EVERYONE,
    "pictures": {"layout", *EVERYONE},
    "parallel": EVERYONE,
    "tables": {"registry", "parallel", *EVERYONE},
    "engine": {"registry", "tables", "parallel", "pictures", *EVERYONE},
    "regression": {"tables", "parallel", *EVERYONE},
    "knowledge": EVERYONE,
    "interventions": EVERYONE,
    "effects": {"regression", "tables", *EVERYONE},
    "trust": {"effects", "engine", "parallel", "regression", "tables", *EVERYONE},
    "result": {"effects", "trust", "tables", "knowledge", "metrics", "pictures", *EVERYONE},
    "ot": {"engine", "tables", "knowledge", "result", "trust", *EVERYONE},
    "conditional": {
        "effects",
        "engine",
        "regression",
        "tables",
        "parallel",
        "interventions",
        "knowledge",
        "result",
        "trust",
        *EVERYONE,
    },
    "bootstrap": {"engine", "interventions", "tables", "parallel", "knowledge", *EVERYONE},
    "estimators": {"ot", "conditional", "bootstrap", "tables", "knowledge", "result", *EVERYONE},
    "simulate": {"registry", "tables", *EVERYONE},
    "metrics": EVERYONE,
    "datasets": EVERYONE,
    "baselines": {"methods", "regression", "tables", "parallel", *EVERYONE},
    "learners": {"methods", "baselines", "registry", *EVERYONE},
    "apart": {"learners", "methods", "tables", *EVERYONE},
    "audit": {"tables", "simulate", *EVERYONE},
    "report": {"effects", "experiments", "learners", "engine", "result", "layout", "metrics", "tables", *EVERYONE},
    "experiments": {"learners", "methods", "baselines", "simulate", "metrics", "datasets", "parallel", *EVERYONE},
    "cli": {
        "apart",
        "audit",
        "baselines",
        "bootstrap",
        "conditional",
        "datasets",
        "engine",
        "experiments",
        "interventions",
        "knowledge",
        "learners",
        "methods",
        "metrics",
        "registry",
        "report",
        "result",
        "simulate",
        "tables",
        *EVERYONE,
    },
}


def imports_of(path):
    """Rooms of dagtune that a file imports, anywhere in it, and outside packages it imports at its top."""
    tree = ast.parse(path.read_text())
    rooms, outside = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "dagtune":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dagtune."):
            rooms.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("dagtune.")}
    for node in tree.body:
        if isinstance(node, ast.Import):
            outside |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            outside.add(node.module.split(".")[0])
    return rooms, outside


FILES = sorted(path for path in HOME.rglob("*.py") if path not in (HOME / "__init__.py", HOME / "__main__.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_a_room_imports_only_what_it_may(path):
    room = path.relative_to(HOME).parts[0].removesuffix(".py")
    assert room in ROOMS, f"{room} is a new room: say here what it may import"
    rooms, outside = imports_of(path)
    assert rooms - {room} <= ROOMS[room]
    assert not outside & {"jax", "optax", "ges", "dask", "distributed", "matplotlib", "torch"}
    if room in EVERYONE:
        assert outside <= {"numba", "numpy", "pandas", "networkx", "dagtune", *sys.stdlib_module_names}


def test_rooms_form_no_circle():
    assert nx.is_directed_acyclic_graph(
        nx.DiGraph([(room, other) for room, allowed in ROOMS.items() for other in allowed])
    )


def test_modules_within_a_room_form_no_circle():
    names = {path: ".".join(["dagtune", *path.relative_to(HOME).with_suffix("").parts]) for path in FILES}
    edges = [
        (name, imported)
        for path, name in names.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in names.values()
        for imported in [node.module]
    ]
    assert len(edges) > 100
    assert nx.is_directed_acyclic_graph(nx.DiGraph(edges))


#: Most lines of a module; those that have more say why here.
MOST_LINES = 500
LONG_MODULES = {"estimators.py": "scikit-learn wants each option in the docstring, the signature and an assignment"}
#: Most parameters of a function, without self and cls.
MOST_PARAMETERS = 8
#: Public entry points that have more, and why.
_COMMAND = "a command has one parameter for each option that can be typed"
_METHOD = "the options of a method are keywords of its function"
MANY_PARAMETERS = {
    "baselines/cam.py learn_cam": _METHOD,
    "baselines/ges.py learn_ges": _METHOD,
    "baselines/notears.py learn_notears_linear": _METHOD,
    "baselines/notears_mlp.py learn_notears_mlp": _METHOD,
    "baselines/npvar.py learn_npvar": _METHOD,
    "baselines/score_matching.py learn_nogam": _METHOD,
    "cli/audit.py audit": _COMMAND,
    "cli/compare.py compare": _COMMAND,
    "cli/learn.py learn": _COMMAND,
    "cli/reproduce.py reproduce": _COMMAND,
    "cli/simulate.py simulate": _COMMAND,
    "conditional/algorithm.py conditional_tuning": _METHOD,
    "engine/dependence.py dependence_blocks": "all options of the engine",
    "engine/dependence.py measure_dependence": "all options of the engine",
    "estimators.py __init__": "scikit-learn wants every option as a keyword of __init__",
    "experiments/runner.py reproduce": "all options of a run",
    "ot/algorithm.py optimal_tuning": _METHOD,
    "report/page.py write_report": "everything that a page may show",
    "tables/reading.py read_table": "all options of reading",
}


def count_parameters(function):
    """The parameters of a function, without self and cls."""
    given = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return len([one for one in given if one.arg not in ("self", "cls")])


def test_modules_above_500_lines_are_listed():
    long = {str(path.relative_to(HOME)) for path in FILES if len(path.read_text().splitlines()) > MOST_LINES}
    assert long <= set(LONG_MODULES)


def test_functions_with_more_than_8_parameters_are_listed():
    many = {
        f"{path.relative_to(HOME)} {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and count_parameters(node) > MOST_PARAMETERS
    }
    assert many == set(MANY_PARAMETERS)


def test_importing_dagtune_loads_no_heavy_extra():
    code = (
        "import sys, dagtune\n"
        "for name in dagtune.__all__: getattr(dagtune, name)\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"jax", "optax", "ges", "dask", "distributed", "matplotlib", "torch"} & set(loaded)
    assert "numpy" in loaded


def test_every_public_name_is_there_and_stands_where_it_says():
    for name in dagtune.__all__:
        assert getattr(dagtune, name) is not None
    assert set(dagtune.__all__) == {*dagtune._HOMES, "__version__"} == set(dir(dagtune))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dagtune.nothing
