"""The severity of a finding: whether it would end the job, and whether it is worth a failed build."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gradlife.hunting.process.memory_limits import system_limit, usage
from gradlife.model.hunt import LONGER_CODE, METRIC_STATE, Finding, FindingKind, Severity

#: Steps of a usual job. A leak that reaches the memory limit earlier would end it.
HORIZON = 100_000

#: Plain Python data below this many bytes per step is minor.
MIN_PLAIN_BYTES = 4096

#: Retained memory that does not grow has the severity `note` below this share of the peak, else `major`.
MIN_SHARE = 0.05

#: Types limited to a few thousand objects per process, whatever their size.
HANDLES = frozenset(
    {
        "_io.BufferedReader",
        "_io.BufferedWriter",
        "_io.FileIO",
        "_io.TextIOWrapper",
        "mmap.mmap",
        "socket.socket",
        "subprocess.Popen",
    }
)

#: Codes of hooks and handlers that pile up: each step runs all of them and takes longer than the one before.
RUN_EACH_STEP = frozenset({"GL355", "GL526", "GL605", "GL612"})


@dataclass(frozen=True)
class Room:
    """The memory that a program may still use, and its peak."""

    free: int  # bytes until the limit
    peak: float  # most bytes of storages at any snapshot
    devices: Mapping[str, int] = field(default_factory=dict)  # free bytes by device


def room_now(peak: float, limit: int | None = None, devices: Mapping[str, int] = MappingProxyType({})) -> Room:
    """Measure the memory that this process may still use. ``devices``: their free bytes at the last snapshot."""
    resident, _ = usage(os.getpid())
    return Room(max(0, (limit or system_limit()) - resident), peak, devices)


def graded(findings: Iterable[Finding], room: Room) -> list[Finding]:
    """Return the findings with their severity."""
    found = [with_severity(one, room) for one in findings]
    for where, free in free_bytes_in(room).items():
        together = filling_together(found, where, free)
        found = [critical(one, where, free) if one in together else one for one in found]
    return found


def filling_together(findings: Sequence[Finding], where: str, free: int) -> list[Finding]:
    """Return the fastest leaks that together fill a device within a usual job, though none of them does alone."""
    slow = [one for one in findings if one.steps_to_limit is None and may_fill(one) and one.rates.get(where, 0.0) > 0]
    slow.sort(key=lambda one: -one.rates[where])
    rate = 0.0
    for number, one in enumerate(slow, 1):
        rate += one.rates[where]
        if rate * HORIZON >= free:
            return slow[:number]
    return []


def critical(one: Finding, where: str, free: int) -> Finding:
    """Return a finding that fills a device together with others. Its steps are those that it would take alone."""
    return replace(one, severity=Severity.CRITICAL, steps_to_limit=int(free / one.rates[where]), fills=where)


def may_fill(one: Finding) -> bool:
    """Whether it is a leak that grows with the steps."""
    return has_rate(one) and one.severity is not Severity.NOTE


def has_rate(one: Finding) -> bool:
    """Whether it grows with the steps. What came after the last step has no rate."""
    is_after = one.arrivals is not None and one.arrivals.is_after_steps
    return one.kind not in {FindingKind.RETAINED, FindingKind.NEEDS_GC} and not is_after


def free_bytes_in(room: Room) -> dict[str, int]:
    """Return the free bytes of the host, "", and of each device."""
    return {"": room.free, **room.devices}


def with_severity(one: Finding, room: Room) -> Finding:
    """Return a finding with its severity, and the steps until memory runs out if a usual job takes that many."""
    steps, where = first_full(one, room)
    return replace(one, severity=severity_of(one, steps, room.peak), steps_to_limit=steps, fills=where)


def first_full(one: Finding, room: Room) -> tuple[int | None, str]:
    """Return the steps until memory runs out at the rate of a finding, and the device that is full; "" is the host.

    None if a usual job ends earlier.
    """
    if not has_rate(one):
        return None, ""
    free = free_bytes_in(room)
    near = [
        (int(free[where] / rate), where)
        for where, rate in one.rates.items()
        if where in free and rate * HORIZON >= free[where] and rate > 0
    ]
    return min(near, default=(None, ""))


def free_where(one: Finding, room: Room) -> int:
    """Return the free bytes of the device where most of a finding's memory is, or of the host."""
    rates = one.rates
    where = max(rates, key=lambda device: rates[device])
    return room.devices.get(where, room.free) if where else room.free


def severity_of(one: Finding, steps: int | None, peak: float) -> Severity:
    """Return the severity of a finding."""
    if one.kind is FindingKind.NEEDS_GC:
        return Severity.MINOR
    if one.kind is FindingKind.RETAINED:
        return Severity.MAJOR if one.retained_bytes > MIN_SHARE * peak else Severity.NOTE
    if one.expectation == METRIC_STATE:
        return Severity.NOTE if steps is None else Severity.MINOR
    if one.code == LONGER_CODE and is_nothing(one):
        return Severity.NOTE
    if steps is not None:
        return Severity.CRITICAL
    return Severity.MINOR if is_small(one) else Severity.MAJOR


def is_small(one: Finding) -> bool:
    """Whether only a little plain Python data grows, or tensors that share the storages of others."""
    rate = one.per_step
    is_growing = one.kind is FindingKind.GROWTH or (one.kind is FindingKind.NEVER and one.is_collectable)
    if not is_growing or one.code in RUN_EACH_STEP or rate.storages or rate.graph_nodes:
        return False
    if any(row.type in HANDLES for row in one.retained_types) or one.is_running or is_longer_tensor(one):
        return False
    return max(rate.bytes, rate.retained_bytes) < MIN_PLAIN_BYTES


def is_nothing(one: Finding) -> bool:
    """Whether the growth is less than a byte a step: a row for each round of an optimization of many steps."""
    return max(one.per_step.bytes, one.per_step.retained_bytes) < 1


def is_longer_tensor(one: Finding) -> bool:
    """Whether one tensor takes more memory after each step."""
    return one.code == LONGER_CODE and one.trace.tensor is not None
