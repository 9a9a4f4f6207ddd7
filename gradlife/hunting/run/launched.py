"""The hunt in a Python process that a launcher started. It waits until the program takes steps."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any

from gradlife.hunting.process.launcher import VARIABLE
from gradlife.hunting.process.memory_limits import system_limit
from gradlife.hunting.process.rank import join_launched, rank_of
from gradlife.hunting.process.settings import Settings, load_settings
from gradlife.hunting.run.child import END, Child
from gradlife.hunting.run.processes import join_as_program
from gradlife.hunting.session.step_counter import EnoughSteps
from gradlife.hunting.steps.targets import MODULE_MARK


def join_hunt() -> None:
    """Join a hunt before the program of a launched Python process runs. No error here stops the program."""
    text = os.environ.get(VARIABLE)
    with suppress(Exception):
        if text is None:
            join_as_program(target_of(sys.orig_argv))
        if text is not None and os.path.isdir(load_settings(text).folder):
            settings = load_settings(text)
            rank = rank_of(os.environ)
            if rank is None:
                listen(settings)
                return
            folder = join_launched(settings.folder, rank)
            if folder is not None:
                settings = replace(settings, target=target_of(sys.orig_argv) or settings.target)
                listen(settings.for_rank(folder, system_limit() // rank.local_world_size))


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


def listen(settings: Settings) -> None:
    """Wait for steps in this process, and leave a report at its end."""
    child = Child(settings)
    child.join()
    failed: list[BaseException] = []
    plain = sys.excepthook

    def heard(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        if isinstance(error, EnoughSteps):
            sys.stdout.flush()
            os._exit(0)  # this also leaves the report
        failed.append(error)
        return plain(kind, error, trace)

    sys.excepthook = heard
    atexit.register(lambda: child.leave(END, 1 if failed else None, failed[0] if failed else None))
