from __future__ import annotations

from typing import Any

import pytest

from gradlife.model import (
    Declared,
    DeclaredDifference,
    Reading,
    RunCrashed,
    RunFailed,
    RunOk,
    RunReport,
    RunUnavailable,
    ScenarioInfo,
    ScenarioRun,
    SystemInfo,
)
from gradlife.model.comparison import MISSING
from gradlife.runner.compare import compare, same_value
from gradlife.runner.expectations import check_expectations
from gradlife.runner.totals import sum_up

TORCH = SystemInfo("torch", "torch-2.13", "torch", "2.13.0", "3.11.7", "Linux")
NEW = SystemInfo("mini:torch-2.13", "torch-2.13", "gradlife.engine", "0.1", "3.11.7", "Linux")
OLD = SystemInfo("mini:torch-1.2", "torch-1.2", "gradlife.engine", "0.1", "3.11.7", "Linux")
MUTANT = SystemInfo("mini:torch-2.13+saved_slot=owning", "torch-2.13", "gradlife.engine", "0.1", "3.11.7", "Linux")


def reading(system: SystemInfo, value: Any, subject: str = "x", probe: str = "liveness", status: str = "") -> Reading:
    return Reading("s/a", "end", subject, probe, system.name, value, status)


def ok(system: SystemInfo, *readings: Reading) -> ScenarioRun:
    return RunOk("s/a", system.name, readings)


def info(**declared: Any) -> ScenarioInfo:
    return ScenarioInfo("s/a", "a", "s", "title", **declared)


def statuses(mine: ScenarioRun, theirs: ScenarioRun, scenario: ScenarioInfo | None = None) -> list[tuple[str, str]]:
    judged, _ = compare([mine, theirs], [NEW, OLD, MUTANT, TORCH], [scenario or info()], "torch")
    return [(each.status, each.reason) for each in judged.readings]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        (True, True, True),
        (0, False, False),
        ([1, [2]], [1.0, [2]], True),
        ([1], [True], False),
        ([1], [1, 2], False),
        ("gc", "gc", True),
        (None, None, True),
        (None, 0, False),
        ({"a": 1}, {"a": 1}, True),
    ],
)
def test_values_are_the_same_as_json_values_are(one: Any, other: Any, expected: bool) -> None:
    assert same_value(one, other) is expected


def test_equal_readings_are_the_same() -> None:
    assert statuses(ok(NEW, reading(NEW, "gc")), ok(TORCH, reading(TORCH, "gc"))) == [("same", "")]


def test_unequal_readings_differ() -> None:
    assert statuses(ok(NEW, reading(NEW, "gc")), ok(TORCH, reading(TORCH, "del"))) == [("differs", "")]


def test_a_declared_difference_is_expected_with_its_reason() -> None:
    declared = DeclaredDifference("x", "liveness", "mini:torch-2.13 torch", "because")
    scenario = info(differs=(DeclaredDifference("y", "liveness", "*"), declared))
    pair = ok(NEW, reading(NEW, "gc")), ok(TORCH, reading(TORCH, "del"))
    assert statuses(*pair, scenario) == [("expected", "because")]
    assert statuses(ok(OLD, reading(OLD, "gc")), pair[1], scenario) == [("differs", "")]


def test_a_declared_difference_that_is_none_is_no_matter() -> None:
    scenario = info(differs=(DeclaredDifference("x", "liveness", "*", "because"),))
    assert statuses(ok(NEW, reading(NEW, "gc")), ok(TORCH, reading(TORCH, "gc")), scenario) == [("same", "")]


def test_an_inconclusive_reading_is_not_available() -> None:
    mine, theirs = ok(NEW, reading(NEW, "inconclusive")), ok(TORCH, reading(TORCH, "gc"))
    assert statuses(mine, theirs) == [("not available", "inconclusive on mini:torch-2.13")]
    mine, theirs = ok(NEW, reading(NEW, "gc")), ok(TORCH, reading(TORCH, "inconclusive"))
    assert statuses(mine, theirs) == [("not available", "inconclusive on torch")]


def test_a_reading_that_the_other_lacks_is_not_available() -> None:
    mine = ok(NEW, reading(NEW, "gc", "y"))
    assert statuses(mine, ok(TORCH, reading(TORCH, "gc"))) == [("not available", "torch: no such reading")]


def test_a_reading_that_the_other_could_not_take_has_the_reason() -> None:
    theirs = RunCrashed("s/a", "torch", (reading(TORCH, "gc"),), exit_code=-11, signal="SIGSEGV")
    mine = ok(NEW, reading(NEW, "gc", "y"))
    assert statuses(mine, theirs) == [("not available", "torch: killed by SIGSEGV")]


def test_a_probe_that_the_other_does_not_have_at_all_is_not_compared() -> None:
    mine = ok(NEW, reading(NEW, 3, "created", "events"))
    assert statuses(mine, ok(TORCH, reading(TORCH, "gc"))) == [("not compared", "")]


def test_resident_memory_is_not_compared() -> None:
    mine = ok(NEW, reading(NEW, 3, "resident", "memory"), reading(NEW, 3, status="not compared"))
    theirs = ok(TORCH, reading(TORCH, 3, "resident", "memory"), reading(TORCH, 3))
    assert statuses(mine, theirs) == [("not compared", ""), ("not compared", "")]


