"""The subject of a session: a heap to ask about and, for a live process, the actions on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gradlife.errors import UsageError
from gradlife.heap import Snapshot, open_snapshot
from gradlife.model.hunt import Finding, HuntReport, Round
from gradlife.model.trace import Trace


class NeedsProcessError(UsageError):
    """A verb that a saved snapshot cannot answer."""

    def __init__(self, verb: str) -> None:
        super().__init__(f"{verb!r} needs the live process, and this is a file", "gradlife hunt -i TARGET")


class Patient(Protocol):
    """The interface that a session uses."""

    @property
    def title(self) -> str:
        """The subject, on one line."""

    @property
    def snapshot(self) -> Snapshot:
        """The heap as it is now, or was when the file was written."""

    @property
    def report(self) -> HuntReport | None:
        """The hunt's report; None for a file."""

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The additions of the steps that were taken from a prompt."""

    def why(self, expression: str) -> Trace | None:
        """Explain why the value of a Python expression is alive; None if nothing can be evaluated."""

    def step(self, count: int) -> None:
        """Has the program go on for so many steps and come back; raises `NeedsProcessError` of a file."""

    def cut(self, finding: Finding) -> str:
        """Takes the suspect reference away and says which; raises `NeedsProcessError` of a file."""


class SavedPatient:
    """A snapshot file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.snapshot = open_snapshot(path)
        self.report: HuntReport | None = None
        self.rounds: tuple[Round, ...] = ()

    @property
    def title(self) -> str:
        """The file, and when it was taken."""
        notes = dict(self.snapshot.notes)
        return f"{self._path}: {self.snapshot.objects:,} objects, taken {notes.get('taken', 'at an unknown time')}"

    def why(self, expression: str) -> Trace | None:
        """A file evaluates nothing."""
        return None

    def step(self, count: int) -> None:
        """A file does not go on."""
        raise NeedsProcessError("step")

    def cut(self, finding: Finding) -> str:
        """A file is left as it is."""
        raise NeedsProcessError("cut")


def findings_of(patient: Patient) -> Sequence[Finding]:
    """The leaks, in the report's order."""
    return patient.report.findings if patient.report is not None else ()
