"""A frozen heap shows planted objects, and a snapshot file shows the same."""

from __future__ import annotations

import ctypes
import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gradlife.engine as torch
from gradlife.errors import UnknownNameError, UsageError
from gradlife.heap import Snapshot, diff, open_snapshot, snapshot, why
from gradlife.model.trace import Lifetime, Trace
from leftovers import run_script


class Thing:
    """Something to hold, and something that holds."""

    def __init__(self, held: Any = None) -> None:
        self.held = held


class Record:
    """Only here in this file."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


CACHE: dict[Any, Any] = {}


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    CACHE.clear()
    gc.enable()
    gc.collect()


def through_file(taken: Snapshot, folder: Path, **options: bool) -> Snapshot:
    file = folder / "heap.glheap"
    taken.save(file, **options)
    return open_snapshot(file)


def paths(trace: Trace) -> list[str]:
    return [step.via for step in trace.steps[:-1]]


def test_types_are_counted() -> None:
    CACHE["records"] = [Record(number) for number in range(137)]
    (row,) = [row for row in snapshot().types() if row.type == f"{__name__}.Record"]
    assert (row.kind, row.count, row.bytes) == ("python", 137, 137 * Record(0).__sizeof__() + 137 * 16)


def test_retained_bytes_are_those_that_the_allocator_gave() -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        CACHE["region"] = region = [[Record([float(number)]), {"number": -number}] for number in range(10_000, 14_000)]
        allocated = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert snapshot().retained(id(region)) == pytest.approx(allocated, rel=0.03)


def test_generators_and_frames_are_as_large_as_they_are() -> None:
    def generate() -> Iterator[Any]:
        yield sys._getframe()

    CACHE["generator"] = generator = generate()
    CACHE["frame"] = next(generator)
    taken = snapshot()
    assert taken.instances("generator", 1)[0].bytes < 1000
    assert all(frame.bytes < 1000 for frame in taken.instances("frame"))


def test_contents_of_a_shared_storage_count_once() -> None:
    base = torch.zeros(100_000)
    CACHE["views"] = holder = [base, base.view(1000, 100), base[500:]]
    del base
    retained = snapshot().retained(id(holder))
    assert 400_000 < retained < 403_000


def test_storages_are_counted_by_device() -> None:
    before = snapshot().devices().get("cpu", 0)
    kept = torch.zeros(25_000)
    assert snapshot().devices()["cpu"] - before == 100_000
    del kept


def test_retained_bytes_are_named_by_device() -> None:
    shared = torch.zeros(25_000)
    CACHE["own"], CACHE["other"] = Thing([torch.zeros(10_000), shared]), [shared]
    del shared
    taken = snapshot()
    assert taken.retained_by_device(id(CACHE["own"])) == {"cpu": taken.retained(id(CACHE["own"]))}
    assert 40_000 < taken.retained_by_device(id(CACHE["own"]))["cpu"] < 42_000  # what both hold is freed with neither


@pytest.mark.torch
def test_tensor_without_contents_takes_what_describes_it_on_its_device() -> None:
    pytorch = pytest.importorskip("torch")
    CACHE["meta"] = held = Thing([pytorch.empty(10_000, device="meta"), pytorch.zeros(10_000)])
    taken = snapshot()
    found = taken.retained_by_device(id(held))
    assert found.keys() == {"cpu", "meta"}
    assert sum(found.values()) == taken.retained(id(held))
    assert found["meta"] < 200
    assert 40_000 < found["cpu"] < 42_000


def test_largest_object_is_reported_and_not_what_merely_leads_to_it() -> None:
    CACHE["big"] = [Record(bytearray(10_000)) for _ in range(30_000)]
    largest = snapshot().largest(1)[0]
    assert (largest.type, largest.detail, largest.address) == ("list", "len 30000", id(CACHE["big"]))
    assert 300_000_000 < largest.retained < 310_000_000
    assert [step.via for step in largest.steps[:-1]] == ["global variable 'CACHE'", "['big']"]


def test_holders_of_a_type_are_counted_by_type() -> None:
    shared = Record(1)
    CACHE["holders"] = [[shared, shared], (shared,), Thing(shared)]
    rows = {(row.type, row.holders, row.references) for row in snapshot().holders("Record")}
    assert rows == {("list", 1, 2), ("tuple", 1, 1), (f"{__name__}.Thing", 1, 1), ("running frame", 1, 1)}


def test_instances_come_with_their_path() -> None:
    CACHE["one"] = Thing(Record(5))
    (found,) = snapshot().instances("Record")
    assert [step.via for step in found.steps[:-1]][-2:] == ["['one']", ".held"]


# --- why ---


def test_file_shows_why_as_the_live_heap_does(tmp_path: Path) -> None:
    CACHE["key"] = Thing([0, Record(1)])
    reference = weakref.ref(CACHE["key"])
    live = why(reference())
    kept = through_file(snapshot(), tmp_path).why(id(reference()))
    assert kept == live


def test_local_variable_of_a_dead_frame_is_reported_from_the_file(tmp_path: Path) -> None:
    class OfThisTest(Thing):
        pass

    def work() -> Snapshot:
        thing = OfThisTest()
        assert thing.held is None
        return snapshot()

    trace = through_file(work(), tmp_path).why("OfThisTest")
    assert paths(trace) == ["local variable 'thing'"]
    assert trace.steps[0].detail.startswith(
        "test_local_variable_of_a_dead_frame_is_reported_from_the_file.<locals>.work ("
    )


def test_cycle_waits_for_the_collector(tmp_path: Path) -> None:
    class Waiting(Thing):
        pass

    thing = Waiting()
    thing.held = [thing]
    gc.disable()
    del thing
    trace = through_file(snapshot(), tmp_path).why("Waiting")
    gc.enable()
    assert (trace.lifetime, trace.steps) == (Lifetime.GC, ())
    assert [(step.object, step.via) for step in trace.cycle] == [("Waiting", ".held"), ("list", "[0]")]


@pytest.mark.leaves(hook=1, node=2, saved=1, storage=2, tensor=2)
def test_cycle_with_a_native_leg_comes_before_others_and_is_never_freed(tmp_path: Path) -> None:
    def build() -> None:
        y = torch.ones(3, requires_grad=True).sin()
        y.grad_fn.register_hook(lambda *_: y)

    build()
    CACHE["ring"] = kept = [Thing()]
    kept[0].held = kept
    cycles = through_file(snapshot(), tmp_path).cycles(200)
    ring = {"Tensor", "SinBackward0", "function"}
    at = next(at for at, cycle in enumerate(cycles) if {step.object for step in cycle.steps} == ring)
    cycle = cycles[at]
    assert all(before.has_native for before in cycles[:at])
    assert (cycle.lifetime, cycle.has_native) == (Lifetime.NEVER, True)
    assert "closure variable 'y'" in [step.via for step in cycle.steps]


def test_cycle_that_only_a_reference_without_a_holder_keeps_is_no_leak_that_is_sure(tmp_path: Path) -> None:
    thing = Thing()
    thing.held = [thing]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))  # as a library does that registers an object
    address = id(thing)
    del thing
    try:
        heap = through_file(snapshot(), tmp_path)
        [cycle] = [one for one in heap.cycles(10_000) if {step.object for step in one.steps} == {"Thing", "list"}]
        assert cycle.lifetime is Lifetime.UNKNOWN
        assert heap.why(address).lifetime is Lifetime.NEVER
        assert heap.why(address).hidden_references == ("Thing has 1 reference that the collector cannot see",)
    finally:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(object_at(address)))


def object_at(address: int) -> Any:
    return ctypes.cast(address, ctypes.py_object).value


@pytest.mark.whole
@pytest.mark.torch
def test_torch_at_rest_has_no_leaks() -> None:
    script = """
