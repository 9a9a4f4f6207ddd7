from __future__ import annotations

from dataclasses import replace

from fabricated import PLAIN, STORY, TWIN, readings, seven_systems
from gradlife.model import Declared, Reading, RunOk, RunReport, ScenarioInfo
from gradlife.model.reading import ReadingKey
from gradlife.reports.run.view import RunView


def view_of(story: ScenarioInfo, *runs: tuple[str, list[tuple[str, str, str, object]]]) -> RunView:
    report = seven_systems()
    result = tuple(RunOk(story.id, system, readings(story, system, rows)) for system, rows in runs)
    return RunView(replace(report, scenarios=(story,), runs=result))


def verdict(subject: str, stage: str = "end") -> tuple[str, str, str, object]:
    return (stage, subject, "liveness", "del")


def test_the_main_subject_is_the_one_first_declared() -> None:
    view = view_of(STORY, ("torch", [verdict("y"), verdict("ctx")]))
    assert view.main_key(STORY) == ReadingKey(STORY.id, "end", "ctx", "liveness")


def test_without_a_declared_verdict_the_main_subject_is_the_one_first_watched() -> None:
    story = replace(STORY, expects=(Declared("y", 1, probe="value"), Declared("gone", "del")))
    view = view_of(story, ("torch", [verdict("y"), verdict("ctx"), verdict("y", "later")]))
    assert view.main_key(story) == ReadingKey(STORY.id, "later", "y", "liveness")


def test_a_story_without_verdicts_has_no_main_subject() -> None:
    assert RunView(seven_systems()).main_key(PLAIN) is None


def test_readings_stand_by_stage_and_probe_whichever_system_has_them() -> None:
    view = view_of(
        STORY,
        ("torch", [("one", "x", "expiry", "alive"), verdict("x"), ("end", "x", "expiry", "dead")]),
        ("mini:torch-1.1", [("one", "x", "refcount", 1), ("one", "x", "expiry", "alive"), ("end", "x", "refcount", 2)]),
    )
    assert [(key.stage, key.probe) for key in view.keys[STORY.id]] == [
        ("one", "expiry"),
        ("one", "refcount"),
        ("end", "liveness"),
        ("end", "expiry"),
        ("end", "refcount"),
    ]


def test_twins_stand_below_their_story_and_alone_without_it() -> None:
    report = seven_systems()
    families = RunView(report).suites["function_ownership"]
    assert [family.members for family in families] == [(STORY, TWIN)]
    alone = RunView(replace(report, scenarios=(TWIN,))).suites["function_ownership"]
    assert [family.members for family in alone] == [(TWIN,)]


def test_what_is_inconclusive_distinguishes_nobody() -> None:
    rows: list[tuple[str, list[tuple[str, str, str, object]]]] = [
        ("torch", [("end", "x", "expiry", "alive")]),
        ("mini:torch-1.1", [("end", "x", "expiry", "inconclusive")]),
    ]
    key = ReadingKey(STORY.id, "end", "x", "expiry")
    assert not view_of(STORY, *rows).tells_apart(key)
    rows.append(("mini:torch-1.2", [("end", "x", "expiry", "dead")]))
    assert view_of(STORY, *rows).tells_apart(key)


def test_a_contradiction_is_the_mark_that_counts() -> None:
    report = seven_systems()
    view = RunView(report)
    key = view.main_key(STORY)
    assert key is not None
    assert view.mark(key, "mini:torch-1.1") == "*"
    view.contradicted.add((key, "mini:torch-1.1"))
    assert view.mark(key, "mini:torch-1.1") == "!"
    assert view.mark(key, "torch") == ""


def test_an_explained_difference_has_a_mark_of_its_own() -> None:
    reading = Reading(STORY.id, "end", "x", "refcount", "torch", 1, "expected", "it is known")
    report = RunReport(seven_systems().systems, (STORY,), (RunOk(STORY.id, "torch", (reading,)),), "torch")
    assert RunView(report).mark(reading.key, "torch") == "~"
