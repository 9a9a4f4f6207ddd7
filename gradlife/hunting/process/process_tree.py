"""Processes and their parents, from /proc."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


def processes() -> Iterable[tuple[int, int, str, float]]:
    """Yield process ID, parent, state and CPU seconds of each process; nothing if the system does not tell."""
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError, IndexError):
                words = Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(name), int(words[1]), words[0], sum(map(int, words[11:15])) / TICK


def tree_of(parents: Collection[int], rows: Collection[tuple[int, int, str, float]]) -> set[int]:
    """Return these processes and all their descendants."""
    inside = set(parents)
    while fresh := {pid for pid, parent, _, _ in rows if parent in inside} - inside:
        inside |= fresh
    return inside
