"""A part of a heap to be looked at elsewhere: the objects that retain most, with what is round them, and how much is left out."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.heap import HeapView


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """An object as another one names it: at the other end of a reference, or below its keeper."""

    node: int
    type: str
    detail: str
    address: int
    retained: int
    via: str  # what the reference is called


@dataclass(frozen=True, slots=True)
class MappedObject:
    """One object. Lists hold the first of their kind, those that retain most; counts are of all."""

    node: int
    above: int  # the object that alone keeps it; 0 the roots together, -1 none: no root reaches it
    kind: str  # python, tensor, storage, grad_node, native
    type: str
    detail: str
    address: int
    bytes: int  # its own
    retained: int
    via: str  # how it is referred to
    storages: tuple[tuple[str, int], ...]  # of what it retains, the contents of storages by device
    kept: tuple[OtherEnd, ...]  # what would be freed with it, directly below it
    kept_count: int
    referrers: tuple[OtherEnd, ...]
    referrer_count: int
    referents: tuple[OtherEnd, ...]
    referent_count: int


@dataclass(frozen=True, slots=True)
class Area:
    """A holder on the map: what it retains, but for those of its parts that have an area of their own."""

    holder: OtherEnd
    bytes: int
    parts: tuple[OtherEnd, ...]  # the first of what it keeps
    is_rest: bool = False  # some of its parts have areas of their own


@dataclass(frozen=True, slots=True)
class HeapMap:
    """The objects that retain most, and the areas of the largest holders."""

    objects: tuple[MappedObject, ...]
    areas: tuple[Area, ...]
    reached_bytes: int  # what roots reach
    unreached_bytes: int
    unreached_count: int  # objects that no root reaches and nothing else of them keeps
    depth: int  # objects further below a root than so many levels of keepers are left out


@dataclass(frozen=True, slots=True)
class HeapSummary:
    """A snapshot in short: tables and a small map."""

    view: HeapView
    map: HeapMap
