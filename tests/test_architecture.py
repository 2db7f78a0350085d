"""Who may import whom: imports point one way, and heavy extras load only where they are needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dagtune

HOME = Path(dagtune.__file__).parent
EVERYONE = {"graph", "validation"}
ROOMS = {
    "validation": set(),
    "graph": {"validation"},
    "pictures": EVERYONE,
    "kernels": EVERYONE,
    "parallel": EVERYONE,
    "features": {"kernels", *EVERYONE},
    "moments": {"features", "kernels", "parallel", *EVERYONE},
    "problem": {"moments", "features", "kernels", "parallel", *EVERYONE},
    "dense": {"problem", "moments", "features", "kernels", "parallel", *EVERYONE},
    "lowrank": {"dense", "problem", "moments", "features", "kernels", "parallel", *EVERYONE},
    "engine": {"lowrank", "dense", "problem", "moments", "features", "kernels", "parallel", *EVERYONE},
    "dependence": {"pictures", "engine", "lowrank", "dense", "problem", "features", "kernels", "parallel", *EVERYONE},
    "regression": {"moments", "features", "kernels", "parallel", *EVERYONE},
    "knowledge": EVERYONE,
    "result": {"knowledge", "pictures", *EVERYONE},
    "optimal": {"dependence", *EVERYONE},
    "tuning": {"dependence", "result", *EVERYONE},
    "links": EVERYONE,
    "transforms": EVERYONE,
    "joint": {"parallel", *EVERYONE},
    "orders": {"links", "joint", "regression", "parallel", *EVERYONE},
    "selection": {"orders", "links", *EVERYONE},
    "neighbours": {"orders", "selection", *EVERYONE},
    "conditional": {
        "neighbours",
        "orders",
        "selection",
        "joint",
        "links",
        "transforms",
        "regression",
        "moments",
        "parallel",
        *EVERYONE,
    },
    "checks": {"dependence", "result", *EVERYONE},
    "learn": {
        "optimal",
        "tuning",
        "dependence",
        "kernels",
        "knowledge",
        "result",
        "conditional",
        "selection",
        "checks",
        "parallel",
        *EVERYONE,
    },
    "bootstrap": {"dependence", "engine", "problem", "parallel", *EVERYONE},
    "estimators": {"learn", "bootstrap", "knowledge", "result", "dependence", "optimal", *EVERYONE},
    "simulate": EVERYONE,
    "metrics": EVERYONE,
    "datasets": EVERYONE,
    "report": {"experiments", "result", "pictures", "dependence", "metrics", *EVERYONE},
    "baselines": {"regression", "parallel", *EVERYONE},
    "audit": {"result", "simulate", *EVERYONE},
    "cli": {
        "audit",
        "baselines",
        "bootstrap",
        "datasets",
        "dependence",
        "experiments",
        "knowledge",
        "metrics",
        "report",
        "result",
        "simulate",
        *EVERYONE,
    },
    "experiments": {"baselines", "simulate", "metrics", "datasets", "estimators", "parallel", *EVERYONE},
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


FILES = sorted(path for path in HOME.rglob("*.py") if path != HOME / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_a_room_imports_only_what_it_may(path):
    room = path.relative_to(HOME).parts[0].removesuffix(".py")
    assert room in ROOMS, f"{room} is a new room: say here what it may import"
    rooms, outside = imports_of(path)
    assert rooms - {room} <= ROOMS[room]
    assert not outside & {"jax", "optax", "ges", "dask", "distributed", "matplotlib", "torch"}
    if room in EVERYONE:
        assert outside <= {"numpy", "pandas", "networkx", "dagtune", *sys.stdlib_module_names}


def test_imports_form_no_circle():
    for room, allowed in ROOMS.items():
        assert room not in allowed
        assert all(room not in ROOMS[other] for other in allowed), room


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
