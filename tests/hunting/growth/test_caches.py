"""Growth that is meant, and growth that only looks as if it had a bound."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradlife.hunting.growth.caches import outgrows  # noqa: E402
from gradlife.hunting.growth.reachable_growth import Evidence, evidence_of, grown_groups  # noqa: E402
from gradlife.hunting.session.judgement import split_by_intent  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from gradlife.hunting.snapshots.step_snapshots import take_snapshot  # noqa: E402
from step_evidence import evidence, has_tensors  # noqa: E402


def counts(step: Callable[[int], object]) -> tuple[int, int]:
    """Count the leaks, and the growth that is meant."""
    return judged(evidence(step, 3, 11, 13, 17))


def judged(found: Evidence) -> tuple[int, int]:
    """Count the leaks among what grew, and the growth that is meant."""
    grown = [one for one in grown_groups(found)[0] if has_tensors(found, one.group.members)]
    leaks, meant = split_by_intent(found.graph, grown, CreationSites())
    return len(leaks), len(meant)


@pytest.mark.whole
def test_a_deque_that_is_not_full_yet_is_meant_to_grow() -> None:
    memory: deque[Any] = deque(maxlen=1000)
    assert counts(lambda number: memory.append((torch.ones(8), number))) == (0, 1)


@pytest.mark.whole
def test_ever_more_deques_with_a_few_items_each_have_no_bound() -> None:
    memory: defaultdict[int, deque[Any]] = defaultdict(lambda: deque(maxlen=4))
    assert counts(lambda number: memory[number // 2].append(torch.ones(8))) == (1, 0)


@pytest.mark.whole
def test_lists_in_a_bounded_deque_that_get_longer_have_no_bound() -> None:
    memory: deque[list[Any]] = deque([[], []], maxlen=10)
    assert counts(lambda number: memory[1].append(torch.ones(8))) == (1, 0)


class Replay:
    """A buffer of a fixed size, which is not full yet."""

    def __init__(self, size: int) -> None:
        self.items: list[Any] = []
        self.size, self.next = size, 0

    def push(self, item: Any) -> None:
        """Add an item, or replace the oldest."""
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.next] = item
        self.next = (self.next + 1) % self.size


@pytest.mark.whole
def test_a_replay_buffer_that_is_not_full_yet_is_meant_to_grow_unless_it_keeps_graphs() -> None:
    replay, weight = Replay(1000), torch.ones(8, requires_grad=True)
    assert counts(lambda number: replay.push(torch.ones(8))) == (0, 1)
    assert counts(lambda number: replay.push(weight * 2)) == (1, 0)


@pytest.mark.whole
@pytest.mark.parametrize(("requires_grad", "wanted"), [(False, (0, 1)), (True, (1, 0))])
def test_the_list_of_a_comprehension_is_meant_to_grow_unless_it_keeps_graphs(
    requires_grad: bool, wanted: tuple[int, int]
) -> None:
    """It was a leak: `torch.cat([net(x) for x in data])` of 40 inputs in inference mode."""
    weight, snapshots = torch.ones(8, requires_grad=requires_grad), []

    def predict(number: int) -> Any:
        if number in (3, 14, 27, 44):
            snapshots.append(take_snapshot(number, with_labels=number == 44))
        return weight * 2

    assert len([predict(number) for number in range(45)]) == 45
    assert judged(evidence_of(snapshots)) == wanted


class Keep(logging.Handler):
    """Keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.records.append(record)


@pytest.mark.whole
def test_what_an_object_of_the_program_keeps_below_a_table_of_the_library_is_a_leak() -> None:
    """A handler that a logger holds kept all records: they were called a table of the library."""
    log, handler, number = logging.getLogger("gradlife.kept"), Keep(), 0
    log.addHandler(handler)
    try:
        found = evidence(lambda number: log.warning("sample %s", [[number] * 9 for _ in range(50)]), 3, 5, 7, 11)
        leaks, _ = split_by_intent(found.graph, grown_groups(found)[0], CreationSites())
    finally:
        log.removeHandler(handler)
    assert len(handler.records) == 26 + number
    assert [one for one in leaks if any(step.type.endswith(".Keep") for step in one.trace.steps)] != []


@pytest.mark.parametrize(("free", "is_too_large"), [(10**9, True), (10**13, False)])
def test_a_bound_that_memory_cannot_hold_is_none(free: int, is_too_large: bool) -> None:
    """A deque for a million tensors of 1 MB each was not full yet."""
    steps = [SimpleNamespace(most=1_000_000, length=100)]
    finding: Any = SimpleNamespace(trace=SimpleNamespace(steps=steps), retained_bytes=100 * 10**6)
    assert outgrows(finding, free) == is_too_large
