"""Hunts in processes that the program starts: by `multiprocessing.Process`, or Python scripts by `subprocess`.

Each counts its own steps, and leaves its report at its end, or when it knows enough. New processes find the functions
here by name, so they must stay in this module.
"""

from __future__ import annotations

import atexit
import functools
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gradlife.hunting.process.forked import CAN_FORK
from gradlife.hunting.process.import_watch import when_imported
from gradlife.hunting.process.launcher import follow_programs
from gradlife.hunting.process.own_folders import keep_folder
from gradlife.hunting.process.program_files import is_library
from gradlife.hunting.process.settings import END, Settings, load_settings
from gradlife.hunting.session.interim_report import InterimReport
from gradlife.hunting.steps.sampling import Program, Sampling
from gradlife.hunting.steps.schedule import MIN_ROUNDS
from gradlife.hunting.workers.entries import LEAVE_HUNT, start_method
from gradlife.hunting.workers.hunt import write_in_copy
from gradlife.hunting.workers.worker import VARIABLE, Worker, join
from gradlife.program.hunt.child import HuntChild
from gradlife.safe_access import (
    LibraryObject,
    attributes,
    class_module,
    class_name,
    function_module,
    function_name,
    member,
)

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

#: The file with the settings of the hunts, in the folder that `VARIABLE` names.
SETTINGS = "processes.json"

#: Packages whose processes are not part of the program, or are hunted in as workers.
OWN = ("multiprocessing", "concurrent", "gradlife")


class ProcessHunt(HuntChild):
    """The hunt in a process that another hunted process has started."""

    def begin_hearing(self) -> None:
        """Count the first steps found: those of torch, repeated calls, else time intervals."""
        InterimReport(self, -1).start()
        self._stay_alone()
        self._sampling = Sampling()
        self._hear_torch(self._sampling, is_alone=True)
        self._sampling.start(self._begin_sampled, self._begin_by_time, Program(compile("", "<no program>", "exec")))

    def leave(self, moment: str, status: int | None, error: BaseException | None) -> None:
        """Write a report from a forked copy, so that the end of this process waits for nothing."""
        with self._lock:
            if self._is_copy or self._has_ended or not CAN_FORK or not self._knows_something:
                return
            self._has_ended = moment == END
            left = self.counter.left if self.counter is not None else 0
            try:
                write_in_copy(
                    self._settings.folder, self._hunt.descriptors, lambda: self._leave_from_copy(moment, status, left)
                )
            except OSError:  # then the end waits
                super().leave(moment, status, None)

    @property
    def _knows_something(self) -> bool:
        return self._answered is not None or len(self._hunt.snapshots) > MIN_ROUNDS

    def _leave_from_copy(self, moment: str, status: int | None, left: int) -> None:
        try:
            self._is_copy = self._has_ended = False
            if self.counter is not None:
                self.counter.left = left
            super().leave(moment, status, None)
        finally:
            self._is_copy = True  # `os._exit`, which follows, leaves no other report


class ParentHunt(HuntChild):
    """The hunt of the program itself, which also hunts in the processes that it starts."""

    def run(self) -> int:
        """Run the target to its end; return the exit status."""
        hunt_in_processes(self._settings, self._settings.folder)
        return super().run()


def hunt_in_processes(settings: Settings, folder: str) -> None:
    """Hunt in the processes that this program starts from now on. They leave their reports in ``folder``."""
    words = replace(settings.for_others(), steps=None, step_on="", cuts="", trial="")
    Path(folder, SETTINGS).write_text(words.dump(), encoding="utf-8")
    when_imported("multiprocessing.process", replace_start)
    follow_programs(folder)


def replace_start(module: LibraryObject) -> None:
    """Make `multiprocessing` processes run with a hunt."""
    plain = module.BaseProcess.start

    @functools.wraps(plain)
    def start(process: object) -> None:
        if not is_of_program(process):
            plain(process)
            return
        attributes(process)["run"] = functools.partial(run_process, process)
        try:
            plain(process)
        finally:
            attributes(process).pop("run", None)

    module.BaseProcess.start = start


def is_of_program(process: object) -> bool:
    """Whether a process is the program's own: neither a library's helper nor hunted in as a worker."""
    own = attributes(process)
    target = own.get("_target")
    module = function_module(target) if target is not None else class_module(process)
    return "run" not in own and module.partition(".")[0] not in OWN and "_utils.worker" not in module


def run_process(process: Any) -> None:
    """Run a process's work with a hunt."""
    hunt, kind = None, cast("type[BaseProcess]", type(process))
    with suppress(Exception):
        for leave in LEAVE_HUNT:
            leave()
        label = function_name(attributes(process).get("_target"), is_whole=True) or class_name(process)
        hunt = new_hunt(Worker("process", label, -1, 0, "step", start_method()))
    try:
        kind.run(process)  # which has no name to be found by in a new process if it is decorated
    finally:
        if hunt is not None:
            hunt.leave(END, None, None)


def join_as_program(name: str) -> None:
    """Hunt in a Python script that the program started by `subprocess`; called before the script runs."""
    if not name.endswith(".py") or is_library(name):
        return
    hunt = new_hunt(Worker("subprocess", os.path.basename(name), -1, 0, "step", "exec"))
    if hunt is not None:
        atexit.register(hunt.leave, END, None, None)


def new_hunt(worker: Worker) -> ProcessHunt | None:
    """Start a hunt in this process; None if the program is not hunted in, or enough processes are."""
    root = os.environ.get(VARIABLE, "")
    path = Path(root, SETTINGS)
    joined = join(root, worker) if root and path.exists() else None
    if joined is None:
        return None
    keep_folder(root)
    settings = load_settings(path.read_text(encoding="utf-8"))
    main = member("__main__", "__file__")
    hunt = ProcessHunt(replace(settings, folder=joined[0], target=str(main or settings.target)))
    hunt.begin_hearing()
    return hunt
