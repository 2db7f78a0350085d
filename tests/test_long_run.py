"""Many fits in one process leave nothing behind; fits from many threads and processes at once agree."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from dagtune import ConditionalTuning, OptimalTuning
from trust.long_run import leak, many, table


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "count"), [("ot", 200), ("conditional", 60)])
def test_many_fits_leave_no_memory_thread_or_file_behind(learner, count):
    """A leak of 100 kB a fit would be 5 to 18 MiB; ``python -m trust.long_run`` makes a thousand fits."""
    found = many(learner, count)
    assert found["leak, MiB"] < 15, found
    early, (*_, last) = found["after every tenth"][:5], found["after every tenth"]
    for what in ("threads", "open files", "children"):
        assert last[what] <= max(each[what] for each in early), found


def test_a_leak_is_told_from_a_library_that_is_loaded_late():
    rng = np.random.default_rng(0)
    steady = 300 + rng.uniform(-0.3, 0.3, 10)
    assert abs(leak(list(steady))) < 3
    assert abs(leak(list(steady + 90 * (np.arange(10) > 6)))) < 3
    assert leak(list(steady + 2 * np.arange(10))) == pytest.approx(18, abs=3)


def fit(name):
    learner = {"ot": OptimalTuning(), "conditional": ConditionalTuning(random_state=0)}[name]
    result = learner.fit(table(5)).result_
    return result.matrix, result.strength if result.probability is None else result.probability


def assert_alike(found, alone):
    for graph, numbers in found:
        np.testing.assert_array_equal(graph, alone[0])
        np.testing.assert_array_equal(numbers, alone[1])


@pytest.mark.parametrize("name", ["ot", "conditional"])
def test_fits_from_eight_threads_at_once_agree(name):
    alone = fit(name)
    with ThreadPoolExecutor(8) as pool:
        assert_alike(list(pool.map(fit, [name] * 8)), alone)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ot", "conditional"])
def test_fits_from_four_processes_at_once_agree(name):
    alone = fit(name)
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert_alike(list(pool.map(fit, [name] * 4)), alone)
