"""The targets that a command line may name, and the arguments of a step function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gradlife.errors import UnknownNameError, UsageError
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import (
    FunctionTarget,
    ScriptTarget,
    Stepper,
    TargetError,
    count_parameters,
    count_required,
    load,
    parse,
    stepper_of,
)


def test_a_script_keeps_its_arguments() -> None:
    assert parse("train.py", ("--lr", "3")) == ScriptTarget("train.py", ("--lr", "3"))


def test_a_function_is_named_in_a_file_or_in_a_module() -> None:
    assert parse("case.py::step") == FunctionTarget("case.py", "step", is_file=True)
    assert parse("package.case:step") == FunctionTarget("package.case", "step", is_file=False)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(UsageError, match="'nothing' is no file here and no command on PATH"):
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


@pytest.mark.parametrize(
    ("step", "count", "needed"),
    [
        (lambda: None, 0, 0),
        (lambda number=0: None, 1, 0),
        (lambda state, number=0, *, more=1: None, 2, 1),
        (lambda a, b, c: None, 2, 3),
        (lambda *args: None, 2, 0),
        (lambda **named: None, 0, 0),
        (dict.update, 0, 0),
    ],
    ids=["none", "optional", "two and a keyword", "three", "any number", "keywords", "not shown"],
)
def test_a_step_may_get_and_needs_some_arguments(step: Callable[..., object], count: int, needed: int) -> None:
    assert (count_parameters(step), count_required(step)) == (count, needed)


def test_a_step_that_needs_a_state_where_no_setup_makes_one_is_refused(tmp_path: Path) -> None:
    """It was called with the number alone, and the hunt ended with the program's TypeError."""
    file = tmp_path / "two_arguments.py"
    file.write_text("def step(state, number): pass\ndef optional(number, more=1): pass\n")
    with pytest.raises(
        TargetError, match=r"^step takes more than the step's number, but .*two_arguments.py has no setup"
    ):
        load(FunctionTarget(str(file), "step", is_file=True))
    assert load(FunctionTarget(str(file), "optional", is_file=True)).setup is None


def test_an_async_step_is_run_to_its_end_in_one_event_loop() -> None:
    loops: list[object] = []

    async def step(number: int) -> int:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())
        return number

    run = stepper_of(step).step
    assert ([run(3), run(4)], count_parameters(run)) == ([3, 4], 1)
    assert loops[0] is loops[1]


def test_an_async_step_is_refused_where_a_loop_runs() -> None:
    async def step() -> None: ...

    async def main() -> None:
        stepper_of(step).step()

    with pytest.raises(TargetError, match="in an event loop that is running"):
        asyncio.run(main())


def test_a_generator_function_is_no_step() -> None:
    def step() -> Iterator[int]:
        yield 1

    async def stream() -> AsyncIterator[int]:
        yield 1

    for one in (step, stream):
        with pytest.raises(TargetError, match="is a generator function: calling it runs nothing"):
            stepper_of(one)
