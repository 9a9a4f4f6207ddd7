"""Steps of programs in which nothing seems to repeat: equal intervals of time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from gradlife.hunting.steps.repeated_calls import is_importing
from gradlife.own_thread import OwnThread

#: Seconds per step.
INTERVAL = 0.1

#: Seconds without an import and without other steps before time counts.
WARMUP_SECONDS = 2.0

#: The name of a step in reports.
STEP_NAME = f"{INTERVAL:g} s of time"


def is_any_importing() -> bool:
    """Whether a thread imports a module. A snapshot would show half of it, and a large import may take long."""
    return any(map(is_importing, sys._current_frames().values()))


#: Begins a hunt by time. It gets a name for the steps, and returns what to call with the number of intervals that are over.
BeginByTime = Callable[[str], Callable[[int], object]]


class Intervals(OwnThread):
    """Steps once per interval until better steps are found.

    The program goes on while a snapshot is written and judged in this thread: the next step is of all intervals since.
    """

    def __init__(self, begin: BeginByTime, quiet_since: Callable[[], float]) -> None:
        super().__init__("gradlife time")
        self._begin = begin
        self._quiet_since = quiet_since
        self._over = threading.Event()

    def run(self) -> None:
        """Wait until the program has started, then step."""
        while not self._over.wait(INTERVAL):
            if time.monotonic() - self._quiet_since() > WARMUP_SECONDS and not is_any_importing():
                break
        step = self._begin(STEP_NAME) if not self._over.is_set() else None
        counted = time.monotonic()  # up to when intervals are counted
        while step is not None and not self._over.wait(INTERVAL):
            if is_any_importing():
                counted = time.monotonic()
                continue
            count = max(1, int((time.monotonic() - counted) / INTERVAL))
            counted += count * INTERVAL
            step(count)

    def stop(self) -> None:
        """Stop stepping."""
        self._over.set()

    def leave_copy(self) -> None:
        """Stop stepping in a fork: the thread may have held the event's lock."""
        self._over = threading.Event()
        self._over.set()
