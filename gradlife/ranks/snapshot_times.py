"""The cost of heap snapshots, for ranks that wait for each other."""

from __future__ import annotations

import statistics

from gradlife.model.ranks import SnapshotCost
from gradlife.ranks.rank_report import SnapshotTime


class SnapshotTimes:
    """Collects the snapshot times of all ranks."""

    def __init__(self) -> None:
        self._ranks = 0
        self._by_step: dict[int, list[tuple[float, float]]] = {}

    def add(self, snapshots: tuple[SnapshotTime, ...]) -> None:
        """Add the snapshots of one rank."""
        if snapshots:
            self._ranks += 1
        for one in snapshots:
            self._by_step.setdefault(one.step, []).append((one.began, one.ended))

    @property
    def cost(self) -> SnapshotCost | None:
        """Return the cost; None if no rank recorded when it took snapshots."""
        if not self._by_step:
            return None
        shared = [times for times in self._by_step.values() if len(times) >= self._ranks]
        waits = [max(end for _, end in times) - min(end for _, end in times) for times in shared]
        return SnapshotCost(
            shared=len(shared),
            alone=len(self._by_step) - len(shared),
            longest=max(end - began for times in self._by_step.values() for began, end in times),
            extra_wait=statistics.median(waits) if waits else 0.0,
            most_extra_wait=max(waits, default=0.0),
        )
