"""Adapters: orientation against stand-ins in the fast suite, the real packages in an environment of their own."""

import json
import os
import random
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dagtune.baselines import EXTERNAL, TimeLimitError, run
from dagtune.graph import is_dag, skeleton
from dagtune.validation import InputError

X = np.random.default_rng(0).normal(size=(50, 3))

#: Which module each method asks for, and what pip calls it.
NEEDS = {
    "pc": ("causallearn.search.ConstraintBased.PC", "causal-learn"),
    "grasp": ("causallearn.search.PermutationBased.GRaSP", "causal-learn"),
    "boss": ("causallearn.search.PermutationBased.BOSS", "causal-learn"),
    "direct-lingam": ("lingam", "lingam"),
    "resit": ("lingam", "lingam"),
    "dagma-linear": ("dagma.linear", "dagma"),
}


@pytest.fixture
def pretend(monkeypatch):
    """Puts a stand-in where a library's module would be."""

    def put(name, **contents):
        parts = name.split(".")
        for k in range(1, len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[:k]), ModuleType(".".join(parts[:k])))
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)

    return put


def test_every_adapter_is_tried_here():
    assert set(NEEDS) == set(EXTERNAL)


@pytest.mark.parametrize("name", EXTERNAL)
def test_a_missing_package_is_named_with_its_cure(name, monkeypatch):
    monkeypatch.setitem(sys.modules, NEEDS[name][0].split(".")[0], None)
    with pytest.raises(
        ImportError, match=f"{name} needs a package that is not installed: pip install {NEEDS[name][1]}$"
    ):
        EXTERNAL[name](X)


def marks(*edges):
    """causal-learn's matrix of (i, mark at i, j, mark at j), as its documentation has it: -1 a tail, 1 an arrowhead."""
    graph = np.zeros((3, 3), dtype=int)
    for i, at_i, j, at_j in edges:
        graph[i, j], graph[j, i] = at_i, at_j
    return SimpleNamespace(graph=graph)


@pytest.mark.parametrize("name", ["pc", "grasp", "boss"])
def test_causal_learns_tail_is_the_cause(name, pretend):
    found = marks((2, -1, 0, 1), (1, -1, 0, 1))  # 2 -> 0 <- 1
    pretend(NEEDS[name][0], **{name: lambda data, **_: SimpleNamespace(G=found) if name == "pc" else found})
    learned = EXTERNAL[name](X)
    assert np.argwhere(learned.graph).tolist() == [[1, 0], [2, 0]]
    assert (learned.cpdag == learned.graph).all()
    assert not learned.notes
    assert (run(name, X) == learned.graph).all()


def test_causal_learns_undirected_edges_are_extended_without_new_v_structures(pretend):
    pretend(NEEDS["pc"][0], pc=lambda data, **_: SimpleNamespace(G=marks((0, -1, 1, -1), (1, -1, 2, -1))))
    learned = EXTERNAL["pc"](X)
    assert learned.cpdag.sum() == 4
    assert not (learned.graph[0, 1] and learned.graph[2, 1])
    assert is_dag(learned.graph)


def test_contradictions_of_pc_end_in_a_dag_and_in_the_notes(pretend):
    cyclic = marks((0, -1, 1, 1), (1, -1, 2, 1), (2, -1, 0, 1))
    pretend(NEEDS["pc"][0], pc=lambda data, **_: SimpleNamespace(G=cyclic))
    learned = EXTERNAL["pc"](X)
    assert skeleton(learned.graph).sum() == 6
    assert "no DAG extends" in learned.notes[0]
    pretend(NEEDS["pc"][0], pc=lambda data, **_: SimpleNamespace(G=marks((0, 1, 1, 1))))
    assert "1 edges came with two arrowheads" in EXTERNAL["pc"](X).notes[0]


class LingamStandIn:
    """Says that column 2 causes column 0 and that 0 causes 1, in lingam's way: child by parent."""

    def __init__(self, **settings):
        self.settings = settings

    def fit(self, data):
        self.adjacency_matrix_ = np.zeros((3, 3))
        self.adjacency_matrix_[0, 2], self.adjacency_matrix_[1, 0] = -1.5, 0.7
        self.causal_order_ = [2, 0, 1]
        return self


@pytest.mark.parametrize("name", ["direct-lingam", "resit"])
def test_lingams_child_by_parent_is_turned(name, pretend):
    pretend("lingam", DirectLiNGAM=LingamStandIn, RESIT=LingamStandIn)
    learned = EXTERNAL[name](X, rng=0)
    assert np.argwhere(learned.graph).tolist() == [[0, 1], [2, 0]]
    assert learned.weights[2, 0] == -1.5
    assert learned.order.tolist() == [2, 0, 1]


