"""`gradlife.watch()`: print the report of a watched loop to standard error as soon as it is known."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from types import CodeType
from typing import overload

from gradlife.errors import UsageError
from gradlife.model.hunt import Finding, HuntReport
from gradlife.program.durations import seconds_of
from gradlife.program.hunt.findings_log import FindingsLog
from gradlife.program.hunt.following import Follow, Watcher
from gradlife.program.hunt.running import RunningHunt, Terms
from gradlife.program.hunt.watch import Watch

#: A loop runs `with gradlife.watch():` anew each time; the same line of the same code is the same watch. At a prompt the
#: next loop is the same line of another code: the one before it is over.
_watches: dict[tuple[str, int], tuple[CodeType, Watch]] = {}


@overload
def watch(*, steps: int | None = None, on_report: Callable[[HuntReport], None] | None = None) -> Watch: ...


@overload
def watch(
    *,
    every: str | float,
    step_on: str = "",
    findings: str | None = None,
    state: str | None = None,
    on_finding: Callable[[Finding], object] | None = None,
    metrics: bool = False,
) -> Watcher: ...


def watch(
    *,
    steps: int | None = None,
    on_report: Callable[[HuntReport], None] | None = None,
    every: str | float | None = None,
    step_on: str = "",
    findings: str | None = None,
    state: str | None = None,
    on_finding: Callable[[Finding], object] | None = None,
    metrics: bool = False,
) -> Watch | Watcher:
    """Hunt in a loop: put ``with gradlife.watch():`` around its body. Each pass through the block is a step.

    The report is printed to standard error after enough steps, and the loop goes on; if ``on_report`` is given, it is
    called with the report instead. ``steps`` is the number of steps to judge by.

    ``with gradlife.watch(every="10 min"):`` around a whole program watches it for days, from a separate thread. A step
    is an optimizer step, DataLoader batch or backward pass, also one that a CUDA graph replays; a call of ``step_on``
    ("module:function"); or else a second. The first result comes as in every hunt; later rounds take at least ``every``
    (a time, or seconds), then a share of the total time. Each finding is reported once, when it is certain: to
    ``on_finding``, as a JSON line in the file ``findings``, else on standard error. The file ``state`` remembers
    reported findings between runs. With ``metrics``, the registry of ``prometheus_client`` gets gauges of what is alive
    and what grows. Each measurement forks the process. Raises UsageError for a file that cannot be written.
    """
    if every is not None:
        if steps is not None or on_report is not None:
            raise UsageError(
                "watch(every=...) takes neither steps nor on_report", 'watch(every="10 min", on_finding=...)'
            )
        return Watcher(
            lambda: follow_here(seconds_of(every), step_on, FindingsLog(findings, state), on_finding, metrics)
        )
    caller = sys._getframe(1)
    place = (caller.f_code.co_filename, caller.f_lineno)
    code, found = _watches.get(place, (None, None))
    if found is not None and code is not caller.f_code:
        atexit.unregister(found.finish)
        found.finish()
    if found is None or code is not caller.f_code:
        found = Watch(on_report or show, steps)
        _watches[place] = (caller.f_code, found)
        atexit.register(found.finish)
    return found


def show(report: HuntReport) -> None:
    """Print the report to standard error."""
    from gradlife.reports.hunt.first_screen import print_first_screen
    from gradlife.reports.theme import make_console

    print_first_screen(make_console(sys.stderr), report)


def follow_here(
    every: float, step_on: str, log: FindingsLog, on_finding: Callable[[Finding], object] | None, metrics: bool
) -> Follow:
    """Return the follower that watches this process for days."""
    gauges = None
    if metrics:
        from gradlife.reports.formats.prometheus.metrics import metrics_of

        gauges = metrics_of()
    is_written = log.path is not None

    def report(found: HuntReport) -> None:
        if gauges is not None:
            gauges.report(found)
        fresh = log.take(found)
        if on_finding is not None:
            for one in fresh:
                on_finding(one)
        elif fresh and not is_written:
            show(replace(found, findings=fresh))

    hunt = RunningHunt(
        os.path.basename(sys.argv[0]) or "python",
        f"gradlife attach {os.getpid()}",
        Terms(seconds=inf, step_on=step_on),
        every,
    )
    return Follow(hunt, every, report, gauges.look if gauges is not None else None)
