"""Memory at the peak that nothing reads in the recorded steps although it outlives them: the state of parameters that are
frozen, a second optimizer, a copy of the weights.

It is no saving, because a later step or an evaluation may read it. Where some of several alike are read, such as the
batches of a list or the experts of a model, the others wait for their turn and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from gradlife.model.peak.report import Owner, UnreadMemory
from gradlife.peaks.analysis.titles import common_title, family
from gradlife.peaks.edits.advice import is_read_below, is_stored_for_nobody
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import Frame, Recording, Storage, tick_within
from gradlife.peaks.recording.variables import Kind

#: Least share of the peak to be worth a line.
MIN_SHARE = 0.02

#: Owners that have a name.
NAMED = frozenset({Owner.PARAMETER, Owner.BUFFER, Owner.OPTIMIZER, Owner.GRADIENT, Owner.SAVED, Owner.NAMED})

#: The owners of parts of a module, and how their texts begin.
MODULE_PARTS = frozenset({Owner.PARAMETER, Owner.BUFFER})

Key = TypeVar("Key")


def is_never_read(recording: Recording, storage: Storage, held: Held) -> bool:
    """Whether nothing reads a storage in the recording that code may read which did not run: it outlives the recording, or
    it is replaced, like the best weights so far.
    """
    if storage.reads or held.owner is Owner.GRADIENT:
        return False
    frames = recording.operations[storage.birth].frames if storage.birth is not None else ()
    return storage.died is None or any(may_be_read(holder, frames) for holder in held.holders)


def may_be_read(holder: Holder, frames: Sequence[Frame]) -> bool:
    """Whether other code may read an attribute or an item of a module's container, or a later line a variable.

    ``frames``: the stack that made the storage.
    """
    if holder.record:
        return False
    if holder.kind is Kind.ATTRIBUTE or (holder.kind is Kind.GLOBAL and holder.path):
        return not is_stored_for_nobody(holder)
    return holder.kind in (Kind.LOCAL, Kind.GLOBAL) and is_read_below(holder, frames)


@dataclass(frozen=True)
class Kept:
    """A storage of the peak, and what stands for all its holders."""

    storage: Storage
    holder: Holder

    @property
    def path(self) -> str:
        """The path of a module's part, or of the parameter that an optimizer's state is for."""
        return self.holder.path if self.holder.owner is Owner.OPTIMIZER else self.holder.text.partition(" ")[2]


@dataclass
class Row:
    """What is reported together."""

    owner: Owner
    title: str
    is_part: (
        bool  # something like it is read: the other parameters of an optimizer, the rest of a model, other gradients
    )
    kept: list[Kept] = field(default_factory=list)


class UnreadStorages:
    """Finds the storages of a peak that no recorded step from the judged one on reads or makes."""

    def __init__(
        self,
        recording: Recording,
        held: Mapping[int, Held],
        first: int,
        operation: int,
        waiting: AbstractSet[int] = frozenset(),  # gradients that a backward pass adds to
    ) -> None:
        self._recording, self._added_to = recording, waiting
        self._first = first
        self._tick = tick_within(operation)
        alive = [one for one in recording.storages if one.bytes_at(self._tick) and one.number in held]
        known = [Kept(one, holder) for one in alive if (holder := standing(held[one.number])) is not None]
        self._unread = [one for one in known if self._is_unread(one.storage, held[one.storage.number])]
        self._read = [one for one in known if one.storage.reads and not self._is_added_to(one)]

    def rows(self, peak: int, is_cpu: bool) -> Iterator[UnreadMemory]:
        """Yield what is reported, the most bytes first."""
        rows = [*self._modules(), *self._optimizers(), *self._others()]
        sized = [(sum(one.storage.bytes_at(self._tick) for one in row.kept), row) for row in rows]
        for nbytes, row in sorted(sized, key=lambda one: -one[0]):
            if nbytes >= MIN_SHARE * peak:
                steps = min(self._steps(one.storage) for one in row.kept)
                yield UnreadMemory(row.title, row.owner, nbytes, len(row.kept), steps, advice(row, is_cpu))

    def _is_unread(self, storage: Storage, held: Held) -> bool:
        if is_never_read(self._recording, storage, held) or storage.number in self._added_to:
            return True
        return storage.died is None and last_use(storage) < self._first

    def _steps(self, storage: Storage) -> int:
        """Count the recorded steps in which nothing reads a storage, or those like it that it replaces."""
        last = storage.reads[-1] if storage.reads and storage.number not in self._added_to else -1
        return sum(first > last for first in self._recording.steps[:-1])

    def _waiting(self) -> frozenset[str]:
        """Return the families with a member that is read in a later step than the one that made it."""
        others = (one for one in self._read if one.holder.owner is not Owner.OPTIMIZER)
        return frozenset(family(one.holder.text) for one in others if self._is_read_later(one.storage))

    def _is_read_later(self, storage: Storage) -> bool:
        made, last = storage.birth, storage.reads[-1]
        return made is None or any(made < first <= last for first in self._recording.steps)

    def _modules(self) -> Iterator[Row]:
        """Yield the modules with no parameter or buffer that is read, each with all modules in it."""
        read, waiting = self._paths(self._read), self._waiting()
        ours = [one for one in self._of(MODULE_PARTS) if family(one.holder.text) not in waiting]
        for top, kept in split(ours, lambda one: unread_top(one.path, read)).items():
            holder = max(kept, key=lambda one: one.storage.final_bytes).holder
            is_part = any(path.startswith(f"{holder.path}.") for path in read)
            yield Row(holder.owner, top, is_part, kept)

    def _optimizers(self) -> Iterator[Row]:
        """Yield the state of whole optimizers, and that of parameters which they no longer update."""
        waiting = self._waiting()
        unread = {one.path for one in self._of(MODULE_PARTS) if family(one.holder.text) in waiting}
        active = {one.holder.text for one in self._read if one.holder.owner is Owner.OPTIMIZER}
        ours = [one for one in self._of({Owner.OPTIMIZER}) if one.path not in unread]
        for text, kept in split(ours, lambda one: one.holder.text).items():
            title = f"{text} for {module_of([one.path for one in kept])}" if text in active else text
            yield Row(Owner.OPTIMIZER, title, text in active, kept)

    def _others(self) -> Iterator[Row]:
        """Yield what names, graphs and gradients hold."""
        waiting = self._waiting()
        others = self._of(NAMED - MODULE_PARTS - {Owner.OPTIMIZER})
        ours = [one for one in others if self._is_added_to(one) or family(one.holder.text) not in waiting]
        for kept in split(ours, lambda one: (one.holder.owner, self._is_added_to(one), *one.holder.place)).values():
            kept.sort(key=lambda one: -one.storage.final_bytes)
            title, is_part = common_title([one.holder.text for one in kept]), self._is_added_to(kept[0])
            yield Row(kept[0].holder.owner, title, is_part, kept)

    def _is_added_to(self, one: Kept) -> bool:
        return one.storage.number in self._added_to

    def _of(self, owners: Iterable[Owner]) -> list[Kept]:
        return [one for one in self._unread if one.holder.owner in owners]

    def _paths(self, found: Iterable[Kept]) -> frozenset[str]:
        return frozenset(one.path for one in found if one.holder.owner in MODULE_PARTS)


def standing(held: Held) -> Holder | None:
    """Return the holder that says what a storage is for; None if it has no name."""
    owner = held.owner
    if owner not in NAMED:
        return None
    ours = [one for one in held.holders if one.owner is owner]
    named = [one for one in ours if one.name] if owner in (Owner.NAMED, Owner.SAVED) else ours
    return Held(named).first if named else None


def last_use(storage: Storage) -> int:
    """Return the last operation that reads or makes a storage; -1 if none does."""
    return max([-1, *storage.reads[-1:], *([storage.birth] if storage.birth is not None else [])])


def split(kept: Iterable[Kept], key: Callable[[Kept], Key]) -> dict[Key, list[Kept]]:
    """Group storages by a key, in their order."""
    found: dict[Key, list[Kept]] = defaultdict(list)
    for one in kept:
        found[key(one)].append(one)
    return found


def unread_top(path: str, read: Iterable[str]) -> str:
    """Return the outermost module around a parameter that has nothing that is read; the parameter if there is none."""
    parts = path.split(".")
    for count in range(1, len(parts)):
        top = ".".join(parts[:count])
        if not any(other.startswith(f"{top}.") for other in read):
            return top
    return path


def module_of(paths: Sequence[str]) -> str:
    """Return the innermost module that all these parameters are in, or what stands for them."""
    shared = shared_parts([path.split(".")[:-1] for path in paths])
    return ".".join(shared) or (paths[0] if len(set(paths)) == 1 else f"{len(set(paths)):,} parameters")


def shared_parts(paths: Sequence[Sequence[str]]) -> list[str]:
    """Return the first parts that several paths have in common."""
    return [names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=False))]


def advice(row: Row, is_cpu: bool) -> str:
    """Return what to do if nothing else reads the memory."""
    if row.owner is Owner.OPTIMIZER:
        name = row.title.removeprefix("state of ").partition(" ")[0]
        if row.is_part:
            return f"if they are no longer trained: `del {name}.state[parameter]` for each"
        return f"if `{name}.step()` is not called again: drop the optimizer, and its scheduler"
    if row.owner is Owner.SAVED:
        return "it is the graph of an earlier step: store `.detach()` of the result"
    if row.owner is Owner.GRADIENT and row.is_part:
        return "if their optimizer does not step again: `requires_grad_(False)` for the parameters"
    if row.owner is Owner.GRADIENT:
        return "if nothing reads these gradients: set `.grad` of the parameters to None"
    if row.owner in MODULE_PARTS and row.is_part:
        return "if nothing runs this part of the model: leave it out"
    if any(one.storage.birth is not None and one.storage.died is None for one in row.kept):
        return "each step adds to it: keep only what is read; `gradlife hunt` shows whether it grows"
    elsewhere = "in a file" if is_cpu else "on the CPU"
    return f"if only code reads it that did not run, such as an evaluation: keep it {elsewhere} until then"
