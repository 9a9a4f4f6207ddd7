"""Threads that work as never before, by the processor time that Linux counts for each."""

from __future__ import annotations

import sys
import threading
import time
from queue import SimpleQueue

import pytest

from gradlife.hunting.process.new_work import MIN_WORK, NewWork, is_new

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux counts it")


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        (0, MIN_WORK, True),
        (0, MIN_WORK - 1, False),
        (MIN_WORK, 5 * MIN_WORK, True),  # four fifths of all its time
        (2 * MIN_WORK, 5 * MIN_WORK, False),
        (5 * MIN_WORK, 5 * MIN_WORK, False),
    ],
)
def test_new_work_is_most_of_what_a_thread_has_ever_done(before: int, now: int, new: bool) -> None:
    assert is_new(before, now) is new


@linux_only
def test_each_thread_of_a_pool_counts_when_it_first_works_and_later_threads_do_not() -> None:
    tasks: SimpleQueue[bool] = SimpleQueue()
    done: SimpleQueue[None] = SimpleQueue()

    def work() -> None:
        while tasks.get():
            spin()
            done.put(None)

    pool = [threading.Thread(target=work) for _ in range(2)]
    for one in pool:
        one.start()
    watch = NewWork()
    assert watch.look() == 0
    later = threading.Thread(target=spin)
    later.start()
    later.join()
    tasks.put(True)
    done.get()
    assert watch.look() == 1
    for _ in pool:
        tasks.put(False)
    for one in pool:
        one.join()
    assert watch.look() == 0


def spin() -> None:
    """Use some of the processor time of this thread."""
    began = time.thread_time_ns()
    while time.thread_time_ns() - began < 20 * MIN_WORK:
        pass
