"""Each pattern names the leak that it is about, made for real, and leaves its look-alike alone."""

from __future__ import annotations

import gc
from typing import Any

import pytest

pytest.importorskip("torch")

import gradlife.heap
from gradlife.model.hunt import Diagnosis, FindingKind
from gradlife.model.trace import Trace
from gradlife.patterns import PATTERNS, SENTENCES, diagnose, fingerprint
from patterns.conftest import Traces
from patterns.rare_cases import CASES

pytestmark = pytest.mark.torch


def diagnosis(trace: Trace, kind: FindingKind) -> Diagnosis:
    return diagnose(trace, kind, versions={"torch": "2.13.0"})


def ids() -> list[str]:
    return [f"{code}-{leak.__name__}" for code, _, leak, _ in CASES]


@pytest.mark.parametrize(("code", "kind", "leak", "alike"), CASES, ids=ids())
def test_a_leak_has_its_name(code: str, kind: FindingKind, leak: Any, alike: Any, traces: Traces) -> None:
    found = diagnosis(traces[leak], kind)
    assert (found.code, "{" in found.reason) == (code, False)
    assert found.reason
    assert found.advice.text


@pytest.mark.parametrize(("code", "kind", "leak", "alike"), CASES, ids=ids())
def test_a_look_alike_has_another(code: str, kind: FindingKind, leak: Any, alike: Any, traces: Traces) -> None:
    assert diagnosis(traces[alike], kind).code != code


def fail(batch: Any) -> None:
    raise RuntimeError("failed")


def catch(batch: Any) -> bool:
    error = None
    try:
        fail(batch)
    except RuntimeError as problem:
        error = problem
    return error is None


def test_the_frame_that_keeps_an_exception_is_the_one_that_caught_it() -> None:
    """Whichever frame of the traceback the trace begins with."""
    gc.disable()
    try:
        batch = pytest.importorskip("torch").ones(3)
        catch(batch)
        address = id(batch)
        del batch
        trace = gradlife.heap.snapshot().why(address)
    finally:
        gc.enable()
    found = diagnosis(trace, FindingKind.NEEDS_GC)
    assert (found.code, "A local variable of `catch (test_patterns.py" in found.reason) == ("GL501", True), (
        trace,
        found,
    )


def test_leaks_of_different_kinds_have_different_fingerprints(traces: Traces) -> None:
    marks = {fingerprint(traces[leak]) for _, _, leak, _ in CASES}
    assert len(marks) == len({leak for _, _, leak, _ in CASES})


def test_every_row_has_a_sentence_and_an_example() -> None:
    assert [row.code for row in PATTERNS if row.code not in SENTENCES] == []
    assert [row.code for row in PATTERNS if not row.example] == []


def test_every_family_has_patterns() -> None:
    assert {row.code[2] for row in PATTERNS} == set("123456789")
