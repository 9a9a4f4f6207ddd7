"""Memory that a forked process no longer shares with its parent, as Linux counts it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Bits of a page in /proc/PID/pagemap: it is in memory; no other process has it.
PRESENT, EXCLUSIVE = 1 << 63, 1 << 56


@dataclass(frozen=True)
class PrivateMemory:
    """The memory of this process at one moment, in bytes."""

    private: int  # written pages that no other process has
    resident: int


def private_memory() -> PrivateMemory | None:
    """Measure the memory of this process; None if the system does not tell."""
    found: dict[str, int] = {}
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]:
            name, value = line.split()[:2]
            found[name] = int(value) << 10
    if "Private_Dirty:" not in found or "Rss:" not in found:
        return None
    return PrivateMemory(found["Private_Dirty:"], found["Rss:"])


def page_of(address: int) -> int:
    """Return the number of the page that holds an address."""
    return address // os.sysconf("SC_PAGE_SIZE")


def private_share(pid: int, pages: Iterable[int]) -> float | None:
    """Return the share of pages in memory that only this process has; None if it cannot be read."""
    present = own = 0
    try:
        with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as file:
            for page in pages:
                file.seek(page * 8)
                entry = int.from_bytes(file.read(8), "little")
                present += bool(entry & PRESENT)
                own += entry & (PRESENT | EXCLUSIVE) == PRESENT | EXCLUSIVE
    except OSError:
        return None
    return own / present if present else None
