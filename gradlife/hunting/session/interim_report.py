"""Interim reports, made when the watching process asks or a signal is about to end the program: at the next step, or
in the middle of a long one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from gradlife import _heap
from gradlife.descriptors import pipe
from gradlife.hunting.process.memory_limits import Memory
from gradlife.hunting.process.settings import INTERIM, PROGRESS
from gradlife.hunting.session.step_counter import Counter
from gradlife.own_thread import OwnThread
from gradlife.readable import readable

#: Seconds to wait for the next step before a report is made in the middle of one.
PATIENCE = 2.0

#: Most seconds to wait for a report that a step has begun.
LONGEST = 120.0

#: Seconds between two checks of this process's memory, if no other process watches it.
INTERVAL = 0.25

#: Signals that end a program unless it handles them, some time before SIGKILL follows.
ENDING = [signal.SIGTERM, signal.SIGHUP]


class Taker(Protocol):
    """An object that can write a report of the hunt so far."""

    counter: Counter | None

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write the report."""

    def end_by_signal(self, number: int) -> None:
        """Record that a signal ends the program."""


class InterimReport(OwnThread):
    """Waits for requests. If no other process watches this one, ``memory`` tells when a report is due.

    ``announce_progress`` tells the watching process how far the program is.
    """

    def __init__(
        self,
        taker: Taker,
        requests: int,
        memory: Memory | None = None,
        announce_progress: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__("gradlife")
        self._announce_progress = announce_progress
        self._taker = taker
        self._requests = requests
        self._pipe = os.fstat(requests).st_ino if requests >= 0 else 0
        self._memory = memory
        self._signals, announced = pipe()
        _heap.announce_signals(announced, list(map(int, ENDING)))

    def run(self) -> None:
        """Wait until the watching process is gone, or this one is about to end."""
        heard = [one for one in (self._requests, self._signals) if one >= 0]
        while True:
            ready = readable(heard, INTERVAL if self._memory is not None else None)
            if not ready:
                if self._memory is not None and self._memory.is_time(os.getpid()):
                    self._take()
            elif self._signals in ready:
                [number] = os.read(self._signals, 1)
                self._take()
                self._taker.end_by_signal(number)
                _heap.announce_signals(-1, [])
                os.kill(os.getpid(), number)
            elif asked := os.read(self._requests, 1):
                self._answer(asked)
            else:
                heard = [self._signals]
                if os.fstat(self._requests).st_ino == self._pipe:  # not a file that the program opened in its place
                    os.kill(os.getpid(), signal.SIGTERM)  # a program that nobody watches is not left behind

    def _answer(self, asked: bytes) -> None:
        """Answer a request: for progress, or for a report."""
        if asked == PROGRESS:
            with suppress(Exception):  # read in the midst of a step
                self._announce_progress()
        else:
            self._take()

    def _take(self) -> None:
        counter = self._taker.counter
        if counter is not None:
            taken = threading.Event()

            def errand() -> None:
                try:
                    self._leave()
                finally:
                    taken.set()

            counter.interrupt(errand)
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and not taken.wait(0.2):
                counter.hurry()
            if counter.withdraw():
                taken.wait(LONGEST)  # the report may have just begun, and a busy machine is slow
                return
        self._leave()

    def _leave(self) -> None:
        """Write the report. An error of gradlife's own must not reach the program's step, or keep a signal from it."""
        with suppress(Exception):
            self._taker.leave(INTERIM, None, None)
