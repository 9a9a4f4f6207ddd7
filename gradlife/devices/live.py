"""The memory of the devices that this process uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradlife.devices.block_owners import Holders, other_than
from gradlife.devices.drag import UnreadStorages
from gradlife.devices.failed_request import HandledFailure, handled_failure
from gradlife.devices.holders import ANY, HoldersOfDevices, StorageHolders, holders_of_devices
from gradlife.devices.memory_report import report_of
from gradlife.devices.torch import allocator_states
from gradlife.heap.diff import path_text
from gradlife.model.device.codec import note_of
from gradlife.model.device.memory import (
    AllocatorState,
    BlockOwner,
    DeviceMemory,
    DeviceReport,
    FailedRequest,
    OwnerKind,
)

SOURCE = "this process"


def device_memory(failed: FailedRequest | None = None) -> DeviceReport:
    """Return who owns the memory of each device that this process uses, for every block of its caching allocator.

    ``failed`` is a request that ran out of memory and that the allocator's history may not have: its device and its size
    in bytes, see `FailedRequest`. By default it is that of the out-of-memory error that is being handled. Allocates
    nothing on a device. Reads the heap in a forked copy of the process: some 0.5 s and 100 MB per million objects, and some
    0.1 ms per storage.
    """
    handled = handled_failure() if failed is None else None
    states = [with_handled(with_failure(state, failed), handled) for state in allocator_states()]
    holders = holders_of_devices() if states else {}
    states = [with_compiled_pools(state, holders.get(ANY, StorageHolders()).compiled_pools) for state in states]
    reports = [with_traces(report_of(SOURCE, state, *of_kind(holders, state.kind)), holders) for state in states]
    limits = dict.fromkeys(limit for report in reports for limit in report.limits)
    devices = tuple(one for report in reports for one in report.devices)
    return DeviceReport(SOURCE, devices, tuple(limits), next((one.pinned for one in reports if one.pinned), None))


def with_traces(report: DeviceReport, holders: HoldersOfDevices) -> DeviceReport:
    """Add the path of references to each owner's largest storage."""
    return replace(report, devices=tuple(traced(one, holders) for one in report.devices))


def traced(memory: DeviceMemory, holders: HoldersOfDevices) -> DeviceMemory:
    """Add the traces to the owners of one device; to blocks that wait, the paths to the streams they may wait for."""
    traces, streams = holders.get(memory.device, StorageHolders()).traces, holders.get(ANY, StorageHolders()).streams

    def with_trace(owner: BlockOwner) -> BlockOwner:
        if owner.kind is OwnerKind.STREAM:
            return replace(owner, path=paths_beside(owner, streams))
        steps = traces.get(owner.text, ())
        return replace(owner, path=path_text(steps), trace=steps)

    return replace(memory, owners=tuple(map(with_trace, memory.owners)))


def paths_beside(owner: BlockOwner, streams: Mapping[int, str]) -> str:
    """Return the paths to all streams but the one that freed blocks were allocated on."""
    return "; ".join(path for number, path in streams.items() if not owner.text.endswith(other_than(number)))


def with_failure(state: AllocatorState, failed: FailedRequest | None) -> AllocatorState:
    """Add a failed request to an allocator's history, unless the history has one of its device and size."""
    known = {(one.device, one.bytes) for one in state.failed[-1:]}
    if failed is None or (failed.device, failed.bytes) in known:
        return state
    return replace(state, failed=(*state.failed, failed))


def with_handled(state: AllocatorState, handled: HandledFailure | None) -> AllocatorState:
    """Add the request of the error that is being handled, unless the history has a failure of its device."""
    if handled is None or handled.kind != state.kind:
        return state
    is_known = any(one.device == handled.request.device for one in state.failed)
    return state if is_known else replace(state, failed=(*state.failed, handled.request))


def with_compiled_pools(state: AllocatorState, pools: frozenset[tuple[int, int]]) -> AllocatorState:
    """Mark the segments in the pools of torch.compile's CUDA graphs."""
    return replace(state, segments=tuple(replace(one, is_compiled=one.pool in pools) for one in state.segments))


def of_kind(holders: HoldersOfDevices, kind: str) -> tuple[dict[int, Holders], dict[int, UnreadStorages]]:
    """Return the holders and the unread storages by device number, for one kind of device."""
    pairs = ((device.partition(":"), found) for device, found in holders.items())
    ours = {int(number or 0): found for (name, _, number), found in pairs if name == kind}
    return (
        {number: found.by_address for number, found in ours.items()},
        {number: found.unread for number, found in ours.items()},
    )


def device_notes() -> tuple[tuple[str, str], ...]:
    """Return the note on device memory for a snapshot of this process; none where it uses no device. Cost: as `device_memory`."""
    report = device_memory()
    return (note_of(report),) if report.devices else ()
