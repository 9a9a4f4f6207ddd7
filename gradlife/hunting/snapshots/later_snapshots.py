"""Snapshots of what follows the last training step, each after a number of passes through modules."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradlife.hunting.snapshots.step_snapshots import Collect, StepSnapshot, take_snapshot

#: Most snapshots: the rounds between them have most of the passes.
MOST = 6


@dataclass
class LaterSnapshots:
    """The latest snapshots. Their steps are passes."""

    failure: str = ""  # the error of the last snapshot that failed
    _found: list[StepSnapshot] = field(default_factory=list)

    def look(self, passes: int) -> None:
        """Take a snapshot. Garbage does no harm: only what is reachable counts. The program goes on if it fails."""
        try:
            self._found.append(take_snapshot(passes, collect=Collect.NOTHING))
        except Exception as error:
            self.failure = type(error).__name__
        del self._found[:-MOST]

    @property
    def snapshots(self) -> tuple[StepSnapshot, ...]:
        """The snapshots so far."""
        return tuple(self._found)

    def forget(self) -> None:
        """Drop the snapshots: the training goes on."""
        self._found.clear()
