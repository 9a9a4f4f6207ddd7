"""Who held the memory when it ran out."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from gradlife.model.hunt import DEVICE_OWNER, LIVE_OWNER, Explained, HuntReport

#: The end of the names of errors raised when memory runs out: MemoryError, OutOfMemoryError.
MEMORY_ERROR = "MemoryError"

#: The error of a device's allocator.
DEVICE_ERROR = "OutOfMemoryError"

#: The least that an owner holds to be named, as a share of what the first one holds.
MIN_SHARE = 0.05

#: How the name of a function's variable begins.
LOCAL_VARIABLE = "local variable "

#: The trouble of a program that was killed, as when memory runs out.
KILLED = f"killed by signal {int(signal.SIGKILL)} "


def ran_out_of_memory(report: HuntReport) -> bool:
    """Whether the program failed because memory ran out: only then does its report have the owners of what was alive."""
    has_owners = "ended with" in report.trouble and any(one.kind == LIVE_OWNER for one in report.explained)
    return MEMORY_ERROR in report.trouble or has_owners


def owners_at_the_end(report: HuntReport) -> list[Explained]:
    """Return who held the memory when it ran out, on the device or the host, most first; none if it did not run out.

    Of a program that was killed the last interim report tells.
    """
    if not report.trouble.startswith(KILLED) and not ran_out_of_memory(report):
        return []
    on_device = [one for one in report.at_failure if one.kind == DEVICE_OWNER]
    if on_device and DEVICE_ERROR in report.trouble:
        return large(on_device)
    return outermost(large([one for one in report.at_failure if one.kind == LIVE_OWNER]))


def large(owners: Sequence[Explained]) -> list[Explained]:
    """Return the owners of at least `MIN_SHARE` of what the first one holds."""
    return [one for one in owners if one.bytes >= MIN_SHARE * owners[0].bytes]


def outermost(owners: Sequence[Explained]) -> list[Explained]:
    """Return the owners that are not below a larger one: their path does not go on from its path."""
    kept: list[Explained] = []
    for one in owners:
        if not any(is_below(one, other) for other in kept):
            kept.append(one)
    return kept


def is_below(one: Explained, other: Explained) -> bool:
    """Whether the path of one owner goes on from that of the other: `.cache[*]` from `.cache`, and not `.cached`."""
    path, function = path_and_function(other)
    longer, of = path_and_function(one)
    rest = longer.removeprefix(path)
    return bool(path) and function == of and rest != longer and not rest[:1].isidentifier()


def path_and_function(owner: Explained) -> tuple[str, str]:
    """Return the path to an owner; of a local variable, apart from the function: ``local variable 'kept'[*] of step``."""
    path = owner.what.rpartition(": ")[0]
    if not path.startswith(LOCAL_VARIABLE):
        return path, ""
    path, _, function = path.rpartition(" of ")
    return path, function
