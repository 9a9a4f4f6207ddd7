"""The steps of a peak: a warm-up, a step to find the peak, the judged step, and steps in which its storages die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradlife import _heap
from gradlife.hunting.process.forked import in_fork
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.analysis.judge import Judge, Recorded, judged
from gradlife.peaks.analysis.looks import Look
from gradlife.peaks.analysis.scouting import scout_peaks
from gradlife.peaks.recording.holders import holders_now
from gradlife.peaks.recording.torch import Contexts, Recorder, limits_now

#: Steps before the recording, after those that determine what a step is.
WARMUP = 2

#: Recorded steps: one to find the peaks, the judged one, and one more; another if the savings leave other peaks.
RECORDED = 3

#: Most peaks left by savings whose holders are read.
MAX_BEHIND = 6


class PeakSession:
    """Counts steps, records some of them, and reports once."""

    def __init__(self, contexts: Contexts, on_report: Callable[[PeakReport], object], warmup: int = WARMUP) -> None:
        self._contexts = contexts
        self._on_report = on_report
        self._warmup = warmup
        self._taken = 0
        self._recorder: Recorder | None = None
        self._first = 0  # the judged step's first operation
        self._ahead: list[int] = []  # operations of the step at which holders are still to be read
        self._looks: list[Look] = []
        self._malloc: dict[int, int] = {}  # bytes that malloc has handed out, by operation
        self.about = PeakReport("", "")
        self.report: PeakReport | None = None

    def step(self) -> bool:
        """Count one step. Return whether the report is known."""
        self._taken += 1
        if self.report is not None:
            return True
        if self._recorder is None:
            if self._taken >= self._warmup:
                self._start()
            return False
        first = self._recorder.mark_step()
        recorded = self._taken - self._warmup
        if recorded == 1:
            self._first, self._ahead = first, in_fork(lambda: scout_peaks(self._so_far()))
            self._note_malloc(first)
            self._set_alarm()
        elif recorded == RECORDED:
            self._first, self._ahead = first, in_fork(self._peaks_left)
            self._set_alarm()
        if recorded > RECORDED or (recorded == RECORDED and not self._ahead):
            self._finish()
        return self.report is not None

    def close(self) -> None:
        """Stop the recording, however far it is."""
        if self._recorder is not None and self._recorder.is_on:
            self._recorder.stop()

    def conclude(self) -> None:
        """Report what was recorded, if it is enough, because there are no more steps."""
        if self.report is None and self._taken - self._warmup >= RECORDED:
            self._finish()
        self.close()

    def _peaks_left(self) -> list[int]:
        return Judge(Recorded(self._so_far(), self._looks, 1)).peaks_left()[:MAX_BEHIND]

    def _so_far(self) -> Any:
        assert self._recorder is not None
        return self._recorder.so_far()

    def _start(self) -> None:
        self._recorder = Recorder(self._contexts, self._look)
        self._recorder.start()

    def _set_alarm(self) -> None:
        assert self._recorder is not None
        if self._ahead:
            self._recorder.alarm_at(self._first + self._ahead[0])

    def _look(self) -> None:
        """Read the holders at a peak of the judged step."""
        operation = self._first + self._ahead.pop(0)
        self._note_malloc(operation)
        self._looks.append(Look(operation, in_fork(holders_now)))
        self._set_alarm()

    def _note_malloc(self, operation: int) -> None:
        given = _heap.malloc_bytes()
        if given is not None:
            self._malloc[operation] = given

    def _finish(self) -> None:
        assert self._recorder is not None
        recording = self._recorder.stop()
        about = replace(self.about, warmup_steps=self._warmup, limits=(*self.about.limits, *limits_now()))
        recorded = Recorded(recording, self._looks, 1, self._contexts.seconds, self._malloc)
        self.report = in_fork(lambda: judged(recorded, about))
        self._on_report(self.report)
