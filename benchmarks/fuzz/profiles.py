"""Programs without PyTorch: compare profiles of the engine with each other, and check invariants under each.

Ownership does not change numbers: two profiles that differ in one ownership policy compute the same values as long as
they refuse the same steps. After each program the engine's ownership must balance (`books`), and no process may have
ended.
"""

from __future__ import annotations

import gc
import mmap
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.fuzz.books import imbalances, settle
from benchmarks.fuzz.campaign import AT_A_TIME, NUMBER, SECONDS_A_PROGRAM
from benchmarks.fuzz.children import Died, in_child
from benchmarks.fuzz.lockstep import alike, tolerance_for
from benchmarks.fuzz.program import Program
from benchmarks.fuzz.shrink import canonical, shrunk
from benchmarks.fuzz.world import World
from benchmarks.fuzz.writer import write_program

BASE = "torch-2.13"
VARIANTS = tuple(
    f"{BASE}+{policy}"
    for policy in (
        "tensor_identity=rewrap",
        "tensor_identity=cached",
        "tensor_identity=resurrect",
        "tensor_identity=mutual",
        "storage_identity=rewrap",
        "storage_identity=mutual",
        "node_identity=cached",
        "node_identity=resurrect",
        "node_identity=mutual",
        "function_ownership=node_owns_ctx",
        "saved_slot=owning",
        "unpack_schedule=upfront",
    )
)
RELEASES = (
    "torch-1.1", "torch-1.2", "torch-1.8", "torch-1.9", "torch-1.10", "torch-1.13", "torch-2.9", "torch-2.10", "torch-2.13",
    "torch-2.14", "oneflow-0.8", "oneflow-0.9", "micrograd",
)  # fmt: skip


EARLY = "unpack_schedule=upfront"  # refuses before running anything, so less is done after a refusal


@dataclass(frozen=True)
class Violation:
    """A shrunk program after which an invariant fails, with the profile and the invariant."""

    program: Program
    profile: str
    text: str
    index: int


class ProfileWorld(World):
    """A world whose steps run under one engine profile."""

    def __init__(self, engine: Any, program: Program, profile: str) -> None:
        super().__init__(engine, program)
        self.profile = profile

    def run(self, number: int, text: str) -> str:
        with self.fw.profile(self.profile):
            return super().run(number, text)


def profiles_of(index: int) -> tuple[str, str]:
    """Return the ownership variant and the release that a program runs under, each in turn."""
    return VARIANTS[index % len(VARIANTS)], RELEASES[index % len(RELEASES)]


def violation(program: Program, engine: Any, profile: str) -> str:
    """Return the rule that the program violates under a profile; "" if there is none."""
    names = (BASE, profile) if profile in VARIANTS else (profile,)
    worlds = [ProfileWorld(engine, program, name) for name in names]
    differing = list(values_differ(program, worlds))
    for world in worlds:
        world.end()
    settle(engine)
    found = [*differing, *imbalances(engine)]
    gc.freeze()
    return "; ".join(found[:3])


def values_differ(program: Program, worlds: list[ProfileWorld]) -> Iterator[str]:
    """Run the steps and return the first values that differ, as long as the worlds refuse the same steps."""
    agrees = len(worlds) > 1
    for number, step in enumerate(program.steps):
        errors = [world.run(number, step.text) for world in worlds]
        agrees = agrees and len(set(errors)) == 1 and not (errors[0] and EARLY in worlds[-1].profile)
        values = [world.values() for world in worlds] if agrees else []
        if agrees and not alike(values[0], values[-1], tolerance_for(program)):
            yield f"step {number} gives {values[0]} under {BASE} and {values[-1]} here"
            agrees = False


def check_programs(engine: Any, seed: int, first: int, end: int) -> Iterator[list[Violation]]:
    """Check programs first..end, each under a variant and a release; ending the process is a violation, too."""
    place = mmap.mmap(-1, NUMBER.size)
    while first < end:
        stop = min(first + AT_A_TIME, end)
        found = in_child(lambda start=first, stop=stop: check_slice(engine, seed, range(start, stop), place))  # type: ignore[misc]
        if isinstance(found, Died):
            (stop,) = NUMBER.unpack(place[:])
            found = [ended(engine, write_program(seed, stop), stop, found)]
        yield [shrunk_violation(engine, item) for item in found]
        first = found[-1].index + 1 if found else stop


def ended(engine: Any, program: Program, index: int, died: Died) -> Violation:
    """Return under which of its two profiles a program ended the process."""
    variant, release = profiles_of(index)
    alone = in_child(lambda: violation(program, engine, variant), SECONDS_A_PROGRAM)
    return Violation(program, variant if isinstance(alone, Died) else release, f"the process ended: {died.text}", index)


def check_slice(engine: Any, seed: int, indices: range, place: mmap.mmap) -> list[Violation]:
    """Return the first violation of these programs, run here: its damage would be blamed on the next one."""
    gc.disable()
    settle(engine)
    gc.freeze()
    for index in indices:
        place[:] = NUMBER.pack(index)
        signal.alarm(SECONDS_A_PROGRAM)
        program = write_program(seed, index)
        for profile in profiles_of(index):
            if text := violation(program, engine, profile):
                signal.alarm(0)
                return [Violation(program, profile, text, index)]
    signal.alarm(0)
    return []


def shrunk_violation(engine: Any, item: Violation) -> Violation:
    """Return the smallest program that also violates something; each is tried in its own child."""

    def fails(smaller: Program) -> bool:
        return bool(in_child(lambda: violation(smaller, engine, item.profile), SECONDS_A_PROGRAM))

    return replace(item, program=canonical(shrunk(item.program, fails))) if fails(item.program) else item
