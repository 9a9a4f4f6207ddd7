"""Copies of the process that read its heap: they wait for no lock of another thread, and end when the wait for them does."""

from __future__ import annotations

import sys

import pytest

from leftovers import run_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loader and its lock are Linux's")

#: Another thread holds the loader's lock while the process forks.
LOCKED = """
import ctypes, os, threading
from gradlife import _heap
from gradlife.hunting.process import forked
from gradlife.hunting.process.forked import in_fork

forked.PATIENCE = 10_000.0  # a copy that waits is not given up, so that the test sees it
libc = ctypes.CDLL(None)
forks, inside, leave = threading.Event(), threading.Event(), threading.Event()

@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
def hold(*_):
    inside.set()
    leave.wait()
    return 1

def visit():
    forks.wait()
    libc.dl_iterate_phdr(hold, None)

@ctypes.CFUNCTYPE(None)
def lock():
    forks.set()
    inside.wait()

thread = threading.Thread(target=visit)  # begun before: where Python 3.13 forks, no thread can begin
thread.start()
libc.__register_atfork(lock, None, None, None)
WORK
leave.set()
thread.join()
print("done")
"""
RECORD = """
import torch
from gradlife.heap.torch_layout.torch import ensure_calibrated
ensure_calibrated()
with open(os.devnull, "wb") as file:
    _heap.record(file.fileno(), False, "")
"""
COUNT = "in_fork(lambda: _heap.native_counts(True)[2])"

#: The copy writes into a pipe that nobody reads; a handler raises once the copy is there.
INTERRUPTED = """
import os, signal
from pathlib import Path
from gradlife import _heap

def children():
    return Path("/proc/thread-self/children").read_text().split()

def interrupt(*_):
    if children():
        raise KeyboardInterrupt

reading, writing = os.pipe()
kept = [[number] for number in range(20_000)]  # more than the pipe holds
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
try:
    _heap.record(writing, False, "")
except KeyboardInterrupt:
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("interrupted", children())
"""


@pytest.mark.torch
@pytest.mark.parametrize("work", [RECORD, COUNT], ids=["a snapshot", "a census"])
def test_a_copy_does_not_wait_for_the_loader_that_another_thread_has_locked(work: str) -> None:
    done = run_script(LOCKED.replace("WORK", work))
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_handler_that_raises_ends_the_wait_and_the_copy() -> None:
    done = run_script(INTERRUPTED)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")
