"""Memory that is made before it is needed: a buffer at the top of a step, batches in a queue.

A statement can run later if it makes its tensors from nothing of this step: then nothing else must live longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gradlife.model.peak.report import Use
from gradlife.peaks.analysis.groups import LASTING, Group
from gradlife.peaks.analysis.holder_snapshots import HolderSnapshots
from gradlife.peaks.analysis.releases import Span, frame_of, runs, statement_span, written_name
from gradlife.peaks.analysis.savings import Replay
from gradlife.peaks.analysis.timeline import live_bytes
from gradlife.peaks.edits.names import stores_to
from gradlife.peaks.recording.holders import Holder
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.program import function_of, source_of, spot_at

#: Holders of something that a later line reads.
NAMING = frozenset({Kind.LOCAL, Kind.GLOBAL, Kind.ATTRIBUTE})


@dataclass(frozen=True)
class Run:
    """One run of a statement that stores new tensors under a name: the name, and the first and last operation."""

    holder: Holder
    first: int
    last: int


@dataclass(frozen=True)
class Early:
    """A storage that is held before its first read."""

    storage: Storage
    holder: Holder
    run: Run | None  # None: it is older than the recording
    read: int | None  # None: it is not read in the recorded steps


class Lags:
    """Finds the storages that some statement could make later."""

    def __init__(
        self, recording: Recording, storages: Sequence[Storage], snapshots: HolderSnapshots, replay: Replay
    ) -> None:
        self._recording = recording
        self._storages = storages
        self._snapshots = snapshots
        self._replay = replay

    def groups(self) -> Iterator[Group]:
        """Yield a group for each run of a statement that could run later, and one for all items of a queue."""
        by_place: dict[object, list[Early]] = defaultdict(list)
        for storage in self._storages:
            if (early := self._as_early(storage)) is not None:
                by_place[early.holder.place].append(early)
        for found in by_place.values():
            made = [one.run for one in found if one.run is not None]
            taken = {one.storage.final_bytes for one in found if one.run is None and one.read is not None}
            if made and taken:
                items = [one for one in found if one.storage.final_bytes in taken]
                yield self._group(items, made[0], [self._needed([one]) for one in items])
            elif made:
                yield from self._groups_by_run([one for one in found if one.read is not None])

    def _groups_by_run(self, found: Sequence[Early]) -> Iterator[Group]:
        by_run: dict[int, list[Early]] = defaultdict(list)
        for one in found:
            if one.run is not None:
                by_run[one.run.first].append(one)
        for together in by_run.values():
            run = together[0].run
            assert run is not None
            needed = self._needed(together)
            group = self._group(together, run, [needed] * len(together))
            if group.storages and self._fits(group, run, needed):
                yield group

    def _group(self, found: Sequence[Early], run: Run, needed: Sequence[int]) -> Group:
        """Return storages that are absent until they are needed."""
        group = Group((run.holder,), run.holder.owner, Use.LAG)
        for one, operation in zip(found, needed, strict=True):
            if one.storage.born < tick_before(operation):
                group.storages.append(one.storage)
                group.freed.append((one.storage.number, (one.storage.born, tick_before(operation))))
                group.texts[one.storage.number] = one.holder.text
        group.last = min((one.read for one in found if one.read is not None), default=0)
        return group

    def _as_early(self, storage: Storage) -> Early | None:
        """Return what is known of a storage that one name alone holds before its first read; None for any other."""
        if not storage.reads and storage.died is not None:
            return None
        read = storage.reads[0] if storage.reads else None
        until = tick_before(read) if read is not None else self._recording.end
        held = self._snapshots.seen(storage, (storage.born, until))
        names = {one.place: one for _, snapshot in held for one in snapshot.holders}
        [holder] = names.values() if len(names) == 1 else [None]
        if holder is None or holder.kind not in NAMING or holder.owner in LASTING:
            return None
        if storage.birth is None:
            return Early(storage, holder, None, read) if holder.path else None
        run = self._run_of(storage.birth, holder)
        is_content = not storage.overwrites or (run is not None and storage.overwrites[0] <= run.last)
        return Early(storage, holder, run, read) if run is not None and is_content else None

    def _run_of(self, birth: int, holder: Holder) -> Run | None:
        """Return the run of the statement that makes a storage for a name; None if it needs what this step makes."""
        operations = self._recording.operations
        for frame in operations[birth].frames:
            span = statement_span(frame)
            source = source_of(frame[0])
            function = function_of(source, frame[2], frame[1]) if source is not None else None
            spot = spot_at(function, frame[1]) if function is not None else None
            if span is not None and spot is not None and stores_to(spot.statement, written_name(holder)):
                first, last = self._reach(birth, span, -1), self._reach(birth, span, 1)
                place = replace(holder, kind=Kind.EARLY, file=frame[0], function=frame[2], line=int(frame[1]))
                return Run(place, first, last) if self._needs_nothing_before(first, last) else None
        return None

    def _reach(self, operation: int, span: Span, by: int) -> int:
        """Return the last operation of the statement's run, forwards (`by` is 1) or backwards (-1) from an operation of it."""
        operations = self._recording.operations
        while 0 <= operation + by < len(operations) and runs(operations[operation + by].frames, span):
            operation += by
        return operation

    def _needs_nothing_before(self, first: int, last: int) -> bool:
        """Whether these operations read nothing that operations before them have made."""
        read = (one for number in range(first, last + 1) for one in self._inputs.get(number, ()))
        return all(one.birth is None or first <= one.birth for one in read)

    @cached_property
    def _inputs(self) -> dict[int, list[Storage]]:
        found: dict[int, list[Storage]] = defaultdict(list)
        for storage in self._storages:
            for number in storage.reads:
                found[number].append(storage)
        return found

    def _needed(self, together: Sequence[Early]) -> int:
        """Return the first operation of the statement that is the first to read any of these storages."""
        reads = [(one.read, one.holder) for one in together if one.read is not None]
        if not reads:
            return len(self._recording.operations)
        read, holder = min(reads, key=lambda one: one[0])
        frame = frame_of(holder, self._recording.operations[read].frames)
        span = statement_span(frame) if frame is not None else None
        return self._reach(read, span, -1) if span is not None else read

    def _fits(self, group: Group, run: Run, needed: int) -> bool:
        """Whether the statement makes no new peak where it would run."""
        before, there = tick_before(run.first), tick_before(needed)
        extra = max(self._live[tick_within(number)] for number in range(run.first, run.last + 1)) - self._live[before]
        return self._live[there] - sum(one.bytes_at(there) for one in group.storages) + extra <= (
            self._replay.peak_if_freed(group.freed)
        )

    @cached_property
    def _live(self) -> list[int]:
        return live_bytes(self._storages, self._recording.end)
