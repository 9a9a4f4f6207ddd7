"""The native scan: find the places in C++ memory that hold an object's address."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gradlife import _heap
from gradlife.heap.graph import RawHolder
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.trace import Confidence, NativeHolder

#: Frames of code below this folder are gradlife's own: no root, and no owner of what is asked about.
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

#: Objects that one scan can look for at most.
MOST_OBJECTS = 1000

BY_CONFIDENCE = list(Confidence)


def scan(objects: Sequence[object]) -> list[tuple[NativeHolder, ...]]:
    """Return every word of memory that may hold each object natively, the surest first.

    Searches all writable memory of the process once for each step outwards, some 0.1 s for 200 MB, and changes
    nothing. Words in what the heap graph explains, in freed memory and on this thread's stack are left out.
    `gradlife.refs` with ``scan=True`` asks about one object and names only references that nothing else explains.

    Raises ValueError for more than 1,000 objects, and RuntimeError where it cannot work: systems other than Linux
    with glibc on x86-64 or arm64, or a kernel that forbids it.
    """
    if len(objects) > MOST_OBJECTS:
        raise ValueError(f"a scan looks for {MOST_OBJECTS:,} objects at most, not {len(objects):,}")
    ensure_calibrated()
    return [holders_of(found) for _, _, found in _heap.scan([*objects], OWN_FOLDER)]


def scan_natives(addresses: Sequence[int]) -> list[tuple[NativeHolder, ...]]:
    """The same for C++ objects, by their addresses, as `gradlife.heap.native_census.native_objects` gives them.

    For those that nothing in Python reaches: of a tensor in a frozen TorchScript graph the path up to the compilation unit
    that has the graph. Takes a pass over memory for each step outwards. Raises as `scan` does; ValueError also for what
    is no address.
    """
    if len(addresses) > MOST_OBJECTS:
        raise ValueError(f"a scan looks for {MOST_OBJECTS:,} objects at most, not {len(addresses):,}")
    if any(not 0 < address < 1 << 64 for address in addresses):
        raise ValueError("an address is a number between 1 and 2 ** 64 - 1")
    ensure_calibrated()
    return [holders_of(found) for found in _heap.scan_natives([*addresses], OWN_FOLDER)]


def scan_unknown(obj: object) -> tuple[int, tuple[NativeHolder, ...]]:
    """Count the references of an object that is not in the heap graph, and find what may hold them."""
    ensure_calibrated()
    [(references, _, found)] = _heap.scan([obj], OWN_FOLDER)
    return references - 1, holders_of(found)  # the list has one


def holders_of(raw: Iterable[RawHolder]) -> tuple[NativeHolder, ...]:
    """Return the possible holders, most confident first."""
    holders = [NativeHolder(text, end, library, symbol, Confidence(sure)) for end, text, library, symbol, sure in raw]
    return tuple(sorted(holders, key=lambda holder: BY_CONFIDENCE.index(holder.sureness)))


__all__ = ["scan", "scan_natives"]
