"""Compare a peak with that of an earlier report: how much larger it is, and which of its parts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gradlife.model.peak.report import Cause, PartChange, PeakComparison, PeakPart, PeakReport
from gradlife.model.threshold import Threshold

#: Allowed without --fail-on, in per cent. Runs of one program with equal batches peak at the same byte; batches are not
#: always equal.
DEFAULT = Threshold(percent=1.0)

#: Changes below this share of the peak are left out of the comparison.
MIN_CHANGE = 0.001

#: Made as much as before: within this share.
AS_MUCH = 0.1

#: The line of a frame in what holds a storage.
LINE = re.compile(r":\d+(?=\))")

#: By what parts of two peaks are known to be the same, from the surest to the least sure.
Key = Callable[[PeakPart], tuple[object, ...]]


def with_comparison(report: PeakReport, before: PeakReport, file: str, threshold: Threshold | None) -> PeakReport:
    """Return the report with its comparison with an earlier one, read from a file."""
    return replace(report, against=compare_peaks(before, report, file, threshold or DEFAULT))


def compare_peaks(before: PeakReport, after: PeakReport, file: str, threshold: Threshold) -> PeakComparison:
    """Compare two peaks; what keeps them from being compared is the comparison's trouble."""
    sizes = before.peak_bytes, after.peak_bytes
    allowed = threshold.allowed_bytes(before.peak_bytes)
    spread = max(spread_of(before), spread_of(after))
    changes = sorted(changes_of(before, after), key=lambda one: -one.more_bytes) if before.parts and after.parts else []
    return PeakComparison(file, *sizes, allowed, spread, tuple(changes), trouble_of(before, after))


def trouble_of(before: PeakReport, after: PeakReport) -> str:
    """Return why two peaks cannot be compared; empty if they can be."""
    if not before.peak_bytes:
        return f"the earlier run has no peak: {before.trouble}"
    if not after.peak_bytes:
        return after.trouble
    if kind_of(before.device) != kind_of(after.device):
        return f"the earlier peak is on {before.device}, this one on {after.device}"
    if before.world_size != after.world_size:
        return f"the earlier run had {before.world_size:,} ranks, this one {after.world_size:,}"
    return ""


def kind_of(device: str) -> str:
    """Return a device without its number: cuda:1 is as good as cuda:0."""
    return device.partition(":")[0]


def spread_of(report: PeakReport) -> int:
    """Return by how many bytes the peaks of equal steps differ."""
    return max(report.step_peaks) - min(report.step_peaks) if report.step_peaks else 0


def changes_of(before: PeakReport, after: PeakReport) -> Iterator[PartChange]:
    """Yield each part of the peak that changed."""
    least = MIN_CHANGE * max(before.peak_bytes, after.peak_bytes)
    for then, now in pairs_of(list(before.parts), list(after.parts)):
        old, new = then.bytes if then is not None else 0, now.bytes if now is not None else 0
        part = now or then
        if part is not None and abs(new - old) > least:
            yield PartChange(part, cause_of(then, now), old, new)


def cause_of(then: PeakPart | None, now: PeakPart | None) -> Cause:
    """Return why a part changed."""
    if then is None:
        return Cause.NEW
    if now is None:
        return Cause.GONE
    is_alike = abs(now.made_bytes - then.made_bytes) <= AS_MUCH * max(now.made_bytes, then.made_bytes)
    if now.bytes > then.bytes:
        return Cause.LONGER if is_alike else Cause.LARGER
    return Cause.SHORTER if is_alike else Cause.SMALLER


def pairs_of(then: list[PeakPart], now: list[PeakPart]) -> Iterator[tuple[PeakPart | None, PeakPart | None]]:
    """Yield the parts of two peaks, the same ones as pairs."""
    for key in (by_line, by_statement, by_operation, by_owner):
        known: dict[tuple[object, ...], list[PeakPart]] = {}
        for part in then:
            known.setdefault(key(part), []).append(part)
        for part in [*now]:
            same = known.get(key(part))
            if same:
                old = same.pop(0)
                then.remove(old)
                now.remove(part)
                yield old, part
    yield from ((part, None) for part in then)
    yield from ((None, part) for part in now)


def by_line(part: PeakPart) -> tuple[object, ...]:
    """Return the line with its number: a line that did not move is the same one."""
    return (*by_statement(part), part.born.place.line)


def by_statement(part: PeakPart) -> tuple[object, ...]:
    """Return the text of the line, which stays when the line moves."""
    return (*by_operation(part), part.source)


def by_operation(part: PeakPart) -> tuple[object, ...]:
    """Return the function and the operation, which stay when the line changes; what no operation made, by its holder."""
    born = part.born
    if not born.operation:
        return part.owner, LINE.sub("", part.holder)
    return os.path.basename(born.place.file), born.place.function, born.module, born.phase, born.operation


def by_owner(part: PeakPart) -> tuple[object, ...]:
    """Return the owner of what no operation made, such as parameters; anything else is known by its line only."""
    return (part.owner,) if not part.born.operation else (id(part),)
