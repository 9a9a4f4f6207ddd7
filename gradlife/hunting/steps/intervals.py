"""Steps of programs in which nothing is seen to repeat: equal intervals of time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from gradlife.hunting.steps.repeated_calls import is_importing

Step = Callable[[], object]

#: Seconds of a step.
INTERVAL = 0.1

#: Seconds without an import, and without anything else to step by, before time counts.
WARMUP_SECONDS = 2.0

#: How a step is called in a report.
STEP_NAME = f"{INTERVAL:g} s of time"


def is_any_importing() -> bool:
    """Does a thread import a module? Half of one would be looked at; a busy machine takes long for a large one."""
    return any(map(is_importing, sys._current_frames().values()))


class Intervals(threading.Thread):
    """Steps once in an interval, until something better is there to step by. A look takes none of them."""

    def __init__(self, begin: Callable[[str], Step], quiet_since: Callable[[], float]) -> None:
        super().__init__(name="gradlife time", daemon=True)
        self._begin = begin
        self._quiet_since = quiet_since
        self._over = threading.Event()

    def run(self) -> None:
        """Wait until the program has started, then step."""
        while not self._over.wait(INTERVAL):
            if time.monotonic() - self._quiet_since() > WARMUP_SECONDS and not is_any_importing():
                break
        step = self._begin(STEP_NAME) if not self._over.is_set() else None
        while step is not None and not self._over.wait(INTERVAL):
            if not is_any_importing():
                step()

    def stop(self) -> None:
        """Step no more."""
        self._over.set()
