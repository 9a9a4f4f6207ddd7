"""The distribution of steps over rounds."""

from __future__ import annotations

import itertools
import math
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gradlife.hunting.steps.schedule import UNKNOWN_LENGTH, Clock, schedule_for


def is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


@pytest.mark.parametrize("is_endless", [True, False])
def test_rounds_are_primes_and_grow(is_endless: bool) -> None:
    rounds = schedule_for(None, is_endless=is_endless).rounds
    assert all(map(is_prime, rounds))
    assert list(rounds) == sorted(set(rounds))


@given(st.integers(1, 5000))
def test_no_more_steps_are_taken_than_were_asked_for(steps: int) -> None:
    schedule = schedule_for(steps, is_endless=True)
    assert schedule.warmup + sum(schedule.rounds) <= max(steps, 1)
    assert all(length > 0 for length in schedule.rounds)


@given(st.integers(40, 5000))
def test_so_many_steps_make_three_rounds_at_least(steps: int) -> None:
    assert len(schedule_for(steps, is_endless=True).rounds) >= 3
    assert len(schedule_for(steps, is_endless=True).rounds) <= len(UNKNOWN_LENGTH) + 1


@pytest.mark.parametrize(
    ("steps", "rounds"),
    [(4, (3,)), (7, (3, 3)), (8, (3, 4)), (12, (3, 3, 5)), (13, (3, 3, 3, 3)), (15, (3, 3, 3, 5)), (16, (5, 10))],
)
def test_few_steps_are_rounds_of_three(steps: int, rounds: tuple[int, ...]) -> None:
    assert schedule_for(steps, is_endless=True).rounds == rounds


def test_waiting_for_a_busy_processor_is_no_time_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited = iter([100.0, 110.0]), iter(["0 2000000000 1", "0 9000000000 1"])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Path, "read_text", lambda self: next(waited))
    clock = Clock()
    clock.start()
    clock.stop()
    assert clock.seconds == 3.0


@pytest.mark.parametrize("text", ["", "0", "nothing at all"])
def test_where_a_system_does_not_say_all_time_counts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 110.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Path, "read_text", lambda self: text)
    clock = Clock()
    clock.start()
    clock.stop()
    assert clock.seconds == 10.0


def test_seconds_of_waiting_in_another_thread_are_not_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited, threads = iter([100.0, 110.0]), iter(["0 2000000000 1", "0 9000000000 1"]), iter([1, 2])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(threading, "get_ident", lambda: next(threads))
    monkeypatch.setattr(Path, "read_text", lambda self: next(waited))
    clock = Clock()
    clock.start()
    clock.stop()
    assert clock.seconds == 10.0


def test_a_pause_counts_nothing_and_does_not_start_a_clock_that_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(0.0, 10.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Path, "read_text", lambda self: "")
    clock = Clock()
    with clock.paused():
        pass
    clock.stop()
    assert clock.seconds == 0.0
    clock.start()
    with clock.paused():
        next(now)
    clock.stop()
    assert clock.seconds == 20.0


def test_steps_that_were_asked_for_are_taken_however_slow_they_are() -> None:
    assert schedule_for(100, is_endless=False).patience == math.inf
