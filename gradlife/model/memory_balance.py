"""What the resident memory of a process is made of, and what a round of steps added to each part."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ResidentPart(StrEnum):
    """A part of resident memory that no object of the heap graph accounts for."""

    RESERVE = "reserve"
    FILES = "files"
    SHARED = "shared"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class MemoryBalance:
    """What a round added to resident memory, and to all that gradlife can count in it: totals in bytes, not per step.

    Parts are counted by size, resident memory by pages that were touched: zeros that nothing has read or written make the
    unexplained part negative, and touching them later makes it positive.
    """

    resident: int
    tensors: int  # contents of storages that torch owns; 0 where some are on devices
    arrays: int  # numpy's
    objects: int  # Python objects, with texts and tables
    native: int  # what malloc handed out for anything else
    reserve: int  # freed memory that malloc and Python keep for reuse
    files: int  # pages of mapped files
    shared: int  # memory shared with other processes, such as segments of /dev/shm
    mapped: int = 0  # size of private mappings, touched or not: no part, for it counts what malloc has as well

    @property
    def unexplained(self) -> int:
        """Return what is resident and none of the parts."""
        counted = self.tensors + self.arrays + self.objects + self.native + self.reserve + self.files + self.shared
        return self.resident - counted

    @property
    def newly_mapped(self) -> int:
        """Return what is resident, is none of the parts, and lies in mappings that the round made for nothing else: memory that
        was mapped before and is touched for the first time is none.
        """
        elsewhere = self.mapped - self.tensors - self.arrays - self.objects - self.native - self.reserve
        return max(0, min(self.unexplained, elsewhere))

    def of(self, part: ResidentPart) -> int:
        """Return what the round added to a part."""
        return int(getattr(self, part.value))
