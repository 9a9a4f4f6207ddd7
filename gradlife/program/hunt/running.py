"""A hunt in a process that is already running, and goes on undisturbed afterwards.

Steps are found as in a script: optimizers, else batches, else backward passes; else replays of CUDA graphs that were
captured earlier. If there are none, a step is a second.
The hunt waits in its own thread. Snapshots are taken between two steps, in the thread that takes the steps, and read in
forked copies. An error ends the hunt, never the program.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from gradlife.after_fork import after_fork
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.growth.controls import MAX_STEPS_OF_SERVICE, Controls
from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt, late_length
from gradlife.hunting.session.report import report_of, with_late_growth, with_late_rounds
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.count_step import CountStep
from gradlife.hunting.steps.running_steps import RunningSteps
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import ATTACHED, LONGEST_STOP, SECOND, HuntReport

T = TypeVar("T")

#: Seconds without any sign of a step before seconds are counted.
SILENCE = 5.0

#: Seconds that the end of a hunt waits for the thread that takes the steps, to clean up in it.
PATIENCE = 2.0

#: What a report says if the function that counts was not called.
UNHEARD = (
    "what grows: {} was not called through its module; a caller that took the function earlier, such as a route of a web "
    "framework, is not heard → --step-on with a function that it calls"
)

#: Longest round in seconds of a hunt that goes on for days.
LONGEST = 86_400.0


@dataclass(frozen=True)
class Terms:
    """The options of a hunt in a running process."""

    steps: int | None = None  # counted steps before the answer; None: until it knows enough
    seconds: float = 300.0  # time before it answers with what is known
    step_on: str = ""  # module:function
    memory_limit: int | None = None  # bytes; None: the system's


@dataclass(frozen=True)
class Progress:
    """The progress of a hunt."""

    stepped_by: str  # empty: no step found yet
    steps: int
    looks: int
    seconds: float


class RunningHunt:
    """One hunt in a running process; `run` returns its report and restores the program.

    With ``every`` it goes on after its first answer, in rounds of at least that many seconds.
    """

    def __init__(self, target: str, command: str, terms: Terms, every: float | None = None) -> None:
        self._target = target
        self._command = command
        self._terms = terms
        self._every = every
        self._began = time.monotonic()  # time of the first counted step
        self._first: HuntReport | None = None  # the first report of a hunt that goes on
        self._judged = 0  # number of steps at the last judged snapshot
        self._lock = threading.RLock()
        self._hunt = self._new_hunt()
        self._counter: Counter | None = None
        self._stepped_by = ""
        self._trouble = ""
        self._longest_stop = 0.0  # seconds that a look took from the thread that takes the steps
        self._done = threading.Event()
        self._heard: RunningSteps | None = None

    def run(self, heard: Callable[[Progress], None], every: float = 1.0) -> HuntReport:
        """Hunt until enough is known or the time is up; return the report.

        ``heard`` is called with the progress every ``every`` seconds, or each second if that is less; an exception in
        it ends the hunt. Raises UsageError if `step_on` names no function that is loaded.
        """
        _under_way.add(self)
        try:
            ensure_calibrated()  # here, not in the thread that takes the steps: it waits for a forked copy
            self._heard = RunningSteps(self._begin, self._terms.step_on, waits=self._every is not None)
            self._wait(heard, every, self._heard)
            return self._last_report()
        finally:
            _under_way.discard(self)
            self._leave()

    def stop(self) -> None:
        """Make `run` return soon."""
        self._done.set()

    def undisturbed(self, work: Callable[[], T]) -> T:
        """Call ``work`` while no snapshot is taken: two at once would read torch's layout from each other's tensors."""
        with self._lock:
            return work()

    def report_now(self) -> HuntReport | None:
        """Judge a hunt that goes on; None in its first rounds, and without a new snapshot."""
        with self._lock:
            self._hunt.settle()
            hunt, snapshots = self._hunt, [*self._hunt.snapshots]
            if not hunt.early_snapshots or snapshots[-1].steps == self._judged:
                return None
            self._judged = snapshots[-1].steps
            if self._first is None:
                self._first = self._report()
                return self._first
            first = self._first
        return with_late_rounds(hunt, snapshots, first, self._terms.memory_limit)

    # --- hearing steps ---

    def _new_hunt(self) -> Hunt:
        schedule = schedule_for(self._terms.steps, is_endless=False)
        controls = Controls(MAX_STEPS_OF_SERVICE)
        hunt = Hunt(replace(schedule, may_end=False), controls=controls, keeps_serving=True)  # the program goes on
        if self._every is not None:
            hunt.goes_on = True
            hunt.late_length = self._late_length
        return hunt

    def _late_length(self, steps: int) -> int:
        """Return the number of steps in a later round: it takes at least the requested time, and at most a day."""
        assert self._every is not None
        rate = steps / max(1.0, time.monotonic() - self._began)
        return max(1, int(rate * self._every), min(late_length(steps), int(rate * LONGEST)))

    def _begin(self, stepped_by: str) -> CountStep:
        """Start counting steps; discard what other steps have shown."""
        with self._lock:
            if self._done.is_set():
                return lambda: True
            if self._counter is not None:
                self._counter.end()
                self._hunt.close()
                self._hunt = self._new_hunt()
            self._stepped_by = stepped_by
            self._first, self._judged, self._began = None, 0, time.monotonic()
            self._counter = counter = Counter(self._hunt, self._lock)
            counter.on_done = self._done.set
            return lambda: self._take(counter)

    def _take(self, counter: Counter) -> bool:
        """Count one step; no error reaches the program."""
        began = time.perf_counter()
        try:
            return counter.step()
        except Exception as error:
            self._trouble = f"the hunt itself failed: {type(error).__name__}: {error}"
            counter.left, counter.is_done = -1, True
            self._done.set()
            return True
        finally:
            self._longest_stop = max(self._longest_stop, time.perf_counter() - began)

    # --- waiting ---

    def _wait(
        self,
        heard: Callable[[Progress], None],
        every: float,
        steps: RunningSteps,
    ) -> None:
        start = time.monotonic()
        second: CountStep | None = None
        while not self._done.wait(min(every, 1.0)):
            now = time.monotonic() - start
            if now > self._terms.seconds:
                return
            steps.hear_loaded()
            if now > SILENCE and steps.is_silent:
                second = second or self._begin(SECOND)
            if second is not None and self._stepped_by == SECOND:
                second()
            heard(Progress(self._stepped_by, self._hunt.steps_now, len(self._hunt.snapshots), now))

    # --- the end ---

    def _last_report(self) -> HuntReport:
        """Return the report at the end of the hunt."""
        if self._first is None:
            return self._report()
        with self._lock:
            self._hunt.settle()
            return with_late_growth(self._hunt, self._first, self._terms.memory_limit)

    def _report(self) -> HuntReport:
        facts = TargetFacts(
            self._target, self._stepped_by, trouble=self._trouble, is_script=True, memory_limit=self._terms.memory_limit
        )
        with self._lock:
            self._hunt.settle()
            report = report_of(self._hunt, facts)
        limits = report.limits
        if not report.rounds:
            seen = f"{self._hunt.steps} {report.step}s were counted"
            limits = (f"what grows: {seen}; a longer hunt tells more → {self._command} --for 30m",)
            if self._terms.step_on and not self._stepped_by:
                limits = (UNHEARD.format(self._terms.step_on),)
        settings = {**report.settings, ATTACHED: self._command}
        if self._stepped_by != SECOND:
            settings[LONGEST_STOP] = f"{1000 * self._longest_stop:.0f}"
        return replace(report, limits=limits, settings=settings)

    def _leave(self) -> None:
        """Undo all changes, in the thread that takes the steps if one comes soon."""
        self._done.set()
        if self._counter is not None:
            counter = self._counter
            counter.interrupt(counter.end)
            deadline = time.monotonic() + PATIENCE
            while not counter.is_done and time.monotonic() < deadline:
                time.sleep(0.01)
                counter.hurry()
            counter.end()
        if self._heard is not None:
            self._heard.detach()
        with self._lock:
            self._hunt.close()
            self._hunt.forget()

    def become_copy(self) -> None:
        """Take no more steps: this process is a fork of the program."""
        if self._counter is not None:
            self._counter.left, self._counter.is_done = -1, True
        self._done = threading.Event()  # a thread that is not here may have held the lock of the other
        self._done.set()


_under_way: weakref.WeakSet[RunningHunt] = weakref.WeakSet()


def end_in_copy() -> None:
    """End all hunts in a fork of this process."""
    for hunt in _under_way:
        hunt.become_copy()


after_fork(end_in_copy)
