"""Which parts of resident memory a report says to grow, from the balance of its rounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlife.model.hunt import MAPPED, Amounts, Control, HuntReport, HuntVerdict, Round
from gradlife.model.hunt_codec import decode, encode
from gradlife.model.memory_balance import MemoryBalance, ResidentPart

STEADY = MemoryBalance(resident=0, tensors=0, arrays=0, objects=0, native=0, reserve=0, files=0, shared=0)
STEPS = (5, 7, 11, 17, 29, 31)


def report_of(per_step: MemoryBalance, steps: tuple[int, ...] = STEPS) -> HuntReport:
    rounds = []
    for length in steps:
        names = ("resident", "tensors", "objects", "reserve", "files", "shared", "mapped")
        memory = replace(per_step, **{name: getattr(per_step, name) * length for name in names})
        rounds.append(Round(length, Amounts(), memory=memory))
    return HuntReport("train.py", "SGD.step", 5, tuple(rounds), (), controls=(Control("a", "growth", "growth"),))


def test_what_is_resident_and_no_part_is_unexplained() -> None:
    memory = replace(STEADY, resident=100, tensors=40, arrays=5, objects=20, native=10, reserve=-5, files=3, shared=2)
    assert memory.unexplained == 25


@pytest.mark.parametrize("part", [ResidentPart.FILES, ResidentPart.SHARED, ResidentPart.RESERVE])
def test_a_part_that_grows_in_each_of_the_last_rounds_is_said_and_no_growth_of_objects(part: ResidentPart) -> None:
    report = report_of(replace(STEADY, resident=20_000, **{part.value: 20_000}))
    assert report.resident_growth == {part: 20_000}
    assert report.verdict is HuntVerdict.CLEAN


def test_a_part_that_grows_by_less_than_pages_a_step_is_not_said() -> None:
    assert report_of(replace(STEADY, resident=16_000, files=16_000)).resident_growth == {}


def test_tensors_that_grow_are_no_growth_of_another_part() -> None:
    assert report_of(replace(STEADY, resident=20_000, tensors=20_000)).resident_growth == {}


def test_memory_that_nothing_accounts_for_makes_the_verdict_uncertain() -> None:
    report = report_of(replace(STEADY, resident=100_000, mapped=100_000))
    assert report.unexplained == {MAPPED: 100_000}
    assert report.verdict is HuntVerdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "memory",
    [
        pytest.param(replace(STEADY, resident=60_000, mapped=60_000), id="by less than counts"),
        pytest.param(replace(STEADY, resident=100_000), id="what was mapped before is touched"),
    ],
)
def test_memory_that_nothing_accounts_for_may_be_only_said(memory: MemoryBalance) -> None:
    report = report_of(memory)
    assert (report.unexplained, report.verdict) == ({}, HuntVerdict.CLEAN)
    assert report.resident_growth == {ResidentPart.UNEXPLAINED: memory.resident}


def test_three_rounds_are_too_few_to_say_what_resident_memory_does() -> None:
    report = report_of(replace(STEADY, resident=100_000, mapped=100_000), (5, 7, 11))
    assert (report.unexplained, report.resident_growth) == ({}, {})


def test_the_balance_survives_json() -> None:
    report = replace(report_of(replace(STEADY, resident=20_000, files=20_000)), mapped_file="/data/train.bin")
    document = encode(report)
    assert document["resident_growth"] == {"files": 20_000}
    assert decode(document) == report
