"""Find tensors and grad nodes that a test leaves in C++ alone or on an old tensor: no young Python object leads to
them.

malloc's blocks are searched only if a test uses more memory at its end than at its start. That takes some 50 ms.
"""

from __future__ import annotations

import gc

from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.snapshots.step_snapshots import native_classes
from gradlife.pytest_plugin.checks.gc_boundary import TENSOR

#: Bytes that a test must add before a search. In most tests pytest itself adds up to half of that.
LEAST = 4096

#: Searches that may be made: at first, and two more after so many tests, one for what is there before. They are counted and
#: not timed: whether a test leaks does not depend on how fast the machine is.
FIRST, TESTS_EACH = 40, 50


class NativeSurvivors:
    """The native survivors of each test of a session."""

    def __init__(self) -> None:
        self._before: bytes | None = None  # objects found by the last search; None: outdated
        self._level: int | None = None  # malloc's bytes at the start of the test
        self._searches = FIRST  # that may still be made
        self._is_blind = False  # whether memory cannot be read here
        self._tests = 0
        self.is_skipped = False  # whether the test that ran last would have been searched, but for their number

    def begin(self) -> None:
        """Begin a test. Call `take_baseline` once its wider fixtures are set up: their objects are not the test's."""
        self.is_skipped = False
        self._tests += 1
        if self._tests % TESTS_EACH == 0:
            self._searches = min(FIRST, self._searches + 2)
        if self._before is None:
            self.take_baseline()
        self._level = _heap.malloc_bytes()

    def take_baseline(self) -> None:
        """Count everything that exists now as old."""
        self._before = None
        if self._can_look():
            self._searches -= 1
            try:
                ensure_calibrated()
                self._before = _heap.native_blocks()
            except RuntimeError:  # memory cannot be read here
                self._is_blind = True
        self._level = _heap.malloc_bytes()

    def mark_stale(self) -> None:
        """Discard the count, because other code has read the heap since."""
        self._before = None

    def has_more(self) -> bool:
        """Return whether more memory is in use than when the test began."""
        level = _heap.malloc_bytes()
        return self._level is not None and level is not None and level - self._level >= LEAST

    def left(self, may_collect: bool) -> list[tuple[int, str]]:
        """Return the addresses of the test's remaining objects by family, including garbage unless the collector may
        run.
        """
        if not self.has_more():
            return []
        if may_collect:
            gc.collect()
        if self._before is None or not self.has_more() or not self._can_look():
            self.is_skipped = self.has_more() and self._searches <= 0
            self._before = self._before if not self.has_more() else None
            return []
        self._searches -= 1
        self._before, found = _heap.native_since(self._before)
        self._level = _heap.malloc_bytes()
        return found

    def _can_look(self) -> bool:
        return self._searches > 0 and not self._is_blind and bool(native_classes(TENSOR))
