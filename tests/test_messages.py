"""Every refusal names what helps, and what it names exists, in Python and on the command line under one name."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import typer

import dagtune
from dagtune import ConditionalTuning, OptimalTuning
from dagtune.cli import app
from dagtune.tables import read_table

HOME = Path(dagtune.__file__).parent
#: Where data, and what is said about them, are refused; and the calls whose text reaches a user.
ROOMS = ("tables", "audit", "conditional", "interventions.py", "knowledge.py", "knowledge", "estimators.py")
CALLS = {"InputError", "Finding", "_add", "_about"}
#: Not options: names of other things that are written with an equals sign.
OTHERS = {"read", "separator"}  # of register_format


def texts():
    """(file, text) of everything that is said when data are refused, f-strings with holes."""
    for room in ROOMS:
        for path in [HOME / room] if room.endswith(".py") else sorted((HOME / room).glob("*.py")):
            if not path.exists():
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                named = isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", ""))
                if named in CALLS:
                    for part in node.args:
                        yield path.relative_to(HOME), _words(part)
                elif isinstance(node, (ast.Return, ast.Assign)) and path.name in ("kinds.py", "checks.py"):
                    yield path.relative_to(HOME), _words(node)


def _words(node):
    return "".join(
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def flags():
    """Every option of every verb."""
    commands = typer.main.get_command(app).commands.values()
    return {
        flag for command in commands for option in command.params for flag in (*option.opts, *option.secondary_opts)
    }


def keywords():
    """What data are read and learned with, in Python."""
    doors = (read_table, ConditionalTuning.__init__, OptimalTuning.__init__)
    return {name for door in doors for name in inspect.signature(door).parameters}


MESSAGES = sorted({(str(path), text) for path, text in texts() if text})


def test_there_are_messages():
    assert len(MESSAGES) > 100


def test_every_option_that_a_message_types_exists():
    known = flags()
    typed = {(path, flag) for path, text in MESSAGES for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)}
    assert [each for each in sorted(typed) if each[1] not in known] == []


def test_every_keyword_that_a_message_names_exists_in_python_and_is_an_option_of_the_same_name():
    known, typed = keywords(), flags()
    named = {
        (path, word) for path, text in MESSAGES for word in re.findall(r"\b([a-z][a-z_]+)=(?=['\[{ ,;)]|$|True)", text)
    }
    assert {word for _, word in named} >= {"missing", "kinds", "drop", "experiments", "merge"}
    for path, word in sorted(named):
        if word in OTHERS:
            continue
        assert word in known, f"{path} names {word}=, which nothing takes"
        assert f"--{word.replace('_', '-')}" in typed, f"{path} names {word}=, which can't be typed"


#: Where everything that may be refused about data, options and knowledge is refused.
REFUSING = (*ROOMS, "bootstrap.py", "learners.py", "validation.py", "cli", "ot", "baselines")
#: What helps: a verb in the imperative, what is allowed, or the names to choose from.
HELPS = re.compile(
    r"\b(add|ask|call|check|choose|clip|convert|correct|draw|drop|find|fix|forbid|give|keep|leave|learn|make|merge|must|"
    r"name|needs|pass|positive|put|raise|read|remove|rename|rescale|reshape|save|select|set|start|store|take|takes|try|turn|"
    r"update|use|write|did you mean|such as|one of|has names|columns are|they are|pip install)\b|\{\w*\.?(cure|form)\}"
)
#: Put together of sentences that are walked by themselves.
TOGETHER = {"{'; '.join(lines)}{rest}"}


def refusals():
    """(place, text with {names} for holes) of every InputError there."""

    def text(node):
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(map(text, node.values))
        if isinstance(node, ast.BinOp):
            return text(node.left) + text(node.right)
        if isinstance(node, ast.IfExp):
            return f"{text(node.body)}|{text(node.orelse)}"
        return "{" + ast.unparse(getattr(node, "value", node)) + "}"

    for path in (path for room in REFUSING for path in sorted(HOME.glob(f"{room}/*.py" if "." not in room else room))):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InputError" and node.args:
                yield f"{path.relative_to(HOME)}:{node.lineno}", text(node.args[0])


def test_every_refusal_says_what_helps():
    found = dict(refusals())
    assert len(found) > 120
    silent = {place: said for place, said in found.items() if not HELPS.search(said) and said not in TOGETHER}
    assert silent == {}


@pytest.mark.parametrize(
    "option", ["missing", "kinds", "categorical", "merge", "groups", "experiments", "blocks", "drop_constant"]
)
def test_options_for_data_have_one_name_everywhere(option):
    assert option in inspect.signature(ConditionalTuning.__init__).parameters
    assert f"--{option.replace('_', '-')}" in flags()
