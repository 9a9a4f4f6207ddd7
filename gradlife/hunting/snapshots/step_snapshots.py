"""The heap at a step boundary: a graph, and counts of its tensors, storages and nodes."""

from __future__ import annotations

import enum
import functools
import gc
import itertools
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from gradlife import _heap
from gradlife.descriptors import move_up
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.tensors import storage_header
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process import forked
from gradlife.hunting.process.collector import collect
from gradlife.hunting.process.device_limits import FreeBytes, free_bytes
from gradlife.hunting.process.forked import CAN_FORK, NICENESS, end, wait_for
from gradlife.hunting.process.own_folders import roomy_folder
from gradlife.hunting.process.process_memory import ProcessMemory, process_memory
from gradlife.hunting.snapshots.cast_cache import is_caching_casts
from gradlife.hunting.snapshots.compile_caches import Compiled, compiled_now
from gradlife.hunting.snapshots.notes import Notes
from gradlife.hunting.snapshots.remote_references import owned_now
from gradlife.hunting.snapshots.shared_files import SharedFiles, shared_files_now
from gradlife.model.hunt import Amounts
from gradlife.safe_access import member

T = TypeVar("T")

#: Modules that define the classes of tensors, storages and contexts: of torch, and of gradlife's engine.
NATIVE_MODULES = ("torch._C", "gradlife._engine")

#: The name of each native kind in a count.
NATIVE_COUNTS = {"storage": "storages", "grad_node": "graph_nodes"}

#: Smaller text, numbers and code are left out: they are two thirds of a heap. CPython takes larger objects from malloc.
MIN_ATOM_BYTES = 512

#: The least text or buffer that may be seen to get longer. There are smaller ones of nearly every size.
MIN_TEXT_BYTES = 4 * 1024

#: Texts, buffers and arrays of numbers, which have no references.
TEXTS = ("str", "bytes", "bytearray", "array.array")

#: Files in memory, from which a program may derive its own.
MEMORY_FILES = ("BytesIO", "StringIO")


#: The type with memory of its own, besides storages.
ARRAY = "numpy.ndarray"


class SnapshotFile:
    """An unnamed file that is deleted with this object."""

    def __init__(self) -> None:
        self.writer = 0  # the forked process that still writes the file
        self.notes = Notes()
        with tempfile.TemporaryFile(prefix="gradlife-snapshot-", dir=roomy_folder()) as file:
            self.descriptor = move_up(os.dup(file.fileno()))

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def is_written(self, *, waits: bool = False) -> bool:
        """Whether the file is complete. Raises MemoryError if its writer failed."""
        if self.writer:
            try:
                ended, status = wait_for(self.writer, 0 if waits else os.WNOHANG)
            except ChildProcessError:  # a handler of the program has already waited for it
                ended, status = self.writer, 0
            if not ended:
                return False
            self.writer = 0
            if status:
                raise MemoryError
        return True

    def give_up(self) -> None:
        """End the forked process that writes the file."""
        if self.writer:
            end(self.writer)
            self.writer = 0


