"""The check after a single run of a test: young objects first, and the heap only if some are left.

Young objects are those newer than the last `gc.freeze()`, which the sweep calls after each test.
"""

from __future__ import annotations

import gc
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
from gradlife.safe_access import LibraryObject, exact_text, loaded, member

#: After this many frozen objects, or this many more bytes, the collector is thawed once, to collect: frozen objects that
#: have become garbage cycles since then are never freed otherwise.
MANY = 50_000
MUCH = 64 * 1024 * 1024

#: A number above that of any grad node: asked for the nodes after it, the recorder only returns the next number.
AFTER_ALL_NODES = 2**63

BLIND = "the collector was frozen or thawed while the test ran: new objects cannot be distinguished from old ones"


class Blind(Exception):
    """Other code froze or thawed the collector since the test began."""


@dataclass(frozen=True, slots=True)
class Thawed:
    """The old objects at the moment when everything was thawed."""

    old: frozenset[int]
    carriers: list[weakref.ref[Any]]


@dataclass
class Sweep:
    """The tests of a session, one after the other. What a test leaves counts as old for the next one."""

    recording: Recording = field(default_factory=lambda: Recording(launcher()))
    is_open: bool = False
    _young_sentinel: list[Any] = field(default_factory=list)  # the collector must show it, or someone froze it
    _frozen_sentinel: list[Any] = field(default_factory=list)  # the collector must not show it, or someone thawed it
    _aged: int = 0
    _malloc: int = 0
    _has_torch: bool = False
    _spared: list[weakref.ref[Any]] = field(default_factory=list)  # made by fixtures that outlive the test
    _spared_nodes: set[int] = field(default_factory=set)
    _first_node: int = 0  # number of the test's first grad node
    _native: NativeSurvivors = field(default_factory=NativeSurvivors)
    _thawed: Thawed | None = None  # while wider fixtures are torn down

    def begin(self) -> None:
        """Begin a test: objects that exist now count as old."""
        if not self.is_open:
            self.is_open = True
            self._frozen_sentinel = [[]]
            self._age()
            self._aged = 0
            self._malloc = used_bytes()
        if self._has_torch != (loaded("torch") is not None):
            self._has_torch = not self._has_torch
            self.recording.stop()
        if not self.recording.is_on:
            self.recording.start(USUAL)
            self.recording.rest()
            self._first_node, _ = self.recording.nodes_since(AFTER_ALL_NODES)
        self._native.begin()

    def interrupt(self) -> None:
        """Start anew with the next test: another kind of check is about to thaw the collector."""
        self.is_open = False
        self._thawed = None
        self._native.mark_stale()

    def close(self) -> None:
        """End the session's checks."""
        if self.is_open:
            self.is_open = False
            self._thawed = None
            self.recording.stop()
            gc.unfreeze()

    # --- during a test ------------------------------------------------------------------------------------------------

    def carriers(self) -> set[int]:
        """Return the addresses of young living tensors, storages, grad nodes and contexts, and of grad nodes without a
        Python object. Objects of fixtures with a wider scope do not count. Raises `Blind`.
        """
        objects = gc.get_objects()
        if self._is_blind(objects):
            raise Blind
        old = addresses(self._thawed.carriers) if self._thawed is not None else set()
        return (carriers_of(objects) - addresses(self._spared) - old) | self._nodes()

    def _is_blind(self, objects: list[Any]) -> bool:
        """Whether other code froze or thawed the collector."""
        is_thawed = self._thawed is not None
        return not has(objects, self._young_sentinel) or has(objects, self._frozen_sentinel) is not is_thawed

    def thaw(self) -> None:
        """Let the collector free old objects while wider fixtures are torn down. Which ones are old remains known."""
        objects = gc.get_objects()
        if self.is_open and not self._is_blind(objects):
            young = set(map(id, objects))
            gc.unfreeze()
            objects = gc.get_objects()
            carriers = [one for one in carriers_in(objects) if id(one()) not in young]
            self._thawed = Thawed(frozenset(map(id, objects)) - young, carriers)

    def _nodes(self) -> set[int]:
        """Return the test's living grad nodes. An old tensor may hold one that no young object leads to."""
        return set(self.recording.nodes_since(self._first_node)[1]) - self._spared_nodes

    def carriers_before_test(self) -> set[int]:
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
            self._native.take_baseline()

    def may_have_native_survivors(self) -> bool:
        """Whether memory grew, so that the test may have left objects that no young object leads to."""
        return self._native.has_more()

    def native_survivors(self, may_collect: bool) -> set[int]:
        """Return the test's tensors and grad nodes that no young object leads to, if memory grew. Leave out those in
        cycles if the collector may run.
        """
        found = self._native.left(may_collect)
        return {at for at, family in found if family == "tensor" or self.recording.is_since(at, self._first_node)}

    @property
    def is_unsearched(self) -> bool:
        """Whether C++ memory was not searched after the test, although it took more, because many tests before it did."""
        return self._native.is_skipped

    def survivors_of_test(self, native_survivors: Collection[int] = ()) -> Outliving:
        """Return the survivors of the test and their holders, before the collector runs."""
        ensure_calibrated()
        spared, recording = addresses(self._spared), self.recording
        young = [id(obj) for obj in gc.get_objects()]
        if self._thawed is not None:
            young = [one for one in young if one not in self._thawed.old]
        nodes = self._nodes()
        found = in_fork(
            lambda: outliving([one for one in young if one not in spared], nodes, recording, native_survivors)
        )
        if found.findings and not native_survivors:
            self._native.mark_stale()
        return found

    def end(self) -> None:
        """End a test: its remaining objects count as old."""
        self._spared.clear()
        self._spared_nodes.clear()
        has_thawed, self._thawed = self._thawed is not None, None
        if has_thawed or self._aged > MANY or used_bytes() > self._malloc + MUCH:
            gc.unfreeze()
            self._age()
            self._aged = 0  # objects that were just thawed do not count: torch alone has more than MANY
            self._malloc = used_bytes()
        else:
            self._age()

    def _age(self) -> None:
        gc.collect()
        self._aged += len(gc.get_objects())
        gc.freeze()
        self._young_sentinel = [[]]
        self._first_node, _ = self.recording.nodes_since(AFTER_ALL_NODES)


def used_bytes() -> int:
    """Return the bytes that malloc has handed out, and those of tensors on a GPU that the program already uses."""
    cuda: LibraryObject = member("torch", "cuda")
    on_device = cuda.memory_allocated() if cuda is not None and cuda.is_initialized() else 0
    return (_heap.malloc_bytes() or 0) + int(on_device)


def launcher() -> str | None:
    """Return the script that started pytest. Objects are never attributed to its lines."""
    return exact_text(member("__main__", "__file__"))


def addresses(references: Iterable[weakref.ref[Any]]) -> set[int]:
    """Return the addresses of those that are alive. Comparing weak references would run the program's own `__eq__`."""
    return {id(found) for one in references if (found := one()) is not None}


def carriers_in(objects: list[Any]) -> list[weakref.ref[Any]]:
    """Return weak references to the tensors, storages, grad nodes and contexts among objects."""
    return [*references(objects, is_carrier_type)]


def carriers_of(objects: list[Any]) -> set[int]:
    """Return the addresses of the tensors, storages, grad nodes and contexts among objects."""
    return set(map(id, instances(objects, is_carrier_type)))


def is_carrier_type(kind: type) -> bool:
    """Whether instances of a class carry memory of torch and support weak references."""
    return family_of(kind) is not Family.NONE and type.__dict__["__weakrefoffset__"].__get__(kind) != 0
