"""Pitfalls of a native walk, from one Python to the next: each was met while measuring.

Nothing here needs PyTorch: `make test-all-pythons` runs it on every Python that is found.
"""

from __future__ import annotations

import builtins
import collections
import gc
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from gradlife import _heap
from gradlife.heap import refs, snapshot, why
from leftovers import run_in_child
from python_versions import BORROWS_ARGUMENTS

KEPT: dict[str, Any] = {}


class Thing:
    """Something to hold, and something that holds."""

    def __init__(self, held: Any = None) -> None:
        self.held = held


class Watched:
    """Tells when any code of its class runs."""

    calls: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.held = Thing()

    def __getattribute__(self, name: str) -> Any:
        Watched.calls.append(f"get {name}")
        return object.__getattribute__(self, name)

    def __sizeof__(self) -> int:
        Watched.calls.append("size")
        return 1_000_000

    def __repr__(self) -> str:
        Watched.calls.append("repr")
        return "watched"


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    KEPT.clear()
    gc.enable()


def paths(held: object) -> set[tuple[str, str]]:
    return {(referrer.object, referrer.via) for referrer in refs(held).referrers}


def paths_down(address: int) -> list[str]:
    """The references on the path to an object that only an address names here."""
    return [step.via for step in snapshot().why(address).steps[:-1]]


# --- frames ---


def test_locals_of_running_frames_are_known_references() -> None:
    held = Thing()
    ledger = refs(held)
    assert [referrer.via for referrer in ledger.referrers] == ["local variable 'held'"]
    assert (ledger.count, ledger.unaccounted) == (1, 0)


def test_locals_of_callers_and_of_other_threads_are_known_references() -> None:
    held, is_there, is_over = Thing(), threading.Event(), threading.Event()

    def hold(kept: Thing) -> None:
        is_there.set()
        is_over.wait(900)
        assert kept is not None

    def ask(asked: Thing) -> list[str]:
        # Without the call that a tuple is for: from 3.12 on it stands in a frame beside the function.
        return sorted(referrer.via.partition(" (")[0] for referrer in refs(asked).referrers)

    thread = threading.Thread(target=hold, args=(held,))
    thread.start()
    is_there.wait(900)
    try:
        found = ask(held)
    finally:
        is_over.set()
        thread.join()
    asked = [] if BORROWS_ARGUMENTS else ["argument 'asked'"]
    assert found == ["[0]", *asked, "argument 'kept'", "local variable 'held'"]  # [0]: the thread's arguments


def test_an_argument_that_its_caller_has_in_no_variable_is_a_reference() -> None:
    def ask(asked: Thing) -> list[str]:
        ledger = refs(asked)
        assert ledger.unaccounted == 0
        return [referrer.via for referrer in ledger.referrers]

    found = ask(Thing())  # not within the assertion, which would keep it in a variable of its own
    assert found == ["argument 'asked'"]


def test_what_a_waiting_generator_only_borrows_is_no_reference() -> None:
    """On its stack stands what its variable holds."""

    def waiting(kept: Thing) -> Iterator[int]:
        print(kept, (yield 1))

    held = Thing()
    generator = waiting(held)
    next(generator)
    ledger = refs(held)
    assert sorted(referrer.via for referrer in ledger.referrers)[-1] == "local variable 'held'"
    assert ledger.unaccounted == 0


def test_looking_at_a_frame_makes_no_frame_object() -> None:
    def frames() -> int:
        return sum(isinstance(one, types.FrameType) for one in gc.get_objects())

    held = Thing()
    before = frames()
    why(held)
    assert frames() <= before


# --- objects that the collector does not track ---


def test_untracked_containers_are_walked_where_they_are_met() -> None:
    number = 10**20
    KEPT["dict"] = {"a": number}
    KEPT["tuple"] = tuple([number, "text"])  # noqa: C409 - a literal would be a constant of the code
    gc.collect()
    found = {path for _, path in paths(number)}
    assert {"['a']", "[0]"} <= found


@pytest.mark.whole
def test_code_is_reached_though_it_is_tracked_nowhere() -> None:
    code = compile("answer = 'a constant of this code alone'", "shop.py", "exec")
    assert not gc.is_tracked(code)
    KEPT["code"] = code
    assert "code" in {holder for holder, _ in paths(code.co_consts)}
    address = id(code.co_consts[0])
    del code
    assert paths_down(address)[-2:] == [".co_consts", "[0]"]


