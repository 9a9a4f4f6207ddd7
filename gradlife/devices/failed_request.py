"""Read the request that ran out of memory from the exception that is being handled."""

from __future__ import annotations

import re
import sys
import traceback
from dataclasses import dataclass
from types import TracebackType

from gradlife.model.device.memory import FailedRequest, Frame

#: What the allocators of CUDA and XPU say, from torch 2.0 on. Sizes are rounded to two digits.
SAID = re.compile(
    r"(?P<kind>CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<size>[\d.]+ \w+)\. GPU (?P<device>\d+) "
    r"(?:.*? of which (?P<free>[\d.]+ \w+) is free)?",
    re.DOTALL,
)

UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

#: The devices of torch whose allocator says so.
KINDS = {"CUDA": "cuda", "HIP": "cuda", "XPU": "xpu"}


@dataclass(frozen=True)
class HandledFailure:
    """A failed request, and the kind of its device: ``cuda``."""

    kind: str
    request: FailedRequest


def handled_failure() -> HandledFailure | None:
    """Return the request of the out-of-memory error that is being handled; None if there is none.

    The allocator knows it too, but only after `_record_memory_history`.
    """
    error = sys.exception()
    if error is None or type(error).__name__ != "OutOfMemoryError":
        return None
    argument = error.args[0] if error.args else None
    said = SAID.match(argument) if isinstance(argument, str) else None
    if said is None:
        return None
    free = size_of(said["free"]) if said["free"] else 0
    request = FailedRequest(int(said["device"]), size_of(said["size"]), free, frames_of(error.__traceback__))
    return HandledFailure(KINDS[said["kind"]], request)


def size_of(text: str) -> int:
    """Return the bytes that torch writes as ``20.00 MiB``; 0 for a unit that it does not have."""
    number, unit = text.split()
    return round(float(number) * UNITS.get(unit, 0))


def frames_of(trace: TracebackType | None) -> tuple[Frame, ...]:
    """Return the frames of an error, innermost first."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(trace)]
    return tuple(Frame(code.co_filename, line, code.co_name) for code, line in reversed(frames))
