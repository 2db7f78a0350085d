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
from dagtune.files import remove_unfinished, whole_file, whole_folder, write_whole
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
    for write in (write_whole, lambda path, text: whole_folder(path).__enter__()):
        (tmp_path / ".dagtune-guessed.part").symlink_to(tmp_path / "target")
        with pytest.raises(FileExistsError):
            write(tmp_path / "new", "theirs")
        (tmp_path / ".dagtune-guessed.part").unlink(missing_ok=True)
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
