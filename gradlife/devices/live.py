"""The memory of the devices that this process uses."""

from __future__ import annotations

from gradlife.devices.block_owners import Holders
from gradlife.devices.holders import HoldersOfDevices, holders_of_devices
from gradlife.devices.memory_report import report_of
from gradlife.devices.torch import allocator_states
from gradlife.model.device.codec import note_of
from gradlife.model.device.memory import DeviceReport

SOURCE = "this process"


def device_memory() -> DeviceReport:
    """Return who owns the memory of each device that this process uses, for every block of its caching allocator.

    Allocates nothing on a device. Cost: one freeze of the heap in a forked copy, see `holders_of_devices`.
    """
    states = allocator_states()
    holders = holders_of_devices() if states else {}
    reports = [report_of(SOURCE, state, of_kind(holders, state.kind)) for state in states]
    limits = dict.fromkeys(limit for report in reports for limit in report.limits)
    return DeviceReport(SOURCE, tuple(one for report in reports for one in report.devices), tuple(limits))


def of_kind(holders: HoldersOfDevices, kind: str) -> dict[int, Holders]:
    """Return the holders by device number, for one kind of device."""
    pairs = ((device.partition(":"), found) for device, found in holders.items())
    return {int(number or 0): found for (name, _, number), found in pairs if name == kind}


def device_notes() -> tuple[tuple[str, str], ...]:
    """Return the note on device memory for a snapshot of this process; none where it uses no device. Cost: as `device_memory`."""
    report = device_memory()
    return (note_of(report),) if report.devices else ()
