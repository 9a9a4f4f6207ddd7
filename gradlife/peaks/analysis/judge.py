"""Judges one recorded step and builds the report."""

from __future__ import annotations

import ast
import itertools
import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from gradlife.model.peak.report import (
    Edit,
    Moment,
    Owner,
    OwnerShare,
    PeakPart,
    PeakReport,
    Picture,
    Place,
    ProcessMemory,
    Saving,
    UnreadMemory,
    Use,
)
from gradlife.peaks.analysis.checkpoints import checkpoint_table
from gradlife.peaks.analysis.graphs import join_graphs, related, stacks_of
from gradlife.peaks.analysis.groups import LASTING, Group, grouped
from gradlife.peaks.analysis.holder_snapshots import (
    HolderSnapshot,
    HolderSnapshots,
    Origin,
    held_in,
    is_only_in_dead_frames,
    origin_of,
)
from gradlife.peaks.analysis.lags import Lags
from gradlife.peaks.analysis.parts import parts_of
from gradlife.peaks.analysis.passed_names import passed_groups
from gradlife.peaks.analysis.picture import Key, Painter
from gradlife.peaks.analysis.retained import needless_retain
from gradlife.peaks.analysis.saved_unread import is_freed_in_backward
from gradlife.peaks.analysis.savings import PlannedSaving, Replay
from gradlife.peaks.analysis.timeline import is_accelerator, live_bytes, main_device, on_device, peak_operation
from gradlife.peaks.analysis.unread import UnreadStorages, is_never_read
from gradlife.peaks.analysis.unread_gradients import UnreadGradients, with_group
from gradlife.peaks.analysis.uses import are_zeros_read, use_at
from gradlife.peaks.edits.advice import GraphMakers, Life, dropped_statements, edits_for
from gradlife.peaks.recording.holders import Held
from gradlife.peaks.recording.lifetimes import OPTIMIZER, Frame, Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.variables import Kind
from gradlife.peaks.sources.folder import short_file
from gradlife.safe_access import member

#: torch's device type numbers.
DEVICES = {0: "cpu", 1: "cuda", 6: "hip", 9: "xla", 12: "xpu", 13: "mps"}

#: The device type of backends outside of torch, which name it themselves.
PRIVATE = 20

#: Whether a backward pass runs an operation.
BACKWARD = attrgetter("in_backward")

#: Why there is no peak although enough steps were recorded.
NOTHING_RAN = "no operation of the judged step used memory"

#: The numbers in the path of a module.
MODULE_NUMBERS = re.compile(r"(?<![^.])\d+(?![^.])")

#: Savings below this share of the peak are ignored.
MIN_SAVING = 0.02


@dataclass(frozen=True)
class Recorded:
    """A recording, and the holders at some of its moments."""

    recording: Recording
    snapshots: Sequence[HolderSnapshot]
    step: int  # the number of the judged step among the recorded ones
    seconds: Mapping[str, float] = field(default_factory=dict)  # forward time of each module; "": time of the steps
    malloc: Mapping[int, tuple[int, int]] = field(
        default_factory=dict
    )  # by operation: the bytes that malloc handed out, and those for gradlife's records


def device_name(device: int) -> str:
    """Return the name of a device, such as ``cuda:0``."""
    number = device & 0xFF
    kind = private_name() if number == PRIVATE else DEVICES.get(number, f"device type {number}")
    return kind if kind == "cpu" else f"{kind}:{device >> 8}"


def private_name() -> str:
    """Return the name that a backend outside of torch gave its devices."""
    name = getattr(member("torch", "_C"), "_get_privateuse1_backend_name", lambda: "privateuseone")
    return str(name())


def judged(recorded: Recorded, report: PeakReport) -> PeakReport:
    """Return the report with the peak of the judged step."""
    return Judge(recorded).report(report)


def end_in_dead_frames(recording: Recording, snapshots: Sequence[HolderSnapshot]) -> None:
    """End storages that only traceback frames hold at the end of the recording: such frames never run again."""
    for storage in recording.storages:
        if storage.died is None:
            found = [held.holders for snapshot in snapshots if (held := held_in(snapshot, storage)) is not None]
            if any(found) and all(map(is_only_in_dead_frames, found)):
                storage.died = recording.end


