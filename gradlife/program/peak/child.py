"""The process that runs the program: records a few of its steps, and leaves the report for the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from gradlife.errors import GradlifeError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.launcher import claim, follow_children, is_reporter
from gradlife.hunting.process.own_folders import keep_folder
from gradlife.hunting.process.rank import write_result
from gradlife.hunting.process.settings import Settings, load_settings
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.hunting.session.step_counter import Counter, end_program
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.listening import hear_torch
from gradlife.hunting.steps.main_definitions import count_when_loaded
from gradlife.hunting.steps.targets import FunctionTarget, ProgramTarget, ScriptTarget, load, parse
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.output import reason, say
from gradlife.own_thread import is_main_thread
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.session import PeakSession
from gradlife.program.hunt.child import END, guarded
from gradlife.program.peak.api import peak_of
from gradlife.program.script import Ended, counted_code, prepared, run_script
from gradlife.program.trial import begin_trial, losses_of
from gradlife.safe_access import short_class_name

#: The name of the report's file.
REPORT = "peak"

#: Backward passes before they count as steps: few, because a program without an optimizer may have ten in all.
WARMUP_PASSES = 4

#: The module whose `join` a process that a launcher starts calls.
JOINED_BY = "gradlife.program.peak.launched"


class PeakChild:
    """Runs one program in this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._contexts = Contexts()
        self._session: PeakSession | None = None
        self._steps = 0
        self._has_failed = False  # whether an error ended the recording
        self._is_lost = False  # whether a report could not be written
        self._pid = os.getpid()
        self._is_launcher = False  # another process may take the steps
        self._is_launched = False  # this process was started by a launcher
        self.counter: Counter | None = None  # the steps of a hunt, which a recording does not have

    def run(self) -> int:
        """Run the target to its end. Return the status of the process."""
        self._prepare()
        target = parse(self._settings.target, self._settings.arguments)
        if isinstance(target, FunctionTarget):
            return self._run_function(target)
        ended = self._run_script(target)
        self.leave(END, ended.status, ended.error)
        return ended.status

    def join(self) -> None:
        """Wait for steps in a process that a launcher started. A signal that ends a rank is recorded."""
        self._is_launcher = self._is_launched = not self._settings.in_step
        self._prepare()
        if self._settings.in_step:
            InterimReport(self, -1).start()
        if self._settings.step_on:
            count_when_loaded(CallSteps(self._settings.step_on, self._begin))
        else:
            hear_torch(self._begin, self._begin, warmup_passes=WARMUP_PASSES, counts_replays=False)

    def _prepare(self) -> None:
        when_imported("torch.optim.optimizer", self._contexts.attach)
        if self._settings.trial:
            begin_trial(self._settings.trial)

    def _run_function(self, target: FunctionTarget) -> int:
        sys.argv[:] = [target.place, *self._settings.arguments]
        ended = guarded(lambda: self._write(peak_of(load(target), self._settings.target)))
        return ended.status

    def _run_script(self, target: ProgramTarget) -> Ended:
        counted = None
        if not self._settings.in_step and (not isinstance(target, ScriptTarget) or target.is_command):
            self._is_launcher = True
            follow_children(self._settings, JOINED_BY)
        if self._settings.step_on:
            counted = CallSteps(self._settings.step_on, self._begin)
        else:
            hear_torch(self._begin, self._begin, warmup_passes=WARMUP_PASSES, counts_replays=False)
        program = prepared(target)
        code = counted_code(counted, program, self._is_launcher) if counted is not None else program.code
        return run_script(code, program.main)

    def _begin(self, stepped_by: str) -> Callable[[], object]:
        """Record steps of this kind, unless the report is known or another process takes the steps."""
        if self._is_launcher and not claim(self._settings.folder):
            return lambda: None
        if self._session is not None:
            if self._session.report is not None:
                return self._step
            self._session.close()
        self._session = PeakSession(self._contexts, self._write)
        self._session.about = PeakReport(self._settings.target, stepped_by)
        return self._step

    def _step(self) -> None:
        if self._session is None or os.getpid() != self._pid:
            return
        try:
            if not self._has_failed:
                self._session.step()
        except Exception as error:  # of the recording, not of the program
            self._fail(error)
        self._steps += 1
        if self._settings.steps is not None and self._steps >= self._settings.steps:
            if not is_main_thread():
                self.leave(END, 0, None)
            end_program()

    def _fail(self, error: Exception) -> None:
        """Record no more, and say why in the report."""
        assert self._session is not None
        self._has_failed = True
        words = str(error) if isinstance(error, GradlifeError) else f"{short_class_name(error)}: {error}"
        with suppress(Exception):
            self._session.close()
        self._session.about = replace(self._session.about, trouble=f"the recording itself failed: {words}")

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Leave the report at the end, with the program's status, or with why there is none."""
        if moment != END or os.getpid() != self._pid:
            return
        if self._is_launcher and not is_reporter(self._settings.folder, self._is_launched):
            return
        session = self._session
        raised = f" with {short_class_name(error)}" if error is not None else ""
        ended_early = f"the program ended{raised} after {self._steps} counted steps; {NEEDED}"
        if session is None:
            report = PeakReport(self._settings.target, "", trouble=ended_early if raised else NO_STEPS)
        else:
            try:
                session.conclude()
            except Exception as failure:
                self._fail(failure)
            report = session.report or replace(session.about, trouble=session.about.trouble or ended_early)
        self._write(replace(report, script_status=status))
        if self._is_launched_rank:
            write_result(self._settings.folder, status)

    def end_by_signal(self, number: int) -> None:
        """Record the signal that is about to end a rank that no other process watches."""
        if self._is_launched_rank and os.getpid() == self._pid:
            write_result(self._settings.folder, 128 + number, killed_by=number)

    @property
    def _is_launched_rank(self) -> bool:
        return self._settings.in_step and self._settings.channel < 0

    def _write(self, report: PeakReport) -> None:
        if self._settings.trial:
            report = replace(report, losses=tuple(loss.hex() for loss in losses_of(self._settings.trial)))
        path = os.path.join(self._settings.folder, REPORT)
        try:
            with open(f"{path}.partial", "w", encoding="utf-8") as file:
                file.write(codec.dumps(report))
            os.replace(f"{path}.partial", path)
        except OSError as error:  # the program may be in the midst of a step
            self._say_lost(error)
            return
        if self._settings.channel >= 0:
            with suppress(OSError):  # the watching process is gone
                os.write(self._settings.channel, b"report\n")

    def _say_lost(self, error: OSError) -> None:
        if not self._is_lost:
            self._is_lost = True
            words = f"the report cannot be written to {self._settings.folder}: {reason(error)}; the program goes on"
            with suppress(OSError, ValueError):
                say(f"gradlife: error: {words}")


#: Reasons for no report.
NO_STEPS = (
    "no step was seen: no optimizer fired five times, no DataLoader gave batches, no backward pass ran;"
    " --step-on MODULE:FUNCTION counts calls of a function"
)
NEEDED = "a peak needs five"


def main() -> int:
    """Run the program that the command asked for; print a usage error in one line."""
    settings = load_settings(sys.argv.pop())
    keep_folder(settings.folder)
    if settings.channel >= 0:
        os.set_inheritable(settings.channel, False)
    try:
        return PeakChild(settings).run()
    except GradlifeError as error:
        say(f"gradlife: error: {error}")
        return error.exit_status