def test_a_report_pairs_every_reading_and_every_missing_one() -> None:
    runs = compare(
        [
            ok(NEW, reading(NEW, "gc"), reading(NEW, 1, "only mine", "value")),
            RunUnavailable("s/a", OLD.name, why="needs hooks"),
            ok(TORCH, reading(TORCH, "gc"), reading(TORCH, "del", "only theirs")),
        ],
        [NEW, OLD, TORCH],
        [info()],
        "torch",
    )
    report = RunReport((NEW, OLD, TORCH), (info(),), runs, "torch")
    assert [(c.system, c.key.subject, c.value, c.other, c.status, c.reason) for c in report.comparisons] == [
        (NEW.name, "x", "gc", "gc", "same", ""),
        (NEW.name, "only mine", 1, MISSING, "not compared", ""),
        (NEW.name, "only theirs", MISSING, "del", "not available", ""),
        (OLD.name, "x", MISSING, "gc", "not available", "needs hooks"),
        (OLD.name, "only theirs", MISSING, "del", "not available", "needs hooks"),
    ]


def test_totals_count_the_pair_of_one_profile_and_what_distinguishes_profiles() -> None:
    runs = compare(
        [
            ok(
                NEW,
                reading(NEW, "gc"),
                reading(NEW, 1, "v", "value"),
                reading(NEW, 2, "w", "value"),
                reading(NEW, 1, "n", "live"),
            ),
            ok(OLD, reading(OLD, "never"), reading(OLD, 1, "v", "value"), reading(OLD, 9, "n", "live")),
            ok(MUTANT, reading(MUTANT, "never")),
            ok(TORCH, reading(TORCH, "gc"), reading(TORCH, 1, "v", "value"), reading(TORCH, 3, "w", "value")),
        ],
        [NEW, OLD, MUTANT, TORCH],
        [info()],
        "torch",
    )
    totals = sum_up(RunReport((NEW, OLD, MUTANT, TORCH), (info(),), runs, "torch"), 1.23456)
    assert (totals.systems, totals.scenarios, totals.runs, totals.readings, totals.seconds) == (4, 1, 4, 11, 1.235)
    assert (totals.compared, totals.same, totals.differs, totals.expected, totals.not_available) == (3, 2, 1, 0, 0)
    assert (totals.distinguishing, totals.distinguishing_any) == (2, 2)
    faithful = {(pair.system, pair.probe): (pair.same, pair.differs) for pair in totals.pairs if pair.faithful}
    assert faithful == {(NEW.name, "liveness"): (1, 0), (NEW.name, "value"): (1, 1)}
    assert {pair.system for pair in totals.pairs} == {NEW.name, OLD.name, MUTANT.name}


def verdicts(run: ScenarioRun, *expects: Declared, system: SystemInfo = NEW) -> list[tuple[str, Any, Any]]:
    results = check_expectations([run], [system], [info(expects=expects)])
    return [(result.verdict, result.declared, result.got) for result in results]


def test_a_declared_reading_is_met_or_contradicted() -> None:
    run = ok(NEW, reading(NEW, "gc"))
    assert verdicts(run, Declared("x", "gc")) == [("met", "gc", "gc")]
    assert verdicts(run, Declared("x", "del")) == [("contradicted", "del", "gc")]


def test_the_first_declaration_that_speaks_about_the_system_counts() -> None:
    run = ok(NEW, reading(NEW, "gc"))
    assert verdicts(run, Declared("x", "del", on="torch-1.*"), Declared("x", "gc"), Declared("x", "never")) == [
        ("met", "gc", "gc")
    ]


def test_a_mutant_answers_for_the_profile_that_it_was_made_from() -> None:
    run = ok(MUTANT, reading(MUTANT, "never"))
    assert verdicts(run, Declared("x", "gc", on="torch-2.13"), system=MUTANT) == [("contradicted", "gc", "never")]


def test_without_a_stage_the_last_reading_is_meant() -> None:
    readings = tuple(
        Reading("s/a", stage, "x", "expiry", NEW.name, value) for stage, value in [("1", "alive"), ("2", "dead")]
    )
    run = RunOk("s/a", NEW.name, readings)
    assert verdicts(run, Declared("x", "dead", "expiry"), Declared("x", "alive", "expiry", "1")) == [
        ("met", "dead", "dead"),
        ("met", "alive", "alive"),
    ]


def test_a_declaration_about_nothing_is_contradicted() -> None:
    assert verdicts(ok(NEW), Declared("typo", "gc")) == [("contradicted", "gc", None)]


def test_a_declaration_is_not_available_where_the_story_did_not_end() -> None:
    run = RunFailed("s/a", NEW.name, (reading(NEW, "never"),), error="ValueError")
    assert verdicts(run, Declared("x", "gc")) == [("not available", "gc", "never")]


def test_an_inconclusive_reading_contradicts_nothing() -> None:
    run = ok(NEW, reading(NEW, "inconclusive"))
    assert verdicts(run, Declared("x", "gc")) == [("not available", "gc", "inconclusive")]
    assert verdicts(run, Declared("x", "inconclusive")) == [("met", "inconclusive", "inconclusive")]
