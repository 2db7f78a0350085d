import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dagtune.parallel import count_threads, one_blas_thread, parallel_map
from dagtune.validation import InputError


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_results_come_in_order(threads, count):
    assert parallel_map(lambda i: i * i, range(count), threads) == [i * i for i in range(count)]


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda i: 1 // i, [1, 0, 2], 2)


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
        with one_blas_thread():
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_two_users_at_once_leave_blas_as_it_was():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert inside.wait(10)
    leave.set()
    thread.join()
    assert blas_threads() == before


def test_threads_are_counted_or_refused():
    assert count_threads(3) == 3
    assert count_threads() >= 1
    with pytest.raises(InputError, match="threads"):
        count_threads(0)
