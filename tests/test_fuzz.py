"""What fuzzing found stays found; and a seeded part of the fuzz, of the command and of every loader (trust/fuzz.py)."""

import json
from pathlib import Path

import pytest

from trust.fuzz import Case, made, run, warm

KEPT = sorted((Path(__file__).parent / "data" / "fuzz").glob("*.json"))


@pytest.fixture(scope="module")
def warmed():
    """Cases are forked from this process: what it has loaded and compiled they need not."""
    import dagtune.cli.learn
    import dagtune.report

    return dagtune.report


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_what_fuzzing_found_does_not_come_again(warmed, path):
    assert run(Case.of(json.loads(path.read_text()))).trouble == ""


def test_a_case_is_the_same_for_a_seed_and_others_differ():
    for kind in ("command", "load"):
        assert made(kind, 5) == made(kind, 5)
        assert len({repr(made(kind, seed)) for seed in range(20)}) > 15


def test_what_is_wrong_is_noticed(monkeypatch):
    """The judge sees a traceback, a bug of ours, a line too many and too much memory."""
    import dagtune.cli
    from trust import fuzz

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
    monkeypatch.setattr(dagtune.cli, "main", lambda argv: 0)
    monkeypatch.setattr(fuzz, "MEMORY", 2**20)
    assert "GiB" in fuzz.run(quiet).trouble


@pytest.mark.parametrize("seed", range(8))
def test_a_seeded_part_of_the_loaders(warmed, seed):
    for number in range(25):
        outcome = run(made("load", 190_000 + 25 * seed + number))
        assert outcome.trouble == "", number


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_seeded_part_of_the_commands(warmed, seed):
    if seed == 0:
        warm()
    for number in range(30):
        case = made("command", 190_000 + 30 * seed + number)
        assert run(case).trouble == "", case.argv
