"""Counts the steps of all threads with little work per step, and resumes the plan when a round is full."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from gradlife.hunting.session.method import Hunt
from gradlife.own_thread import is_main_thread


class EnoughSteps(BaseException):
    """Ends a program after the requested number of steps."""


def end_program(*, may_raise: bool = True) -> NoReturn:
    """End the program after the requested steps: with an exception if this is the main thread and it may be raised there.
    Another thread would end alone, and a server would catch it.
    """
    if may_raise and is_main_thread():
        raise EnoughSteps
    with suppress(Exception):  # the program may have closed it
        sys.stdout.flush()
    os._exit(0)


#: The reason why a hunt ended early.
SHORTAGE = "there was not enough memory for one more snapshot: this is what was seen before"


class Counter:
    """Counts down the steps of a round."""

    def __init__(self, hunt: Hunt, lock: threading.RLock | None = None) -> None:
        self._hunt = hunt
        self._plan = hunt.plan()
        hunt.left = lambda: self.left + self._rest
        hunt.steps_of_others = self._take_steps_of_others
        self._lock = lock or threading.RLock()
        self._gate = threading.RLock()  # threads may step at the same time; a snapshot lets none pass
        self._errand: Callable[[], object] | None = None
        self._rest = 0  # steps left in a round that an errand interrupts
        self._late = 0  # steps since the round was full, while another thread runs the plan
        self.is_done = False
        self.on_done: Callable[[], None] = lambda: None
        self.on_step: Callable[[], None] = lambda: None
        self.left = 0
        self._resume()

    def step(self) -> bool:
        """Count one step. Return whether the hunt knows enough."""
        self.on_step()
        with self._gate:
            self.left -= 1
            if self.left == 0:
                self._stop()
        return self.is_done

    def count_passed(self, steps: int) -> None:
        """Count steps that have passed besides those of the round, while the plan ran: they belong to the next snapshot."""
        with self._gate:
            self._hunt.steps += 0 if self.is_done else steps

    def _stop(self) -> None:
        errand, self._errand = self._errand, None
        self.left, self._rest = self._rest, 0
        if errand is not None:
            errand()
        if self.left <= 0 and not self.is_done:
            self._resume()

    def _resume(self) -> None:
        if not self._lock.acquire(blocking=not self._hunt.keeps_serving):
            self._late += 1
            self.left = 1
            return
        try:
            self._go_on()
        finally:
            self._lock.release()
        if self.left < 0:
            self.is_done = True
            self.on_done()

    def _go_on(self) -> None:
        if self.is_done:  # ended by another thread meanwhile
            return
        try:
            left = next(self._plan, -1)
            self._hunt.count_steps_of_others()
            self.left = left
        except MemoryError:  # a snapshot raised it; the program must not fail for that
            self._hunt.cut_short_by = SHORTAGE
            self.left = -1
        except Exception as error:
            self._hunt.cut_short_by = f"the hunt itself failed: {type(error).__name__}: {error}"
            self.left = -1

    def _take_steps_of_others(self) -> int:
        """Return the steps since the round was full. Those of other threads during the plan make ``left`` negative."""
        passed = max(0, -self.left) + self._late
        self.left = self._late = 0
        return passed

    def end(self) -> None:
        """Stop counting, and switch off everything that the plan switched on in this thread."""
        with self._lock:
            self.on_done = lambda: None
            self._plan.close()
            self.left, self._rest = -1, 0
            self.is_done = True

    def abandon(self) -> None:
        """Stop counting in a copy of the process, where no other thread can release the lock."""
        self.left, self._rest, self.is_done = -1, 0, True
        with suppress(ValueError):  # the process was forked while the plan ran
            self._plan.close()

    # --- from another thread ---

    def interrupt(self, errand: Callable[[], object]) -> None:
        """Run an errand at the next step."""
        self._errand = errand
        self.hurry()

    def hurry(self) -> None:
        """Make the next step stop, whatever is left of the round."""
        if self._errand is not None and self._gate.acquire(blocking=False):
            if self.left > 1:
                self._rest, self.left = self._rest + self.left - 1, 1
            self._gate.release()

    def withdraw(self) -> bool:
        """Withdraw the errand. Return whether it was already done."""
        was_done, self._errand = self._errand is None, None
        return was_done
