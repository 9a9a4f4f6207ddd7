"""Memory that C code takes at each step and gives back to nobody."""

from __future__ import annotations

import ctypes
import pickle
import sys

import pytest

import gradlife
from gradlife.hunting.process.malloc_usage import Malloc
from gradlife.model.hunt import FindingKind, HuntVerdict
from gradlife.reports.hunt.sentences import problem
from leftovers import run_script

pytest.importorskip("torch")

pytestmark = [
    pytest.mark.scan,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="malloc as glibc tells of it"),
]

SIZE = 20_000


def libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    found.malloc.restype = found.realloc.restype = ctypes.c_void_p
    found.malloc.argtypes, found.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
    return found


#: A hunt in an interpreter of its own: what other tests left in this one would be judged, too.
HUNT = """
import ctypes, pickle, sys
import gradlife
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.malloc.argtypes, c.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]

rows = []

def step():
    block = c.malloc(int(sys.argv[1]))
    if sys.argv[2] == "frees":
        c.free(block)
    if sys.argv[2] == "forgets and logs":
        rows.append([str(len(rows)) * 900])

report = gradlife.hunt(step, steps=120)
print(pickle.dumps(report).hex())
"""


def hunt_of_malloc(ending: str) -> gradlife.HuntReport:
    done = run_script(HUNT, str(SIZE), ending)
    assert done.returncode == 0, done.stderr
    report: gradlife.HuntReport = pickle.loads(bytes.fromhex(done.stdout.splitlines()[-1]))
    return report


def test_memory_that_c_code_forgets_is_a_leak_without_an_object() -> None:
    report = hunt_of_malloc("forgets")
    (one,) = report.findings
    assert (report.verdict, one.kind, one.code) == (HuntVerdict.LEAK, FindingKind.NATIVE, "GL806")
    assert one.per_step.bytes == pytest.approx(SIZE, rel=0.05)
    assert problem(one, report)[1] == "No object that can be seen has it."


@pytest.mark.whole
def test_a_minor_leak_does_not_hide_the_memory_that_c_code_forgets() -> None:
    """The exit status was 0: the only finding was a list that takes 2 kB per step."""
    report = hunt_of_malloc("forgets and logs")
    assert [(one.code, one.severity.value) for one in report.findings] == [("GL806", "major"), ("GL512", "minor")]
    assert report.findings[0].per_step.bytes == pytest.approx(SIZE, rel=0.05)
    assert report.exit_status == 1


#: Each step gives work to the next two threads of a pool. A thread keeps memory when it first works, and `leaked` bytes always.
POOL = """
import ctypes, pickle, queue, sys, threading, time
import gradlife
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.malloc.argtypes = [ctypes.c_size_t]
count, steps, leaked = map(int, sys.argv[1:])
tasks, done = [queue.SimpleQueue() for _ in range(count)], queue.SimpleQueue()

def work(mine):
    c.malloc(400_000 * mine.get())
    while True:
        began = time.thread_time()
        while time.thread_time() - began < 0.001:
            pass
        c.malloc(leaked * 1)
        done.put(None)
        mine.get()

def step(number):
    for thread in (2 * number, 2 * number + 1):
        tasks[thread % count].put(1)
        done.get()

for one in tasks:
    threading.Thread(target=work, args=(one,), daemon=True).start()
print(pickle.dumps(gradlife.hunt(step, steps=steps or None)).hex())
"""


def hunt_of_pool(count: int, steps: int, leaked: int) -> gradlife.HuntReport:
    done = run_script(POOL, str(count), str(steps), str(leaked))
    assert done.returncode == 0, done.stderr
    report: gradlife.HuntReport = pickle.loads(bytes.fromhex(done.stdout.splitlines()[-1]))
    return report


@pytest.mark.whole
def test_memory_that_each_thread_of_a_pool_takes_once_is_no_leak() -> None:
    """A pool of 256 RPC threads was reported as GL806: each thread had its own buffers of torch's convolutions."""
    report = hunt_of_pool(260, 0, 0)  # the usual rounds end before all threads have worked
    assert (report.verdict, report.findings, report.trouble) == (HuntVerdict.CLEAN, (), "")
    assert report.rounds[0].malloc_per_step == pytest.approx(800_000, rel=0.1)
    assert report.rounds[-1].malloc_per_step == pytest.approx(0, abs=8_000)


@pytest.mark.whole
def test_a_run_that_ends_before_all_threads_have_worked_cannot_tell() -> None:
    report = hunt_of_pool(200, 60, 0)
    assert (report.verdict, report.findings) == (HuntVerdict.INCONCLUSIVE, ())
    workers, threads = sum(one.new_workers for one in report.rounds[-3:]), report.rounds[-1].threads
    amount = f"malloc hands out {report.new_work_rate / 1000:,.0f} kB per step while threads do their first work"
    assert report.trouble == f"{amount} ({workers} of {threads}): a longer run shows if it ends"
    assert (workers > 60, threads > 200) == (True, True)


@pytest.mark.whole
def test_memory_that_a_pool_forgets_at_each_step_is_a_leak() -> None:
    report = hunt_of_pool(20, 60, SIZE)
    assert (report.verdict, [one.code for one in report.findings]) == (HuntVerdict.LEAK, ["GL806"])
    assert report.findings[0].per_step.bytes == pytest.approx(2 * SIZE, rel=0.05)


@pytest.mark.whole
def test_memory_that_c_code_frees_is_clean() -> None:
    assert hunt_of_malloc("frees").verdict is HuntVerdict.CLEAN


def test_a_round_is_measured_from_after_its_first_step() -> None:
    malloc, c, blocks = Malloc(), libc(), []
    blocks.append(c.malloc(50 * SIZE))
    malloc.begin_round(3)
    blocks += [c.malloc(SIZE) for _ in range(10)]
    malloc.end_round(13)
    for block in blocks:
        c.free(block)
    assert malloc.per_step == pytest.approx(SIZE, rel=0.1)
