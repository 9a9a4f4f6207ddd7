"""A hunt in a process that was running before, and goes on afterwards as if nobody had looked.

Steps are heard as in a script: optimizers, else batches, else backward passes. Where none of them is heard, a step is a
second. The hunt waits in a thread of its own; the looks are taken in the thread that takes the steps, between two of
them, and read in forked copies. Whatever fails here ends the hunt and not the program.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from gradlife.errors import UsageError
from gradlife.hunting.session.clean_report import About
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.backward_passes import BackwardSteps
from gradlife.hunting.steps.batches import BatchSteps
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.optimizers import OptimizerSteps
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import ATTACHED, SECOND, HuntReport

#: Seconds without a sign of a step after which seconds are counted.
SILENCE = 5.0

#: Seconds that the end of a hunt waits for the thread that takes the steps, to end it there.
PATIENCE = 2.0

Step = Callable[[], bool]


@dataclass(frozen=True)
class Terms:
    """What was asked for."""

    steps: int | None = None  # counted steps after which the hunt answers; None: when it knows enough
    seconds: float = 300.0  # after which it answers with what is known
    step_on: str = ""  # module:function
    memory_limit: int | None = None  # bytes; None: the system's


@dataclass(frozen=True)
class Progress:
    """How far a hunt is."""

    stepped_by: str  # empty: no step was heard yet
    steps: int
    looks: int
    seconds: float


class RunningHunt:
    """One hunt; `run` returns its report and leaves the program as it was."""

    def __init__(self, target: str, command: str, terms: Terms) -> None:
        self._target = target
        self._command = command
        self._terms = terms
        self._lock = threading.RLock()
        self._hunt = self._new_hunt()
        self._counter: Counter | None = None
        self._stepped_by = ""
        self._trouble = ""
        self._done = threading.Event()
        self._undo: list[Callable[[], object]] = []

    def run(self, heard: Callable[[Progress], None], every: float = 1.0) -> HuntReport:
        """Hunt until enough is known or the time is up. ``heard`` is called every so many seconds; what it raises ends the
        hunt. Raises UsageError where `step_on` names no function that is loaded.
        """
        try:
            listeners = self._listen()
            self._wait(heard, every, listeners)
            return self._report()
        finally:
            self._leave()

    # --- hearing steps ---

    def _listen(self) -> list[OptimizerSteps | BatchSteps | BackwardSteps]:
        """Attach to what the program steps by; returns what tells whether anything is heard."""
        if self._terms.step_on:
            calls = CallSteps(self._terms.step_on, self._begin)
            if calls.module not in sys.modules:
                raise UsageError(f"the process has not loaded {calls.module}", "--step-on module:function")
            calls.attach(sys.modules[calls.module])
            self._undo.append(calls.detach)
            return []

        def begin_by_batches(stepped_by: str) -> Step:
            passes.is_wanted = False
            return self._begin(stepped_by)

        def begin_by_optimizer(stepped_by: str) -> Step:
            batches.is_wanted = passes.is_wanted = False
            return self._begin(stepped_by)

        passes, batches = BackwardSteps(self._begin), BatchSteps(begin_by_batches)
        optimizers = OptimizerSteps(begin_by_optimizer)
        places = (
            ("torch.optim.optimizer", optimizers),
            ("torch.utils.data.dataloader", batches),
            ("torch.autograd", passes),
        )
        for name, listener in places:
            if name in sys.modules:
                listener.attach(sys.modules[name])
                self._undo.append(listener.detach)
        return [optimizers, batches, passes]

    def _new_hunt(self) -> Hunt:
        schedule = schedule_for(self._terms.steps, is_endless=False)
        return Hunt(replace(schedule, may_end=False))  # the program goes on

    def _begin(self, stepped_by: str) -> Step:
        """Count from here on; what was counted by something else is given up."""
        with self._lock:
            if self._done.is_set():
                return lambda: True
            if self._counter is not None:
                self._counter.end()
                self._hunt.close()
                self._hunt = self._new_hunt()
            self._stepped_by = stepped_by
            self._counter = counter = Counter(self._hunt, self._lock)
            counter.on_done = self._done.set
            return lambda: self._take(counter)

    def _take(self, counter: Counter) -> bool:
        """One step, of whose troubles the program hears nothing."""
        try:
            return counter.step()
        except Exception as error:
            self._trouble = f"the hunt itself failed: {type(error).__name__}: {error}"
            counter.left, counter.is_done = -1, True
            self._done.set()
            return True

    # --- waiting ---

    def _wait(
        self,
        heard: Callable[[Progress], None],
        every: float,
        listeners: list[OptimizerSteps | BatchSteps | BackwardSteps],
    ) -> None:
        start = time.monotonic()
        second: Step | None = None
        while not self._done.wait(min(every, 1.0)):
            now = time.monotonic() - start
            if now > self._terms.seconds:
                return
            if listeners and now > SILENCE and not any(one.heard for one in listeners):
                second = second or self._begin(SECOND)
            if second is not None and self._stepped_by == SECOND:
                second()
            heard(Progress(self._stepped_by, self._hunt.steps_now, len(self._hunt.snapshots), now))

    # --- the end ---

    def _report(self) -> HuntReport:
        about = About(
            self._target, self._stepped_by, trouble=self._trouble, is_script=True, memory_limit=self._terms.memory_limit
        )
        with self._lock:
            report = report_of(self._hunt, about)
        limits = report.limits
        if not report.rounds:
            seen = f"{self._hunt.steps} {report.step}s were counted"
            limits = (f"what grows: {seen}; a longer hunt tells more → {self._command} --for 30m",)
        return replace(report, limits=limits, settings={**report.settings, ATTACHED: self._command})

    def _leave(self) -> None:
        """Takes back all that was changed; in the thread that takes the steps, where one comes soon."""
        self._done.set()
        if self._counter is not None:
            counter = self._counter
            counter.interrupt(counter.end)
            deadline = time.monotonic() + PATIENCE
            while not counter.is_done and time.monotonic() < deadline:
                time.sleep(0.01)
                counter.hurry()
            counter.end()
        for undo in self._undo:
            undo()
        with self._lock:
            self._hunt.close()
            self._hunt.forget()
