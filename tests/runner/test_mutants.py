from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradlife.backends.mini import axes
from gradlife.model import Declared, Reading, RunCrashed, RunOk, ScenarioInfo, ScenarioRun
from gradlife.runner import mutants
from gradlife.runner.discover import Story
from gradlife.runner.mutants import (
    PROFILES,
    Mutant,
    Trial,
    first_difference,
    mutants_of,
    reasons,
    seen_policies,
    table,
)

WriteStory = Callable[..., str]

MUTANT = Mutant("torch-2.13", "saved_slot", "detached_data", "owning")
NAME = "mini:torch-2.13+saved_slot=owning"


class Backend:
    """A mutant's backend, without an engine."""

    name = NAME

    def describe(self) -> Any:
        from gradlife.model import SystemInfo

        return SystemInfo(NAME, "torch-2.13", "gradlife.engine", "0.1", "3.11", "Linux")


BACKEND: Any = Backend()
STORY = Story(ScenarioInfo("s/a", "a", "s", "title", expects=(Declared("x", "gc"),)), Path("a.py"))


def reading(value: Any, subject: str = "x", probe: str = "liveness", system: str = NAME) -> Reading:
    return Reading("s/a", "end", subject, probe, system, value)


def ok(*readings: Reading) -> ScenarioRun:
    return RunOk("s/a", NAME, readings)


def test_each_policy_is_replaced_by_each_other_value_of_its_axis() -> None:
    found = mutants_of("p", {"a": "1", "b": "x"}, {"a": ("1", "2", "3"), "b": ("x", "y")})
    assert [mutant.spec for mutant in found] == ["p+a=2", "p+a=3", "p+b=y"]


def test_every_policy_is_seen_on_one_of_the_profiles_that_are_mutated() -> None:
    seen = {axis for profile in PROFILES for axis in seen_policies(profile)}
    assert seen == set(axes())
    assert "hook_references" not in seen_policies("torch-1.2")


def test_a_new_contradiction_is_a_reason() -> None:
    assert reasons(STORY, BACKEND, ok(reading("gc")), ok(reading("never"))) == ["a: x liveness 'gc' -> 'never'"]


def test_a_reading_as_declared_is_none() -> None:
    assert reasons(STORY, BACKEND, ok(reading("gc")), ok(reading("gc"))) == []


def test_a_contradiction_that_was_there_before_is_none() -> None:
    assert reasons(STORY, BACKEND, ok(reading("del")), ok(reading("never"))) == []


def test_a_new_crash_is_a_reason() -> None:
    crash = RunCrashed("s/a", NAME, exit_code=-11, signal="SIGSEGV")
    assert reasons(STORY, BACKEND, ok(reading("gc")), crash) == ["a: killed by SIGSEGV"]
    assert reasons(STORY, BACKEND, crash, crash) == []


def test_a_difference_is_another_value_or_another_reading() -> None:
    before = [reading(1), reading(1, "resident", "memory")]
    assert first_difference(before, [reading(1), reading(2, "resident", "memory")]) is None
    assert first_difference(before, [reading(2)]) == reading(2)
    assert first_difference(before, [reading(1, "new")]) == reading(1, "new")


def test_the_table_names_what_killed_each_mutant() -> None:
    trials = [
        Trial(MUTANT, ("a: x liveness 'gc' -> 'never'",), ("s/a",), 3),
        Trial(Mutant("p", "axis", "1", "2"), (), ("s/a",), 5),
        Trial(Mutant("p", "axis", "1", "3"), (), (), 5),
    ]
    assert table(trials).splitlines() == [
        "torch-2.13+saved_slot=owning  killed        a: x liveness 'gc' -> 'never'",
        "p+axis=2                      only differs  1 of 5 scenarios differ",
        "p+axis=3                      SURVIVED      0 of 5 scenarios differ",
    ]


def test_an_unknown_profile_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main(["--profile", "nope"]) == 2
    assert capsys.readouterr().err == "unknown profile 'nope'\n"


def test_an_unknown_scenario_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main(["no/such/file.py"]) == 2
    assert capsys.readouterr().err == "there is no file no/such/file.py (try: a file of scenarios, or gradlife list)\n"


KILLS = """
@scenario(title="exp", expects=[Expect("y", "del")])
def exp(lab):
    y = lab.tensor(requires_grad=True).exp()
    lab.watch("y", y)
    del y
    lab.stage("gone", all_names_gone=True)
"""


def test_a_scenario_about_outputs_kills_the_mutant_whose_slot_owns_them(
    write_story: WriteStory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gradlife._engine")
    monkeypatch.setattr(mutants, "axes", lambda: {"saved_slot": ("detached_data", "owning")})
    monkeypatch.setattr(mutants, "policies_of", lambda profile: {"saved_slot": "detached_data"})
    assert mutants.main([write_story(KILLS), "--profile", "torch-2.13"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "torch-2.13+saved_slot=owning  killed        exp: y liveness 'del' -> 'never'",
        "",
        "1 of 1 mutants killed",
    ]


def test_a_mutant_that_survives_is_named_and_makes_the_status_1(
    write_story: WriteStory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gradlife._engine")
    monkeypatch.setattr(mutants, "axes", lambda: {"saved_slot": ("detached_data", "owning")})
    monkeypatch.setattr(mutants, "policies_of", lambda profile: {"saved_slot": "detached_data"})
    blind = '@scenario(title="blind")\ndef blind(lab):\n    lab.value("v", 1)\n'
    assert mutants.main([write_story(blind), "--profile", "torch-2.13"]) == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "0 of 1 mutants killed",
        "missing a scenario that turns red:",
        "  torch-2.13+saved_slot=owning",
    ]
