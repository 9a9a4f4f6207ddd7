"""Threads that do more work than ever before, as Linux counts the processor time of each.

A thread takes memory when it first does a kind of work, and keeps it as long as it lives: the cache that malloc gives each
thread, the buffers of torch's kernels. So memory grows until each thread of a pool has done that work, and no longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: The least share of a thread's processor time that a round must have to be new work. A thread that works in every round
#: has a smaller share of it in each: rounds get longer by less than all rounds before.
NEW_SHARE = 0.75

#: Nanoseconds of processor time that are work: a thread takes less to start and to wait.
MIN_WORK = 300_000


class NewWork:
    """Watches the threads that a program had at the first look. Later ones are no pool that waits to be used."""

    def __init__(self) -> None:
        self._times: dict[int, int] | None = None  # processor time of each thread at the last look

    def look(self) -> int:
        """Return how many threads have worked since the last look as never before."""
        now, before = dict(processor_times()), self._times
        if before is None:
            self._times = now
            return 0
        self._times = {thread: now[thread] for thread in before if thread in now}
        return sum(is_new(before[thread], time) for thread, time in self._times.items())

    @property
    def threads(self) -> int:
        """The threads that are watched."""
        return len(self._times or ())


def is_new(before: int, now: int) -> bool:
    """Whether most of a thread's processor time, ``now``, came after ``before``."""
    return now - before >= max(MIN_WORK, NEW_SHARE * now)


def processor_times() -> Iterator[tuple[int, int]]:
    """Yield each thread of this process with its processor time in nanoseconds; nothing if the system does not tell."""
    with suppress(OSError):
        for name in os.listdir("/proc/self/task"):
            with suppress(OSError, ValueError, IndexError):
                yield int(name), int(Path("/proc/self/task", name, "schedstat").read_text().split()[0])
