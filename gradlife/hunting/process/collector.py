"""Python's cyclic collector: whether it runs by itself, and the collections that the hunt did not ask for."""

from __future__ import annotations

import gc

_own = 0  # collections that the hunt asked for in this process


def collect(generation: int = 2) -> None:
    """Run the collector for the hunt."""
    global _own
    _own += 1
    gc.collect(generation)


def count_foreign() -> int:
    """Count the collections so far that ran by themselves or by a call of the program."""
    return int(sum(row["collections"] for row in gc.get_stats())) - _own


def is_off() -> bool:
    """Whether the program has switched the collector off: garbage waits until something calls `gc.collect`."""
    return not gc.isenabled() or gc.get_threshold()[0] == 0
