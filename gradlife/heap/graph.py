"""The values of the heap graph: the graph, its objects and references, and why one object is alive.

The extension makes them on demand from arrays in which an object is a number. Their field names are declared in
`csrc/heap_py/api/values.cpp`, and repeated here for type checkers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from gradlife._heap import KINDS, RELATIONS, HeapObject, Leg, Reference
from gradlife._heap import Graph as HeapGraph

#: A C++ holder found by the scan: (end, description, library, symbol, confidence).
RawHolder = tuple[str, str, str, str, str]


class Referrers(TypedDict):
    """The referrers of one object."""

    references: int  # the reference count
    referrer_count: int  # referrers in the graph
    referrers: list[Reference]
    owners: list[list[Reference]]  # if a referrer is a part of another object: that object and the parts between
    native: list[RawHolder]


class Story(Referrers):
    """What the graph knows about why one object is alive."""

    node: int
    detail: str
    lifetime: str
    path: list[Reference]  # from a root to the object
    cycle: list[Reference]  # keeps it alive, if no root does
    tail: list[Reference]  # from the cycle to the object
    lead: list[Reference]  # from an object that only native code holds
    legs: list[Leg]
    keepers: list[RawHolder]
    behind: Referrers | None  # of the C++ object behind the target, if that holds it


def is_a(reference: Reference, types: frozenset[str]) -> bool:
    """Whether the object's type is, or derives from, one of these full names."""
    return reference.type in types or not types.isdisjoint(reference.bases.splitlines())


def is_native(reference: Reference) -> bool:
    """Whether it is a C++ object."""
    return reference.kind not in {"python", "root"}


def moved_to(node: int, reference: Reference) -> Reference:
    """Return the reference with another source node."""
    return Reference((node, *reference[1:]))


def gap(text: str) -> Reference:
    """Return a reference that stands for omitted objects."""
    return Reference((0, "gap", "", 0, text, "internal", "...", -1, "", ""))


References = Sequence[Reference]

__all__ = [
    "KINDS",
    "RELATIONS",
    "HeapGraph",
    "HeapObject",
    "Leg",
    "RawHolder",
    "Reference",
    "References",
    "Referrers",
    "Story",
    "gap",
    "is_a",
    "is_native",
    "moved_to",
]
