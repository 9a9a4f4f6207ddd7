"""Garbage of the old generation at a program's end: the collector would free it, so it is no leak."""

from __future__ import annotations

import gc
from collections import deque

import pytest

from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport
from script_hunts import hunted, repeated

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.whole


class Ring:
    """An object in a cycle with a tensor."""

    def __init__(self) -> None:
        self.tensor = torch.ones(64)
        self.itself = self


def report_after(steps: int) -> HuntReport:
    """A hunt that the program ends: each ring is dropped after it has moved to the old generation."""
    young: deque[Ring] = deque(maxlen=9)

    def step() -> None:
        young.append(Ring())
        gc.collect(1)

    return hunted(Schedule(may_end=True), repeated(step, steps))


def test_cycles_that_await_a_full_collection_are_no_leak_of_a_program_that_ends_early() -> None:
    report = report_after(60)
    assert [round.steps for round in report.rounds] == [5, 7, 11, 22]
    assert [one.kind for one in report.findings if one.lifetime.value == "never"] == []
