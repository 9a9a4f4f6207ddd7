"""What is shown while a hunted or recorded program runs: a live line on a terminal, else one line at the start."""

from __future__ import annotations

import os
import time
from types import TracebackType

from gradlife.cli.live_line import LiveLine
from gradlife.hunting.steps.targets import MODULE_MARK
from gradlife.model.hunt import SECOND
from gradlife.output import say
from gradlife.program.progress import StepProgress, Viewer

#: Seconds between two drawings of the line.
INTERVAL = 0.5


class ProgramView(Viewer):
    """Shows how far the program is. ``doing`` begins the lines: hunting train.py. ``total``: the steps that were asked for."""

    def __init__(self, doing: str, total: int | None = None, at_start: str = "", is_hidden: bool = False) -> None:
        self._doing = doing
        self._total = total
        self._at_start = at_start
        self._line = LiveLine()
        self.wants_progress = self._line.is_possible and not is_hidden
        self._began = time.monotonic()
        self._first: tuple[float, int] | None = None  # the time and the number of steps when steps were first seen
        self._progress = StepProgress()
        self._is_over = False
        self._next = 0.0  # when the line is drawn again

    def __enter__(self) -> ProgramView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def see_start(self) -> None:
        """Say in one line what happens, where no live line can."""
        if not self.wants_progress and self._at_start:
            say(f"gradlife: {self._doing}{self._at_start}")
            self._at_start = ""

    def see(self, progress: StepProgress) -> None:
        """Keep what the program's process tells."""
        if progress.steps and (self._first is None or progress.steps < self._progress.steps):
            self._first = (time.monotonic(), progress.steps)
        self._progress = progress

    def wait(self, resident: int) -> None:
        """Show the line."""
        if self.wants_progress and not self._is_over and time.monotonic() >= self._next:
            self._next = time.monotonic() + INTERVAL
            self._line.show(self._parts(resident))

    def begin(self, doing: str) -> None:
        """Begin a further run of the program."""
        self._doing, self._is_over = doing, False
        self._began, self._first, self._progress = time.monotonic(), None, StepProgress()

    def end(self) -> None:
        """Erase the line: what comes next is the report."""
        self._is_over = True
        self._line.erase()

    def _parts(self, resident: int) -> list[str]:
        from gradlife.reports.values import size  # not earlier: the program starts before it

        left, seconds = self._seconds_left(), time.monotonic() - self._began
        time_words = duration(seconds) if left is None else f"about {duration(left)} left"
        growing = [f"growing: {' '.join(self._progress.growing)}"] if self._progress.growing else []
        memory = [f"{size(resident)} resident"] if resident else []
        return [f"gradlife: {self._doing}", *steps_words(self._progress, self._total), time_words, *growing, *memory]

    def _seconds_left(self) -> float | None:
        """Estimate the time until the last of the steps that were asked for."""
        if self._total is None or self._first is None or self._progress.steps >= self._total:
            return None
        began, first = self._first
        taken = self._progress.steps - first
        return (time.monotonic() - began) / taken * max(0, self._total - self._progress.steps) if taken > 0 else None


def name_of(target: str) -> str:
    """Return the name of a program for a line of progress: without its folder."""
    return os.path.basename(target.removeprefix(MODULE_MARK)) or target


def steps_words(progress: StepProgress, total: int | None) -> list[str]:
    """Return the phase and the steps."""
    if progress.has_ended or (total is not None and progress.steps >= total):
        return ["the report is being made"]
    if not progress.stepped_by:
        return ["waiting for a step"]
    by = "a second" if progress.stepped_by == SECOND else progress.stepped_by
    steps = f"step {progress.steps:,} (a step is {by})"
    if total is not None:
        steps = f"step {progress.steps:,} of {total:,} ({by})"
    return [steps, f"round {progress.snapshots}"] if progress.snapshots else [steps]


def duration(seconds: float) -> str:
    """Format a time in whole seconds or minutes: 12 s, 3 min 20 s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
