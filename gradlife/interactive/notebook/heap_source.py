"""The subject of a notebook session: this process, its variables, and the hunted cell."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from gradlife.errors import UsageError
from gradlife.heap import Snapshot, snapshot, why
from gradlife.hunting.snapshots.node_weights import minus
from gradlife.hunting.snapshots.step_snapshots import take_snapshot
from gradlife.hunting.steps.loop import loop_for
from gradlife.hunting.steps.targets import Stepper
from gradlife.interactive.notebook.ipython_outputs import notes
from gradlife.model.hunt import Finding, HuntReport, Round
from gradlife.model.trace import Trace
from gradlife.program.hunt.reference_cutter import Cutter, cutter_of


class NotebookPatient:
    """The process of a notebook. Holds none of its objects."""

    title = "this notebook"

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.report: HuntReport | None = None
        self.rounds: tuple[Round, ...] = ()
        self.notes: tuple[str, ...] = ()  # for the last trace
        self.last: Snapshot | None = None  # the snapshot that `diff` compares with
        self._stepper: Stepper | None = None
        self._numbers: Iterator[int] = itertools.count()
        self._cuts: list[Cutter] = []
        self._now: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """Take a snapshot, one per question."""
        if self._now is None:
            self._now = snapshot()
        return self._now

    def keep(self, taken: Snapshot) -> None:
        """Keep a snapshot for comparison: only its graph, so that later snapshots do not contain it."""
        self.last = Snapshot(taken._graph, taken.notes)

    def rest(self) -> None:
        """Drop the snapshot of an answered question: the next one needs a new heap."""
        self._now, self.notes = None, ()

    def value(self, expression: str) -> Any:
        """Evaluate an expression in the notebook's variables."""
        try:
            return eval(expression, self.names)
        except Exception as error:
            raise UsageError(f"{expression!r} gives {type(error).__name__}: {error}", "a variable, a type") from None

    def why(self, expression: str) -> Trace | None:
        """Explain why the value of an expression is alive."""
        return self.note_limits(why(self.value(expression)))

    def note_limits(self, trace: Trace) -> Trace:
        """Return the trace, with a note if it leads through objects that IPython keeps."""
        self.notes = tuple(notes(trace, self.names))
        return trace

    # --- the hunted cell ---

    def hunted(self, stepper: Stepper, numbers: Iterator[int], report: HuntReport) -> None:
        """Use this report for `leaks` and finding numbers, and these numbers for further steps."""
        self.report, self._stepper, self._numbers, self._cuts = report, stepper, numbers, []

    def step(self, count: int) -> None:
        """Run the cell this many times, apply cuts after each round, and return what was added."""
        if self._stepper is None:
            raise UsageError("no cell was hunted yet", "%%gradlife hunt")
        before = take_snapshot(0)
        rest = itertools.count(1)
        loop_for(self._stepper)(None, self._stepper.step, self._numbers, lambda: next(rest) >= count)
        for cutter in self._cuts:
            cutter.cut()
        self.rounds = (Round(count, minus(take_snapshot(count).totals, before.totals)),)

    def cut(self, finding: Finding) -> str:
        """Cut the suspect reference after each round of steps from here on."""
        cutter = cutter_of(finding)
        self._cuts.append(cutter)
        return cutter.promise


def lines_of(notes: tuple[str, ...]) -> Iterator[str]:
    """Format notes below a trace."""
    yield from (f"note: {one}" for one in notes)
