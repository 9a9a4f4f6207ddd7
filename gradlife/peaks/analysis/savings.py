"""What letting go saves: lifetimes replayed with storages freed at their last use, the best first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gradlife.model.peak.report import Owner, Use
from gradlife.peaks.analysis.timeline import add, live_bytes, spans
from gradlife.peaks.analysis.uses import gaps
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import Recording, Storage, within

#: The part of the peak from which on something is told, and the part of all savings at which the list ends.
LEAST_SHARE = 0.005
ENOUGH = 0.95

#: Groups that are weighed.
MOST_GROUPS = 60

#: The number of an item.
ITEM = re.compile(r"\[\d+\]")

#: What makes storages alike: the operation, the line and the module that made them.
Origin = tuple[str, object, str]


@dataclass
class Group:
    """Storages of one origin with one holder, all unused at the peak."""

    holder: Holder
    owner: Owner
    use: Use
    origin: Origin | None
    storages: list[Storage] = field(default_factory=list)

    def bytes_at(self, tick: int) -> int:
        """Their bytes at a tick."""
        return sum(one.bytes_at(tick) for one in self.storages)


@dataclass(frozen=True)
class Step:
    """A saving, after those before it: the group, the peak, and by how much it is lower."""

    group: Group
    peak_after: int
    saved: int


def origin_of(recording: Recording, storage: Storage) -> Origin | None:
    """Where a storage was made; None if no recorded operation made it."""
    if storage.birth is None:
        return None
    operation = recording.operations[storage.birth]
    return operation.function, operation.frame, operation.context


def grouped(recording: Recording, unused: Sequence[tuple[Storage, Use]], held: Mapping[int, Held]) -> list[Group]:
    """Unused storages by origin and holder, the largest groups first."""
    groups: dict[object, Group] = {}
    for storage, use in unused:
        who = held.get(storage.address, Held())
        origin = origin_of(recording, storage)
        holder = who.first
        key = (ITEM.sub("[...]", holder.text), who.owner, use, origin)
        groups.setdefault(key, Group(holder, who.owner, use, origin)).storages.append(storage)
    return list(groups.values())


class Replay:
    """Replays the recorded lifetimes of one step on one device."""

    def __init__(self, recording: Recording, storages: Sequence[Storage], first: int, end: int) -> None:
        self._recording = recording
        self._storages = storages
        self._ticks = range(within(first), within(end), 2)
        live = live_bytes(storages, recording.end)
        self._live = [live[tick] for tick in self._ticks]

    @property
    def peak(self) -> int:
        """The peak as it was recorded."""
        return max(self._live, default=0)

    def lower_bound(self) -> int:
        """The peak if each storage were freed at its last use."""
        return self._peak(self._live, self._relief(self._storages))

    def best_savings(self, groups: Sequence[Group], tick: int) -> list[Step]:
        """Savings in the order in which they lower the peak most, until enough of all is told."""
        least = max(1.0, LEAST_SHARE * self.peak)
        weighed = sorted(groups, key=lambda group: group.bytes_at(tick), reverse=True)[:MOST_GROUPS]
        left = [(group, self._relief(self._like(group))) for group in weighed if group.bytes_at(tick) >= least]
        wanted = ENOUGH * (self.peak - self._peak(self._live, *(relief for _, relief in left)))
        live, found, now = self._live, list[Step](), self.peak
        while left and self.peak - now < wanted:
            peaks = [self._peak(live, relief) for _, relief in left]
            best = min(range(len(left)), key=peaks.__getitem__)
            group, relief = left.pop(best)
            live = [one - other for one, other in zip(live, relief, strict=True)]
            found.append(Step(group, peaks[best], now - peaks[best]))
            now = peaks[best]
        return found

    def _like(self, group: Group) -> list[Storage]:
        """The storages of a group, and those of the same origin in other steps."""
        own = {storage.number for storage in group.storages}
        at_peak = group.storages[0]
        others = [
            one
            for one in self._storages
            if group.origin is not None
            and one.number not in own
            and not overlap(one, at_peak)
            and origin_of(self._recording, one) == group.origin
        ]
        return [*group.storages, *others]

    def _relief(self, storages: Sequence[Storage]) -> list[int]:
        """Bytes that are not alive in each operation if these were freed at their last use."""
        end = self._recording.end
        changes = [0] * (end + 2)
        for storage in storages:
            for gone, back in gaps(storage):
                for start, stop, nbytes in spans(storage, end):
                    add(changes, max(start, gone), min(stop, back), nbytes)
        total, relief = 0, []
        for change in changes:
            total += change
            relief.append(total)
        return [relief[tick] for tick in self._ticks]

    def _peak(self, live: Sequence[int], *reliefs: Sequence[int]) -> int:
        return max((one - sum(others) for one, *others in zip(live, *reliefs, strict=True)), default=0)


def overlap(one: Storage, other: Storage) -> bool:
    """Are both alive at some tick?"""
    return (one.died is None or other.born < one.died) and (other.died is None or one.born < other.died)
