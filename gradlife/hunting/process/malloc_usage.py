"""Bytes that malloc gives out per round. If they do not change, native code keeps nothing: its objects need no count.

A round is measured from after its first step: a snapshot uses up freed blocks that malloc had kept for reuse, and the
first step allocates others in their place.
"""

from __future__ import annotations

from collections.abc import Callable

from gradlife import _heap
from gradlife.hunting.process.new_work import NewWork

#: Changes up to this many bytes per step, plus this many at once, are ignored. A leaked torch object is larger than the
#: first, and malloc's own reserve varies by the second.
MIN_A_STEP = 16
LEAST = 2048

#: Rounds in a row that must change the bytes: a program loads code, and fills tables of its libraries, only once.
ROUNDS = 2


def freed_by(work: Callable[[], object]) -> int:
    """Return how many bytes less malloc has given out after the work; 0 if it has no counters."""
    before = _heap.malloc_bytes()
    work()
    after = _heap.malloc_bytes()
    return before - after if before is not None and after is not None else 0


class Malloc:
    """Bytes in use, without those that the hunt itself takes at its snapshots."""

    def __init__(self) -> None:
        self._before: int | None = None  # bytes at the beginning of the round
        self._rounds = 0  # rounds in a row that changed the bytes
        self._earlier_rounds = 0  # the same before the last round
        self._begun = 0  # the step after which the round began
        self.per_step: float | None = None  # growth in the last round; None: malloc has no counters
        self.threads = NewWork()
        self.new_workers = 0  # threads that worked in the last round as never before

    def begin_round(self, step: int) -> None:
        """Begin a round after this step."""
        self.threads.look()
        self._before = _heap.malloc_bytes()
        self._begun = step

    def end_round(self, step: int) -> None:
        """Measure at the end of a round, after garbage collection. Shrinking mappings may hide a growing heap."""
        self._earlier_rounds = self._rounds
        self.measure(step)
        self.new_workers = self.threads.look()

    def measure(self, step: int) -> None:
        """Measure the round that ends with this step; again, if another collection has run since."""
        now, steps = _heap.malloc_bytes(), step - self._begun
        added = None if now is None or self._before is None else now - self._before
        self.per_step = added / steps if added is not None and steps > 0 else None
        has_changed = now is None or (added is not None and abs(added) > LEAST + MIN_A_STEP * steps)
        self._rounds = self._earlier_rounds + 1 if has_changed else 0

    @property
    def keeps_changing(self) -> bool:
        """Whether the bytes changed in each of the last rounds; True if malloc has no counters."""
        return self._rounds >= ROUNDS
