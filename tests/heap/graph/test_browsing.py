"""Going through a snapshot: what is kept by what, who refers to whom, what is found by its name."""

from __future__ import annotations

import collections
import functools
import gc
from typing import Any

import pytest

from gradlife.errors import UnknownNameError
from gradlife.heap import snapshot
from gradlife.heap.views.browsing import ALL, MAX_STEPS, PROCESS, UNREACHED, Browser
from gradlife.model.trace import Lifetime


class Crate:
    def __init__(self, count: int) -> None:
        self.apples = [object() for _ in range(count)]
        self.shared = SHARED


class Slotted:
    __slots__ = ("following", "payload_of_slots")

    def __init__(self, following: Any) -> None:
        self.following = following
        self.payload_of_slots = [None]


class Loop:
    pass


SHARED = ["known to a module and to crates"]
CRATE = Crate(300)
CHAIN: Any = functools.reduce(lambda before, _: Slotted(before), range(400), None)


@functools.cache
def browser() -> Browser:
    """One for all tests; with a ring that only the collector will free."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        loop = Loop()
        loop.itself = loop  # type: ignore[attr-defined]
        del loop
        return Browser(snapshot())
    finally:
        if was_enabled:
            gc.enable()


def node_of(value: object) -> int:
    (node,) = browser().find(hex(id(value)))
    return node


def test_each_node_that_a_root_reaches_is_kept_by_its_dominator_and_the_rest_by_none() -> None:
    graph = browser()._graph
    kept: dict[int | None, set[int]] = collections.defaultdict(set)
    for node in range(1, graph.node_count):
        kept[graph.dominator(node)].add(node)
    for above in [*range(0, graph.node_count, 7), None]:
        count, nodes = graph.dominated(above, 0, ALL)
        assert (count, set(nodes)) == (len(kept[above]), kept[above])
        retained = [graph.retained(node) for node in nodes]
        assert retained == sorted(retained, reverse=True)


def test_a_part_of_what_is_kept_is_given_by_its_place() -> None:
    graph = browser()._graph
    node = node_of(CRATE.apples)
    count, nodes = graph.dominated(node, 0, ALL)
    assert count == 300
    assert graph.dominated(node, 10, 5) == (300, nodes[10:15])
    assert graph.dominated(node, 298, 5) == (300, nodes[298:])
    assert graph.dominated(node, 400, 5) == (300, [])


@pytest.mark.parametrize(("node", "first", "count"), [(1 << 40, 0, 1), (0, -1, 1), (0, 0, -1)])
def test_what_is_no_place_is_refused(node: int, first: int, count: int) -> None:
    with pytest.raises(IndexError):
        browser()._graph.dominated(node, first, count)


def test_a_search_without_a_text_or_with_another_type_is_refused() -> None:
    assert browser().find("  ") == []
    with pytest.raises(TypeError):
        browser()._graph.search(5, 1)  # type: ignore[arg-type]


def test_a_row_shows_sizes_and_how_the_object_above_refers_to_it() -> None:
    row = browser().row(node_of(CRATE.apples), node_of(CRATE))
    assert (row.type, row.detail, row.via, row.is_shared) == ("list", "len 300", ".apples", False)
    assert (row.address, row.keeps) == (id(CRATE.apples), 300)
    assert row.retained == row.bytes + 300 * object().__sizeof__()


def test_what_several_hold_is_named_by_one_path_to_it() -> None:
    row = browser().row(node_of(SHARED), PROCESS)
    assert row.is_shared
    assert row.via.endswith(("global variable 'SHARED'", ".shared", "['SHARED']"))


def test_a_dict_of_attributes_is_shown_as_a_part_of_its_object() -> None:
    crate = Crate(3)
    crate.__dict__["late"] = [1]
    taken = Browser(snapshot())
    (node,) = taken.find(hex(id(crate)))
    names = [taken.row(one, node).via for one in taken.kept(node)]
    assert sorted(name for name in names if name) == [".apples", ".late"]
    (late,) = taken.find(hex(id(crate.late)))  # type: ignore[attr-defined]
    assert taken.above(late)[-2:] == [node, late]


def test_the_path_from_the_outermost_object_ends_at_the_object() -> None:
    taken = browser()
    apple = node_of(CRATE.apples[7])
    chain = taken.above(apple)
    assert chain[-2:] == [node_of(CRATE.apples), apple]
    for above, below in zip([PROCESS, *chain], chain, strict=False):
        assert below in taken.kept(above)


def test_what_no_root_reaches_stands_apart() -> None:
    taken = browser()
    (ring,) = [node for node in taken.find("test_browsing.Loop") if taken.row(node).type.endswith("Loop")]
    assert taken.above(ring) == []
    assert ring in taken.kept(UNREACHED)
    assert taken.kept_count(UNREACHED) == len(taken.kept(UNREACHED))
    assert (taken.row(ring).retained, taken.trace(ring).lifetime) == (0, Lifetime.GC)


def test_referrers_and_referents_are_reported_once_each_with_the_name_of_the_reference() -> None:
    taken = browser()
    node = node_of(CRATE.apples)
    assert [taken.referrer(one, node).via for one in taken.referrers(node)] == [".apples"]
    assert len(taken.referents(node)) == 300
    assert taken.row(taken.referents(node)[0], node).via.startswith("[")


@pytest.mark.parametrize("text", ["payload_of_slots", "PAYLOAD_of_", "d_of_slot"])
def test_a_search_finds_what_an_attribute_is_called(text: str) -> None:
    found = browser().find(text)
    assert {id(CHAIN.payload_of_slots)} <= {browser().row(node).address for node in found}


def test_a_search_finds_types_most_retained_first_and_addresses_alone() -> None:
    taken = browser()
    found = [node for node in taken.find("test_browsing.Slotted") if taken.row(node).type.endswith("Slotted")]
    assert (len(found), found[0]) == (400, node_of(CHAIN))
    assert taken.find(str(id(CRATE))) == [node_of(CRATE)]
    assert taken.find("0x10") == taken.find("99999999999999999999") == taken.find("nothing is called so") == []
    kind, name = taken.row(found[0]).kind, taken.row(found[0]).type
    assert len(taken.of_type(kind, name)) == 400


def test_of_a_long_path_the_middle_is_counted() -> None:
    taken = browser()
    at = CHAIN
    while at.following is not None:
        at = at.following
    trace = taken.trace(node_of(at))
    assert len(trace.steps) <= MAX_STEPS + 1
    (gap,) = [step for step in trace.steps if step.kind == "gap"]
    assert (gap.object, gap.via) == ("", "...")
    assert gap.detail.endswith(" more objects")
    assert trace.steps[-2].via == ".following"
    assert (trace.lifetime, trace.steps[-1].object) == (Lifetime.HELD, "Slotted")


def test_without_labels_only_types_are_found() -> None:
    taken = Browser(snapshot(labels=False))
    assert taken.find("payload_of_slots") == []
    assert len(taken.find("test_browsing.Slotted")) >= 400


def test_the_preparations_are_those_that_every_list_needs() -> None:
    taken = Browser(snapshot())
    seen = []
    for words, prepare in taken.preparations():
        seen.append(words)
        prepare()
    assert seen == [
        "computing retained sizes",
        "finding the paths from the roots",
        "sorting by retained size",
    ]
    assert taken.bytes == taken._graph.retained(PROCESS)


def test_a_snapshot_is_asked_by_name_where_no_type_is_called_so() -> None:
    taken = browser().snapshot
    assert taken.why("payload_of_slots").steps[-2].via == ".payload_of_slots"
    assert taken.why("CRATE").object == "Crate"
    assert taken.why("Crate").object == "Crate"
    for name in ("payload_of_slot", "\udcff", ""):
        with pytest.raises(UnknownNameError, match="unknown type"):
            taken.why(name)
    found = {one.type for one in taken.find("payload_of_slots", 3)}
    assert {"list"} <= found <= {"list", "member_descriptor"}  # the class has it by that name, too
