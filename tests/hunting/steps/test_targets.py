"""The targets that a command line may name, and the arguments of a step function."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife.errors import UnknownNameError, UsageError
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import FunctionTarget, ScriptTarget, Stepper, load, parse


def test_a_script_keeps_its_arguments() -> None:
    assert parse("train.py", ("--lr", "3")) == ScriptTarget("train.py", ("--lr", "3"))


def test_a_function_is_named_in_a_file_or_in_a_module() -> None:
    assert parse("case.py::step") == FunctionTarget("case.py", "step", is_file=True)
    assert parse("package.case:step") == FunctionTarget("package.case", "step", is_file=False)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(UsageError, match="'nothing' is nothing to hunt in"):
        parse("nothing")


def test_an_unknown_function_is_reported_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "a_case_with_a_step.py"
    file.write_text("def step():\n    pass\n")
    with pytest.raises(UnknownNameError, match=r"unknown function 'stepp'.*step"):
        load(FunctionTarget(str(file), "stepp", is_file=True))


def calls(stepper: Stepper, state: object = "state") -> list[tuple[object, ...]]:
    made: list[tuple[object, ...]] = []
    left = iter([False, True])
    recorded = Stepper(stepper.step, stepper.setup)
    loop_for(recorded)(state, lambda *given: made.append(given), iter(range(9)), lambda: next(left))
    return made


def test_a_step_gets_the_state_and_its_number_if_it_takes_two() -> None:
    assert calls(Stepper(lambda state, number: None, setup=lambda: 0)) == [("state", 0), ("state", 1)]
    assert calls(Stepper(lambda state: None, setup=lambda: 0)) == [("state",), ("state",)]


def test_without_a_setup_the_one_argument_is_the_number() -> None:
    assert calls(Stepper(lambda number: None)) == [(0,), (1,)]
    assert calls(Stepper(lambda: None)) == [(), ()]
