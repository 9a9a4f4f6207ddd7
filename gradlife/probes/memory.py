"""The probe of memory: bytes of the watched storages, and resident bytes of the process.

Reads: the size of each storage that has one Python object for as long as it lives, counted once while a weak
reference to it is alive; `/proc/self/statm`, or psutil. Cannot see: storages whose Python object is made anew at each
call, as up to PyTorch 2.0; an allocator's cache apart from memory in use. Cost: microseconds.
"""

from __future__ import annotations

import importlib
import os
import weakref
from typing import Any, Callable, Iterable

from gradlife.probes.expiry import Watch, of_type


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
    """Return how the framework counts the owners of a storage: torch does it by address."""
    count = getattr(getattr(fw, "_C", None), "_storage_Use_Count", None)
    return None if count is None else lambda storage: count(storage._cdata)


def live_bytes(watches: Iterable[Watch]) -> int | None:
    """Bytes of the watched storages that are alive, each storage once; None if one is unknown."""
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


def resident_bytes() -> int | None:
    """Resident size of this process; None where neither the system nor psutil tells it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(importlib.import_module("psutil").Process().memory_info().rss)
    except ImportError:
        return None
