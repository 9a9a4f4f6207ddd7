"""Check whether reading a C++ object returns one Python object, and whether its attributes survive."""

from __future__ import annotations

from collections.abc import Callable

from gradlife.probes.identity import keeps_attribute, keeps_weak_reference

#: Reads held at once.
READS = 8


def unstable_aspects(getter: Callable[[], object]) -> list[str]:
    """Return what changes between reads, one sentence each."""
    found = []
    held = [getter() for _ in range(READS)]
    different = len({id(one) for one in held})
    kinds = sorted({type(one).__qualname__ for one in held})
    del held
    if different > 1:
        found.append(f"{READS} reads gave {different} different objects of type {' and '.join(kinds)}")
    if keeps_weak_reference(getter) is False:
        found.append("a weak reference to it dies as soon as no name holds it")
    if keeps_attribute(getter) is False:
        found.append("an attribute set on it is gone when it is read again")
    return found
