"""The outermost function that is entered again and again, found on stacks."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradlife.hunting.steps import repeated_calls
from gradlife.hunting.steps.intervals import STEP_NAME, Intervals
from gradlife.hunting.steps.repeated_calls import CALLS_IF_NESTED, WARMUP_CALLS, RepeatedCalls, candidates

PROGRAM = """\
def main(requests, layers):
    for _ in range(requests):
        answer(layers)

def answer(layers):
    for _ in range(layers):
        layer()

def layer():
    look()

def once():
    layer()
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[dict[str, Any]]:
    names: dict[str, Any] = {"look": lambda: None}
    exec(compile(PROGRAM, str(tmp_path / "serve.py"), "exec"), names)
    yield names
    repeated_calls.loops.cache_clear()


class Hunted:
    """A sampler whose steps are written down; nothing is sampled but on demand, by the program's ``look``."""

    def __init__(self, program: dict[str, Any]) -> None:
        self.steps: list[str] = []
        self.calls = RepeatedCalls(self.begin)
        program["look"] = self.sample
        self._is_busy = False

    def begin(self, name: str) -> Callable[[], object]:
        return lambda: self.steps.append(name)

    def sample(self) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        sampler = threading.Thread(target=self.calls.sample)
        sampler.start()
        sampler.join()
        self._is_busy = False


def names_of(stack: list[tuple[types.CodeType, bool]]) -> list[tuple[str, bool]]:
    return [(code.co_name, is_in_loop) for code, is_in_loop in stack if code.co_filename.endswith("serve.py")]


def test_functions_of_the_program_are_candidates_and_loops_around_them_are_seen(program: dict[str, Any]) -> None:
    stacks = []
    program["look"] = lambda: stacks.append(candidates(sys._getframe(1)))
    program["main"](1, 1)
    assert names_of(stacks[0]) == [("main", False), ("answer", True), ("layer", True)]
    program["once"]()
    assert names_of(stacks[1]) == [("once", False), ("layer", False)]


def test_a_function_that_calls_itself_is_no_candidate(tmp_path: Path) -> None:
    stacks = []
    names: dict[str, Any] = {"look": lambda: stacks.append(candidates(sys._getframe(1)))}
    exec(compile("def walk(n):\n return walk(n - 1) if n else look()", str(tmp_path / "serve.py"), "exec"), names)
    names["walk"](3)
    assert names_of(stacks[0]) == []


def test_the_outermost_repeated_call_is_the_step(program: dict[str, Any]) -> None:
    hunted = Hunted(program)
    program["main"](WARMUP_CALLS + 5, 2)
    hunted.calls.stop()
    assert {*hunted.steps} == {"call of answer (serve.py:5)"}
    assert 1 <= len(hunted.steps) <= 4


def test_a_call_in_one_long_request_is_the_step_only_after_many(program: dict[str, Any]) -> None:
    hunted = Hunted(program)
    program["main"](1, CALLS_IF_NESTED - 10)
    assert hunted.steps == []
    program["main"](1, CALLS_IF_NESTED)
    hunted.calls.stop()
    assert {*hunted.steps} == {"call of layer (serve.py:9)"}


def test_one_further_out_takes_its_place_when_it_is_called_often(program: dict[str, Any]) -> None:
    hunted = Hunted(program)
    program["main"](1, 2 * CALLS_IF_NESTED)
    program["main"](3 * WARMUP_CALLS, 1)
    hunted.calls.stop()
    assert hunted.steps[0] == "call of layer (serve.py:9)"
    assert hunted.steps[-1] == "call of answer (serve.py:5)"


def test_nothing_is_a_step_after_the_end_nor_while_an_optimizer_may_fire(program: dict[str, Any]) -> None:
    hunted = Hunted(program)
    program["main"](2, 1)
    hunted.calls.pause()
    program["look"] = lambda: None
    program["main"](100, 1)
    assert hunted.steps == []
    hunted.calls.stop()
    program["main"](100, 1)
    assert hunted.steps == []


def test_functions_of_the_script_that_its_loops_call_need_no_sample(tmp_path: Path) -> None:
    hunted = Hunted({})
    source = compile(f"{PROGRAM}\ndef look(): pass\nmain(20, 2)", str(tmp_path / "serve.py"), "exec")
    exec(hunted.calls.counting_from_start(source, ("answer", "layer")), {})
    hunted.calls.stop()
    assert {*hunted.steps} == {"call of answer (serve.py:5)"}


LIBRARY = """\
def layer(depth):
    if depth:
        layer(depth - 1)

def generate(tokens):
    for _ in range(tokens):
        layer(3)
"""
CALLER = """\
def serve(requests, tokens):
    for _ in range(requests):
        answer(tokens)

def answer(tokens):
    generate(tokens)
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Hunted, dict[str, Any]]]:
    """A program that calls a function of a library, in which no step is looked for but calls of ``layer``."""
    names: dict[str, Any] = {}
    hunted = Hunted({})
    exec(compile(LIBRARY, os.path.join(sysconfig.get_path("purelib"), "torch", "layers.py"), "exec"), names)
    exec(compile(CALLER, str(tmp_path / "serve.py"), "exec"), names)
    hunted.calls.watch(names["layer"])
    yield hunted, names
    hunted.calls.stop()
    repeated_calls.loops.cache_clear()


def test_a_pass_through_nested_modules_is_one_step(served: tuple[Hunted, dict[str, Any]]) -> None:
    """Each layer of a deep model was a step, and a list of features seemed to grow."""
    hunted, names = served
    for _ in range(WARMUP_CALLS + 5):
        names["layer"](30)
    assert hunted.steps == ["call of layer (layers.py:1)"] * 4


def test_a_function_around_the_modules_calls_takes_their_place(served: tuple[Hunted, dict[str, Any]]) -> None:
    """Nobody looked around the calls of a module, so the tokens of each request were the steps."""
    hunted, names = served
    names["serve"](3, WARMUP_CALLS)
    assert hunted.steps == []
    names["serve"](WARMUP_CALLS, WARMUP_CALLS)
    assert {*hunted.steps} == {"call of answer (serve.py:5)"}


def test_steps_of_time_wait_until_nothing_is_imported() -> None:
    ready, stepped = threading.Event(), threading.Event()
    names: list[str] = []

    def begin(name: str) -> Callable[[int], object]:
        names.append(name)
        return lambda count: stepped.set()

    intervals = Intervals(begin, lambda: 0.0 if ready.is_set() else float("inf"))
    intervals.start()
    assert names == []
    ready.set()
    assert stepped.wait(900)
    intervals.stop()
    intervals.join()
    assert names == [STEP_NAME]


def test_a_fork_while_the_sampling_thread_holds_the_lock_does_not_wait_for_it() -> None:
    calls = RepeatedCalls(lambda stepped_by: lambda: True)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with calls._lock, calls._over._cond:  # type: ignore[attr-defined]
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that waits
        try:
            calls.leave_copy()
        finally:
            os._exit(0 if calls._over.is_set() else 1)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()
