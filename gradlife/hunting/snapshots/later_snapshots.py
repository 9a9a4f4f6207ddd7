"""Snapshots of what follows the last training step, each after a number of passes through modules."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot

#: Most snapshots: the rounds between them have most of the passes.
MOST = 6


@dataclass
class LaterSnapshots:
    """The latest snapshots. Their steps are passes."""

    _found: list[StepSnapshot] = field(default_factory=list)

    def look(self, passes: int) -> None:
        """Take a snapshot. Garbage does no harm: only what is reachable counts."""
        with suppress(MemoryError):
            self._found.append(take_snapshot(passes, collect=Collect.NOTHING))
        del self._found[:-MOST]

    @property
    def snapshots(self) -> tuple[StepSnapshot, ...]:
        """The snapshots so far."""
        return tuple(self._found)

    def forget(self) -> None:
        """Drop the snapshots: the training goes on."""
        self._found.clear()
