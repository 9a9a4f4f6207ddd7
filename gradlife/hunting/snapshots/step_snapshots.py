"""The heap at a step boundary: a graph, and counts of what matters in it."""

from __future__ import annotations

import enum
import functools
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradlife import _heap
from gradlife.heap.scan import OWN_FOLDER
from gradlife.heap.tensors import storage_header
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.process.forked import CAN_FORK, NICENESS, end
from gradlife.hunting.snapshots.compile_caches import Compiled, compiled_now
from gradlife.model.hunt import PerStep

#: Modules that define the classes of tensors, storages and contexts: of torch, and of gradlife's engine.
NATIVE_MODULES = ("torch._C", "gradlife._engine")

#: The name of each native kind in a count.
NATIVE_COUNTS = {"storage": "storages", "grad_node": "graph_nodes"}

#: Text, numbers and code of fewer bytes are no part of a snapshot: no leak is made of them, and they are two thirds of a heap.
LEAST_ATOM = 4 * 1024


#: The type that has memory of its own, besides storages.
ARRAY = "numpy.ndarray"


class SnapshotFile:
    """A file without a name, which is gone with this."""

    def __init__(self) -> None:
        self.writer = 0  # the copy of the process that still writes it
        with tempfile.TemporaryFile(prefix="gradlife-snapshot-") as file:
            self.descriptor = os.dup(file.fileno())

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def is_written(self, *, waits: bool = False) -> bool:
        """Is the file whole? MemoryError where its writer came to no good end."""
        if self.writer:
            try:
                ended, status = os.waitpid(self.writer, 0 if waits else os.WNOHANG)
            except ChildProcessError:  # a handler of the program's has heard of its end
                ended, status = self.writer, 0
            if not ended:
                return False
            self.writer = 0
            if status:
                raise MemoryError
        return True

    def give_up(self) -> None:
        """End the copy that writes it."""
        if self.writer:
            end(self.writer)
            self.writer = 0


@dataclass
class StepSnapshot:
    """The heap after so many counted steps, in a file until it is asked for. It holds no object of the program."""

    steps: int
    has_labels: bool
    file: SnapshotFile | None = None
    opened: _heap.Graph | None = None
    compiled: Compiled = field(default_factory=Compiled)
    #: Bytes that malloc gave out more for each step of the round but its first; None: unknown.
    malloc_per_step: float | None = None

    @property
    def graph(self) -> _heap.Graph:
        """The graph, some 30 MB a million objects: it is asked for in a forked copy of the process."""
        if self.opened is None:
            assert self.file is not None
            self.opened = _heap.open_graph(self.file.descriptor)
        return self.opened

    def is_written(self, *, waits: bool = False) -> bool:
        """Can the graph be asked for? MemoryError where it never can."""
        return self.file is None or self.file.is_written(waits=waits)

    @property
    def limits(self) -> list[str]:
        """The limits of the snapshot, one sentence each."""
        return self.graph.limits or self.graph.notes.splitlines()

    def forget(self) -> None:
        """Gives the graph up until it is asked for again, where there is a file to read it from."""
        if self.file is not None and self.opened is not None:
            self.totals, self.sizes  # noqa: B018  kept
            self.opened = None

    @functools.cached_property
    def totals(self) -> PerStep:
        """The totals of everything: levels, not rates."""
        return totals_of(self.graph)

    @functools.cached_property
    def sizes(self) -> frozenset[int]:
        """The sizes in bytes that there are, of all that has memory of its own."""
        return frozenset(nbytes for _, nbytes in sized(self.graph))


class Collect(enum.Enum):
    """The work of the collector before a snapshot."""

    NOTHING = enum.auto()  # the garbage itself is wanted
    YOUNG = enum.auto()  # what a round made and left, but for a step's worth or two, is in the young generations
    ALL = enum.auto()

    def run(self) -> None:
        """Run the collector."""
        if self is not Collect.NOTHING:
            gc.collect(1 if self is Collect.YOUNG else 2)


