"""Tensors of CUDA that a process sent to others by IPC handles, from the counters that torch keeps in shared memory.

The memory belongs to the driver and is in no file. But each sent tensor has a counter in a file that torch makes: 1 until
the receiver has released the tensor. The layout is that of `CudaIPCRefCountersFile` in torch/csrc/CudaIPCTypes.h, after
the header of `RefcountedMapAllocator`.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

#: Bytes of the header, counters of a file, and bytes of both.
HEADER, COUNTERS = 64, 10_000
FILE_BYTES = HEADER + 8 * COUNTERS

#: Names of the driver's library and of its devices in a process that uses CUDA.
DRIVERS = ("/libcuda.so", "/dev/nvidia")


def is_counters(path: str, pids: Iterable[int]) -> bool:
    """Whether a file of torch has such counters: a CPU tensor may be as large, so one of its processes must use CUDA."""
    try:
        has_size = os.stat(path).st_size == FILE_BYTES
    except OSError:
        return False
    return has_size and any(map(uses_cuda, pids))


def uses_cuda(pid: int) -> bool:
    """Whether a process has loaded the driver of CUDA."""
    with suppress(OSError):
        return any(name in Path(f"/proc/{pid}/maps").read_text(errors="replace") for name in DRIVERS)
    return False


def count_unreleased(path: str) -> int:
    """Count the sent tensors that no receiver has released; 0 if the file is gone."""
    counters = array("q")
    with suppress(OSError, ValueError):
        counters.frombytes(Path(path).read_bytes()[HEADER:FILE_BYTES])
    return sum(value > 0 for value in counters)
