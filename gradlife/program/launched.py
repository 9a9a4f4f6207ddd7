"""A Python process that a launcher started joins the run, and waits until the program takes steps."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from gradlife.hunting.process.launcher import VARIABLE
from gradlife.hunting.process.memory_limits import system_limit
from gradlife.hunting.process.own_folders import keep_folder
from gradlife.hunting.process.rank import join_launched, rank_of
from gradlife.hunting.process.settings import END, Settings, load_settings
from gradlife.hunting.session.step_counter import EnoughSteps
from gradlife.hunting.steps.targets import MODULE_MARK
from gradlife.program.child import child_of
from gradlife.safe_access import is_a

#: Leaves a report. Its arguments: the exit status of the process, None if unknown; the error that ended it.
Leave = Callable[[int | None, BaseException | None], None]


def join() -> None:
    """Join a hunt or a recording before the program of a launched Python process runs. No error here stops the program."""
    with suppress(Exception):
        if VARIABLE not in os.environ:
            processes = importlib.import_module("gradlife.program.hunt.processes")
            processes.join_as_program(target_of(sys.orig_argv))
            return
        settings = launched_settings()
        if settings is not None:
            child = child_of(settings)
            child.join()
            at_end(lambda status, error: child.leave(END, status, error))


def launched_settings() -> Settings | None:
    """Return this process's settings, as a rank or alone; None if the run is over, or a rank has started this process."""
    settings = load_settings(os.environ[VARIABLE])
    if not os.path.isdir(settings.folder):
        return None
    keep_folder(settings.folder)
    rank = rank_of(os.environ)
    if rank is None:
        return settings
    folder = join_launched(settings.folder, rank)
    if folder is None:
        return None
    settings = replace(settings, target=target_of(sys.orig_argv) or settings.target)
    return settings.for_rank(folder, system_limit() // rank.local_world_size)


def target_of(words: list[str]) -> str:
    """Return the script or module in the command line of a Python process; empty if there is none."""
    rest = iter(words[1:])
    for word in rest:
        if word == "-m":
            return MODULE_MARK + next(rest, "")
        if word in ("-X", "-W"):
            next(rest, "")
        elif not word.startswith("-"):
            return word
        elif word == "-c":
            return ""
    return ""


def at_end(leave: Leave) -> None:
    """Leave a report when this process ends, also after the last step that was asked for."""
    failed: list[BaseException] = []
    plain = sys.excepthook

    def heard(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        if is_a(error, EnoughSteps):
            with suppress(Exception):  # the program may have closed it
                sys.stdout.flush()
            leave(0, None)
            os._exit(0)
        failed.append(error)
        return plain(kind, error, trace)

    sys.excepthook = heard
    atexit.register(lambda: leave(1 if failed else None, failed[0] if failed else None))
