"""The native walk against the collector's own view, on heaps that hypothesis builds."""

from __future__ import annotations

import array
import ctypes
import gc
import io
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gradlife import _heap
from python_versions import INLINE_VALUES

#: Bytes in front of an object that the collector tracks.
COLLECTOR_HEADER = 16


class Plain:
    def __init__(self) -> None:
        self.first: Any = None


class Slotted:
    __slots__ = ("held", "other")

    def __init__(self) -> None:
        self.held: Any = None
        self.other: Any = None


def closure_over(value: Any) -> Callable[[], Any]:
    return lambda: value


def instance(children: list[Any]) -> Plain:
    made = Plain()
    for number, child in enumerate(children):
        setattr(made, f"child_{number}", child)
    return made


def slotted(children: list[Any]) -> Slotted:
    made = Slotted()
    made.held, made.other = (*children, None, None)[:2]
    return made


def with_dict(children: list[Any]) -> Plain:
    made = instance(children)
    assert made.__dict__ is not None
    return made


MAKERS: list[Callable[[list[Any]], Any]] = [
    list,
    tuple,
    deque,
    instance,
    with_dict,
    slotted,
    lambda children: dict(enumerate(children)),
    lambda children: {f"key {index}": child for index, child in enumerate(children)},
    lambda children: closure_over(children[0] if children else None),
    lambda children: {id(child): child for child in children}.values(),
]


@st.composite
def heaps(draw: st.DrawFn) -> list[Any]:
    """Objects of all kinds that refer to one another; lists among them refer forward too, so there are cycles."""
    objects: list[Any] = [object(), 5, "text", None, b"bytes", 2.5]
    for _ in range(draw(st.integers(1, 80))):
        make = draw(st.sampled_from(MAKERS))
        objects.append(make(draw(st.lists(st.sampled_from(objects), max_size=4))))
    for source in [entry for entry in objects if isinstance(entry, list)]:
        source.extend(draw(st.lists(st.sampled_from(objects), max_size=2)))
    return objects


def addresses(graph: _heap.Graph, nodes: list[int]) -> Counter[int]:
    return Counter(graph.describe(node)[2] for node in nodes)


@given(heaps())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_object_refers_to_what_the_collector_says(objects: list[Any]) -> None:
    graph = _heap.walk()
    for entry in objects:
        node = graph.find(id(entry))
        assert node is not None
        assert addresses(graph, graph.referents(node)) == Counter(map(id, gc.get_referents(entry)))


@pytest.mark.whole
@given(heaps())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_referrers_are_referents_turned_round(objects: list[Any]) -> None:
    graph = _heap.walk()
    for entry in filter(gc.is_tracked, objects):
        node = graph.find(id(entry))
        assert node is not None
        for referrer in set(graph.referrers(node)):
            assert graph.referents(referrer).count(node) == graph.referrers(node).count(referrer)


