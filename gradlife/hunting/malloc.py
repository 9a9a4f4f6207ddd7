"""What malloc has given out at each look: where it is the same, native code keeps nothing, and its objects need no count."""

from __future__ import annotations

from gradlife import _heap

#: Bytes a step, and at once, that no object of torch's can hide in: its smallest blocks are larger.
LEAST_A_STEP = 8
LEAST = 96


class Malloc:
    """Bytes in use, without what the hunt plants."""

    def __init__(self) -> None:
        self._planted = 0
        self._before = 0
        self._last: int | None = None
        self._now = 0

    def before_planting(self) -> None:
        """The controls come next. What there is now is the program's."""
        self._before = _heap.malloc_bytes() or 0
        self._now = self._before - self._planted

    def after_planting(self) -> None:
        """They are there."""
        self._planted += (_heap.malloc_bytes() or 0) - self._before

    def has_changed(self, steps: int) -> bool:
        """Since the last look; less of the one may hide more of the other. Where malloc does not tell: yes."""
        last, self._last = self._last, self._now
        if _heap.malloc_bytes() is None:
            return True
        return last is not None and abs(self._now - last) > LEAST + LEAST_A_STEP * steps
