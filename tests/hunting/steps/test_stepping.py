"""Counting down the steps of a plan, and what another thread may have done in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import SHORTAGE, Counter


class Planned:
    left: Callable[[], int]
    keeps_serving = False

    def __init__(self, *rounds: int) -> None:
        self.rounds = rounds
        self.done = 0

    def plan(self) -> Iterator[int]:
        for length in self.rounds:
            yield length
            self.done += 1

    def count_steps_of_others(self) -> None:
        """No other thread takes steps."""


class Short:
    """A plan whose snapshot finds no memory."""

    left: Callable[[], int]
    keeps_serving = False
    cut_short_by = ""

    def plan(self) -> Iterator[int]:
        yield 2
        raise MemoryError

    def count_steps_of_others(self) -> None:
        """No other thread takes steps."""


def counter_of(planned: Any) -> Counter:
    return Counter(cast(Hunt, planned))


def test_the_plan_goes_on_when_a_round_is_full() -> None:
    planned = Planned(2, 3)
    counter = counter_of(planned)
    assert [counter.step() for _ in range(5)] == [False, False, False, False, True]
    assert planned.done == 2


def test_the_end_is_reported_once() -> None:
    seen: list[str] = []
    counter = counter_of(Planned(2))
    counter.on_done = lambda: seen.append("done")
    for _ in range(4):
        counter.step()
    assert seen == ["done"]


def test_a_look_without_memory_ends_the_hunt_and_not_the_program() -> None:
    """The snapshot's MemoryError came out of the program's own `optimizer.step()`."""
    planned = Short()
    counter = counter_of(planned)
    assert [counter.step() for _ in range(3)] == [False, True, True]
    assert planned.cut_short_by == SHORTAGE


def test_an_errand_is_done_at_the_next_step_and_the_round_keeps_its_length() -> None:
    planned, result = Planned(5), []
    counter = counter_of(planned)
    counter.step()
    counter.interrupt(lambda: result.append(planned.left()))
    assert [counter.step() for _ in range(4)] == [False, False, False, True]
    assert result == [3]
    assert counter.withdraw()
