"""Classify memory that is alive at the peak by its next use: read later, lag, drag, void or unread.

An overwrite of a whole storage begins a new content. A content is unused from its last read to the next overwrite or
the storage's death. Times are ticks: each operation has one before it and one within it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradlife.model.peak.report import Use
from gradlife.peaks.recording.lifetimes import Recording, Storage, preceding, tick_before, tick_within

#: Operations that overwrite a whole tensor with zeros.
ZEROING = frozenset({"aten.zero_", "aten._foreach_zero_"})


def use_at(storage: Storage, operation: int) -> Use:
    """Return how a storage that is alive during an operation is used from then on."""
    if operation in storage.reads or operation in storage.overwrites or storage.birth == operation:
        return Use.READ_LATER
    read, overwrite = storage.next_read(operation), storage.next_overwrite(operation)
    if read is not None and (overwrite is None or read <= overwrite):
        return Use.READ_LATER if was_read(storage, operation) else Use.LAG
    if overwrite is None and storage.died is None:
        return Use.UNREAD
    return Use.DRAG if was_read(storage, operation) else Use.VOID


def was_read(storage: Storage, operation: int) -> bool:
    """Whether the content that the storage has at an operation was read before."""
    last = preceding(storage.reads, operation)
    written = preceding(storage.overwrites, operation)
    return last is not None and (written is None or last > written)


def gaps(storage: Storage) -> Iterator[tuple[int, int]]:
    """Yield for each content the ticks during which it is unused. A content that outlives the recording is left out.

    A storage that is older than the recording and never read in it is unused from the beginning.
    """
    if storage.birth is None and not storage.reads and not storage.overwrites:
        if storage.died is not None:
            yield storage.born, storage.died
        return
    starts = [storage.birth if storage.birth is not None else -1, *storage.overwrites]
    for number, start in enumerate(starts):
        end_of_content = starts[number + 1] if number + 1 < len(starts) else None
        stop = tick_before(end_of_content) if end_of_content is not None else storage.died
        if stop is None:
            return
        last = last_use(storage, start, end_of_content)
        if last >= 0 and tick_before(last + 1) < stop:
            yield tick_before(last + 1), stop


def last_use(storage: Storage, start: int, end: int | None) -> int:
    """Return the last operation from `start` to `end` that reads the storage; `start` if none does."""
    last = preceding(storage.reads, end) if end is not None else (storage.reads[-1] if storage.reads else None)
    return start if last is None or last < start else last


def are_zeros_read(recording: Recording, zeroing: int) -> bool:
    """Whether anything but a backward pass reads zeros first that the line of an operation writes."""
    operations, frames = recording.operations, recording.operations[zeroing].frames
    for storage in recording.storages:
        for number in storage.overwrites:
            read = storage.next_read(number)
            is_ours = operations[number].function in ZEROING and operations[number].frames == frames
            if is_ours and read is not None and not operations[read].in_backward:
                return True
    return False


def zeroed_gaps(storage: Storage, recording: Recording) -> Iterator[tuple[int, int]]:
    """Yield the ticks between writing zeros and their first read. The memory could be freed and allocated again then."""
    for number in storage.overwrites:
        read = storage.next_read(number)
        if recording.operations[number].function in ZEROING and read is not None:
            yield tick_before(number), tick_within(read) + 1
