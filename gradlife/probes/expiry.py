"""The probe of expiry: is a subject alive now? It never holds the subject.

Reads: a weak reference to the subject, or to a canary in its metadata or among its attributes, which dies with it.
Cannot see: an object that accepts neither, which is inconclusive; the death of a C++ object whose Python wrapper died
before. Cost: nanoseconds per query; a canary is one more object.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

from gradlife.probes.refcount import owners_behind, references_behind

CANARY_NAME = "gradlife_canary"


class Canary:
    """A plain object that dies with its owner."""


class Watch:
    """A subject under its name. `ref` returns the watched object or None; without `ref` the subject is inconclusive."""

    def __init__(self, name: str, ref: Callable[[], Any] | None, is_canary: bool = False) -> None:
        self.name = name
        self.ref = ref
        self.is_canary = is_canary
        self.size = 0  # bytes of a storage
        self.count_owners: Callable[[Any], int] | None = None  # C++ owners, if the object itself has no such method

    def alive(self) -> bool | None:
        """Whether the subject is alive; None: unknown."""
        return None if self.ref is None else self.ref() is not None

    def expiry(self) -> str:
        """Return the value of the probe `expiry`."""
        return {None: "inconclusive", True: "alive", False: "dead"}[self.alive()]

    def refcount(self) -> Any:
        """Return the Python references beyond those of an object with one name; None if unknown."""
        return None if self.ref is None or self.is_canary else references_behind(self.ref)

    def use_count(self) -> Any:
        """Return the framework's own count of C++ owners, if it has one."""
        return None if self.ref is None or self.is_canary else owners_behind(self.ref, self.count_owners)


def of_type(obj: Any, name: str) -> Any:
    """Return an attribute of an object's type: reading it from the object might run a story's `__getattr__`."""
    return getattr(type(obj), name, None)


def watch_object(name: str, obj: Any) -> Watch:
    """Watch any object by the first means that it allows."""
    try:
        return Watch(name, weakref.ref(obj))
    except TypeError:
        return watch_by_canary(name, obj)


def watch_by_canary(name: str, obj: Any) -> Watch:
    """Watch an object without weak references by a canary in a node's metadata, else among its attributes."""
    canary = Canary()
    metadata = getattr(obj, "metadata", None) if of_type(obj, "metadata") is not None else None
    if isinstance(metadata, dict):
        metadata[CANARY_NAME] = canary
    else:
        try:
            setattr(obj, CANARY_NAME, canary)
        except (AttributeError, TypeError):
            return Watch(name, None)
    ref = weakref.ref(canary)
    del canary, metadata
    return Watch(name, ref if ref() is not None else None, is_canary=True)


def is_tensor(fw: Any, obj: Any) -> bool:
    """Whether this is one of the framework's tensors."""
    kind = getattr(fw, "Tensor", None)
    return isinstance(kind, type) and issubclass(type(obj), kind)
