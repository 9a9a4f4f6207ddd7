"""The check after a single run of a test: young objects first, and the heap only if some are left."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.creation_recorder import USUAL, Recording
from gradlife.pytest_plugin.checks.gc_boundary import Family, family_of, has, instances, references
from gradlife.pytest_plugin.checks.native_survivors import NativeSurvivors
from gradlife.pytest_plugin.checks.survivors import Outliving, outliving

#: After this many frozen objects, or this many more bytes, the collector is thawed once: an object that was in use when
#: its test ended may be in a cycle by now.
MANY = 50_000
MUCH = 64 * 1024 * 1024

#: A number above that of any grad node, so that a query for later nodes returns only the next node's number.
NO_NODE = 2**63

BLIND = "the collector was frozen or thawed while the test ran: new objects cannot be distinguished from old ones"


class Blind(Exception):
    """Other code froze or thawed the collector since the test began."""


@dataclass
class Sweep:
    """The tests of a session, one after the other. What a test leaves counts as old for the next one."""

    recording: Recording = field(default_factory=lambda: Recording(launcher()))
    is_open: bool = False
    _mark: list[Any] = field(default_factory=list)  # made since the last test ended
    _old: list[Any] = field(default_factory=list)  # hidden from the collector
    _aged: int = 0
    _malloc: int = 0
    _has_torch: bool = False
    _spared: list[weakref.ref[Any]] = field(default_factory=list)  # made by fixtures that outlive the test
    _spared_nodes: set[int] = field(default_factory=set)
    _first_node: int = 0  # number of the test's first grad node
    _native: NativeSurvivors = field(default_factory=NativeSurvivors)

    def begin(self) -> None:
        """Begin a test: objects that exist now count as old."""
        if not self.is_open:
            self.is_open = True
            self._old = [[]]
            self._age()
            self._aged = 0
            self._malloc = _heap.malloc_bytes() or 0
        if self._has_torch != ("torch" in sys.modules):
            self._has_torch = "torch" in sys.modules
            self.recording.stop()
        if not self.recording.is_on:
            self.recording.start(USUAL)
            self.recording.rest()
            self._first_node, _ = self.recording.nodes_since(NO_NODE)
        self._native.begin()

    def interrupt(self) -> None:
        """Start anew with the next test: another kind of check is about to thaw the collector."""
        self.is_open = False
        self._native.outdate()

    def close(self) -> None:
        """End the session's checks."""
        if self.is_open:
            self.is_open = False
            self.recording.stop()
            gc.unfreeze()

    # --- during a test ------------------------------------------------------------------------------------------------

    def carriers(self) -> set[int]:
        """Return the addresses of young living tensors, storages, grad nodes and contexts, and of grad nodes without a
        Python object. Objects of fixtures with a wider scope do not count. Raises `Blind`.
        """
        objects = gc.get_objects()
        if not has(objects, self._mark) or has(objects, self._old):
            raise Blind
        return (carriers_of(objects) - addresses(self._spared)) | self._nodes()

    def _nodes(self) -> set[int]:
        """Return the test's living grad nodes. An old tensor may hold one that no young object leads to."""
        return set(self.recording.nodes_since(self._first_node)[1]) - self._spared_nodes

    def carriers_set_up(self) -> set[int]:
        """Return `carriers` before the test itself runs; empty where it raises `Blind`."""
        try:
            return self.carriers()
        except Blind:
            return set()

    @contextmanager
    def sparing(self) -> Iterator[None]:
        """Count what is made in this block as belonging to a fixture that outlives the test."""
        before, nodes = carriers_of(gc.get_objects()), self._nodes()
        yield
        self._spared += [one for one in carriers_in(gc.get_objects()) if id(one()) not in before]
        self._spared_nodes |= self._nodes() - nodes
        if self._native.has_more():
            self._native.renew()

    def has_more_memory(self) -> bool:
        """Return whether the test may have left objects that no young object leads to."""
        return self._native.has_more()

    def native_survivors(self, may_collect: bool) -> set[int]:
        """Return the test's tensors and grad nodes that no young object leads to, if memory grew. Leave out those in
        cycles if the collector may run.
        """
        found = self._native.left(may_collect)
        return {at for at, family in found if family == "tensor" or self.recording.is_since(at, self._first_node)}

    def judged(self, native_survivors: Collection[int] = ()) -> Outliving:
        """Return the survivors of the test and their holders, before the collector runs."""
        ensure_calibrated()
        spared, recording = addresses(self._spared), self.recording
        young = [id(one) for one in gc.get_objects()]
        nodes = self._nodes()
        found = in_fork(
            lambda: outliving([one for one in young if one not in spared], nodes, recording, native_survivors)
        )
        if found.findings and not native_survivors:
            self._native.outdate()
        return found

    def end(self) -> None:
        """End a test: its remaining objects count as old."""
        self._spared.clear()
        self._spared_nodes.clear()
        malloc = _heap.malloc_bytes() or 0
        if self._aged > MANY or malloc > self._malloc + MUCH:
            gc.unfreeze()
            self._age()
            self._aged = 0  # objects that were just thawed do not count: torch alone has more than MANY
            self._malloc = _heap.malloc_bytes() or 0
        else:
            self._age()

    def _age(self) -> None:
        gc.collect()
        self._aged += len(gc.get_objects())
        gc.freeze()
        self._mark = [[]]
        self._first_node, _ = self.recording.nodes_since(NO_NODE)


def launcher() -> str | None:
    """Return the script that started pytest. Its lines create nothing for a test."""
    return getattr(sys.modules["__main__"], "__file__", None)


def addresses(references: Iterable[weakref.ref[Any]]) -> set[int]:
    """Return the addresses of those that are alive. Comparing weak references would run the program's own `__eq__`."""
    return {id(found) for one in references if (found := one()) is not None}


def carriers_in(objects: list[Any]) -> list[weakref.ref[Any]]:
    """Return weak references to the tensors, storages, grad nodes and contexts among objects."""
    return [*references(objects, is_seen)]


def carriers_of(objects: list[Any]) -> set[int]:
    """Return the addresses of these objects."""
    return set(map(id, instances(objects, is_seen)))


def is_seen(kind: type) -> bool:
    """Return whether instances of a class carry memory of torch and support weak references."""
    return family_of(kind) is not Family.NONE and type.__dict__["__weakrefoffset__"].__get__(kind) != 0
