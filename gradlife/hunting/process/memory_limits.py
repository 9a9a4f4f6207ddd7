"""The memory of the program, its limits, and the moment for an interim report before it runs out."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: A report is due when memory has doubled since the last one and exceeds both: this many bytes, and this share of the
#: limit or a GiB. The import of PyTorch alone takes 300 MB, and a report stops the program for a second.
MIN_DOUBLED = 256 << 20
MIN_DOUBLED_SHARE = 1 / 8
MAX_UNREPORTED = 1 << 30

#: Near the limit, a report is due when memory has grown by this factor: the last one before a kill should be recent.
MORE = 1.1

PAGE = os.sysconf("SC_PAGE_SIZE")


#: The files of a control group with its limit and its memory, and in `memory.stat` those with cached pages of files, which
#: are dropped before a process is killed: of versions 2 and 1.
VERSION_2 = ("memory.max", "memory.current", ("inactive_file", "active_file"))
VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))


class Memory:
    """Watches the memory of one process, and of its control groups if no other limit is given."""

    def __init__(self, limit: int | None = None, share: float = 0.9) -> None:
        self.limit = limit or system_limit()
        self._groups = list(groups_of_process()) if limit is None else []
        self._group = GroupMemory()
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
        self._group = fullest(self._groups)
        used = max(resident / self.limit, address_space / address_limit(), self._group.share)
        is_near = used >= self._next
        if is_near:
            self._next = used * MORE
        has_doubled = self.resident >= max(2 * self._last, self._min_doubled)
        if has_doubled or is_near:
            self._last = self.resident
        return has_doubled or is_near

    @property
    def words(self) -> str:
        """Memory and limit, as ``7.9 of 8.0 GiB``: of the process, or of a control group that is fuller."""
        if self._group.share > self.resident / self.limit:
            return f"{gibibytes(self._group.bytes)} of {gibibytes(self._group.limit)} GiB of its control group"
        return f"{gibibytes(self.resident)} of {gibibytes(self.limit)} GiB"


def gibibytes(nbytes: int) -> str:
    """Format bytes in GiB."""
    return f"{nbytes / (1 << 30):.1f}"


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


@dataclass(frozen=True)
class GroupMemory:
    """What all processes of a control group take, without cached pages of files, and its limit."""

    bytes: int = 0
    limit: int = 1

    @property
    def share(self) -> float:
        """The share of the limit that is taken."""
        return self.bytes / self.limit


@dataclass(frozen=True)
class Group:
    """A control group with a limit."""

    folder: str
    limit: int
    taken: str  # the file with its memory
    cached: tuple[str, ...]  # the lines of `memory.stat` with cached pages of files

    @property
    def memory(self) -> GroupMemory:
        """What is taken now; nothing if it cannot be read."""
        try:
            with open(os.path.join(self.folder, self.taken), encoding="ascii") as file:
                taken = int(file.read())
            with open(os.path.join(self.folder, "memory.stat"), encoding="ascii") as file:
                lines = [line.split() for line in file]
            cached = sum(int(words[1]) for words in lines if words[0] in self.cached)
        except (OSError, ValueError, IndexError):
            return GroupMemory()
        return GroupMemory(max(0, taken - cached), self.limit)


def fullest(groups: Sequence[Group]) -> GroupMemory:
    """Return the memory of the group that is nearest to its limit."""
    return max((one.memory for one in groups), key=lambda one: one.share, default=GroupMemory())


def group_limits(table: str = "/proc/self/cgroup", mount: str = "/sys/fs/cgroup") -> Iterator[int]:
    """Yield the memory limits of this process's control groups."""
    yield from (one.limit for one in groups_of_process(table, mount))


def groups_of_process(table: str = "/proc/self/cgroup", mount: str = "/sys/fs/cgroup") -> Iterator[Group]:
    """Yield this process's control groups that have a memory limit, of versions 1 and 2."""
    try:
        with open(table, encoding="utf-8") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return
    for _, controllers, path in (group for group in groups if len(group) == 3):
        if controllers == "":
            yield from limits_up(mount, path, *VERSION_2)
        elif "memory" in controllers.split(","):
            yield from limits_up(os.path.join(mount, "memory"), path, *VERSION_1)


def limits_up(top: str, path: str, name: str, taken: str, cached: tuple[str, ...]) -> Iterator[Group]:
    """Yield a control group and all its ancestors, those with a limit."""
    parts = [part for part in path.split("/") if part]
    for count in range(len(parts), -1, -1):
        folder = os.path.join(top, *parts[:count])
        try:
            with open(os.path.join(folder, name), encoding="ascii") as file:
                yield Group(folder, int(file.read()), taken, cached)
        except (OSError, ValueError):
            continue
