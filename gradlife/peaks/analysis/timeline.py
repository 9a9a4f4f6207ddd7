"""Live bytes over the operations of a recording, and the peak of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gradlife.peaks.recording.lifetimes import Recording, Storage, tick_within


def main_device(recording: Recording) -> int:
    """Return the device whose storages have the most bytes: of accelerators, if operations make storages there."""
    totals: Counter[int] = Counter()
    for storage in recording.storages:
        totals[storage.device] += storage.sizes[0][1] if storage.sizes else 0
    used = {one.device for one in recording.storages if one.birth is not None and is_accelerator(one.device)}
    return max(used or totals, key=lambda device: totals[device], default=0)


def is_accelerator(device: int) -> bool:
    """Whether a device is not the CPU, whose type is 0."""
    return bool(device & 0xFF)


def on_device(recording: Recording, device: int) -> list[Storage]:
    """Return the storages on one device."""
    return [storage for storage in recording.storages if storage.device == device]


def live_bytes(storages: Iterable[Storage], end: int) -> list[int]:
    """Return the live bytes at each tick up to `end`."""
    changes = [0] * (end + 2)
    for storage in storages:
        for start, stop, nbytes in spans(storage, end):
            add(changes, start, stop, nbytes)
    total, live = 0, []
    for change in changes[: end + 1]:
        total += change
        live.append(total)
    return live


def add(changes: list[int], start: int, stop: int, nbytes: int) -> None:
    """Add bytes from one tick to another."""
    if start < stop:
        changes[start] += nbytes
        changes[stop] -= nbytes


def spans(storage: Storage, end: int) -> Iterable[tuple[int, int, int]]:
    """Yield the ticks between which a storage has one size: start, stop, bytes."""
    died = end + 1 if storage.died is None else min(storage.died, end + 1)
    ticks = [tick for tick, _ in storage.sizes[1:]]
    for (start, nbytes), stop in zip(storage.sizes, [*ticks, died], strict=True):
        yield start, min(stop, died), nbytes


def peak_operation(live: list[int], first: int, end: int) -> int:
    """Return the operation of a step with the most live bytes; the first of several."""
    return max(range(first, end), key=lambda operation: (live[tick_within(operation)], -operation))
