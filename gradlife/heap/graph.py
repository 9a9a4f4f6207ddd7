"""The values of the heap graph: the graph, an object of it, a reference, and the story of one object.

The extension makes them, from arrays in which an object is a number; nothing is made before it is asked for. The names of
their fields are declared in `csrc/heap_py/api/values.cpp`, and here once more for type checkers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from gradlife._heap import KINDS, RELATIONS, HeapObject, Leg, Reference
from gradlife._heap import Graph as HeapGraph

#: A holder in C++ as the scan gives it: (end, description, library, symbol, confidence).
RawHolder = tuple[str, str, str, str, str]


class Referrers(TypedDict):
    """The referrers of one object."""

    references: int  # as the object counts them
    referrer_count: int  # those that the graph knows
    referrers: list[Reference]
    owners: list[list[Reference]]  # for each referrer that only serves another object, that object and what is between
    native: list[RawHolder]


class Story(Referrers):
    """Everything that the graph knows about why one object is alive."""

    node: int
    detail: str
    lifetime: str
    path: list[Reference]  # from a root to the object
    cycle: list[Reference]  # that keeps it, where no root does
    tail: list[Reference]  # from the cycle to the object
    lead: list[Reference]  # to the object from one that only native code holds
    legs: list[Leg]
    keepers: list[RawHolder]
    behind: Referrers | None  # of the C++ object that holds the target, its wrapper


def is_a(reference: Reference, types: frozenset[str]) -> bool:
    """Is the object's type one of these, or derived from one? Full names."""
    return reference.type in types or not types.isdisjoint(reference.bases.splitlines())


def is_native(reference: Reference) -> bool:
    """Is it an object of C++?"""
    return reference.kind not in {"python", "root"}


def moved_to(node: int, reference: Reference) -> Reference:
    """The same reference, of an object that has another number in another graph."""
    return Reference((node, *reference[1:]))


def gap(text: str) -> Reference:
    """A reference that stands for objects which are left out."""
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
