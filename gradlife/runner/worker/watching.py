"""Watching one subject weakly: by a weak reference, else by a canary put on it, else not at all."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Callable

#: From this on a reference count is no count: the object is immortal (Python 3.12 on).
IMMORTAL = 2**30

CANARY_NAME = "gradlife_canary"


class Canary:
    """A plain object that dies with what it was put on."""


class Control:
    """A plain object held by one name, to compare reference counts with."""


class Watch:
    """One subject under its name. `ref` gives the watched thing or None; without one the subject is inconclusive."""

    def __init__(self, name: str, ref: Callable[[], Any] | None, is_canary: bool = False) -> None:
        self.name = name
        self.ref = ref
        self.is_canary = is_canary
        self.size = 0  # bytes, of a storage
        self.count_owners: Callable[[Any], int] | None = None  # C++ owners, where the object itself does not tell

    def alive(self) -> bool | None:
        """Is the subject alive? None: cannot be told."""
        return None if self.ref is None else self.ref() is not None

    def expiry(self) -> str:
        """The value of probe `expiry`."""
        return {None: "inconclusive", True: "alive", False: "dead"}[self.alive()]

    def refcount(self) -> Any:
        """Python references beyond those of an object that has one name; None where there is none to ask."""
        if self.ref is None or self.is_canary:
            return None
        count = count_behind(self.ref)
        return None if count is None else beyond(count, control_count())

    def use_count(self) -> Any:
        """The framework's own count of C++ owners where it has one; inconclusive of a wrapper without its C++ object."""
        subject = None if self.ref is None or self.is_canary else self.ref()
        ask = of_type(subject, "_use_count") or self.count_owners
        if subject is None or ask is None:
            return None
        try:
            return int(ask(subject))
        except RuntimeError as error:
            error.__traceback__ = None
            return "inconclusive"


def beyond(count: int, control: int) -> Any:
    """A count beyond a control's; inconclusive of an immortal object, and where threads keep counts of their own."""
    is_free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return "inconclusive" if is_free_threaded or count >= IMMORTAL else count - control


def of_type(obj: Any, name: str) -> Any:
    """What an object's type has under a name: asking the object itself might run a story's `__getattr__`."""
    return getattr(type(obj), name, None)


def count_behind(ref: Callable[[], Any]) -> int | None:
    """Reference count of what a weak reference leads to, as seen from here."""
    subject = ref()
    return None if subject is None else sys.getrefcount(subject)


def control_count() -> int:
    """What `count_behind` says of an object that has exactly one reference."""
    control = Control()
    count = count_behind(weakref.ref(control))
    assert count is not None
    return count


def watch_object(name: str, obj: Any) -> Watch:
    """Watch any object, by the first means that it allows."""
    try:
        return Watch(name, weakref.ref(obj))
    except TypeError:
        return watch_by_canary(name, obj)


def watch_by_canary(name: str, obj: Any) -> Watch:
    """Watch an object that takes no weak reference by a canary: in a node's metadata, else among its attributes."""
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
    """Is this one of the framework's tensors?"""
    kind = getattr(fw, "Tensor", None)
    return isinstance(kind, type) and issubclass(type(obj), kind)


def watch_storage(fw: Any, name: str, tensor: Any) -> Watch:
    """Watch a tensor's storage, if the framework gives one object for it that lives as long as the storage does."""
    if of_type(tensor, "untyped_storage") is None:
        return Watch(name, None)
    storage = tensor.untyped_storage()
    if storage is not tensor.untyped_storage():
        return Watch(name, None)
    try:
        ref = weakref.ref(storage)
    except TypeError:
        return Watch(name, None)
    size = int(storage.nbytes())
    del storage
    if ref() is None:  # the wrapper died with our name: it says nothing about the storage
        return Watch(name, None)
    watch = Watch(name, ref)
    watch.size = size
    watch.count_owners = storage_owners(fw)
    return watch


def storage_owners(fw: Any) -> Callable[[Any], int] | None:
    """How the framework counts the owners of a storage: torch does it by address."""
    count = getattr(getattr(fw, "_C", None), "_storage_Use_Count", None)
    return None if count is None else lambda storage: count(storage._cdata)


def live_bytes(watches: list[Watch]) -> int | None:
    """Bytes of the watched storages that are alive, each storage once; None if one cannot be told."""
    seen = set()
    total = 0
    for watch in watches:
        alive = watch.alive()
        if alive is None:
            return None
        if alive and watch.ref not in seen:  # weak references to one living object are equal
            seen.add(watch.ref)
            total += watch.size
    return total
