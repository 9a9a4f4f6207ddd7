"""The parts of a peak by which it is compared with that of another run: what each line makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gradlife.model.peak.report import Moment, Owner, PeakPart
from gradlife.peaks.analysis.titles import common_title, family
from gradlife.peaks.recording.lifetimes import Storage, tick_within

#: Most parts, so that a report stays short; the smallest of each owner become one.
MAX_PARTS = 64

#: What the storages of a part share: the line, or what holds them.
Key = tuple[object, ...]


def parts_of(
    storages: Sequence[Storage], peak: int, part_of: Callable[[Storage], PeakPart], first: int, end: int
) -> Iterator[PeakPart]:
    """Yield the parts of the step from operation ``first`` to ``end`` that peaks at ``peak``, the largest first."""
    groups: dict[Key, list[tuple[PeakPart, int, int]]] = defaultdict(list)
    for storage in storages:
        if storage.born > tick_within(end) or (storage.died is not None and storage.died <= tick_within(first)):
            continue
        part, at_peak = part_of(storage), storage.bytes_at(tick_within(peak))
        is_made = storage.birth is None or first <= storage.birth < end
        made = max(nbytes for _, nbytes in storage.sizes) if is_made else 0
        groups[key_of(part)].append((part, at_peak, made))
    parts = sorted(map(whole, groups.values()), key=lambda part: (-part.bytes, -part.made_bytes))
    yield from parts[:MAX_PARTS]
    rest: dict[Owner, list[PeakPart]] = defaultdict(list)
    for part in parts[MAX_PARTS:]:
        rest[part.owner].append(part)
    for owner, small in rest.items():
        sums = [sum(getattr(part, name) for part in small) for name in ("bytes", "storages", "made_bytes")]
        yield PeakPart("", owner, Moment("", replace(small[0].born.place, file="", line=0, function=""), ""), "", *sums)


def key_of(part: PeakPart) -> Key:
    """Return what tells a part from others."""
    born = part.born
    if born.operation:
        return born.place.file, born.place.line, born.place.function, born.module, born.phase, born.operation
    return part.owner, family(part.holder)


def whole(group: Sequence[tuple[PeakPart, int, int]]) -> PeakPart:
    """Return the part of some storages: each with its bytes at the peak and those that the step made."""
    ranked = sorted(group, key=lambda row: (-row[1], -row[2]))
    alive = [row for row in ranked if row[1]]
    nbytes = sum(row[1] for row in alive)
    names = [part.holder for part, *_ in alive if part.holder]
    made = max(nbytes, sum(row[2] for row in group))
    holder = common_title(names) if names else ""
    return replace(ranked[0][0], holder=holder, bytes=nbytes, storages=len(alive), made_bytes=made)
