"""Kills at the moments that matter, a seeded part of ``make kills`` (trust/kills.py); and that its judge can see."""

import signal

import pytest

from trust import kills


@pytest.mark.slow
def test_a_seeded_part_of_the_kills_leaves_whole_files_and_nothing_else():
    kills.warm()
    found = kills.struck(20, 7, lambda each: None)
    assert [each for each in found if each.trouble] == []
    assert {each.signal for each in found} == {"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"}
    assert {each.verb for each in found} == {verb.name for verb in kills.VERBS}


def test_half_a_file_and_what_is_left_behind_are_noticed(tmp_path):
    (verb,) = [verb for verb in kills.VERBS if verb.name == "report"]
    desk = tmp_path / "desk"
    (desk / "out").mkdir(parents=True)
    for name, content in (("REPRODUCTION.md", b"x"), ("REPRODUCTION.html", b"<p></html>\n")):
        (desk / "out" / name).write_bytes(content)
    assert "results.jsonl.xz" in kills._broken(desk / "out", verb, complete=True)
    (desk / "out" / "results.jsonl.xz").write_bytes(kills.lzma.compress(b"{}\n"))
    assert kills._broken(desk / "out", verb, complete=True) == ""
    assert kills._others(desk, verb) == ""
    (desk / "out" / "REPRODUCTION.html").write_bytes(b"<p>")
    assert "REPRODUCTION.html" in kills._broken(desk / "out", verb, complete=True)
    (desk / "out" / ".dagtune-1-1-1.part").mkdir()
    assert "part" in kills._others(desk, verb)


def test_a_command_is_killed_at_the_call_that_was_drawn(tmp_path):
    """A stand-in for the command that writes two files: it dies between them."""
    import dagtune.cli
    from dagtune.files import write_whole

    def write():
        write_whole("one", "1")
        write_whole("two", "2")
        return 0

    before, dagtune.cli.main = dagtune.cli.main, write
    try:
        desk = tmp_path / "desk"
        desk.mkdir()

        def at(number, call, first):
            if number == 4 and first:  # open, fsync, replace; open
                kills.os.kill(kills.os.getpid(), signal.SIGKILL)

        assert kills.run([], desk, at)[0] == -signal.SIGKILL
    finally:
        dagtune.cli.main = before
    assert [path.name for path in desk.iterdir()] == ["one"]
