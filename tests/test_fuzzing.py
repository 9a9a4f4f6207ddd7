"""The fuzzer writes the same programs for a seed, shrinks what differs, and finds no difference in a first slice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz.campaign import Found
from benchmarks.fuzz.children import Died, in_child
from benchmarks.fuzz.lockstep import alike
from benchmarks.fuzz.program import Difference, Program, Step
from benchmarks.fuzz.shrink import shrunk
from benchmarks.fuzz.story import story_of
from benchmarks.fuzz.writer import write_program


def program(*texts: str, **modes: bool) -> Program:
    return Program(tuple(Step("some rule", text) for text in texts), **modes)


def texts(of: Program) -> list[str]:
    return [step.text for step in of.steps]


def has(*wanted: str) -> Callable[[Program], bool]:
    return lambda candidate: all(any(word in text for text in texts(candidate)) for word in wanted)


def test_a_seed_and_a_number_always_give_the_same_program() -> None:
    assert write_program(3, 14) == write_program(3, 14)
    assert write_program(3, 14) != write_program(3, 15) != write_program(4, 15)


def test_programs_have_five_to_forty_steps() -> None:
    lengths = {len(write_program(1, index).steps) for index in range(300)}
    assert min(lengths) == 5
    assert max(lengths) == 40


def test_steps_that_a_difference_does_not_need_are_left_out() -> None:
    whole = program("t3 = 1", "t4 = 2", "del t4", "t5 = t3.sin()", "gc.collect()", looks=True)
    assert shrunk(whole, has("sin", "t3 = 1")) == program("t0 = 1", "t1 = t0.sin()")


def test_statements_become_simpler_where_the_difference_stays() -> None:
    whole = program("t1.register_hook(hook(lab, 'h7', [t2], 'scales'))", "t1.tanh()")
    small = shrunk(whole, lambda one: len(one.steps) == 2 and has("hook(lab")(one))
    assert texts(small) == ["t0.register_hook(hook(lab, 'h0'))", "t0.neg()"]


def test_numbers_are_alike_up_to_rounding_and_nothing_else_is() -> None:
    assert alike([("t0", [1.0, float("nan")])], [("t0", [1.0 + 1e-9, float("nan")])])
    assert not alike([1.0], [1.001])
    assert not alike([1.0], [1])
    assert not alike([1.0, None], [1.0])


def test_a_child_that_dies_and_one_that_never_ends_are_told_apart() -> None:
    assert in_child(lambda: [1, 2]) == [1, 2]
    assert in_child(lambda: __import__("os").kill(__import__("os").getpid(), 11)) == Died(11)
    assert in_child(lambda: __import__("time").sleep(60), seconds=1).text == "did not end"


def test_a_found_program_is_written_as_a_scenario_file_that_loads(tmp_path: Path) -> None:
    step = "t1 = custom(lab, 'f0', keep='output').apply(t0)"
    found = Found(program("t0 = fw.ones(2)", step, "gc.collect()"), Difference(1, "values", 1, 2), 7)
    source = story_of(found, seed=5)
    names: dict[str, object] = {"__name__": "story"}
    exec(compile(source, str(tmp_path / "story.py"), "exec"), names)
    assert str(names["program_7_of_seed_5"]) == "<scenario program_7_of_seed_5>"
    assert step in source
    assert "lab.collect()" in source
