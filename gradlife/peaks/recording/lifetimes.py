"""The recorded lifetimes of storages, read from what the extension recorded.

Moments are ticks: tick 2n is before operation n, tick 2n + 1 within it, when its inputs and outputs are both there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gradlife.peaks.sources.line import Line

#: Events of a storage, as the extension numbers them.
BORN, APPEARED, READ, OVERWRITTEN, DIED, RESIZED, MOVED = range(7)

#: A frame: file, line (a `Line` if the column is known), function.
Frame = tuple[str, int, str]

#: The context of operations that an optimizer runs.
OPTIMIZER = "(optimizer)"

NO_SITE = 0xFFFFFFFF


def tick_before(operation: int) -> int:
    """Return the tick before an operation."""
    return 2 * operation


def tick_within(operation: int) -> int:
    """Return the tick within an operation."""
    return 2 * operation + 1


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: what, where, in which module or optimizer, and whether a backward pass ran it."""

    function: str
    frames: Sequence[Frame]
    context: str
    in_backward: bool

    @property
    def frame(self) -> Frame | None:
        """The innermost frame of the program."""
        return self.frames[0] if self.frames else None


@dataclass(slots=True)
class Storage:
    """One storage, from birth to death."""

    number: int
    address: int
    data: int
    device: int
    born: int  # tick
    birth: int | None  # the operation that made it; None: older than the recording, or made by no operation
    died: int | None = None  # tick; None: the storage outlived the recording
    sizes: list[tuple[int, int]] = field(default_factory=list)  # ticks, and the bytes from each on
    reads: list[int] = field(default_factory=list)  # operations
    overwrites: list[int] = field(default_factory=list)
    aliases: list[int] = field(default_factory=list)  # addresses of other storages with the same memory
    place: int = 0  # among those that the same operation made
    moves: list[tuple[int, int]] = field(default_factory=list)  # ticks, and the address of the data from each on

    @property
    def final_bytes(self) -> int:
        """The size after all resizing."""
        return self.sizes[-1][1]

    def bytes_at(self, tick: int) -> int:
        """Return the bytes at a tick; 0 if the storage is not alive."""
        if tick < self.born or (self.died is not None and tick >= self.died):
            return 0
        at = bisect_right(self.sizes, tick, key=lambda size: size[0]) - 1
        return self.sizes[at][1] if at >= 0 else 0

    def data_at(self, tick: int) -> int:
        """Return the address of the data at a tick; 0 if the storage has no memory then."""
        at = bisect_right(self.moves, tick, key=lambda move: move[0]) - 1
        return (self.moves[at][1] if at >= 0 else self.data) if self.bytes_at(tick) else 0

    def next_read(self, operation: int) -> int | None:
        """Return the first read after an operation."""
        return following(self.reads, operation)

    def next_overwrite(self, operation: int) -> int | None:
        """Return the first operation after this one that overwrites the whole storage."""
        return following(self.overwrites, operation)


def following(operations: list[int], operation: int) -> int | None:
    """Return the first of some operations after a given one."""
    at = bisect_right(operations, operation)
    return operations[at] if at < len(operations) else None


def preceding(operations: list[int], operation: int) -> int | None:
    """Return the last of some operations before a given one."""
    at = bisect_left(operations, operation) - 1
    return operations[at] if at >= 0 else None


@dataclass(frozen=True, eq=False)
class Recording:
    """The operations of some steps, and the storages that they used."""

    operations: list[Operation]
    storages: list[Storage]
    steps: list[int]  # the first operation of each step, and the end of the last one

    @property
    def end(self) -> int:
        """The tick at which the recording ends."""
        return tick_before(len(self.operations))


def read_recording(
    raw: tuple[bytes, bytes, bytes, list[list[tuple[str, int, str, int]]]],
    names: Sequence[str],
    contexts: Sequence[str],
    steps: list[int],
) -> Recording:
    """Decode what the extension recorded. ``names`` and ``contexts`` are those of the numbers in it."""
    operations, events, rows, places = raw
    stacks = [[(file, Line.at(line, column), function) for file, line, function, column in one] for one in places]
    storages = merge_shared(read_storages(events, rows))
    return Recording(read_operations(operations, stacks, names, contexts), storages, steps)


def read_operations(
    raw: bytes, stacks: list[list[Frame]], names: Sequence[str], contexts: Sequence[str]
) -> list[Operation]:
    """Return the operations in their order."""
    words = memoryview(raw).cast("I")
    return [
        Operation(
            names[words[at]],
            () if words[at + 1] == NO_SITE else stacks[words[at + 1]],
            contexts[words[at + 2]],
            bool(words[at + 3]),
        )
        for at in range(0, len(words), 4)
    ]


def read_storages(events: bytes, rows: bytes) -> list[Storage]:
    """Return the storages in the order in which they were first seen."""
    facts = memoryview(rows).cast("Q")
    found = [
        Storage(at // 4, facts[at], facts[at + 1], facts[at + 3], born=0, birth=None) for at in range(0, len(facts), 4)
    ]
    words = memoryview(events).cast("Q")
    made = Counter[int]()
    for at in range(0, len(words), 3):
        head, number, value = words[at], words[at + 1], words[at + 2]
        operation, what = head & 0xFFFFFFFF, head >> 32
        note(found[number], operation, what, value)
        if what == BORN:
            found[number].place = made[operation]
            made[operation] += 1
    return found


def merge_shared(storages: Sequence[Storage]) -> list[Storage]:
    """Merge storages that share memory at the same time, as numpy's arrays do."""
    found: list[Storage] = []
    latest: dict[tuple[int, int], Storage] = {}
    for storage in sorted(storages, key=lambda one: (one.born, one.number)):
        known = latest.get((storage.device, storage.data))
        if known is not None and storage.data and known.data_at(storage.born) == storage.data:
            share(known, storage)
        else:
            latest[storage.device, storage.data] = storage
            found.append(storage)
    return sorted(found, key=lambda one: one.number)


def share(known: Storage, other: Storage) -> None:
    """Add another storage with the same memory, which is alive until both are freed."""
    known.died = None if None in (known.died, other.died) else max(known.died or 0, other.died or 0)
    known.reads = sorted({*known.reads, *other.reads})
    known.overwrites = sorted({*known.overwrites, *other.overwrites})
    known.aliases.append(other.address)


def note(storage: Storage, operation: int, what: int, value: int) -> None:
    """Add one event to a storage. ``value``: its bytes, or for a move the new address of its data."""
    if what == READ:
        if storage.reads[-1:] != [operation]:  # an operation may get a tensor twice
            storage.reads.append(operation)
    elif what == OVERWRITTEN:
        storage.overwrites.append(operation)
    elif what == DIED:
        storage.died = tick_before(operation)
    elif what == RESIZED:
        storage.sizes.append((tick_before(operation), value))
    elif what == MOVED:
        storage.moves.append((tick_before(operation), value))
    else:
        storage.birth = operation if what == BORN else None
        storage.born = tick_within(operation) if what == BORN else tick_before(operation)
        storage.sizes.append((storage.born, value))
