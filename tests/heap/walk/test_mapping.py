"""The part of a snapshot that fits on a page."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import pytest

from gradlife.errors import GradlifeError
from gradlife.heap import snapshot
from gradlife.heap.snapshot import Snapshot
from gradlife.heap.views.browsing import Browser
from gradlife.heap.views.heap_map import DEPTH, KEPT, NEIGHBOURS, heap_map, object_map
from gradlife.heap.views.overview import overview
from gradlife.model.heap_map import HeapMap, MappedObject
from leftovers import run_script


class Shelf:
    def __init__(self, count: int) -> None:
        self.boxes = [bytearray(10_000) for _ in range(count)]


class Link:
    __slots__ = ("next_one", "weight")

    def __init__(self, next_one: Any) -> None:
        self.next_one = next_one
        self.weight = bytearray(20_000)


SHELF = Shelf(1000)

#: Prints the bytes of the areas of a shelf and of its boxes, if they have one, and what the boxes retain.
ALONE = """
from gradlife.heap import snapshot
from gradlife.heap.views.heap_map import heap_map

class Shelf:
    def __init__(self):
        self.boxes = [bytearray(10_000) for _ in range(1000)]

shelf = Shelf()
drawn = heap_map(snapshot())
whole = {area.holder.address: area.bytes for area in drawn.areas if not area.is_rest}
boxes = next(one for one in drawn.objects if one.via == ".boxes")
print(whole.get(id(shelf)), whole.get(id(shelf.boxes)), boxes.retained)
"""
CHAIN = functools.reduce(lambda before, _: Link(before), range(100), None)


@functools.cache
def taken() -> Snapshot:
    return snapshot()


@functools.cache
def drawn() -> HeapMap:
    return heap_map(taken())


def of_type(name: str) -> list[MappedObject]:
    return [one for one in drawn().objects if one.type.endswith(name)]


@pytest.mark.whole
def test_the_objects_are_so_many_and_those_that_retain_most() -> None:
    retained = [one.retained for one in drawn().objects if one.above >= 0]
    assert len(retained) == 1200
    assert max(retained) == retained[0]
    (shelf,) = of_type(".Shelf")
    assert shelf.retained > 1000 * 10_000


def test_a_keeper_stands_before_what_it_keeps_and_retains_no_less() -> None:
    seen: dict[int, MappedObject] = {}
    for one in drawn().objects:
        assert one.above in (0, -1) or seen[one.above].retained >= one.retained
        seen[one.node] = one


def test_lists_have_their_first_and_counts_are_of_all() -> None:
    (shelf,) = of_type(".Shelf")
    boxes = next(one for one in drawn().objects if one.above == shelf.node and one.type == "list")
    assert (boxes.via, boxes.kept_count, boxes.referent_count) == (".boxes", 1000, 1000)
    assert NEIGHBOURS <= len(boxes.kept) <= KEPT
    assert len(boxes.referents) == NEIGHBOURS
    assert {part.type for part in boxes.kept} == {"bytearray"}
    assert boxes.referrers[0].via == ".boxes"


def test_a_long_chain_ends_at_a_depth() -> None:
    links = of_type(".Link")
    assert 0 < len(links) <= DEPTH
    assert min(one.retained for one in links) > 70 * 20_000


def test_areas_are_apart_and_no_more_than_all() -> None:
    found = drawn()
    assert 0 < sum(area.bytes for area in found.areas) <= found.reached_bytes
    assert len({(area.holder.node, area.is_rest) for area in found.areas}) == len(found.areas)
    assert max(area.bytes for area in found.areas) > 0.05 * found.reached_bytes


def test_what_mostly_holds_something_larger_is_divided() -> None:
    """In a process of its own: in a crowded one there are larger ones, and the shelf is part of what is left over."""
    ran = run_script(ALONE, PYTHONPATH=os.pathsep.join(sys.path))
    assert ran.stderr == ""
    shelf, boxes, retained = ran.stdout.split()
    assert (shelf, boxes) == ("None", retained)


@pytest.mark.torch
def test_storages_are_counted_by_device_for_all_that_retain_them() -> None:
    torch = pytest.importorskip("torch")
    tensors = [torch.ones(50_000) for _ in range(3)]
    now = snapshot()
    found = object_map(now, id(tensors))
    assert 600_000 <= dict(found.storages)["cpu"] < 601_000
    assert now.retained_by_device(id(tensors)) == {"cpu": found.retained}


def test_what_is_round_one_object_is_named_by_address_and_by_type() -> None:
    found = object_map(taken(), id(SHELF))
    assert found == object_map(taken(), "Shelf")
    assert (found.type.rpartition(".")[2], found.referrers[0].via) == ("Shelf", "['SHELF']")


def test_an_object_that_is_not_there_is_refused() -> None:
    with pytest.raises(GradlifeError, match="no object stands at 0x1"):
        object_map(taken(), 1)


def test_no_object_is_reported_twice() -> None:
    nodes = [one.node for one in drawn().objects]
    assert len(set(nodes)) == len(nodes)


def test_the_overview_has_all_types_and_some_cycles() -> None:
    view = overview(taken(), "x.glheap")
    assert view.types == taken().types()
    assert (view.file, len(view.cycles), view.objects) == ("x.glheap", 8, taken().objects)
    assert overview(taken(), "", 5, 0).types == taken().types()[:5]


def test_a_small_map_has_few_objects() -> None:
    small = heap_map(taken(), objects=20, areas=5)
    assert len([one for one in small.objects if one.above >= 0]) == 20
    assert len([area for area in small.areas if not area.is_rest]) <= 5
    assert Browser(taken()).bytes == small.reached_bytes


def test_a_part_of_the_heap_and_one_without_names_have_a_map_too() -> None:
    for part in (snapshot(budget=500), snapshot(labels=False)):
        small = heap_map(part, objects=20, areas=5)
        assert len(small.objects) >= 20
        assert sum(area.bytes for area in small.areas) <= small.reached_bytes
