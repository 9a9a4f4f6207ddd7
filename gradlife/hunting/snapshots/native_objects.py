"""Live C++ objects, counted whether or not anything in Python reaches them: what native code alone keeps shows only here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.process.forked import in_fork
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.hunt import PerStep

#: Families that a leak is made of, by what the graph calls such objects: torch's have the same names there.
FAMILIES = ("tensor", "storage", "grad_node")


#: Counts without which no growth is shown.
LEAST_SNAPSHOTS = 4


@dataclass(frozen=True)
class Unreached:
    """Objects at one snapshot that are in memory, and that nothing in Python is known to reach."""

    steps: int
    counts: dict[str, int]
    bytes: int  # of storages' contents

    def since(self, before: Unreached) -> PerStep:
        """Return what each step added."""
        steps = max(1, self.steps - before.steps)
        rates = {family: (self.counts[family] - before.counts[family]) / steps for family in FAMILIES}
        nbytes = (self.bytes - before.bytes) / steps
        nbytes = max(0.0, nbytes)
        return PerStep(0.0, 0.0, rates["storage"], rates["grad_node"], nbytes, nbytes)


def unreached(snapshot: StepSnapshot) -> Unreached | None:
    """Counts of now, when the snapshot has just been taken; None where memory can't be searched, or is too short for it.

    A copy of the process counts: the tables of classes take some 15 MB.
    """
    try:
        counts, nbytes = in_fork(lambda: counted(snapshot))
    except MemoryError:
        return None
    return Unreached(snapshot.steps, counts, nbytes) if counts else None


def counted(snapshot: StepSnapshot) -> tuple[dict[str, int], int]:
    """Count objects by family, and bytes, without those that are known; empty if memory cannot be searched."""
    try:
        rows, devices, lost, _, _ = _heap.native_census()
    except RuntimeError:
        return {}, 0
    if lost:
        return {}, 0
    counts: Counter[str] = Counter()
    for _, family, count, _ in rows:
        counts[family] += count
    for _, kind, count, _ in snapshot.graph.census():
        counts[kind] -= count
    nbytes = sum(size for _, _, size in devices) - snapshot.totals.bytes
    return {family: counts[family] for family in FAMILIES}, round(nbytes)


def grows(before: Unreached, after: Unreached) -> bool:
    """Are there more, by one in every few steps at least?"""
    rate = after.since(before)
    return rate.storages > LEAST_RATE or rate.graph_nodes > LEAST_RATE


#: Storages or nodes a step; less is a cache of native code that fills.
LEAST_RATE = 0.1