def test_items_of_an_array_of_objects_are_seen() -> None:
    numpy = pytest.importorskip("numpy")
    held = Thing()
    KEPT["array"] = array = numpy.empty(2, dtype=object)
    array[1] = held
    ledger = refs(held)
    assert ("ndarray", "[1]") in {(referrer.object, referrer.via) for referrer in ledger.referrers}
    assert ledger.unaccounted == 0


#: Item types with objects inside, and how one is put into the items of an array.
ITEMS: dict[str, tuple[Any, Callable[[Any, Any, Any], None]]] = {
    "a field": ([("size", "i4"), ("held", "O")], lambda array, at, held: array["held"].__setitem__(at, held)),
    "a packed field": ([("flag", "i1"), ("held", "O")], lambda array, at, held: array["held"].__setitem__(at, held)),
    "a field of a field": (
        [("key", "i1"), ("row", [("other", "O"), ("held", "O")])],
        lambda array, at, held: array["row"]["held"].__setitem__(at, held),
    ),
    "one of several": (
        [("flag", "i1"), ("many", "O", (2, 3))],
        lambda array, at, held: array["many"].__setitem__((*at, 1, 2), held),
    ),
    "one of several rows": (
        [("many", [("flag", "i1"), ("held", "O")], 4)],
        lambda array, at, held: array["many"]["held"].__setitem__((*at, 3), held),
    ),
    "a field with a title": (
        [(("what is held", "held"), "O")],
        lambda array, at, held: array["held"].__setitem__(at, held),
    ),
}


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_objects_inside_the_items_of_an_array_are_seen(name: str, shape: tuple[int, ...]) -> None:
    numpy = pytest.importorskip("numpy")
    dtype, put = ITEMS[name]
    held = Thing()
    KEPT["array"] = array = numpy.zeros(shape, dtype=dtype)
    put(array, (1,) * len(shape), held)
    ledger = refs(held)
    where = "[1]" if len(shape) == 1 else "[1, 1]"
    assert [one.via for one in ledger.referrers if one.object == "ndarray"] == [where]
    assert ledger.unaccounted == 0


# --- attributes ---


def make_plain(held: object) -> Any:
    return Thing(held)


def make_with_dict(held: object) -> Any:
    made = Thing(held)
    assert made.__dict__
    return made


def make_with_kept_dict(held: object) -> Any:
    made = Thing(held)
    KEPT["its_dict"] = [[[made.__dict__]]]  # further away than the object
    return made


def make_with_new_dict(held: object) -> Any:
    made = Thing()
    made.__dict__ = {"held": held, "more": None}
    return made


@pytest.mark.whole
@pytest.mark.parametrize("make", [make_plain, make_with_dict, make_with_kept_dict, make_with_new_dict])
def test_an_attribute_is_named_from_its_object_whatever_keeps_the_values(make: Callable[[object], Any]) -> None:
    held = [object()]
    KEPT["holder"] = make(held)
    address = id(held[0])
    del held
    assert paths_down(address)[-2:] == [".held", "[0]"]
    assert snapshot().why(address).ledger.unaccounted == 0


@pytest.mark.whole
def test_no_walk_makes_a_dict() -> None:
    KEPT["things"] = [Thing(object()) for _ in range(100)]

    def dicts() -> int:
        return sum(type(one) is dict for one in gc.get_objects())

    def look() -> None:
        taken = snapshot()
        taken.types()
        taken.largest(5)
        taken.why(id(KEPT["things"][7]))

    look()  # what gradlife itself keeps is made once
    before = dicts()
    look()
    assert dicts() <= before


# --- sizes ---


def test_sizes_are_those_of_memory_and_run_no_code() -> None:
    KEPT["watched"] = watched = [Watched() for _ in range(10)]
    Watched.calls.clear()
    [row] = [row for row in snapshot().types() if row.type == f"{__name__}.Watched"]
    assert Watched.calls == []
    assert row.count == 10
    assert row.bytes < 10 * 500
    assert why(watched[3]).steps[-1].object == "Watched"
    assert Watched.calls == []


def test_values_beside_an_object_count_as_its_own() -> None:
    class Narrow:
        """Python makes room for many attributes in the first objects of a class, and for fewer in each later one."""

    class Wide:
        def __init__(self) -> None:
            for number in range(20):
                setattr(self, f"attribute_{number}", None)

    KEPT["wide"], KEPT["narrow"] = Wide(), [Narrow() for _ in range(40)][-1]
    taken = snapshot()
    assert taken.retained(id(KEPT["wide"])) - taken.retained(id(KEPT["narrow"])) >= 15 * 8


