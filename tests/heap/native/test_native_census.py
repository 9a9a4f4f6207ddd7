"""The census of C++ objects against what is known to be there: made by an extension, or counted by the engine itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import gradlife.engine as engine
from extensions import compiled
from gradlife import _heap
from gradlife.heap import scan
from gradlife.heap.native_census import NativeCensus, lost_heaps, native_census, native_objects
from gradlife.hunting.process.forked import in_fork
from gradlife.model.heap import TypeCount
from gradlife.model.trace import Confidence
from leftovers import run_in_child

pytestmark = [
    pytest.mark.whole,
    pytest.mark.scan,
    pytest.mark.skipif(sys.platform != "linux", reason="the census works on Linux"),
]

#: What the extension calls a path of making an object, and the class that the census is to see.
CLASSES = {
    "small": "made::Small",
    "large": "made::Large",
    "shared": "made::Shared",
    "separate": "made::Shared",
    "plain": "made::Plain",
}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compiled(Path(__file__).with_name("native_objects.cpp"), tmp_path_factory.mktemp("native_objects"))


@pytest.fixture
def made(library: Any) -> Iterator[Any]:
    yield library
    library.drop()


def count_of(name: str) -> int:
    return native_census().count_of(name)


def test_class_of_a_library_that_is_loaded_later_has_its_name(tmp_path: Path) -> None:
    assert _heap._class_at(id(object)) is None
    later = compiled(Path(__file__).with_name("native_objects.cpp"), tmp_path)
    before = set(native_objects("made::Small"))
    later.make("small", 1)
    [address] = set(native_objects("made::Small")) - before
    assert _heap._class_at(address) == "made::Small"
    later.drop()


# --- exact counts ---


@pytest.mark.whole
@pytest.mark.parametrize("kind", CLASSES)
def test_so_many_as_were_made_and_none_once_they_are_freed(made: Any, kind: str) -> None:
    made.make(kind, 100)
    assert count_of(CLASSES[kind]) == 100
    made.drop()
    assert count_of(CLASSES[kind]) == 0


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_copy_counts_by_family_and_may_read_memory_in_place(made: Any, kind: str, is_alone: bool) -> None:
    """The library's classes are of no family."""

    def added() -> int:
        before = _heap.native_counts(is_alone)[0][""]
        made.make(kind, 100)
        return _heap.native_counts(is_alone)[0][""] - before

    objects = 200 if kind == "separate" else 100  # with the counts of shared pointers
    assert objects <= in_fork(added) <= objects + 2  # a block that malloc gave again may still show what it was


@pytest.mark.parametrize("kind", CLASSES)
def test_objects_of_another_threads_heap(made: Any, kind: str) -> None:
    made.make_in_thread(kind, 100)
    assert count_of(CLASSES[kind]) == 100
    made.drop()
    assert count_of(CLASSES[kind]) == 0


@pytest.mark.whole
@given(st.lists(st.tuples(st.sampled_from([*CLASSES, "weak", "freed"]), st.integers(1, 400)), max_size=6))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_mixture(made: Any, calls: list[tuple[str, int]]) -> None:
    expected = dict.fromkeys(CLASSES.values(), 0)
    for kind, count in calls:
        made.make(kind, count)
        if kind in CLASSES:
            expected[CLASSES[kind]] += count
    census = native_census()
    made.drop()
    # A block that malloc gave again and nobody wrote to yet still shows what it was: one or two in a busy process.
    assert all(0 <= census.count_of(name) - count <= 2 for name, count in expected.items()), (census, expected)


def test_what_only_weak_pointers_know_is_gone(made: Any) -> None:
    made.make("weak", 50)
    assert count_of("made::Shared") == 0


def test_what_freed_blocks_still_say_is_not_counted(made: Any) -> None:
    made.make("freed", 1000)
    made.leave_copies()
    assert count_of("made::Small") == 0


