"""What was found by trying to break dagtune from outside, each as a test; docs/promises.md lists the promises."""

import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dagtune import OptimalTuning
from dagtune.cli import main
from dagtune.knowledge import Knowledge
from dagtune.result import Result
from dagtune.validation import InputError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of a saved result."""
    folder = tmp_path_factory.mktemp("saved")
    x = np.random.default_rng(0).normal(size=(60, 2))
    OptimalTuning(threads=1).fit(np.column_stack([x, x.sum(axis=1)])).result_.save(folder)
    return (folder / "result.npz").read_bytes()


def loads_or_refuses(folder, content):
    """Load a result from these bytes; a clear refusal is as good as a result that can be used."""
    folder.mkdir(exist_ok=True)
    (folder / "result.npz").write_bytes(content)
    try:
        result = Result.load(folder)
    except InputError:
        return False
    str(result), result.edges(), result.to_json(), result.to_dot()
    return True


def damaged(content, seed):
    """A file with bytes changed, cut out, doubled or cut off."""
    rng = random.Random(seed)
    data = bytearray(content)
    kind = rng.randrange(4)
    if kind == 0:
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        start = rng.randrange(len(data))
        del data[start : start + rng.randrange(1, 200)]
    else:
        start = rng.randrange(len(data))
        data[start:start] = data[start : start + rng.randrange(1, 200)]
    return bytes(data)


def test_damaged_results_are_refused_with_one_line(saved, tmp_path):
    """Of 400, 36 let zlib.error, NotImplementedError, TokenError, RecursionError or KeyError out."""
    assert loads_or_refuses(tmp_path / "whole", saved)
    refused = sum(not loads_or_refuses(tmp_path / "result", damaged(saved, seed)) for seed in range(400))
    assert refused > 300


def repacked(content, **replaced):
    """The archive with some arrays replaced; a function changes the description."""
    import io

    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    description = json.loads(arrays["description"].tobytes())
    for name, value in replaced.items():
        if callable(value):
            description[name] = value(description[name])
        else:
            arrays[name] = value
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


@pytest.mark.parametrize(
    "replaced",
    [
        {"history": np.array([[[0, 1, 0], [1, 0, 0], [0, 0, 0]]] * 4, dtype=bool)},
        {"graphs": np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]], dtype=bool)},
        {"strength": np.array([["a"] * 3] * 3)},
        {"strength": np.zeros((3, 2))},
        {"names": lambda names: names[:2]},
        {"names": lambda names: ["x", "x", "y"]},
        {"names": lambda names: 7},
        {"settings": lambda settings: "none"},
        {"phases": lambda phases: [1, 2, 3, 4]},
        {"phases": lambda phases: []},
        {"changes": lambda changes: [{"edge": ["a"]}]},
        {"checks": lambda checks: [{"what": 1}]},
        {"format": lambda number: 99},
        {"format": lambda number: [number]},
    ],
    ids=", ".join,
)
def test_tampered_results_are_refused(saved, tmp_path, replaced):
    """A cyclic graph loaded once, and failed later."""
    assert not loads_or_refuses(tmp_path / "result", repacked(saved, **replaced))


def test_an_archive_that_unpacks_to_gigabytes_is_refused_before_it_does(saved, tmp_path):
    (tmp_path / "result.npz").write_bytes(saved)
    with (
        zipfile.ZipFile(tmp_path / "result.npz", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(1100):
            member.write(bytes(2**20))
    with pytest.raises(InputError, match=r"unpacks to 1.1 GiB, more than 1.0 GiB"):
        Result.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deep.json", "[" * 100_000),
        ("deep.json", '{"required": ' + "[" * 20_000 + "]" * 20_000 + "}"),
        ("deep.toml", "required = " + "[" * 20_000),
        ("deep.toml", "a" + ".a" * 50_000 + " = 1"),
        ("deep.toml", "[" + "a." * 50_000 + "a]"),
        ("big.json", '{"prior": [["a", "b", 1' + "0" * 5000 + "]]}"),
    ],
)
def test_deep_knowledge_is_refused_at_once(tmp_path, name, text):
    """Deep JSON was our fault, deep TOML took over 40 seconds."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError):
        Knowledge.from_file(tmp_path / name)


WHOLE = {
    "cell": {
        "experiment": "table-tanh",
        "model": "tanh",
        "nodes": 10,
        "repeat": 0,
        "method": "ot",
        "recipe": "released",
        "standardized": False,
    },
    "status": "ok",
    "finished": "2026-01-02T03:04:05+00:00",
    "metrics": {"sid": 3.0},
    "readings": {},
    "versions": {"dagtune": "9.9"},
}


def without(name):
    return {key: value for key, value in WHOLE.items() if key != name}


