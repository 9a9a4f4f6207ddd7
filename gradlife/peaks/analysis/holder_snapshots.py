"""Holders at some moments of a recording, and which of them keep a storage when it is no longer used.

An operation has two ticks: before it and within it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gradlife.peaks.analysis.bindings import end_of_binding
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.variables import Kind

#: The ticks during which a storage is alive without need, for example from its last use to its end.
Gap = tuple[int, int]

#: What makes storages alike: the operation that made them, the lines of its stack, the module, and which output they are.
Origin = tuple[str, object, str, int]


@dataclass(frozen=True)
class HolderSnapshot:
    """The holders of storages, by address, within one operation."""

    operation: int
    held: Mapping[int, Held]


def origin_of(recording: Recording, storage: Storage) -> Origin | None:
    """Return where a storage was made; None if no recorded operation made it."""
    if storage.birth is None:
        return None
    operation = recording.operations[storage.birth]
    return operation.function, tuple(operation.frames), operation.context, storage.place


class HolderSnapshots:
    """All snapshots of a recording. A snapshot in a later step counts as one at the same operation of the judged step."""

    def __init__(self, recording: Recording, snapshots: Sequence[HolderSnapshot], step: int) -> None:
        self._recording = recording
        end = recording.steps[step + 1] if step + 1 < len(recording.steps) else len(recording.operations)
        ours = [snapshot for snapshot in snapshots if snapshot.operation < end]
        later = [
            moved
            for snapshot in snapshots
            if snapshot.operation >= end and (moved := self._moved(snapshot, step)) is not None
        ]
        self._snapshots = sorted([*ours, *later], key=lambda snapshot: snapshot.operation)
        self._soonest = dict(self._soonest_by_origin())
        self._by_origin = defaultdict[Origin | None, list[Storage]](list)
        for storage in recording.storages:
            self._by_origin[origin_of(recording, storage)].append(storage)

    def __iter__(self) -> Iterator[HolderSnapshot]:
        return iter(self._snapshots)

    def at(self, operation: int) -> Mapping[int, Held]:
        """Return the holders within an operation; empty if none were read."""
        return next((snapshot.held for snapshot in self._snapshots if snapshot.operation == operation), {})

    def since(self, operation: int) -> Iterator[Mapping[int, Held]]:
        """Return the holders of each snapshot from an operation on."""
        return (snapshot.held for snapshot in self._snapshots if snapshot.operation >= operation)

    def all_held(self, storages: Sequence[Storage], operation: int) -> dict[int, Held]:
        """Return the holders of each storage within an operation, else the last known ones, by the storage's number.

        A storage may have the address of one that was freed before.
        """
        snapshots = sorted(self._snapshots, key=lambda snapshot: snapshot.operation == operation)
        return {
            one.number: held
            for snapshot in snapshots
            for one in storages
            if (held := held_in(snapshot, one)) is not None and one.bytes_at(tick_within(snapshot.operation))
        }

    def parts(self, storage: Storage, gap: Gap) -> Iterator[tuple[Gap, Held | None]]:
        """Yield the parts of an unused time with their holders; None if they are not known."""
        seen = self.seen(storage, gap)
        if seen:
            seen += self._later(*seen[-1], gap)
        origin = origin_of(self._recording, storage)
        sooner = self._soonest.get(origin) if seen and origin is not None else None
        if sooner is not None and sooner[0] < seen[0][0] - gap[0] // 2:
            seen.insert(0, (gap[0] // 2, with_graphs(sooner[1], seen[0][1])))
        start = gap[0]
        for number, (operation, held) in enumerate(seen):
            following = seen[number + 1] if number + 1 < len(seen) else None
            if following is not None and places(following[1]) == places(held):
                continue
            stop = gap[1] if following is None else self._border(storage, operation, held, *following)
            if start < min(stop, gap[1]):
                yield (start, min(stop, gap[1])), held
            start = max(start, stop)
        if not seen:
            yield gap, None

    def seen(self, storage: Storage, gap: Gap) -> list[tuple[int, Held]]:
        """Return the snapshots within a time that saw holders of the storage."""
        found = []
        for snapshot in self._snapshots:
            if gap[0] <= tick_within(snapshot.operation) < gap[1] and (held := held_in(snapshot, storage)) is not None:
                found.append((snapshot.operation, held))
        return found

    def _later(self, operation: int, held: Held, gap: Gap) -> Iterator[tuple[int, Held]]:
        """Who still holds it after the last snapshot, when local names are bound anew that others hold it beside."""
        last = min(gap[1] // 2, len(self._recording.operations))
        names = [one for one in held.holders if one.kind is Kind.LOCAL and one.is_simple]
        if not names or len(places(held)) <= len({one.place for one in names}):
            return
        ends = {one: end_of_binding(self._recording, one, operation, last) for one in names}
        for end in sorted({at for at in ends.values() if at < last}):
            yield end, Held([one for one in held.holders if ends.get(one, last) > end])

    def _border(self, storage: Storage, operation: int, held: Held, later: int, held_later: Held) -> int:
        """Return the tick at which the holders that are gone in the later snapshot released the storage."""
        gone = [one for one in held.holders if one.place not in places(held_later)]
        if not gone:
            return tick_before(operation + 1)
        return tick_before(max(self._end_of_holder(storage, one, operation, later) for one in gone))

    def _end_of_holder(self, storage: Storage, holder: Holder, operation: int, later: int) -> int:
        """Return the operation before which a holder released the storage.

        A loop whose body is one statement shows no operation between that and its next run. When the next storage of the
        same origin is read, the name holds that one, and the call that got this one as an argument has returned.
        """
        end = end_of_binding(self._recording, holder, operation, later)
        origin = origin_of(self._recording, storage)
        if origin is None or not self._is_bound_in_turn(holder, origin):
            return end
        made = (one for one in self._by_origin[origin] if (one.birth or 0) > (storage.birth or 0))
        return min([end, *(one.reads[0] for one in made if one.reads and one.reads[0] > operation)])

    def _is_bound_in_turn(self, holder: Holder, origin: Origin) -> bool:
        """Whether a name holds one storage of an origin after the other, or a call gets one after the other."""
        soonest = self._soonest.get(origin)
        is_name = holder.kind is Kind.LOCAL and holder.is_simple
        return holder.kind is Kind.OTHER or (is_name and soonest is not None and holder.place in places(soonest[1]))

    def _soonest_by_origin(self) -> Iterator[tuple[Origin, tuple[int, Held]]]:
        """Yield the snapshot soonest after a storage's last use, by origin: the operations in between, and the holders."""
        found: dict[Origin, tuple[int, Held]] = {}
        for storage in self._recording.storages:
            origin = origin_of(self._recording, storage)
            last = storage.reads[-1] if storage.reads else storage.birth
            if origin is None or last is None:
                continue
            for snapshot in self._snapshots:
                held, after = held_in(snapshot, storage), snapshot.operation - last
                if held is not None and after > 0 and (origin not in found or after < found[origin][0]):
                    found[origin] = after, held
        yield from found.items()

    def _moved(self, snapshot: HolderSnapshot, step: int) -> HolderSnapshot | None:
        """Move a snapshot of a later step to the judged step; None if the steps differ."""
        steps, operations = self._recording.steps, self._recording.operations
        later = max(number for number, first in enumerate(steps) if first <= snapshot.operation)
        shift = steps[later] - steps[step]
        ours = operations[steps[step] : snapshot.operation - shift + 1]
        theirs = operations[steps[later] : snapshot.operation + 1]
        if [one.function for one in ours] != [one.function for one in theirs]:
            return None
        twins = self._twins(shift)
        held = {twins[address]: held for address, held in snapshot.held.items() if address in twins}
        return HolderSnapshot(snapshot.operation - shift, held)

    def _twins(self, shift: int) -> dict[int, int]:
        """Map the address of each storage to that of its twin, made ``shift`` operations earlier; older ones to
        their own.
        """
        made = {(one.birth, one.place): one for one in self._recording.storages}
        found: dict[int, int] = {}
        for one in self._recording.storages:
            lasting = one if one.born == 0 else None
            twin = lasting if one.birth is None else made.get((one.birth - shift, one.place))
            if twin is not None and origin_of(self._recording, twin) == origin_of(self._recording, one):
                found |= dict.fromkeys((one.address, *one.aliases), twin.address)
        return found


def held_in(snapshot: HolderSnapshot, storage: Storage) -> Held | None:
    """Return the holders of a storage at a snapshot; None if the snapshot did not see it."""
    found = [snapshot.held[one] for one in (storage.address, *storage.aliases) if one in snapshot.held]
    return Held([holder for held in found for holder in held.holders]) if found else None


def with_graphs(held: Held, later: Held) -> Held:
    """Return the holders with the graphs of a later snapshot: a graph that holds a storage has saved it before."""
    graphs = [one for one in later.holders if one.kind is Kind.SAVED and one not in held.holders]
    return Held([*held.holders, *graphs])


def places(held: Held) -> frozenset[tuple[str, str, str, str]]:
    """Return the places that edits would change."""
    return frozenset(one.place for one in held.holders if one.can_let_go)


def is_only_in_dead_frames(holders: Sequence[Holder]) -> bool:
    """Whether only ended frames that a traceback keeps hold the storage."""
    return bool(holders) and all(one.kind is Kind.EXCEPTION for one in holders)