# --- what a walk makes itself ---


def test_what_a_walk_makes_is_counted_nowhere() -> None:
    held = Thing()
    KEPT["held"] = held
    counts = [(refs(held).count, sys.getrefcount(held)) for _ in range(3)]
    assert len(set(counts)) == 1
    assert counts[0][0] == 2


def test_no_walk_starts_a_collection() -> None:
    seen: list[str] = []

    def callback(phase: str, _: dict[str, int]) -> None:
        seen.append(phase)

    KEPT["ring"] = [Thing() for _ in range(5_000)]
    gc.enable()
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    gc.callbacks.append(callback)
    try:
        seen.clear()
        graph = _heap.walk()
        during = len(seen)
    finally:
        gc.callbacks.remove(callback)
        gc.set_threshold(*thresholds)
    assert graph.node_count > 5_000
    assert during <= 2  # the one that the graph's own object may start when all is done


# --- types and internal tables ---


def test_a_class_is_no_path_to_what_a_variable_holds() -> None:
    class Holder:
        kept: Any = None

    Holder.kept = held = Thing()
    KEPT["a"] = KEPT["b"] = [held]
    address = id(held)
    del held
    assert paths_down(address)[-1] == "[0]"


def test_instances_are_known_references_to_their_class() -> None:
    class Counted:
        pass

    KEPT["instances"] = [Counted() for _ in range(7)]
    ledger = refs(Counted)
    assert sum(referrer.object == "Counted" for referrer in ledger.referrers) + ledger.more_referrers >= 7
    assert ledger.unaccounted == 0


@pytest.mark.skipif(sys.version_info < (3, 15), reason="frozendict is new in Python 3.15")
def test_frozendict_has_the_keys_the_length_and_the_size_of_a_dict() -> None:
    frozendict: Any = vars(builtins)["frozendict"]
    held = Thing()
    address = id(held)
    KEPT["holder"] = frozendict({"key": held, **{str(number): number for number in range(20)}})
    del held
    assert paths_down(address)[-1] == "['key']"
    graph = _heap.walk(sizes=True)
    node = graph.find(id(KEPT["holder"])) or 0
    assert graph.length(node) == 21
    assert (graph.describe(node).bytes or 0) >= sys.getsizeof(KEPT["holder"])


@pytest.mark.parametrize("made", [collections.OrderedDict, collections.defaultdict, collections.Counter])
def test_dicts_of_other_types_name_their_values_by_key(made: Callable[[], Any]) -> None:
    KEPT["holder"] = holder = made()
    holder["key"] = held = Thing()
    address = id(held)
    del held
    assert paths_down(address)[-1] == "['key']"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="objects are immortal from 3.12 on")
@pytest.mark.parametrize("immortal", [None, True, (), "", 7, int])
def test_a_count_that_means_nothing_explains_nothing(immortal: object) -> None:
    ledger = refs(immortal)
    assert ledger.unaccounted == 0


# --- forks and threads ---


def walk_and_ask() -> tuple[bool, list[str]]:
    KEPT["child"] = [Thing()]
    return _heap.walk().node_count > 1_000, paths_down(id(KEPT["child"][0]))[-2:]


def test_a_forked_child_walks_its_own_heap() -> None:
    before = os.getpid()
    assert run_in_child(walk_and_ask) == (True, ["['child']", "[0]"])
    assert os.getpid() == before


def test_a_walk_beside_threads_that_allocate_sees_a_heap_at_rest() -> None:
    is_over = threading.Event()

    def churn() -> None:
        while not is_over.is_set():
            [Thing([Thing()]) for _ in range(50)]
            time.sleep(0.001)

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            held = Thing()
            KEPT["held"] = held
            assert refs(held).unaccounted == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="from 3.14 on a call may still borrow what a variable held")
def test_a_variable_that_a_debugger_overwrote_is_kept_by_the_frame_until_it_ends() -> None:
    def overwritten() -> list[str]:
        held = Thing()
        address, frame = id(held), sys._getframe()
        frame.f_locals["held"] = None
        found = paths_down(address)
        assert frame is not None
        return found

    assert any("overwritten locals" in step for step in overwritten())
