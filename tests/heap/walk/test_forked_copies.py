"""Copies of the process that read its heap: they wait for no lock of another thread, and end when the wait for them does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leftovers import run_script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the loader and its lock are Linux's")

#: Another thread holds the loader's lock nearly all the time, in C: it needs no lock of Python meanwhile.
HOLDER = """
#define _GNU_SOURCE
#include <link.h>
#include <unistd.h>
static int hold(struct dl_phdr_info *info, size_t size, void *data) {
  usleep(50000);
  return 1;
}
void visit(int times) {
  while (times-- > 0) {
    dl_iterate_phdr(hold, 0);
    usleep(500);
  }
}
"""
LOCKED = """
import ctypes, os, threading
import torch
from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process import forked
from gradlife.hunting.process.forked import in_fork

forked.PATIENCE = 10_000.0  # a copy that waits is not given up, so that the test sees it
ensure_calibrated()
holder = ctypes.CDLL(LIBRARY)
WORK
thread = threading.Thread(target=holder.visit, args=(40,))
thread.start()
for _ in range(6):
    WORK
thread.join()
print("done")
"""
RECORD = 'with open(os.devnull, "wb") as file: _heap.record(file.fileno(), False, "")'
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
def test_a_copy_does_not_wait_for_the_loader_that_another_thread_has_locked(work: str, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("this machine has no C compiler")
    (tmp_path / "holder.c").write_text(HOLDER, encoding="utf-8")
    library = str(tmp_path / "holder.so")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, str(tmp_path / "holder.c")], check=True, timeout=900)
    done = run_script(LOCKED.replace("WORK", work).replace("LIBRARY", repr(library)))
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_handler_that_raises_ends_the_wait_and_the_copy() -> None:
    done = run_script(INTERRUPTED)
    assert (done.stdout, done.stderr) == ("interrupted []\n", "")
