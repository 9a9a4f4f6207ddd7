"""Live C++ objects, counted whether or not anything in Python reaches them: what native code alone keeps shows only here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gradlife import _heap
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


@dataclass(frozen=True)
class Counted:
    """All objects in memory by family, and the bytes of storages."""

    counts: dict[str, int]
    bytes: int


def counted() -> Counted | None:
    """Count objects by family; None where memory cannot be searched.

    Call it in a copy of the process, when a snapshot has just been taken: the tables of classes take some 15 MB.
    """
    try:
        rows, devices, lost, _, _ = _heap.native_census()
    except RuntimeError:
        return None
    if lost:
        return None
    counts: Counter[str] = Counter()
    for _, family, count, _ in rows:
        counts[family] += count
    return Counted(counts, sum(size for _, _, size in devices))


def unreached(found: Counted, snapshot: StepSnapshot) -> Unreached:
    """Subtract what the snapshot of that moment has. Reads the graph: call it in a fork."""
    counts = Counter(found.counts)
    for _, kind, count, _ in snapshot.graph.census():
        counts[kind] -= count
    nbytes = round(found.bytes - snapshot.totals.bytes)
    return Unreached(snapshot.steps, {family: counts[family] for family in FAMILIES}, nbytes)


def grows(before: Unreached, after: Unreached) -> bool:
    """Are there more, by one in every few steps at least?"""
    rate = after.since(before)
    return rate.storages > LEAST_RATE or rate.graph_nodes > LEAST_RATE


#: Storages or nodes a step; less is a cache of native code that fills.
LEAST_RATE = 0.1
