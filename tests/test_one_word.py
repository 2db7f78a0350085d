"""One word for one thing: options of the commands and keywords of Python, and the words that messages use."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import dagtune
from dagtune import Knowledge, experiments, simulate
from dagtune.audit import audit
from dagtune.cli import app, main
from dagtune.cli.errors import as_options
from dagtune.estimators import ConditionalTuning, OptimalTuning
from dagtune.learners import options_by_name
from dagtune.result import Result
from dagtune.tables import read_table
from dagtune.validation import InputError

ESTIMATORS = {"conditional": ConditionalTuning, "ot": OptimalTuning}
#: Where people type another word than they write: seeds and processors, as scikit-learn calls them.
OTHER_WORD = {"seed": "random_state", "jobs": "threads"}
#: Options that say where things come from and go to, not what is learned.
NO_COUNTERPART = {"data", "out", "truth", "spreadsheet", "force", "keep_rows", "as_json", "quiet", "demo", "method"}
#: In Python a table of Dask knows its scheduler.
NO_COUNTERPART |= {"scheduler"}
#: Options that are a method of the estimator, or fields of its knowledge.
ELSEWHERE = {
    "bootstrap": OptimalTuning.bootstrap,
    "drop_each": OptimalTuning.drop_columns,
    **dict.fromkeys(("required", "forbidden", "tiers", "prior"), Knowledge),
}
#: Keywords that nobody can type: a function, and what is deprecated.
PYTHON_ONLY = {"progress", "bags"}


def parameters(function):
    return set(inspect.signature(function).parameters) - {"self"}


def commands():
    return typer.main.get_command(app).commands


def options(verb):
    """The options of a command by the name of their parameter, each with what is typed."""
    return {each.name: set(each.opts) | set(each.secondary_opts) for each in commands()[verb].params}


def flags(verb):
    return {flag for typed in options(verb).values() for flag in typed if flag.startswith("--")} | {"--help"}


def own_options():
    """Options that belong to single learners."""
    return {option.name: set(names) for option, names in options_by_name().values()}


@pytest.mark.parametrize("learner", ESTIMATORS)
def test_every_option_of_learn_is_a_keyword_of_the_estimator(learner):
    others = {name for name, owners in own_options().items() if learner not in owners}
    typed = {OTHER_WORD.get(name, name) for name in options("learn")} - NO_COUNTERPART - set(ELSEWHERE) - others
    assert typed <= parameters(ESTIMATORS[learner])
    for name, home in ELSEWHERE.items():
        assert name in parameters(home) or hasattr(OptimalTuning, home.__name__)


@pytest.mark.parametrize("learner", ESTIMATORS)
def test_every_keyword_of_the_estimator_is_an_option_of_learn(learner, capsys, monkeypatch):
    typed = {OTHER_WORD.get(name, name): flags for name, flags in options("learn").items()}
    keywords = parameters(ESTIMATORS[learner]) - PYTHON_ONLY
    assert keywords <= set(typed)
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["learn", "--help"]) == 0
    told = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    for name in keywords:
        assert typed[name] & told, f"the help of learn does not name {name}"
        short = {theirs: ours for ours, theirs in OTHER_WORD.items()}.get(name, name)
        assert f"--{short.replace('_', '-')}" in typed[name]


@pytest.mark.parametrize("verb", ["learn", "audit", "compare"])
def test_tables_are_read_with_the_words_of_read_table(verb):
    reading = parameters(read_table) - {"data", "names", "min_rows", "min_columns", "infer", "progress"}
    reading -= {"conditions"}  # what experiments= says of the rows
    if verb == "audit":  # nothing is refused there, so there is nothing to treat
        reading -= {"missing", "drop_constant", "kinds", "categorical", "groups", "experiments"}
    if verb != "learn":  # rivals need all rows at once, all alike, and an audit looks at some
        reading -= {"memory", "checkpoint", "merge", "groups", "sample_weight", "blocks"}
    assert reading <= set(options(verb))


def test_the_other_commands_use_the_words_of_their_functions():
    assert set(options("reproduce")) - {"scale", "quiet"} == parameters(experiments.reproduce) - {"progress"}
    sampled = {"truth": "graph", "rows": "n", "seed": "rng"}
    typed = {sampled.get(name, name) for name in options("simulate")}
    assert parameters(simulate.sample) - {"nodes", "progress"} <= typed
    asked = {"of": "cause", "on": "effect", "start": "from_", "end": "to"}
    typed = {asked.get(name, name) for name in options("effect")} - {"result", "as_json", "quiet"}
    assert typed <= parameters(Result.effect) | {"cause", "effect"}


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Files that something is wrong with, in as many ways as the readers tell apart."""
    rng = np.random.default_rng(3)
    good = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    home = tmp_path_factory.mktemp("wrong")
    text = good.astype(object)
    text.loc[4, "a"] = "oops"
    dates = pd.date_range("2020-01-01", periods=80).astype(str)
    wrong = {
        "cell": text,
        "gap": good.mask(good > 2),
        "constant": good.assign(one=1.0),
        "words": good.assign(t=[f"word {k}" for k in range(80)]),
        "dates": good.assign(t=dates),
        "levels": good.assign(t=np.tile(["low", "high", "middle", "high"], 20)),
        "narrow": good[["a"]],
        "infinite": good.assign(a=np.where(np.arange(80) == 3, np.inf, 1.0)),
        "everything": text.assign(one=1.0, t=dates, b=good["b"].mask(good["b"] > 1)),
    }
    for name, frame in wrong.items():
        frame.to_csv(home / f"{name}.csv", index=False)
    (home / "ragged.csv").write_text(good.to_csv(index=False) + "1,2,3,4\n")
    (home / "empty.csv").write_text("")
    (home / "good.csv").write_text(good.to_csv(index=False))
    good.to_json(home / "good.json", orient="records")
    return home


