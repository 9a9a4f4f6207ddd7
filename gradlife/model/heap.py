"""Tables of a heap, as plain values: its types, holders, cycles and changes."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.device.memory import DeviceReport
from gradlife.model.trace import Lifetime, PathStep


def device_of(storage_type: str) -> str:
    """Return the device that a storage's type names: ``torch::StorageImpl cuda:0``; those on the CPU name none."""
    return storage_type.partition(" ")[2].removeprefix("on an ") or "cpu"


@dataclass(frozen=True, slots=True)
class TypeCount:
    """The objects of one type. `bytes` is their shallow size, including storages' contents."""

    type: str
    kind: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LargeObject:
    """An object with its retained size and a path to it from a root."""

    type: str
    kind: str
    detail: str
    address: int
    bytes: int  # shallow size
    retained: int  # retained size
    steps: tuple[PathStep, ...]

    def __repr__(self) -> str:
        """The type, the detail and both sizes in a line."""
        return f"<{f'{self.type} {self.detail}'.strip()}: {self.bytes:,} bytes, {self.retained:,} retained>"


@dataclass(frozen=True, slots=True)
class Holder:
    """An object that refers to another, and how: ``.rows``; the text is empty if the snapshot has no name for it."""

    object: LargeObject
    via: str

    def __str__(self) -> str:
        words = f"{self.object.type} {self.object.detail}".rstrip()
        return f"{words}: {self.via}" if self.via else words


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A live object in a snapshot of its process, with its holders."""

    object: LargeObject
    holders: tuple[Holder, ...]
    more_holders: int  # that are not among these

    def __str__(self) -> str:
        found = self.object
        lines = [f"{found.type} {found.detail}".rstrip() + f", retains {found.retained:,} bytes, held by"]
        more = [f"{self.more_holders:,} more"] if self.more_holders else []
        return "\n  ".join([*lines, *map(str, self.holders), *more])


@dataclass(frozen=True, slots=True)
class Meaning:
    """One of the objects that a name can mean in a snapshot."""

    node: int
    text: str  # what to ask for to get this one: "main.history"
    words: str  # "History, local variable of main()"; "Tensor float32 [3], one of 9 objects of this type"
    is_one_of_many: bool = False


@dataclass(frozen=True, slots=True)
class Owner:
    """An object that retains much of the live memory."""

    name: str  # "global variable 'answers': dict"
    bytes: int


@dataclass(frozen=True, slots=True)
class HeldVariable:
    """A variable of the program, or the part of it that retains most, with its retained size."""

    name: str  # trainer.losses
    object: LargeObject
    objects: int  # in Python
    tensors: int
    grad_nodes: int
    storages: int
    storage_bytes: int


@dataclass(frozen=True, slots=True)
class LibraryShare:
    """The objects that the modules of one library reach first."""

    name: str
    objects: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HolderCount:
    """The holders of objects of one type, grouped by the holders' type."""

    type: str
    kind: str
    holders: int
    references: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """Objects that all reach one another, and a shortest cycle among them."""

    objects: int
    bytes: int
    lifetime: Lifetime
    has_native: bool  # has references that the collector does not see
    steps: tuple[PathStep, ...]
    alike: int = 1  # number of equal cyclic parts, including this one

    def __repr__(self) -> str:
        """The types on it, its fate and its size in a line."""
        path = " -> ".join(step.object for step in self.steps)
        return f"<Cycle {path}: {self.objects:,} objects, {self.bytes:,} bytes, {self.lifetime.value}>"


@dataclass(frozen=True, slots=True)
class TypeChange:
    """The change in objects of one type."""

    type: str
    kind: str
    new: int
    new_bytes: int
    gone: int
    gone_bytes: int
    grown: int  # existing objects that became larger
    grown_bytes: int
    examples: tuple[LargeObject, ...] = ()  # of the new objects

    @property
    def bytes(self) -> int:
        """The growth in bytes."""
        return self.new_bytes + self.grown_bytes - self.gone_bytes


class BeforeAndAfter:
    """The bytes of one thing in two snapshots."""

    __slots__ = ()
    bytes_before: int
    bytes_after: int

    @property
    def bytes(self) -> int:
        """The growth in bytes."""
        return self.bytes_after - self.bytes_before


@dataclass(frozen=True, slots=True)
class PathChange(BeforeAndAfter):
    """The change at one place of the program: objects whose paths from the roots differ in numbers only."""

    path: str
    type: str
    count_before: int
    count_after: int
    bytes_before: int
    bytes_after: int
    is_program: bool = False  # held by a variable or a running function of the program, not by a library


@dataclass(frozen=True, slots=True)
class VariableChange(BeforeAndAfter):
    """What a variable of the program retains in two snapshots; 0 bytes where it is not there."""

    name: str  # trainer.losses in main()
    type: str
    detail: str  # in the later snapshot, if it is there: "len 90"
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class LibraryChange(BeforeAndAfter):
    """What the modules of one library reach first, in two snapshots."""

    name: str
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class HeapDiff:
    """The difference between two heaps.

    `by_identity`: both are of the same process, so an object is recognized by its address and type (an object freed and
    replaced at its address by one of the same type counts as the same). Otherwise `types` has only differences of
    counts.
    """

    by_identity: bool
    types: tuple[TypeChange, ...]
    paths: tuple[PathChange, ...]  # empty if one of the two has no labels
    variables: tuple[VariableChange, ...] = ()  # of the program, the largest change first; likewise empty
    libraries: tuple[LibraryChange, ...] = ()  # likewise
    steps: tuple[int, ...] = ()  # of the program before each snapshot, if both say how many
    moments: tuple[str, ...] = ()  # when each was taken, if both say it

    def __repr__(self) -> str:
        """The number of types that changed and the growth in a line."""
        return f"<HeapDiff: types {len(self.types):,}, {sum(row.bytes for row in self.types):+,} bytes>"

    def __str__(self) -> str:
        """Return the difference as `gradlife diff` prints it."""
        from gradlife import _text_of

        return _text_of(self)

    def _repr_html_(self) -> str:
        """Return the difference as a notebook shows it: the types that grew most."""
        from gradlife import _html_of

        return _html_of(self)


@dataclass(frozen=True, slots=True)
class HeapView:
    """Tables of one snapshot; tables that were not asked for are empty."""

    file: str
    notes: tuple[tuple[str, str], ...]
    objects: int
    references: int
    bytes: int
    devices: tuple[tuple[str, int], ...]
    types: tuple[TypeCount, ...]
    largest: tuple[LargeObject, ...]
    cycles: tuple[Cycle, ...]
    instances: tuple[LargeObject, ...]
    holders: tuple[HolderCount, ...]
    program: tuple[HeldVariable, ...] = ()  # what the program's own variables hold
    libraries: tuple[LibraryShare, ...] = ()
    device_memory: DeviceReport | None = None  # of a process that used a device with a caching allocator
