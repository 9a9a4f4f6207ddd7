"""The native scan: who holds references in C++. The truth is known, since an extension made for this plants the holders."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import leftovers
from extensions import compiled
from gradlife import _heap
from gradlife.heap import refs, scan, why
from gradlife.heap.scan import scan_natives
from gradlife.model.trace import Confidence
from scanned_things import Thing, believed, unmentioned

pytestmark = [
    pytest.mark.scan,
    pytest.mark.skipif(sys.platform != "linux", reason="the native scan works on Linux"),
]

#: How each kind of holder is named.
DESCRIPTIONS = {
    "static": "planted_static in native_holders.so",
    "vector": "planted_vector in native_holders.so → std::vector[0]",
    "member": "(anonymous namespace)::members in native_holders.so → std::vector[0] → Holder +16",
    "map": "(anonymous namespace)::map in native_holders.so → std::map node +40",
    "lambda": "(anonymous namespace)::lambdas in native_holders.so → std::vector[0] → std::function",
    "large lambda": (
        "(anonymous namespace)::large_lambdas in native_holders.so"
        " → std::vector[0] → std::function → captured variables +16"
    ),
    "thread-local": "thread-local (anonymous namespace)::locals in native_holders.so in the main thread",
}
IS_SURE = {"static", "thread-local"}


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compiled(Path(__file__).with_name("native_holders.cpp"), tmp_path_factory.mktemp("native_holders"))


@pytest.fixture
def planted(library: Any) -> Iterator[Any]:
    yield library
    library.let_go()


# --- what holds is named ---


@pytest.mark.whole
@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_each_kind_of_holder_is_named(planted: Any, kind: str) -> None:
    [thing] = unmentioned()
    planted.hold(kind, thing)
    ledger = refs(thing, scan=True)
    assert ledger.unaccounted == 1
    assert [holder.description for holder in ledger.native] == [DESCRIPTIONS[kind]]
    assert ledger.native[0].sureness is (Confidence.SURE if kind in IS_SURE else Confidence.LIKELY)
    assert ledger.native[0].kind == ("thread_local" if kind == "thread-local" else "static")
    assert ledger.native[0].library == planted.__file__
    assert ledger.unexplained == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="malloc's lists as glibc has them")
def test_the_mark_of_cached_blocks_is_no_word_of_one_that_the_cache_had_no_room_for(planted: Any) -> None:
    """With a 2 that a captured variable had left there for the mark, every large lambda's block was called free."""
    keys = []
    for taken in range(8):  # the cache has room for seven: one of these leaves it empty, and it is filled from the list
        planted.fill_lists(taken)
        keys.append(_heap._malloc_cache_key())
    assert len(set(keys)) == 1
    assert keys[0] != 2


@pytest.mark.whole
def test_variables_of_a_stripped_library_are_named_if_it_exports_them(tmp_path: Path) -> None:
    stripped = compiled(Path(__file__).with_name("native_holders.cpp"), tmp_path, "-s")
    things = unmentioned(3)
    for kind, thing in zip(("static", "map", "thread-local"), things, strict=True):
        stripped.hold(kind, thing)
    try:
        found = [[holder.description for holder in believed(holders)] for holders in scan(things)]
    finally:
        stripped.let_go()
    assert found == [
        ["planted_static in native_holders.so"],
        ["static data of native_holders.so → std::map node +40"],
        ["thread-local data of native_holders.so in the main thread"],
    ]


@pytest.mark.whole
def test_a_library_whose_file_is_gone_or_another_is_named_without_its_variables(tmp_path: Path) -> None:
    library = compiled(Path(__file__).with_name("native_holders.cpp"), tmp_path)
    [thing] = unmentioned()
    library.hold("map", thing)
    path = tmp_path / "native_holders.so"
    found = []
    try:
        for content in (None, b"", b"\x7fELF", b"\x7fELF\2\1\1" + bytes(57), os.urandom(5000)):
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
            found += [holder.description for holder in believed(scan([thing])[0])]
    finally:
        library.let_go()
    assert found == ["static data of native_holders.so → std::map node +40"] * 5


@pytest.mark.whole
def test_an_object_that_only_native_code_knows(planted: Any) -> None:
    def new_text() -> str:
        text = "".join(["un", "known", " text"])
        planted.hold("vector", text)
        planted.hold("count", text)
        return text

    ledger = refs(new_text(), scan=True)
    assert (ledger.count, ledger.unaccounted, ledger.unexplained) == (2, 2, 1)
    assert [holder.description for holder in believed(ledger.native)] == [DESCRIPTIONS["vector"]]
    assert why(new_text(), scan=True).ledger.unaccounted == 2


