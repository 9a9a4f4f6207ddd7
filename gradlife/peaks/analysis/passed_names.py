"""Names of a caller that hold an argument while the call runs that used it last: no edit of the called function frees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gradlife.model.peak.report import Use
from gradlife.peaks.analysis.groups import Group
from gradlife.peaks.analysis.holder_snapshots import Gap
from gradlife.peaks.analysis.releases import release
from gradlife.peaks.analysis.uses import gaps
from gradlife.peaks.edits.names import frame_of_name, is_passed_on
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Frame, Recording, Storage, tick_before
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.liveness import reader_after
from gradlife.peaks.sources.program import function_of, source_of, spot_at


def passed_groups(recording: Recording, groups: Iterable[Group]) -> Iterator[Group]:
    """Yield groups as they would be if callers passed their arguments on without a name."""
    for group in groups:
        last = group.last if group.storages else last_before(group.kept)
        if last < 0 or group.use is Use.LAG or group.zeroing is not None:
            continue
        frames = recording.operations[last].frames
        passed = [one for one in group.holders if is_passed(one, frames)]
        others = [one for one in group.holders if one not in passed]
        if passed:
            yield replace(without_names(recording, group, passed, others), last=last)


def last_before(kept: Sequence[tuple[Storage, Gap]]) -> int:
    """Return the last operation before the unused time of the largest of some storages; -1 if there are none."""
    largest = max(kept, key=lambda one: one[0].final_bytes, default=None)
    return largest[1][0] // 2 - 1 if largest is not None else -1


def is_passed(holder: Holder, frames: Sequence[Frame]) -> bool:
    """Whether a name's function has passed its value on to the function that runs, and reads it no more."""
    frame = frame_of_name(holder, frames) if holder.kind is Kind.LOCAL and not holder.path else None
    source = source_of(frame[0]) if frame is not None and frame is not frames[0] else None
    if frame is None or source is None:
        return False
    function = function_of(source, frame[2], frame[1])
    spot = spot_at(function, frame[1]) if function is not None else None
    if function is None or spot is None or not is_passed_on(spot.statement, holder.name):
        return False
    return reader_after(function, spot, holder.name, (), source.tree) is None


def without_names(recording: Recording, group: Group, passed: Sequence[Holder], others: Sequence[Holder]) -> Group:
    """Return a group whose storages are free as soon as its other holders release them."""
    every = [*group.storages, *(one for one, _ in group.kept)]
    storages = {one.number: one for one in every}

    def gap(number: int, old: Gap) -> Gap:
        if number in group.fixed:
            return old
        start = start_of_gap(storages[number], old[0])
        return max(start, tick_before(release(recording, others, start // 2 - 1))), old[1]

    holders = tuple(replace(one, kind=Kind.PASSED) if one in passed else one for one in group.holders)
    known = [*group.freed, *((one.number, old) for one, old in group.kept if one.number not in group.fixed)]
    freed = [(number, gap(number, old)) for number, old in known]
    return replace(group, holders=holders, storages=every, freed=freed, instead_of=group)


def start_of_gap(storage: Storage, tick: int) -> int:
    """Return when the unused time began that a tick is in."""
    return max((start for start, _ in gaps(storage) if start <= tick), default=tick)
