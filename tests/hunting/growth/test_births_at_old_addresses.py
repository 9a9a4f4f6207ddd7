"""A container that grows, and whose new items all stand where objects of their type were freed."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import pytest

from gradlife.hunting.growth.reachable_growth import Evidence, GrownGroup, grown_groups
from step_evidence import evidence

STEPS, COUNT = (7, 7, 7, 7), 12


class Record:
    """Something that matters: a class of the program, with an attribute."""

    def __init__(self) -> None:
        self.numbers = [1, 2, 3]


class Shelf:
    """A full shelf: each step puts new records in the place of some. The next step's get the addresses of those."""

    def __init__(self) -> None:
        self.records = [Record() for _ in range(sum(STEPS) * COUNT)]

    def renew(self, number: int) -> None:
        self.records[number * COUNT : (number + 1) * COUNT] = [Record() for _ in range(COUNT)]


@functools.cache
def computed(number: int) -> Record:
    return Record()


def add_to_dict(kept: dict[int, Record], number: int) -> None:
    kept[number] = Record()


def add_to_list(kept: list[Record] | collections.deque[Record], number: int) -> None:
    kept.append(Record())


def call(kept: Callable[[int], Record], number: int) -> None:
    kept(number)


def grown_below(found: Evidence, kept: object) -> list[GrownGroup]:
    """Return what grows in an object, or in one that it leads to: an unbounded cache keeps its results in a dict."""
    holder = found.graph.find(id(kept))
    return [one for one in grown_groups(found)[0] if any(holder in found.graph.path(node) for node in one.containers)]


def steps_that(add: Any, kept: Any) -> Evidence:
    """Return the evidence of steps that add records to `kept`, then renew as many on a shelf."""
    shelf = Shelf()

    def step(number: int) -> None:
        for place in range(COUNT):
            add(kept, number * COUNT + place)
        shelf.renew(number)

    return evidence(step, *STEPS)


@pytest.mark.parametrize(
    ("add", "kept"),
    [(add_to_list, []), (add_to_dict, {}), (add_to_list, collections.deque()), (call, computed)],
    ids=["list", "dict", "deque", "cache"],
)
def test_items_that_take_the_addresses_of_freed_ones_are_found_to_grow(add: Any, kept: Any) -> None:
    (one,) = grown_below(steps_that(add, kept), kept)
    assert one.per_step.retained_bytes >= COUNT * 150  # a record and its list


def test_renewed_records_alone_do_not_grow() -> None:
    shelf = Shelf()
    assert grown_below(evidence(shelf.renew, *STEPS), shelf.records) == []


def test_full_store_does_not_grow() -> None:
    kept = collections.deque((Record() for _ in range(COUNT)), maxlen=COUNT)
    assert grown_below(steps_that(add_to_list, kept), kept) == []
