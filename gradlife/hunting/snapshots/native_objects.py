"""Live C++ objects, counted whether or not Python reaches them: only this count shows objects held by native code
alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gradlife import _heap
from gradlife.hunting.process import forked
from gradlife.hunting.snapshots.step_snapshots import StepSnapshot
from gradlife.model.hunt import Amounts

#: Object families that leak, by their names in the graph and in torch.
FAMILIES = ("tensor", "storage", "grad_node")


#: Counts without which no growth is reported.
MIN_NATIVE_SNAPSHOTS = 4


@dataclass(frozen=True)
class Unreached:
    """Objects in memory at one snapshot that nothing in Python is known to reach."""

    steps: int
    counts: dict[str, int]
    bytes: int  # bytes of storage contents

    def since(self, before: Unreached) -> Amounts:
        """Return what each step added since an earlier snapshot."""
        steps = max(1, self.steps - before.steps)
        rates = {family: (self.counts[family] - before.counts[family]) / steps for family in FAMILIES}
        nbytes = (self.bytes - before.bytes) / steps
        nbytes = max(0.0, nbytes)
        return Amounts(0.0, 0.0, rates["storage"], rates["grad_node"], nbytes, nbytes)


@dataclass(frozen=True)
class Counted:
    """All objects in memory by family, and the bytes of storages."""

    counts: dict[str, int]
    bytes: int


def counted() -> Counted | None:
    """Count objects by family; None if memory cannot be searched.

    Call it in a copy of the process right after a snapshot: the class tables take some 15 MB.
    """
    try:
        counts, nbytes, lost = _heap.native_counts(forked.is_copy)
    except RuntimeError:
        return None
    return None if lost else Counted(Counter(counts), nbytes)


def unreached(found: Counted, snapshot: StepSnapshot) -> Unreached:
    """Subtract the objects in the snapshot of that moment. Reads the graph: call it in a fork."""
    counts = Counter(found.counts)
    for _, kind, count, _ in snapshot.graph.census():
        counts[kind] -= count
    nbytes = round(found.bytes - snapshot.totals.bytes)
    return Unreached(snapshot.steps, {family: counts[family] for family in FAMILIES}, nbytes)


def grows(before: Unreached, after: Unreached) -> bool:
    """Whether the number grows by at least one in every few steps."""
    rate = after.since(before)
    return rate.storages > MIN_RATE or rate.graph_nodes > MIN_RATE


#: Storages or nodes per step; less is a native cache that fills.
MIN_RATE = 0.1
