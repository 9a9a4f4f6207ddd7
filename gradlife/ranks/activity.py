"""Whether ranks still work, by the CPU time of their processes."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from gradlife.hunting.process.process_tree import processes, tree_of

#: A program that uses less than this share of one CPU, or less than this many seconds, is only waiting.
SHARE, LEAST = 0.01, 0.05


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
    inside = tree_of(parents, rows)
    mine = [row for row in rows if row[0] in inside and row[0] not in parents]
    return Usage(sum(seconds for *_, seconds in mine), any(state in "RD" for _, _, state, _ in mine))
