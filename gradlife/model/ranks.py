"""A run of several processes (ranks, workers), as plain values: who they are, how each ended, how they differ, and what
memory they share.

Ranks that agree share one row, so a report of 4,096 ranks is as short as one of 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: The verdict of a rank that left no report.
NO_VERDICT = "none"


#: The setting that names the rank whose rounds and controls a merged report shows.
ROUNDS_OF = "rounds_of_rank"


class RankEnd(StrEnum):
    """The way in which a rank ended."""

    FINISHED = "finished"
    FAILED = "failed"  # its program exited with its own status
    KILLED = "killed"  # killed by a signal, as its guard reported
    LOST = "lost"  # its process ended without an exit status
    RUNNING = "running"  # still running when the reports were merged
    MISSING = "missing"  # it left no files


@dataclass(frozen=True, slots=True)
class Spread:
    """The least and the greatest value of one figure over the ranks."""

    least: float = 0.0
    most: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of the values; zeros if there are none."""
        return cls(min(values, default=0.0), max(values, default=0.0))


@dataclass(frozen=True, slots=True)
class RankRow:
    """Ranks with the same verdict, findings and ending."""

    ranks: str  # "3", "0-7,9"
    count: int
    verdict: str  # a HuntVerdict; NO_VERDICT if they left no report
    end: RankEnd
    status: int | None  # of the program; None if unknown
    findings: int
    steps: Spread
    growth: Spread  # retained bytes per step, summed over the findings
    peak: Spread  # resident bytes
    host: str = ""  # of the lowest rank
    trouble: str = ""  # of the lowest rank


@dataclass(frozen=True, slots=True)
class Skew:
    """Ranks that grow faster or peak higher than the others."""

    measure: str  # "growth per step", "peak memory"
    ranks: str
    count: int
    value: float  # bytes of the highest rank
    usual: float  # bytes, the median of all ranks
    reason: str  # "GL402 ...: not on the other ranks"
    code: str = ""  # of the finding that explains it
    owner: str = ""  # the object that explains it: "module __main__: global variable 'cache': dict"
    owner_bytes: float = 0.0  # what it retains on the highest rank
    owner_usual: float = 0.0  # the same, the median of all ranks


@dataclass(frozen=True, slots=True)
class SnapshotCost:
    """The cost of heap snapshots to ranks that wait for each other in the same step."""

    shared: int  # snapshots that every rank took after the same step
    alone: int  # snapshots after a step at which other ranks took none
    longest: float  # seconds of the longest snapshot
    extra_wait: (
        float  # seconds between the end of a rank's own snapshot and that of the last rank: the median over snapshots
    )
    most_extra_wait: float


@dataclass(frozen=True, slots=True)
class FindingRanks:
    """The ranks or workers that have a finding, and the spread of their rates."""

    ranks: str
    count: int
    world_size: int
    per_step: Spread  # retained bytes, or bytes of storages if unknown
    kind: str = "rank"  # or the kind of worker: "DataLoader worker"
    step: str = "step"  # the unit that these processes count


@dataclass(frozen=True, slots=True)
class CopyOnRead:
    """Memory that a forked worker copies because reading a Python object writes its reference count."""

    bytes: int  # private pages gained while watched that the holder's items can explain
    per_step: float  # bytes
    holder: str  # "dataset.names"
    items: int  # items in it
    share: float  # share of the items' pages that the worker has copied


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """Workers of one group with the same verdict and findings."""

    kind: str  # "DataLoader worker", "pool worker", "executor worker"
    label: str  # the class of the dataset
    workers: str  # "0-3"
    count: int
    group: int  # workers in the group
    start_method: str
    step: str  # the unit of work: "batch", "task"
    verdict: str  # a HuntVerdict; "none" after too few steps or without a report
    findings: int
    steps: Spread
    growth: Spread  # retained bytes per step, summed over the findings
    trouble: str = ""  # of the lowest worker
    copied: CopyOnRead | None = None  # of the worker that copied most


#: The object of a finding about shared memory that a program leaves behind.
SHARED_MEMORY = "file of shared memory"


@dataclass(frozen=True, slots=True)
class SharedStorages:
    """Shared segments of one kind with the same maker, mapped by the same processes."""

    kind: str  # "torch, file descriptor", "torch, file_system", "SharedMemory"
    made_by: (
        str  # "pt_data_worker 4711"; of a segment whose name does not tell, the process that was first seen with it
    )
    count: int
    bytes: int
    mapped_by: tuple[str, ...]  # "the program", "pt_data_worker 4711"
    waiting: int = 0  # handed to another process that has not mapped them yet
    example: str = ""  # the path of one


@dataclass(frozen=True, slots=True)
class SharedLeftover:
    """A file of shared memory that no process maps any more: it takes memory until it is removed."""

    path: str
    kind: str
    bytes: int
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class SharedLedger:
    """The shared memory of a program and its children at the moment when it was largest, and what was left at the end."""

    bytes: int = 0
    segments: int = 0
    rows: tuple[SharedStorages, ...] = ()  # the largest first
    leftovers: tuple[SharedLeftover, ...] = ()  # the largest first


def rank_ranges(ranks: Iterable[int]) -> str:
    """Format rank numbers as ranges: ``0-7,9``."""
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges(ranks))


def ranges(ranks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Return runs of consecutive numbers as (first, last)."""
    first = last = None
    for rank in sorted(set(ranks)):
        if first is None or last is None:
            first = rank
        elif rank != last + 1:
            yield first, last
            first = rank
        last = rank
    if first is not None and last is not None:
        yield first, last


def unpacked(text: str) -> Iterator[int]:
    """Parse ranges of rank numbers such as ``0-7,9``. Raises ValueError."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
