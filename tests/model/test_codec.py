from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gradlife.model import (
    Declared,
    DeclaredDifference,
    Event,
    ExpectationResult,
    Ownership,
    PairTotals,
    Reading,
    RunCrashed,
    RunFailed,
    RunOk,
    RunReport,
    RunTimedOut,
    RunUnavailable,
    ScenarioInfo,
    SystemInfo,
    Totals,
    codec,
)
from gradlife.model.codec import CodecError

SYSTEM = SystemInfo("torch", "torch-2.13", "torch", "2.13.0", "3.11.7", "Linux x86_64")
SCENARIO = ScenarioInfo(
    "s/a", "a", "s", "title", ("o/r#1",), "GL101", None, "fix", "story", "hooks", "fresh", "s/a.py", 3,
    (Declared("x", ["gc", 1], because="why"),), (DeclaredDifference("x", "*", "torch mini:*", "why"),),
)  # fmt: skip
READING = Reading("s/a", "end", "x", "liveness", "torch", "gc", "differs", "why")
EVENT = Event("end", 1, "created", 7, "tensor", "", 1, 0, 0.5, "Tensor", "x")
OWNERS = Ownership("end", "x", "x\n└─ y")
RESULT = ExpectationResult("s/a", "torch", "end", "x", "liveness", "del", "gc", "why", "contradicted")
REPORT = RunReport(
    (SYSTEM,),
    (SCENARIO,),
    (
        RunOk("s/a", "torch", (READING,), "printed", 0.5, (EVENT,), (OWNERS,)),
        RunFailed("s/b", "torch", (), "", "ValueError: no", 3, "Traceback"),
        RunCrashed("s/c", "torch", (), "", -11, "SIGSEGV"),
        RunTimedOut("s/d", "torch", (), "", 60.0),
        RunUnavailable("s/e", "torch", why="needs hooks"),
    ),
    "torch",
    (RESULT,),
    Totals(systems=1, contradictions=1, pairs=(PairTotals("mini", "torch", "liveness", True, 1, 2, 3, 4),)),
)


def test_a_report_comes_back_as_it_was() -> None:
    assert codec.loads(codec.dumps(REPORT)) == REPORT


def test_the_document_has_what_others_read_from_it() -> None:
    document = json.loads(codec.dumps(REPORT))
    assert document["format"] == "gradlife.run/1"
    assert document["exit_status"] == 1
    assert document["readings"] == [
        {
            "scenario": "s/a", "stage": "end", "subject": "x", "probe": "liveness",
            "system": "torch", "value": "gc", "status": "differs", "reason": "why",
        }
    ]  # fmt: skip
    assert [contradiction["got"] for contradiction in document["contradictions"]] == ["gc"]
    assert document["failures"] == [
        {"scenario": "s/b", "system": "torch", "outcome": "failed", "reason": "ValueError: no (line 3)"},
        {"scenario": "s/c", "system": "torch", "outcome": "crashed", "reason": "killed by SIGSEGV"},
        {"scenario": "s/d", "system": "torch", "outcome": "timed out", "reason": "not done after 60 s"},
    ]
    assert document["totals"]["pairs"][0]["not_available"] == 4


def test_totals_keep_the_keys_of_earlier_reports() -> None:
    document = codec.encode(dataclasses.replace(REPORT, totals=Totals(distinguishing=2, distinguishing_any=5)))
    totals = document["totals"]
    assert (
        (totals["telling"], totals["telling_any"]) == (totals["distinguishing"], totals["distinguishing_any"]) == (2, 5)
    )
    del totals["distinguishing"], totals["distinguishing_any"]
    read = codec.decode(document).totals
    assert (read.distinguishing, read.distinguishing_any) == (2, 5)


def test_each_reading_has_a_line_of_its_own() -> None:
    lines = codec.dumps(REPORT).splitlines()
    assert sum(line.startswith('{"scenario": "s/a", "stage"') for line in lines) == 1


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.text(), st.text(), values)
def test_any_reading_comes_back_as_it_was(subject: str, stage: str, value: Any) -> None:
    reading = Reading("s/a", stage, subject, "value", "torch", value)
    report = RunReport((SYSTEM,), (SCENARIO,), (RunOk("s/a", "torch", (reading,)),))
    assert codec.loads(codec.dumps(report)) == report


def test_a_field_of_a_later_version_is_passed_over() -> None:
    document = codec.encode(REPORT)
    document["systems"][0]["colour"] = "red"
    assert codec.decode(document) == REPORT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "this is not a recorded run"),
        ("{}", "this is not a recorded run"),
        ('{"format": 3}', "this is not a recorded run"),
        ('{"format": "gradlife.hunt/1"}', "this is not a recorded run"),
        ('{"format": "gradlife.run/2"}', "its format is gradlife.run/2; this gradlife reads gradlife.run/1"),
        ('{"format": "gradlife.run/1"}', "the recording is damaged: KeyError: 'readings'"),
        ('{"format": "gradlife.run/1", "readings": 3}', "the recording is damaged: TypeError: 'int' object is not iterable"),
        ('{"format": "gradlife.run/1", "readings": [3]}', "the recording is damaged: AttributeError: 'int' object has no "
         "attribute 'items'"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        codec.loads(text)
    assert caught.value.message == message
