"""Measure a program's peak, with an edited text if wanted: load, step and drop it, so that the next run starts clean."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import gradlife
from gradlife.model.peak.report import LineChange, PeakReport
from gradlife.peaks.edits.changes import changed

HERE = Path(__file__).parent
WASTEFUL, CLEAN, UNREAD = HERE / "wasteful", HERE / "clean", HERE / "unread"

#: What an unread program says of itself, and what it says without the memory that no recorded step reads.
KEEPS, DROPS = "KEEPS = True", "KEEPS = False"

#: What all edits of a program are called.
TOGETHER = "together"

#: The allowed relative error of a saving, and the share of the peak that counts as nothing.
EXACT, NOTHING = 0.03, 0.02


@dataclass(frozen=True)
class Outcome:
    """One prediction and what was measured."""

    what: str
    predicted: int
    measured: int

    @property
    def is_right(self) -> bool:
        """Whether it is within 3 %."""
        return abs(self.predicted - self.measured) <= EXACT * max(self.measured, 1)


def programs(folder: Path) -> list[Path]:
    """The programs of a folder and of those in it."""
    return sorted(path for path in folder.rglob("*.py") if path.stem != "__init__")


def peak_of(text: str) -> PeakReport:
    """Run a program's text, and drop it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(text, encoding="utf-8")
        name = f"peak_program_{path.parent.name}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
            return gradlife.peak(module.step)
        finally:
            del sys.modules[name]
            vars(module).clear()
            gc.collect()


def unread_outcome(text: str, report: PeakReport) -> Outcome:
    """Return the bytes that no recorded step reads beside the peak of the program that does not hold them."""
    found = report.peak_bytes - peak_of(text.replace(KEEPS, DROPS)).peak_bytes
    return Outcome("; ".join(row.holder for row in report.unread), sum(row.bytes for row in report.unread), found)


def outcomes(text: str, report: PeakReport) -> Iterator[Outcome]:
    """Return each saving that has a diff alone, or with those before it if it needs them; then all of them together."""
    together: list[LineChange] = []
    for saving in report.savings:
        if saving.is_provable:
            changes = [change for edit in saving.edits for change in edit.changes]
            together += changes
            predicted = report.peak_bytes - saving.peak_after if saving.needs_others else saving.saved_alone_bytes
            edited = changed(text, together if saving.needs_others else changes)
            found = report.peak_bytes - peak_of(edited).peak_bytes
            yield Outcome("; ".join(edit.text for edit in saving.edits), predicted, found)
    found = report.peak_bytes - peak_of(changed(text, together)).peak_bytes
    yield Outcome(TOGETHER, report.peak_bytes - report.provable_peak_bytes, found)
