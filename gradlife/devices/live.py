"""The memory of the devices that this process uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gradlife.devices.block_owners import Holders, other_than
from gradlife.devices.holders import ANY, HoldersOfDevices, StorageHolders, holders_of_devices
from gradlife.devices.memory_report import report_of
from gradlife.devices.torch import allocator_states
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

    ``failed`` is a request that the allocator's history may not have. Allocates nothing on a device. Cost: one freeze of
    the heap in a forked copy, see `holders_of_devices`.
    """
    states = [with_failure(state, failed) for state in allocator_states()]
    holders = holders_of_devices() if states else {}
    reports = [with_traces(report_of(SOURCE, state, of_kind(holders, state.kind)), holders) for state in states]
    limits = dict.fromkeys(limit for report in reports for limit in report.limits)
    devices = tuple(one for report in reports for one in report.devices)
    return DeviceReport(SOURCE, devices, tuple(limits), next((one.pinned for one in reports if one.pinned), None))


def with_traces(report: DeviceReport, holders: HoldersOfDevices) -> DeviceReport:
    """Add the path of references to each owner's largest storage."""
    return replace(report, devices=tuple(traced(one, holders) for one in report.devices))


def traced(memory: DeviceMemory, holders: HoldersOfDevices) -> DeviceMemory:
    """Add the traces to the owners of one device."""
    traces, streams = (holders.get(key, StorageHolders()) for key in (memory.device, ANY))
    owners = (replace(one, path=path_of(one, traces.traces, streams.streams)) for one in memory.owners)
    return replace(memory, owners=tuple(owners))


def path_of(owner: BlockOwner, traces: Mapping[str, str], streams: Mapping[int, str]) -> str:
    """Return the path to an owner's largest storage, or the paths to the streams that its blocks may wait for."""
    if owner.kind is not OwnerKind.STREAM:
        return traces.get(owner.text, "")
    return "; ".join(path for number, path in streams.items() if not owner.text.endswith(other_than(number)))


def with_failure(state: AllocatorState, failed: FailedRequest | None) -> AllocatorState:
    """Add a failed request to an allocator's history, unless the history has one of its device and size."""
    known = {(one.device, one.bytes) for one in state.failed[-1:]}
    if failed is None or (failed.device, failed.bytes) in known:
        return state
    return replace(state, failed=(*state.failed, failed))


def of_kind(holders: HoldersOfDevices, kind: str) -> dict[int, Holders]:
    """Return the holders by device number, for one kind of device."""
    pairs = ((device.partition(":"), found.by_address) for device, found in holders.items())
    return {int(number or 0): found for (name, _, number), found in pairs if name == kind}


def device_notes() -> tuple[tuple[str, str], ...]:
    """Return the note on device memory for a snapshot of this process; none where it uses no device. Cost: as `device_memory`."""
    report = device_memory()
    return (note_of(report),) if report.devices else ()
