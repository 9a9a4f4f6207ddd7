"""Tables over a heap, as plain values: what there is, what retains it, what is cyclic, what changed."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.trace import Lifetime, Step


@dataclass(frozen=True, slots=True)
class TypeCount:
    """The objects of one type. `bytes`: their own, storages' contents included."""

    type: str
    kind: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class LargeObject:
    """An object with what would be freed with it, and the path to it from a root."""

    type: str
    kind: str
    detail: str
    address: int
    bytes: int  # its own
    retained: int  # its own and those of all that only it keeps
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class HeldVariable:
    """A variable of the program, or the part of one that is most of it, with what would be freed with it."""

    name: str  # trainer.losses
    object: LargeObject
    objects: int  # Python's
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
    """The number of objects of a type that hold such an object, and of their references."""

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
    has_native: bool  # references that the collector does not see are among theirs
    steps: tuple[Step, ...]
    alike: int = 1  # cyclic parts of which the same is true, this one included


@dataclass(frozen=True, slots=True)
class TypeChange:
    """The change in the objects of one type."""

    type: str
    kind: str
    new: int
    new_bytes: int
    gone: int
    gone_bytes: int
    grown: int  # were there before, and are larger now
    grown_bytes: int
    examples: tuple[LargeObject, ...] = ()  # of the new ones

    @property
    def bytes(self) -> int:
        """The growth in bytes."""
        return self.new_bytes + self.grown_bytes - self.gone_bytes


@dataclass(frozen=True, slots=True)
class PathChange:
    """Objects at one place of the program: their paths from the roots read the same but for numbers."""

    path: str
    type: str
    count_before: int
    count_after: int
    bytes_before: int
    bytes_after: int

    @property
    def bytes(self) -> int:
        """The growth in bytes."""
        return self.bytes_after - self.bytes_before


@dataclass(frozen=True, slots=True)
class HeapDiff:
    """The difference between a heap and an earlier one.

    `by_identity`: both are of the same process, so that an object is recognised by its address and type (one that was
    freed and replaced there by another of its type counts as the same). Otherwise `types` has only differences of
    counts.
    """

    by_identity: bool
    types: tuple[TypeChange, ...]
    paths: tuple[PathChange, ...]  # empty where one of the two has no labels

    def _repr_html_(self) -> str:
        """The difference as a notebook shows it: what takes more, by type."""
        from gradlife import _html_of

        return _html_of(self)


@dataclass(frozen=True, slots=True)
class HeapView:
    """Tables of one snapshot; those that were not asked for are empty."""

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
