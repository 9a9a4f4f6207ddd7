"""Steps that count until better ones are found: repeated calls, else intervals of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.steps.intervals import BeginByTime, Intervals
from gradlife.hunting.steps.repeated_calls import RepeatedCalls

Begin = Callable[[str], Callable[[], object]]


@dataclass(frozen=True)
class Program:
    """The code of the main module, and what its source says about steps."""

    code: CodeType
    step_functions: tuple[str, ...] = ()  # functions that its loops call
    trains: bool = False  # it uses optimizers, gradients or batches: their steps will come
    has_idle_optimizer: bool = False  # it makes an optimizer and never steps it


class Sampling:
    """The threads that look for steps; none before `start`."""

    def __init__(self) -> None:
        self._calls: RepeatedCalls | None = None
        self._intervals: Intervals | None = None
        self._waits = True  # for the steps of a new optimizer

    def start(self, begin_by_calls: Begin, begin_by_time: BeginByTime | None, program: Program) -> CodeType:
        """Look for calls in a program, and return the code to run.

        With ``begin_by_time``, intervals of time count until there are calls.
        """

        def begin(stepped_by: str) -> Callable[[], object]:
            if self._intervals is not None:
                self._intervals.stop()
            return begin_by_calls(stepped_by)

        calls = self._calls = RepeatedCalls(begin)
        self._waits = not program.has_idle_optimizer
        code = program.code if program.trains else calls.counting_from_start(program.code, program.step_functions)
        if program.trains:
            calls.pause()
        elif not program.step_functions:  # all that its loops call is in libraries: a pass through a module is a step
            when_imported("torch.nn.modules.module", lambda module: calls.watch(module.Module._wrapped_call_impl))
        calls.start()
        if begin_by_time is not None:
            self._intervals = Intervals(begin_by_time, lambda: calls.quiet_since)
            self._intervals.start()
        return code

    def pause(self) -> None:
        """Give a new optimizer time to step, unless the program never steps it."""
        if self._calls is not None and self._waits:
            self._calls.pause()

    def stop(self) -> None:
        """Stop looking: better steps were found."""
        for one in (self._intervals, self._calls):
            if one is not None:
                one.stop()

    def leave_copy(self) -> None:
        """Stop looking in a fork of the process."""
        for one in (self._intervals, self._calls):
            if one is not None:
                one.leave_copy()
