from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import junitparser
import pytest

from fabricated import seven_systems, troubled
from fabricated_hunts import CLEAN, CONTROLS, EVERYTHING, LEAKING, LOSSES, hunt
from gradlife.model.hunt import Control
from gradlife.reports.formats.junit.document import Case, Ending, Suite, junit_text
from gradlife.reports.formats.junit.hunt import hunt_junit
from gradlife.reports.formats.junit.run import run_junit
from gradlife.reports.xml_text import legal


def read(text: str) -> junitparser.JUnitXml:
    """As a consumer reads it."""
    return junitparser.JUnitXml.fromstring(text.encode("utf-8"))


def endings(text: str) -> dict[str, list[str]]:
    """Of each case that did not end well, by class and name, what its ending is."""
    cases = [case for suite in read(text) for case in suite]
    return {
        f"{case.classname}::{case.name}": [type(one).__name__ for one in case.result] for case in cases if case.result
    }


def test_a_run_is_a_suite_a_system_and_a_case_a_story() -> None:
    document = read(run_junit(seven_systems()))
    assert (document.tests, document.failures, document.errors, document.skipped) == (21, 0, 0, 0)
    assert document.time == 1.5
    suites = list(document)
    assert [suite.name for suite in suites][:2] == ["mini:torch-1.1", "mini:torch-1.2"]
    root = ElementTree.fromstring(run_junit(seven_systems()))
    facts = {one.get("name"): one.get("value") for one in root[0].findall("properties/property")}
    assert facts == {
        "framework": "gradlife.engine",
        "version": "0.1.0",
        "python": "3.11.7",
        "platform": "Linux x86_64",
    }
    first = next(iter(suites[0]))
    assert (first.classname, first.name) == ("function_ownership", "ctx_keeps_output[mini:torch-1.1]")
    assert (suites[0].tests, suites[0].time) == (3, 0.03)


def test_what_contradicts_fails_what_did_not_end_is_an_error_what_is_lacking_is_skipped() -> None:
    text = run_junit(troubled())
    assert endings(text) == {
        "function_ownership::ctx_keeps_output[mini:torch-2.13]": ["Failure"],
        "function_ownership::ctx_keeps_detached_output[mini:torch-1.1]": ["Error"],
        "function_ownership::ctx_keeps_detached_output[mini:torch-1.2]": ["Error"],
        "wrapper_identity::grad_id[mini:oneflow-0.9]": ["Skipped"],
    }
    found = {case.name: case.result[0] for suite in read(text) for case in suite if case.result}
    failure = found["ctx_keeps_output[mini:torch-2.13]"]
    assert failure.message == "ctx, liveness at 'output dropped': declared gc, got never"
    assert failure.text.splitlines()[1:] == ["declared because from 1.10 on it does"]
    raised = found["ctx_keeps_detached_output[mini:torch-1.1]"]
    assert (raised.type, raised.message, raised.text) == ("failed", "ValueError: no (line 12)", "...")
    assert found["ctx_keeps_detached_output[mini:torch-1.2]"].message == "killed by SIGSEGV"
    assert found["grad_id[mini:oneflow-0.9]"].message == "needs hooks: Pack and unpack hooks"
    outputs = [case.system_out for suite in read(text) for case in suite if case.system_out]
    assert outputs == ["about to\ngo wrong\n"]


def test_a_story_whose_file_is_there_has_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stories.py").write_text("", encoding="utf-8")
    report = seven_systems()
    stories = tuple(replace(one, file="stories.py", line=7) for one in report.scenarios)
    root = ElementTree.fromstring(run_junit(replace(report, scenarios=stories)))
    assert {(case.get("file"), case.get("line")) for case in root.iter("testcase")} == {("stories.py", "7")}
    assert {case.get("file") for case in ElementTree.fromstring(run_junit(report)).iter("testcase")} == {None}


def test_a_hunt_has_a_case_for_each_finding_and_each_control() -> None:
    text = hunt_junit(EVERYTHING)
    assert [(case.classname, case.name) for suite in read(text) for case in suite] == [
        ("train.py", "verdict"),
        ("train.py", "GL402 A list of losses keeps the graph of each [7c1e09ab]"),
        ("train.py", "GL101 ctx keeps an output of its own Function [00ff]"),
        ("train.py", "GL505 An object keeps one of its own bound methods []"),
        *(("controls", control.name) for control in CONTROLS),
    ]
    assert list(endings(text).values()) == [["Failure"], ["Failure"]]
    failure = next(case.result[0] for suite in read(text) for case in suite if case.result)
    assert (failure.type, failure.message) == (
        "GL402",
        "A list of losses keeps the graph of each: grows in every round",
    )
    assert "╰→ Tensor float32 []   leaked" in failure.text
    assert "What to do: Keep the number, not the tensor.\n    run.history.append(loss.item())" in failure.text
    assert failure.text.endswith("See pytorch/pytorch#1840")


def test_what_waits_for_the_collector_fails_only_where_that_was_asked_for() -> None:
    name = "train.py::GL505 An object keeps one of its own bound methods []"
    assert name not in endings(hunt_junit(EVERYTHING))
    assert endings(hunt_junit(EVERYTHING, is_strict=True))[name] == ["Failure"]


def test_a_clean_hunt_passes_and_one_that_could_not_tell_is_an_error() -> None:
    assert endings(hunt_junit(CLEAN)) == {}
    assert endings(hunt_junit(hunt(rounds=(), trouble="killed by signal 9"))) == {"train.py::verdict": ["Error"]}
    wrong = hunt(controls=(Control("a clean twin", "clean", "growth"),))
    assert endings(hunt_junit(wrong)) == {"train.py::verdict": ["Error"], "controls::a clean twin": ["Error"]}
    assert endings(hunt_junit(hunt(script_status=3))) == {"train.py::verdict": ["Error"]}


def test_a_finding_has_the_line_that_made_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("", encoding="utf-8")
    root = ElementTree.fromstring(hunt_junit(LEAKING))
    assert [(case.get("file"), case.get("line")) for case in root.iter("testcase") if case.get("file")] == [
        ("train.py", "41")
    ]


def test_text_that_xml_cannot_carry_or_would_take_for_markup_survives() -> None:
    evil = 'a\x00b\x1b[31m]]>&<"\udc80\uffff\n\tend'
    text = junit_text("x", [Suite(evil, (Case(evil, evil, ending=Ending("failure", evil, evil, evil), output=evil),))])
    (suite,) = read(text)
    (case,) = suite
    shown = 'a#x00b#x1B[31m]]>&<"#xDC80#xFFFF\n\tend'
    assert (suite.name, case.name, case.result[0].message) == (shown, shown, shown)
    assert (case.result[0].text, case.system_out) == (shown, shown)
    assert legal("plain é 😀") == "plain é 😀"


def test_a_document_without_cases_is_one() -> None:
    document = read(junit_text("nothing", []))
    assert (document.tests, len(list(document))) == (0, 0)


def test_a_finding_keeps_its_name_from_hunt_to_hunt() -> None:
    later = hunt(replace(LOSSES, survivors=40, retained_bytes=1), rounds=())
    first, second = ({case.name for suite in read(hunt_junit(one)) for case in suite} for one in (LEAKING, later))
    assert first == second
