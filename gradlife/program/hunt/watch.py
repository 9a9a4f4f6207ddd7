"""`with gradlife.watch():` around the body of a loop that cannot be made a function: each pass is a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

from gradlife.hunting.session.clean_report import TargetFacts
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.session.report import report_of
from gradlife.hunting.session.step_counter import Counter
from gradlife.hunting.steps.schedule import schedule_for
from gradlife.model.hunt import CALLED, HuntReport

#: The name of the loop in reports.
TARGET = "the watched loop"


class Watch:
    """Counts passes through its block, and hunts meanwhile; `report` is set as soon as enough is known."""

    def __init__(self, on_report: Callable[[HuntReport], None], steps: int | None = None) -> None:
        self.report: HuntReport | None = None
        self._on_report = on_report
        self._hunt = Hunt(schedule_for(steps, is_endless=False))
        self._counter: Counter | None = None

    def __enter__(self) -> Watch:
        if self._counter is None:
            self._counter = Counter(self._hunt)
            self._counter.on_done = self._finish
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._counter is not None and self.report is None and kind is None:
            self._counter.step()

    def finish(self) -> None:
        """Report what is known now, unless there is a report."""
        if self.report is None and self._counter is not None:
            self._finish()

    def _finish(self) -> None:
        facts = TargetFacts(TARGET, "one time through the watched block", is_script=True)
        report = report_of(self._hunt, facts)
        self.report = replace(report, settings={**report.settings, CALLED: "watch"})
        if self._counter is not None:
            self._counter.end()
        self._hunt.close()
        self._on_report(self.report)
