"""The report of a recording."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gradlife.model.peak.report import Moment, Owner, OwnerShare, PeakReport, Place, Saving, Use
from gradlife.peaks.analysis.savings import Replay, Step, grouped
from gradlife.peaks.analysis.timeline import live_bytes, main_device, peak_operation
from gradlife.peaks.analysis.uses import use_at
from gradlife.peaks.recording.holders import Held
from gradlife.peaks.recording.lifetimes import Recording, Storage, preceding, within

#: The context of operations that an optimizer runs.
OPTIMIZER = "(optimizer)"

#: torch's numbers of devices.
DEVICES = {0: "cpu", 1: "cuda", 6: "hip", 9: "xla", 12: "xpu", 13: "mps", 20: "privateuse"}

#: Savings below this part of the peak are none.
LEAST_SAVING = 0.02


@dataclass(frozen=True)
class Recorded:
    """What was recorded, and who held what at the peak."""

    recording: Recording
    held: Mapping[int, Held]
    step: int  # the number of the judged one among the recorded


def scout_peak(recording: Recording) -> int:
    """How many operations after its beginning the first recorded step has its peak."""
    first, end = recording.steps[0], recording.steps[1]
    storages = on_device(recording, main_device(recording))
    return peak_operation(live_bytes(storages, recording.end), first, end) - first if first < end else 0


def on_device(recording: Recording, device: int) -> list[Storage]:
    """The storages on one device."""
    return [storage for storage in recording.storages if storage.device == device]


def device_name(device: int) -> str:
    """``cuda:0``."""
    kind = DEVICES.get(device & 0xFF, f"device type {device & 0xFF}")
    return kind if kind == "cpu" else f"{kind}:{device >> 8}"


def judged(recorded: Recorded, report: PeakReport) -> PeakReport:
    """The report with the peak of the judged step; as it is where nothing was recorded."""
    return Judge(recorded).report(report)


class Judge:
    """Judges one step of a recording."""

    def __init__(self, recorded: Recorded) -> None:
        self._recording = recording = recorded.recording
        self._held = recorded.held
        self._first, self._end = recording.steps[recorded.step], recording.steps[recorded.step + 1]
        self._device = main_device(recording)
        self._storages = on_device(recording, self._device)

    def report(self, report: PeakReport) -> PeakReport:
        """The report, all but what is known already."""
        if self._first >= self._end or not self._storages:
            return report
        live = live_bytes(self._storages, self._recording.end)
        operation = peak_operation(live, self._first, self._end)
        alive = [one for one in self._storages if one.bytes_at(within(operation))]
        uses = {one.number: use_at(one, operation) for one in alive}
        replay = Replay(self._recording, self._storages, self._first, self._end)
        unused = [(one, uses[one.number]) for one in alive if uses[one.number] in (Use.DRAG, Use.VOID)]
        steps = replay.best_savings(grouped(self._recording, unused, self._held), within(operation))
        return PeakReport(
            report.target,
            report.stepped_by,
            device_name(self._device),
            len(self._recording.steps) - 1,
            report.warmup_steps,
            self._end - self._first,
            live[within(operation)],
            self.moment(operation),
            self.shares(alive, uses, operation),
            self.use_bytes(alive, uses, operation),
            self.savings(steps, operation),
            replay.lower_bound(),
            limits=report.limits,
            fail_on=report.fail_on,
        )

    def shares(self, alive: Sequence[Storage], uses: Mapping[int, Use], operation: int) -> tuple[OwnerShare, ...]:
        """The peak by owner, the largest first."""
        rows: dict[Owner, list[int]] = defaultdict(lambda: [0, 0, 0])
        for storage in alive:
            row, nbytes = rows[self.owner(storage, operation)], storage.bytes_at(within(operation))
            row[0] += nbytes
            row[1] += 1
            row[2] += nbytes * (uses[storage.number] in (Use.DRAG, Use.VOID))
        shares = [OwnerShare(owner, *row) for owner, row in rows.items()]
        return tuple(sorted(shares, key=lambda share: -share.bytes))

    def owner(self, storage: Storage, operation: int) -> Owner:
        """What a storage is for. Of what names hold, that is an input which no recorded operation made."""
        owner = self._held.get(storage.address, Held()).owner
        if owner is not Owner.NAMED or storage.birth is not None:
            return owner
        return Owner.INPUT if storage.born >= 2 * self._recording.steps[0] + 1 else owner

    def use_bytes(self, alive: Sequence[Storage], uses: Mapping[int, Use], operation: int) -> dict[str, int]:
        """Bytes of the peak by use."""
        found: Counter[str] = Counter({use.value: 0 for use in Use})
        for storage in alive:
            found[uses[storage.number].value] += storage.bytes_at(within(operation))
        return dict(found)

    def savings(self, steps: Sequence[Step], operation: int) -> tuple[Saving, ...]:
        """The savings that are worth an edit."""
        found = [self.saving(step, operation) for step in steps]
        total = sum(one.saved_bytes for one in found)
        at_peak = sum(one.bytes_at(within(operation)) for one in self._storages)
        return tuple(found) if total >= LEAST_SAVING * at_peak else ()

    def saving(self, step: Step, operation: int) -> Saving:
        """One saving as the report has it."""
        group = step.group
        storage = max(group.storages, key=lambda one: one.bytes_at(within(operation)))
        read = preceding(storage.reads, operation)
        start = storage.birth if storage.birth is not None else self._recording.steps[0]
        gone = storage.died // 2 if storage.died is not None else None
        return Saving(
            group.holder.text,
            group.owner,
            group.use,
            group.bytes_at(within(operation)),
            len(group.storages),
            self.moment(start) if storage.birth is not None else NOWHERE,
            self.moment(read) if read is not None and group.use is Use.DRAG else None,
            self.moment(gone) if gone is not None and gone < len(self._recording.operations) else None,
            step.saved,
            step.peak_after,
            self.begun(start if read is None else read, gone),
        )

    def begun(self, read: int, gone: int | None) -> int:
        """How many steps begin between two operations."""
        return sum(read < first <= (gone or 0) for first in self._recording.steps)

    def moment(self, number: int) -> Moment:
        """One operation as the report has it."""
        operation = self._recording.operations[number]
        phase = "backward" if operation.in_backward else "forward"
        is_optimizer = operation.context == OPTIMIZER
        module = "" if is_optimizer else operation.context
        return Moment(operation.function, place_of(operation.frame), "optimizer" if is_optimizer else phase, module)


#: Of what was there before the recording.
NOWHERE = Moment("", Place(), "")


def place_of(frame: tuple[str, int, str] | None) -> Place:
    """A frame's line; its file from the working folder where it is below it."""
    if frame is None:
        return Place()
    file, line, function = frame
    below = os.path.relpath(file) if os.path.isabs(file) else file
    return Place(file if below.startswith("..") else below, line, function)
