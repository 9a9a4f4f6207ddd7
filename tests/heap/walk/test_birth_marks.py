"""Marks in the collector's list: when an object was born is known, whatever its address and whatever the collector did."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gradlife import _heap

#: The low bits of a birth: the moment, counted from the first mark.
MOMENT = (1 << 32) - 1


@pytest.fixture(autouse=True)
def births() -> Iterator[None]:
    """Note births in each test."""
    _heap.begin_births()
    yield
    _heap.end_births()


def moment_of(graph: _heap.Graph, one: object) -> int:
    """Return after how many marks an object was born."""
    birth = graph.birth(graph.find(id(one)) or 0)
    assert birth is not None
    return birth & MOMENT


STEPS = st.sampled_from(["add", "drop", "cycle", "mark", "collect", "collect young"])


@given(st.lists(STEPS, max_size=60), st.randoms(use_true_random=False))
def test_births_are_exact_whatever_the_program_and_the_collector_do(steps: list[str], random: Any) -> None:
    born: list[Any] = []
    start = moment_of(_heap.walk(), born)
    kept: list[list[Any]] = []
    moments: list[int] = []
    now = start
    for step in steps:
        if step == "add":
            kept.append([[]])
            moments.append(now)
        elif step == "drop" and kept:
            at = random.randrange(len(kept))
            del kept[at], moments[at]
        elif step == "cycle":
            cycle: list[Any] = []
            cycle.append(cycle)
        elif step == "mark":
            _heap.mark_births()
            now += 1
        elif step.startswith("collect"):
            gc.collect(1 if step.endswith("young") else 2)
    graph = _heap.walk()
    assert [moment_of(graph, one) for one in kept] == moments
    assert [moment_of(graph, one[0]) for one in kept] == moments


def test_an_object_at_the_address_of_a_freed_one_is_new() -> None:
    class Slots:
        __slots__ = ("value",)

    kept = [Slots() for _ in range(100)]
    before = _heap.walk()
    addresses = {id(one) for one in kept}
    _heap.mark_births()
    kept[:] = [Slots() for _ in range(0)]
    kept.extend(Slots() for _ in range(100))
    after = _heap.walk()
    again = [one for one in kept if id(one) in addresses]
    assert again, "CPython hands out what was freed last"
    (row,) = (row for row in _heap.compare_objects(before, after, 1000) if row[0].endswith("Slots"))
    _name, _kind, new, gone, _grown, _nodes = row
    assert (new[0], gone[0]) == (100, 100)


@pytest.mark.skipif(gc.is_tracked({"a": "text"}), reason="from Python 3.14 on every dict is tracked")
def test_a_dict_that_the_collector_did_not_track_is_not_new_when_it_does() -> None:
    table: dict[str, object] = {"a": "text"}
    gc.collect()
    assert not gc.is_tracked(table)
    before = _heap.walk()
    _heap.mark_births()
    table["b"] = []
    assert gc.is_tracked(table)
    after = _heap.walk()
    new = {node for row in _heap.compare_objects(before, after, 100_000) for node in row[5]}
    assert after.find(id(table["b"])) in new
    assert after.find(id(table)) not in new


@pytest.mark.skipif(gc.is_tracked({"a": "text"}), reason="from Python 3.14 on every dict is tracked")
def test_a_tracked_dict_at_the_address_of_an_untracked_one_that_others_held_is_new() -> None:
    kept = [{"a": number} for number in range(100)]
    assert not any(map(gc.is_tracked, kept))
    addresses = {id(one) for one in kept}
    before = _heap.walk()
    _heap.mark_births()
    del kept
    others = [{"a": [number]} for number in range(100)]
    after = _heap.walk()
    again = {after.find(id(one)) for one in others if id(one) in addresses}
    assert again, "CPython hands out what was freed last"
    (nodes,) = (row[5] for row in _heap.compare_objects(before, after, 100_000) if row[:2] == ("dict", "python"))
    assert again <= set(nodes)


def test_a_program_that_freezes_objects_begins_a_new_line_of_marks() -> None:
    kept = [[]]  # type: ignore[var-annotated]
    assert _heap.walk().has_births
    gc.freeze()
    try:
        assert not _heap.walk().has_births
        _heap.mark_births()
        kept.append([])
        graph = _heap.walk()
        assert (moment_of(graph, kept[0]), moment_of(graph, kept[1])) == (0, 1)
    finally:
        gc.unfreeze()
    assert _heap.walk().has_births  # what was frozen seems new, but the marks stand


def test_noting_ends_when_all_that_began_it_have_ended() -> None:
    _heap.begin_births()
    assert list[object](gc.callbacks).count(_heap.restore_births) == 1
    _heap.end_births()
    assert _heap.walk().has_births
    _heap.end_births()
    assert list[object](gc.callbacks).count(_heap.restore_births) == 0
    assert not _heap.walk().has_births
    _heap.begin_births()


def test_the_collector_works_as_before() -> None:
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    collected = []
    for _ in range(3):
        for _ in range(10):
            cycle: list[Any] = []
            cycle.append(cycle)
        del cycle
        _heap.mark_births()
        collected.append(gc.collect())
    assert collected[1:] == [10, 10]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, frozen)


def test_lengths_are_those_of_the_containers() -> None:
    kept: list[Any] = [[1, 2, 3], {"a": 1, "b": 2}, {1, 2, 3, 4}, frozenset({1}), [], object()]
    graph = _heap.walk()
    assert [graph.length(graph.find(id(one)) or 0) for one in kept] == [3, 2, 4, 1, None, None]


def test_small_text_that_only_a_container_holds_is_counted_to_it() -> None:
    texts = {f"key {number}": number for number in range(2000, 2100)}  # no small int: 1,024 is one from 3.15 on
    shared = ["text"] * 100
    graph = _heap.walk(sizes=True, min_atom_bytes=512)
    wanted = sum(key.__sizeof__() + number.__sizeof__() for key, number in texts.items())
    assert graph.atom_bytes(graph.find(id(texts)) or 0) == wanted
    assert graph.atom_bytes(graph.find(id(shared)) or 0) == 0
