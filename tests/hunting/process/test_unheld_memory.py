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

def step():
    block = c.malloc(int(sys.argv[1]))
    if sys.argv[2] == "frees":
        c.free(block)

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
