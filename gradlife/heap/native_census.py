"""Count live C++ objects by class, including those that nothing in Python reaches.

The heap graph begins at Python's objects, so what only C++ holds, or nothing at all, is in none of its tables. The census
looks at memory instead: each block of malloc's that begins with a vtable is an object of that class.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.heap import TypeCount

#: Fields of torch's layout that are read here.
FIELDS = ("count_in_target", "bytes_in_storage", "device_in_storage", "how they are laid out")


@dataclass(frozen=True, slots=True)
class DeviceStorages:
    """The storages on one device, "cuda:0", and the bytes of what they hold."""

    device: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class NativeCensus:
    """The C++ objects of one moment. `TypeCount.bytes` are those of their own blocks, without a storage's content."""

    classes: tuple[TypeCount, ...]  # by name; the kind is the family
    storages: tuple[DeviceStorages, ...]
    limits: tuple[str, ...]  # what could not be seen, a sentence each

    def count(self, family: str) -> int:
        """Objects of a family: "tensor", "storage", "grad_node", "autograd_meta", "hook" or "script"."""
        return sum(row.count for row in self.classes if row.kind == family)

    def count_of(self, name: str) -> int:
        """Objects of the class of this full name: "torch::autograd::generated::SinBackward0"."""
        return sum(row.count for row in self.classes if row.type == name)

    def since(self, earlier: NativeCensus) -> tuple[TypeCount, ...]:
        """Return what became more or fewer, as differences, the largest growth first.

        Objects have no birthdays: one freed and one made since cancel out.
        """
        before = {(row.type, row.kind): row for row in earlier.classes}
        now = {(row.type, row.kind): row for row in self.classes}
        nothing = TypeCount("", "", 0, 0)
        rows = []
        for key in before.keys() | now.keys():
            old, new = before.get(key, nothing), now.get(key, nothing)
            if old.count != new.count:
                rows.append(TypeCount(*key, new.count - old.count, new.bytes - old.bytes))
        return tuple(sorted(rows, key=lambda row: (-row.count, row.type)))


def native_census() -> NativeCensus:
    """Counts every C++ object that has a vtable and a block of its own from malloc.

    Takes some 0.3 s a GB of memory in blocks and 50 ns an object, and once in a process with PyTorch 0.5 s more; memory is
    only read, and no object of the program is touched. Exact for what happens on this thread; what other threads make and
    free meanwhile may be seen or not. Objects without a vtable, in static memory, or inside of others are not counted.

    Raises RuntimeError where it can't work: other than Linux with glibc and its malloc, or a kernel that forbids it.
    """
    unseen = ensure_calibrated()
    rows, devices, lost, _, _ = _heap.native_census()
    merged: dict[tuple[str, str], tuple[int, int]] = {}
    for name, family, count, nbytes in rows:  # each library may have a vtable of its own for one class
        known = merged.get((name, family), (0, 0))
        merged[name, family] = (known[0] + count, known[1] + nbytes)
    classes = (TypeCount(*key, *numbers) for key, numbers in merged.items())
    return NativeCensus(
        tuple(sorted(classes, key=lambda row: (row.type, row.kind))),
        tuple(sorted(itertools.starmap(DeviceStorages, devices), key=lambda row: row.device)),
        (*(limit for limit in unseen if any(field in limit for field in FIELDS)), *lost_heaps(lost)),
    )


def lost_heaps(count: int) -> tuple[str, ...]:
    """Return the limit as text."""
    if not count:
        return ()
    return (f"C++ objects in {count} of malloc's heaps, which other threads changed faster than they can be read",)


def native_objects(name: str) -> tuple[int, ...]:
    """The addresses of the C++ objects of the class of this full name, in order.

    Two questions without a change between them have the same answer. An address in both of two answers may be one object,
    or a new one where the old one stood. `Snapshot` and the heap graph know an object of torch's by the same address.
    """
    ensure_calibrated()
    return tuple(_heap.native_objects(name))


__all__ = ["DeviceStorages", "NativeCensus", "native_census", "native_objects"]