import torch
from gradlife.heap import snapshot
print([step.object for cycle in snapshot().cycles(100_000) if cycle.lifetime == "never" for step in cycle.steps])
"""
    assert run_script(script).stdout == "[]\n"


def test_wrapper_and_its_tensor_are_no_cycle() -> None:
    kept = torch.ones(3)
    assert [cycle for cycle in snapshot().cycles(50) if cycle.objects == 2 and cycle.has_native] == []
    del kept


# --- what is kept of the user's data ---


def test_text_that_is_no_identifier_is_left_out(tmp_path: Path) -> None:
    CACHE["jane@example.org"] = CACHE["plain"] = Thing()
    CACHE["jane@example.org"] = Thing(Record(1))
    CACHE[("jane doe", 1)] = Thing(Record(2))
    trace = through_file(snapshot(), tmp_path).why(id(CACHE["jane@example.org"]))
    assert paths(trace)[-1] == "[<str>]"
    content = (tmp_path / "heap.glheap").read_bytes()
    assert (b"jane" in content, b"plain" in content) == (False, True)
    snapshot(user_text=True).save(tmp_path / "all.glheap")
    assert b"jane@example.org" in (tmp_path / "all.glheap").read_bytes()


def test_file_without_labels_has_types_only(tmp_path: Path) -> None:
    CACHE["key"] = Thing()
    trace = through_file(snapshot(), tmp_path, labels=False).why(id(CACHE["key"]))
    assert trace.steps[-1].object == "Thing"
    assert "'key'" not in "".join(paths(trace))


def test_snapshot_of_a_program_of_many_modules_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"company.services.inference.handlers.version_{number:05}" for number in range(5_000)]
    monkeypatch.setattr("gradlife.heap.origin.program_modules", lambda: iter(names))
    read = through_file(snapshot(), tmp_path)
    assert [value for key, value in read._notes if key == "program"] == names


# --- usage errors ---


def test_unknown_type_has_its_nearest() -> None:
    CACHE["kept"] = Record(1)
    with pytest.raises(UnknownNameError, match=r"unknown type 'Recrod' \(try: Record"):
        snapshot().why("Recrod")


def test_address_of_no_object() -> None:
    with pytest.raises(UsageError, match="no object stands at 0x10 in this snapshot"):
        snapshot().why(16)


def test_snapshot_changes_nothing() -> None:
    snapshot()  # what the first one imports stays
    thing = Thing()
    before = after = 0
    before = len(gc.get_objects())
    snapshot()
    after = len(gc.get_objects())
    assert after == before
    assert gc.get_referents(thing)[0] is None  # its attribute is still its own: no dict was made


# --- differences ---


def test_new_gone_and_grown_objects_are_named_by_type() -> None:
    old: Any = [Record(number) for number in range(9)]
    growing: list[int] = []
    before = snapshot()
    del old
    growing.extend(range(1000))
    CACHE["new"] = [Thing() for _ in range(100)]
    rows = {row.type: row for row in diff(before, snapshot()).types}
    record, thing = rows[f"{__name__}.Record"], rows[f"{__name__}.Thing"]
    assert (record.new, record.gone, record.grown) == (0, 9, 0)
    assert (thing.new, thing.gone, thing.grown) == (100, 0, 0)
    assert rows["list"].grown_bytes >= 8000
    assert [step.via for step in thing.examples[0].steps[:-1]][-2:] in (["['new']", f"[{i}]"] for i in range(100))


def test_growth_is_named_by_place(tmp_path: Path) -> None:
    CACHE["losses"] = [Thing() for _ in range(5)]
    CACHE[1] = Thing()
    before = through_file(snapshot(), tmp_path)
    CACHE["losses"] += [Thing() for _ in range(70)]
    CACHE[2], CACHE[3] = Thing(), Thing()
    after = through_file(snapshot(), tmp_path)
    rows = {row.path: (row.count_before, row.count_after) for row in before.diff(after).paths if "Thing" in row.type}
    start = f"module {__name__}: global variable 'CACHE'"
    assert rows == {f"{start}['losses'][*]": (5, 75), f"{start}[*]": (1, 3)}


def test_snapshot_equals_its_own_file(tmp_path: Path) -> None:
    taken = snapshot()
    again = through_file(taken, tmp_path)
    assert (again.types(), again.notes, again.references) == (taken.types(), taken.notes, taken.references)
    changes = taken.diff(again)
    assert (changes.by_identity, changes.types, changes.paths) == (True, (), ())


def test_the_words_of_many_defaults_come_back_from_a_file(tmp_path: Path) -> None:
    """A text of more than 2,000 bytes was cut, and its object was one that is gone and one that is new."""
    names: dict[str, object] = {}
    exec(f"def many({', '.join(f'number_of_{n}={n}' for n in range(250))}): pass", names)
    kept = type("Name" * 500, (), {})()  # so does the name of a class
    taken = snapshot()
    again = through_file(taken, tmp_path)
    assert (taken.diff(again).paths, again.types()) == ((), taken.types())
    assert (callable(names["many"]), len(type(kept).__name__)) == (True, 2000)


# --- limits ---


def test_chain_of_many_nodes_is_no_depth(tmp_path: Path) -> None:
    chain = torch.ones(2, requires_grad=True)
    for _ in range(50_000):
        chain = chain + 1
    again = through_file(snapshot(), tmp_path)
    nodes = next(row for row in again.types() if row.type == "engine::AddBackward0")
    assert nodes.count == 50_000
    deepest = again.why("engine::AccumulateGrad")
    assert sum(step.count for step in deepest.steps) > 50_000
    del chain


@pytest.mark.whole
@pytest.mark.long
def test_many_snapshots_grow_nothing() -> None:
    def own_pages() -> int:
        """Those of files come and go with the work of the machine."""
        with open("/proc/self/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        return resident - shared

    for _ in range(3):
        snapshot().largest(3)
    before = own_pages()
    for _ in range(10):
        snapshot().largest(3)
    assert own_pages() - before < 4096  # pages: less than half of what one snapshot of a test process takes
