"""Collections that the hunt asks for and those that it does not, and garbage that nothing collects."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fabricated_hunts import LOSSES
from gradlife.hunting.findings.uncollected import as_leak
from gradlife.hunting.process import collector
from gradlife.hunting.process.collector import collect, count_foreign, is_off, may_have_young_garbage
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import Advice, FindingKind


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    yield
    if was_on:
        gc.enable()


def test_only_a_collection_that_the_hunt_did_not_ask_for_is_foreign() -> None:
    before = count_foreign()
    collect()
    collect(1)
    assert count_foreign() == before
    gc.collect(0)
    assert count_foreign() == before + 1


class Link:
    """A cycle of one object, with a finalizer."""

    def __init__(self, freed: list[int]) -> None:
        self.next: object = (self, [self])
        self.freed = freed

    def __del__(self) -> None:
        self.freed.append(1)


def test_a_lost_cycle_is_young_garbage_and_is_not_collected() -> None:
    gc.collect()
    freed: list[int] = []
    link = Link(freed)
    assert not may_have_young_garbage()
    del link
    assert [may_have_young_garbage(), may_have_young_garbage(), freed] == [True, True, []]
    gc.collect(0)
    assert (may_have_young_garbage(), freed) == (False, [1])


def test_a_young_cycle_that_an_older_object_holds_is_no_garbage() -> None:
    old: list[object] = [None]
    gc.collect()
    old[0] = Link([])
    assert not may_have_young_garbage()


def test_young_garbage_of_tensors_is_garbage() -> None:
    torch = pytest.importorskip("torch")
    gc.collect()
    lost = torch.ones(2)
    lost.itself = lost
    assert not may_have_young_garbage()
    del lost
    assert may_have_young_garbage()


def test_of_very_many_young_objects_some_may_be_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "MAX_YOUNG", 10)
    gc.collect()
    kept = [[number] for number in range(20)]
    assert may_have_young_garbage()
    assert len(kept) == 20


#: Freezes and gives back; prints the collector's number before, meanwhile and afterwards, and how many are frozen.
FREEZES = """\
import gc
from gradlife import _heap
from gradlife.hunting.process.collector import OldObjects
heap = [[number] for number in range(100_000)]
gc.collect()
{first}
before = _heap.raise_long_lived(0)
old = OldObjects()
old.freeze()
gc.collect()
meanwhile = _heap.raise_long_lived(0)
old.unfreeze()
print(before > 100_000, meanwhile < 1000, _heap.raise_long_lived(0) == before, gc.get_freeze_count() > 0)
"""


def output_of(source: str) -> str:
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout


def test_old_objects_of_a_service_come_back_with_their_number() -> None:
    """The collector compares new objects with that number: with a small one it soon stops the service."""
    assert output_of(FREEZES.format(first="")) == "True True True False\n"


def test_objects_that_the_program_has_frozen_stay_frozen() -> None:
    assert output_of(FREEZES.format(first="gc.freeze()")).endswith(" True\n")


def test_a_threshold_of_zero_switches_the_collector_off() -> None:
    assert is_off()
    gc.enable()
    assert not is_off()
    thresholds = gc.get_threshold()
    gc.set_threshold(0)
    try:
        assert is_off()
    finally:
        gc.set_threshold(*thresholds)


def begun() -> Hunt:
    """Return a hunt after its warm-up and first snapshot."""
    hunt = Hunt(schedule_for(20, is_endless=False))
    plan = hunt.plan()
    while hunt.warmup_steps == 0:
        next(plan)
    plan.close()
    hunt.close()
    return hunt


def test_garbage_is_uncollected_until_the_program_collects() -> None:
    hunt = begun()
    assert hunt.is_uncollected
    gc.collect()
    assert not hunt.is_uncollected


def test_garbage_is_not_uncollected_if_the_collector_was_or_is_on() -> None:
    hunt = begun()
    gc.enable()
    assert not hunt.is_uncollected
    hunt = begun()
    gc.disable()
    assert not hunt.is_uncollected


def test_a_cycle_that_nothing_collects_is_a_leak_and_says_why() -> None:
    known = replace(LOSSES.diagnosis, title="a cycle", reason="It waits.", advice=Advice("Clear it."))
    found = as_leak(replace(LOSSES, kind=FindingKind.NEEDS_GC, diagnosis=known))
    assert (found.kind, found.title) == (FindingKind.NEVER, "a cycle, and gc is disabled")
    assert found.diagnosis.reason == (
        "It waits. The collector is off, and the program did not call gc.collect() in the steps seen."
    )
    assert found.diagnosis.advice.text == "Call gc.enable(), or gc.collect() now and then. To need neither: clear it."
