"""The peak of a process that is already running: three of its steps are recorded, all others run untouched."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from gradlife.errors import GradlifeError
from gradlife.hunting.process.start_folder import Start
from gradlife.hunting.steps.running_steps import RunningSteps
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import PeakSession
from gradlife.program.hunt.running import Progress, Terms

#: The module of torch's optimizers, whose operations are recorded separately.
OPTIMIZERS = "torch.optim.optimizer"

#: Seconds to wait at the end for the thread that takes the steps: a recording ends best there.
PATIENCE = 30.0


class RunningPeak:
    """One recording; `run` returns its report and leaves the program as it was."""

    def __init__(self, target: str, terms: Terms) -> None:
        self._about = PeakReport(target, "")
        self._terms = terms
        self._contexts = Contexts()
        self._session: PeakSession | None = None
        self._steps = 0
        self._trouble = ""
        self._done = threading.Event()
        self._is_over = threading.Event()
        self._ends = False

    def run(self, heard: Callable[[Progress], None]) -> PeakReport:
        """Record until the peak is known or the time is up. ``heard`` is called each second; it may raise to end
        that.

        Raises UsageError if `step_on` names no function that is loaded, GradlifeError if torch is not loaded.
        """
        if OPTIMIZERS not in sys.modules:
            raise GradlifeError("the process has not loaded torch", "gradlife attach PID, for what grows in it")
        Start.note()
        self._contexts.attach(sys.modules[OPTIMIZERS])
        try:
            self._record(RunningSteps(self._begin, self._terms.step_on, counts_replays=False), heard)
        finally:
            self._contexts.detach()
        return self._report()

    def _record(self, steps: RunningSteps, heard: Callable[[Progress], None]) -> None:
        start = time.monotonic()
        try:
            while not self._done.wait(min(1.0, self._terms.seconds)) and time.monotonic() - start < self._terms.seconds:
                heard(Progress(self._about.stepped_by, self._steps, 0, time.monotonic() - start))
        finally:
            self._leave()
            steps.detach()

    def _report(self) -> PeakReport:
        if self._session is not None and self._session.report is not None:
            return self._session.report
        seen = f"{self._steps} steps were seen; a peak needs five"
        return replace(self._about, trouble=self._trouble or seen)

    def _begin(self, stepped_by: str) -> Callable[[], bool]:
        """Record steps of this kind; drop a recording of steps of another kind."""
        if self._session is not None:
            self._session.close()
        self._about = replace(self._about, stepped_by=stepped_by)
        self._session = PeakSession(self._contexts, lambda report: self._done.set())
        self._session.about = self._about
        return self._step

    def _step(self) -> bool:
        """Count one step. An error of the recording never reaches the program."""
        if self._is_over.is_set() or self._session is None:
            return True
        self._steps += 1
        try:
            if self._ends:
                self._session.conclude()
            elif not self._session.step():
                return False
        except Exception as error:
            self._trouble = f"the recording itself failed: {type(error).__name__}: {error}"
            self._session.close()
        self._is_over.set()
        self._done.set()
        return True

    def _leave(self) -> None:
        """Let the next step end an incomplete recording."""
        self._ends = True
        if self._session is not None and self._session.report is None:
            self._is_over.wait(PATIENCE)
        self._is_over.set()
        if self._session is not None:
            self._session.close()  # the recorded thread may take no more steps
