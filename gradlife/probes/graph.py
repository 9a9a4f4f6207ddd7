"""The probe of the heap graph: its verdict on the subjects of a story, beside what the collector then does with them."""

from __future__ import annotations

import importlib
import sys
from typing import Callable, Iterable

from gradlife.probes.expiry import Watch

#: The heap graph needs this Python; older interpreters, next to the frameworks of their time, do without.
OLDEST_PYTHON = (3, 11)


def load_graph() -> Callable[[list[int]], list[str | None]] | None:
    """The graph's judge of objects by address, with all that it must know of the loaded framework; None without one."""
    if sys.version_info < OLDEST_PYTHON:
        return None
    try:
        verdicts = importlib.import_module("gradlife.heap.lifetime_verdicts")
    except ImportError:  # an extension that was not built
        return None
    lifetimes_at: Callable[[list[int]], list[str | None]] = verdicts.lifetimes_at
    lifetimes_at([])  # finds out how the framework lays its objects out
    return lifetimes_at


def lifetimes_of(watches: Iterable[Watch]) -> dict[str, str]:
    """Return the graph's verdict on each living subject, by name; empty if there is no graph."""
    living = [watch for watch in watches if watch.alive()]
    lifetimes_at = load_graph() if living else None
    if lifetimes_at is None:
        return {}
    found = lifetimes_at([address_of(watch) for watch in living])
    return {watch.name: lifetime or "inconclusive" for watch, lifetime in zip(living, found)}


def address_of(watch: Watch) -> int:
    """Return the address of a living subject, or of its canary, which lives and dies with it."""
    return id(watch.ref()) if watch.ref is not None else 0
