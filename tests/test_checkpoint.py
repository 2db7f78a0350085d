"""A fit that is killed goes on from where it was, and ends with the same digits."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from dagtune.cli import main
from dagtune.tables import MemoryRows, read_table
from dagtune.tables.checkpoint import Store
from dagtune.validation import InputError
from test_rows import LITTLE, NAMES, numbers


class Stopped(Exception):
    """Somebody pulled the plug."""


def sums(rows, after=None):
    """Two passes; the plug is pulled after so many chunks."""
    seen = []

    def statistic(chunk):
        seen.append(1)
        if after is not None and len(seen) > after:
            raise Stopped
        return [chunk.sum(axis=1), chunk @ chunk.T]

    return [array for _ in range(2) for array in rows.sum(statistic)], len(seen)


@pytest.mark.parametrize("after", [0, 1, 7, 29, 30, 31, 45])
def test_sums_go_on_where_they_ended_with_the_same_digits(tmp_path, after):
    rows = MemoryRows(numbers()).rechunked(200)
    expected, chunks = sums(rows)
    assert chunks == 60
    begun = rows.rechunked(200)
    begun.store = Store(tmp_path, seconds=0.0)
    with pytest.raises(Stopped):
        sums(begun, after)
    again = rows.rechunked(200)
    again.store = Store(tmp_path, seconds=0.0)
    found, left = sums(again)
    assert left == chunks - after  # nothing that was done is done again
    assert all((one == other).all() for one, other in zip(found, expected))


@pytest.fixture
def folder(tmp_path):
    frame = pd.DataFrame(numbers(), columns=NAMES)
    (tmp_path / "data").mkdir()
    for k in range(3):
        part = pa.Table.from_pandas(frame[2000 * k : 2000 * (k + 1)])
        pq.write_table(part, tmp_path / "data" / f"part-{k}.parquet", row_group_size=700)
    return tmp_path


@pytest.mark.parametrize("learner", [OptimalTuning, ConditionalTuning])
def test_a_finished_fit_is_there_again_without_a_pass(folder, learner, monkeypatch):
    def fit():
        table = read_table(
            folder / "data", memory=LITTLE, checkpoint=folder / "kept", infer=learner is ConditionalTuning
        )
        return learner(memory="32MiB", random_state=0).fit(table).result_

    first = fit()
    monkeypatch.setattr("dagtune.tables.streams.PartRows.combined", None)  # any pass would end in an error
    second = fit()
    assert (first.matrix == second.matrix).all()
    assert (first.opening == second.opening).all()


def test_a_checkpoint_of_another_fit_is_refused(folder):
    OptimalTuning(memory="32MiB").fit(read_table(folder / "data", memory=LITTLE, checkpoint=folder / "kept"))
    other = read_table(folder / "data", memory=LITTLE, checkpoint=folder / "kept")
    with pytest.raises(InputError, match="belongs to another fit, with kernel='gaussian' instead of 'sigmoid'"):
        OptimalTuning(memory="32MiB", kernel="sigmoid").fit(other)
    with pytest.raises(InputError, match="belongs to another table"):
        read_table(folder / "data", memory="400KiB", checkpoint=folder / "kept", drop="x0")
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="is a file: name a folder"):
        read_table(folder / "data", memory=LITTLE, checkpoint=folder / "file")


#: A fit with as many passes as anyone's, each of some seconds; it says when it begins a pass.
_FIT = """
import sys, time
import numpy as np
from dagtune import ConditionalTuning, OptimalTuning
from dagtune.tables import checkpoint, rows
checkpoint._SELDOM = 0.0
checkpoint.Store.__init__.__defaults__ = (0.0,)
read = rows.Rows._handed_out
def slowly(self, values):
    time.sleep(0.02)
    return read(self, values)
rows.Rows._handed_out = slowly
learner = {"ot": OptimalTuning, "conditional": ConditionalTuning}[sys.argv[1]]
memory = {"ot": "40MiB", "conditional": "12MiB"}[sys.argv[1]]
found = learner(memory=memory, random_state=0, threads=1, checkpoint=sys.argv[3]).fit(sys.argv[2])
np.save(sys.argv[4], found.adjacency_matrix_.to_numpy())
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ot", "conditional"])
def test_killed_at_ten_random_moments_and_started_again_the_graph_is_the_same(tmp_path, name):
    X = numbers(400_000)
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table(dict(zip(NAMES, X.T))), tmp_path / "data" / "part.parquet", row_group_size=50_000)
    command = [sys.executable, "-c", _FIT, name, str(tmp_path / "data")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([*command, str(tmp_path / "whole"), str(tmp_path / "whole.npy")], check=True, env=env)
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(10):
        running = subprocess.Popen([*command, str(tmp_path / "kept"), str(tmp_path / "again.npy")], env=env)
        before = set(os.listdir(tmp_path / "kept")) if (tmp_path / "kept").exists() else set()
        while running.poll() is None and not (
            (tmp_path / "kept").exists() and set(os.listdir(tmp_path / "kept")) - before
        ):
            time.sleep(0.02)
        time.sleep(float(rng.uniform(0, 1.5)))
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
            kills += 1
        running.wait()
        if (tmp_path / "again.npy").exists():
            break
    assert kills >= 3
    subprocess.run([*command, str(tmp_path / "kept"), str(tmp_path / "again.npy")], check=True, env=env)
    assert (np.load(tmp_path / "whole.npy") == np.load(tmp_path / "again.npy")).all()
    assert json.loads((tmp_path / "kept" / "table.json").read_text())["rows"] == len(X)


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--standardize"], ["--method", "ot"]])
def test_learn_from_pieces_writes_the_graph_of_memory(tmp_path, more, capsys):
    half, memory = (200_000, "45MiB") if "ot" in more else (75_000, "17MiB")
    X = numbers(2 * half)
    (tmp_path / "data").mkdir()
    for k in range(2):
        part = pa.table(dict(zip(NAMES, X[half * k : half * (k + 1)].T)))
        pq.write_table(part, tmp_path / "data" / f"part-{k}.parquet", row_group_size=20_000)
    pieces = ["--memory", memory, "--checkpoint", str(tmp_path / "kept")]
    for out, how in {"whole": ["--bootstrap", "0"], "pieces": pieces, "again": pieces}.items():
        code = main(["learn", str(tmp_path / "data"), "--out", str(tmp_path / out), "--json", *how, *more])
        told = capsys.readouterr()
        assert code == 0, told.err
        assert any("seeded sample" in each for each in json.loads(told.out)["warnings"]) == (out != "whole")
    graphs = {out: (tmp_path / out / "graph.csv").read_text() for out in ("whole", "pieces", "again")}
    assert len(set(graphs.values())) == 1
    assert (tmp_path / "kept" / "pass-0002.npz").exists()
