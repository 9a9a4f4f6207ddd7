"""A session inside the hunted program, stopped at the end of a step."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import gradlife
from gradlife.errors import UsageError
from gradlife.heap import Snapshot, snapshot, why
from gradlife.hunting.session.method import Hunt
from gradlife.hunting.snapshots.node_weights import minus
from gradlife.hunting.snapshots.step_snapshots import take_snapshot
from gradlife.interactive.session import Session
from gradlife.interactive.terminal import history
from gradlife.model.hunt import Amounts, Finding, HuntReport, Round
from gradlife.model.trace import Trace
from gradlife.program.hunt.reference_cutter import Cutter, cutter_of

OWN_FOLDER = os.path.dirname(os.path.abspath(gradlife.__file__)) + os.sep


class LivePatient:
    """The program, stopped."""

    def __init__(
        self, hunt: Hunt, report: HuntReport, rounds: tuple[Round, ...], cuts: list[Cutter], *, is_over: bool = False
    ) -> None:
        self._hunt = hunt
        self.cuts = cuts
        self._is_over = is_over
        self.rounds = rounds
        self.report: HuntReport | None = report
        self._snapshot: Snapshot | None = None

    @property
    def title(self) -> str:
        """Where the program has stopped."""
        assert self.report is not None
        found = len(self.report.findings)
        counted = f"{found} leak{'s' * (found != 1)}"
        word = "ended" if self._is_over else "stopped"
        return f"{self.report.target} has {word} after {self._hunt.steps_now} steps; {counted} found."

    @property
    def snapshot(self) -> Snapshot:
        """Take a snapshot. The program does not run meanwhile."""
        if self._snapshot is None:
            self._snapshot = snapshot()
        return self._snapshot

    def why(self, expression: str) -> Trace | None:
        """Explain why the value of an expression in the program's innermost frame is alive."""
        frame = program_frame(sys._getframe())
        names = {**frame.f_globals, **frame.f_locals} if frame is not None else vars(sys.modules["__main__"])
        try:
            return why(eval(expression, names))
        except Exception as error:
            raise UsageError(f"{expression!r} gives {type(error).__name__}: {error}", "a type, an address") from None

    def step(self, count: int) -> None:
        """Take steps, unless the program has ended."""
        if self._is_over:
            raise UsageError("the program has ended: there are no more steps", "a longer run")

    def cut(self, finding: Finding) -> str:
        """Cut the suspect reference, again whenever the program recreates it."""
        cutter = cutter_of(finding)
        self.cuts.append(cutter)
        self._snapshot = None
        return cutter.promise


def program_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame outside gradlife and libraries."""
    while frame is not None:
        file = frame.f_code.co_filename
        is_library = f"{os.sep}site-packages{os.sep}" in file or file.startswith((OWN_FOLDER, sys.base_prefix + os.sep))
        if not is_library and not file.startswith("<frozen"):
            return frame
        frame = frame.f_back
    return None


class Talk:
    """The sessions of one program."""

    def __init__(self) -> None:
        self.has_begun = False

    def __call__(self, hunt: Hunt, report_of: Callable[[], HuntReport]) -> Iterator[int]:
        """Open a session at the first leak. Yield the steps to take before the program returns to the session."""
        report = report_of()
        rounds: tuple[Round, ...] = ()
        before = Amounts()  # replaced by another value of the same size, so that it adds nothing to the heap
        cuts: list[Cutter] = []
        while report.findings:
            self.has_begun = True
            session = Session(LivePatient(hunt, report, rounds, cuts))
            with history():
                session.cmdloop()
            count = session.steps_wanted
            del session
            if not count:
                return
            before = take_snapshot(hunt.steps).totals
            yield count
            hunt.steps += count
            for one in cuts:
                one.cut()
            rounds += (Round(count, minus(take_snapshot(hunt.steps).totals, before)),)

    def after_the_end(self, hunt: Hunt, report: HuntReport) -> None:
        """Open a session after the end of a program that was too short to have one earlier."""
        if report.findings:
            patient = LivePatient(hunt, report, (), [], is_over=True)
            with history():
                Session(patient).cmdloop()