@pytest.mark.whole
def test_an_exported_variable_is_a_symbol(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("static", thing)
    assert refs(thing, scan=True).native[0].symbol == "planted_static"


@pytest.mark.whole
def test_two_holders_of_one_object_are_both_named(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("static", thing)
    planted.hold("member", thing)
    found = [holder.description for holder in refs(thing, scan=True).native]
    assert found == [DESCRIPTIONS["static"], DESCRIPTIONS["member"]]


@pytest.mark.whole
def test_a_reference_that_stands_nowhere_is_said_to_be_so(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("count", thing)
    ledger = refs(thing, scan=True)
    planted.lower_count(thing)
    assert ledger.unaccounted == 1
    assert believed(ledger.native) == []
    assert ledger.unexplained == 1
    assert "1 reference without a holder in memory" in str(ledger)


def test_the_report_names_the_holder_and_how_sure_it_is(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("map", thing)
    assert f"  native code: {DESCRIPTIONS['map']}   likely" in str(refs(thing, scan=True)).splitlines()
    assert "1 that nothing here explains: native code holds it" in str(refs(thing))


@pytest.mark.whole
def test_why_has_the_holders_in_its_ledger(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("static", thing)
    assert [holder.description for holder in why(thing, scan=True).ledger.native] == [DESCRIPTIONS["static"]]
    assert why(thing).ledger.native == ()


def test_a_thread_local_of_another_thread(planted: Any) -> None:
    [thing] = unmentioned()
    is_held, may_end = threading.Event(), threading.Event()

    def work() -> None:
        planted.hold("thread-local", thing)
        is_held.set()
        may_end.wait(900)
        planted.let_go()

    thread = threading.Thread(target=work)
    thread.start()
    is_held.wait(900)
    [found] = believed(scan([thing])[0])
    may_end.set()
    thread.join()
    assert found.description == (
        f"thread-local (anonymous namespace)::locals in native_holders.so in thread {thread.native_id}"
    )


@pytest.mark.whole
def test_a_thousand_planted_holders_of_six_kinds(planted: Any) -> None:
    kinds = [kind for kind in DESCRIPTIONS if kind != "large lambda"]
    kinds_of = [(kinds * 167)[i] if i % 12 != 4 else "large lambda" for i in range(1000)]
    things = [Thing() for _ in kinds_of]
    for kind, thing in zip(kinds_of, things, strict=True):
        planted.hold(kind, thing)
    found = scan(things)
    ends = {kind: "thread_local" if kind == "thread-local" else "static" for kind in DESCRIPTIONS}
    named = sum(
        any(holder.kind == ends[kind] and holder.library == planted.__file__ for holder in believed(holders))
        for kind, holders in zip(kinds_of, found, strict=True)
    )
    assert named >= 990


# --- what does not hold is not named ---


def fully_explained() -> list[Any]:
    made: list[Any] = []
    for i in range(125):
        thing = Thing()
        thing.held = [i]  # type: ignore[attr-defined]
        made += [thing, thing.held, {i: thing}, (thing, i), {thing}]  # type: ignore[attr-defined]
        made += [lambda kept=thing: kept, SimpleNamespace(held=thing), iter([thing])]
    return made


def test_no_false_holder_among_a_thousand_controls() -> None:
    # In an interpreter of its own: the more native libraries a process has, the more stale words lie in its memory.
    program = """
import test_native_scan as here
from gradlife.heap import scan
objects = here.fully_explained()
assert len(objects) == 1000
assert [holders for holders in map(here.believed, scan(objects)) if holders] == []
"""
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(leftovers.__file__)])
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.whole
def test_snapshots_that_live_hold_nothing_among_a_thousand_controls() -> None:
    """Nor do their files, once opened, nor what those that are gone have left behind."""
    program = """
import random, tempfile
import test_native_scan as here
from gradlife.heap import open_snapshot, scan, snapshot

random.seed(7)
made = here.fully_explained() + here.fully_explained()
objects = random.sample(made, 1000)
assert not any(map(here.believed, scan(objects)))

taken = [snapshot() for _ in range(3)]
for each in taken:
    each.why(id(objects[0])), each.largest(3), each.cycles(3)
assert not any(map(here.believed, scan(objects)))

with tempfile.TemporaryDirectory() as folder:
    for i, each in enumerate(taken):
        each.save(f"{folder}/{i}.glheap")
    opened = [open_snapshot(f"{folder}/{i}.glheap") for i in range(3)]
    assert not any(map(here.believed, scan(objects)))

del taken, opened, each
assert not any(map(here.believed, scan(objects)))
"""
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(leftovers.__file__)])
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONPATH": path})


def test_what_the_ledger_explains_is_not_searched_for() -> None:
    [thing] = unmentioned()
    ledger = refs(thing, scan=True)
    assert (ledger.unaccounted, ledger.native, ledger.is_scanned) == (0, (), True)


def test_a_word_behind_the_end_of_a_vector_is_stale(planted: Any) -> None:
    first, last = unmentioned(2)
    planted.hold("vector", first)
    planted.hold("vector", last)
    assert planted.pop_vector() is last
    holders, stale = scan([first, last])
    assert [holder.description for holder in believed(holders)] == [DESCRIPTIONS["vector"]]
    assert believed(stale) == []


#: In a process of its own, in which nothing else asks malloc for memory: fills malloc's cache if asked to, so that
#: blocks go to its lists, and leaves an object's address in blocks of many sizes. Prints who is believed to hold it.
STALE = """\
import ctypes, importlib.util, sys
from gradlife.heap import scan
from scanned_things import Thing, believed

spec = importlib.util.spec_from_file_location("native_holders", sys.argv[1])
library = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
if sys.argv[2] == "lists":
    for block in [libc.malloc(24 + 16 * size) for size in range(64) for _ in range(8)]:
        libc.free(block)
thing = Thing()
library.leave_stale_blocks(thing)
print(believed(scan([thing])[0]))
"""


@pytest.mark.parametrize("kept_in", ["cache", "lists"])
def test_words_in_freed_blocks_are_stale(library: Any, kept_in: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(leftovers.__file__)}
    command = [sys.executable, "-c", STALE, library.__file__, kept_in]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_text_holds_nothing_whatever_stood_there_before_it(planted: Any) -> None:
    [thing] = unmentioned()
    planted.leave_behind_texts(thing)
    assert believed(scan([thing])[0]) == []


def test_a_weak_reference_holds_nothing() -> None:
    [thing] = unmentioned()
    reference = weakref.ref(thing)
    found = [holder for holders in scan([thing, reference]) for holder in holders]
    assert [holder for holder in found if holder.sureness is Confidence.SURE] == []


@pytest.mark.whole
def test_frozen_graphs_of_earlier_questions_hold_nothing(planted: Any) -> None:
    [thing] = unmentioned()
    graphs = [_heap.walk() for _ in range(3)]
    assert all(graph.find(id(thing)) is not None for graph in graphs)
    planted.hold("count", thing)
    found = believed(refs(thing, scan=True).native)
    planted.lower_count(thing)
    assert found == []


def test_a_list_that_has_shrunk_holds_what_it_has() -> None:
    things = unmentioned(40)
    row = list(things)
    del row[20:]
    assert [holders for holders in map(believed, scan(things)) if holders] == []


# --- the process is as it was ---


@pytest.mark.whole
def test_looking_changes_no_count_and_makes_no_object(planted: Any) -> None:
    [thing] = unmentioned()
    planted.hold("member", thing)

    def looks() -> tuple[list[int], list[int]]:
        counts, tracked = [], []
        for _ in range(3):
            refs(thing, scan=True)
            gc.collect()
            counts.append(sys.getrefcount(thing))
            tracked.append(len(gc.get_objects()))
        return counts, tracked

    counts, tracked = leftovers.run_in_child(looks)  # no other thread makes objects there
    assert counts[0] == counts[1] == counts[2]
    assert tracked[1] == tracked[2]
    assert gc.isenabled()


def test_no_code_of_the_program_runs(planted: Any) -> None:
    class Loud:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        def __hash__(self) -> int:
            raise AssertionError("hashed")

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

    thing = Loud()
    planted.hold("static", thing)
    assert [holder.description for holder in refs(thing, scan=True).native] == [DESCRIPTIONS["static"]]


# --- refusals ---


def test_more_than_a_thousand_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="a scan looks for 1,000 objects at most, not 1,001"):
        scan([0] * 1001)
    with pytest.raises(TypeError, match=r"scan\(\) takes a list of up to 1,000 objects, and hidden_sources"):
        _heap.scan([0] * 1001, None)


