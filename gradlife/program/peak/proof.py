"""The proof of a peak's edits: the program is run with and without them, and the peaks and losses are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradlife.heap.program_modules import absolute
from gradlife.hunting.process.own_folders import TRIAL, OwnFolder
from gradlife.hunting.process.settings import Settings
from gradlife.model.peak.report import LineChange, PeakReport, Proof
from gradlife.peaks.edits.changes import changed
from gradlife.peaks.sources.program import source_of
from gradlife.program.trial import prepare_trial

#: Runs the program with these settings to its end.
Run = Callable[[Settings], PeakReport | None]

NOTHING = "no saving has a diff that is known to be safe"


def proven(report: PeakReport, settings: Settings, run: Run) -> PeakReport:
    """Return the report with its proof: one more run with every edit that has a diff. Without savings there is none."""
    if not report.savings:
        return report
    sources = edited_sources(report)
    if not sources:
        return replace(report, proof=Proof(0, report.peak_bytes, report.peak_bytes, trouble=NOTHING))
    with OwnFolder(TRIAL) as folder:
        prepare_trial(folder, sources)
        return replace(report, proof=compared(report, run(replace(settings, trial=folder))))


def edited_sources(report: PeakReport) -> dict[str, str]:
    """Return the texts of the files with all edits that have a diff."""
    changes: dict[str, list[LineChange]] = {}
    for saving in report.savings:
        if saving.is_provable:
            for edit in saving.edits:
                changes.setdefault(absolute(edit.file), []).extend(edit.changes)
    sources = {file: source_of(file) for file in changes}
    return {file: changed(source.text, changes[file]) for file, source in sources.items() if source is not None}


def compared(before: PeakReport, after: PeakReport | None) -> Proof:
    """Compare the peaks and the losses of both runs."""
    edits = sum(len(saving.edits) for saving in before.savings if saving.is_provable)
    if after is None or not after.peak_bytes:
        trouble = after.trouble if after is not None else "the edited program left no report"
        return Proof(edits, before.peak_bytes, 0, before.provable_peak_bytes, trouble=trouble)
    if after.script_status and after.script_status != before.script_status:
        trouble = after.trouble or f"the edited program ended with exit status {after.script_status}"
        return Proof(edits, before.peak_bytes, 0, before.provable_peak_bytes, trouble=trouble)
    count = min(len(before.losses), len(after.losses))
    are_equal = before.losses[:count] == after.losses[:count]
    return Proof(edits, before.peak_bytes, after.peak_bytes, before.provable_peak_bytes, count, are_equal)
