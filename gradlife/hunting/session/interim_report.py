"""Taking stock when the watching process asks for it, or a signal is about to end the program: at the next step, or
without one where none comes.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from typing import Protocol

from gradlife import _heap
from gradlife.hunting.session.step_counter import Counter

#: Seconds that a step may take before stock is taken in the midst of it.
PATIENCE = 2.0


#: Signals that end a program which does not handle them, and that give it time before they become SIGKILL.
ENDING = [signal.SIGTERM, signal.SIGHUP]


class Taker(Protocol):
    """An object that can write a report of the hunt so far."""

    counter: Counter | None

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Writes it."""


class InterimReport(threading.Thread):
    """Waits for requests; does nothing else."""

    def __init__(self, taker: Taker, requests: int) -> None:
        super().__init__(name="gradlife", daemon=True)
        self._taker = taker
        self._requests = requests
        self._signals, announced = os.pipe()
        _heap.announce_signals(announced, list(map(int, ENDING)))

    def run(self) -> None:
        """Wait until the watching process is gone, or this one is about to end."""
        heard = [one for one in (self._requests, self._signals) if one >= 0]
        while True:
            ready = select.select(heard, [], [])[0]
            if self._signals in ready:
                [number] = os.read(self._signals, 1)
                self._take()
                _heap.announce_signals(-1, [])
                os.kill(os.getpid(), number)
            elif os.read(self._requests, 1):
                self._take()
            else:
                heard = [self._signals]

    def _take(self) -> None:
        counter = self._taker.counter
        if counter is not None:
            taken = threading.Event()

            def errand() -> None:
                self._taker.leave("interim", None, None)
                taken.set()

            counter.interrupt(errand)
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not taken.wait(0.2):
                counter.hurry()
            if counter.withdraw():
                return
        self._taker.leave("interim", None, None)
