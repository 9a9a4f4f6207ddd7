"""Watch a process for days: `gradlife attach PID --follow` and `gradlife hunt --follow`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from gradlife.attach.client import Session, Unanswered, connect
from gradlife.attach.launched import START
from gradlife.attach.protocol import folder_for_sockets
from gradlife.cli.options.follow_options import EVERY
from gradlife.errors import GradlifeError, OutputError, UsageError
from gradlife.hunting.process.interrupts import held
from gradlife.hunting.process.own_folders import FOLLOW, OwnFolder
from gradlife.model.hunt import HuntReport
from gradlife.output import say
from gradlife.overwriting import is_source
from gradlife.program.hunt.findings_log import FindingsLog
from gradlife.program.hunt.running import Progress, Terms
from gradlife.program.parent import Result, passing_on
from gradlife.reports.theme import make_console

if TYPE_CHECKING:
    from gradlife.reports.formats.prometheus.metrics import Metrics

#: Seconds between two checks for the socket of a starting program.
INTERVAL = 0.05


class Follower:
    """Show findings when they become certain, write them, and serve measurements to Prometheus."""

    def __init__(self, args: argparse.Namespace) -> None:
        for option, path in (("--findings", args.findings), ("--state", args.state)):
            if path is not None and is_source(path) and os.path.isfile(path):
                raise OutputError(f"{option} {path}: a source file is never changed", f"{option} with another name")
        self._log = FindingsLog(args.findings, args.state)
        self._metrics = metrics_at(args.metrics)
        self._console = make_console(sys.stdout)

    def report(self, report: HuntReport) -> None:
        """Show findings that were not reported before."""
        if self._metrics is not None:
            self._metrics.report(report)
        fresh = self._log.take(report)
        if fresh:
            from gradlife.reports.hunt.first_screen import print_first_screen

            print_first_screen(self._console, replace(report, findings=fresh))
            sys.stdout.flush()

    def follow(
        self, session: Session, terms: Terms, every: float, command: str, progress: Callable[[Progress], object]
    ) -> HuntReport | None:
        """Follow until the process ends, its time is up, or Ctrl-C. Return the last report; None if there was none.

        ``every``: seconds between two measurements. ``command`` is the command that the report names. Raises GradlifeError if
        the process stops answering.
        """
        latest: list[HuntReport] = []

        def report(found: HuntReport) -> None:
            latest[:] = [found]
            self.report(found)

        try:
            look = self._metrics.look if self._metrics is not None else None
            session.follow(terms, every, command, progress=progress, look=look, report=report)
        except KeyboardInterrupt:
            say("gradlife: detached")
        return latest[0] if latest else None


def follow_program(args: argparse.Namespace, target: str) -> Result[HuntReport]:
    """Start a program and follow it to its end. Return its exit status and its last report. ``target`` is its name there."""
    follower = Follower(args)
    command = f"gradlife hunt --follow {target}"
    terms = Terms(args.steps, inf, args.step_on, args.memory_limit)
    with OwnFolder(FOLLOW, folder_for_sockets()) as folder, passing_on() as forward:
        path = os.path.join(folder, "socket")
        options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        with held():
            child = subprocess.Popen(
                [sys.executable, *options, *args.python, "-c", START, path, target, *args.arguments]
            )
        forward(child)
        report = None
        try:
            session = connect_when_ready(path, target, child)
            if session is not None:
                with session:
                    report = follower.follow(session, terms, args.every or EVERY, command, ignore_progress)
        except UsageError:
            child.terminate()
            raise
        except GradlifeError as error:
            say(f"gradlife: error: {error}; the program goes on, and is not watched")
        finally:  # the program is never left behind
            status = child.wait()
    return Result(status if status >= 0 else 128 - status, report, was_killed=status < 0)


def connect_when_ready(path: str, target: str, child: subprocess.Popen[bytes]) -> Session | None:
    """Connect as soon as the program listens; None if it ends before."""
    while child.poll() is None:
        try:
            return connect(path, title=target)
        except Unanswered:
            time.sleep(INTERVAL)
    return None


def ignore_progress(progress: Progress) -> None:
    """Show no progress: the screen belongs to the program."""


def metrics_at(port: int | None) -> Metrics | None:
    """Serve metrics to Prometheus at a port. Raises UsageError if the client is not installed or the port is taken."""
    if port is None:
        return None
    from gradlife.reports.formats.prometheus.metrics import listen, metrics_of

    made = metrics_of()
    listen(port)
    return made
