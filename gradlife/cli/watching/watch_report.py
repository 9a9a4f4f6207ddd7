"""`gradlife.watch()`: the report of a watched loop goes to standard error as soon as it is known."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import overload

from gradlife.hunting.run.durations import seconds_of
from gradlife.hunting.run.findings_log import FindingsLog
from gradlife.hunting.run.following import Follow, Watcher
from gradlife.hunting.run.running import RunningHunt, Terms
from gradlife.hunting.run.watch import Watch
from gradlife.model.hunt import Finding, HuntReport

#: A loop writes `with gradlife.watch():` anew each time: the same place is the same watch.
_watches: dict[tuple[str, int], Watch] = {}


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
    """Hunts in a loop: ``with gradlife.watch():`` around its body. A step is one time through the block.

    The report is printed on standard error once enough steps were seen, and the loop goes on; ``on_report`` is called
    with it instead where it is given. ``steps`` is the number of steps to judge by.

    ``with gradlife.watch(every="10 min"):`` around a whole program watches it for days, from a thread of its own. Steps are
    those of optimizers, DataLoaders or backward passes, calls of ``step_on`` ("module:function"), else seconds. The first
    answer comes as in every hunt; later rounds take ``every`` (a time, or seconds) at least, then a share of all so far.
    A finding is told once, as soon as it is sure: to ``on_finding``, as a line of JSON in the file ``findings``, else on
    standard error. The file ``state`` remembers what was told when the program runs again. With ``metrics`` the registry
    of ``prometheus_client`` has gauges of what is alive and what grows. Each look forks the process. Raises UsageError for
    a file that can't be written.
    """
    if every is not None:
        return Watcher(
            lambda: follow_here(seconds_of(every), step_on, FindingsLog(findings, state), on_finding, metrics)
        )
    caller = sys._getframe(1)
    place = (os.path.abspath(caller.f_code.co_filename), caller.f_lineno)
    if place not in _watches:
        _watches[place] = found = Watch(on_report or show, steps)
        atexit.register(found.finish)
    return _watches[place]


def show(report: HuntReport) -> None:
    """Print it on standard error."""
    from gradlife.reports.hunt.terminal import print_hunt
    from gradlife.reports.theme import make_console

    print_hunt(make_console(sys.stderr), report)


def follow_here(
    every: float, step_on: str, log: FindingsLog, on_finding: Callable[[Finding], object] | None, metrics: bool
) -> Follow:
    """What watches this process for days."""
    gauges = None
    if metrics:
        from gradlife.reports.formats.prometheus.metrics import Metrics

        gauges = Metrics()
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
        os.path.basename(sys.argv[0]) or "python", "gradlife attach", Terms(seconds=inf, step_on=step_on), every
    )
    return Follow(hunt, every, report, *([gauges.look] if gauges is not None else []))
