"""Garbage of the old generation at a program's end: the collector would free it, so it is no leak."""

from __future__ import annotations

import gc
from collections import deque

import pytest

from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.snapshots import step_snapshots
from gradlife.hunting.steps.schedule import Schedule
from gradlife.model.hunt import HuntReport, HuntVerdict
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


class Branch:
    """A node of a tree, in a cycle with its children."""

    def __init__(self, parent: Branch | None = None) -> None:
        self.parent = parent
        self.prior = torch.ones(1024)  # what malloc gives for it counts as growth, too
        self.children: list[Branch] = []


@pytest.mark.parametrize("steps", [32, 40])
def test_what_old_garbage_keeps_is_no_growth_of_a_program_that_ends_early(steps: int) -> None:
    """A search tree whose root moves down: the first old root keeps all later ones until a full collection."""
    root = [Branch()]

    def step() -> None:
        root[0].children = [Branch(root[0]) for _ in range(4)]
        root[0] = root[0].children[1]
        root[0].parent = None

    report = hunted(Schedule(may_end=True), repeated(step, steps))
    assert (report.verdict, report.findings) == (HuntVerdict.CLEAN, ())


def full_collections(monkeypatch: pytest.MonkeyPatch, garbage: range) -> tuple[list[int], list[int]]:
    """After which steps a hunt of a growing list runs full collections, and takes the snapshots that it keeps.

    Steps in the range also leave a ring in the old generation, as `report_after` does.
    """
    kept: list[object] = []
    young: deque[Ring] = deque(maxlen=3)
    full: list[int] = []

    def step() -> None:
        kept.append(torch.ones(8))
        if len(kept) in garbage:
            young.append(Ring())
            gc.collect(1)

    def collect(generation: int) -> None:
        if generation == 2:
            full.append(hunt.steps)
        gc.collect(generation)

    monkeypatch.setattr(step_snapshots, "collect", collect)
    hunt = Hunt(Schedule(may_end=True))
    counter = Counter(hunt)
    repeated(step, 270)(counter.step)
    found = full, [one.steps for one in hunt.snapshots]
    hunt.close()
    return found


#: The steps after which a hunt with extra rounds takes its snapshots.
SNAPSHOTS = [5, 10, 17, 28, 50, 79, 110, 171, 260]


def test_a_full_collection_that_would_free_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert full_collections(monkeypatch, range(0)) == ([5], SNAPSHOTS)


def test_garbage_of_the_old_generation_is_collected_before_the_last_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    assert full_collections(monkeypatch, range(40, 1000)) == ([5, 110, 260], SNAPSHOTS)


def test_old_garbage_that_comes_late_is_collected_and_the_snapshot_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert full_collections(monkeypatch, range(85, 105)) == ([5, 110], SNAPSHOTS)
