"""Bytes that malloc has given out in each round. If they do not change, native code keeps nothing, and its objects
need no count.

A round is measured from after its first step: a snapshot uses up freed blocks that malloc had kept for reuse, and the
first step gets new ones in their place.
"""

from __future__ import annotations

from gradlife import _heap

#: Bytes a step, and at once, that no leak of torch's objects hides in for long: each of its objects has more than the one,
#: and the other is what malloc keeps at hand more or less.
LEAST_A_STEP = 16
LEAST = 2048

#: Rounds in a row that must change it: a program reads in code, and fills tables of its libraries, for the first time only.
ROUNDS = 2


class Malloc:
    """Bytes in use, without what the hunt takes for itself at its snapshots."""

    def __init__(self) -> None:
        self._before: int | None = None  # the round, but for its first step
        self._rounds = 0  # the last ones, each of which has changed it
        self._begun = 0  # the step after which the round began
        self.per_step: float | None = None  # more in the last round, but for its first step; None: malloc does not tell

    def begin_round(self, step: int) -> None:
        """Count memory as the program's from here on, after so many steps."""
        self._before = _heap.malloc_bytes()
        self._begun = step

    def end_round(self, step: int) -> None:
        """Measure after a round of steps, with garbage collected. Shrinking mappings may hide a growing heap."""
        now, steps = _heap.malloc_bytes(), step - self._begun
        added = None if now is None or self._before is None else now - self._before
        self.per_step = added / steps if added is not None and steps > 0 else None
        has_changed = now is None or (added is not None and abs(added) > LEAST + LEAST_A_STEP * steps)
        self._rounds = self._rounds + 1 if has_changed else 0

    @property
    def keeps_changing(self) -> bool:
        """Did the bytes change in every one of the last rounds? True if malloc has no counters."""
        return self._rounds >= ROUNDS
