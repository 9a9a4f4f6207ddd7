"""The command to try after a hunt without a finding."""

from __future__ import annotations

import re
import signal

from rich.text import Text

from gradlife.model.hunt import ATTACHED, CALLED, LEFT_NONE, HuntReport, HuntVerdict
from gradlife.reports.hunt.held_memory import ran_out_of_memory

#: So many things that one limit lists are not all said.
MANY = 4

#: Separates a limit of the report from the command that helps.
ARROW = " → "

#: The name of the error of a keyboard interrupt.
INTERRUPT = "KeyboardInterrupt"

#: The signal that killed a program, and what helps to find out more: where it crashed, or who held the memory before.
KILLED = re.compile(r"killed by signal (\d+) ")
CRASHES = (signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
RESTART = {
    **dict.fromkeys(map(int, CRASHES), "PYTHONFAULTHANDLER=1 gradlife hunt {}"),
    int(signal.SIGKILL): "gradlife hunt --at-rss 50% {}",
}


def what_next(report: HuntReport) -> Text:
    """Return the second line if there is no finding: a command to try, what a clean verdict does not cover, or the command
    that shows the details.
    """
    limit = report.limits[0] if report.limits else ""
    what, _, command = limit.rpartition(ARROW)
    if report.rests_on_unread:
        return Text("Try: gradlife doctor")
    if report.verdict is HuntVerdict.INCONCLUSIVE and not report.ranks:
        is_sound = all(control.is_right for control in report.controls)
        return Text(f"Try: {restart_command(report) or (command if what and is_sound else best_try(report))}")
    if limit and report.verdict is not HuntVerdict.INCONCLUSIVE:
        return Text(f"Not covered: {what or in_short(limit)}{f' ({command})' if what else ''}")
    return Text(f"Details: {details_command(report)}")


def in_short(limit: str) -> str:
    """Return a limit with the first of many things that it lists, and their number."""
    first, *others = limit.split(", ")
    return f"{first}, and {len(others)} more: --full lists them" if len(others) >= MANY else limit


def restart_command(report: HuntReport) -> str:
    """Return the advice for a program that failed before the first round; empty if it did not fail.

    The user's own interrupt is no failure.
    """
    if report.rounds or ATTACHED in report.settings or not all(control.is_right for control in report.controls):
        return ""
    killed = KILLED.match(report.trouble)
    if killed is not None:
        return RESTART.get(int(killed[1]), "").format(report.typed_target)
    if LEFT_NONE in report.trouble:
        return "hunt the program that it execs: gradlife hunt PROGRAM"
    if ran_out_of_memory(report):
        return f"a smaller batch, then gradlife hunt {report.typed_target}"
    has_failed = "ended with" in report.trouble and INTERRUPT not in report.trouble
    return f"fix the error, then gradlife hunt {report.typed_target}" if has_failed else ""


def best_try(report: HuntReport) -> str:
    """Return the command to try after a hunt without a verdict: it shows the evidence, or counts other steps."""
    if report.rounds or not all(control.is_right for control in report.controls):
        return details_command(report)
    if ATTACHED in report.settings:
        return f"{report.settings[ATTACHED]} --for 30m"
    if CALLED in report.settings:
        return (
            "gradlife.watch(steps=60)"
            if report.settings[CALLED] == "watch"
            else f"gradlife.hunt({report.target}, steps=60)"
        )
    if "::" in report.target:
        return f"gradlife hunt --steps 60 {report.typed_target}"
    return f"gradlife hunt --step-on MODULE:FUNCTION {report.typed_target}"


def details_command(report: HuntReport) -> str:
    """Return the command that shows everything."""
    if ATTACHED in report.settings:
        return f"{report.settings[ATTACHED]} --full"
    if CALLED in report.settings:
        shown = "print(report.full())"
        return f"gradlife.watch(on_report=lambda report: {shown})" if report.settings[CALLED] == "watch" else shown
    ranks = f"--nproc-per-node {report.world_size} " if report.ranks else ""
    return f"gradlife hunt --full {ranks}{report.typed_target}"
