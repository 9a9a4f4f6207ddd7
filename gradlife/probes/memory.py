"""The probe of memory: bytes of the watched storages, and resident bytes of the process.

Reads: the size of each storage with a Python object that lives as long as it does, counted once while a weak reference
to it is alive; `/proc/self/statm`, or psutil. Cannot see: storages whose Python object is made anew at each call, as up
to PyTorch 2.0; the difference between an allocator's cache and memory in use. Cost: microseconds.
"""

from __future__ import annotations

import importlib
import os
import weakref
from typing import Any, Callable, Iterable

from gradlife.probes.expiry import Watch, type_attribute


def watch_storage(fw: Any, name: str, tensor: Any) -> Watch:
    """Watch a tensor's storage, if the framework has one Python object for it that lives as long as the storage."""
    if type_attribute(tensor, "untyped_storage") is None:
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
    if ref() is None:  # the wrapper died with our name, so it cannot stand for the storage
        return Watch(name, None)
    watch = Watch(name, ref)
    watch.size = size
    watch.count_owners = storage_owners(fw)
    return watch


def storage_owners(fw: Any) -> Callable[[Any], int] | None:
    """Return the framework's function that counts a storage's owners; torch's takes an address."""
    count = getattr(getattr(fw, "_C", None), "_storage_Use_Count", None)
    return None if count is None else lambda storage: count(storage._cdata)


def live_bytes(watches: Iterable[Watch]) -> int | None:
    """Return the bytes of watched storages that are alive, each counted once; None if one is unknown."""
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
    """Return the resident size of this process; None if neither the system nor psutil knows it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(importlib.import_module("psutil").Process().memory_info().rss)
    except ImportError:
        return None
