"""The training programs: their switches and what is expected of them agree, and the judge sees the difference."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.corpus.running import Hunted
from benchmarks.programs.__main__ import NONE, judge
from benchmarks.programs.planted import FOLDER, PLANTED
from fabricated_hunts import CLEAN, CYCLE, HISTORY, LOSSES, WAITING, hunt, step
from gradlife.model.hunt import HuntReport
from gradlife.reports.formats.json.document import hunt_text

SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.name not in {"__init__.py", "__main__.py", "planted.py"})


def hunted(report: HuntReport | None) -> Hunted:
    return Hunted(json.loads(hunt_text(report)) if report else None, 1, "Killed", 1.0, 2.0)


def choices(path: Path) -> list[str]:
    """Return the values of `--leak`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and getattr(node.args[0], "value", "") == "--leak":
            (found,) = [one.value for one in node.keywords if one.arg == "choices"]
            return list(ast.literal_eval(found))
    raise AssertionError(f"{path} has no switch --leak")


def test_there_are_ten_programs_with_three_leaks_each() -> None:
    assert [path.stem for path in SCRIPTS] == sorted(PLANTED)
    assert [len(leaks) for leaks in PLANTED.values()] == [3] * 10


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_program_is_short_and_its_switch_offers_what_is_planted(path: Path) -> None:
    assert choices(path) == [NONE, *PLANTED[path.stem]]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120


def test_a_leak_is_found_where_its_holder_is_named() -> None:
    losses = replace(LOSSES, trace=replace(HISTORY, steps=(step("Trainer", ".losses"), *HISTORY.steps[-2:])))
    assert judge("mlp", "losses", hunted(hunt(losses))).is_right
    unnamed = judge("mlp", "losses", hunted(hunt(LOSSES)))
    assert (unnamed.is_right, unnamed.lacking) == (False, ("losses",))


@pytest.mark.parametrize("report", [CLEAN, hunt(CYCLE), hunt(WAITING), None])
def test_a_leak_of_another_kind_or_none_is_not_the_planted_one(report: HuntReport | None) -> None:
    assert not judge("mlp", "losses", hunted(report)).is_right


def test_a_program_as_it_is_must_be_clean_and_nothing_else() -> None:
    assert judge("mlp", NONE, hunted(CLEAN)).is_right
    for report in (hunt(WAITING), hunt(LOSSES), hunt(rounds=()), None):
        assert not judge("mlp", NONE, hunted(report)).is_right


def test_a_hunt_without_a_report_says_its_last_line() -> None:
    assert judge("mlp", NONE, hunted(None)).said == "Killed"
