"""Explain what keeps one object of a test alive, in a forked copy of the process, so that this one keeps no graph."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradlife import _heap
from gradlife.heap.graph import Reference, with_source
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.findings.diagnosis import finding
from gradlife.hunting.findings.leak_trace import held_trace, lost_trace, own_cycle_trace
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.creation_recorder import Recording
from gradlife.hunting.snapshots.creation_sites import CreationSites
from gradlife.hunting.snapshots.retained import dominators
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.hunt import Amounts, Finding, FindingKind
from gradlife.model.trace import Lifetime, Trace
from gradlife.safe_access import LibraryObject

#: Types that keep a suspended function's variables, and the attribute that shows that it runs.
GENERATORS = {"generator": "gi_running", "coroutine": "cr_running", "async_generator": "ag_running"}

KINDS = {
    Lifetime.HELD: FindingKind.GROWTH,
    Lifetime.NEVER: FindingKind.NEVER,
    Lifetime.GC: FindingKind.NEEDS_GC,
    Lifetime.UNKNOWN: FindingKind.NATIVE,
}


@dataclass(frozen=True)
class Heap:
    """The labelled graph of now."""

    graph: _heap.Graph
    creation_sites: CreationSites

    def explain(self, node: int) -> Finding:
        """Explain why a node is alive."""
        graph = self.graph
        is_held = bool(graph.path(node))
        trace = (
            held_trace(graph, node) if is_held else lost_trace(graph, node, Lifetime(graph.explain(node)["lifetime"]))
        )
        return self.named(trace, node)

    def named(self, trace: Trace, node: int) -> Finding:
        """Build a finding from a trace, with its name and the line that made the object."""
        made = self.creation_sites.lines(self.graph, [[node]])
        nbytes = (trace.tensor.storage_bytes if trace.tensor is not None else None) or 0
        kind = KINDS[trace.lifetime]
        if kind is FindingKind.NEVER and not trace.cycle:
            kind = FindingKind.NATIVE
        return finding(kind, trace.lifetime, trace, Amounts(), survivors=1, retained_bytes=nbytes, created_at=made)

    def beyond_names(self, node: int, referrers: Iterable[Reference]) -> Finding | None:
        """Explain what keeps a node alive besides variables of running functions: another holder, or a cycle. None if
        that is unknown until they return.
        """
        graph = self.graph
        cycles = []
        for row in referrers:
            one = row.node
            path = graph.path(one)
            if is_executing(graph, one):
                continue
            if is_below(graph, one, node):
                cycles += [row] if row.kind == "python" else []
            elif path and not any(is_running(graph, at) for at in path):
                return self.named(held_trace(graph, node, by=row), node)
        return self.named(own_cycle_trace(graph, node, cycles[0]), node) if cycles else None

    def referrers_of(self, obj: object) -> Iterator[Reference]:
        """Yield the referrers of an object with the names of all references; the graph keeps names on shortest paths
        only.
        """
        _, found = _heap.investigate(obj, False, OWN_FOLDER, (), False, 0)
        for row in found["referrers"] if found is not None else ():
            node = self.graph.find(row.address)
            if node is not None:
                yield with_source(node, row)


def is_running(graph: _heap.Graph, node: int) -> bool:
    """Whether this is the frame of a running function."""
    return graph.kind_and_type(node) == ("root", RUNNING_FRAME)


def is_executing(graph: _heap.Graph, node: int) -> bool:
    """Whether this is a generator or coroutine that is executing now. Its variables are those of a running function."""
    found = graph.describe(node)
    if found.kind != "python" or found.type not in GENERATORS:
        return False
    one: LibraryObject = ctypes.cast(
        found.address, ctypes.py_object
    ).value  # runs in the forked copy, which still has it
    return bool(getattr(one, GENERATORS[found.type]))


def is_below(graph: _heap.Graph, node: int, above: int) -> bool:
    """Whether every path from a root to a node passes through another one."""
    return above in dominators(graph, node)


def heap_of_now(recording: Recording, has_natives: bool = False) -> Heap:
    """Return the labelled graph and the recorded creations; on request with C++ objects unreachable from Python."""
    ensure_calibrated()
    snapshot = StepSnapshot(0, True, opened=_heap.freeze(True, True, OWN_FOLDER, 0, 0, has_natives))
    creation_sites = CreationSites()
    if recording.is_on:
        creation_sites.add(snapshot, recording.sites())
    return Heap(snapshot.graph, creation_sites)


def why_at(address: int, recording: Recording) -> Finding | None:
    """Explain why the Python or C++ object at an address is alive; None if it is not in the graph."""
    ensure_calibrated()

    def work() -> Finding | None:
        heap = heap_of_now(recording)
        node = heap.graph.find(address)
        return heap.explain(node) if node is not None else None

    return in_fork(work)


def why_beyond_names(obj: object, recording: Recording) -> Finding | None:
    """Explain what will keep an object after the running functions return, if that is certain."""
    ensure_calibrated()

    def work() -> Finding | None:
        heap = heap_of_now(recording)
        node = heap.graph.find(id(obj))
        return heap.beyond_names(node, [*heap.referrers_of(obj)]) if node is not None else None

    return in_fork(work)
