"""The live bytes of a step over its operations, by owner and by the line that makes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

from gradlife.model.peak.report import Band, Owner, Phase, Picture, Place
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_within

#: Most marks of a picture, and most lines with a band of their own; an owner's other lines share a band.
MAX_MARKS = 200
MAX_LINES = 24

#: What the storages of a band share: the owner, the line, the module.
Key = tuple[Owner, Place, str]


class Painter:
    """Builds the picture of one step."""

    def __init__(self, recording: Recording, storages: Sequence[Storage], first: int, end: int) -> None:
        self._recording = recording
        self._storages = [
            one
            for one in storages
            if one.born <= tick_within(end) and (one.died is None or one.died > tick_within(first))
        ]
        self._first, self._end = first, end

    def picture(self, key_of: Callable[[Storage], Key], phase_of: Callable[[int], str], live: Sequence[int]) -> Picture:
        """Build the picture. ``key_of`` returns the band of a storage; ``live`` has all bytes at each tick."""
        marks = self._marks(live)
        groups: dict[Key, list[Storage]] = defaultdict(list)
        for storage in self._storages:
            groups[key_of(storage)].append(storage)
        most = {key: max(self._bytes(group, marks)) for key, group in groups.items()}
        shown = set(sorted(groups, key=lambda key: -most[key])[:MAX_LINES])
        merged: dict[Key, list[Storage]] = defaultdict(list)
        for key, group in groups.items():
            merged[key if key in shown else (key[0], Place(), "")].extend(group)
        peak = max(range(len(marks)), key=lambda at: (live[tick_within(marks[at])], -at))
        order = list(Owner)
        keys = sorted(merged, key=lambda key: (order.index(key[0]), -max(self._bytes(merged[key], marks))))
        bands = tuple(self._band(key, merged[key], marks, marks[peak]) for key in keys)
        return Picture(tuple(mark - self._first for mark in marks), self._phases(phase_of), bands, peak)

    def _marks(self, live: Sequence[int]) -> list[int]:
        """Return the operations to show: of neighbours that share a mark, the one with the most bytes."""
        count = self._end - self._first
        bins = min(count, MAX_MARKS)
        borders = [self._first + count * number // bins for number in range(bins + 1)]
        return [
            max(range(start, stop), key=lambda number: (live[tick_within(number)], -number))
            for start, stop in pairwise(borders)
        ]

    def _bytes(self, group: Sequence[Storage], marks: Sequence[int]) -> list[int]:
        return [sum(one.bytes_at(tick_within(mark)) for one in group) for mark in marks]

    def _band(self, key: Key, group: Sequence[Storage], marks: Sequence[int], peak: int) -> Band:
        owner, place, module = key
        alive = [one for one in group if one.bytes_at(tick_within(peak))]
        largest = max(alive or group, key=lambda one: max(nbytes for _, nbytes in one.sizes))
        reads = [number - self._first for number in largest.reads]
        return Band(
            owner,
            place,
            module,
            tuple(self._bytes(group, marks)),
            len(alive),
            largest.born // 2 - self._first,
            reads[0] if reads else None,
            reads[-1] if reads else None,
            largest.died // 2 - self._first if largest.died is not None else None,
        )

    def _phases(self, phase_of: Callable[[int], str]) -> tuple[Phase, ...]:
        """Return the stretches of one phase each; a single operation of another phase joins the stretch before it."""
        found: list[Phase] = []
        for name, numbers in groupby(range(self._first, self._end), key=phase_of):
            run = list(numbers)
            first, end = run[0] - self._first, run[-1] + 1 - self._first
            if found and (found[-1].name == name or (len(run) == 1 and len(found) > 1)):
                found[-1] = Phase(found[-1].name, found[-1].first, end)
            else:
                found.append(Phase(name, first, end))
        return tuple(found)
