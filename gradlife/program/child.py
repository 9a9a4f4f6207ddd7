"""The process that runs the program: starts it with a method beside it, and writes reports for the process that watches."""

from __future__ import annotations

import importlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from types import CodeType

from gradlife.after_fork import after_fork
from gradlife.descriptors import NONE_LEFT
from gradlife.errors import EXIT_USAGE, GradlifeError
from gradlife.hunting.process.interrupts import admit
from gradlife.hunting.process.launcher import claim, follow_children, is_reporter
from gradlife.hunting.process.own_folders import keep_folder
from gradlife.hunting.process.rank import write_result
from gradlife.hunting.process.settings import END, Settings, load_settings, refuse
from gradlife.hunting.session.step_counter import Counter, EnoughSteps
from gradlife.hunting.steps.count_step import CountStep
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.main_definitions import count_when_loaded
from gradlife.hunting.steps.targets import FunctionTarget, ProgramTarget, ScriptTarget, TargetError, parse
from gradlife.output import reason, say
from gradlife.program.progress import BEGUN, StepProgress
from gradlife.program.script import (
    INTERRUPTED,
    Ended,
    Program,
    counted_code,
    exit_status,
    prepared,
    run_script,
    tell,
)
from gradlife.program.trial import begin_trial


class Child(ABC):
    """One run of the program in this process. A method has a subclass, which counts the steps and writes the reports."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._is_copy = False  # a fork of this process
        self._is_launcher = False  # another process may take the steps
        self._is_launched = False  # this process was started by a launcher
        self._lost = ""  # the moment of the last report that could not be written
        self.counter: Counter | None = None  # of the steps of a hunt

    def run(self) -> int:
        """Run the target to its end; return the exit status."""
        target = parse(self._settings.target, self._settings.arguments)
        self._prepare()
        if isinstance(target, FunctionTarget):
            sys.argv[:] = [target.place, *self._settings.arguments]
            return self._status(self._run_function(target))
        return self._status(self._run_script(target))

    def join(self) -> None:
        """Wait for steps in a process that a launcher started."""
        self._is_launcher = self._is_launched = not self._settings.in_step
        self._prepare()
        if self._settings.step_on:
            count_when_loaded(CallSteps(self._settings.step_on, self._begin_again))
        else:
            self._hear()

    def _prepare(self) -> None:
        """Do what comes before the program is loaded."""
        if self._settings.trial:
            begin_trial(self._settings.trial)
        self._stay_alone()

    def _stay_alone(self) -> None:
        """Keep processes that the program starts out of this run."""
        for descriptor in (self._settings.channel, self._settings.requests):
            if descriptor >= 0:
                os.set_inheritable(descriptor, False)
        after_fork(self._become_copy)

    def _become_copy(self) -> None:
        """Take no more steps in a fork of this process."""
        self._is_copy = True

    def _run_script(self, target: ProgramTarget) -> Ended:
        counted = CallSteps(self._settings.step_on, self._begin_again) if self._settings.step_on else None
        self._follow_launched(target)
        program = prepared(target)
        code = self._hear_in(program) if counted is None else counted_code(counted, program, self._is_launcher)
        self._announce(BEGUN)
        ended = self._run_program(code, program)
        self._leave_at_end(ended.status, ended.error)
        return ended

    def _follow_launched(self, target: ProgramTarget) -> None:
        """Let a process that a launcher starts take the steps."""
        if not self._settings.in_step and (not isinstance(target, ScriptTarget) or target.is_command):
            self._is_launcher = True
            follow_children(self._settings)

    def _run_program(self, code: CodeType, program: Program) -> Ended:
        """Run the main module to its end."""
        return run_script(code, program.main, self._main_ended)

    def _main_ended(self) -> object:
        """Act when the main module has run, while the program's other threads may still run."""
        return None

    def _hear_in(self, program: Program) -> CodeType:
        """Listen to torch for steps; return the code to run."""
        self._hear()
        return program.code

    def _leave_at_end(self, status: int | None, error: BaseException | None) -> None:
        """Write the last report."""
        self.leave(END, status, error)

    def _status(self, ended: Ended) -> int:
        """Return the exit status of a run: the program's own."""
        return ended.status

    # --- what a method does ---

    @abstractmethod
    def _begin_again(self, stepped_by: str) -> CountStep:
        """Begin to count steps of this kind; return the function to call at each step."""

    @abstractmethod
    def _hear(self) -> None:
        """Listen to torch for steps, where the user names none."""

    @abstractmethod
    def _run_function(self, target: FunctionTarget) -> Ended:
        """Call a function once a step, and write its reports."""

    @abstractmethod
    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write a report of what is known."""

    # --- reports ---

    def _may_step(self) -> bool:
        """Whether the steps may be this process's: of a launcher's processes, the first one takes them."""
        return not self._is_launcher or claim(self._settings.folder)

    def _is_mine(self) -> bool:
        """Whether this process writes the report. Of a launcher's processes, the one that took steps does."""
        return not self._is_launcher or is_reporter(self._settings.folder, self._is_launched)

    @property
    def _is_unwatched_rank(self) -> bool:
        """Whether this is a rank beside which no process of gradlife runs."""
        return self._settings.in_step and self._settings.channel < 0

    def end_by_signal(self, number: int) -> None:
        """Record the signal that is about to end a rank that no other process watches."""
        if self._is_unwatched_rank and not self._is_copy:
            write_result(self._settings.folder, 128 + number, killed_by=number)

    def _write_text(self, text: str, moment: str) -> None:
        """Write a report whole or not at all, and announce it. If the disk is full, say so once: the program may be in the
        midst of a step.
        """
        path = os.path.join(self._settings.folder, moment)
        try:
            os.makedirs(self._settings.folder, mode=0o700, exist_ok=True)  # the program may have removed it
            with open(f"{path}.partial", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(f"{path}.partial", path)
        except OSError as error:
            if not self._lost:
                words = f"the report cannot be written to {self._settings.folder}: {reason(error)}; the program goes on"
                with suppress(OSError, ValueError):
                    say(f"gradlife: error: {words}")
            self._lost = moment
            return
        self._announce(moment)

    def announce_progress(self) -> None:
        """Tell the watching process how far the program is."""
        if not self._is_copy:
            self._announce(self._progress().dump())

    def _progress(self) -> StepProgress:
        """Return how far the program is. It may be called in any thread, in the midst of a step."""
        return StepProgress()

    def _announce(self, line: str) -> None:
        """Send a line to the watching process."""
        if self._settings.channel >= 0:
            with suppress(OSError):  # it is gone
                os.write(self._settings.channel, f"{line}\n".encode())


def guarded(run: Callable[[], None]) -> Ended:
    """Run a part of the program, and print its errors as Python does. Usage errors are raised."""
    if not admit():
        return Ended(INTERRUPTED)
    try:
        run()
    except EnoughSteps:
        return Ended(0)
    except TargetError:
        raise
    except SystemExit as error:
        return Ended(exit_status(error.code))
    except BaseException as error:
        tell(error)
        return Ended(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, error)
    return Ended(0)


def child_of(settings: Settings) -> Child:
    """Return the child of the method in the settings."""
    module, _, name = settings.method.partition(":")
    kind: type[Child] = getattr(importlib.import_module(module), name)
    return kind(settings)


def main() -> int:
    """Run the program with the settings from the watching process; return the exit status of this process. A usage error is
    printed on one line, as in the command.
    """
    settings = load_settings(sys.argv.pop())
    keep_folder(settings.folder)
    try:
        return child_of(settings).run()
    except GradlifeError as error:
        say(f"gradlife: error: {error}")
        refuse(settings.folder)
        return error.exit_status
    except OSError as error:
        if error.errno not in NONE_LEFT:
            raise
        say("gradlife: error: the program may open no more files than gradlife needs (try: ulimit -n 256)")
        refuse(settings.folder)
        return EXIT_USAGE
