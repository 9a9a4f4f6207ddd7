"""The moments at which to read holders: the peak, the peak left without its unused storages, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gradlife.peaks.analysis.timeline import add, live_bytes, main_device, on_device, peak_operation, spans
from gradlife.peaks.analysis.uses import gaps, zeroed_gaps
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_within

#: Most moments: each forks the process once.
MAX_SNAPSHOTS = 6

#: Least share of unused bytes for a moment's holders to be read.
MIN_UNUSED = 0.005

#: The ticks from the last use to the end.
Gap = tuple[int, int]


def highest_step(recording: Recording) -> int:
    """Return the number of the recorded step with the highest peak; the first of several."""
    live = live_bytes(on_device(recording, main_device(recording)), recording.end)
    steps = pairwise(recording.steps)
    peaks = [max((live[tick_within(at)] for at in range(first, end)), default=0) for first, end in steps]
    return max(range(len(peaks)), key=lambda number: (peaks[number], -number))


def scout_peaks(recording: Recording, step: int) -> list[int]:
    """Return the moments of a recorded step, as operations after its beginning."""
    first, end = recording.steps[step], recording.steps[step + 1]
    if first >= end:
        return []
    storages = on_device(recording, main_device(recording))
    live = live_bytes(storages, recording.end)
    found: list[int] = []
    left = {one.number: (one, [*gaps(one), *zeroed_gaps(one, recording)]) for one in storages}
    while len(found) < MAX_SNAPSHOTS:
        operation = peak_operation(live, first, end)
        tick = tick_within(operation)
        unused = [one for one, times in left.values() if any(start <= tick < stop for start, stop in times)]
        if found and sum(one.bytes_at(tick) for one in unused) < MIN_UNUSED * live[tick]:
            break
        found.append(operation - first)
        if not unused:
            break
        let_go(live, [left.pop(one.number) for one in unused], recording.end)
    return sorted(found)


def let_go(live: list[int], gone: Sequence[tuple[Storage, list[Gap]]], end: int) -> None:
    """Subtract storages from the live bytes while they are unused."""
    changes = [0] * (len(live) + 1)
    for storage, times in gone:
        for start, stop in times:
            for begin, finish, nbytes in spans(storage, end):
                add(changes, max(begin, start), min(finish, stop, len(live)), -nbytes)
    total = 0
    for tick in range(len(live)):
        total += changes[tick]
        live[tick] += total