BAD = ["cell", "gap", "constant", "words", "dates", "levels", "narrow", "infinite", "everything", "ragged", "empty"]
#: What else can be asked wrongly, for every command that reads a table.
ASKED = ["--sep ;;", "--decimal x", "--encoding nothing", "--columns z", "--drop a,b,c", "--query x", "--sep |"]


def named_flags(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def named_keywords(text):
    return set(re.findall(r"(?<![\w.'-])([a-z_]+)=(?=['\"\[{\d]|True|None|[\s,;)]|$)", text))


@pytest.mark.parametrize("verb", ["learn", "learn --method ot", "audit", "compare --methods empty"])
def test_what_a_command_says_names_only_its_own_options(verb, tables, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    calls = [f"{tables}/{name}.csv" for name in BAD]
    calls += [f"{tables}/good.{kind} {asked}" for kind in ("csv", "json") for asked in ASKED]
    heard = 0
    for call in calls:
        code = main([*verb.split(), *call.split()])
        told = capsys.readouterr()
        said = told.err if code == 2 else told.out
        heard += code == 2
        # the audit's cures are options of the command that learns
        known = flags(verb.split()[0]) | (flags("learn") if verb == "audit" else set())
        assert named_flags(said) <= known, (call, said)
        assert not named_keywords(said), (call, said)
    assert heard >= (6 if verb == "audit" else 12)


@pytest.mark.parametrize("door", [read_table, ConditionalTuning, OptimalTuning, audit])
def test_what_python_says_names_only_its_own_keywords(door, tables):
    estimator = inspect.isclass(door)
    known = parameters(door) | (parameters(read_table) if door is audit else set())
    heard = 0
    for name in BAD:
        try:
            found = door(random_state=0).fit(tables / f"{name}.csv") if estimator else door(tables / f"{name}.csv")
            said = str(found) if door is audit else ""
        except InputError as error:
            said, heard = str(error), heard + 1
        assert not named_flags(said), (name, said)
        named = named_keywords(said)
        assert named <= known, (name, said)
    assert heard >= (2 if door is audit else 6)


def test_messages_become_options_as_they_are_typed():
    assert as_options("pass sep=';', or drop=['a', 'b c']") == "pass --sep ';', or --drop 'a,b c'"
    assert as_options("say kinds={'size': ['s', 'l']}") == "say --kinds 'size=s<l'"
    assert as_options("or drop_constant=True, or columns=") == "or --drop-constant, or --columns"


def texts():
    """Every text in the sources that is not a docstring, with the file it stands in."""
    home = Path(dagtune.__file__).parent
    for path in sorted(home.rglob("*.py")):
        if path.parent.name == "reproduction" or path.name == "worker.py":
            continue  # style sheets; options of other programs
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                yield path.relative_to(home), node.value


def test_no_text_in_the_sources_names_an_option_that_no_command_has():
    known = {flag for verb in commands() for flag in flags(verb)} | {"--version", "--install-completion"}
    # a declaration such as "--header/--no-header" is cut at its slash by the pattern
    strange = {(str(path), flag) for path, text in texts() for flag in named_flags(text) if flag not in known}
    assert not strange


def test_the_library_speaks_python():
    """Only the command line, and the learners that read what was typed, may name options."""
    rooms = ("cli", "learners.py", "experiments")
    strange = {(str(path), text) for path, text in texts() if path.parts[0] not in rooms and named_flags(text)}
    assert not strange
