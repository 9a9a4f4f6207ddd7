"""Phrases for parts of a peak report."""

from __future__ import annotations

import linecache
import os

from gradlife.errors import EXIT_CLEAN, EXIT_COULD_NOT_TELL, EXIT_FOUND
from gradlife.model.peak.report import (
    Cause,
    Moment,
    Owner,
    PartChange,
    PeakComparison,
    PeakPart,
    PeakReport,
    Place,
    ProcessMemory,
    Proof,
    Saving,
    UnreadMemory,
    Use,
)
from gradlife.reports.document.blocks import Tone
from gradlife.reports.values import counted, size

#: The tones of the verdicts.
TONES: dict[str, Tone] = {
    "DRAG": "bad",
    "drag": "note",
    "lag": "note",
    "unread": "note",
    "clean": "good",
    "could not tell": "note",
    "LARGER": "bad",
    "no regression": "good",
}

#: The verdict of a comparison by its exit status.
COMPARED = {EXIT_CLEAN: "no regression", EXIT_FOUND: "LARGER", EXIT_COULD_NOT_TELL: "could not tell"}


def owner_class(owner: Owner) -> str:
    """Return the CSS class of an owner's colour."""
    return f"owner-{list(Owner).index(owner) + 1}"


def percent(part: int, whole: int) -> str:
    """Format a percentage: ``13.5 %``."""
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def verdict(report: PeakReport) -> str:
    """Return one word: whether something can be saved, and whether it exceeds the limit."""
    if not report.peak_bytes:
        return "could not tell"
    if report.against is not None:
        return COMPARED[report.exit_status]
    if report.exit_status == EXIT_FOUND:
        return "DRAG"
    if not report.savings:
        return "unread" if report.unread else "clean"
    return "lag" if all(one.use is Use.LAG for one in report.savings) else "drag"


def headline(report: PeakReport) -> str:
    """Return the share of the peak that is never read again; of a comparison, both peaks."""
    if report.against is not None:
        return compared(report.against, report.device)
    on = f"peak of {size(report.peak_bytes)} on {report.device}"
    if report.ranks:
        on = f"rank {report.worst_rank} of {report.world_size:,}, {on}"
    never = f"{percent(report.unused_bytes, report.peak_bytes)} of it is never read again"
    if not report.savings and report.exit_status == EXIT_FOUND:
        return f"{on}: {never}, but no edit is known"
    if not report.savings:
        return f"{on}: {unread_words(report)}" if report.unread else f"{on}: nothing to save"
    early = sum(one.bytes for one in report.savings if one.use is Use.LAG)
    held = f"{percent(early, report.peak_bytes)} of it is held before its first use"
    if all(one.use is Use.LAG for one in report.savings):
        return f"{on}: {held}"
    return f"{on}: {never}" + (f", {held}" if early else "") + unread_name(report.savings[0])


def compared(against: PeakComparison, device: str) -> str:
    """Return both peaks, how much more is allowed, and why nothing is known."""
    more, before = against.more_bytes, against.before_bytes
    if against.trouble:
        return f"not compared with {against.file}: {against.trouble}"
    if not more:
        return f"peak of {size(against.after_bytes)} on {device}, as in {against.file}"
    change = f"{signed(more)}, {percent(abs(more), before)}"
    words = f"peak of {size(before)} to {size(against.after_bytes)} on {device} ({change})"
    if more <= 0:
        return words
    if against.exit_status == EXIT_COULD_NOT_TELL:
        return f"{words}, but the steps of one run differ by up to {size(against.spread_bytes)}"
    return f"{words}; {size(against.allowed_bytes)} more is allowed"


def signed(nbytes: int) -> str:
    """Format a difference: ``+1.9 GB``."""
    return f"{'+' if nbytes > 0 else '-'}{size(abs(nbytes))}"


def change_words(change: PartChange, report: PeakReport) -> str:
    """Return what a part of the peak is, where it is made, and why it is larger or smaller."""
    born, now = change.part.born.phase, report.peak_at.phase if report.peak_at is not None else ""
    why = {
        Cause.LONGER: f"now lives into {now}" if now and born and now != born else "is now alive at the peak",
        Cause.SHORTER: "freed earlier",
    }.get(change.cause, change.cause.value)
    sizes = [size(nbytes) for nbytes in (change.before_bytes, change.after_bytes) if nbytes]
    return f"{part_name(change.part)}: {why}, {' to '.join(sizes)}"


def part_name(part: PeakPart) -> str:
    """Return the name that holds a part, its line and module: ``local logits of step, model.py:41``."""
    born = part.born
    where = str(born.place) + (f" in {born.module}" if born.module else "")
    return ", ".join(filter(None, (part.holder or part.owner.value, where)))


def unread_name(saving: Saving) -> str:
    """Return the name that holds the most and that nothing reads; empty if something reads it."""
    is_unread = saving.use is Use.VOID and saving.owner is Owner.NAMED and saving.last_read is None
    return f"; nothing reads {saving.holder} ({size(saving.bytes)})" if is_unread and saving.holder else ""


