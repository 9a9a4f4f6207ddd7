"""Reports of device memory with few blocks, for tests of what is shown."""

from __future__ import annotations

from gradlife.model.device.memory import (
    Advice,
    BlockOwner,
    BlockState,
    DeviceMemory,
    DeviceReport,
    Drag,
    FailedRequest,
    Frame,
    MappedSegment,
    OwnerKind,
    Pin,
    Run,
)
from gradlife.model.trace import PathStep, StepStatus

MB = 10**6
USED, WAITING, FREE = BlockState.USED, BlockState.WAITING, BlockState.FREE
LINE = Frame("/home/me/train.py", 41, "step")
TRACE = (
    PathStep("module", "__main__", "root", "global variable 'losses'", "dict_value", StepStatus.EXPECTED),
    PathStep("list", "len 3", "python", "[0]", "item", is_suspect=True),
    PathStep("Tensor", "float32 [2500000] cuda:0", "python", "", "", StepStatus.LEAKING),
)


def memory(device: str = "cuda:0", name: str = "losses of __main__") -> DeviceMemory:
    """A device with two segments, whose request failed."""
    owners = (
        BlockOwner(OwnerKind.HOLDER, name, 30 * MB, 3, LINE, unused_bytes=20 * MB, trace=TRACE),
        BlockOwner(OwnerKind.STREAM, "freed; waits for a non-default stream", 5 * MB, 1),
        BlockOwner(OwnerKind.LIBRARY, "cuBLAS workspace", 4 * MB, 1),
    )
    first = (Run(0, 20 * MB, 2, USED, 0), Run(20 * MB, 10 * MB, 1, FREE), Run(30 * MB, 10 * MB, 1, USED, 0))
    second = (Run(0, 4 * MB, 1, USED, 2), Run(4 * MB, 5 * MB, 1, WAITING, 1), Run(9 * MB, 1 * MB, 1, FREE))
    return DeviceMemory(
        device,
        segments=2,
        reserved_bytes=50 * MB,
        used_bytes=34 * MB,
        waiting_bytes=5 * MB,
        free_bytes=11 * MB,
        rounding_bytes=0,
        idle_bytes=0,
        largest_free_bytes=10 * MB,
        owners=owners,
        pins=(Pin(name, 30 * MB, 3, 10 * MB),),
        failed=FailedRequest(0, 12 * MB, MB, (LINE,)),
        map=(MappedSegment(1 << 32, 40 * MB, 0, False, first), MappedSegment(2 << 32, 10 * MB, 7, True, second)),
        drag=(Drag(name, 20 * MB, 2, "del losses below", Frame("/home/me/train.py", 44, "step")),),
        advice=(Advice("del losses below train.py:44", 20 * MB, "held longer than used: nothing reads losses again"),),
    )


def report(*devices: DeviceMemory) -> DeviceReport:
    """A report of a file."""
    return DeviceReport("oom.pickle", devices, ())