def test_dagmas_row_is_the_cause_and_a_cycle_is_cut(pretend):
    W = np.zeros((3, 3))
    W[0, 1], W[1, 2], W[2, 0] = 1.0, -2.0, 0.4
    stand_in = SimpleNamespace(fit=lambda data, **_: W)
    pretend("dagma.linear", DagmaLinear=lambda loss_type: stand_in)
    learned = EXTERNAL["dagma-linear"](X)
    assert np.argwhere(learned.graph).tolist() == [[0, 1], [1, 2]]
    assert "cut at 0.4 instead" in learned.notes[0]


def test_the_users_data_are_not_written_to(pretend):
    def centre_in_place(data, **_):
        data -= data.mean(axis=0)
        return np.zeros((3, 3))

    pretend("dagma.linear", DagmaLinear=lambda loss_type: SimpleNamespace(fit=centre_in_place))
    given = X + 1.0
    EXTERNAL["dagma-linear"](given)
    assert (given == X + 1.0).all()


def test_the_seed_reaches_the_library_and_global_random_numbers_stay_as_they_were(pretend):
    drawn = []
    pretend(NEEDS["boss"][0], boss=lambda data, **_: drawn.append(random.random()) or marks())
    random.seed(5)
    state = random.getstate()
    for seed in (1, 1, 2):
        EXTERNAL["boss"](X, rng=seed)
    assert random.getstate() == state
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_comes_too_late_is_no_graph(pretend):
    pretend("lingam", DirectLiNGAM=LingamStandIn)
    with pytest.raises(TimeLimitError, match="after the library returned"):
        EXTERNAL["direct-lingam"](X, time_limit=1e-9)


def test_options_go_to_the_library_and_into_the_settings(pretend):
    seen = {}
    pretend(NEEDS["pc"][0], pc=lambda data, **options: seen.update(options) or SimpleNamespace(G=marks()))
    learned = EXTERNAL["pc"](X, alpha=0.2, stable=False)
    assert seen == {"alpha": 0.2, "stable": False, "show_progress": False}
    assert dict(learned.settings) == {"alpha": 0.2, "stable": False}


@pytest.mark.parametrize("name", EXTERNAL)
def test_bad_input_gets_the_house_errors(name, pretend):
    pretend(NEEDS[name][0])
    with pytest.raises(InputError, match="constant"):
        EXTERNAL[name](np.ones((10, 3)))


# --- the real packages ------------------------------------------------------------------------------------------------

SCRIPT = """
import json, sys
import numpy as np
from dagtune.baselines import EXTERNAL

e = np.random.default_rng(2).uniform(-1.0, 1.0, (600, 4))
x2 = 1.5 * e[:, 0] - 1.2 * e[:, 1] + e[:, 2]
linear = np.column_stack([1.3 * x2 + e[:, 3], e[:, 1], x2, e[:, 0]])           # 3 -> 2 <- 1 and 2 -> 0
bent = np.column_stack([3.0 * e[:, 0] ** 3 + 0.3 * e[:, 2], e[:, 0]])[:250]    # 1 -> 0
for name in sys.argv[1:]:
    once, again = (EXTERNAL[name](bent if name == "resit" else linear, rng=0) for _ in range(2))
    assert (once.graph == again.graph).all(), "the same seed gave two graphs"
    print(json.dumps({"edges": np.argwhere(once.graph).tolist(), "order": once.order.tolist()}))
"""


@pytest.fixture(scope="module")
def own_environment(tmp_path_factory):
    """A virtual environment with what dagtune needs; packages that pin old versions can't reach ours."""
    folder = tmp_path_factory.mktemp("external")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    checkout = Path(__file__).parents[1]

    def install(*what):
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            pytest.skip(f"pip can't install {' '.join(what)} here: {lines[0] if lines else done.stderr[-200:]}")

    def learn(*names):
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([python, "-c", SCRIPT, *names], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    # dagtune's own code comes from the checkout; what `import dagtune.baselines` needs comes with the packages or here
    install("numpy", "scipy<1.14", "pandas", "networkx", "scikit-learn", "numba", "threadpoolctl", "gadjid")
    return install, learn


@pytest.mark.slow
@pytest.mark.parametrize(
    ("packages", "names"),
    [
        (["lingam"], ["direct-lingam", "resit"]),
        (["causal-learn"], ["pc", "grasp", "boss"]),
        (["--no-deps", "dagma", "tqdm"], ["dagma-linear"]),  # its linear part needs no torch
    ],
    ids=["lingam", "causal-learn", "dagma"],
)
def test_the_real_package_finds_the_edges_the_right_way_round(own_environment, packages, names):
    install, learn = own_environment
    install(*packages)
    for name, found in zip(names, learn(*names), strict=True):
        assert found["edges"] == ([[1, 0]] if name == "resit" else [[1, 2], [2, 0], [3, 2]]), name
