"""Waits for input on file descriptors. `select.select` refuses numbers from 1,024 on, which programs with many files have."""

from __future__ import annotations

import select
from collections.abc import Iterable


def readable(descriptors: Iterable[int], seconds: float | None = None) -> list[int]:
    """Return those that can be read or have ended, after ``seconds`` at most; None: wait for one."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)]
