"""Gradients that backward accumulates but nobody reads, such as those of parameters that require gradients although no
optimizer updates them, and the work spent on them.

An optimizer that has their parameters may step in a later step, as where it steps less often than others: such gradients
wait, and are no saving. Where no operation reads any gradient, something else does: an optimizer of scipy gets them as
arrays of numpy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradlife.model.peak.report import Owner, Use
from gradlife.peaks.analysis.groups import Group
from gradlife.peaks.analysis.holder_snapshots import Gap, HolderSnapshot, held_in
from gradlife.peaks.analysis.titles import common_title
from gradlife.peaks.analysis.uses import ZEROING
from gradlife.peaks.recording.holders import UNREAD_GRADIENT, UPDATED, Held, Holder
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_before
from gradlife.peaks.recording.variables import Kind

#: The operation by which a backward pass adds to a gradient.
ADDING = "aten.add_"


class UnreadGradients:
    """Gradients that outlive the recording, and that nothing reads but the backward pass, when it adds to them."""

    def __init__(self, recording: Recording, snapshots: Sequence[HolderSnapshot]) -> None:
        self._recording = recording
        self._snapshots = snapshots
        unread = [one for one in recording.storages if self._is_unread(one)]
        if not any(map(self._is_read_gradient, recording.storages)):
            unread = []
        self.waiting = {one.number for one in unread if self._is_updated(one)}  # an optimizer may read them later
        self.numbers = {one.number for one in unread} - self.waiting
        self._dead = self._dead_operations() if self.numbers else set[int]()

    def snapshots(self) -> list[HolderSnapshot]:
        """Return the snapshots with the holders of these gradients renamed.

        So they form a group of their own: they need another edit than gradients that are read.
        """
        addresses = {one.address for one in self._recording.storages if one.number in self.numbers}
        return [
            HolderSnapshot(
                snapshot.operation,
                {at: renamed(held) if at in addresses else held for at, held in snapshot.held.items()},
            )
            for snapshot in self._snapshots
        ]

    def group(self) -> Group | None:
        """Return what would not exist if these gradients were not computed."""
        gradients = [one for one in self._recording.storages if one.number in self.numbers]
        if not gradients:
            return None
        gradients.sort(key=lambda one: -one.final_bytes)
        title = common_title([self._holder(one).text for one in gradients])
        found = Group((replace(self._holder(gradients[0]), text=title),), Owner.GRADIENT, Use.VOID)
        found.storages.extend(gradients)
        found.freed.extend((one.number, (one.born, self._end(one))) for one in gradients)
        found.freed.extend(self._of_dead_operations())
        found.last = -1
        return found

    def _holder(self, storage: Storage) -> Holder:
        held = next(held for snapshot in self._snapshots if (held := held_in(snapshot, storage)) is not None)
        return renamed(held).holders[0]

    def _is_unread(self, storage: Storage) -> bool:
        found = [held.holders for snapshot in self._snapshots if (held := held_in(snapshot, storage)) is not None]
        if storage.died is not None or not any(found) or not storage.reads:
            return False
        is_gradient = all(one.kind is Kind.GRADIENT for holders in found for one in holders)
        is_zeroed = all(self._recording.operations[at].function in ZEROING for at in storage.overwrites)
        return is_gradient and is_zeroed and all(map(self._is_addition, storage.reads))

    def _is_updated(self, storage: Storage) -> bool:
        found = (held_in(snapshot, storage) for snapshot in self._snapshots)
        return any(one.path == UPDATED for held in found if held is not None for one in held.holders)

    def _is_read_gradient(self, storage: Storage) -> bool:
        """Whether a storage is a gradient that an operation outside of backward passes reads."""
        found = (held for snapshot in self._snapshots if (held := held_in(snapshot, storage)) is not None)
        is_gradient = any(one.kind is Kind.GRADIENT for held in found for one in held.holders)
        return is_gradient and not all(self._recording.operations[at].in_backward for at in storage.reads)

    def _is_addition(self, number: int) -> bool:
        operation = self._recording.operations[number]
        return operation.function == ADDING and operation.in_backward

    def _dead_operations(self) -> set[int]:
        """Return the backward operations whose outputs only feed these gradients."""
        made, targets = defaultdict[int, list[Storage]](list), defaultdict[int, list[Storage]](list)
        for one in self._recording.storages:
            if one.birth is not None:
                made[one.birth].append(one)
            for number in one.reads if one.number in self.numbers else ():
                targets[number].append(one)
        overwriting = {number for one in self._recording.storages for number in one.overwrites}
        dead = set(targets)
        for number, operation in enumerate(self._recording.operations):
            is_view = number not in made and number not in overwriting and not operation.function.endswith("_")
            if is_view and operation.in_backward:
                dead.add(number)
        for number in range(len(self._recording.operations) - 1, -1, -1):
            outputs = made.get(number, ())
            is_read = not all(one.reads and dead.issuperset(one.reads) for one in outputs)
            if outputs and not is_read and self._recording.operations[number].in_backward:
                dead.add(number)
        return dead

    def _of_dead_operations(self) -> Iterator[tuple[int, Gap]]:
        """Yield the storages that dead operations make, or that are saved only for them."""
        for one in self._recording.storages:
            if one.number in self.numbers:
                continue
            if one.birth in self._dead:
                yield one.number, (one.born, self._end(one))
            elif one.died is not None and one.birth is not None and (live := self._last_live(one)) is not None:
                yield one.number, (tick_before(live + 1), one.died)

    def _last_live(self, storage: Storage) -> int | None:
        """Return the last needed use of a storage that only graphs hold, if an unneeded operation reads it last.

        None for any other storage.
        """
        found = [held.holders for snapshot in self._snapshots if (held := held_in(snapshot, storage)) is not None]
        is_saved = any(found) and all(one.kind is Kind.SAVED for holders in found for one in holders)
        if not is_saved or not storage.reads or storage.reads[-1] not in self._dead:
            return None
        return max((at for at in storage.reads if at not in self._dead), default=storage.birth)

    def _end(self, storage: Storage) -> int:
        return storage.died if storage.died is not None else self._recording.end + 1


def renamed(held: Held) -> Held:
    """Return the holders under the name of a gradient that nobody reads."""
    return Held([replace(one, name=UNREAD_GRADIENT) for one in held.holders])


def with_group(groups: Sequence[Group], unread: Group | None) -> list[Group]:
    """Return the groups and that of the unread gradients; another group with the same holders is dropped."""
    if unread is None:
        return list(groups)
    return [*(one for one in groups if one.places != unread.places), unread]
