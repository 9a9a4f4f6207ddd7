"""Savings of releasing storages after their last use, found by replaying lifetimes, best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gradlife.peaks.analysis.groups import Group
from gradlife.peaks.analysis.holder_snapshots import Gap
from gradlife.peaks.analysis.timeline import add, live_bytes, spans
from gradlife.peaks.analysis.uses import gaps
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_within

#: Least share of the peak for a saving to be reported; the list ends at this share of all savings.
MIN_SHARE = 0.005
ENOUGH = 0.95

#: A group is taken before another that needs all its edits and more, if it saves this share of what that one saves.
ENOUGH_OF_BEST = 0.8

#: Most groups to compare.
MAX_GROUPS = 60


@dataclass(frozen=True)
class PlannedSaving:
    """A saving made after those before it: the group, the new peak, and the bytes saved."""

    group: Group
    peak_after: int
    saved: int
    saved_alone: int  # without the savings before it


class Replay:
    """Replays the recorded lifetimes of one step on one device."""

    def __init__(self, recording: Recording, storages: Sequence[Storage], first: int, end: int) -> None:
        self._recording = recording
        self._storages = {storage.number: storage for storage in storages}
        self._ticks = range(tick_within(first), tick_within(end), 2)
        live = live_bytes(storages, recording.end)
        self._live = [live[tick] for tick in self._ticks]
        self._all: list[Group] = []
        self._reliefs: dict[int, list[int]] = {}

    @property
    def peak(self) -> int:
        """Return the recorded peak."""
        return max(self._live, default=0)

    def lower_bound(self) -> int:
        """Return the peak if each storage were freed at its last use."""
        return self.peak_if_freed((number, gap) for number, one in self._storages.items() for gap in gaps(one))

    def peak_after(self, groups: Iterable[Group]) -> int:
        """Return the peak if all storages of these groups were released."""
        return max(self._live_without(groups), default=0)

    def peak_if_freed(self, freed: Iterable[tuple[int, Gap]]) -> int:
        """Return the peak if storages were absent during these times."""
        return max(self._without(self._live, self._relief(freed)), default=0)

    def peak_at(self, groups: Iterable[Group]) -> int:
        """Return the operation of the peak that is left without these groups; the first of several."""
        live = self._live_without(groups)
        return self._ticks[max(range(len(live)), key=lambda at: (live[at], -at))] // 2

    def best_savings(self, groups: Iterable[Group]) -> list[PlannedSaving]:
        """Return the savings, those that lower the peak most first, until they make up enough of all."""
        self._all = list(groups)
        least = max(1.0, MIN_SHARE * self.peak)
        weighed = [(group, max(self._relief_of(group), default=0)) for group in self._all]
        left = sorted((one for one in weighed if one[1] >= least), key=lambda one: -one[1])
        chosen = self._choose([group for group, _ in left[:MAX_GROUPS]])
        return self.steps(self._needed(chosen))

    def steps(self, chosen: Sequence[Group]) -> list[PlannedSaving]:
        """Return the savings of groups in an order: what each saves after those before it, and alone."""
        now, found = self.peak, list[PlannedSaving]()
        for number, group in enumerate(chosen, 1):
            after = self.peak_after(chosen[:number])
            found.append(PlannedSaving(group, after, now - after, self.peak - self.peak_after([group])))
            now = after
        return found

    def _needed(self, chosen: Sequence[Group]) -> list[Group]:
        """Return the savings without those that lower nothing beside the others, the last ones first."""
        kept = list(chosen)
        for one in reversed(chosen):
            if not self._is_needed(one, kept):
                kept.remove(one)
        return kept

    def _choose(self, left: list[Group]) -> list[Group]:
        """Choose the best group, then the best of the rest, until enough of all is saved."""
        replaced = [one.instead_of for one in left]
        lowest = self.peak_after(one for one in left if not any(one is other for other in replaced))
        found, live = list[Group](), self._live
        while left and self.peak - max(live) < ENOUGH * (self.peak - lowest):
            top, live_after = max(range(len(live)), key=live.__getitem__), dict[int, list[int]]()
            for one in left:
                live_after[id(one)] = self._live_without([*found, one])
            best = min(left, key=lambda one: (max(live_after[id(one)]), live_after[id(one)][top]))
            gains = {id(one): max(live) - max(live_after[id(one)]) for one in left}
            best = simplest(best, left, gains)
            left = [one for one in left if not are_alternatives(one, best)]
            found.append(best)
            live = live_after[id(best)]
        return found

    def _is_needed(self, one: Group, chosen: Sequence[Group]) -> bool:
        """Whether the peak is higher without this saving. If two peaks are equal, two savings need each other."""
        others = [other for other in chosen if other is not one]
        if any(one.places < other.places for other in others):
            return True  # it was chosen before them for its fewer edits
        return self.peak_after(others) > self.peak_after(chosen) + MIN_SHARE * self.peak

    def _live_without(self, groups: Iterable[Group]) -> list[int]:
        """Return the live bytes after the edits of these groups, which also free storages that no other name holds."""
        chosen = list(groups)
        edited = frozenset[object]().union(*(group.places | group.graphs for group in chosen))
        freed = {id(group): group for group in (*chosen, *(one for one in self._all if one.places <= edited))}
        live = self._live
        for group in freed.values():
            live = self._without(live, self._relief_of(group))
        return live

    def _relief_of(self, group: Group) -> list[int]:
        if id(group) not in self._reliefs:
            self._reliefs[id(group)] = self._relief(group.freed)
        return self._reliefs[id(group)]

    def _relief(self, freed: Iterable[tuple[int, Gap]]) -> list[int]:
        """Return the bytes that are free in each operation if storages were freed for these times."""
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


def are_alternatives(one: Group, other: Group) -> bool:
    """Whether two groups release the same storages."""
    return one is other or one.instead_of is other or other.instead_of is one


def simplest(best: Group, groups: Iterable[Group], gains: Mapping[int, int]) -> Group:
    """Return a group that saves most of what the best one saves, with a part of its edits or plainer ones; else the
    best one.
    """
    enough = ENOUGH_OF_BEST * gains[id(best)]
    simpler = [one for one in groups if one.places < best.places or one is best.instead_of]
    fewer = [one for one in simpler if gains[id(one)] > enough]
    return max(fewer, key=lambda one: gains[id(one)], default=best)
