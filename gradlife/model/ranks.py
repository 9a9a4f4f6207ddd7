"""A run of several processes (ranks, workers), as plain values: who they are, how each ended, and in what they differ.

Ranks that agree share one row, so a report of 4,096 ranks is as short as one of 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

#: The verdict of a rank that left no report.
NO_VERDICT = "none"


#: The setting of a merged report with the rank whose rounds and controls it shows.
ROUNDS_OF = "rounds_of_rank"


class RankEnd(StrEnum):
    """The end of a rank."""

    FINISHED = "finished"
    FAILED = "failed"  # its program ended with an exit status of its own
    KILLED = "killed"  # by a signal, and its guard reported it
    LOST = "lost"  # its process is gone, and nobody reported its end
    RUNNING = "running"  # it had not ended when the reports were merged
    MISSING = "missing"  # it never joined


#: Endings of a rank that wrote its whole report.
COMPLETE = frozenset({RankEnd.FINISHED, RankEnd.FAILED})


@dataclass(frozen=True, slots=True)
class Spread:
    """The least and the most of one figure over ranks."""

    least: float = 0.0
    most: float = 0.0

    def with_value(self, value: float) -> Spread:
        """The spread that has this value, too."""
        return Spread(min(self.least, value), max(self.most, value))


@dataclass(frozen=True, slots=True)
class RankRow:
    """Ranks that agree: the same verdict, the same findings, the same end."""

    ranks: str  # "3", "0-7,9"
    count: int
    verdict: str  # of HuntVerdict; NO_VERDICT where they left no report
    end: RankEnd
    status: int | None  # of the program; None where it is unknown
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
    value: float  # bytes, of the one that has most
    usual: float  # bytes, the median of all ranks
    reason: str  # "GL402 leaks on this rank only"


@dataclass(frozen=True, slots=True)
class SnapshotCost:
    """The cost of heap snapshots for a rank that waits for the others in the same step."""

    shared: int  # snapshots that every rank took after the same step
    alone: int  # snapshots that some ranks took after a step at which others took none
    longest: float  # seconds of the longest snapshot
    extra_wait: (
        float  # seconds between the end of a rank's own snapshot and that of the last rank: the median over snapshots
    )
    most_extra_wait: float


@dataclass(frozen=True, slots=True)
class FindingRanks:
    """The ranks or workers that have a finding, and how far their rates lie apart."""

    ranks: str
    count: int
    world_size: int
    per_step: Spread  # retained bytes, or bytes of storages where those are not known
    kind: str = "rank"  # or of workers: "DataLoader worker"
    step: str = "step"  # what these processes count


@dataclass(frozen=True, slots=True)
class CopyOnRead:
    """Memory that a forked worker copies because reading a Python object writes its reference count."""

    bytes: int  # private pages that it got while it was watched, and that the holder's items can explain
    per_step: float  # bytes
    holder: str  # "dataset.names"
    items: int  # in it
    share: float  # of the pages of these items, that the worker has copied so far


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """Workers that agree: of one group, with the same verdict and the same findings."""

    kind: str  # "DataLoader worker", "pool worker", "executor worker"
    label: str  # the class of the dataset
    workers: str  # "0-3"
    count: int
    group: int  # workers that there were
    start_method: str
    step: str  # what they count: "batch", "task"
    verdict: str  # of HuntVerdict; "none" where they took too few steps, or left no report
    findings: int
    steps: Spread
    growth: Spread  # retained bytes per step, summed over the findings
    trouble: str = ""  # of the lowest worker
    copied: CopyOnRead | None = None  # of the worker that copied most


def packed(ranks: Iterable[int]) -> str:
    """Rank numbers as ranges: ``0-7,9``."""
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges(ranks))


def ranges(ranks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Runs of consecutive numbers, the first and the last of each."""
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
    """The rank numbers that ``0-7,9`` stands for; ValueError where it is something else."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
