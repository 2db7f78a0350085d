"""The program as a whole: quick help that fits a screen, completion, progress, and stopping when told to."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dagtune
from dagtune.cli import app, main

VERBS = ["learn", "effect", "audit", "compare", "simulate", "evaluate", "reproduce", "report", "doctor"]
PROGRAM = "import sys; from dagtune.cli import main; sys.exit(main())"


def command(*arguments, before=""):
    return [sys.executable, "-c", f"{textwrap.dedent(before)}\n{PROGRAM}", *arguments]


def test_every_verb_is_there():
    assert {registered.name for registered in app.registered_commands} == set(VERBS)


def test_without_arguments_the_program_shows_its_help(capsys):
    assert main([]) == 0
    told = capsys.readouterr().out
    assert all(verb in told for verb in VERBS)
    assert main(["--version"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"dagtune {dagtune.__version__}"
    assert f"numpy {np.__version__}" in told[2]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_fits_a_screen_and_shows_an_example(verb, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main([verb, "--help"]) == 0
    told = capsys.readouterr().out
    assert len(told.strip().splitlines()) <= 76
    assert f"dagtune {verb}" in told.split("Example", 1)[1]


def test_help_loads_nothing_heavy():
    code = "import sys; from dagtune.cli import main; main(['learn', '--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stderr.split()}
    assert not loaded & {"numpy", "pandas", "scipy", "numba", "sklearn", "networkx", "matplotlib"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="this system has no bash")
def test_completion_installs_with_one_command(tmp_path):
    program = tmp_path / "bin" / "dagtune"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
    program.chmod(0o755)
    home = {**os.environ, "HOME": str(tmp_path), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    script = "dagtune --install-completion; source ~/.bashrc; complete -p dagtune"
    done = subprocess.run(["bash", "-c", script], env=home, capture_output=True, text=True, timeout=300, check=True)
    assert "dagtune" in done.stdout.splitlines()[-1]
    for words, position, expected in (("dagtune le", "1", "learn"), ("dagtune learn --missing im", "3", "impute")):
        asked = {**home, "_DAGTUNE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": position}
        done = subprocess.run(["dagtune"], env=asked, capture_output=True, text=True, timeout=300, check=True)
        assert done.stdout.split() == [expected]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = np.random.default_rng(0).normal(size=(100, 4))
    pd.DataFrame(data, columns=list("abcd")).to_csv("[red]data.csv", index=False)
    return tmp_path


def test_on_a_terminal_progress_is_a_bar_on_stderr(desk):
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        command("learn", "[red]data.csv", "--method", "ot", "--json"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    told = b""
    try:
        while piece := os.read(ours, 2**16):
            told += piece
    except OSError:  # how a pseudo-terminal says that it has ended
        pass
    os.close(ours)
    assert program.communicate(timeout=600)[0].startswith(b"{")
    assert program.returncode == 0
    assert b"reading [red]data.csv" in told
    assert b"%" in told
    assert b"\x1b[?25h" in told  # the cursor is back


def test_into_a_pipe_progress_is_plain_lines(desk):
    done = subprocess.run(
        command("learn", "[red]data.csv", "--method", "ot"), capture_output=True, text=True, timeout=600, check=True
    )
    assert "s] reading [red]data.csv\n" in done.stdout
    assert "s] formalization\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert [line for line in done.stderr.splitlines() if not line.startswith("compiling")] == []


def test_plain_lines_tell_the_time_left(capsys, monkeypatch):
    from dagtune.cli import terminal

    clock = iter([0.0, 0.0, 2.0, 6.0, 7.0, 20.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    with terminal.Talk().progress() as tell:
        for phase, share in (("order 2", 0.0), ("order 2", 0.1), ("order 2", 0.25), ("order 2", 0.3), ("optimal", 1.0)):
            tell(phase, share)
    assert capsys.readouterr().out.splitlines() == [
        "[   0.0 s] order 2",
        "[   6.0 s] order 2: 25%, about 18 s left",
        "[  20.0 s] optimal",
    ]


#: Learning that native code, or threads that are waited for, keep from hearing a signal.
STUBBORN = """
    import time
    from concurrent.futures import ThreadPoolExecutor
    from dagtune.estimators import OptimalTuning

    def fit(self, X):
        print("learning", flush=True)
        with ThreadPoolExecutor() as pool:
            list(pool.map(time.sleep, [300]))

    OptimalTuning.fit = fit
