"""Snapshots of the heap: taken by a copy of the process, read by another."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading

import psutil
import pytest

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.process.forked import CAN_FORK, in_fork
from gradlife.hunting.snapshots import step_snapshots
from gradlife.hunting.snapshots.step_snapshots import Collect, take_snapshot
from gradlife.hunting.snapshots.survivors import births

needs_fork = pytest.mark.skipif(not CAN_FORK, reason="no process is copied on this system")


class Marked:
    """A type of which there are no others."""


def own_memory() -> int:
    """Bytes of this process, resident or not, without pages of files: those come and go with the work of the machine."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        rows = dict(line.split(":", 1) for line in file)
    return sum(int(rows[name].split()[0]) << 10 for name in ("RssAnon", "VmSwap"))


@needs_fork
def test_a_recorded_heap_is_the_heap_that_a_walk_sees() -> None:
    kept = [Marked() for _ in range(5)]
    walked = _heap.walk(leaves=True, sizes=True, hidden_sources=OWN_FOLDER)
    with tempfile.TemporaryFile() as file:
        _heap.record(file.fileno(), False, OWN_FOLDER)
        recorded = _heap.open_graph(file.fileno())
    name = f"{__name__}.Marked"
    rows = [[row for row in graph.census() if row[0] == name] for graph in (walked, recorded)]
    assert rows[0] == rows[1]
    assert rows[0][0][2] == len(kept)
    assert sorted(recorded.find_all([id(one) for one in kept])) == sorted(map(id, kept))
    assert recorded.notes.splitlines() == walked.limits


@needs_fork
def test_a_look_takes_no_memory_of_the_process() -> None:
    take_snapshot(0)
    before = own_memory()
    seen = [take_snapshot(number, with_labels=True) for number in range(3)]
    assert own_memory() - before < 1 << 20
    assert all(one.opened is None and one.has_labels for one in seen)


@needs_fork
def test_a_look_whose_file_cannot_be_written_is_taken_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(_heap, "record", fail)
    seen = take_snapshot(0, collect=Collect.NOTHING)
    assert seen.file is None
    assert seen.graph.node_count > 0


@needs_fork
def test_a_copy_that_cannot_write_is_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(MemoryError):
        _heap.record(reading, False, None)
    os.close(writing)


@needs_fork
def test_frames_of_other_threads_are_roots_of_a_look() -> None:
    """Python's own fork forgets the other threads, and what their frames hold would look lost."""
    started, go = threading.Event(), threading.Event()
    found: list[int] = []

    def hold() -> None:
        mine = Marked()
        found.append(id(mine))
        started.set()
        go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    started.wait()
    graph = take_snapshot(0, collect=Collect.NOTHING).graph
    go.set()
    thread.join()
    node = graph.find(found[0])
    assert node is not None
    assert any(graph.describe(one)[1] == "running frame" for one in graph.path(node))


def test_who_was_born_is_known_by_the_round_even_of_looks_that_were_forgotten() -> None:
    kept: list[Marked] = []
    seen = [take_snapshot(0)]
    for number in range(6):
        kept.append(Marked())
        seen.append(take_snapshot(number + 1))
    born = births(seen)
    places = seen[-1].graph.find_all([id(one) for one in kept])
    assert [born[places[id(one)]] for one in kept] == list(range(6))
    assert (seen[0].opened is None) == CAN_FORK


def test_what_is_done_in_a_fork_comes_back_and_changes_nothing_here() -> None:
    kept: list[int] = []

    def work() -> int:
        kept.append(1)
        return len(kept)

    assert in_fork(work) == 1
    assert kept == ([] if CAN_FORK else [1])


@needs_fork
def test_work_that_kills_its_copy_is_done_here() -> None:
    program = os.getpid()

    def work() -> int:
        if os.getpid() != program:
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert in_fork(work) == 7


@needs_fork
def test_an_error_of_work_done_in_a_fork_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        in_fork(lambda: 1 // 0)


@needs_fork
def test_no_copy_is_left_behind_and_signals_are_heard_as_before() -> None:
    before, others = signal.pthread_sigmask(signal.SIG_BLOCK, []), psutil.Process().children()
    in_fork(lambda: None)
    step_snapshots.take_snapshot(0, collect=Collect.NOTHING)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
    assert [one for one in psutil.Process().children() if one not in others] == []


def test_an_empty_storage_is_all_header() -> None:
    torch = pytest.importorskip("torch")
    kept = [torch.ones(25) for _ in range(3)]
    graph = take_snapshot(0).graph
    nodes = [graph.find(one.untyped_storage()._cdata) for one in kept]
    assert [step_snapshots.storage_content(graph, node) for node in nodes if node is not None] == [100, 100, 100]


META = """
class Meta(type):
    def __eq__(cls, other):
        raise RuntimeError("the program's code runs")
class Odd(metaclass=Meta):
    pass
class Odder(Odd):
    pass
from gradlife.hunting.snapshots.step_snapshots import subclasses
found = [id(kind) for kind in subclasses(object)]
print(id(Odder) in found, len(found) == len(set(found)))
"""


def test_classes_whose_metaclass_has_no_hash_are_seen_without_running_it() -> None:
    done = subprocess.run([sys.executable, "-c", META], capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout.split() == ["True", "True"]


def addresses_of_marked(graph: _heap.Graph) -> set[int]:
    """Addresses of all `Marked` in a graph."""
    return {graph.describe(node).address for node in graph.nodes("python", f"{__name__}.Marked")}


@pytest.mark.whole
def test_a_comparison_finds_every_new_object_among_many_that_come_and_go() -> None:
    chance = random.Random(0)
    kept = [Marked() for _ in range(2_000)]
    before = step_snapshots.walked()
    for _ in range(20):
        for _ in range(chance.randrange(200)):
            del kept[chance.randrange(len(kept))]
        kept[chance.randrange(len(kept)) : 0] = [Marked() for _ in range(chance.randrange(200))]
        after = step_snapshots.walked()
        rows = [row for row in _heap.compare_objects(before, after, 100_000) if row[0] == f"{__name__}.Marked"]
        new = {after.describe(node).address for row in rows for node in row[5]}
        old, now = addresses_of_marked(before), addresses_of_marked(after)
        assert now == set(map(id, kept))
        assert new == now - old
        assert sum(row[3][0] for row in rows) == len(old - now)
        before = after


def texts_of_paths(graph: _heap.Graph, addresses: list[int]) -> list[list[tuple[str, str]]]:
    """What a report says of the paths to these objects: descriptions and labels."""
    paths = (graph.path_references(graph.find(address) or 0) for address in addresses)
    return [[(step.detail, step.label) for step in steps] for steps in paths]


@needs_fork
def test_labels_since_an_earlier_look_are_those_of_what_is_new_and_what_is_large() -> None:
    register: dict[str, object] = {"old": Marked(), "list": [], "text": bytearray(4096)}
    first = take_snapshot(0)
    register["list"] = [Marked()]
    register["new"] = Marked()
    graphs = [take_snapshot(1, with_labels=True, earlier=one).graph for one in (None, first)]
    paths = [texts_of_paths(graph, [id(register["new"]), id(register["text"])]) for graph in graphs]
    assert paths[0] == paths[1]
    assert [steps[-2][1] for steps in paths[1]] == ["'new'", "'text'"]
    old = graphs[1].find(id(register["old"]))
    assert old is not None
    assert graphs[1].path_references(old)[-2].label != "'old'"
