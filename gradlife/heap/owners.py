"""The C++ objects behind some PyTorch objects and the references between them, as rows for a drawing."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_layout.labels import ITS_IMPL, ITS_WRAPPER
from gradlife.heap.torch_layout.torch import ensure_calibrated

#: The kind and the name of each sort of object in a drawing.
KINDS = {"tensor": "tensor", "storage": "storage", "grad_node": "node"}
NAMES = {"tensor": "Tensor", "storage": "Storage"}


#: The engine's names for torch's attributes of a ctx.
LABELS = {"saved_tensors": "tensors"}

#: Most C++ objects in one drawing.
MOST = 400

#: (label, ownership, number, type, address of a Python object)
Edge = tuple[str, str, int | None, str, int | None]
#: (number, kind, name, strong, weak, identity, wrapper, edges), as the engine returns them; counts are unknown here.
Row = tuple[int, str, str, int, int, str, Any, list[Edge]]


def is_known(obj: object) -> bool:
    """Whether this is a Python object with a PyTorch object behind it."""
    ensure_calibrated()
    return any(label == ITS_IMPL for label, *_ in _heap._torch_references(obj))


def cpp_owners(objects: Sequence[object]) -> list[Row]:
    """Return the C++ objects of these wrappers and all objects that they lead to, by owning references only.

    Costs some microseconds per object, and one pass over the collector's objects to find Python objects held by C++.
    """
    ensure_calibrated()
    return _Search(objects).rows()


class _Search:
    def __init__(self, objects: Sequence[object]) -> None:
        self.numbers: dict[int, int] = {}  # of C++ objects, by address
        self.kinds: dict[int, str] = {}
        self.wrappers: dict[int, object] = {}  # by address of the C++ object
        self.kept: set[int] = set()  # C++ objects that own their wrapper
        self.references: dict[int, list[tuple[str, str, int]]] = {}  # label, kind and address of the referents
        self.python: dict[int, object] = {id(obj): obj for obj in objects}
        waiting = list(self.python)
        while waiting:
            for address in waiting:
                self._look_behind(self.python[address])
            self._follow()
            waiting = self._found_in_python()

    def _number(self, address: int, kind: str) -> None:
        if address not in self.numbers and len(self.numbers) < MOST:
            self.numbers[address] = len(self.numbers) + 1
            self.kinds[address] = kind

    def _look_behind(self, obj: object) -> None:
        """Add the C++ object behind a wrapper; the wrapper's native references count as that object's."""
        result = _heap._torch_references(obj)
        impl = next((address for label, _, _, address in result if label == ITS_IMPL), None)
        if impl is None or impl in self.wrappers:
            return
        self.wrappers[impl] = obj
        self._number(impl, next(kind for label, _, kind, _ in result if label == ITS_IMPL))
        more = [(named(label), kind, address) for label, _, kind, address in result if label != ITS_IMPL]
        self.references.setdefault(impl, []).extend(more)
        for _, kind, address in more:
            if kind != "python":
                self._number(address, kind)

    def _follow(self) -> None:
        """Follow references between C++ objects."""
        waiting = deque(address for address in self.numbers)
        seen: set[int] = set()
        while waiting:
            address = waiting.popleft()
            if address in seen:
                continue
            seen.add(address)
            for label, _, kind, target in _heap._torch_references(address):
                if label == ITS_WRAPPER:
                    self.kept.add(address)
                one = (named(label), kind, target)
                if one not in self.references.setdefault(address, []):
                    self.references[address].append(one)
                if kind != "python":
                    self._number(target, kind)
                    if target in self.numbers:
                        waiting.append(target)

    def _found_in_python(self) -> list[int]:
        """Return newly found Python objects that C++ refers to."""
        leads = (one for found in self.references.values() for one in found)
        wanted = {address for _, kind, address in leads if kind == "python"} - self.python.keys()
        found = resolved(wanted)
        self.python.update(found)
        return list(found)

    def rows(self) -> list[Row]:
        return [self._row(address, number) for address, number in self.numbers.items()]

    def _row(self, address: int, number: int) -> Row:
        kind, wrapper = self.kinds[address], self.wrappers.get(address)
        name = NAMES.get(kind) or (type(wrapper).__name__ if wrapper is not None else class_of(address))
        tie = None
        if wrapper is not None:
            back = "strong" if address in self.kept else ""
            tie = (type(wrapper).__name__, id(wrapper), 0, "strong", back)
        edges = [edge for one in self.references.get(address, ()) if (edge := self._edge(*one)) is not None]
        return number, KINDS.get(kind, kind), name, 0, 0, "", tie, edges

    def _edge(self, label: str, kind: str, target: int) -> Edge | None:
        if label == ITS_WRAPPER:
            return None
        if kind != "python":
            return (label, "strong", self.numbers[target], "", None) if target in self.numbers else None
        obj = self.python.get(target)
        return None if obj is None else (label, "strong", None, type(obj).__name__, target)


def named(label: str) -> str:
    """Return the name of a reference without its index."""
    name = label.partition("[")[0]
    return LABELS.get(name, name)


def class_of(address: int) -> str:
    """Return the short class name of a C++ object."""
    return (_heap._class_at(address) or "node").rpartition("::")[2]


def resolved(addresses: Iterable[int]) -> dict[int, object]:
    """Find the collector's objects at these addresses. Searches young objects first, since they are fewer."""
    wanted = set(addresses)
    found: dict[int, object] = {}
    for generation in (0, None):
        if wanted:
            found.update((id(obj), obj) for obj in gc.get_objects(generation=generation) if id(obj) in wanted)
            wanted -= found.keys()
    return found
