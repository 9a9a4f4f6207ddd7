"""The cheap look: counts by type, and what is new since."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

import gradlife
from gradlife.heap import Census, census
from gradlife.model.heap import HeapDiff, TypeChange


class Thing:
    """Something that only this file makes."""


class Other:
    """Something else."""


KEPT: list[Any] = []


@pytest.fixture(autouse=True)
def _clean() -> Any:
    KEPT.clear()
    gc.collect()
    yield
    KEPT.clear()


def change_of(made: type, diff: HeapDiff) -> TypeChange | None:
    name = f"{made.__module__}.{made.__qualname__}"
    return next((row for row in diff.types if row.type == name), None)


def test_counts_are_those_of_the_collector() -> None:
    KEPT.extend(Thing() for _ in range(37))
    taken = census()
    expected = Counter(map(type, gc.get_objects()))
    counted = {row.type: row.count for row in taken.types()}
    assert counted[f"{__name__}.Thing"] == expected[Thing] == 37


def test_objects_that_were_frozen_count_too() -> None:
    KEPT.extend(Thing() for _ in range(3))
    gc.freeze()
    try:
        counted = {row.type: row.count for row in census().types()}
    finally:
        gc.unfreeze()
    assert counted[f"{__name__}.Thing"] == 3


def test_rows_come_by_frequency_and_without_roots() -> None:
    rows = census().types()
    assert [row.count for row in rows] == sorted((row.count for row in rows), reverse=True)
    assert {row.kind for row in rows} == {"python"}
    assert sum(row.count for row in rows) > 1000


def test_new_objects_are_counted_and_reported_by_address() -> None:
    before = census()
    KEPT.extend(Thing() for _ in range(5))
    change = change_of(Thing, before.changes())
    assert change is not None
    assert (change.new, change.gone) == (5, 0)
    assert {example.address for example in change.examples} <= {id(thing) for thing in KEPT}
    assert len(change.examples) == 3


def test_new_objects_are_described_while_they_live() -> None:
    before = census()
    KEPT.append([Thing(), Thing()])
    lists = next(row for row in before.changes().types if row.type == "list")
    assert "len 2" in {example.detail for example in lists.examples}


def test_gone_objects_are_counted() -> None:
    KEPT.extend(Thing() for _ in range(5))
    before = census()
    del KEPT[1:]
    change = change_of(Thing, before.changes())
    assert change is not None
    assert (change.new, change.gone, change.examples) == (0, 4, ())


def test_an_object_of_another_type_in_the_same_place_is_new() -> None:
    KEPT.extend(Thing() for _ in range(200))
    before = census()
    KEPT.clear()
    KEPT.extend(Other() for _ in range(200))
    diff = before.changes()
    gone, new = change_of(Thing, diff), change_of(Other, diff)
    assert gone is not None
    assert new is not None
    assert (gone.gone, new.new) == (200, 200)


@pytest.mark.parametrize("kept", [slice(0, 500), slice(500, 1000), slice(0, 1000, 2), slice(333, 335)])
def test_whatever_part_stays_the_difference_is_exact(kept: slice) -> None:
    KEPT.extend(Thing() for _ in range(1000))
    before = census()
    stay = KEPT[kept]
    count = len(stay)
    KEPT[:] = stay
    del stay
    change = change_of(Thing, before.changes())
    assert change is not None
    assert (change.new, change.gone) == (0, 1000 - count)


def test_collections_in_between_do_not_disturb_it() -> None:
    KEPT.extend(Thing() for _ in range(50))
    before = census()
    gc.collect()
    KEPT.extend(Thing() for _ in range(50))
    gc.collect(0)
    KEPT.extend(Thing() for _ in range(50))
    change = change_of(Thing, before.changes())
    assert change is not None
    assert (change.new, change.gone) == (100, 0)


def test_the_looking_itself_is_no_change() -> None:
    before = census()
    changes = before.changes()
    assert changes.types == ()


def test_an_object_that_comes_and_goes_is_no_change() -> None:
    before = census()
    KEPT.append(Thing())
    KEPT.clear()
    assert change_of(Thing, before.changes()) is None


def test_no_code_of_the_program_runs() -> None:
    class Loud:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    KEPT.append(Loud())
    before = census()
    KEPT.append(Loud())
    change = change_of(Loud, before.changes())
    assert change is not None
    assert change.new == 1


def test_it_is_named_at_the_top() -> None:
    assert isinstance(gradlife.census(), Census)
    assert repr(census()).startswith("<Census of ")
