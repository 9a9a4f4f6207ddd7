"""The programs of public libraries: every plant fits its script, and the judge tells right from wrong."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.corpus.running import Hunted
from benchmarks.real.__main__ import SCRIPTS, absent_libraries, misses, run_program
from benchmarks.real.judging import judge_planted, judge_unmodified
from benchmarks.real.plants import PLANTS, Plant
from benchmarks.real.running import Bare, Steps, read_steps
from fabricated_hunts import CLEAN, HISTORY, LOSSES, hunt, step
from gradlife.model.hunt import HuntReport, Severity
from gradlife.reports.formats.json.document import hunt_text

PROGRAMS = {path.stem: path for path in SCRIPTS.glob("*/*.py")}
BARE = Bare(("loss 1 0.5",), Steps((1.0, 1.0, 1.0)), "")
PLANT = Plant("losses with graph", ("losses",), (("x = 1\n", "x = 2\n"),))


def hunted(report: HuntReport, output: str = "loss 1 0.5\nmore\n") -> Hunted:
    return Hunted(json.loads(hunt_text(report)), 1, "more", 1.0, 2.0, output)


def test_there_are_thirty_programs_with_a_leak_for_each() -> None:
    assert len(PROGRAMS) >= 30
    assert set(PLANTS) == set(PROGRAMS)


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_a_plant_fits_its_script_and_leaves_a_program(name: str) -> None:
    source = PROGRAMS[name].read_text(encoding="utf-8")
    assert ast.parse(PLANTS[name].applied(source))


def test_an_edit_that_finds_no_place_or_two_is_refused() -> None:
    assert PLANT.applied("x = 1\n") == "x = 2\n"
    for source in ("y = 1\n", "x = 1\nx = 1\n"):
        with pytest.raises(ValueError, match=r"stands [02] times in the script"):
            PLANT.applied(source)


def test_an_unmodified_program_is_right_if_clean_and_undisturbed() -> None:
    right = judge_unmodified(BARE, hunted(CLEAN), Steps((1.1, 1.1, 1.1)))
    assert (right.is_right, right.overhead, right.median_overhead, right.steps) == (True, 1.1, 1.1, 3)
    assert not judge_unmodified(BARE, hunted(CLEAN, "loss 1 0.6\n"), BARE.steps).is_right
    assert not judge_unmodified(Bare((), Steps(), "ImportError"), hunted(CLEAN, ""), Steps()).is_right


def test_a_finding_above_a_note_is_an_alarm_and_a_note_is_none() -> None:
    alarm = judge_unmodified(BARE, hunted(hunt(LOSSES)), BARE.steps)
    assert (alarm.is_right, len(alarm.alarms), alarm.notes) == (False, 1, ())
    note = judge_unmodified(BARE, hunted(hunt(replace(LOSSES, severity=Severity.NOTE))), BARE.steps)
    assert (note.is_right, note.alarms, len(note.notes)) == (True, (), 1)


def test_a_planted_leak_is_found_where_its_container_is_named() -> None:
    named = replace(LOSSES, trace=replace(HISTORY, steps=(step("Trainer", ".losses"), *HISTORY.steps[-2:])))
    assert judge_planted(PLANT, hunted(hunt(named))).is_right
    unnamed = judge_planted(PLANT, hunted(hunt(LOSSES)))
    assert (unnamed.is_right, unnamed.lacking) == (False, ("losses",))
    assert not judge_planted(PLANT, hunted(CLEAN)).is_right


def test_steps_are_those_of_the_process_that_took_most(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("7 1.0\n8 5.0\n7 1.5\n7 2.5\n", encoding="utf-8")
    assert read_steps(clock) == Steps((0.5, 1.0))
    assert read_steps(tmp_path / "none") == Steps()


def test_steps_are_compared_as_far_as_both_runs_have_them() -> None:
    assert Steps((2.0, 2.0, 9.0)).ratio_to(Steps((1.0, 1.0))) == 2.0
    assert Steps().ratio_to(Steps((1.0,))) == 0.0


@pytest.mark.torch
def test_a_script_says_which_library_is_absent() -> None:
    assert absent_libraries("import os, torch\nfrom no_such_library.data import Loader\n") == ("no_such_library",)


@pytest.mark.whole
@pytest.mark.torch
def test_a_program_of_torch_alone_is_spared_as_it_is_and_found_with_its_leak(tmp_path: Path) -> None:
    row = run_program(PROGRAMS["lbfgs_style"], tmp_path, limit=900.0)
    assert misses(row) == []
    assert row.unmodified is not None
    assert row.planted is not None
    assert (row.unmodified.same_losses, row.planted.leak) == (True, "closure")
