"""The process that runs the program: records a few of its steps, and leaves the report for the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace

from gradlife.errors import GradlifeError
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.settings import Settings, load_settings
from gradlife.hunting.run.child import guarded
from gradlife.hunting.run.script import Ended, counted_code, prepared, run_script
from gradlife.hunting.run.trial import begin_trial, losses_of
from gradlife.hunting.session.step_counter import EnoughSteps
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.listening import hear_torch
from gradlife.hunting.steps.targets import FunctionTarget, ProgramTarget, load, parse
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.peaks.recording.torch import Contexts
from gradlife.peaks.run.api import peak_of
from gradlife.peaks.run.session import PeakSession

#: The name of the report's file.
REPORT = "peak"


class PeakChild:
    """Runs one program in this process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._contexts = Contexts()
        self._session: PeakSession | None = None
        self._steps = 0
        self._pid = os.getpid()

    def run(self) -> int:
        """Run the target to its end. Return the status of the process."""
        when_imported("torch.optim.optimizer", self._contexts.attach)
        if self._settings.trial:
            begin_trial(self._settings.trial)
        target = parse(self._settings.target, self._settings.arguments)
        if isinstance(target, FunctionTarget):
            return self._run_function(target)
        ended = self._run_script(target)
        self._leave(ended)
        return ended.status

    def _run_function(self, target: FunctionTarget) -> int:
        sys.argv[:] = [target.place, *self._settings.arguments]
        ended = guarded(lambda: self._write(peak_of(load(target), self._settings.target)))
        return ended.status

    def _run_script(self, target: ProgramTarget) -> Ended:
        counted = None
        if self._settings.step_on:
            counted = CallSteps(self._settings.step_on, self._begin)
        else:
            hear_torch(self._begin, self._begin)
        program = prepared(target)
        code = counted_code(counted, program) if counted is not None else program.code
        return run_script(code, program.main)

    def _begin(self, stepped_by: str) -> Callable[[], object]:
        """Record steps of this kind, unless the report is known."""
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
        self._session.step()
        self._steps += 1
        if self._settings.steps is not None and self._steps >= self._settings.steps:
            raise EnoughSteps

    def _leave(self, ended: Ended) -> None:
        """Leave the report with the program's status, or with why there is none."""
        session = self._session
        error = f" with {type(ended.error).__name__}" if ended.error is not None else ""
        ended_early = f"the program ended{error} after {self._steps} counted steps; {NEEDED}"
        if session is None:
            report = PeakReport(self._settings.target, "", trouble=ended_early if error else NO_STEPS)
        else:
            session.conclude()
            report = session.report or replace(session.about, trouble=ended_early)
        self._write(replace(report, script_status=ended.status))

    def _write(self, report: PeakReport) -> None:
        if self._settings.trial:
            report = replace(report, losses=tuple(loss.hex() for loss in losses_of(self._settings.trial)))
        path = os.path.join(self._settings.folder, REPORT)
        with open(f"{path}.partial", "w", encoding="utf-8") as file:
            file.write(codec.dumps(report))
        os.replace(f"{path}.partial", path)
        if self._settings.channel >= 0:
            os.write(self._settings.channel, b"report\n")


#: Reasons for no report.
NO_STEPS = "no step was seen: no optimizer fired five times, no DataLoader gave batches, no backward pass ran"
NEEDED = "a peak needs five"


def main() -> int:
    """Run the program that the command asked for; print a usage error in one line."""
    settings = load_settings(sys.argv.pop())
    if settings.channel >= 0:
        os.set_inheritable(settings.channel, False)
    try:
        return PeakChild(settings).run()
    except GradlifeError as error:
        print(f"gradlife: error: {error}", file=sys.stderr, flush=True)
        return error.exit_status