"""
#: Writing that is stopped when half is done.
SLOW_REPORT = """
    import time
    import dagtune.report

    def write_report(*args, **kwargs):
        print("learning", flush=True)
        time.sleep(300)

    dagtune.report.write_report = write_report
"""


@pytest.mark.parametrize(
    ("before", "number"),
    [
        (STUBBORN, signal.SIGINT),
        (SLOW_REPORT, signal.SIGINT),
        (STUBBORN, signal.SIGTERM),
        (STUBBORN, signal.SIGHUP),
        (SLOW_REPORT, signal.SIGHUP),
    ],
    ids=["learning", "writing", "terminated", "terminal-closed", "terminal-closed-while-writing"],
)
def test_a_signal_stops_the_program_and_leaves_nothing(desk, before, number):
    heard = f"import signal; signal.signal({int(number)}, signal.SIG_DFL)"  # whoever runs the tests may ignore it
    program = subprocess.Popen(
        command(
            "learn", "[red]data.csv", "--method", "ot", "--out", "out", before=f"{heard}\n{textwrap.dedent(before)}"
        ),
        stdout=-1,
        stderr=-1,
        text=True,
    )
    for line in program.stdout:
        if line == "learning\n":
            break
    time.sleep(0.1)
    program.send_signal(number)
    assert program.wait(timeout=200) == 130
    assert program.stderr.read().splitlines()[-1] == "dagtune: stopped, and nothing half-written is left"
    assert [path.name for path in desk.iterdir()] == ["[red]data.csv"]
    program.stdout.close()
    program.stderr.close()


def test_compiling_is_shown_and_what_is_in_the_cache_is_not(desk):
    """The same small function, compiled in one program and loaded from disk by the next."""
    Path("room.py").write_text("from dagtune.compiled import compiled\n\n@compiled\ndef twice(x):\n    return 2 * x\n")
    code = """
from dagtune.cli.compiling import compiling_shown
from room import twice
with compiling_shown(lambda phase, share: print(phase)):
    twice(3)
"""
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert told == ["compiling (once after an installation, up to a minute)\n", ""]


@pytest.mark.slow
def test_a_file_of_100_mb_shows_progress_while_it_is_read(tmp_path):
    path = tmp_path / "big.csv"
    block = pd.DataFrame(np.random.default_rng(0).normal(size=(10_000, 20))).to_csv(index=False, header=False)
    with path.open("w") as file:
        file.write(",".join(f"v{j}" for j in range(20)) + "\n")
        while file.tell() < 100e6:
            file.write(block)
    # Every report, so that a fast disk can not hide them.
    before = "from dagtune.cli import terminal; terminal._BETWEEN = 0.0"
    done = subprocess.run(
        command("audit", str(path), "--json", before=before), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 3  # the same block over and over
    program = subprocess.Popen(
        command(
            "learn", str(path), "--method", "ot", "--columns", "v0,v1,v2", "--out", str(tmp_path / "out"), before=before
        ),
        stdout=-1,
        text=True,
    )
    assert "starting" in next(program.stdout)
    lines = [next(program.stdout)]
    while "reading big.csv" in lines[-1] and not ("%" in lines[-1] and "left" in lines[-1]):
        lines.append(next(program.stdout))  # the first ones may come before the time left can be told
    program.terminate()
    program.wait(timeout=300)
    program.stdout.close()
    assert all("reading big.csv" in line for line in lines)
    assert not Path(tmp_path / "out").exists()


def test_the_command_is_a_module_too():
    done = subprocess.run([sys.executable, "-m", "dagtune", "--version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("dagtune ")
