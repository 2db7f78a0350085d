"""Declared experiments, cells, the results file, and a runner that survives everything that happens to it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from dagtune import estimators, methods
from dagtune.baselines import BASELINES
from dagtune.experiments import (
    EXPERIMENTS,
    METHODS,
    PACKED,
    RESULTS,
    Cell,
    cells,
    declared,
    from_uncommitted_code,
    published,
    read_results,
    reproduce,
    runner,
)
from dagtune.experiments import measure as measure_module
from dagtune.experiments import worker as worker_module
from dagtune.experiments.measure import _scores, measure, table_of
from dagtune.experiments.store import Store
from dagtune.experiments.worker import Workers
from dagtune.metrics import aupr, evaluate
from dagtune.simulate import MODELS, random_dag, sample
from dagtune.validation import InputError

CELL = Cell("fig5", "tanh", 10, 0, "variance-sorted", "released", False)
DAGTUNE = [sys.executable, "-c", "from dagtune.cli import main; raise SystemExit(main())"]


def keys_of(records):
    return [Cell(**record["cell"]).key for record in records]


def stripped(record):
    """What a cell found, without when, how fast and in how much memory."""
    return {name: record[name] for name in ("cell", "seeds", "settings", "status", "metrics")}


# Declarations ---------------------------------------------------------------------------------------------------------


def test_all_155_published_numbers_belong_to_a_declared_experiment():
    numbers = published()
    assert len(numbers) == 155
    assert Counter(number.experiment for number in numbers) == {
        "table-mlp2": 25,
        "table-tanh": 50,
        "fig5": 45,
        "table2": 8,
        "table-real": 27,
    }
    for number in numbers:
        experiment = EXPERIMENTS[number.experiment]
        assert number.model in experiment.models
        assert number.nodes in experiment.sizes
        assert any(method.stands_for == number.method for method in METHODS.values())
        assert number.metric in ("sid", "aupr", "edges")
        assert number.phase is None or number.phase in declared.PHASES


def test_rounding_is_half_a_unit_of_the_last_printed_digit():
    by_text = {number.text: number.rounding for number in published()}
    assert by_text["740"] == pytest.approx(0.5)
    assert by_text["0.8"] == pytest.approx(0.05)
    assert by_text["0.82"] == pytest.approx(0.005)


def test_every_baseline_is_a_method_and_every_simulated_model_exists():
    assert set(BASELINES) <= set(METHODS)
    for experiment in EXPERIMENTS.values():
        assert experiment.real or set(experiment.models) <= set(MODELS)


def test_chance_comes_along_whatever_methods_are_asked_for():
    assert declared.choose_methods(["cam"], []) == ["empty", "random-complete", "variance-sorted", "cam"]
    assert "conditional" in declared.choose_methods(["conditional-order"], [])
    with pytest.raises(InputError, match="'camm'"):
        declared.choose_methods(["camm"], [])


def test_what_is_not_installed_is_no_default_method(monkeypatch):
    everything = measure_module.available_methods()
    assert set(BASELINES) <= set(everything)
    monkeypatch.setattr(methods, "find_spec", lambda name: None)
    assert "ot-released" not in measure_module.available_methods()
    assert "ot" in measure_module.available_methods()


# Cells ----------------------------------------------------------------------------------------------------------------


def test_all_is_every_experiment_with_chosen_sizes_only_where_there_are_sizes_to_choose():
    every = cells.cells_of(declared.choose_experiments("all"), ["ot"], sizes=[10], repeats=2)
    assert {(cell.experiment, cell.nodes) for cell in every} == {
        ("table2", 5),
        ("fig5", 10),
        ("table-mlp2", 10),
        ("table-tanh", 10),
        ("table-real", 11),
    }
    assert len({cell.key for cell in every}) == len(every) == 2 * (1 + 6 + 1 + 1) + 2


def test_a_model_without_the_recipe_gives_no_cell_and_an_empty_run_is_refused():
    released = cells.cells_of([EXPERIMENTS["fig5"]], ["ot"], sizes=[10], repeats=1, recipes=["released"])
    assert {cell.model for cell in released} == {"tanh", "abs", "mlp-tanh", "abs-tanh"}
    with pytest.raises(InputError, match="nothing to run"):
        cells.cells_of([EXPERIMENTS["table-mlp2"]], ["ot"], recipes=["released"])
    with pytest.raises(InputError, match="size 11"):
        cells.cells_of([EXPERIMENTS["fig5"]], ["ot"], sizes=[11])


def test_real_data_are_repeated_only_for_methods_that_draw():
    real = cells.cells_of([EXPERIMENTS["table-real"]], ["ot", "random-complete"], repeats=5)
    assert Counter(cell.method for cell in real) == {"ot": 2, "random-complete": 10}


def test_all_methods_recipes_and_scales_of_a_repeat_share_their_seeds_and_nothing_else_does():
    assert replace(CELL, method="cam", recipe="printed", standardized=True).seeds == CELL.seeds
    others = [replace(CELL, repeat=1), replace(CELL, nodes=20), replace(CELL, model="abs")]
    drawn = [seed for cell in (CELL, *others) for seed in asdict(cell.seeds).values()]
    assert len(set(drawn)) == len(drawn) == 12


def test_a_method_that_draws_an_order_does_not_draw_the_true_one():
    """Shared streams would make a random complete DAG better than chance."""
    scores = [measure(replace(CELL, method="random-complete", repeat=r))["metrics"]["sid"] for r in range(60)]
    assert 60 < np.mean(scores) < 71  # 65.5 over 400 graphs, deviation 7.9


def test_the_table_is_that_of_its_seeds_and_standardising_only_rescales_it():
    X, truth = table_of(CELL)
    graph = random_dag(10, 40, rng=CELL.seeds.graph)
    assert (truth == graph).all()
    assert X.equals(sample(graph, "tanh", 100, "released", CELL.seeds.data))
    scaled, _ = table_of(replace(CELL, standardized=True))
    np.testing.assert_allclose(scaled, (X - X.mean()) / X.std(ddof=0))


def test_cells_of_two_experiments_share_their_work_only_where_nothing_differs():
    for method, same in (("cam", True), ("ot", False)):  # OT has another kernel in the Tanh table
        one, two = (Cell(name, "tanh", 10, 0, method, "printed", False) for name in ("fig5", "table-tanh"))
        assert (one.work == two.work) is same
    assert replace(CELL, experiment="table2", nodes=5, model="abs-tanh").work != replace(CELL, model="abs-tanh").work


# One cell -------------------------------------------------------------------------------------------------------------


def test_a_cell_stores_what_the_measures_say_of_the_methods_graph():
    found = measure(CELL)
    X, truth = table_of(CELL)
    told = evaluate(truth, BASELINES["variance-sorted"](X))
    assert found["metrics"]["sid"] == told.sid
    assert found["metrics"]["aupr"] == told.aupr
    assert found["metrics"]["edges"] == 45


def test_ranked_scores_give_the_same_curve_as_the_scores_and_may_be_negative():
    _, truth = table_of(CELL)
    scores = np.random.default_rng(0).random(truth.shape) * ~np.eye(10, dtype=bool)
    ranked = _scores(truth, truth, np.where(scores > 0.5, scores, 0.0))["aupr_ranked"]
    assert ranked == pytest.approx(aupr(truth, np.where(scores > 0.5, scores, 0.0)))
    assert ranked == pytest.approx(_scores(truth, truth, np.where(scores > 0.5, scores, 0.0) - 3.0)["aupr_ranked"])


def test_ges_stores_the_range_of_its_class_and_table_two_every_phase():
    ges = measure(replace(CELL, method="ges"))
    assert ges["readings"]["class"]["sid_lower"] <= ges["metrics"]["sid"] <= ges["readings"]["class"]["sid_upper"]
    phases = measure(Cell("table2", "abs-tanh", 5, 0, "ot", "released", False))
    assert list(phases["readings"]) == ["optimal", "deletion", "addition", "formalization"]
    assert phases["readings"]["formalization"]["sid"] == phases["metrics"]["sid"]
    assert phases["readings"]["optimal"]["edges"] == 10  # five pairs, both ways


def test_one_fit_of_the_conditional_learner_gives_its_graph_its_scores_and_its_order():
    cell = replace(CELL, method="conditional")
    found = measure(cell)
    X, truth = table_of(cell)
    result = estimators.ConditionalTuning(random_state=cell.seeds.method).fit(X).result_
    assert found["metrics"]["sid"] == evaluate(truth, result.matrix).sid
    assert found["metrics"]["aupr_ranked"] == pytest.approx(aupr(truth, result.scores.to_numpy()))
    assert found["readings"]["order"]["edges"] == 45
    assert found["readings"]["order"]["sid"] == evaluate(truth, result.complete_dag.to_numpy()).sid


def test_real_data_without_a_graph_are_scored_by_their_edges_alone():
    found = measure(Cell("table-real", "ames", 11, 0, "variance-sorted", "none", False))
    assert found["metrics"] == {"edges": 55}


# The results file -----------------------------------------------------------------------------------------------------


def line(repeat=0, status="ok"):
    cell = replace(CELL, repeat=repeat)
    return {"cell": asdict(cell), "settings": cell.settings, "status": status, "reason": "", "metrics": {"sid": repeat}}


def test_a_torn_last_line_is_set_aside_and_the_others_stay(tmp_path):
    with Store(tmp_path) as store:
        store.append([line(0), line(1)])
    whole = (tmp_path / RESULTS).read_bytes()
    (tmp_path / RESULTS).write_bytes(whole + b'{"cell": {"exper')
    assert read_results(tmp_path) == [line(0), line(1)]  # readers of a file being written leave it out
    with Store(tmp_path) as store:
        assert store.records == [line(0), line(1)]
        store.append([line(2)])
    assert read_results(tmp_path) == [line(0), line(1), line(2)]
    assert (tmp_path / "results.torn").read_bytes() == b'{"cell": {"exper\n'


def test_a_broken_line_in_the_middle_is_refused_by_its_number(tmp_path):
    (tmp_path / RESULTS).write_text(json.dumps(line()) + "\nnonsense\n" + json.dumps(line(1)) + "\n")
    for read in (read_results, lambda folder: Store(folder).__enter__()):
        with pytest.raises(InputError, match="line 2 "):
            read(tmp_path)


def test_a_second_runner_in_the_same_folder_is_refused(tmp_path):
    with Store(tmp_path), pytest.raises(InputError, match="another run"), Store(tmp_path):
        pass
    with Store(tmp_path):
        pass  # the refusal leaves no lock behind


@pytest.mark.parametrize("name", ["results.jsonl", "results.torn"])
def test_a_link_that_somebody_has_put_in_the_folder_is_not_written_through(tmp_path, name):
    target, folder = tmp_path / "mine", tmp_path / "run"
    target.write_text('{"torn')
    folder.mkdir()
    if name == "results.torn":
        (folder / "results.jsonl").write_text('{"torn')
    (folder / name).symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"), Store(folder):
        pass
    assert target.read_text() == '{"torn'


def test_a_write_that_the_disk_cuts_short_leaves_nothing(tmp_path, monkeypatch):
    real = os.write
    with Store(tmp_path) as store:
        store.append([line(0)])
        monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:20]))
        with pytest.raises(OSError, match="disk full"):
            store.append([line(1)])
        monkeypatch.undo()
        store.append([line(2)])
    assert read_results(tmp_path) == [line(0), line(2)]


def run_line(repeat, **shared):
    return line(repeat) | {"format": 1, "versions": {"dagtune": "9.9"}, "cell_timeout": 300.0} | shared


def test_what_the_cells_of_a_run_share_is_written_once_and_read_with_each(tmp_path):
    other = {"versions": {"dagtune": "9.9", "commit": "abc+changes"}}
    records = [run_line(0), run_line(1), run_line(2, **other), line(3), run_line(4)]
    for record in records:
        with Store(tmp_path) as store:
            store.append([record])
    assert read_results(tmp_path) == records
    text = (tmp_path / RESULTS).read_text()
    assert len(text.splitlines()) == len(records) + 3  # two runs, and what shares nothing
    assert text.count("9.9") == 2
    assert [from_uncommitted_code(record) for record in records] == [False, False, True, False, False]


def test_plain_lines_of_version_0_1_are_read_appended_to_and_packed(tmp_path):
    old = [run_line(0), run_line(1)]
    (tmp_path / RESULTS).write_text("".join(json.dumps(record) + "\n" for record in old))
    assert read_results(tmp_path) == read_results(tmp_path / RESULTS) == old
    with Store(tmp_path) as store:
        store.append([run_line(2)])
        store.pack()
    assert [path.name for path in tmp_path.iterdir()] == [PACKED]
    assert read_results(tmp_path) == read_results(tmp_path / PACKED) == [*old, run_line(2)]
    with Store(tmp_path) as store:
        assert store.records == [*old, run_line(2)]
        store.append([run_line(3)])
    assert read_results(tmp_path) == [*old, run_line(2), run_line(3)]


def test_floats_come_back_to_the_last_digit_however_often_they_are_packed(tmp_path):
    values = [*np.random.default_rng(0).normal(size=50), 0.1 + 0.2, 1e-308, 5e-324]
    records = [line(k) | {"metrics": {"sid": float(value)}} for k, value in enumerate(values)]
    for record in records:
        with Store(tmp_path) as store:
            store.append([record])
            store.pack()
    assert read_results(tmp_path) == records


@pytest.mark.parametrize("step", ["before the new file stands", "before the plain file goes"])
def test_a_death_while_packing_loses_nothing_and_doubles_nothing(tmp_path, monkeypatch, step):
    with Store(tmp_path) as store:
        store.append([run_line(0)])
        store.pack()

    def die(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, "replace") if "new" in step else (Path, "unlink")), die)
    with Store(tmp_path) as store:
        store.append([run_line(1), run_line(2)])
        with pytest.raises(KeyboardInterrupt):
            store.pack()
    monkeypatch.undo()
    assert read_results(tmp_path) == [run_line(r) for r in range(3)]
    with Store(tmp_path) as store:
        assert len(store.records) == 3
        store.append([run_line(3)])
        store.pack()
    assert read_results(tmp_path) == [run_line(r) for r in range(4)]
    assert not (tmp_path / RESULTS).exists()


def test_a_packed_file_cut_short_is_refused(tmp_path):
    with Store(tmp_path) as store:
        store.append([run_line(r) for r in range(5)])
        store.pack()
    whole = (tmp_path / PACKED).read_bytes()
    for content in (whole[:-20], b"", b"nonsense"):
        (tmp_path / PACKED).write_bytes(content)
        for read in (read_results, lambda folder: Store(folder).__enter__()):
            with pytest.raises(InputError, match="can't unpack"):
                read(tmp_path)


def test_a_line_that_refers_to_no_run_is_refused(tmp_path):
    (tmp_path / RESULTS).write_text(json.dumps(line() | {"run": 0}) + "\n")
    with pytest.raises(InputError, match="line 1 "):
        read_results(tmp_path)


def test_a_runner_that_waited_for_another_to_pack_writes_to_the_file_that_stands(tmp_path, monkeypatch):
    """The lock may come free with a file that has just been packed away."""
    with Store(tmp_path) as store:
        store.append([run_line(0)])
        real = os.open

        def late(path, *args):
            monkeypatch.undo()
            file = real(path, *args)
            store.pack()
            os.close(store._file)
            store._file = real(os.devnull, os.O_RDONLY)
            return file

        monkeypatch.setattr(os, "open", late)
        with Store(tmp_path) as second:
            assert second.records == [run_line(0)]
            second.append([run_line(1)])
    assert read_results(tmp_path) == [run_line(0), run_line(1)]


# The runner -----------------------------------------------------------------------------------------------------------

SMALL = {"sizes": [10], "repeats": 2, "recipe": "released", "methods": ["cam"], "jobs": 1}


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    ticks = []
    summary = reproduce("table-tanh", out=folder, progress=ticks.append, **SMALL)
    return folder, summary, ticks


def test_a_run_writes_one_whole_line_a_cell(small_run):
    folder, summary, ticks = small_run
    records = read_results(folder)
    assert len(records) == summary.total == summary.ok == 8
    assert len(set(keys_of(records))) == 8
    for record in records:
        assert record["status"] == "ok"
        assert record["seeds"] == asdict(Cell(**record["cell"]).seeds)
        assert record["settings"]["rows"] == 100
        assert record["peak_mib"] > 1
        assert record["seconds"] >= 0 <= record["cpu_seconds"]
        assert {"dagtune", "python", "numpy", "scipy", "platform"} <= set(record["versions"])
    assert [tick.done for tick in ticks] == list(range(9))
    assert ticks[0].seconds_left is None
    assert ticks[-1].share == pytest.approx(1)


def test_what_a_child_finds_is_what_this_process_finds(small_run):
    for record in read_results(small_run[0]):
        again = measure(Cell(**record["cell"]))
        assert json.loads(json.dumps(again["metrics"])) == record["metrics"]


def test_the_same_call_again_runs_nothing_and_more_repeats_run_only_the_new_ones(small_run, tmp_path):
    (tmp_path / PACKED).write_bytes((small_run[0] / PACKED).read_bytes())
    assert reproduce("table-tanh", out=tmp_path, **SMALL).before == 8
    assert (tmp_path / PACKED).read_bytes() == (small_run[0] / PACKED).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [PACKED]
    summary = reproduce("table-tanh", out=tmp_path, **(SMALL | {"repeats": 3, "methods": []}))
    assert (summary.before, summary.ok) == (6, 3)


def test_another_experiment_that_asks_for_the_same_work_gets_it_without_running(small_run, tmp_path, monkeypatch):
    (tmp_path / PACKED).write_bytes((small_run[0] / PACKED).read_bytes())
    monkeypatch.setattr(declared, "EXPERIMENTS", {"fig5": replace(EXPERIMENTS["fig5"], models=("tanh",))})
    monkeypatch.setattr(Workers, "run", lambda *_: pytest.fail("a cell was run"))
    summary = reproduce("fig5", out=tmp_path, **SMALL)
    assert summary.ok == 8
    old, new = read_results(tmp_path)[:8], read_results(tmp_path)[8:]
    assert [record["metrics"] for record in new] == [record["metrics"] for record in old]
    assert {record["computed_for"] for record in new} == {"table-tanh"}


def test_settings_that_were_declared_otherwise_are_run_again(small_run, tmp_path):
    records = [record | {"settings": {"rows": 7}} for record in read_results(small_run[0])]
    (tmp_path / RESULTS).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert reproduce("table-tanh", out=tmp_path, **(SMALL | {"methods": []})).ok == 6


def fake_child(monkeypatch, tmp_path, body):
    """Children that run ``body`` for every cell instead of measuring it."""
    script = tmp_path / "child.py"
    script.write_text(
        "import json, os, signal, sys, time\n"
        "print('ready', flush=True)\n"
        f"for line in sys.stdin:\n    cell = json.loads(line)\n{body}\n"
        "    print(json.dumps({'status': 'ok', 'metrics': {}}), flush=True)\n"
    )
    monkeypatch.setattr(worker_module, "__name__", "child")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_child_that_dies_or_hangs_is_recorded_and_the_run_goes_on(monkeypatch, tmp_path):
    fake_child(
        monkeypatch,
        tmp_path,
        "    if cell['method'] == 'empty': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    if cell['method'] == 'random-complete': time.sleep(60)\n"
        "    if cell['method'] == 'ges': sys.exit('no more')",
    )
    options = SMALL | {"methods": ["ges"], "repeats": 1}
    summary = reproduce("table-tanh", out=tmp_path / "out", cell_timeout=2, **options)
    assert (summary.ok, summary.failed, summary.timeout) == (1, 2, 1)
    by_method = {record["cell"]["method"]: record for record in read_results(tmp_path / "out")}
    assert "signal 9" in by_method["empty"]["reason"]
    assert "no more" in by_method["ges"]["reason"]
    assert by_method["random-complete"]["reason"] == "stopped after 2 seconds"
    assert reproduce("table-tanh", out=tmp_path / "out", **options).before == 4
    monkeypatch.undo()
    assert reproduce("table-tanh", out=tmp_path / "out", retry=True, **options).ok == 3
    assert reproduce("table-tanh", out=tmp_path / "out", retry=True, **options).before == 4


def test_two_timeouts_end_a_row_and_the_record_says_so(monkeypatch, tmp_path):
    fake_child(monkeypatch, tmp_path, "    if cell['method'] == 'empty' and cell['nodes'] >= 20: time.sleep(60)")
    options = {"sizes": [10, 20, 25], "repeats": 3, "recipe": "released", "methods": [], "jobs": 1}
    summary = reproduce("table-tanh", out=tmp_path / "out", cell_timeout=1, **options)
    assert (summary.ok, summary.timeout) == (21, 6)
    gone = [record for record in read_results(tmp_path / "out") if record["status"] == "timeout"]
    assert Counter("not started" in record["reason"] for record in gone) == {False: 2, True: 4}


def test_the_time_left_learns_how_long_each_method_really_takes(monkeypatch):
    """CAM is declared at about 0.05 s here; one that took 10 s says that the next three take 30."""
    clock = iter([0.0, 0.0, 10.03])
    monkeypatch.setattr(runner.time, "perf_counter", lambda: next(clock))
    forecast = runner._Forecast([replace(CELL, method="cam", repeat=r) for r in range(4)], 300.0)
    assert forecast.outlook() == (0.0, None)
    forecast.count(replace(CELL, method="cam"), 10.0)
    share, left = forecast.outlook()
    assert left == pytest.approx(3 * 10.03)  # at one place, and the pace of one
    assert share == pytest.approx(0.25)


def test_a_failing_method_gives_one_line_of_reason():
    crew = Workers()
    try:
        record = crew.run(replace(CELL, method="nobody"), None)
    finally:
        crew.close()
    assert record["status"] == "failed"
    assert "\n" not in record["reason"]
    assert record["reason"].startswith("InputError: unknown method 'nobody': choose one of 'ot', ")


def test_children_end_with_their_parent_however_it_ends():
    code = (
        "import os, signal, threading, time\n"
        "from dagtune.experiments.worker import _Child\n"
        "child = _Child(); child._process.stdout.readline()\n"
        "print(child._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    wait_until(lambda: not psutil.pid_exists(int(told)))


def wait_until(true, seconds=600):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


RUN = ["reproduce", "table-tanh", "--sizes", "10", "--repeats", "6", "--recipe", "released", "--methods", "ot,cam"]
CELLS = 6 * 5


def start(folder):
    return subprocess.Popen(
        [*DAGTUNE, *RUN, "--jobs", "2", "--out", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(folder):
    return (folder / RESULTS).read_bytes().count(b'{"cell"') if (folder / RESULTS).exists() else 0


def test_kill_nine_in_mid_run_loses_no_finished_cell_and_repeats_none(tmp_path):
    run = start(tmp_path)
    wait_until(lambda: finished(tmp_path) >= 8 or run.poll() is not None)
    assert run.poll() is None, run.stderr.read()
    children = psutil.Process(run.pid).children(recursive=True)
    for process in (psutil.Process(run.pid), *children):
        process.kill()
    run.communicate()
    before = read_results(tmp_path)
    assert 8 <= len(before) < CELLS
    again = start(tmp_path)
    told, _ = again.communicate(timeout=600)
    assert again.returncode == 0
    after = read_results(tmp_path)
    assert after[: len(before)] == before
    assert sorted(keys_of(after)) == sorted(set(keys_of(after)))
    assert len(after) == CELLS
    assert f"{len(before)} from before, {CELLS - len(before)} finished now" in told


def test_control_c_exits_130_at_once_with_a_whole_file_and_no_child_left(tmp_path):
    run = start(tmp_path)
    wait_until(lambda: finished(tmp_path) >= 3 or run.poll() is not None)
    children = psutil.Process(run.pid).children(recursive=True)
    assert children
    run.send_signal(signal.SIGINT)
    _, told = run.communicate(timeout=200)
    assert run.returncode == 130
    assert "the same command resumes the run" in told
    assert "Traceback" not in told
    psutil.wait_procs(children, timeout=100)
    assert not any(child.is_running() for child in children)
    assert (tmp_path / RESULTS).read_bytes().endswith(b"\n")
    assert len(read_results(tmp_path)) == finished(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["reproduce", "table9", "--out", "DIR"], "table9"),
        (["reproduce", "fig5", "--sizes", "ten", "--out", "DIR"], "whole numbers"),
        (["reproduce", "fig5", "--sizes", "11", "--out", "DIR"], "size 11"),
        (["reproduce", "fig5", "--methods", "magic", "--out", "DIR"], "magic"),
        (["reproduce", "fig5", "--recipe", "cake", "--out", "DIR"], "cake"),
        (["reproduce", "fig5", "--cell-timeout", "0", "--out", "DIR"], "positive"),
        (["report", "DIR"], "no results"),
    ],
)
def test_what_is_asked_wrongly_exits_two_with_one_line(arguments, told, tmp_path, capsys):
    from dagtune.cli import main

    assert main([str(tmp_path / "none") if word == "DIR" else word for word in arguments]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert told in said[0]


def test_a_missing_dask_names_the_line_that_mends_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'dagtune\[dask\]'"):
        reproduce("table2", out=tmp_path, methods=[], scheduler="tcp://127.0.0.1:1")


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_results_as_this_machine(small_run, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        summary = reproduce("table-tanh", out=tmp_path, scheduler=cluster.scheduler_address, **SMALL)
    assert summary.ok == 8
    there = {Cell(**record["cell"]).key: stripped(record) for record in read_results(tmp_path)}
    here = {Cell(**record["cell"]).key: stripped(record) for record in read_results(small_run[0])}
    assert there == here


def test_two_threads_never_share_a_child():
    """Each thread of the runner has a child to itself while its cell runs."""
    crew, found = Workers(), []
    try:
        asked = [replace(CELL, repeat=r) for r in range(2)]
        threads = [threading.Thread(target=lambda c=c: found.append(crew.run(c, 60))) for c in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        crew.close()
    assert {record["cell"]["repeat"] for record in found} == {0, 1}
    for record in found:
        assert record["metrics"]["sid"] == measure(Cell(**record["cell"]))["metrics"]["sid"]
