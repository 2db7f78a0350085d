"""Files and folders come whole or not at all, with the rights of any new file, through nobody's links."""

import errno
import os
import stat
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest

from dagtune import files
from dagtune.files import held, remove_unfinished, whole_file, whole_folder, whole_path, write_whole
from dagtune.report import write_report
from dagtune.report.reproduction import write_reproduction
from dagtune.result import Result


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def result():
    matrix = np.array([[False, True], [False, False]])
    return Result(("a", "b"), {"all": matrix}, (), np.where(matrix, 1.0, np.nan), "", np.zeros((2, 2)), "number")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_everything_written_has_the_rights_of_a_new_file(tmp_path, result, mask):
    before = os.umask(mask)
    try:
        (tmp_path / "plain").write_text("")
        write_whole(tmp_path / "whole", "")
        result.save(tmp_path / "saved")
        write_report(tmp_path / "report.html", result)
        with whole_folder(tmp_path / "folder") as part:
            write_whole(part / "inside", "")
        (tmp_path / "made").mkdir()
    finally:
        os.umask(before)
    written = ["whole", "saved/result.npz", "saved/result.json", "report.html", "folder/inside"]
    assert {rights(tmp_path / name) for name in written} == {rights(tmp_path / "plain")} == {0o666 & ~mask}
    assert rights(tmp_path / "folder") == rights(tmp_path / "made")


def test_a_link_in_the_place_is_replaced_and_its_target_left_alone(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_text() == "new"


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path, monkeypatch):
    """Nobody can guess the name; if somebody did, the file is still not written through his link."""
    monkeypatch.setattr(files.secrets, "token_hex", lambda count: "guessed")
    (tmp_path / "target").write_text("mine")
    guessed = tmp_path / f".dagtune-{files._machine()}-{os.getpid()}-guessed.part"
    for write in (write_whole, lambda path, text: whole_folder(path).__enter__()):
        guessed.symlink_to(tmp_path / "target")
        with pytest.raises(FileExistsError):
            write(tmp_path / "new", "theirs")
        guessed.unlink(missing_ok=True)
    assert (tmp_path / "target").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_the_reproduction_pages_do_not_go_through_links_either(tmp_path, monkeypatch):
    """Its temporary name was predictable once."""
    import dagtune.report.reproduction as module

    (tmp_path / "target").write_text("mine")
    for name in ("REPRODUCTION.md", "REPRODUCTION.html"):
        (tmp_path / f".{name}.part").symlink_to("target")
    monkeypatch.setattr(module, "read_results", lambda folder: [])
    monkeypatch.setattr(module, "reproduction_pages", lambda records: module.Pages("markdown", "html", {}))
    write_reproduction(tmp_path)
    assert (tmp_path / "target").read_text() == "mine"
    assert (tmp_path / "REPRODUCTION.md").read_text() == "markdown"


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_failure_at_any_step_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch, failing):
    write_whole(tmp_path / "file", "earlier")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write":
        with pytest.raises(OSError, match="No space"), whole_file(tmp_path / "file", "w") as file:
            full(file.write("half of the new"))
    else:
        monkeypatch.setattr(os, failing, full)
        with pytest.raises(OSError, match="No space"):
            write_whole(tmp_path / "file", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "earlier"


def test_a_disk_that_is_really_full_leaves_the_earlier_file(tmp_path):
    """In a process that may write no file above 4 KiB."""
    pytest.importorskip("resource")
    code = (
        "import resource, signal, sys\n"
        "from dagtune.files import write_whole\n"
        "write_whole(sys.argv[1], 'earlier')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    write_whole(sys.argv[1], b'x' * 10**6)\n"
        "except OSError:\n    print('refused')\n"
    )
    path = tmp_path / "file"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert path.read_text() == "earlier"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_what_another_library_writes_comes_whole_or_not_at_all_and_through_no_link(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out").symlink_to("mine")
    (tmp_path / "out.part").symlink_to("mine")
    with whole_path(tmp_path / "out") as part:
        part.write_text("whole")
        assert (tmp_path / "out").read_text() == "mine"
    assert (tmp_path / "out").read_text() == "whole"
    assert (tmp_path / "mine").read_text() == "mine"

    def fail():
        with whole_path(tmp_path / "out") as half:
            half.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "out").read_text() == "whole"
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "out", "out.part"}


def test_nothing_is_seen_before_the_block_ends(tmp_path):
    with whole_file(tmp_path / "file", "w", encoding="utf-8", newline="") as file:
        file.write("line\n")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"line\n"


def test_what_is_unfinished_can_be_removed_by_a_program_that_must_end(tmp_path):
    with ExitStack() as open_blocks:
        part = open_blocks.enter_context(whole_folder(tmp_path / "out"))
        write_whole(part / "inside", "half")
        open_blocks.enter_context(whole_file(tmp_path / "file"))
        assert len(list(tmp_path.iterdir())) == 2
        remove_unfinished()
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(FileNotFoundError):
            open_blocks.close()
    assert list(tmp_path.iterdir()) == []


def test_in_a_folder_that_is_there_other_files_stay(tmp_path):
    write_whole(tmp_path / "mine", "mine")
    write_whole(tmp_path / "ours", "earlier")
    with whole_folder(tmp_path) as part:
        write_whole(part / "ours", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"mine": "mine", "ours": "new"}


def test_what_a_killed_program_left_is_swept_by_the_next_and_nothing_else(tmp_path):
    """Also in a folder that is replaced; a living program's part, another machine's, a link and a namesake stay."""
    code = (
        "import os, signal, sys\n"
        "from dagtune.files import whole_folder, write_whole\n"
        "with whole_folder(sys.argv[1]) as part:\n"
        "    write_whole(part / 'file', 'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for out in (tmp_path / "new", tmp_path):
        done = subprocess.run([sys.executable, "-c", code, str(out)], check=False)
        assert done.returncode == -9
    dead = [path for path in tmp_path.iterdir() if path.name.endswith(".part")]
    assert len(dead) == 1  # the second has swept what the first left
    gone = dead[0].name.split("-")[2]
    stay = {
        f".dagtune-{files._machine()}-{os.getpid()}-{'0' * 16}.part",
        f".dagtune-{'0' * 8}-{gone}-{'0' * 16}.part",
        f".dagtune-{files._machine()}-{gone}-mine.part",
    }
    for name in stay:
        (tmp_path / name).write_text("")
    link = tmp_path / f".dagtune-{files._machine()}-{gone}-{'1' * 16}.part"
    link.symlink_to(tmp_path)
    write_whole(tmp_path / "file", "new")
    assert {path.name for path in tmp_path.iterdir()} == {"file", link.name, *stay}


def test_a_place_is_held_by_one_program_at_a_time_and_free_when_it_dies(tmp_path):
    code = (
        "import sys\n"
        "from dagtune.files import held\n"
        "with held(sys.argv[1]):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    (tmp_path / "link").symlink_to("out")
    command, pipe = [sys.executable, "-c", code, str(tmp_path / "out")], subprocess.PIPE
    other = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert other.stdout.readline() == "held\n"
    for name in ("out", "link"):
        with pytest.raises(BlockingIOError), held(tmp_path / name):
            pass
    with held(tmp_path / "elsewhere"):
        pass
    other.kill()
    other.communicate()
    with held(tmp_path / "out"):
        pass