@pytest.mark.whole
def test_threads_that_allocate_all_the_time_hardly_disturb_it(made: Any) -> None:
    """A chunk that is split just as it is read may hide what stands behind it for once; nothing is ever made up."""
    for kind in CLASSES:
        made.make(kind, 300)
    made.start_churning(2)
    try:
        censuses = [native_census() for _ in range(5)]
        seen = {tuple(census.count_of(CLASSES[kind]) for kind in CLASSES) for census in censuses}
    finally:
        made.stop_churning()
    real = (300, 300, 600, 600, 300)
    assert all(0.97 * there <= found <= there for counts in seen for found, there in zip(counts, real, strict=True)), (
        seen
    )


@pytest.mark.whole
def test_memory_that_goes_away_during_a_scan_is_no_danger(made: Any) -> None:
    thing = [object()]
    made.start_churning(2)
    try:
        found = [scan([thing, thing[0]]) for _ in range(5)]
    finally:
        made.stop_churning()
    # A block that a thread was given just now, and has not cleared, may still have the address in it: likely, never sure.
    assert [held for holders in found for row in holders for held in row if held.sureness is Confidence.SURE] == []


def test_the_engines_own_counts_agree() -> None:
    def counts() -> tuple[int, int, int]:
        rows = [row for row in native_census().classes if row.type.startswith("gradlife::")]
        tensors, storages, nodes = (
            sum(row.count for row in rows if row.kind == family) for family in ("tensor", "storage", "grad_node")
        )
        return tensors, storages, nodes

    def own_counts() -> tuple[int, int, int]:
        live = engine.live_counts()
        return live["tensor"], live["storage"], live["node"]

    assert counts() == own_counts()
    x = engine.ones(3, requires_grad=True)
    kept = [(x * i).sin()[1:] for i in range(200)]
    assert counts() == own_counts()
    assert own_counts()[2] >= 600
    del kept
    assert counts() == own_counts()


# --- addresses ---


def test_addresses_are_the_same_until_something_changes(made: Any) -> None:
    made.make("shared", 20)
    first = native_objects("made::Shared")
    assert first == native_objects("made::Shared")
    assert len(first) == len(set(first)) == 20
    assert list(first) == sorted(first)
    made.make("separate", 1)
    assert len(set(native_objects("made::Shared")) - set(first)) == 1


def test_a_class_that_nobody_has() -> None:
    assert native_objects("made::Nothing") == ()
    with pytest.raises(TypeError):
        _heap.native_objects(7)  # type: ignore[arg-type]


# --- reports ---


def test_differences_of_two_censuses() -> None:
    before = NativeCensus((TypeCount("a", "tensor", 2, 20), TypeCount("b", "", 1, 8), TypeCount("c", "", 4, 4)), (), ())
    after = NativeCensus((TypeCount("a", "tensor", 5, 50), TypeCount("b", "", 1, 8), TypeCount("d", "", 9, 9)), (), ())
    assert after.since(before) == (
        TypeCount("d", "", 9, 9),
        TypeCount("a", "tensor", 3, 30),
        TypeCount("c", "", -4, -4),
    )
    assert after.since(after) == ()


def made_since_the_fork(library: Any) -> tuple[int, tuple[str, ...], bool]:
    """Enough small blocks that malloc's heap grows; and whether that gave it a second row in the kernel's list."""
    library.make("small", 200_000)
    with open("/proc/self/maps") as maps:
        is_split = sum(line.rstrip().endswith("[heap]") for line in maps) > 1
    found = native_census()
    return found.count_of(CLASSES["small"]), found.limits, is_split


def test_a_forked_child_is_seen_as_a_whole(library: Any) -> None:
    count, limits, is_split = run_in_child(made_since_the_fork, library)
    assert (count, limits) == (200_000, ())
    if not is_split:
        pytest.skip("the heap had room enough, or grew in one piece")


def test_heaps_that_were_lost_are_said_to_be() -> None:
    assert lost_heaps(0) == ()
    assert lost_heaps(2) == (
        "C++ objects in 2 of malloc's heaps, which other threads changed faster than they can be read",
    )


def test_looking_makes_no_object_that_it_counts(made: Any) -> None:
    made.make("small", 3)
    censuses = [native_census() for _ in range(4)]
    assert censuses[-1].since(censuses[1]) == ()