def unread_words(report: PeakReport) -> str:
    """Return how much nothing reads in the recorded steps, and who holds it: the largest, and the number of others."""
    nbytes = sum(row.bytes for row in report.unread)
    others = f" and {counted(len(report.unread) - 1, 'other')}" if report.unread[1:] else ""
    held = f"{size(nbytes)} ({percent(nbytes, report.peak_bytes)}) is held by {report.unread[0].holder}{others}"
    return f"{held}, and no recorded step reads it"


def source_of(place: Place) -> str:
    """Return the source line of a place in backquotes; empty if it does not exist."""
    line = linecache.getline(place.file, place.line).strip() if place.file else ""
    return f"`{line}`" if line else ""


def moment_words(moment: Moment) -> str:
    """Format a moment: ``backward at train.py:23 (mm)``."""
    where = f" at {moment.place}" if moment.place.file else ""
    module = f" in {moment.module}" if moment.module else ""
    return f"{moment.phase}{where}{module} ({plain(moment.operation)})"


def plain(operation: str) -> str:
    """Return an operation without torch's prefix."""
    return operation.removeprefix("aten.")


def short_place(moment: Moment, target: str) -> str:
    """Return ``line 23`` for the target, ``net.py:23`` for another file, or the phase if no line is known."""
    if not moment.place.file:
        return moment.phase
    name = os.path.basename(moment.place.file)
    is_target = name == os.path.basename(target.partition("::")[0])
    return f"line {moment.place.line}" if is_target else f"{name}:{moment.place.line}"


def saving_title(saving: Saving) -> str:
    """Return the name of what is held, and its size."""
    many = f" in {counted(saving.storages, 'storage')}" if saving.storages > 1 else ""
    holder = saving.holder or saving.owner.value
    return f"{holder}: {size(saving.bytes)}{many}"


def life(saving: Saving, target: str) -> str:
    """Return where it was created, last read and freed; of memory that is held too early, where it was first read."""
    made = f"made at {short_place(saving.born, target)}" if saving.born.operation else "made before the recorded steps"
    if saving.first_read is not None:
        late = " of a later step" if saving.steps_held else ""
        first = saving.first_read
        return f"{made}, first read at {short_place(first, target)} ({plain(first.operation)}){late}"
    read, freed = saving.last_read, saving.freed_before
    used = f"last read at {short_place(read, target)} ({plain(read.operation)})" if read is not None else "never read"
    later = " of the next step" if saving.steps_held else ""
    held = f"held until {short_place(freed, target)}{later}" if freed is not None else kept_words(saving)
    return f"{made}, {used}, {held}"


def kept_words(saving: Saving) -> str:
    """Return what becomes of memory that no recorded step frees: zeros overwrite gradients, or a pass adds to them."""
    if saving.owner is not Owner.GRADIENT:
        return "held beyond the recorded steps"
    return "only added to" if saving.use is Use.VOID else "overwritten later"


def gain(saving: Saving, report: PeakReport) -> str:
    """Return how much releasing it saves."""
    share = percent(saving.saved_bytes, report.peak_bytes)
    edits = "".join(f", {edit.text}" for edit in saving.edits[:1])
    more = f" and {counted(len(saving.edits) - 1, 'other edit')}" if len(saving.edits) > 1 else ""
    return f"saves {size(saving.saved_bytes)} ({share}){edits}{more}"


def unread_title(row: UnreadMemory, report: PeakReport) -> str:
    """Return what nothing reads in the recorded steps, and how much it is."""
    many = f" in {counted(row.storages, 'storage')}" if row.storages > 1 else ""
    share = f"{size(row.bytes)} ({percent(row.bytes, report.peak_bytes)}){many}"
    return f"{row.holder}: {share}, not read in {counted(row.steps, 'recorded step')}"


def proof_words(proof: Proof) -> str:
    """Return the result of the second run."""
    if proof.trouble:
        return f"not proven: {proof.trouble}"
    change = f"{size(proof.peak_before)} to {size(proof.peak_after)}"
    found = f"proven with {counted(proof.edits, 'edit')}: {change}, predicted {size(proof.predicted_bytes)}"
    if not proof.losses:
        return f"{found}; no loss to compare"
    return f"{found}; {counted(proof.losses, 'loss', 'losses')} {'equal' if proof.losses_equal else 'NOT equal'}"


def memory_words(memory: ProcessMemory) -> str:
    """Return how much of malloc's memory the storages explain."""
    grown, recorded = memory.grown_bytes, memory.recorded_bytes
    if grown <= 0:
        return f"malloc gave out nothing more up to the peak; storages grew by {size(max(recorded, 0))}"
    own = f", gradlife's records {size(memory.own_bytes)}" if memory.own_bytes > 0 else ""
    rest = f"; {size(memory.unseen_bytes)} is small objects and workspaces" if memory.unseen_bytes > 0 else ""
    return f"storages are {size(recorded)} of the {size(grown)} that malloc gave out up to the peak{own}{rest}"


def bound(report: PeakReport) -> str:
    """Return the lower bound of the peak in words, what counted as a step, and which steps were recorded."""
    first, last = report.warmup_steps + 1, report.warmup_steps + report.steps
    steps = f"steps: {report.stepped_by} {first} to {last}"
    return f"lowest possible peak: {size(report.lower_bound_bytes)} · {steps}"
