"""Rows on the workers of a Dask cluster: the same graph, whatever the workers do, and little that the client holds."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from dagtune.bootstrap import bootstrap, drop_columns
from dagtune.cli import main
from dagtune.experiments import reproduce
from dagtune.tables import map_there, read_table
from dagtune.tables.cluster import DaskRows
from dagtune.validation import InputError
from test_rows import LITTLE, NAMES, numbers


def test_partial_sums_are_combined_in_an_order_that_follows_from_the_partitions():
    X = numbers()
    rows = read_table(da.from_array(X, chunks=(211, 4)), memory=LITTLE).rows
    with dask.config.set(scheduler="threads", num_workers=4):
        some = [rows.sum(lambda chunk: [chunk @ chunk.T])[0] for _ in range(3)]
    with dask.config.set(scheduler="synchronous"):
        one = rows.sum(lambda chunk: [chunk @ chunk.T])[0]
    assert all((each == one).all() for each in some)
    np.testing.assert_allclose(one, X.T @ X, rtol=1e-12)


def unlike(partition):
    """Four partitions, of which the third is this."""
    frame = pd.DataFrame(numbers(), columns=NAMES)
    parts = [dask.delayed(each) for each in (frame[:1000], frame[1000:2000], partition, frame[2000:])]
    return dd.from_delayed(parts, meta=frame[:0], verify_meta=False)


def test_a_partition_that_does_not_fit_is_refused_by_its_name():
    frame = pd.DataFrame(numbers(), columns=NAMES)
    for said, partition in {
        "has no column 'x1'": frame.drop(columns="x1"),
        "holds text in column 'x1'": frame.assign(x1="a"),
        "has no rows": frame[:0],
    }.items():
        with pytest.raises(InputError, match=f"partition 2 {said}"):
            read_table(unlike(partition), memory=LITTLE)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process with one thread."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        Client(local),
    ):
        yield local


@pytest.mark.slow
@pytest.mark.parametrize("learner", [OptimalTuning, ConditionalTuning])
def test_a_cluster_finds_the_graph_of_memory(cluster, learner, tmp_path):
    frame = pd.DataFrame(numbers(), columns=NAMES)
    for k in range(3):
        part = pa.Table.from_pandas(frame[2000 * k : 2000 * (k + 1)])
        pq.write_table(part, tmp_path / f"part-{k}.parquet", row_group_size=700)
    here = learner(random_state=0).fit(numbers()).result_
    for data in (da.from_array(numbers(), chunks=(1300, 4)), str(tmp_path / "*.parquet")):
        table = read_table(data, memory="400KiB", infer=learner is ConditionalTuning)
        assert isinstance(table.rows, DaskRows)
        there = learner(random_state=0).fit(table).result_
        assert (there.matrix == here.matrix).all()
        np.testing.assert_allclose(there.opening, here.opening, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_a_worker_that_dies_costs_time_and_not_the_graph(cluster):
    X = numbers()
    here = OptimalTuning().fit(X).result_

    def slowly(block):
        time.sleep(0.2)
        return block

    killed = []

    def kill():
        time.sleep(2.0)
        worker = next(iter(cluster.workers.values()))
        os.kill(worker.pid, signal.SIGKILL)
        killed.append(worker.pid)

    slow = da.from_array(X, chunks=(500, 4)).map_blocks(slowly, dtype=float)
    began = time.monotonic()
    threading.Thread(target=kill).start()
    there = OptimalTuning(memory="32MiB").fit(read_table(slow, memory=LITTLE)).result_
    assert killed
    assert time.monotonic() - began > 3  # the worker died in the middle
    assert (there.matrix == here.matrix).all()
    np.testing.assert_allclose(there.opening, here.opening, rtol=1e-9)


@pytest.mark.slow
def test_learn_on_a_cluster_writes_what_it_writes_here(cluster, tmp_path, capsys):
    frame = pd.DataFrame(numbers(), columns=NAMES)
    for k in range(2):
        part = pa.Table.from_pandas(frame[3000 * k : 3000 * (k + 1)])
        pq.write_table(part, tmp_path / f"part-{k}.parquet", row_group_size=1000)
    pattern = str(tmp_path / "*.parquet")
    for out, more in {"here": [], "there": ["--scheduler", cluster.scheduler_address, "--memory", "20MiB"]}.items():
        code = main(["learn", pattern, "--out", str(tmp_path / out), "--quiet", *more])
        assert code == 0, capsys.readouterr().err
    assert (tmp_path / "here" / "graph.csv").read_text() == (tmp_path / "there" / "graph.csv").read_text()


def dying(cluster):
    """A callback that kills the first worker when it is called, once."""
    killed = []

    def kill(*_):
        if not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    return kill, killed


def which_process(_):
    return os.getpid()


@pytest.mark.slow
def test_resamples_are_fitted_on_the_workers_even_if_one_dies(cluster, monkeypatch):
    assert os.getpid() not in set(map_there(which_process, range(8)))
    X = numbers()[:400]
    kill, killed = dying(cluster)
    there = bootstrap(OptimalTuning(), X, 30, random_state=0, progress=kill)
    left_out = drop_columns(OptimalTuning(), X)
    assert killed
    monkeypatch.setattr("dagtune.bootstrap.map_there", lambda *_: None)
    assert (bootstrap(OptimalTuning(), X, 30, random_state=0).graphs == there.graphs).all()
    pd.testing.assert_frame_equal(left_out.edges, drop_columns(OptimalTuning(), X).edges)


@pytest.mark.slow
def test_cells_of_the_reproduction_survive_a_worker_that_dies(cluster, tmp_path):
    kill, killed = dying(cluster)
    small = {"sizes": [10], "repeats": 2, "methods": ["ot"]}
    there = reproduce(
        "table-tanh",
        out=tmp_path / "there",
        scheduler=cluster.scheduler_address,
        progress=lambda tick: kill() if tick.record else None,
        **small,
    )
    here = reproduce("table-tanh", out=tmp_path / "here", **small)
    assert killed
    assert there.ok == here.ok == there.total
