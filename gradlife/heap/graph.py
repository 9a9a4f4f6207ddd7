"""Types of what the heap graph returns: objects, references, and why one object is alive.

The extension makes them on demand from arrays that refer to objects by number. It sets the keys of `Referrers` and
`Explanation` in `csrc/heap_py/api/findings.cpp`; they are repeated here for type checkers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from gradlife._heap import KINDS, RELATIONS, HeapObject, Reference, UncollectableObject

#: A C++ holder, found by searching the process's memory for pointers to an object: (place, description, library, symbol,
#: confidence). The place is "object", "static", "thread_local", "stack" or "block".
RawHolder = tuple[str, str, str, str, str]

#: The kind of a reference that stands for objects left out of a long path; its `index` is their number.
GAP = "gap"


class Referrers(TypedDict):
    """The referrers of one object."""

    references: int  # the reference count
    referrer_count: int  # the number of referrers
    referrers: list[Reference]  # the first of them
    #: For each referrer, the objects that it is part of, outermost first (for an instance's `__dict__`: the instance).
    owners: list[list[Reference]]
    native: list[RawHolder]


class Explanation(Referrers):
    """What the walk found out about why one object is alive."""

    node: int
    detail: str  # shown after its type: "len 3"
    lifetime: str  # a `gradlife.model.trace.Lifetime`
    path: list[Reference]  # the references from a root to the object
    other_paths: list[list[Reference]]  # from roots by other holders; only of a live object that is asked about
    cycle: list[Reference]  # the cycle that keeps it alive, if no root does
    tail: list[Reference]  # from the cycle to the object
    native_path: list[Reference]  # the references from an object that only native code holds
    uncollectable: list[UncollectableObject]  # objects with hidden references, which make the cycle uncollectable
    keepers: list[RawHolder]  # C++ holders of the first object of `native_path`
    half_referrers: Referrers | None  # for a wrapper that its C++ half keeps alive: the referrers of that half


def is_a(reference: Reference, types: frozenset[str]) -> bool:
    """Whether the type of the reference's source is, or derives from, one of these full names."""
    return reference.type in types or not types.isdisjoint(reference.bases.splitlines())


def is_native(reference: Reference) -> bool:
    """Whether the source is a C++ object."""
    return reference.kind not in {"python", "root"}


def with_source(node: int, reference: Reference) -> Reference:
    """Return the reference with another source node."""
    return Reference((node, *reference[1:]))


def omitted_objects(count: int) -> Reference:
    """Return a reference that stands for omitted objects, as the extension makes it for a path that it cuts."""
    return Reference((0, GAP, "", 0, "", "internal", "...", count, "", ""))


def count_objects(raw: References) -> int:
    """Count the objects of a path, with those that were left out."""
    return sum(link.index if link.kind == GAP else 1 for link in raw)


References = Sequence[Reference]

__all__ = [
    "GAP",
    "KINDS",
    "RELATIONS",
    "Explanation",
    "HeapObject",
    "UncollectableObject",
    "RawHolder",
    "Reference",
    "References",
    "Referrers",
    "count_objects",
    "is_a",
    "is_native",
    "omitted_objects",
    "with_source",
]
