"""The process that runs a program to take a snapshot: when its outermost function returns, at a step, or at the peak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from gradlife.errors import EXIT_COULD_NOT_TELL, GradlifeError
from gradlife.heap.snapshot import Snapshot
from gradlife.hunting.process.immediate_exit import before_exit
from gradlife.hunting.process.settings import Settings
from gradlife.hunting.steps.count_step import CountStep
from gradlife.hunting.steps.listening import TorchSteps, hear_torch
from gradlife.hunting.steps.targets import FunctionTarget, ProgramTarget, TargetError
from gradlife.output import say
from gradlife.program.child import Child
from gradlife.program.script import Ended, Program
from gradlife.program.snapshot.outermost_function import Call, OutermostFunction, Work
from gradlife.safe_access import short_class_name, traceback_of

if TYPE_CHECKING:
    from gradlife.program.snapshot.peak_moment import PeakMoment

#: Backward passes before they count as steps.
WARMUP_PASSES = 1

#: Why the moment that was asked for did not come.
NO_STEPS = "no step was seen; --step-on MODULE:FUNCTION counts calls of a function"


#: Freezes the heap, with frames of calls that have ended as roots; writes the file.
Take = Callable[[tuple[FrameType, ...]], Snapshot]
Write = Callable[[Snapshot, "Moment"], object]


@dataclass(frozen=True)
class Moment:
    """When a snapshot is taken."""

    words: str  # "main() returned"
    steps: int = 0
    stepped_by: str = ""
    trouble: str = ""  # why it is another moment than the one asked for

    @property
    def text(self) -> str:
        """The moment with what was seen of steps: ``main() returned, after 30 steps (SGD.step)``."""
        seen = (
            f", after {counted(self.steps)} ({self.stepped_by})" if self.stepped_by and "step" not in self.words else ""
        )
        by = f" ({self.stepped_by})" if self.stepped_by and not seen else ""
        return self.words + (seen or by)


class SnapshotChild(Child):
    """Runs one program in this process, and writes one snapshot.

    The moment is the peak if asked for, else the step of the settings, else the return of the program's outermost function.
    """

    def __init__(self, settings: Settings, take: Take, write: Write, *, at_peak: bool = False) -> None:
        super().__init__(settings)
        self._take = take
        self._write = write
        self._is_at_peak = at_peak
        self._peak: PeakMoment | None = None
        self._heard: TorchSteps | None = None
        self._stepped_by = ""
        self._calls = 0  # of the function whose calls are steps
        self._outermost: OutermostFunction | None = None
        self._taken: tuple[Work, Snapshot, Moment] | None = None  # when an outermost function had returned
        self._is_written = False

    # --- the program ---

    def _prepare(self) -> None:
        if self._is_at_peak:
            from gradlife.program.snapshot.peak_moment import (
                PeakMoment,  # not earlier: its modules would be in the snapshot
            )

            self._peak = PeakMoment(lambda: self._write_now("memory was at the peak of a step"))
        super()._prepare()

    def _follow_launched(self, target: ProgramTarget) -> None:
        """Leave processes that the program starts alone."""

    def _run_function(self, target: FunctionTarget) -> Ended:
        raise TargetError(
            f"{target.place} has a function, which gradlife snapshot does not call", "a script, or -m module"
        )

    def _run_program(self, code: CodeType, program: Program) -> Ended:
        self._outermost = OutermostFunction(program, lambda: self._steps, self._take_of)
        self._outermost.watch()
        with before_exit(lambda: self._write_last("os._exit() ended the program", write=self._write_or_say)):
            return super()._run_program(code, program)

    def _become_copy(self) -> None:
        super()._become_copy()
        if self._outermost is not None:
            self._outermost.close()

    # --- steps ---

    def _hear(self) -> None:
        self._heard = hear_torch(
            self._begin_again, self._begin_again, warmup_passes=WARMUP_PASSES, trusts_only_optimizer=True
        )

    @property
    def _steps(self) -> int:
        return self._heard.taken if self._heard is not None else self._calls

    def _begin_again(self, stepped_by: str) -> CountStep:
        self._stepped_by = stepped_by
        if self._peak is not None:
            self._peak.begin()
        self._count()
        return self._step

    def _step(self) -> None:
        self._count()
        if self._peak is not None and not self._is_copy:
            self._peak.step(is_over=self._is_written)

    def _count(self) -> None:
        self._calls += 1
        wanted = self._settings.steps
        if wanted is not None and self._steps >= wanted:
            late = f"step {wanted:,} had passed when gradlife knew what a step is" if self._steps > wanted else ""
            self._write_now(f"step {self._steps:,} ended", late)

    # --- the moment ---

    def _moment(self, words: str, trouble: str = "") -> Moment:
        return Moment(words, self._steps, self._stepped_by, trouble)

    def _write_now(self, words: str, trouble: str = "") -> None:
        """Take and write the snapshot in the midst of the program."""
        if not self._is_written and not self._is_copy:
            self._is_written = True
            self._write_or_say(self._take(()), self._moment(words, trouble))

    def _take_of(self, call: Call) -> None:
        """Take the snapshot of a call that has returned, unless an earlier one did more."""
        if not self._is_written and not self._is_copy and (self._taken is None or self._taken[0] < call.work):
            self._taken = call.work, self._take((call.frame,)), self._moment(f"{call.name} returned")

    def _main_ended(self) -> None:
        """Take the snapshot before the program's threads end: one may wait for a variable of the function to go."""
        if self._outermost is not None and self._outermost.call is not None:
            self._take_of(self._outermost.call)
            self._outermost.close()

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write the snapshot, if that was not done."""
        if error is None:
            return self._write_last("the program ended")
        call = self._outermost.call if self._outermost is not None else None
        if call is not None and not is_on_way(call.frame, error):
            self._take_of(call)
            call = None
        self._write_last(f"{call.name if call is not None else 'the program'} raised {short_class_name(error)}", call)

    def _write_last(self, words: str, call: Call | None = None, write: Write | None = None) -> None:
        """Write the snapshot of a call that has returned, else of this moment."""
        if self._is_written or self._is_copy:
            return
        self._is_written = True
        if self._taken is not None and call is None:
            _, snapshot, moment = self._taken
        else:
            snapshot, moment = self._take((call.frame,) if call is not None else ()), self._moment(words)
        if self._outermost is not None:
            self._outermost.close()
        (write or self._write)(snapshot, replace(moment, trouble=self._trouble()))

    def _write_or_say(self, snapshot: Snapshot, moment: Moment) -> None:
        """Write a snapshot in the midst of the program, which goes on after an error."""
        try:
            self._write(snapshot, moment)
        except GradlifeError as error:
            say(f"gradlife: error: {error}")
            self._lost = "snapshot"

    def _status(self, ended: Ended) -> int:
        return ended.status or (EXIT_COULD_NOT_TELL if self._lost else 0)

    def _trouble(self) -> str:
        """Return why the moment that was asked for did not come."""
        asked = "the peak" if self._is_at_peak else f"step {self._settings.steps:,}" if self._settings.steps else ""
        if not asked:
            return ""
        return f"{asked} did not come: " + (f"the program took {counted(self._steps)}" if self._steps else NO_STEPS)


def counted(steps: int) -> str:
    """Format a number of steps."""
    return f"{steps:,} step{'s' * (steps != 1)}"


def is_on_way(frame: FrameType, error: BaseException) -> bool:
    """Whether an error has left the frame's function."""
    trace = traceback_of(error)
    while trace is not None and trace.tb_frame is not frame:
        trace = trace.tb_next
    return trace is not None
