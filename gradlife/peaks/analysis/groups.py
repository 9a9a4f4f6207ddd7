"""Groups unused storages by the names that must release them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradlife.model.peak.report import Owner, Use
from gradlife.peaks.analysis.holder_snapshots import Gap, HolderSnapshots, Origin, origin_of, places
from gradlife.peaks.analysis.releases import release
from gradlife.peaks.analysis.saved_unread import (
    is_freed_by_its_node,
    is_freed_in_backward,
    is_only_saved,
    saved_unread,
)
from gradlife.peaks.analysis.titles import common_title
from gradlife.peaks.analysis.unread import is_never_read
from gradlife.peaks.analysis.uses import gaps, was_read, zeroed_gaps
from gradlife.peaks.recording.holders import Held, Holder
from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_before, tick_within
from gradlife.peaks.recording.variables import Kind

#: What a group has in common: the places of its edits, and what its storages are for.
Key = tuple[frozenset[tuple[str, str, str, str]], Owner | None]

#: Holders that keep their contents for later steps.
LASTING = frozenset({Owner.PARAMETER, Owner.BUFFER, Owner.OPTIMIZER})


@dataclass
class Group:
    """Storages that the same names still hold after their last use."""

    holders: tuple[Holder, ...]
    owner: Owner
    use: Use
    storages: list[Storage] = field(default_factory=list)
    freed: list[tuple[int, Gap]] = field(default_factory=list)  # storage numbers, and when they would be free
    last: int = 0  # the last operation that uses the largest of them
    zeroing: int | None = None  # the operation that writes zeros to which gradients are only added
    texts: dict[int, str] = field(default_factory=dict)  # what holds each storage, by its number
    nodes: dict[int, frozenset[str]] = field(default_factory=dict)  # the operations whose nodes save each storage
    fixed: set[int] = field(default_factory=set)  # storages that something else holds, too, as long as a call runs
    kept: list[tuple[Storage, Gap]] = field(default_factory=list)  # storages that its edits free no sooner
    instead_of: Group | None = None  # a group of the same storages that needs other edits
    #: The places of names with a part of its graph, if no backward pass reads that.
    graphs: frozenset[object] = frozenset()

    @property
    def places(self) -> frozenset[tuple[str, str, str, str]]:
        """The places that its edits change."""
        return places(Held(list(self.holders)))

    @property
    def holder(self) -> Holder:
        """The holder that stands for all of them."""
        return Held(list(self.holders)).first

    @property
    def title(self) -> str:
        """What holds the storages, beginning with the largest one."""
        most = self.largest().number
        texts = [self.texts.get(most, ""), *self.texts.values()]
        return common_title([text for text in texts if text] or [self.holder.text])

    def bytes_at(self, tick: int) -> int:
        """Return the unused bytes of the group at a tick."""
        return sum(self._bytes(number, tick) for number, (gone, back) in self.freed if gone <= tick < back)

    def largest(self) -> Storage:
        """Return the largest storage."""
        return max(self.storages, key=lambda one: max(size for _, size in one.sizes))

    def _bytes(self, number: int, tick: int) -> int:
        return next((one.bytes_at(tick) for one in self.storages if one.number == number), 0)


@dataclass(frozen=True)
class Unused:
    """One storage from its last use to its end."""

    storage: Storage
    gap: Gap
    held: Held | None  # None: not read at that time
    zeroing: int | None = None  # the operation that wrote the unused zeros
    last: int = 0  # the last operation that uses it
    is_needed: bool = False  # whether something else is written to it then, or code that did not run may read it

    @property
    def is_known(self) -> bool:
        """Whether a known holder could release it."""
        if self.held is None or not self.names or self.held.owner in LASTING:
            return False
        if self.held.owner is Owner.GRADIENT:
            return True
        return self.zeroing is None and not self.is_needed

    @property
    def is_nameless(self) -> bool:
        """Whether only graphs hold it that no variable has yet."""
        return all(one.kind is Kind.SAVED and not one.name for one in self.names)

    @property
    def names(self) -> list[Holder]:
        """Return the holders that an edit could change; a graph that has no name yet is no more than one that has."""
        found = [one for one in self.held.holders if one.can_let_go] if self.held is not None else []
        is_named = any(one.kind is Kind.SAVED and one.name for one in found)
        return [one for one in found if one.kind is not Kind.SAVED or one.name or not is_named]


def grouped(
    recording: Recording, storages: Sequence[Storage], snapshots: HolderSnapshots, first: int, end: int
) -> list[Group]:
    """Group the storages that are unused at some time between two operations."""
    unused = list(unused_between(recording, storages, snapshots, tick_within(first), tick_within(end)))
    known = [one for one in unused if one.is_known]
    nameless = [one for one in known if one.is_nameless]
    seen = [one for one in known if not one.is_nameless]
    lasts = last_of_records(seen)
    groups: dict[Key, Group] = {}
    homes: dict[Origin | None, Counter[Key]] = defaultdict(Counter)
    for one in seen:
        key = key_of(one)
        homes[origin_of(recording, one.storage)][key] += one.gap[1] - one.gap[0]
        add_to(groups, key, one, recording, lasts)
    for one in (*nameless, *(one for one in unused if one.held is None and one.zeroing is None)):
        origin = origin_of(recording, one.storage)
        home = home_of(one, homes[origin]) if origin is not None else None
        if home is not None:
            add_to(groups, home, replace(one, held=None), recording, lasts)
        elif one.held is not None:
            add_to(groups, key_of(one), one, recording, lasts)
    return list(groups.values())


def home_of(one: Unused, homes: Counter[Key]) -> Key | None:
    """Return the group in which storages of an origin are unused longest.

    A storage that only graphs hold is not freed where only names go.
    """
    fitting = (
        key for key, _ in homes.most_common() if one.held is None or any(Kind.SAVED in place for place in key[0])
    )
    return next(fitting, None)


def key_of(one: Unused) -> Key:
    """Return the group of a storage: the places of its edits, and what it is for."""
    return frozenset(holder.place for holder in one.names), one.held.owner if one.held else None


def unused_between(
    recording: Recording, storages: Sequence[Storage], snapshots: HolderSnapshots, first: int, end: int
) -> Iterator[Unused]:
    """Yield the storages that are unused at some tick between two others."""
    for storage in storages:
        times: list[tuple[Gap, int | None]] = [(gap, None) for gap in gaps(storage)]
        times += [(gap, gap[0] // 2) for gap in zeroed_gaps(storage, recording)]
        for gap, zeroing in times:
            for part, held in parts_of(recording, storage, gap, snapshots):
                if part[0] < end and part[1] > first:
                    is_needed = gap[1] != storage.died or is_never_read(recording, storage, held or Held())
                    yield Unused(storage, part, held, zeroing, gap[0] // 2 - 1, is_needed)


def parts_of(
    recording: Recording, storage: Storage, gap: Gap, snapshots: HolderSnapshots
) -> Iterator[tuple[Gap, Held | None]]:
    """The parts of an unused time with their holders, without those that a backward pass ends by itself."""
    parts = list(snapshots.parts(storage, gap))
    held = [held for _, held in parts if held is not None]
    if not held or not all(map(is_only_saved, held)) or not is_freed_in_backward(recording, storage):
        yield from parts
    elif not is_freed_by_its_node(recording, gap):
        yield gap, saved_unread(recording, storage)


def last_of_records(seen: Sequence[Unused]) -> dict[int, int]:
    """Return the last use of any field of each record, an object that is released as a whole, by its address."""
    found: dict[int, int] = {}
    for one in seen:
        for holder in one.names:
            if holder.record:
                found[holder.record] = max(found.get(holder.record, 0), one.last)
    return found


def add_to(groups: dict[Key, Group], key: Key, one: Unused, recording: Recording, lasts: Mapping[int, int]) -> None:
    """Add a storage to its group, free from the time at which the group's holders release it."""
    if key not in groups:
        assert one.held is not None
        use = Use.DRAG if was_read(one.storage, max(one.last, 0) + 1) else Use.VOID
        groups[key] = Group(tuple(one.names), one.held.owner, use)
    group = groups[key]
    holders = one.held.holders if one.held is not None else group.holders
    last = max([one.last, *(lasts.get(holder.record, 0) for holder in holders)])
    gone = one.gap[0] if one.zeroing is not None else max(one.gap[0], tick_before(release(recording, holders, last)))
    if not all(one.can_let_go for one in holders):
        group.fixed.add(one.storage.number)
    group.zeroing = one.zeroing if one.zeroing is not None else group.zeroing
    if gone >= one.gap[1]:
        group.kept.append((one.storage, one.gap))
    else:
        group.storages.append(one.storage)
        group.nodes[one.storage.number] = node_names(holders)
        group.texts.setdefault(one.storage.number, Held(list(one.names)).first.text if one.held else "")
        group.freed.append((one.storage.number, (gone, one.gap[1])))
        if group.largest() is one.storage:
            group.last = one.last


def node_names(holders: Iterable[Holder]) -> frozenset[str]:
    """Return the operations whose nodes save a storage, as `operation_name` writes them."""
    texts = (one.text.partition(",")[0].rpartition(" ")[2] for one in holders if one.kind is Kind.SAVED)
    return frozenset(text.partition("Backward")[0].lower() for text in texts)
