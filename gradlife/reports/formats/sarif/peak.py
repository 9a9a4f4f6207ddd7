"""The savings of a peak as SARIF: each at the line of its first edit, with the edits that have a diff as fixes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from gradlife.model.peak.report import LineChange, PeakReport, Saving, Use
from gradlife.reports.formats.patch.hunt import Edit as TextEdit
from gradlife.reports.formats.sarif.document import ERROR, WARNING, Fix, Log, Result, Rule, sarif_text
from gradlife.reports.peak.words import gain, headline, life, saving_title, unread_title
from gradlife.reports.source_places import Place, there

HELP = (
    "Memory at the peak of a step that no operation reads before it is freed. Let go of it after its last use: "
    "the page *Why is my peak so high?* explains what is measured, and `gradlife peak --prove` runs the edits."
)
DRAG = Rule("peak-drag", "Memory is held after its last use, at the peak of a step", HELP, ("memory",))
VOID = Rule("peak-void", "Memory is held at the peak of a step and never read", HELP, ("memory",))
LAG = Rule(
    "peak-lag",
    "Memory is held before its first use, at the peak of a step",
    "Memory at the peak of a step that no operation has read yet. Make it just before its first use: the page *Why is "
    "my peak so high?* explains what is measured.",
    ("memory",),
)
RULES = {Use.VOID: VOID, Use.LAG: LAG}


def peak_sarif(report: PeakReport) -> str:
    """Return the document; savings without an existing line are notices."""
    placed = [(saving, places_of(saving, report)) for saving in report.savings]
    results = tuple(result_of(saving, places, report) for saving, places in placed if places)
    notices = tuple(saving_title(saving) for saving, places in placed if not places)
    notices += tuple(f"{unread_title(row, report)}; {row.advice}" for row in report.unread)
    notices += report.limits
    head = (report.trouble,) if not report.peak_bytes else (headline(report),)
    return sarif_text(Log("gradlife peak", results, bool(report.peak_bytes), report.exit_status, head + notices))


def places_of(saving: Saving, report: PeakReport) -> tuple[Place, ...]:
    """Return the lines of a saving's edits, then where it is created and last read; only files that exist."""
    read = (saving.last_read.place,) if saving.last_read is not None else ()
    spots = [(edit.file, edit.line) for edit in saving.edits]
    spots += [(place.file, place.line) for place in (saving.born.place, *read)]
    found = (there(file, line, report.target) for file, line in spots if file)
    return tuple(dict.fromkeys(place for place in found if place is not None))


def result_of(saving: Saving, places: tuple[Place, ...], report: PeakReport) -> Result:
    """Describe one saving."""
    is_failure = bool(report.exit_status) and report.fail_on is not None
    message = f"{saving_title(saving)}; {life(saving, report.target)}; {gain(saving, report)}."
    known = hashlib.sha256(f"{saving.holder.partition(' (')[0]}|{saving.born.operation}".encode()).hexdigest()[:16]
    figures = {"savedBytes": saving.saved_bytes, "bytes": saving.bytes, "owner": saving.owner.value}
    fix = fix_of(saving, report)
    return Result(RULES.get(saving.use, DRAG), ERROR if is_failure else WARNING, message, places, known, figures, fix)


def fix_of(saving: Saving, report: PeakReport) -> Fix | None:
    """Return the changes as one fix if each edit has one and all are in the same file."""
    files = {edit.file for edit in saving.edits}
    place = there(*next((edit.file, edit.line) for edit in saving.edits), report.target) if saving.edits else None
    if not saving.is_provable or len(files) != 1 or place is None:
        return None
    changes = dict.fromkeys(change for edit in saving.edits for change in edit.changes)
    return Fix("; ".join(edit.text for edit in saving.edits), place, tuple(replaced(changes)))


def replaced(changes: dict[LineChange, None]) -> Iterator[TextEdit]:
    """Return the changes as replaced lines."""
    for change in changes:
        count = change.last - change.first + 1
        yield TextEdit(change.first, count, "".join(f"{line}\n" for line in change.lines))
