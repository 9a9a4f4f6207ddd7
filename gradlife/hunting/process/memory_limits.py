"""The memory of the program, its limits, and the moment for an interim report before it runs out."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator

#: A report is due when memory has doubled since the last one and exceeds both: this many bytes, and this share of the
#: limit or a GiB. The import of PyTorch alone takes 300 MB, and a report stops the program for a second.
MIN_DOUBLED = 256 << 20
MIN_DOUBLED_SHARE = 1 / 8
MAX_UNREPORTED = 1 << 30

#: Near the limit, a report is due when memory has grown by this factor: the last one before a kill should be recent.
MORE = 1.1

PAGE = os.sysconf("SC_PAGE_SIZE")


class Memory:
    """Watches the memory of one process."""

    def __init__(self, limit: int | None = None, share: float = 0.9) -> None:
        self.limit = limit or system_limit()
        self._next = share  # share of the limit at which the next interim report is due
        self._last = 0
        self._min_doubled = max(MIN_DOUBLED, min(MAX_UNREPORTED, int(self.limit * MIN_DOUBLED_SHARE)))
        self.resident = 0
        self.peak = 0  # most resident bytes seen

    def is_time(self, pid: int) -> bool:
        """Whether an interim report is due."""
        resident, address_space = usage(pid)
        self.resident = resident or self.resident
        self.peak = max(self.peak, self.resident)
        used = max(resident / self.limit, address_space / address_limit())
        is_near = used >= self._next
        if is_near:
            self._next = used * MORE
        has_doubled = self.resident >= max(2 * self._last, self._min_doubled)
        if has_doubled or is_near:
            self._last = self.resident
        return has_doubled or is_near

    @property
    def words(self) -> str:
        """Memory and limit, as ``7.9 of 8.0 GiB``."""
        return f"{self.resident / (1 << 30):.1f} of {self.limit / (1 << 30):.1f} GiB"


def usage(pid: int) -> tuple[int, int]:
    """Return the resident bytes and the bytes of address space; zeros if the process is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            size, resident = file.read().split()[:2]
    except (OSError, ValueError):
        return 0, 0
    return int(resident) * PAGE, int(size) * PAGE


def peak_of(pid: int) -> int:
    """Return the peak of resident bytes; 0 if the system does not tell."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:")), 0)
    except (OSError, ValueError, IndexError):
        return 0


def address_limit() -> float:
    """Return the limit of `ulimit -v` in bytes; infinity if there is none."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if soft == resource.RLIM_INFINITY else float(soft)


def system_limit() -> int:
    """Return the limit of the machine or of the control groups, whichever is lower."""
    return min([total_memory(), *group_limits()])


def total_memory() -> int:
    """Return the machine's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * PAGE


def group_limits(table: str = "/proc/self/cgroup", mount: str = "/sys/fs/cgroup") -> Iterator[int]:
    """Yield the memory limits of this process's control groups, of versions 1 and 2."""
    try:
        with open(table, encoding="utf-8") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for _, controllers, path in (group for group in groups if len(group) == 3):
        if controllers == "":
            yield from limits_up(mount, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from limits_up(os.path.join(mount, "memory"), path, "memory.limit_in_bytes")


def limits_up(top: str, path: str, name: str) -> Iterator[int]:
    """Yield the limits of a control group and of all its ancestors."""
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts), -1, -1):
        try:
            with open(os.path.join(top, *parts[:count], name), encoding="ascii") as file:
                yield int(file.read())
        except (OSError, ValueError):
            continue
