"""What letting go saves: lifetimes replayed with storages freed at their last use, the best first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gradlife.peaks.analysis.groups import Gap, Group
from gradlife.peaks.analysis.timeline import add, live_bytes, spans
from gradlife.peaks.analysis.uses import gaps
from gradlife.peaks.recording.lifetimes import Recording, Storage, within

#: Savings from this share of the peak on are reported; the list ends at this share of all savings.
LEAST_SHARE = 0.005
ENOUGH = 0.95

#: Groups that are weighed.
MOST_GROUPS = 60


@dataclass(frozen=True)
class Step:
    """A saving, after those before it: the group, the peak, and by how much it is lower."""

    group: Group
    peak_after: int
    saved: int
    saved_alone: int  # without those before it


class Replay:
    """Replays the recorded lifetimes of one step on one device."""

    def __init__(self, recording: Recording, storages: Sequence[Storage], first: int, end: int) -> None:
        self._recording = recording
        self._storages = {storage.number: storage for storage in storages}
        self._ticks = range(within(first), within(end), 2)
        live = live_bytes(storages, recording.end)
        self._live = [live[tick] for tick in self._ticks]

    @property
    def peak(self) -> int:
        """The peak as it was recorded."""
        return max(self._live, default=0)

    def lower_bound(self) -> int:
        """The peak if each storage were freed at its last use."""
        freed = ((number, gap) for number, storage in self._storages.items() for gap in gaps(storage))
        return max(self._without(self._live, self._relief(freed)), default=0)

    def peak_after(self, groups: Iterable[Group]) -> int:
        """The peak if all that these groups have were let go."""
        live = self._live
        for group in groups:
            live = self._without(live, self._relief(group.freed))
        return max(live, default=0)

    def best_savings(self, groups: Iterable[Group]) -> list[Step]:
        """Savings in the order in which they lower the peak most, until enough of them is reported."""
        least = max(1.0, LEAST_SHARE * self.peak)
        weighed = [(group, self._relief(group.freed)) for group in groups]
        left = sorted((one for one in weighed if max(one[1], default=0) >= least), key=lambda one: -max(one[1]))
        left = left[:MOST_GROUPS]
        chosen = self._choose(left, self._peak_without(left))
        return self._steps([one for one in chosen if self._is_needed(one, chosen)])

    def _choose(self, left: Weighed, lowest: int) -> Weighed:
        """The best group, then the best of what is left, until enough of all is saved."""
        live, found, left = self._live, list[tuple[Group, list[int]]](), list(left)
        while left and self.peak - max(live) < ENOUGH * (self.peak - lowest):
            top = max(range(len(live)), key=live.__getitem__)
            best = min(left, key=lambda one: (max(self._without(live, one[1])), -one[1][top]))
            left.remove(best)
            found.append(best)
            live = self._without(live, best[1])
        return found

    def _is_needed(self, one: tuple[Group, list[int]], chosen: Weighed) -> bool:
        """Is the peak higher without this one? Where two peaks are equal, each of two is needed for the other."""
        others = [other for other in chosen if other is not one]
        return self._peak_without(others) > self._peak_without(chosen) + LEAST_SHARE * self.peak

    def _steps(self, chosen: Weighed) -> list[Step]:
        live, now, found = self._live, self.peak, list[Step]()
        for group, relief in chosen:
            live = self._without(live, relief)
            alone = self.peak - max(self._without(self._live, relief))
            found.append(Step(group, max(live), now - max(live), alone))
            now = max(live)
        return found

    def _peak_without(self, chosen: Weighed) -> int:
        live = self._live
        for _, relief in chosen:
            live = self._without(live, relief)
        return max(live, default=0)

    def _relief(self, freed: Iterable[tuple[int, Gap]]) -> list[int]:
        """Bytes that are not alive in each operation if storages were freed for these times."""
        end = self._recording.end
        changes = [0] * (end + 2)
        for number, (gone, back) in freed:
            for start, stop, nbytes in spans(self._storages[number], end):
                add(changes, max(start, gone), min(stop, back), nbytes)
        total, relief = 0, []
        for change in changes:
            total += change
            relief.append(total)
        return [relief[tick] for tick in self._ticks]

    def _without(self, live: Sequence[int], relief: Sequence[int]) -> list[int]:
        return [one - other for one, other in zip(live, relief, strict=True)]


#: Groups with what each takes off the live bytes, by operation.
Weighed = Sequence[tuple[Group, list[int]]]
