"""The registry of methods: one table feeds the commands, the experiments and the reports, and is open to all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

import dagtune
from dagtune import learners, methods
from dagtune import simulate as library
from dagtune.baselines import BASELINES, CHANCE, EXTERNAL, Baseline, register_baseline, run
from dagtune.cli import app, main, simulate
from dagtune.cli.methods import method_names
from dagtune.conditional.algorithm import DENSITIES, NOISES
from dagtune.engine.kernels import BANDWIDTH_RULES, KERNELS
from dagtune.estimators import ConditionalTuning
from dagtune.experiments import METHODS, Cell, latest, read_results, reproduce
from dagtune.experiments.cells import work_key
from dagtune.learners import LEARNERS, Learner, offered, options_by_name, register_learner
from dagtune.methods import Option
from dagtune.ot.algorithm import PRESETS
from dagtune.ot.cycles import SCORES
from dagtune.ot.optimal import SOLVERS
from dagtune.ot.tuning import READINGS
from dagtune.report.content import _rerun
from dagtune.validation import InputError

STORED = Path(__file__).parents[1] / "reproduction"

#: A module as somebody else would write it: a learner with an option of its own, a baseline and a kernel.
OUTSIDE = '''
import numpy as np
from sklearn.base import BaseEstimator

from dagtune import Kernel, Result, register_kernel
from dagtune.baselines import Baseline, register_baseline
from dagtune.graph import complete, to_frame
from dagtune.learners import Learner, register_learner
from dagtune.methods import Option, Reading


class Chain(BaseEstimator):
    """The columns cause one another in their order, or in the reverse."""

    def __init__(self, *, way="forwards", random_state=None):
        self.way = way
        self.random_state = random_state

    def fit(self, X, y=None):
        d = X.shape[1]
        graph = np.eye(d, k=1 if self.way == "forwards" else -1, dtype=bool)
        self.result_ = Result(
            names=tuple(X.columns), history={"only": graph}, changes=(), strength=np.where(graph, 1.0, np.nan),
            strength_words="strength: 1", opening=np.ones((d, d)), opening_words="it is",
            settings={"learner": "toy-chain", "way": self.way, "seed": self.random_state},
        )
        self.adjacency_matrix_ = self.result_.to_frame()
        return self


def backwards(X, *, rng=None):
    return complete(np.arange(np.shape(X)[1])[::-1])


register_learner(Learner(
    name="toy", estimator=Chain, result_name="toy-chain", seconds=0.0, about="a chain",
    options=(Option("way", "forwards or backwards.", choices=("forwards", "backwards")),),
    readings=(Reading("order", "complete DAG of its order", lambda result: result.complete_dag),),
))
register_baseline(Baseline(name="toy-backwards", guess=backwards, seconds=0.0, random=False))
register_kernel(Kernel("toy-kernel", lambda u: 1 / np.cosh(u), of="difference", definite=True))
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """The module above, imported; what it registers is gone afterwards."""
    (tmp_path / "outside_methods.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(0)
    a = rng.normal(size=120)
    b = np.tanh(a) + rng.normal(size=120) / 2
    pd.DataFrame({"a": a, "b": b, "c": b * b + rng.normal(size=120)}).to_csv("data.csv", index=False)
    try:
        yield __import__("outside_methods")
    finally:
        sys.modules.pop("outside_methods", None)
        for registry, names in ((methods.METHODS, ("toy", "toy-backwards")), (KERNELS, ("toy-kernel",))):
            for name in names:
                del registry[name]


def invoke(*arguments):
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output or done.exception
    return done.stdout


def test_a_learner_a_baseline_and_a_kernel_from_outside_work_in_every_command(outside):
    told = invoke("learn", "--help")
    assert "conditional or ot or toy" in " ".join(told.replace("│", " ").split())
    assert "toy is a chain" in told
    assert "Method, toy only" in told
    assert "forwards or backwards." in told
    learned = json.loads(
        invoke("learn", "data.csv", "--method", "toy", "--way", "backwards", "--bootstrap", "2", "--json")
    )
    assert [(edge["cause"], edge["effect"], edge["confidence"]) for edge in learned["edges"]] == [
        ("b", "a", 1.0),
        ("c", "b", 1.0),
    ]
    assert "outside_methods.Chain(\\n    way='backwards',\\n    random_state=0," in Path(
        learned["out"], "report.html"
    ).read_text().replace("\\u0027", "'")
    kernel = json.loads(invoke("learn", "data.csv", "--method", "ot", "--kernel", "toy-kernel", "--out", "k", "--json"))
    assert kernel["settings"]["kernel"] == "toy-kernel"
    compared = json.loads(invoke("compare", "data.csv", "--methods", "toy,toy-backwards", "--json"))
    assert [each["edges"] for each in compared["methods"]] == [
        [["a", "b"], ["b", "c"]],
        [["b", "a"], ["c", "a"], ["c", "b"]],
    ]
    assert method_names("ges,toy") == ["ges,toy", "ges,toy-backwards"]


def test_reproduce_runs_methods_from_outside_in_its_children(outside, tmp_path):
    out = tmp_path / "run"
    asked = ["--sizes", "10", "--repeats", "1", "--methods", "toy-order,toy-backwards", "--jobs", "1"]
    invoke("reproduce", "table-tanh", *asked, "--out", str(out))
    found = {record["cell"]["method"]: record for record in read_results(out)}
    assert set(found) == {"toy", "toy-backwards", *CHANCE}
    assert {record["status"] for record in found.values()} == {"ok"}
    assert found["toy"]["metrics"]["edges"] == 9
    assert found["toy"]["readings"]["order"]["edges"] == 45
    assert found["toy-backwards"]["metrics"]["edges"] == 45


def test_what_the_fixture_registered_is_gone():
    assert "toy" not in METHODS
    assert "toy-kernel" not in KERNELS


def test_a_name_is_registered_once_whoever_has_it():
    for register, entry in (
        (register_learner, Learner(name="cam", estimator=ConditionalTuning)),
        (register_baseline, Baseline(name="ot", guess=lambda X, rng=None: None)),
    ):
        with pytest.raises(InputError, match=f"a method named '{entry.name}' is already registered"):
            register(entry)
    with pytest.raises(InputError, match="'nothing' has no function: pass learn= or guess="):
        Baseline(name="nothing")


def test_an_option_that_the_command_has_itself_is_refused(monkeypatch, capsys):
    own = Learner(name="greedy", estimator=ConditionalTuning, options=(Option("seed", "mine."),))
    monkeypatch.setitem(methods.METHODS._entries, "greedy", own)
    assert main(["learn", "--help"]) == 2
    assert "greedy has an option --seed, but dagtune learn has its own: rename it" in capsys.readouterr().err


def test_a_baseline_of_a_users_own_needs_no_more_than_a_function():
    BASELINES["mine"] = lambda X, rng=None: np.eye(np.shape(X)[1], k=1, dtype=bool)
    try:
        assert run("mine", np.eye(4)).sum() == 3
        assert METHODS["mine"].run(np.eye(4), seed=0, time_limit=1.0).graph.sum() == 3
        assert list(METHODS)[-1] == "mine"
        with pytest.raises(InputError, match="already registered"):
            register_baseline(Baseline(name="mine", guess=run))
    finally:
        del BASELINES["mine"]
    assert "mine" not in METHODS


def test_replacing_a_function_keeps_what_else_is_declared(monkeypatch):
    before = METHODS["ges"]
    monkeypatch.setitem(BASELINES, "ges", lambda X, rng=None: None)
    assert METHODS["ges"].seconds == before.seconds
    monkeypatch.undo()
    assert METHODS["ges"].learn == before.learn
    assert METHODS["ges"].run(np.random.default_rng(0).normal(size=(50, 3))).cpdag is not None


class Given(BaseEstimator):
    """Learns a -> b, with the fields of the result that it is given."""

    def __init__(self, fields=None):
        self.fields = fields

    def fit(self, X, y=None):
        graph = np.array([[False, True], [False, False]])
        strength = np.where(graph, 7.0, np.nan)
        self.result_ = dagtune.Result(
            ("a", "b"), {"only": graph}, (), strength, "strength", np.zeros((2, 2)), "it is", **(self.fields or {})
        )
        return self


def test_a_fit_is_scored_by_probabilities_unless_the_learner_ranks_otherwise():
    probability, score = np.array([[0.0, 0.7], [0.2, 0.0]]), np.array([[0.0, 3.0], [1.0, 0.0]])
    given = {"plain": {}, "sure": {"probability": probability}, "own": {"probability": probability, "score": score}}
    found = {
        (name, ranked): Learner(name=name, estimator=Given, settings={"fields": fields}, ranked=ranked).run(
            np.eye(2), seed=0
        )
        for name, fields in given.items()
        for ranked in (False, True)
    }
    assert found["plain", False].scores is None
    np.testing.assert_array_equal(found["plain", True].scores, [[0, 7], [0, 0]])
    for ranked in (False, True):
        np.testing.assert_array_equal(found["sure", ranked].scores, probability)
        np.testing.assert_array_equal(found["own", ranked].scores, score)
    assert list(found["plain", True].phases) == ["only"]


def test_a_learner_without_knowledge_says_so(outside):
    with pytest.raises(InputError, match="toy takes no prior knowledge"):
        LEARNERS["toy"].make(knowledge={"required": [["a", "b"]]})


def test_the_choices_that_the_shell_completes_are_those_of_the_library():
    declared = {name: set(option.choices) for name, (option, _) in options_by_name().items() if option.choices}
    assert declared == {
        "kernel": {"auto", *KERNELS},
        "preset": set(PRESETS),
        "noise": set(NOISES),
        "density": set(DENSITIES),
        "bandwidth": set(BANDWIDTH_RULES),
        "solver": set(SOLVERS),
        "deletion": set(READINGS),
        "edge_score": set(SCORES),
        "combine": {"sum", "joint"},
        "engine": {"auto", "dense", "lowrank"},
    }
    assert set(simulate.MODELS) == set(library.MODELS)
    assert set(simulate.NOISES) == set(library.NOISES)


def test_every_option_is_a_parameter_of_its_estimator_and_is_told_in_the_docs():
    docs = (Path(__file__).parents[1] / "docs" / "cli.md").read_text(encoding="utf-8")
    for learner in offered().values():
        kind = learner.load()
        for option in learner.options:
            assert option.name in kind().get_params()
            assert f"`{option.flag}" in docs, f"docs/cli.md does not tell of {option.flag}"


def test_a_missing_package_is_named_as_the_registry_names_it(monkeypatch):
    for name in EXTERNAL:
        for module in METHODS[name].needs:
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=f"pip install {METHODS[name].install}$"):
            METHODS[name].run(np.random.default_rng(0).normal(size=(20, 3)))


def test_the_registry_loads_nothing_heavy():
    code = "import sys, dagtune.learners; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(dagtune.__file__).parents[1])}
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    heavy = {"numpy", "pandas", "scipy", "numba", "sklearn", "networkx"}
    assert not heavy & {name.split(".")[0] for name in loaded.stdout.split()}


def test_the_python_that_a_report_shows_fits_the_same_learner():
    told = _rerun({"learner": "conditional-tuning", "noise": "equal", "rows": 7, "bags": None, "seed": 3})
    assert "rows" not in told
    space = {"X": np.random.default_rng(0).normal(size=(60, 3))}
    exec(told, space)
    assert isinstance(space["learner"], ConditionalTuning)
    assert space["learner"].get_params() == ConditionalTuning(noise="equal", random_state=3).get_params()
    assert _rerun({"learner": "somebody's"}) == ""


def test_stored_cells_keep_their_keys_settings_and_work():
    """What was run before the registry is recognised as done, whichever method ran it."""
    records = list(latest(read_results(STORED)).values())
    assert len({record["cell"]["method"] for record in records}) > 10
    for record in records:
        cell = Cell(**record["cell"])
        assert cell.key == json.dumps(record["cell"], sort_keys=True)
        assert json.dumps(cell.settings) == json.dumps(record["settings"])
        assert cell.work == work_key(record["cell"], record["settings"])


def test_a_run_over_stored_results_computes_nothing(tmp_path, monkeypatch):
    from dagtune.experiments import runner

    for file in STORED.glob("results*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(runner, "_crew", lambda *_: pytest.fail("a cell was to be run"))
    summary = reproduce(["fig5", "table2"], out=tmp_path, sizes=[10], repeats=10, methods=["ot", "conditional", "cam"])
    assert summary.total == summary.before > 300


def test_methods_stand_in_the_order_of_the_tables():
    assert list(METHODS)[:6] == ["ot", "ot-released", "conditional", "empty", "random-complete", "variance-sorted"]
    assert list(offered()) == ["conditional", "ot"]
    assert set(BASELINES).isdisjoint(EXTERNAL)
    assert set(METHODS) == {*LEARNERS, *BASELINES, *EXTERNAL}
    assert list(learners.readings()) == ["conditional-order"]
