"""Waiting for processes and threads to end: as long as it takes, and 900 seconds if they hang. What this process has open."""

from __future__ import annotations

import gc
import os
import select
import time
from collections.abc import Callable

#: Seconds after which something hangs, on however slow a machine.
HANGS = 900.0


def ends(pid: int) -> bool:
    """Wait for a process to end, whoever its parent is. False: it hangs."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], HANGS)[0])
    finally:
        os.close(descriptor)


def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for something that nothing announces. False: it never came true."""
    end = time.monotonic() + HANGS
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


def open_descriptors() -> set[str]:
    """The open descriptors of this process. Compare with `<=`: what earlier tests have left may be closed at any moment."""
    gc.collect()
    return set(os.listdir("/proc/self/fd"))
