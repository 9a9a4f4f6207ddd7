"""Run many programs of one seed on two systems, in children that may crash, and gather the differences."""

from __future__ import annotations

import gc
import mmap
import pickle
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.fuzz.children import Died, in_child
from benchmarks.fuzz.coverage import Coverage
from benchmarks.fuzz.known import known_reason
from benchmarks.fuzz.lockstep import run_alone, run_both
from benchmarks.fuzz.program import NEWEST, Difference, Program
from benchmarks.fuzz.shrink import canonical, shrunk
from benchmarks.fuzz.writer import write_program

AT_A_TIME = 100  # programs per child: leaks end with the child, and a crash repeats this many
SECONDS_A_PROGRAM = 20
SHRINK_SECONDS = 60
CRASHES = 20  # candidates, after which the smallest so far is used
BOARD_BYTES = 1 << 16
NUMBER = struct.Struct("q")


@dataclass(frozen=True)
class Found:
    """A shrunk difference, the number of a program that shows it, and the reason if it is accepted."""

    program: Program
    difference: Difference
    index: int
    reason: str = ""


@dataclass
class Slice:
    """The results of some programs."""

    coverage: Coverage = field(default_factory=Coverage)
    found: list[Found] = field(default_factory=list)
    differing: int = 0
    peer_crashes: list[int] = field(default_factory=list)  # programs that end the second system's process

    def add(self, other: Slice) -> None:
        self.coverage.add(other.coverage)
        self.found += other.found
        self.differing += other.differing
        self.peer_crashes += other.peer_crashes


@dataclass(frozen=True)
class Systems:
    """Two frameworks under torch's names; the second is the reference for the first."""

    first: Any
    second: Any

    def program(self, seed: int, index: int) -> Program:
        """Write a program of what the second system has."""
        return write_program(seed, index).fitted(getattr(self.second, "release", NEWEST))

    def difference(self, program: Program) -> Difference | None:
        return run_both(program, self.first, self.second).difference


def run_slices(systems: Systems, seed: int, first: int, end: int, shrinks: int) -> Iterator[Slice]:
    """Run programs first..end in one child after another; a program that ends its child is judged alone."""
    place = mmap.mmap(-1, NUMBER.size)
    while first < end:
        stop = min(first + AT_A_TIME, end)
        one = in_child(lambda start=first, stop=stop: run_slice(systems, seed, range(start, stop), place))  # type: ignore[misc]
        if isinstance(one, Died):
            (crashed,) = NUMBER.unpack(place[:])
            if crashed > first:
                again = in_child(lambda start=first, stop=crashed: run_slice(systems, seed, range(start, stop), place))  # type: ignore[misc]
                one = explained(systems, again, shrinks) if isinstance(again, Slice) else Slice()
                shrinks = max(shrinks - len(one.found), 0)
                yield one
            yield judged_alone(systems, seed, crashed)
            first = crashed + 1
        else:
            yield explained(systems, one, shrinks)
            shrinks = max(shrinks - len(one.found), 0)
            first = stop


def explained(systems: Systems, one: Slice, shrinks: int) -> Slice:
    """Shrink the first differences of a slice, and give each the reason if it is accepted."""
    small = [shrink_safely(systems, item) for item in one.found[:shrinks]]
    one.found = small + [as_it_is(item) for item in one.found[shrinks:]]
    return one


def run_slice(systems: Systems, seed: int, indices: range, place: mmap.mmap) -> Slice:
    """Run these programs here, keeping the current number where it survives a crash."""
    gc.disable()
    gc.collect()
    gc.freeze()
    result = Slice()
    for index in indices:
        place[:] = NUMBER.pack(index)
        signal.alarm(SECONDS_A_PROGRAM)
        program = systems.program(seed, index)
        outcome = run_both(program, systems.first, systems.second)
        result.coverage.count(program, outcome)
        if outcome.difference is not None:
            result.differing += 1
            result.found.append(Found(program, outcome.difference, index))
    signal.alarm(0)
    return result


def judged_alone(systems: Systems, seed: int, index: int) -> Slice:
    """Judge a program again alone: a crash of the second system is no error of the first."""
    program = systems.program(seed, index)
    died = in_child(lambda: run_alone(program, systems.first), SECONDS_A_PROGRAM)
    if isinstance(died, Died):
        small = shrunk(
            program, lambda smaller: died == in_child(lambda: run_alone(smaller, systems.first), SECONDS_A_PROGRAM)
        )
        return Slice(found=[Found(small, Difference(0, "crash", died.text, ""), index)], differing=1)
    return Slice(peer_crashes=[index])


class Board:
    """Shared memory for a shrinking child's smallest program and next try, so that they survive a crash."""

    def __init__(self, program: Program) -> None:
        self.place = mmap.mmap(-1, BOARD_BYTES)
        self.write(program, program)

    def write(self, smallest: Program, tried: Program) -> None:
        self.place.seek(0)
        self.place.write(pickle.dumps((smallest, tried)))

    def read(self) -> tuple[Program, Program]:
        self.place.seek(0)
        smallest, tried = pickle.loads(self.place.read(BOARD_BYTES))  # from our own child
        return smallest, tried


def as_it_is(item: Found) -> Found:
    """Return an unshrunk difference, with the reason if it is accepted."""
    return replace(item, reason=known_reason(item.program, item.difference))


def shrink_safely(systems: Systems, item: Found) -> Found:
    """Shrink a difference in a child; a candidate that crashes is skipped, and another child continues."""
    board = Board(item.program)
    skipped: set[Program] = set()
    small: Program | Died = Died(0)
    while isinstance(small, Died) and len(skipped) < CRASHES:
        small = in_child(lambda: shrunk_here(systems, item, board, frozenset(skipped)), SHRINK_SECONDS)
        skipped.add(board.read()[1])
        if small == Died(signal.SIGALRM):
            break
    smallest = canonical(board.read()[0]) if isinstance(small, Died) else small
    difference = in_child(lambda: systems.difference(smallest), SECONDS_A_PROGRAM)
    if not isinstance(difference, Difference):
        return as_it_is(item)
    return Found(smallest, difference, item.index, known_reason(smallest, difference))


def shrunk_here(systems: Systems, item: Found, board: Board, skipped: frozenset[Program]) -> Program:
    """Shrink from the board's state, in this process."""
    smallest = board.read()[0]

    def fails(program: Program) -> bool:
        nonlocal smallest
        if program in skipped:
            return False
        board.write(smallest, program)
        difference = systems.difference(program)
        if difference is None or difference.kind != item.difference.kind:
            return False
        smallest = program
        return True

    return shrunk(smallest, fails)
