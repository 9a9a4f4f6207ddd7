"""Python's cyclic collector: whether it runs by itself, and the collections that the hunt did not ask for."""

from __future__ import annotations

import gc
import sys

from gradlife import _heap

#: Most objects whose references are counted here: a snapshot of the heap takes no longer than those of more.
MAX_YOUNG = 50_000
#: Python 3.12 freezes a few hundred objects of its own when it starts; a program freezes thousands.
FEW_FROZEN = 1000

_own = 0  # collections that the hunt asked for in this process


def collect(generation: int = 2) -> None:
    """Run the collector for the hunt."""
    global _own
    _own += 1
    gc.collect(generation)


def count_foreign() -> int:
    """Count the collections so far that ran by themselves or by a call of the program."""
    return int(sum(row["collections"] for row in gc.get_stats())) - _own


def count_frozen() -> int:
    """Count the objects that the program hides from the collector with `gc.freeze`."""
    count = gc.get_freeze_count()
    return count if count >= FEW_FROZEN else 0


class OldObjects:
    """The objects of a service from before a hunt. Frozen, they cost its full collections no time.

    A full collection takes a second for each few million objects. The collector runs the next one by itself when a
    quarter as many objects are new as survived the last one: when it has all objects back, it gets their number back,
    too, or it would run at once.
    """

    def __init__(self) -> None:
        self._survivors: int | None = None  # of the last full collection; None: not frozen

    def freeze(self) -> None:
        """Freeze them, unless the program freezes objects itself."""
        if self._survivors is None and not count_frozen():
            self._survivors = _heap.raise_long_lived(0)
            gc.freeze()

    def unfreeze(self) -> None:
        """Give them back to the collector."""
        if self._survivors is not None:
            _heap.unfreeze_old()
            gc.unfreeze()
            _heap.raise_long_lived(self._survivors)
            self._survivors = None


def may_have_young_garbage() -> bool:
    """Whether the collector would find garbage among the objects that no collection has seen yet. Nothing is collected.

    As the collector does, count the references to each that do not come from the others, then follow those of the living.
    """
    young = gc.get_objects(0)
    if len(young) > MAX_YOUNG:
        return True
    extra = next(map(sys.getrefcount, [[]]))  # references of the list and of the loop
    outside = {one: count - extra for one, count in zip(map(id, young), map(sys.getrefcount, young), strict=True)}
    for one in young:
        for held in map(id, gc.get_referents(one)):
            if held in outside:
                outside[held] -= 1
    living = [one for one in young if outside[id(one)] > 0]
    while living:
        for held in gc.get_referents(living.pop()):
            if outside.get(id(held), 1) <= 0:
                outside[id(held)] = 1
                living.append(held)
    return any(count <= 0 for count in outside.values())


def is_off() -> bool:
    """Whether the program has switched the collector off: garbage waits until something calls `gc.collect`."""
    return not gc.isenabled() or gc.get_threshold()[0] == 0
