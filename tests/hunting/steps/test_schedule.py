"""The distribution of steps over rounds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_waiting_for_a_busy_processor_is_no_time_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited = iter([100.0, 110.0]), iter(["0 2000000000 1", "0 9000000000 1"])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Path, "read_text", lambda self: next(waited))
    clock = Clock()
    clock.stop()
    assert clock.seconds == 3.0


@pytest.mark.parametrize("text", ["", "0", "nothing at all"])
def test_where_a_system_does_not_tell_all_time_counts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 110.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(Path, "read_text", lambda self: text)
    clock = Clock()
    clock.stop()
    assert clock.seconds == 10.0