def take_snapshot(
    steps: int, *, with_labels: bool = False, collect: Collect = Collect.ALL, waits: bool = True
) -> StepSnapshot:
    """Take a snapshot, after a collection unless the garbage itself is wanted. It may be written later if nothing ``waits``."""
    ensure_calibrated()
    collect.run()
    file = recorded(with_labels, waits) if CAN_FORK else None
    if file is not None:
        return StepSnapshot(steps, with_labels, file, compiled=compiled_now())
    graph = _heap.freeze(True, True, OWN_FOLDER, 0, LEAST_ATOM) if with_labels else walked()
    return StepSnapshot(steps, with_labels, opened=graph, compiled=compiled_now())


def recorded(with_labels: bool, waits: bool) -> SnapshotFile | None:
    """A file with the heap in it, which a copy of the process writes; None where there can't be one."""
    try:
        file = SnapshotFile()
        if waits:
            _heap.record(file.descriptor, with_labels, OWN_FOLDER, LEAST_ATOM)
        else:
            file.writer = _heap.start_record(file.descriptor, with_labels, OWN_FOLDER, LEAST_ATOM, NICENESS)
    except (OSError, MemoryError):
        return None
    return file


def walked() -> _heap.Graph:
    """The graph without labels: a fifth of the time."""
    return _heap.walk(sizes=True, hidden_sources=OWN_FOLDER, least_atom=LEAST_ATOM)


def totals_of(graph: _heap.Graph) -> PerStep:
    """Objects, tensors, storages, nodes and storages' bytes of a graph."""
    sums: Counter[str] = Counter()
    tensors = tensor_type_names()
    for name, kind, count, nbytes in graph.census():
        sums["objects"] += count if kind == "python" else 0
        sums["tensors"] += count if kind == "python" and name in tensors else 0
        sums[NATIVE_COUNTS.get(kind, "others")] += count
        sums["bytes"] += nbytes - count * storage_header() if kind == "storage" else 0
        sums["all"] += nbytes
    return PerStep(*(float(sums[key]) for key in ("objects", "tensors", "storages", "graph_nodes", "bytes", "all")))


def sized(graph: _heap.Graph) -> Iterator[tuple[int, int]]:
    """Storages, and arrays with memory of their own, with their bytes."""
    for node in graph.nodes("storage", ""):
        yield node, storage_content(graph, node)
    for node in graph.nodes("python", ARRAY):
        yield node, graph.describe(node).bytes or 0


def tensor_type_names() -> frozenset[str]:
    """The names of all classes of tensors, as the graph has them."""
    return names_of_all("TensorBase")


def context_type_names() -> frozenset[str]:
    """The names of all classes of contexts of Functions written in Python."""
    return names_of_all("_FunctionBase")


def names_of_all(base: str) -> frozenset[str]:
    """The names of a class that torch and the engine each have, and of all below it."""
    return frozenset().union(*(names_below(module, base) for module in NATIVE_MODULES))


def names_below(module: str, base: str) -> frozenset[str]:
    """The names of a class, if its module is loaded, and of all below it."""
    found = getattr(sys.modules.get(module), base, None)
    return frozenset(map(full_name, subclasses(found))) if found is not None else frozenset()


def native_classes(base: str) -> list[type]:
    """A class that torch and the engine each have in C++, of those that this process has loaded."""
    places = (sys.modules.get(module) for module in NATIVE_MODULES)
    return [found for found in (getattr(place, base, None) for place in places) if found is not None]


def subclasses(base: Any) -> Iterator[type]:
    """A class and all below it, each once."""
    waiting, seen = [base], {id(base)}  # a metaclass may have an __eq__, or no __hash__
    while waiting:
        kind = waiting.pop()
        yield kind
        fresh = [below for below in type.__subclasses__(kind) if id(below) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh


def full_name(kind: type) -> str:
    """``torch.nn.parameter.Parameter``; without asking the class itself, whose metaclass may have code."""
    module = type.__dict__["__dict__"].__get__(kind).get("__module__")
    name = type.__dict__["__qualname__"].__get__(kind)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)


def storage_content(graph: _heap.Graph, node: int) -> int:
    """Bytes of a storage's contents, without the object that holds them."""
    return max(0, (graph.describe(node).bytes or 0) - storage_header())
