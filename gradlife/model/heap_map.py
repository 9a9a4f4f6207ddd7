"""A part of a heap that a page can show: the objects that retain most and their surroundings, and the size of the rest."""

from __future__ import annotations

from dataclasses import dataclass

from gradlife.model.heap import HeapView


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """The other end of a reference, or an object directly below its dominator."""

    node: int
    type: str
    detail: str
    address: int
    retained: int
    via: str  # the name of the reference


@dataclass(frozen=True, slots=True)
class MappedObject:
    """One object. Lists hold the entries that retain most; counts are of all entries."""

    node: int
    above: int  # its immediate dominator; 0: the roots together, -1: unreachable
    kind: str  # python, tensor, storage, grad_node, native
    type: str
    detail: str
    address: int
    bytes: int  # shallow size
    retained: int
    via: str  # the name of the reference to it
    storages: tuple[tuple[str, int], ...]  # contents of retained storages, by device
    kept: tuple[OtherEnd, ...]  # the objects that it immediately dominates
    kept_count: int
    referrers: tuple[OtherEnd, ...]
    referrer_count: int
    referents: tuple[OtherEnd, ...]
    referent_count: int


@dataclass(frozen=True, slots=True)
class Area:
    """A holder on the map: what it retains, without its parts that have their own area."""

    holder: OtherEnd
    bytes: int
    parts: tuple[OtherEnd, ...]  # the objects it dominates, largest first
    is_rest: bool = False  # some of its parts have their own areas


@dataclass(frozen=True, slots=True)
class HeapMap:
    """The objects that retain most, and the areas of the largest holders."""

    objects: tuple[MappedObject, ...]
    areas: tuple[Area, ...]
    reached_bytes: int  # reachable from roots
    unreached_bytes: int
    unreached_count: int  # unreachable objects that no other unreachable object dominates
    depth: int  # levels of the dominator tree that are included


@dataclass(frozen=True, slots=True)
class HeapSummary:
    """A snapshot in brief: tables and a small map."""

    view: HeapView
    map: HeapMap
