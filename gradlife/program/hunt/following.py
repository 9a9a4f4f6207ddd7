"""Watching a process for days: a hunt that goes on after its first answer, in rounds that grow longer.

The first rounds are those of every hunt. Each later round takes at least the requested time, then a share of all steps
so far, and at most a day. The hunt reports what grows after each round; in between it only measures what is alive.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from gradlife.hunting.process.forked import NICENESS, in_fork
from gradlife.hunting.process.memory_limits import usage
from gradlife.hunting.snapshots.step_snapshots import Collect, take_snapshot
from gradlife.model.heap import Owner
from gradlife.model.hunt import Amounts, HuntReport
from gradlife.model.watching.look import Look
from gradlife.output import say
from gradlife.own_thread import OwnThread
from gradlife.program.hunt.running import Progress, RunningHunt

#: The name of the watching thread.
THREAD = "gradlife"

#: Seconds that leaving a watched block waits for the last report and for the thread to undo its changes. It takes a few; on
#: a machine with ten times as much to do as it has processors, ten times as many.
PATIENCE = 300.0


class Follow:
    """Watches this process from inside. `run` returns the last report once it is stopped."""

    def __init__(
        self,
        hunt: RunningHunt,
        every: float,
        on_report: Callable[[HuntReport], object],
        on_look: Callable[[Look], object] | None = None,
    ) -> None:
        self._hunt = hunt
        self._every = every  # seconds between two measurements, and least seconds of a later round
        self._on_report = on_report
        self._on_look = on_look  # None: nothing is measured, which saves a fork per measurement
        self._reported = 0  # number of snapshots at the last report
        self._measured = -every  # time of the last measurement

    def run(self, heard: Callable[[Progress], object] = lambda progress: None) -> HuntReport:
        """Watch until the hunt's time is up or `stop` is called. An exception in a callback ends it."""

        def attend(progress: Progress) -> None:
            heard(progress)
            self._report(progress)
            self._measure(progress)

        return self._hunt.run(attend)

    def stop(self) -> None:
        """Make `run` return soon."""
        self._hunt.stop()

    def _report(self, progress: Progress) -> None:
        """Report after each new snapshot, once the first rounds are over."""
        if progress.looks == self._reported:
            return
        report = self._hunt.report_now()
        if report is not None:
            self._reported = progress.looks
            self._on_report(report)

    def _measure(self, progress: Progress) -> None:
        """Measure what is alive, once per interval."""
        if self._on_look is not None and progress.seconds - self._measured >= self._every:
            self._measured = progress.seconds
            with suppress(MemoryError):  # there may be enough at the next measurement
                self._on_look(self._hunt.undisturbed(lambda: look_now(progress.steps)))


def look_now(steps: int) -> Look:
    """Measure what is alive: one forked copy of the process writes a snapshot, another one reads it.

    Raises MemoryError if the snapshot could not be written.
    """
    snapshot = take_snapshot(steps, with_labels=True, collect=Collect.NOTHING, waits=False)
    snapshot.is_written(waits=True)

    def read() -> tuple[Amounts, tuple[Owner, ...]]:
        from gradlife.hunting.findings.failed_program import largest_owners  # only in the copy

        return snapshot.totals, tuple(largest_owners(snapshot.graph))

    live, owners = in_fork(read, NICENESS)
    return Look(time.time(), steps, live, usage(os.getpid())[0], owners)


class Watcher:
    """A block during which a thread watches the process: ``with gradlife.watch(every="10 min"):``."""

    def __init__(self, follow: Callable[[], Follow]) -> None:
        self._make = follow
        self._follow: Follow | None = None
        self._thread: OwnThread | None = None
        self.report: HuntReport | None = None  # the last report, set at the end
        self.trouble = ""  # why watching ended before the block did
        self._is_left = False

    def __enter__(self) -> Watcher:
        self._follow = follow = self._make()
        self._thread = OwnThread(THREAD, lambda: self._watch(follow))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_left = True
        if self._follow is not None and self._thread is not None:
            self._follow.stop()
            self._thread.join(PATIENCE)

    def _watch(self, follow: Follow) -> None:
        """Run the watching thread. No error here stops the program."""
        try:
            self.report = follow.run()
            self.trouble = self.report.trouble
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"
        if self.trouble and not self._is_left:
            say(f"gradlife: the watching has ended: {self.trouble}")
