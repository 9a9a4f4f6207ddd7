"""Snapshots after the steps of optimizers that do not count: what is kept between two of them is still needed.

Where the step of one network comes before that of another, its snapshots show the graph that the other's backward pass
is about to use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot

#: Most optimizers that are looked at, with one snapshot each.
MOST = 3

#: Snapshots of the hunt before that: by then each step leaves the same.
AFTER = 3


@dataclass
class OtherSteps:
    """One snapshot after a step of each optimizer that does not count."""

    _found: dict[int, StepSnapshot] = field(default_factory=dict)

    def look(self, optimizer: int, steps: int) -> None:
        """Take a snapshot, once for each optimizer, known by its address."""
        self._found[optimizer] = take_snapshot(steps, collect=Collect.NOTHING)

    def wants(self, optimizer: int, snapshots: int) -> bool:
        """Whether there should be a snapshot of this one, now that the hunt has so many."""
        return snapshots >= AFTER and len(self._found) < MOST and optimizer not in self._found

    @property
    def snapshots(self) -> tuple[StepSnapshot, ...]:
        """The snapshots so far."""
        return tuple(self._found.values())

    def forget(self) -> None:
        """Drop the snapshots."""
        self._found.clear()