class Judge:
    """Judges one step of a recording."""

    def __init__(self, recorded: Recorded) -> None:
        self._recording = recording = recorded.recording
        self._first, self._end = recording.steps[recorded.step], recording.steps[recorded.step + 1]
        end_in_dead_frames(recording, recorded.snapshots)
        self._seconds, self._malloc = recorded.seconds, recorded.malloc
        self._unread = UnreadGradients(recording, recorded.snapshots)
        self._snapshots = HolderSnapshots(recording, self._unread.snapshots(), recorded.step)
        self._held: dict[int, Held] = {}
        self._device = main_device(recording)
        self._device_name = device_name(self._device)
        self._storages = on_device(recording, self._device)
        self._groups: list[Group] = []

    def report(self, report: PeakReport) -> PeakReport:
        """Complete the report; if there is nothing to judge, say so."""
        live = live_bytes(self._storages, self._recording.end)
        operation = peak_operation(live, self._first, self._end) if self._first < self._end else self._first
        if self._first >= self._end or not live[tick_within(operation)]:
            return replace(report, trouble=report.trouble or NOTHING_RAN)
        alive = [one for one in self._storages if one.bytes_at(tick_within(operation))]
        uses = {one.number: use_at(one, operation) for one in alive}
        uses |= {one.number: Use.VOID for one in alive if one.number in self._unread.numbers}
        self._held = self._snapshots.all_held(self._storages, operation)
        uses |= {one.number: Use.UNREAD for one in alive if self.is_never_read(one)}
        uses |= {one.number: Use.UNREAD for one in alive if one.number in self._unread.waiting}
        uses |= {one.number: Use.REUSED for one in alive if self.is_reused(one, uses[one.number], operation)}
        replay = Replay(self._recording, self._storages, self._first, self._end)
        steps = replay.steps(self.sorted_by_dependency([one.group for one in replay.best_savings(self.groups())]))
        savings = self.savings(steps, replay.peak)
        proven = [step.group for step, saving in zip(steps, savings, strict=False) if saving.is_provable]
        return PeakReport(
            report.target,
            report.stepped_by,
            self._device_name,
            len(self._recording.steps) - 1,
            report.warmup_steps,
            self._end - self._first,
            live[tick_within(operation)],
            self.moment(operation),
            self.shares(alive, uses, operation),
            self.use_bytes(alive, uses, operation),
            savings,
            min([replay.lower_bound(), *(one.peak_after for one in savings)]),
            replay.peak_after(proven),
            self.picture(live),
            checkpoint_table(self._recording, self.saved_activations(), replay, self._seconds),
            self.memory(live),
            self.unread(operation, live[tick_within(operation)]),
            limits=(*report.limits, *self.other_devices(live[tick_within(operation)])),
            fail_on=report.fail_on,
            parts=tuple(parts_of(self._storages, operation, self.part_of, self._first, self._end)),
            step_peaks=tuple(self.peaks_of_equal_steps(live)),
        )

    def part_of(self, storage: Storage) -> PeakPart:
        """Return what a storage is a part of, without sizes."""
        owner = self.owner(storage, self._first)
        holder = self._held.get(storage.number, Held()).first
        text = holder.text if owner not in LASTING and holder.name else ""
        if storage.birth is None:
            return PeakPart(text, owner, NOWHERE, "", 0, 0, 0)
        born = self.moment(storage.birth)
        frame = self._recording.operations[storage.birth].frame
        source = linecache.getline(frame[0], frame[1]).strip() if frame is not None else ""
        return PeakPart(text, owner, replace(born, module=MODULE_NUMBERS.sub("*", born.module)), source, 0, 0, 0)

    def peaks_of_equal_steps(self, live: list[int]) -> Iterator[int]:
        """Yield the peak of each recorded step that runs as many operations as the judged one."""
        for first, end in itertools.pairwise(self._recording.steps):
            if end - first == self._end - self._first:
                yield live[tick_within(peak_operation(live, first, end))]

    def other_devices(self, peak: int) -> Iterator[str]:
        """Yield a sentence for each other accelerator in use, and for another device if it has more memory in use."""
        for device in sorted({one.device for one in self._recording.storages} - {self._device}):
            live = live_bytes(on_device(self._recording, device), self._recording.end)
            most = live[tick_within(peak_operation(live, self._first, self._end))]
            if most > (MIN_SAVING * peak if is_accelerator(device) else peak):
                yield f"Memory on {device_name(device)} is not in this report: {most:,} bytes at its peak in this step."

    def groups(self) -> list[Group]:
        """Return the unused storages, grouped by the names that hold them: all of these must let go for memory to be freed."""
        groups = grouped(self._recording, self._storages, self._snapshots, self._first, self._end)
        join_graphs(self._recording, groups)
        replay = Replay(self._recording, self._storages, self._first, self._end)
        early = Lags(self._recording, self._storages, self._snapshots, replay).groups()
        known = with_group(groups, self._unread.group())
        self._groups = [*known, *early, *passed_groups(self._recording, known)]
        return self._groups

    def other_peaks(self) -> list[int]:
        """Return the operations at which the memory peaks after each saving, where no snapshot of holders was taken."""
        if self._first >= self._end or not self._storages:
            return []
        replay = Replay(self._recording, self._storages, self._first, self._end)
        chosen = [step.group for step in replay.best_savings(self.groups())]
        found = {replay.peak_at(chosen[:number]) for number in range(1, len(chosen) + 1)}
        return sorted(operation - self._first for operation in found if not self._snapshots.at(operation))

    def picture(self, live: Sequence[int]) -> Picture:
        """Return the live bytes over the step."""
        painter = Painter(self._recording, self._storages, self._first, self._end)
        owners = self.owners_by_origin()

        def key(storage: Storage) -> Key:
            owner = self.owner(storage, self._first)
            if storage.number not in self._held:
                owner = owners.get(origin_of(self._recording, storage), owner)
                owner = Owner.GRADIENT if self.is_gradient(storage) else owner
            operation = self._recording.operations[storage.birth] if storage.birth is not None else None
            place = place_of(operation.frame) if operation is not None else Place()
            return owner, replace(place, function=""), operation.context if operation is not None else ""

        return painter.picture(key, lambda number: self.moment(number).phase, live)

    def is_never_read(self, storage: Storage) -> bool:
        """Whether nothing reads a storage in the recording that code may read which did not run."""
        return is_never_read(self._recording, storage, self._held.get(storage.number, Held()))

    def is_reused(self, storage: Storage, use: Use, operation: int) -> bool:
        """Whether something else is written to a storage before it is read, and no edit could free it until then."""
        is_unused = use in (Use.DRAG, Use.VOID) and self.owner(storage, operation) is not Owner.GRADIENT
        return is_unused and storage.next_overwrite(operation) is not None

    def unread(self, operation: int, peak: int) -> tuple[UnreadMemory, ...]:
        """Return what nothing reads from the judged step on, although it outlives the recording."""
        ours = Recording(self._recording.operations, self._storages, self._recording.steps)
        found = UnreadStorages(ours, self._held, self._first, operation, self._unread.waiting)
        return tuple(found.rows(peak, self._device_name == "cpu"))

    def is_gradient(self, storage: Storage) -> bool:
        """Whether a backward pass makes the storage and an optimizer reads it."""
        operations = self._recording.operations
        is_made = storage.birth is not None and operations[storage.birth].in_backward
        readers = (operations[at] for at in storage.reads)
        return is_made and any(one.context == OPTIMIZER and not one.in_backward for one in readers)

    def owners_by_origin(self) -> dict[Origin | None, Owner]:
        """Return the owner of storages by origin, as far as holders of one are known."""
        seen = (one for one in self._storages if one.birth is not None and one.number in self._held)
        return {origin_of(self._recording, one): self.owner(one, self._first) for one in seen}

    def saved_activations(self) -> list[Storage]:
        """Return the storages that the forward pass of this step made and that graphs save."""
        made = (one for one in self._storages if one.birth is not None and self._first <= one.birth < self._end)
        owners = self.owners_by_origin()
        is_saved = {origin for origin, owner in owners.items() if owner is Owner.SAVED}
        return [
            one
            for one in made
            if origin_of(self._recording, one) in is_saved
            and not self._recording.operations[one.birth or 0].in_backward
        ]

    def memory(self, live: Sequence[int]) -> ProcessMemory | None:
        """Return how much malloc memory grew from the step's beginning to the highest peak at which it was read."""
        ours = [operation for operation in self._malloc if self._first <= operation < self._end]
        if self._device_name != "cpu" or len(ours) < 2 or self._first not in ours:
            return None
        last = max(ours, key=lambda operation: live[tick_within(operation)])
        (start, own), (end, own_then) = self._malloc[self._first], self._malloc[last]
        recorded = live[tick_within(last)] - live[tick_before(self._first)]
        return ProcessMemory(end - start, recorded, own_then - own)

    def shares(self, alive: Sequence[Storage], uses: Mapping[int, Use], operation: int) -> tuple[OwnerShare, ...]:
        """Return the peak by owner, largest first."""
        rows: dict[Owner, list[int]] = defaultdict(lambda: [0, 0, 0])
        for storage in alive:
            row, nbytes = rows[self.owner(storage, operation)], storage.bytes_at(tick_within(operation))
            row[0] += nbytes
            row[1] += 1
            row[2] += nbytes * (uses[storage.number] in (Use.DRAG, Use.VOID))
        shares = [OwnerShare(owner, *row) for owner, row in rows.items()]
        return tuple(sorted(shares, key=lambda share: -share.bytes))

    def owner(self, storage: Storage, operation: int) -> Owner:
        """Return what a storage is for. A storage that only names hold, and that appeared during the steps although no
        operation made it, is an input.
        """
        owner = self._held.get(storage.number, Held()).owner
        if owner is not Owner.NAMED or storage.birth is not None:
            return owner
        return Owner.INPUT if storage.born >= 2 * self._recording.steps[0] + 1 else owner

    def use_bytes(self, alive: Sequence[Storage], uses: Mapping[int, Use], operation: int) -> dict[str, int]:
        """Return the bytes of the peak by use."""
        found: Counter[str] = Counter({use.value: 0 for use in Use})
        for storage in alive:
            found[uses[storage.number].value] += storage.bytes_at(tick_within(operation))
        return dict(found)

    def savings(self, steps: Sequence[PlannedSaving], peak: int) -> tuple[Saving, ...]:
        """Return the savings; none if all together are too small to be worth an edit."""
        if sum(one.saved for one in steps) < MIN_SAVING * peak:
            return ()
        found: list[Saving] = []
        dropped: list[ast.stmt] = []
        for step in steps:
            life = self.life(step.group)
            own = dropped_statements(step.group.holders, life)
            gone = dropped if own or not life.in_backward else []  # a graph that saves it frees it later than a name
            edits = edits_for(step.group.holders, life, gone)
            needs_others = bool(gone) and edits != edits_for(step.group.holders, life)
            found.append(replace(self.saving(step, edits), needs_others=needs_others))
            dropped += own if found[-1].is_provable else []
        return tuple(found)

    def sorted_by_dependency(self, groups: Sequence[Group]) -> list[Group]:
        """Sort the groups by dependency: the diff of one edit may be possible only after another edit removed a statement."""
        lives = {id(one): self.life(one) for one in groups}
        order = list(groups)
        for number, group in enumerate(groups):
            for other in groups[number + 1 :]:
                gone = dropped_statements(other.holders, lives[id(other)])
                now, then = (edits_for(group.holders, lives[id(group)], without) for without in ([], gone))
                if gone and not all(one.changes for one in now) and all(one.changes for one in then):
                    order.remove(other)
                    order.insert(order.index(group), other)
        return order

    def saving(self, step: PlannedSaving, edits: Sequence[Edit]) -> Saving:
        """Describe one saving for the report."""
        group = step.group
        storage = group.largest()
        gone = storage.died // 2 if storage.died is not None else None
        return Saving(
            group.title,
            group.owner,
            group.use,
            *self.most_at_once(group),
            self.moment(storage.birth) if storage.birth is not None else NOWHERE,
            self.moment(group.last) if group.use is Use.DRAG and group.last >= 0 else None,
            self.moment(gone) if gone is not None and gone < len(self._recording.operations) else None,
            step.saved,
            step.peak_after,
            self.count_step_begins(group.last, gone)
            if group.use is not Use.LAG
            else self.count_step_begins(storage.birth or 0, group.last),
            step.saved_alone,
            tuple(map(with_short_file, edits)),
            self.moment(group.last) if group.use is Use.LAG else None,
        )

    def life(self, group: Group) -> Life:
        """Return the facts that the choice of an edit needs."""
        operations, birth = self._recording.operations, group.largest().birth
        last = operations[group.last] if group.last >= 0 else None  # None: nothing recorded has used it
        return Life(
            operations[birth].frames if birth is not None else (),
            last.frames if last is not None else (),
            last is not None and last.in_backward,
            self.is_graph_read(group),
            operations[group.zeroing].frames if group.zeroing is not None else (),
            group.zeroing is not None and are_zeros_read(self._recording, group.zeroing),
            tuple(filter(None, [needless_retain(self._recording, group.last)])) if last is not None else (),
            self.graph_makers(group),
        )

    def graph_makers(self, group: Group) -> GraphMakers | None:
        """Return the operations that make the graph of a group; None if a backward pass reads it."""
        parts = related(self._groups, group)
        stacks = [stack for part in parts for stack in stacks_of(self._recording, part)]
        names = [one for part in parts for one in part.holders if one.kind is Kind.SAVED and one.name]
        training = self.training_frames(group.graphs) if stacks else frozenset()
        return GraphMakers(tuple(dict.fromkeys(stacks)), tuple(dict.fromkeys(names)), training) if stacks else None

    def training_frames(self, graphs: frozenset[object]) -> frozenset[Frame]:
        """Return the frames that train: those of backward passes, and of operations whose outputs a backward pass reads
        although none of `graphs` saves them.
        """
        operations = self._recording.operations
        read = [one for one in self._storages if any(operations[at].in_backward for at in one.reads)]
        ours = {origin_of(self._recording, one) for one in read if not graphs.isdisjoint(self.saving_graphs(one))}
        others = (one for one in read if one.birth is not None and origin_of(self._recording, one) not in ours)
        made = (operations[one.birth or 0] for one in others)
        return frozenset(frame for one in (*filter(BACKWARD, operations), *made) for frame in one.frames)

    def saving_graphs(self, storage: Storage) -> frozenset[object]:
        """Return the graphs that save a storage at any snapshot."""
        found = (held_in(snapshot, storage) for snapshot in self._snapshots)
        return frozenset[object]().union(*(saved_places(held) for held in found if held is not None))

    def is_graph_read(self, group: Group) -> bool:
        """Whether a backward pass goes through the graphs of this group: it frees them, or reads what only they save."""
        if not any(one.kind is Kind.SAVED for one in group.holders):
            return False
        if any(is_freed_in_backward(self._recording, storage) for storage in group.storages):
            return True
        ours = {storage.address for storage in group.storages}
        read = [one for one in self._storages if any(self._recording.operations[at].in_backward for at in one.reads)]
        return any(self._is_saved_only_by(one, ours) for one in read)

    def _is_saved_only_by(self, one: Storage, ours: Iterable[int]) -> bool:
        """Whether only graphs that save our storages save this one, once the forward pass has used it last."""
        operations = self._recording.operations
        last = max((at for at in one.reads if not operations[at].in_backward), default=0)
        for held in self._snapshots.since(last):
            graphs = frozenset[object]().union(*(saved_places(held[address]) for address in ours if address in held))
            saved = saved_places(held[one.address]) if is_activation(held.get(one.address)) else frozenset()
            if saved and saved <= graphs:
                return True
        return False

    def most_at_once(self, group: Group) -> tuple[int, int]:
        """Return the most bytes of a group that are unused at one time of the judged step, and in how many storages."""
        marks = sorted({max(gone, tick_within(self._first)) for _, (gone, _) in group.freed})
        most = max(marks, key=group.bytes_at, default=0)
        return group.bytes_at(most), sum(gone <= most < back for _, (gone, back) in group.freed)

    def count_step_begins(self, read: int, gone: int | None) -> int:
        """Count the steps that begin between two operations."""
        return sum(read < first <= (gone or 0) for first in self._recording.steps)

    def moment(self, number: int) -> Moment:
        """Describe one operation for the report."""
        operation = self._recording.operations[number]
        is_optimizer = operation.context == OPTIMIZER
        phase = "optimizer" if is_optimizer else "forward"
        module = "" if is_optimizer else operation.context
        phase = "backward" if operation.in_backward else phase
        return Moment(operation.function, place_of(operation.frame), phase, module)


#: The moment of birth of a storage from before the recording.
NOWHERE = Moment("", Place(), "")


def place_of(frame: tuple[str, int, str] | None) -> Place:
    """Return the place of a frame, with its file relative to the working folder if it is below it."""
    if frame is None:
        return Place()
    file, line, function = frame
    return Place(short_file(file), line, function)


def with_short_file(edit: Edit) -> Edit:
    """Return an edit with its file as the report shows it."""
    return replace(edit, file=short_file(edit.file)) if edit.file else edit


def saved_places(held: Held) -> frozenset[object]:
    """Return the graphs that save a storage."""
    return frozenset(one.place for one in held.holders if one.kind is Kind.SAVED)


def is_activation(held: Held | None) -> bool:
    """Whether a storage lives for a step only, unlike parameters, buffers and optimizer state."""
    return held is not None and held.owner not in LASTING
