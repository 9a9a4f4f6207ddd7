"""Whether ranks still work, by the CPU time of their processes."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: A program that uses less than this share of one CPU, or less than this many seconds, is only waiting.
SHARE, LEAST = 0.01, 0.05

TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """The CPU use of a group of processes so far."""

    seconds: float  # CPU seconds
    is_running: bool  # a process is on a CPU, or waits for one or for a disk


class Activity:
    """Watches processes and their descendants."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._seconds = 0.0

    def idle_seconds(self, parents: Collection[int]) -> float:
        """Return how long the descendants of these processes have only waited, when called repeatedly."""
        now, found = time.monotonic(), usage_below(parents)
        used = found.seconds - self._seconds
        if found.is_running or abs(used) > max(LEAST, SHARE * (now - self._since)):
            self._since, self._seconds = now, found.seconds
        return now - self._since


def usage_below(parents: Collection[int]) -> Usage:
    """Return the CPU use of all descendants of these processes, without the processes themselves."""
    rows = list(processes())
    inside = set(parents)
    while fresh := {pid for pid, parent, _, _ in rows if parent in inside} - inside:
        inside |= fresh
    mine = [row for row in rows if row[0] in inside and row[0] not in parents]
    return Usage(sum(seconds for *_, seconds in mine), any(state in "RD" for _, _, state, _ in mine))


def processes() -> Iterable[tuple[int, int, str, float]]:
    """Yield process ID, parent, state and CPU seconds of each process; nothing if the system does not tell."""
    with suppress(OSError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with suppress(OSError, IndexError):
                words = Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield int(name), int(words[1]), words[0], sum(map(int, words[11:15])) / TICK
