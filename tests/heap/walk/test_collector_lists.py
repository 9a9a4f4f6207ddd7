"""The walk reads the collector's own lists, from both ends: every object comes once, whatever the collector is at."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from gradlife import _heap


class Plain:
    """An object that the collector knows."""


@pytest.fixture
def young_and_few() -> Iterator[None]:
    """The youngest list is empty when the test begins, and stays the youngest."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def addresses(graph: _heap.Graph) -> list[int]:
    return [graph.describe(node)[2] for node in range(graph.node_count)]


@pytest.mark.usefixtures("young_and_few")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 1001])
def test_each_object_of_a_short_list_is_seen_once(count: int) -> None:
    made = [Plain() for _ in range(count)]
    seen = addresses(_heap.walk())
    assert {id(each) for each in made} <= set(seen)
    assert len(seen) == len(set(seen))


def test_frozen_objects_are_seen_with_the_others() -> None:
    frozen = [Plain() for _ in range(3)]
    gc.freeze()
    try:
        later = [Plain() for _ in range(3)]
        seen = addresses(_heap.walk())
    finally:
        gc.unfreeze()
    assert {id(each) for each in (*frozen, *later)} <= set(seen)
    assert len(seen) == len(set(seen))


class Asking:
    """Garbage that looks at the heap while the collector frees it."""

    def __init__(self, answers: list[list[int]]) -> None:
        self.itself = self
        self.answers = answers

    def __del__(self) -> None:
        self.answers.append(addresses(_heap.walk()))


def test_a_walk_in_the_middle_of_a_collection_sees_every_object_once() -> None:
    kept, answers = [Plain() for _ in range(5)], list[list[int]]()
    Asking(answers)
    gc.collect()
    [seen] = answers
    assert {id(each) for each in kept} <= set(seen)
    assert len(seen) == len(set(seen))
