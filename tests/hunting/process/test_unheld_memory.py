"""Memory that C code takes at each step and gives back to nobody."""

from __future__ import annotations

import ctypes
import sys

import pytest

import gradlife
from gradlife.hunting.process.malloc_usage import Malloc
from gradlife.model.hunt import FindingKind, HuntVerdict
from gradlife.reports.hunt.sentences import problem
from leftovers import run_in_child

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


def hunt_of_malloc(frees: bool) -> gradlife.HuntReport:
    c = libc()

    def step() -> None:
        block = c.malloc(SIZE)
        if frees:
            c.free(block)

    return gradlife.hunt(step, steps=120)


def test_memory_that_c_code_forgets_is_a_leak_without_an_object() -> None:
    report = run_in_child(hunt_of_malloc, False)
    (one,) = report.findings
    assert (report.verdict, one.kind, one.code) == (HuntVerdict.LEAK, FindingKind.NATIVE, "GL806")
    assert one.per_step.bytes == pytest.approx(SIZE, rel=0.05)
    assert problem(one, report)[1] == "No object that can be seen has it."


@pytest.mark.whole
def test_memory_that_c_code_frees_is_clean() -> None:
    assert run_in_child(hunt_of_malloc, True).verdict is HuntVerdict.CLEAN


def test_a_round_is_measured_from_after_its_first_step() -> None:
    malloc, c, blocks = Malloc(), libc(), []
    blocks.append(c.malloc(50 * SIZE))
    malloc.begin_round(3)
    blocks += [c.malloc(SIZE) for _ in range(10)]
    malloc.end_round(13)
    for block in blocks:
        c.free(block)
    assert malloc.per_step == pytest.approx(SIZE, rel=0.1)
