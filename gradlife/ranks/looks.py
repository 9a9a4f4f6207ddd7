"""The cost of heap snapshots for ranks that wait for one another."""

from __future__ import annotations

import statistics

from gradlife.model.ranks import LookCost
from gradlife.ranks.rank_report import LookTime


class Looks:
    """Collects when each rank looked."""

    def __init__(self) -> None:
        self._ranks = 0
        self._by_step: dict[int, list[tuple[float, float]]] = {}

    def add(self, looks: tuple[LookTime, ...]) -> None:
        """The looks of one rank."""
        if looks:
            self._ranks += 1
        for one in looks:
            self._by_step.setdefault(one.step, []).append((one.began, one.ended))

    @property
    def cost(self) -> LookCost | None:
        """Return the cost; None if no rank recorded when it took snapshots."""
        if not self._by_step:
            return None
        shared = [times for times in self._by_step.values() if len(times) >= self._ranks]
        waits = [last_end(times) - min(end for _, end in times) for times in shared]
        return LookCost(
            shared=len(shared),
            alone=len(self._by_step) - len(shared),
            longest=max(end - began for times in self._by_step.values() for began, end in times),
            extra_wait=statistics.median(waits) if waits else 0.0,
            most_extra_wait=max(waits, default=0.0),
        )


def last_end(times: list[tuple[float, float]]) -> float:
    """When the last rank was done with a look."""
    return max(end for _, end in times)
