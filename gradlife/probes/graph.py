"""The probe of the heap graph: its verdict on a story's subjects, for comparison with their measured lifetime."""

from __future__ import annotations

import importlib
import sys
from typing import Callable, Iterable

from gradlife.probes.expiry import Watch

#: The first Python that the heap graph supports; in older interpreters the probe has no answer.
OLDEST_PYTHON = (3, 11)


def load_graph() -> Callable[[list[int]], list[str | None]] | None:
    """Return a function that judges objects by address, prepared for the loaded framework; None if there is no heap
    graph.
    """
    if sys.version_info < OLDEST_PYTHON:
        return None
    try:
        verdicts = importlib.import_module("gradlife.heap.lifetime_verdicts")
    except ImportError:  # the extension was not built
        return None
    lifetimes_at: Callable[[list[int]], list[str | None]] = verdicts.lifetimes_at
    lifetimes_at([])  # calibrates the layout of the framework's objects
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
    """Return the address of a living subject, or of its canary, which dies with it."""
    return id(watch.ref()) if watch.ref is not None else 0
