"""The probe `expiry`: whether a subject (an object that a story watches) is still alive. It never holds the subject.

Reads: a weak reference to the subject, or to a canary: a small object that only the subject holds, in its `metadata` if
it is a grad node, else in an attribute.
Cannot see: an object that accepts neither, for which it reads "inconclusive"; a C++ object that outlives its Python
wrapper, for which it reads "dead". Cost: nanoseconds per query; a canary is one more object.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable

from gradlife.probes.refcount import owner_count, reference_count

CANARY_NAME = "gradlife_canary"


class Canary:
    """A plain object that dies with its owner."""


class Watch:
    """A named subject. `ref` returns the object, or None if it is dead; without `ref` each reading is inconclusive."""

    def __init__(self, name: str, ref: Callable[[], Any] | None, is_canary: bool = False) -> None:
        self.name = name
        self.ref = ref
        self.is_canary = is_canary
        self.size = 0  # in bytes, if the subject is a storage
        self.count_owners: Callable[[Any], int] | None = (
            None  # counts the C++ owners of an object that has no method `_use_count`
        )

    def alive(self) -> bool | None:
        """Whether the subject is alive; None: unknown."""
        return None if self.ref is None else self.ref() is not None

    def expiry(self) -> str:
        """Return the value of the probe `expiry`."""
        return {None: "inconclusive", True: "alive", False: "dead"}[self.alive()]

    def refcount(self) -> Any:
        """Return the number of Python references besides the story's own variable; None if unknown."""
        return None if self.ref is None or self.is_canary else reference_count(self.ref)

    def use_count(self) -> Any:
        """Return the framework's own count of C++ owners, if it has one."""
        return None if self.ref is None or self.is_canary else owner_count(self.ref, self.count_owners)


def type_attribute(obj: Any, name: str) -> Any:
    """Return an attribute of an object's type: reading it from the object might run a story's `__getattr__`."""
    return getattr(type(obj), name, None)


def watch_object(name: str, obj: Any) -> Watch:
    """Watch an object by a weak reference if it allows one, else by a canary."""
    try:
        return Watch(name, weakref.ref(obj))
    except TypeError:
        return watch_by_canary(name, obj)


def watch_by_canary(name: str, obj: Any) -> Watch:
    """Watch an object that allows no weak reference: put a canary into its `metadata` if it is a node, else set an attribute."""
    canary = Canary()
    metadata = getattr(obj, "metadata", None) if type_attribute(obj, "metadata") is not None else None
    if isinstance(metadata, dict):
        metadata[CANARY_NAME] = canary
    else:
        try:
            setattr(obj, CANARY_NAME, canary)
        except (AttributeError, TypeError):
            return Watch(name, None)
    ref = weakref.ref(canary)
    del canary, metadata
    # The canary is dead already if the object did not keep it, for example if each read of `metadata` makes a new dict.
    return Watch(name, ref if ref() is not None else None, is_canary=True)


def is_tensor(fw: Any, obj: Any) -> bool:
    """Whether this is one of the framework's tensors."""
    kind = getattr(fw, "Tensor", None)
    return isinstance(kind, type) and issubclass(type(obj), kind)