def test_no_object_has_no_holders() -> None:
    assert scan([]) == []
    assert scan_natives([]) == []


def test_numbers_that_are_no_addresses_are_refused() -> None:
    for number in (0, -8, 1 << 64):
        with pytest.raises(ValueError, match=r"an address is a number between 1 and 2 \*\* 64 - 1"):
            scan_natives([number])
    with pytest.raises(ValueError, match="a scan looks for 1,000 objects at most, not 1,001"):
        scan_natives([8] * 1001)
    with pytest.raises(TypeError, match=r"scan_natives\(\) takes a list of up to 1,000 addresses"):
        _heap.scan_natives((8,), None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _heap.scan_natives(["8"], None)  # type: ignore[list-item]


# --- one pass ---


def test_a_pass_finds_each_word_and_reads_what_the_bare_read_does() -> None:
    things = [Thing() for _ in range(3)]
    addresses = [id(thing) for thing in things]
    nbytes, words, seconds = _heap._search_memory(addresses)
    bare, none, _ = _heap._search_memory(None)
    assert words >= 3
    assert none == 0
    assert seconds >= 0
    assert abs(nbytes - bare) < max(nbytes, bare) / 4


def test_a_pass_takes_addresses() -> None:
    with pytest.raises(TypeError, match="a list of addresses, or None"):
        _heap._search_memory(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _heap._search_memory(["7"])  # type: ignore[list-item]
