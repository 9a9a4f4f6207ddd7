"""Lists and arrays of a fixed size whose items are set one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

from gradlife.hunting.findings.severity import Room  # noqa: E402
from gradlife.hunting.growth.fixed_size import empty_slots  # noqa: E402
from gradlife.hunting.growth.reachable_growth import grown_groups  # noqa: E402
from gradlife.hunting.session.judgement import split_by_intent  # noqa: E402
from gradlife.hunting.snapshots.creation_sites import CreationSites  # noqa: E402
from step_evidence import evidence, has_tensors  # noqa: E402

LENGTHS = (3, 11, 13, 17)


def judged(step: Callable[[int], object], free: int = 1 << 33) -> tuple[int, list[str]]:
    """Count the leaks, and return how the growth that is meant is explained."""
    found = evidence(step, *LENGTHS)
    grown = [one for one in grown_groups(found)[0] if has_tensors(found, one.group.members)]
    leaks, meant = split_by_intent(found.graph, grown, CreationSites(), Room(free, 1e6), found.snapshots)
    return len(leaks), [one.what.rpartition(": ")[2] for one in meant]


@pytest.mark.whole
@pytest.mark.parametrize(
    "ring", [[None] * 1000, numpy.zeros(1000, dtype=object), numpy.full(1000, None)], ids=["list", "zeros", "full"]
)
def test_a_ring_buffer_that_has_not_come_round_yet_is_not_full(ring: Any) -> None:
    """It was a list that grows."""

    def step(number: int) -> None:
        ring[number % len(ring)] = (torch.ones(8), number)

    leaks, [explained] = judged(step)
    assert (leaks, explained.startswith("it has a fixed size, and 9")) == (0, True)


@pytest.mark.whole
def test_a_ring_buffer_that_would_fill_the_memory_first_is_a_leak() -> None:
    ring: list[Any] = [None] * 100_000

    def step(number: int) -> None:
        ring[number % len(ring)] = torch.ones(1 << 10)

    assert judged(step, free=1 << 20) == (1, [])


@pytest.mark.whole
def test_a_list_that_gets_longer_within_its_spare_room_has_no_fixed_size() -> None:
    """A list of numbers has room for some more items: its bytes stay the same for a while."""
    items: list[Any] = list(range(10_000))
    items.append(None)
    assert judged(lambda number: items.append(torch.ones(8))) == (1, [])


@pytest.mark.whole
def test_a_dict_has_no_fixed_size() -> None:
    items: dict[int, Any] = dict.fromkeys(range(1000))

    def step(number: int) -> None:
        items[number + 1000] = torch.ones(8)

    assert judged(step) == (1, [])


@pytest.mark.whole
def test_a_full_list_has_no_empty_items() -> None:
    ring = [torch.ones(1) for _ in range(20)]

    def step(number: int) -> None:
        ring[number % len(ring)] = torch.ones(8)

    found = evidence(step, *LENGTHS)
    node = found.graph.find(id(ring))
    assert node is not None
    assert empty_slots(found.snapshots, node) == 0
