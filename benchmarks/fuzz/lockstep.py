"""Run a program on two systems step by step, and find their first difference."""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass
from typing import Any

from benchmarks.fuzz.other_python.client import Elsewhere, Replayed
from benchmarks.fuzz.program import Difference, Outcome, Program
from benchmarks.fuzz.world import STAGES, World

KINDS = ("notes", "deaths", "values")

Worlds = tuple[World, World | Replayed]


@dataclass(frozen=True)
class Tolerance:
    """The rounding tolerance between systems: each has its own float32 tanh and cos, 1 - tanh² keeps few of their bits,
    and cancelling terms of size ten keep only their last bits, of 1e-6 each.
    """

    relative: float = 1e-5
    absolute: float = 1e-7


DOUBLE = Tolerance()
SINGLE = Tolerance(relative=2e-3, absolute=1e-5)


def tolerance_for(program: Program) -> Tolerance:
    """Return the tolerance for the narrowest number type in a value; a class called with numbers gives float32."""
    return SINGLE if any("float32" in step.text or ")([" in step.text for step in program.steps) else DOUBLE


def alike(one: Any, other: Any, tolerance: Tolerance = DOUBLE) -> bool:
    """Whether two plain values are equal, floats up to rounding."""
    if isinstance(one, float) and isinstance(other, float):
        is_close = math.isclose(one, other, rel_tol=tolerance.relative, abs_tol=tolerance.absolute)
        return is_close or one == other or (one != one and other != other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(alike(*pair, tolerance) for pair in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)


def run_both(program: Program, first: Any, second: Any) -> Outcome:
    """Run a program on both frameworks. The collector runs only where a step says so, and at the end."""
    worlds = World(first, program), second.world(program) if isinstance(second, Elsewhere) else World(second, program)
    failed: set[int] = set()
    texts: set[int] = set()
    try:
        difference = steps_differ(program, worlds, failed, texts)
        if difference is None:
            difference = ends_differ(program, worlds)
        return Outcome(difference, verdicts(program, worlds[0]), frozenset(failed), frozenset(texts))
    finally:
        for world in worlds:
            world.end()
        gc.collect()
        gc.freeze()  # leaked objects would slow every later collection


def steps_differ(program: Program, worlds: Worlds, failed: set[int], texts: set[int]) -> Difference | None:
    tolerance = tolerance_for(program)
    for number, step in enumerate(program.steps):
        errors = [world.run(number, step.text) for world in worlds]
        if errors[0]:
            failed.add(number)
        if errors[0] != errors[1]:
            if has_texts(worlds[1]) or errors[0].partition(":")[0] != errors[1].partition(":")[0]:
                return Difference(number, "error", *errors)
            texts.add(number)
        found = first_difference(number, worlds, tolerance)
        if found is not None:
            return found
    return None


def has_texts(world: World | Replayed) -> bool:
    """Whether the engine has the texts of errors of this world's release; of older ones it has those that stories show."""
    return not isinstance(world, Replayed) or world.release >= (2, 10)


def first_difference(number: int, worlds: Worlds, tolerance: Tolerance) -> Difference | None:
    one, other = (world.seen() for world in worlds)
    if one == other:
        return None
    for kind, left, right in zip(KINDS, one, other, strict=True):
        if kind == "deaths":
            left, right = sorted(left), sorted(right)
        if not alike(left, right, tolerance):
            return Difference(number, kind, left, right)
    return None


def ends_differ(program: Program, worlds: Worlds) -> Difference | None:
    """Compare the verdicts: after all names are dropped, after a collection, after held objects are released."""
    for offset, stage in enumerate(STAGES):
        for world in worlds:
            world.number = len(program.steps) + offset
            world.do(stage)
        found = first_difference(worlds[0].number, worlds, tolerance_for(program))
        if found is not None:
            return found
    return None


def verdicts(program: Program, world: World) -> dict[str, str]:
    """Return the lifetime of each subject of a program that ran to its end."""
    last = len(program.steps)
    found = dict.fromkeys(world.refs, "never")
    for label, number in world.deaths.items():
        if number < last:
            found[label] = "gc" if program.steps[number].rule == "collect" else "del"
        else:
            found[label] = ("del", "gc", "held", "held")[min(number - last, 3)]
    return found


def run_alone(program: Program, framework: Any) -> bool:
    """Run a program on one framework, to see whether it finishes."""
    gc.disable()
    world = World(framework, program)
    for number, step in enumerate(program.steps):
        world.run(number, step.text)
        world.seen()
    world.drop_names()
    world.end()
    gc.collect()
    return True
