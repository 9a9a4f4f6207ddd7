"""Python's cyclic collector: whether it runs by itself, and the collections that the hunt did not ask for."""

from __future__ import annotations

import gc

from gradlife import _heap

_own = 0  # collections that the hunt asked for in this process


def collect(generation: int = 2) -> None:
    """Run the collector for the hunt."""
    global _own
    _own += 1
    gc.collect(generation)


def count_foreign() -> int:
    """Count the collections so far that ran by themselves or by a call of the program."""
    return int(sum(row["collections"] for row in gc.get_stats())) - _own


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
        if self._survivors is None and not gc.get_freeze_count():
            self._survivors = _heap.raise_long_lived(0)
            gc.freeze()

    def unfreeze(self) -> None:
        """Give them back to the collector."""
        if self._survivors is not None:
            gc.unfreeze()
            _heap.raise_long_lived(self._survivors)
            self._survivors = None


def is_off() -> bool:
    """Whether the program has switched the collector off: garbage waits until something calls `gc.collect`."""
    return not gc.isenabled() or gc.get_threshold()[0] == 0
