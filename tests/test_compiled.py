"""Compiled code: the cache notices a change in a called function's file, and a compilation is told once."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dagtune
from dagtune.compiled import watched

CALLEE = "from dagtune.compiled import compiled\n\n@compiled\ndef inner(x):\n    return x + {number}\n"
CALLER = (
    "from dagtune.compiled import compiled\nfrom toy.callee import inner\nfrom toy.numbers import TIMES\n\n"
    "@compiled\ndef outer(x):\n    return TIMES * inner(x)\n"
)


@pytest.fixture
def toy(tmp_path):
    """A package of two compiled functions, one calling the other; the call runs it in a fresh process."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").write_text("")
    (tmp_path / "toy" / "caller.py").write_text(CALLER)

    def run(number, code="print(outer(1))", times=10):
        (tmp_path / "toy" / "numbers.py").write_text(f"TIMES = {times}\n")
        (tmp_path / "toy" / "callee.py").write_text(CALLEE.format(number=number))
        program = f"import toy.caller\nfrom toy.caller import outer\n{code}"
        paths = [str(tmp_path), str(Path(dagtune.__file__).parents[1])]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)

    return run


def test_a_changed_callee_is_compiled_into_its_caller_anew(toy):
    assert [toy(1).stdout, toy(2).stdout] == ["20\n", "30\n"]


def test_a_changed_number_is_compiled_anew_too(toy):
    assert [toy(1).stdout, toy(1, times=7).stdout] == ["20\n", "14\n"]


def test_a_cache_that_names_types_which_have_moved_is_no_obstacle(toy, tmp_path):
    """An update that takes a type to another module: the old cache can't be read, and need not be."""
    kind = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    x: int\n"
    caller = (
        "from dagtune.compiled import compiled\nfrom toy.{there} import Pair\n\n"
        "@compiled\ndef outer(pair):\n    return pair.x\n"
    )
    (tmp_path / "toy" / "old.py").write_text(kind)
    (tmp_path / "toy" / "caller.py").write_text(caller.format(there="old"))
    assert toy(1, "print(outer(toy.caller.Pair(3)))").stdout == "3\n"
    (tmp_path / "toy" / "old.py").rename(tmp_path / "toy" / "new.py")
    stamp = (tmp_path / "toy" / "caller.py").stat()
    (tmp_path / "toy" / "caller.py").write_text(caller.format(there="new"))
    os.utime(tmp_path / "toy" / "caller.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert toy(2, "print(outer(toy.caller.Pair(4)))").stdout == "4\n"


def test_a_compilation_is_logged_once_and_the_cache_speaks_for_itself(toy):
    first = toy(1, "outer(1), outer(1.0)")
    assert first.stderr.count("compiling numerical code") == 1
    assert toy(1, "outer(1), outer(1.0)").stderr == ""


def test_who_listens_hears_and_the_log_is_silent(toy):
    code = (
        "from dagtune.compiled import compilation_heard\n"
        "with compilation_heard(lambda: print('heard')): outer(1)\nprint(outer(1))"
    )
    found = toy(1, code)
    assert found.stdout.splitlines() == ["heard", "heard", "20"]  # the function and the one it calls
    assert found.stderr == ""


def test_what_others_compile_is_no_business_of_ours(toy):
    assert toy(1, "import numba\nprint(numba.njit(lambda x: x + 1)(1))").stderr == ""


def test_constants_in_compiled_functions_come_from_files_the_cache_watches():
    home = Path(dagtune.__file__).parent
    seen = set(watched(home))
    assert len(seen) > 8
    fronts = {"dagtune.regression": home / "regression" / "gram.py"}  # the room's front door hands on its numbers
    for path in seen - {home / "compiled.py"}:
        tree = ast.parse(path.read_text())
        origin = {
            alias.asname or alias.name: node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dagtune.")
            for alias in node.names
        }
        for function in tree.body:
            if not isinstance(function, ast.FunctionDef) or "compiled" not in map(_name, function.decorator_list):
                continue
            names = {node.id for part in function.body for node in ast.walk(part) if isinstance(node, ast.Name)}
            for name in names & set(origin):
                module = origin[name]
                source = fronts.get(module, home.joinpath(*module.split(".")[1:]).with_suffix(".py"))
                assert source in seen, f"{path.name}: {function.name} uses {name} of {module}, which is not watched"


def _name(decorator):
    return getattr(decorator.func if isinstance(decorator, ast.Call) else decorator, "id", "")


def test_a_function_is_called_by_its_address_and_only_if_it_was_brought_along():
    from dagtune.compiled import address_of, compiled, far_call

    @compiled
    def twice(x):
        if x < 0:
            raise ValueError("negative")
        return 2.0 * x

    @compiled
    def through(address, x):
        return far_call(address, 0.0, (x,))

    address = address_of(twice, 1.5)
    assert through(address, 1.5) == 3.0
    with pytest.raises(ValueError, match="negative"):
        through(address, -1.0)
    with pytest.raises(RuntimeError, match="did not bring along"):
        through(0, 1.5)