@dataclass
class StepSnapshot:
    """The heap after a number of counted steps, in a file until it is read. It holds no object of the program."""

    steps: int
    has_labels: bool
    is_collected: bool = True  # whether a full collection preceded it: else it may have garbage of the old generation
    file: SnapshotFile | None = None
    opened: _heap.Graph | None = None
    is_spared: bool = False  # see `Collect.SPARED`
    compiled: Compiled = field(default_factory=Compiled)
    shared_files: SharedFiles = field(default_factory=shared_files_now)
    is_caching_casts: bool = field(default_factory=is_caching_casts)
    owned_rrefs: int = field(default_factory=owned_now)  # values that other workers have RRefs to
    #: Bytes per step that malloc handed out in the round, without its first step; None if unknown.
    malloc_per_step: float | None = None
    memory: ProcessMemory | None = field(default_factory=process_memory)
    frozen: int = field(default_factory=gc.get_freeze_count)  # objects that no collection looks at
    new_workers: int = 0  # threads that worked in the round as never before
    threads: int = 0  # threads that it watched
    #: What was free on each device in use. Forked copies cannot ask CUDA.
    free_on_devices: FreeBytes = field(default_factory=free_bytes)
    number: int = field(default_factory=itertools.count().__next__)  # no other snapshot of this process has it

    @property
    def graph(self) -> _heap.Graph:
        """Read the graph, some 30 MB per million objects: call it in a forked copy of the process."""
        if self.opened is None:
            assert self.file is not None
            self.opened = _heap.open_graph(self.file.descriptor)
        return self.opened

    def is_written(self, *, waits: bool = False) -> bool:
        """Whether the graph can be read. Raises MemoryError if it never can."""
        return self.file is None or self.file.is_written(waits=waits)

    @property
    def limits(self) -> list[str]:
        """Return the limits of the snapshot, one sentence each."""
        return self.graph.limits or self.graph.notes.splitlines()

    def forget(self) -> None:
        """Drop the graph from memory if it can be read from the file again."""
        if self.file is not None and self.opened is not None:
            self.totals, self.sizes  # noqa: B018  kept
            self.opened = None

    @functools.cached_property
    def totals(self) -> Amounts:
        """Return the totals of the heap: levels, not rates."""
        return self.noted("totals", lambda: totals_of(self.graph))

    @functools.cached_property
    def sizes(self) -> frozenset[int]:
        """Return the sizes in bytes of all objects with memory of their own."""
        return self.noted("sizes", lambda: frozenset(nbytes for _, nbytes in sized(self.graph)))

    def settle(self, has_old_garbage: bool) -> None:
        """Treat a snapshot that was spared a full collection like one after it if there was nothing to free."""
        if self.is_spared and not has_old_garbage:
            self.is_collected = True

    def noted(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what an earlier copy of the process found in the graph, else find it."""
        return self.file.notes.find(key, find) if self.file is not None else find()


class Collect(enum.Enum):
    """The collector's work before a snapshot."""

    NOTHING = enum.auto()  # keep the garbage for inspection
    YOUNG = enum.auto()  # garbage of a round, except for its last steps, is in the young generations
    ALL = enum.auto()
    SPARED = enum.auto()  # young generations only: the judgement before found nothing that a full one would free

    def run(self) -> None:
        """Run the collector."""
        if self is not Collect.NOTHING:
            collect(2 if self is Collect.ALL else 1)


def take_snapshot(
    steps: int,
    *,
    with_labels: bool = False,
    collect: Collect = Collect.ALL,
    waits: bool = True,
    earlier: StepSnapshot | None = None,
) -> StepSnapshot:
    """Take a snapshot, after a collection unless the garbage itself is wanted. Unless it ``waits``, writing may
    finish later. With an ``earlier`` snapshot, only what is new since then gets labels, which is faster.
    """
    ensure_calibrated()
    collect.run()
    file = recorded(with_labels, waits, earlier) if CAN_FORK else None
    if file is not None:
        return StepSnapshot(steps, with_labels, collect is Collect.ALL, file, compiled=compiled_now())
    graph = _heap.freeze(True, True, OWN_FOLDER, 0, MIN_ATOM_BYTES) if with_labels else walked()
    _heap.mark_births()
    return StepSnapshot(steps, with_labels, collect is Collect.ALL, opened=graph, compiled=compiled_now())


def recorded(with_labels: bool, waits: bool, earlier: StepSnapshot | None = None) -> SnapshotFile | None:
    """Fork a process that writes the heap to a file; None if that is not possible."""
    known = earlier.file.descriptor if with_labels and earlier is not None and earlier.file is not None else -1
    try:
        file = SnapshotFile()
        if waits:
            _heap.record(file.descriptor, with_labels, OWN_FOLDER, MIN_ATOM_BYTES, 0, known)
        else:
            file.writer = _heap.start_record(file.descriptor, with_labels, OWN_FOLDER, MIN_ATOM_BYTES, NICENESS, known)
    except (OSError, MemoryError):
        return None
    return file


def walked() -> _heap.Graph:
    """Capture the graph without labels, in a fifth of the time."""
    return _heap.walk(sizes=True, hidden_sources=OWN_FOLDER, min_atom_bytes=MIN_ATOM_BYTES)


def totals_of(graph: _heap.Graph) -> Amounts:
    """Count objects, tensors, storages, nodes and storage bytes of a graph."""
    sums: Counter[str] = Counter()
    tensors = tensor_type_names()
    for name, kind, count, nbytes in graph.census():
        sums["objects"] += count if kind == "python" else 0
        sums["tensors"] += count if kind == "python" and name in tensors else 0
        sums[NATIVE_COUNTS.get(kind, "others")] += count
        sums["bytes"] += nbytes - count * storage_header() if kind == "storage" else 0
        sums["all"] += nbytes
    sums["bytes"] += graph.borrowed_bytes
    return Amounts(*(float(sums[key]) for key in ("objects", "tensors", "storages", "graph_nodes", "bytes", "all")))


def sized(graph: _heap.Graph) -> Iterator[tuple[int, int]]:
    """Return storages, arrays with memory of their own, and long texts, with their bytes."""
    for node in graph.nodes("storage", ""):
        yield node, storage_content(graph, node)
    for node in graph.nodes("python", ARRAY):
        yield node, graph.describe(node).bytes or 0
    for name in (*TEXTS, *memory_file_names()):
        sizes = ((node, graph.describe(node).bytes or 0) for node in graph.nodes("python", name))
        yield from ((node, nbytes) for node, nbytes in sizes if nbytes >= MIN_TEXT_BYTES)


def tensor_type_names() -> frozenset[str]:
    """Return the names of all tensor classes, as the graph has them."""
    return names_of_all("TensorBase")


def memory_file_names() -> frozenset[str]:
    """Return the names of all classes of files in memory."""
    return frozenset(f"_io.{base}" for base in MEMORY_FILES).union(*(names_below("io", base) for base in MEMORY_FILES))


def context_type_names() -> frozenset[str]:
    """Return the names of all contexts of Functions written in Python."""
    return names_of_all("_FunctionBase")


def names_of_all(base: str) -> frozenset[str]:
    """Return the names of a class of torch and the engine, and of all its subclasses."""
    return frozenset().union(*(names_below(module, base) for module in NATIVE_MODULES))


def names_below(module: str, base: str) -> frozenset[str]:
    """Return the names of a class, if its module is loaded, and of all its subclasses. A copy makes no new ones."""
    return known_names(module, base) if forked.is_copy else names_now(module, base)


def names_now(module: str, base: str) -> frozenset[str]:
    """Return the names of a class, if its module is loaded, and of all its subclasses so far."""
    found = member(module, base)
    return frozenset(map(full_name, subclasses(found))) if found is not None else frozenset()


known_names = functools.cache(names_now)


def native_classes(base: str) -> list[type]:
    """Return the C++ classes of this name in torch and the engine, if loaded."""
    return [found for found in (member(module, base) for module in NATIVE_MODULES) if found is not None]


def subclasses(base: Any) -> Iterator[type]:
    """Return a class and all its subclasses, each once."""
    waiting, seen = [base], {id(base)}  # a metaclass may define __eq__ without __hash__
    while waiting:
        kind = waiting.pop()
        yield kind
        fresh = [below for below in type.__subclasses__(kind) if id(below) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh


def full_name(kind: type) -> str:
    """Return the full name, ``torch.nn.parameter.Parameter``, without running code of the metaclass."""
    module = type.__dict__["__dict__"].__get__(kind).get("__module__")
    name = type.__dict__["__qualname__"].__get__(kind)
    return f"{module}.{name}" if type(module) is str and module != "builtins" else str(name)


def storage_content(graph: _heap.Graph, node: int) -> int:
    """Return the bytes of a storage's contents, whoever owns them, without the object that holds them."""
    return max(0, (graph.describe(node).bytes or 0) - storage_header()) + graph.borrowed(node)
