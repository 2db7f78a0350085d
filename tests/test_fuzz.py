"""What fuzzing found stays found; and a seeded part of the fuzz, of the command and of every loader (trust/fuzz.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

from trust import fuzz
from trust.fuzz import Case, Outcome, made, run, warm

KEPT = sorted((Path(__file__).parent / "data" / "fuzz").glob("*.json"))


@pytest.fixture(scope="module")
def loaded():
    """Cases are forked from this process: what it has loaded they need not."""
    import dagtune.cli.learn
    import dagtune.report

    return dagtune.report


@pytest.fixture(scope="module")
def warmed():
    """The same of what it has compiled."""
    warm()


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_what_fuzzing_found_does_not_come_again(loaded, path):
    assert run(Case.of(json.loads(path.read_text()))).trouble == ""


def test_a_case_is_the_same_for_a_seed_and_others_differ():
    for kind in ("command", "load"):
        assert made(kind, 5) == made(kind, 5)
        assert len({repr(made(kind, seed)) for seed in range(20)}) > 15


def test_what_is_wrong_is_noticed(monkeypatch):
    """The judge sees a traceback, a bug of ours, a line too many and too much memory."""
    import dagtune.cli

    quiet = Case("command", ["audit", "t.csv"], {"t.csv": b"a,b\n1,2\n2,1\n3,5\n"})
    assert fuzz.run(quiet).trouble == ""
    for fault, words in (
        (lambda argv: 1 / 0, "traceback: ZeroDivisionError"),
        (lambda argv: 1, "exit 1"),
        (lambda argv: print("one\ntwo", file=fuzz.sys.stderr) or 2, "2 lines"),
        (lambda argv: print("\x1b[31m", file=fuzz.sys.stderr) or 0, "escape"),
    ):
        monkeypatch.setattr(dagtune.cli, "main", fault)
        assert words in fuzz.run(quiet).trouble
    monkeypatch.setattr(fuzz, "MEMORY", 2**25)
    for size, words in ((2**20, ""), (2**26, "GiB")):
        monkeypatch.setattr(dagtune.cli, "main", lambda argv, size=size: len(np.ones(size // 8)) * 0)
        assert words in fuzz.run(quiet).trouble


def test_what_this_process_holds_already_is_not_counted(monkeypatch):
    """A forked process starts with all of it: after some thousand tests that alone may be gigabytes."""
    import dagtune.cli

    held = np.ones(2**24)  # 128 MiB
    monkeypatch.setattr(dagtune.cli, "main", lambda argv: int(held[0]) - 1)
    monkeypatch.setattr(fuzz, "MEMORY", 2**25)
    outcome = fuzz.run(Case("command", [], {}))
    assert outcome.trouble == ""
    assert outcome.memory < 2**25


@pytest.mark.parametrize(
    ("seconds", "found"), [([1], ""), ([40, 40, 2], ""), ([40, 40, 40], fuzz.TOO_LONG), ([40, 700], fuzz.TOO_LONG)]
)
def test_a_case_that_compiles_is_judged_when_all_is_compiled(monkeypatch, seconds, found):
    left = iter(seconds)

    def once(case, limit):
        took = next(left)
        return Outcome(0, fuzz.TOO_LONG if took > limit else "", took, 0)

    monkeypatch.setattr(fuzz, "_once", once)
    assert run(Case("command", [], {})).trouble == found
    assert list(left) == []


@pytest.mark.parametrize("seed", range(8))
def test_a_seeded_part_of_the_loaders(loaded, seed):
    for number in range(25):
        outcome = run(made("load", 190_000 + 25 * seed + number))
        assert outcome.trouble == "", number


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_seeded_part_of_the_commands(warmed, seed):
    for number in range(30):
        case = made("command", 190_000 + 30 * seed + number)
        assert run(case).trouble == "", case.argv
