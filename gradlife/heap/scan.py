"""The native scan: find the C++ holders of an object by searching memory for its address."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gradlife import _heap
from gradlife.heap.graph import RawHolder
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.trace import Confidence, NativeHolder

#: Frames of code below this folder are gradlife's own: neither roots nor holders.
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

#: Most objects of one scan.
MAX_OBJECTS = 1000

BY_CONFIDENCE = list(Confidence)


def scan(objects: Sequence[object]) -> list[tuple[NativeHolder, ...]]:
    """Return all possible native holders of each object, most certain first.

    Searches the process's writable memory once per step outwards, some 0.1 s for 200 MB, and changes nothing. Memory of
    objects in the heap graph, freed memory and this thread's stack are left out. `gradlife.refs` with ``scan=True``
    asks about one object and names only references that nothing else explains.

    Raises ValueError for more than 1,000 objects, and RuntimeError on systems other than Linux with glibc on x86-64 or
    arm64, or if the kernel forbids it.
    """
    if len(objects) > MAX_OBJECTS:
        raise ValueError(f"a scan looks for {MAX_OBJECTS:,} objects at most, not {len(objects):,}")
    ensure_calibrated()
    return [holders_of(found) for _, _, found in _heap.scan([*objects], OWN_FOLDER)]


def scan_natives(addresses: Sequence[int]) -> list[tuple[NativeHolder, ...]]:
    """Find the holders of C++ objects, by the addresses that `gradlife.heap.native_census.native_objects` returns.

    For objects unreachable from Python: for a tensor in a frozen TorchScript graph, it finds the path up to the
    compilation unit that owns the graph. Takes a pass over memory per step outwards. Raises as `scan` does; ValueError
    also for an invalid address.
    """
    if len(addresses) > MAX_OBJECTS:
        raise ValueError(f"a scan looks for {MAX_OBJECTS:,} objects at most, not {len(addresses):,}")
    if any(not 0 < address < 1 << 64 for address in addresses):
        raise ValueError("an address is a number between 1 and 2 ** 64 - 1")
    ensure_calibrated()
    return [holders_of(found) for found in _heap.scan_natives([*addresses], OWN_FOLDER)]


def scan_unknown(obj: object) -> tuple[int, tuple[NativeHolder, ...]]:
    """Count the references to an object outside the heap graph, and find their possible holders."""
    ensure_calibrated()
    [(references, _, found)] = _heap.scan([obj], OWN_FOLDER)
    return references - 1, holders_of(found)  # minus the list's own reference


def holders_of(raw: Iterable[RawHolder]) -> tuple[NativeHolder, ...]:
    """Return the possible holders, most certain first."""
    holders = [NativeHolder(text, end, library, symbol, Confidence(sure)) for end, text, library, symbol, sure in raw]
    return tuple(sorted(holders, key=lambda holder: BY_CONFIDENCE.index(holder.sureness)))


__all__ = ["scan", "scan_natives"]