def test_every_object_that_the_collector_knows_is_a_node() -> None:
    made = [[number] for number in range(1000)]  # the others may be frozen, which are not among `known`
    known = gc.get_objects()
    graph = _heap.walk()
    assert graph.tracked_count >= len(known) >= len(made)
    sample = known[:: len(known) // 100]
    assert [entry for entry in sample if graph.find(id(entry)) is None] == []


def test_frozen_objects_are_nodes_too() -> None:
    entry = [object()]
    gc.freeze()
    try:
        assert _heap.walk().find(id(entry)) is not None
    finally:
        gc.unfreeze()


def test_local_variable_of_the_running_frame_is_its_holder() -> None:
    entry = [object()]
    graph = _heap.walk()
    node = graph.find(id(entry))
    assert node is not None
    holders = [graph.describe(referrer)[:2] for referrer in graph.referrers(node)]
    assert holders == [("root", "running frame")]
    assert [graph.describe(step)[1] for step in graph.path(node)] == ["running frame", "list"]


def test_local_variable_of_another_thread_is_found() -> None:
    release, ready, found = threading.Event(), threading.Event(), []

    def hold() -> None:
        kept = [object()]
        found.append(id(kept))
        ready.set()
        release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    graph = _heap.walk()
    release.set()
    thread.join()
    node = graph.find(found[0])
    assert node is not None
    assert [graph.describe(referrer)[1] for referrer in graph.referrers(node)] == ["running frame"]


def test_thread_local_value_is_reached_from_its_thread() -> None:
    local = threading.local()
    local.kept = [object()]
    graph = _heap.walk()
    node = graph.find(id(local.kept))
    assert node is not None
    assert graph.path(node)


def test_frames_below_a_hidden_folder_are_no_roots() -> None:
    entry = [object()]
    graph = _heap.walk(hidden_sources=__file__.rpartition("/")[0] + "/")
    node = graph.find(id(entry))
    assert node is not None
    assert graph.referrers(node) == []


@pytest.mark.parametrize("folder", ["/tools/", "/outils d\xe9j\xe0/", "/\u5de5\u5177/", "/\U0001f9f0/", "/\udcff/"])
def test_frames_below_a_hidden_folder_of_any_name_are_no_roots(folder: str) -> None:
    """The last name has a byte that is no UTF-8."""
    code = "def call(entry):\n    return walk(hidden_sources=folder), walk(hidden_sources=folder[:-2] + '/')\n"
    made: dict[str, Any] = {"walk": _heap.walk, "folder": folder}
    exec(compile(code, folder + "own.py", "exec"), made)
    entry = [object()]
    [(hidden, shown)] = map(made["call"], [entry])  # C code hands over a reference, and the list has another
    rows = [graph.referrers(graph.find(id(entry))) for graph in (hidden, shown)]
    assert [len(row) for row in rows] == [2, 3]


def test_hidden_objects_are_no_nodes() -> None:
    holder = [[object()]]
    graph = _heap.walk(hidden=(holder,))
    node = graph.find(id(holder[0]))
    assert node is not None
    assert graph.referrers(node) == []


def test_attribute_of_a_type_written_in_c_is_reached() -> None:
    graph = _heap.walk()
    node = graph.find(id(int.__dict__["bit_length"]))
    assert node is not None


def test_walk_without_leaves_has_tracked_objects_only() -> None:
    graph = _heap.walk(leaves=False)
    entry = [10**20]
    kinds = Counter(graph.describe(node)[0] for node in range(graph.node_count))
    assert graph.tracked_count < graph.node_count == kinds.total()
    assert kinds["python"] < graph.tracked_count + 200  # roots stand in no list of the collector's
    assert _heap.walk(leaves=False).find(id(entry[0])) is None


def test_walk_without_small_atoms_leaves_out_text_numbers_and_code_but_not_what_holds_them() -> None:
    entry = {"a name of its own": ["some text of its own", 10**20, 1.5e20, b"bytes of its own"]}
    graph = _heap.walk(min_atom_bytes=1 << 16)
    node = graph.find(id(entry["a name of its own"]))
    assert node is not None
    assert graph.referents(node) == []
    assert all(graph.find(id(item)) is None for item in (*entry, *entry["a name of its own"]))
    assert graph.find(id(Plain.__init__.__code__)) is None
    assert {name for name, *_ in graph.census()}.isdisjoint({"int", "float", "code", "NoneType"})


def test_walk_without_small_atoms_has_the_large_ones() -> None:
    entry = [bytes(1 << 16), "x" * (1 << 16), "x" * ((1 << 16) - 1), "\u20ac" * (1 << 15)]
    graph = _heap.walk(min_atom_bytes=1 << 16)
    assert [graph.find(id(item)) is not None for item in entry] == [True, True, False, True]


def test_walk_without_small_atoms_has_code_with_constants_that_no_compiler_makes() -> None:
    held = Plain()
    plain = ("text", 1.5, frozenset(["text"]), (b"", None), slice(1, None))
    codes = [
        (lambda: None).__code__.replace(co_consts=constants)
        for constants in [(held,), ((1, held),), (frozenset([held]),), plain, (slice(1, held),)]
    ]
    codes.append((lambda: None).__code__.replace(co_consts=(codes[0],)))
    graph = _heap.walk(min_atom_bytes=1 << 16)
    nodes = [graph.find(id(code)) for code in codes]
    assert [node is not None for node in nodes] == [True, True, True, False, True, True]
    assert graph.find(id(codes[0].co_consts)) in graph.referents(nodes[0] or 0)


def test_walk_of_a_heap_with_so_many_objects_has_each_once() -> None:
    counts = []
    kept: list[Any] = []
    for more in (1_000, 50_000, 600_000):  # the tables of addresses grow, and have other slots from 2**20 on
        kept += [[] for _ in range(more)]
        graph = _heap.walk(leaves=False)
        node = graph.find(id(kept))
        assert node is not None
        found = graph.find_all([id(entry) for entry in reversed(kept)])
        assert sorted(found.values()) == sorted(set(graph.referents(node)))
        counts.append(len(found))
    assert counts == [1_000, 51_000, 651_000]


def test_walk_without_small_atoms_has_all_that_instances_of_their_subclasses_hold() -> None:
    class Name(str):
        pass

    name = Name("text with attributes")
    name.kept = [name]  # type: ignore[attr-defined]
    graph = _heap.walk(min_atom_bytes=1 << 16)
    assert graph.find(id(name)) is not None
    assert graph.find(id(name.kept)) is not None  # type: ignore[attr-defined]


def test_walk_leaves_the_process_as_it_was() -> None:
    entry, plain = [object()], Plain()
    before = (sys.getrefcount(entry), gc.isenabled(), gc.get_count()[1:], gc.get_stats())
    _heap.walk(sizes=True)
    assert (sys.getrefcount(entry), gc.isenabled(), gc.get_count()[1:], gc.get_stats()) == before
    assert gc.get_referents(plain)[0] is None  # its attribute is still its own: no dict was made


def test_walk_runs_no_code_of_the_objects() -> None:
    calls = []

    class Nosy:
        def __eq__(self, other: object) -> bool:
            calls.append("eq")
            return False

        def __hash__(self) -> int:
            return 1

        def __getattribute__(self, name: str) -> Any:
            calls.append(name)
            return object.__getattribute__(self, name)

        def __sizeof__(self) -> int:
            calls.append("sizeof")
            return 1

        def __repr__(self) -> str:
            calls.append("repr")
            return "nosy"

    entry = {Nosy(): Nosy()}
    calls.clear()
    graph = _heap.walk(sizes=True)
    node = graph.find(id(entry))
    assert node is not None
    graph.path(node)
    graph.retained(0)
    assert calls == []


def test_dead_end_has_no_path_and_a_cycle_is_found() -> None:
    first: list[Any] = [object()]
    second = [first]
    first.append(second)
    address = id(first)
    gc.disable()
    try:
        del first, second
        graph = _heap.walk()
    finally:
        gc.enable()
    node = graph.find(address)
    assert node is not None
    assert graph.path(node) == []
    assert [graph.describe(step)[1] for step in graph.cycle(node)] == ["list", "list"]


@pytest.mark.parametrize("made", [bytearray(), bytearray(5_000)], ids=["empty", "full"])
def test_an_array_of_bytes_has_the_size_that_python_says(made: bytearray) -> None:
    holder = [made]
    graph = _heap.walk(sizes=True)
    assert graph.describe(graph.find(id(holder[0])) or 0).bytes == sys.getsizeof(made)


def test_retained_bytes_are_those_of_what_only_it_holds() -> None:
    shared = ["shared" * 1000 + str(id(object()))]
    owner = [bytearray(1_000_000), shared]
    graph = _heap.walk(sizes=True)
    node = graph.find(id(owner))
    assert node is not None
    assert 1_000_000 < graph.retained(node) < 1_001_000
    whole = graph.retained(0)
    assert whole > 1_000_000


@pytest.mark.parametrize("call", ["describe", "referents", "referrers", "path", "cycle", "retained", "dominator"])
def test_node_that_is_not_there_is_an_index_error(call: str) -> None:
    graph = _heap.walk(sizes=True)
    with pytest.raises(IndexError, match="no such node in this graph"):
        getattr(graph, call)(graph.node_count)


def test_graph_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError):
        _heap.Graph()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (io.BytesIO(), bytes(5_000)),
        (io.StringIO(), 5_000 * "x"),
        (io.StringIO("started"), 1_250 * "\N{SNOWMAN}"),
    ],
    ids=["bytes", "text", "wide text"],
)
def test_a_file_in_memory_has_the_size_of_its_content(file: Any, content: Any) -> None:
    file.seek(0)
    file.write(content)
    graph = _heap.walk(sizes=True)
    own = type(file).__basicsize__ + COLLECTOR_HEADER
    assert graph.describe(graph.find(id(file)) or 0).bytes == own + 5_000


