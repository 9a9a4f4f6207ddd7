"""Tensors and grad nodes that a test leaves where no young object of Python shows them: in C++ alone, or on an old tensor.

Only where more memory is in use after a test than before it are the blocks of malloc looked through, some 50 ms.
"""

from __future__ import annotations

import gc
import time

from gradlife import _heap
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.hunting.snapshots.step_snapshots import native_classes
from gradlife.pytest_plugin.checks.gc_boundary import TENSOR

#: Bytes more after a test than before it: pytest's own books take up to half of that for most tests.
LEAST = 4096

#: CPU seconds that looks may take: at first, and for each test.
FIRST, EACH = 2.0, 0.002


class Unshown:
    """A session's tests, one after the other."""

    def __init__(self) -> None:
        self._before: bytes | None = None  # what was there when it was last looked at; None: that says nothing any more
        self._level: int | None = None  # of malloc, when the test began
        self._credit = FIRST
        self._cost = 0.0  # of a look

    def begin(self) -> None:
        """A test begins. What its wider fixtures make is there before it is called, and is none of it: `renew`."""
        self._credit = min(FIRST, self._credit + EACH)
        if self._before is None:
            self.renew()
        self._level = _heap.malloc_bytes()

    def renew(self) -> None:
        """Count everything that exists now as old."""
        self._before = None
        if self._can_look():
            began = time.process_time()
            try:
                ensure_calibrated()
                self._before = _heap.native_blocks()
            except RuntimeError:  # memory can't be read here
                self._credit = 0.0
            self._pay(began)
        self._level = _heap.malloc_bytes()

    def outdate(self) -> None:
        """Discard the count: other code has looked at the heap since."""
        self._before = None

    def has_more(self) -> bool:
        """Is more memory in use than when the test began?"""
        level = _heap.malloc_bytes()
        return self._level is not None and level is not None and level - self._level >= LEAST

    def left(self, may_collect: bool) -> list[tuple[int, str]]:
        """The addresses of what the test has left, with their families: also what waits for the collector, unless it may run."""
        if not self.has_more():
            return []
        if may_collect:
            gc.collect()
        if self._before is None or not self.has_more() or not self._can_look():
            self._before = self._before if not self.has_more() else None
            return []
        began = time.process_time()
        self._before, found = _heap.native_since(self._before)
        self._pay(began)
        self._level = _heap.malloc_bytes()
        return found

    def _can_look(self) -> bool:
        return self._credit > self._cost and bool(native_classes(TENSOR))

    def _pay(self, began: float) -> None:
        self._cost = time.process_time() - began
        self._credit -= self._cost