@pytest.mark.parametrize(
    "line",
    [
        *(without(name) for name in ("cell", "status", "finished", "metrics")),
        *({**WHOLE, "cell": {**WHOLE["cell"], name: None}} for name in WHOLE["cell"]),
        *({**WHOLE, "cell": {k: v for k, v in WHOLE["cell"].items() if k != name}} for name in WHOLE["cell"]),
        {**WHOLE, "metrics": {"sid": "three"}},
        {**WHOLE, "metrics": [3]},
        {**WHOLE, "readings": {"order": 3}},
        {**WHOLE, "versions": "9.9"},
        {**WHOLE, "versions": {"dagtune": 9}},
        {**WHOLE, "finished": 7},
        {**WHOLE, "cpu_seconds": "long"},
        {**WHOLE, "status": "failed"},
        {**WHOLE, "status": "fine"},
        {**WHOLE, "run": 5},
        {"run": 0, "shared": 3},
        3,
        None,
        [],
    ],
)
def test_a_report_of_malformed_results_says_which_line(tmp_path, capsys, line):
    """Eight of 26 ended as our fault."""
    (tmp_path / "results.jsonl").write_text(json.dumps(WHOLE) + "\n" + json.dumps(line) + "\n")
    assert main(["report", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "line 2 of" in told or "result 2 of 2" in told


def test_a_whole_result_is_reported(tmp_path):
    (tmp_path / "results.jsonl").write_text(json.dumps(WHOLE) + "\n")
    assert main(["report", str(tmp_path), "--quiet"]) == 0


def refused(capsys, *arguments):
    code = main(list(map(str, arguments)))
    told = capsys.readouterr().err
    assert code == 2, told
    assert told.startswith("dagtune: ")
    assert len(told.splitlines()) == 1
    return told


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    frame.to_csv("data.csv", index=False)
    return frame


def test_a_folder_that_is_a_link_to_itself_is_refused_before_the_fit(desk, capsys):
    Path("loop").symlink_to("loop")
    Path("nowhere").symlink_to("not-there")
    for out in ("loop", "loop/inside", "nowhere"):
        assert "--out" in refused(capsys, "learn", "data.csv", "--method", "ot", "--out", out)
    assert "too long" in refused(capsys, "learn", "data.csv", "--method", "ot", "--out", "x" * 5000)


def test_strange_tables_are_refused(desk, capsys):
    """Struct columns, numbers near the smallest, numbers beyond floats, long paths."""
    desk.assign(c=[{"x": 1}] * 60).to_parquet("struct.parquet")
    assert "'c.x' is constant" in refused(capsys, "learn", "struct.parquet", "--method", "ot")  # a column for each part
    desk.assign(c=[[1.0, 2.0]] * 60).to_parquet("lists.parquet")
    assert "'c'" in refused(capsys, "learn", "lists.parquet", "--method", "ot")
    (desk * 1e-310).to_csv("tiny.csv", index=False)
    for method in ("ot", "conditional"):
        assert "rescale" in refused(capsys, "learn", "tiny.csv", "--method", method)
    Path("huge.csv").write_text("a,b\n" + "\n".join(f"{k},1{'0' * 400}" for k in range(60)))
    refused(capsys, "learn", "huge.csv", "--method", "ot")
    refused(capsys, "learn", "x" * 5000 + ".csv")


@pytest.mark.parametrize("data", [[[1, 2], [3]], [[10**400, 1], [2, 3]], [[[1], [2]], [[3], [4, 5]]], [1, [2, 3]]])
def test_ragged_lists_and_numbers_beyond_floats_are_input_errors(data):
    with pytest.raises(InputError):
        OptimalTuning().fit(data)


def test_a_million_columns_are_refused_at_once(desk, capsys):
    Path("wide.csv").write_text(",".join(f"c{k}" for k in range(10**6)) + "\n" + ",".join(["1"] * 10**6) + "\n")
    assert "at most" in refused(capsys, "learn", "wide.csv")
    with pytest.raises(InputError, match="at most"):
        OptimalTuning().fit(np.zeros((2, 10**6)))


def test_a_second_run_into_one_folder_hears_so_before_it_works(desk, capsys):
    hold = "with held('out'): print('held', flush=True); sys.stdin.read()"
    code = f"import sys\nfrom dagtune.files import held\n{hold}"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        told = refused(capsys, "learn", "no-such-table.csv", "--method", "ot", "--out", "out")
        assert "another run is writing to 'out'" in told  # before the table is even read
        assert "another run" in refused(capsys, "compare", "data.csv", "--methods", "ot", "--out", "out")
    finally:
        other.kill()
        other.communicate()
    assert main(["learn", "data.csv", "--method", "ot", "--out", "out", "--quiet"]) == 0


def test_a_run_uses_no_socket_to_anywhere(desk):
    """With every connection forbidden, both learners, the audit and the report do their work."""
    code = """
import socket, sys
def forbidden(*args, **kwargs): raise AssertionError("a socket")
socket.socket.connect = socket.socket.connect_ex = socket.socket.bind = socket.getaddrinfo = forbidden
from dagtune.cli import main
for arguments in ("audit data.csv", "learn data.csv --method ot --quiet", "learn data.csv --out second --quiet"):
    code = main(arguments.split())
    assert code in (0, 3), code
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
