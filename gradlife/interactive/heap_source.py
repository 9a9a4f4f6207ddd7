"""The subject of a session: a heap to query and, for a live process, the actions on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gradlife.errors import UsageError
from gradlife.heap import Snapshot, open_snapshot
from gradlife.model.heap import HeapDiff
from gradlife.model.hunt import Finding, HuntReport, Round
from gradlife.model.trace import Trace


class NeedsProcessError(UsageError):
    """The verb needs a live process, not a saved snapshot."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"{verb!r} needs the live process, and this is a file", "gradlife hunt -i TARGET")


class Patient(Protocol):
    """The interface that a session uses."""

    @property
    def title(self) -> str:
        """The subject on one line."""

    @property
    def snapshot(self) -> Snapshot:
        """Take a snapshot now, or return the one in the file."""

    @property
    def report(self) -> HuntReport | None:
        """The hunt's report; None for a file."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Objects and bytes added by steps taken from a prompt."""

    def why(self, expression: str) -> Trace | None:
        """Explain why the value of a Python expression is alive; None if expressions cannot be evaluated."""

    def step(self, count: int) -> None:
        """Let the program take this many steps. Raises `NeedsProcessError` for a file."""

    def cut(self, finding: Finding) -> str:
        """Cut the suspect reference and name it. Raises `NeedsProcessError` for a file."""


class SavedPatient:
    """A snapshot file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.snapshot = open_snapshot(path)
        self.report: HuntReport | None = None
        self.rounds: tuple[Round, ...] = ()

    @property
    def title(self) -> str:
        """The file and its time."""
        notes = dict(self.snapshot.notes)
        return f"{self._path}: {self.snapshot.objects:,} objects, taken {notes.get('taken', 'at an unknown time')}"

    def why(self, expression: str) -> Trace | None:
        """Return None: a file cannot evaluate expressions."""
        return None

    def step(self, count: int) -> None:
        """Raise: a file takes no steps."""
        raise NeedsProcessError("step")

    def cut(self, finding: Finding) -> str:
        """Raise: a file is never changed."""
        raise NeedsProcessError("cut")


class RunningPatient(SavedPatient):
    """A process that gradlife is attached to: its heap when it was taken last. Nothing is changed in it.

    ``take`` writes the heap of the process to a path, and returns the seconds for which the process stood still.
    """

    def __init__(self, title: str, path: str, take: Callable[[str], float]) -> None:
        self._process = title
        self._take = take
        self._pause = take(path)
        super().__init__(path)

    @property
    def title(self) -> str:
        """The process, and the cost of the last look."""
        stood = f"it stood still for {self._pause * 1000:.0f} ms"
        return f"{self._process}: {self.snapshot.objects:,} objects; {stood}. `refresh` looks again."

    def refresh(self) -> HeapDiff:
        """Take the heap of the process anew; return what changed since the last time."""
        before = self.snapshot
        self._pause = self._take(self._path)
        self.snapshot = open_snapshot(self._path)
        return before.diff(self.snapshot)


def findings_of(patient: Patient) -> Sequence[Finding]:
    """Return the leaks in report order."""
    return patient.report.findings if patient.report is not None else ()
