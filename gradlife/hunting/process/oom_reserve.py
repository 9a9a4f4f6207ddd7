"""Address space that is kept back where there is a limit to it, so that a program that has used all up can be looked at."""

from __future__ import annotations

import mmap

from gradlife.hunting.process.memory_limits import address_limit

#: A snapshot with labels, and what is read of it: some 250 MB for a million objects.
BYTES = 256 << 20


class Reserve:
    """Kept back until it is released. It takes no memory, only a part of what `ulimit -v` allows."""

    def __init__(self) -> None:
        self._mapping: mmap.mmap | None = None
        if address_limit() < float("inf"):
            try:
                self._mapping = mmap.mmap(-1, BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
            except OSError:  # the limit is near already
                return

    @property
    def is_held(self) -> bool:
        """Is there anything kept back?"""
        return self._mapping is not None

    def release(self) -> None:
        """Free the reserve for the last snapshot."""
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None
