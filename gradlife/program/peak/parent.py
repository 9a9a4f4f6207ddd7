"""The command's side: starts the program in a child, and shows the report as soon as it exists."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

from gradlife.descriptors import pipe
from gradlife.hunting.process.interrupts import held
from gradlife.hunting.process.own_folders import PEAK, OwnFolder
from gradlife.hunting.process.settings import Settings
from gradlife.model.codec import CodecError
from gradlife.model.peak import codec
from gradlife.model.peak.report import PeakReport
from gradlife.program.hunt.parent import passing_on
from gradlife.program.peak.child import REPORT
from gradlife.readable import readable

#: Seconds between two checks whether the child has ended.
INTERVAL = 0.2

START = "import sys; from gradlife.program.peak.child import main; sys.exit(main())"


@dataclass(frozen=True)
class Result:
    """The status of the program, as a shell reports it, and its report."""

    status: int
    report: PeakReport | None
    was_killed: bool = False


def run_program(
    settings: Settings,
    on_report: Callable[[PeakReport], object],
    is_quiet: bool = False,
    folder: str | None = None,
) -> Result:
    """Run a program to its end. ``on_report`` is called once, as soon as its peak is known.

    The report stays in ``folder``, if one is given.
    """
    silence = subprocess.DEVNULL if is_quiet else None
    with nullcontext(folder) if folder else OwnFolder(PEAK) as own:
        channel, child_channel = pipe()
        settings = replace(settings, folder=own, channel=child_channel)
        with passing_on() as forward, os.fdopen(channel, "rb"):
            with held():
                child = subprocess.Popen(command(settings), pass_fds=(child_channel,), stdout=silence, stderr=silence)
            forward(child)
            os.close(child_channel)
            if is_announced(child, channel):
                report = read_report(own)
                if report is not None and not report.trouble:
                    on_report(report)
            status = child.wait()
        return Result(status if status >= 0 else 128 - status, read_report(own), status < 0)


def is_announced(child: subprocess.Popen[bytes], channel: int) -> bool:
    """Wait until the child says that its report is there, or ends: a process that it left may keep the channel open."""
    while not readable([channel], INTERVAL):
        if child.poll() is not None:
            break
    return bool(readable([channel], 0) and os.read(channel, 64))


def command(settings: Settings) -> list[str]:
    """Return the command that starts the child: the same interpreter with the same options."""
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *options, "-c", START, settings.dump()]


def read_report(folder: str) -> PeakReport | None:
    """Return the report that the child left last; None if there is none."""
    try:
        with open(os.path.join(folder, REPORT), encoding="utf-8") as file:
            return codec.loads(file.read())
    except (OSError, CodecError):
        return None