class Pair(ctypes.Structure):
    _fields_ = (("first", ctypes.c_double), ("rest", ctypes.c_char * 5_000))


@pytest.mark.parametrize(
    ("made", "outside"),
    [
        (array.array("d", [0.0]) * 1_000, 0),
        (array.array("b"), 0),
        ((ctypes.c_double * 1_000)(), 8_000),
        (Pair(), 5_008),
        (ctypes.c_double(), 0),
        (deque(range(64)), 0),
        (deque(), 0),
    ],
    ids=["numbers", "no numbers", "array of C", "structure of C", "number of C", "deque", "empty deque"],
)
def test_items_outside_an_object_of_the_standard_library_are_part_of_its_size(made: Any, outside: int) -> None:
    """For Python, data of ctypes has only the size of the object, without the room for attributes behind it."""
    has_room_for_attributes = (type(made).__flags__ & INLINE_VALUES) != 0  # ctypes from 3.14 on
    graph = _heap.walk(sizes=True)
    more = (graph.describe(graph.find(id(made)) or 0).bytes or 0) - sys.getsizeof(made) - outside
    assert (0 < more < 300) if has_room_for_attributes else more == 0


def test_part_of_an_array_of_ctypes_does_not_count_the_whole() -> None:
    whole = (Pair * 2)()
    parts = [whole[0], Pair.from_buffer(whole)]
    graph = _heap.walk(sizes=True)
    assert [(graph.describe(graph.find(id(part)) or 0).bytes or 0) < 500 for part in parts] == [True, True]
    assert (graph.describe(graph.find(id(whole)) or 0).bytes or 0) > 10_000


def test_bytes_that_a_file_in_memory_shares_are_not_counted_twice() -> None:
    content = bytes(5_000)
    file = io.BytesIO(content)
    graph = _heap.walk(sizes=True)
    assert (graph.describe(graph.find(id(file)) or 0).bytes or 0) < 500
    assert file.getvalue() is content
