"""The last snapshot of a short script, taken before its training function returns and its variables are freed.

Python calls a profile function at each return, which slows a step by a few percent. It is used only until one of the
hunt's own snapshots has labels.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType

from gradlife.heap.scan import OWN_FOLDER
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import labelled, snapshots_at_return
from gradlife.hunting.steps.compiler import uncompiled

#: A function in which this many steps run has the training loop.
MIN_STEPS = 2

#: Most snapshots of this kind: each epoch may be a function of its own.
MAX_SNAPSHOTS = 4

#: Flags of functions that continue after they yield a value or wait, and the instruction that they do it with.
PAUSING = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
YIELD = dis.opmap["YIELD_VALUE"]


def is_of_program(code: CodeType) -> bool:
    """Whether its frames may have the training loop. A profile function does not hear all of gradlife's own return."""
    is_own = str.startswith(code.co_filename, OWN_FOLDER)
    return not is_own and code.co_name != "<module>"


def only_pauses(frame: FrameType) -> bool:
    """Whether a generator or a coroutine that Python reports to return only yields a value or waits."""
    code = frame.f_code
    return bool(code.co_flags & PAUSING) and code.co_code[frame.f_lasti] == YIELD


class Returns:
    """Watches the thread that runs the steps for the return of its training function."""

    def __init__(self, hunt: Hunt, lock: AbstractContextManager[object]) -> None:
        self._hunt = hunt
        self._lock = lock
        self._steps: Counter[int] = Counter()  # by the address of the frame that ran them
        self._snapshots = 0
        self._is_over = False

    def around(self, step: Callable[[], bool]) -> Callable[[], bool]:
        """Run a step and note the functions it runs in."""

        def step_within() -> bool:
            if not self._is_over:
                self._note(sys._getframe(1))
            return step()

        return step_within

    def _note(self, frame: FrameType | None) -> None:
        if not self._steps and sys.getprofile() is None:
            sys.setprofile(self._heard)
        if sys.getprofile() != self._heard or any(one.has_labels for one in self._hunt.snapshots):
            self.stop()
            return
        while frame is not None:
            if is_of_program(frame.f_code):
                self._steps[id(frame)] += 1
            frame = frame.f_back

    def _heard(self, frame: FrameType, event: str, argument: object) -> None:
        if self._is_over:  # ended by another thread, which cannot do it here
            self.stop()
        elif (
            event == "return"
            and id(frame) in self._steps
            and not only_pauses(frame)
            and self._steps.pop(id(frame)) >= MIN_STEPS
        ):
            self._take_snapshot()

    @uncompiled
    def _take_snapshot(self) -> None:
        try:
            with self._lock, self._hunt.clock.paused():
                if (len(self._hunt.snapshots) > 1 or self._hunt.spare is not None) and not snapshots_at_return(
                    self._hunt
                ):  # no step ran since the last one
                    self._hunt.at_return = (self._hunt.steps_now, labelled(self._hunt))
                    self._snapshots += 1
        except Exception:  # the program goes on; its report is made at its end
            self._snapshots = MAX_SNAPSHOTS
        if self._snapshots == MAX_SNAPSHOTS:
            self.stop()

    def stop(self) -> None:
        """Stop watching."""
        self._is_over = True
        if sys.getprofile() == self._heard:
            sys.setprofile(None)
