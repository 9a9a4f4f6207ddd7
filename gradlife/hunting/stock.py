"""Taking stock when the watching process asks for it: at the next step, or without one where none comes."""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol

from gradlife.hunting.stepping import Counter

#: Seconds that a step may take before stock is taken in the midst of it.
PATIENCE = 2.0


class Taker(Protocol):
    """Who can leave a report."""

    counter: Counter | None

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Writes it."""


class Stock(threading.Thread):
    """Waits for requests; does nothing else."""

    def __init__(self, taker: Taker, requests: int) -> None:
        super().__init__(name="gradlife", daemon=True)
        self._taker = taker
        self._requests = requests

    def run(self) -> None:
        """Until the watching process is gone."""
        while self._requests >= 0 and os.read(self._requests, 1):
            self._take()

    def _take(self) -> None:
        counter = self._taker.counter
        if counter is not None:
            taken = threading.Event()

            def errand() -> None:
                self._taker.leave("stock", None, None)
                taken.set()

            counter.interrupt(errand)
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not taken.wait(0.2):
                counter.hurry()
            if counter.withdraw():
                return
        self._taker.leave("stock", None, None)
