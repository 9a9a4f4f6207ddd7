"""The verbs of the interactive session, answered for this process, and verbs that only a notebook has."""

from __future__ import annotations

import argparse
import io
import itertools
import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

from rich.console import Console

from gradlife.errors import UnknownNameError, UsageError
from gradlife.heap import open_snapshot
from gradlife.hunting.steps.targets import stepper_of
from gradlife.interactive.notebook.heap_source import NotebookPatient, lines_of
from gradlife.interactive.session import ROWS, VERBS as SESSION_VERBS, Session, rows_of
from gradlife.model.hunt import Finding, HuntReport
from gradlife.model.trace import Trace
from gradlife.program.hunt.api import hunt_stepper
from gradlife.program.peak.api import peak_of
from gradlife.reports.heap import session as reports
from gradlife.reports.heap.diff import print_diff
from gradlife.reports.hunt.terminal import print_hunt
from gradlife.reports.peak.terminal import print_peak
from gradlife.reports.values import counted, size

#: Verbs that end the session; a notebook has none.
ENDING = {"quit", "continue"}
#: Verbs that a cell may stand below.
OF_CELLS = {"hunt", "peak"}
#: In help order.
VERBS = ("hunt", "peak", "snapshot", "diff", *(verb for verb in SESSION_VERBS if verb not in ENDING))


class NotebookSession(Session):
    """One question: its text goes to the console, its object is the answer."""

    verbs: ClassVar[tuple[str, ...]] = VERBS

    def __init__(self, patient: NotebookPatient, console: Console, cell: Callable[[], object] | None = None) -> None:
        super().__init__(patient, stdin=io.StringIO(), stdout=io.StringIO())
        self._patient: NotebookPatient = patient
        self._console = console
        self._cell = cell
        self.answer: Any = None

    def ask(self, line: str) -> Any:
        """Answer a line. Raises errors as GradlifeError."""
        verb, _, rest = (line.strip() or "help").partition(" ")
        if verb not in self.verbs:
            raise UnknownNameError("verb", verb, self.verbs, "%gradlife help")
        if self._cell is not None and verb not in OF_CELLS:
            raise UsageError(f"{verb!r} takes no cell", "%%gradlife hunt")
        try:
            getattr(self, f"do_{verb}")(rest.strip())
            return self.answer
        finally:
            self._patient.rest()

    # --- verbs that only a notebook has ---

    def do_hunt(self, text: str) -> None:
        """hunt [--steps N] [--lines] [FUNCTION]: repeat the function, or the cell under %%gradlife; what grows?"""
        options = hunt_options(text)
        step, name = self._step_of("hunt", options.function)
        stepper, numbers = stepper_of(step), itertools.count()
        report = hunt_stepper(stepper, name, options.steps, options.lines, numbers=numbers)
        self._patient.hunted(stepper, numbers, report)
        self.answer = report
        print_hunt(self._console, report, then=next_magics)

    def do_peak(self, text: str) -> None:
        """peak [FUNCTION]: call it, or below %%gradlife run the cell, a few times; what of the peak is never read again?"""
        step, name = self._step_of("peak", text)
        self.answer = peak_of(stepper_of(step), name)
        print_peak(self._console, self.answer, in_full=True)

    def _step_of(self, verb: str, function: str) -> tuple[Callable[[], object], str]:
        """The cell, or the function of an expression, and its name."""
        if self._cell is not None:
            if function:
                raise UsageError(f"below %%gradlife {verb} the cell is the step", f"%gradlife {verb} FUNCTION")
            return self._cell, "the cell"
        if not function:
            raise UsageError(f"{verb} in what?", f"%%gradlife {verb} over a cell, or %gradlife {verb} FUNCTION")
        step = self._patient.value(function)
        if not callable(step):
            raise UsageError(f"{function!r} is not a function", f"%%gradlife {verb} over a cell")
        return step, function

    def do_snapshot(self, text: str) -> None:
        """snapshot [FILE]: freeze the heap; a later `diff` shows what has changed since."""
        if text:
            self.do_save(text)
        taken = self.answer = self._patient.snapshot
        self._patient.keep(taken)
        self._say(
            f"{counted(taken.objects, 'object')}, {size(taken.bytes)}: `%gradlife diff` shows what changes from here on"
        )

    def do_diff(self, text: str) -> None:
        """diff [FILE]: show what is new, gone and grown since the last snapshot, or since one in a file."""
        before = open_snapshot(text) if text else self._patient.last
        if before is None:
            raise UsageError("there is no snapshot yet to compare with", "%gradlife snapshot")
        self.answer = before.diff(self._patient.snapshot)
        print_diff(self._console, self.answer, ROWS)

    # --- verbs with more to do than in the session ---

    def do_why(self, text: str) -> None:
        """why WHAT: show what keeps it alive. WHAT is a leak's number, an address, a type, or Python code such as a variable."""
        super().do_why(text)
        self._note()

    def do_refs(self, text: str) -> None:
        """refs WHAT: list its referrers, and count unaccounted references."""
        super().do_refs(text)
        if isinstance(self.answer, Trace):
            self.answer = self.answer.ledger
        self._note()

    def do_cut(self, text: str) -> None:
        """cut N: remove the suspect reference of a leak; `step 7` then shows whether that ends it."""
        if self._patient.report is None:
            raise UsageError("nothing was hunted yet", "%%gradlife hunt")
        super().do_cut(text)

    def do_step(self, text: str) -> bool:
        """step [N]: run the hunted cell N times, and report what that adds."""
        self._patient.step(rows_of(text or "1"))
        self._show(reports.round_lines(self._patient.rounds))
        return False

    def _finding(self, text: str) -> Finding | None:
        found = super()._finding(text)
        if found is not None:
            self.answer = found
            self._patient.note_limits(found.trace)
        return found

    def _trace(self, text: str) -> Trace:
        trace = super()._trace(text)
        if not self._patient.notes:
            self._patient.note_limits(trace)
        self.answer = trace
        return trace

    def _note(self) -> None:
        for line in lines_of(self._patient.notes):
            self._say(line)


def next_magics(report: HuntReport) -> list[tuple[str, str]]:
    """Yield the magics to try next."""
    if not report.findings:
        return []
    return [
        ("%gradlife cut 1", "removes the suspect reference from here on"),
        ("%gradlife step 7", "runs it seven times more, and shows what that adds"),
        ("%gradlife why 1", "shows the first leak again; refs 1 and cycle 1 show more"),
    ]


class Options(argparse.ArgumentParser):
    """Options of a verb; an error is one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "%gradlife help hunt")


def hunt_options(text: str) -> argparse.Namespace:
    """Parse options first; the rest is a Python expression, whatever it contains."""
    parser = Options(prog="hunt", add_help=False, allow_abbrev=False)
    parser.add_argument("--steps", type=number, metavar="N")
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("function", nargs=argparse.REMAINDER)
    options = parser.parse_args(text.split())
    options.function = " ".join(options.function)
    return options


def number(text: str) -> int:
    """Parse a number of steps."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps")
    return int(text)
