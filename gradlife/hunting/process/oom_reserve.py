"""Address space that is reserved under `ulimit -v`, for the last snapshot of a program that has run out of memory."""

from __future__ import annotations

import mmap

from gradlife.hunting.process.memory_limits import address_limit

#: Enough for a snapshot with labels and its analysis: some 250 MB for a million objects.
BYTES = 256 << 20


class Reserve:
    """Address space held until it is released. It takes no memory, only a part of what `ulimit -v` allows."""

    def __init__(self) -> None:
        self._mapping: mmap.mmap | None = None
        if address_limit() < float("inf"):
            try:
                self._mapping = mmap.mmap(-1, BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
            except OSError:  # the limit is already near
                return

    @property
    def is_held(self) -> bool:
        """Whether address space is held."""
        return self._mapping is not None

    def release(self) -> None:
        """Free the reserve for the last snapshot."""
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None
