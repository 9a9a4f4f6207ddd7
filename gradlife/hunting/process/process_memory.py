"""The resident memory of this process at one moment, and what its allocators have handed out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gradlife import _heap

#: Lines of /proc/self/status, in kB.
ANONYMOUS, FILES, SHARED, MAPPED = "RssAnon:", "RssFile:", "RssShmem:", "VmData:"

#: The line of a mapping in /proc/self/smaps with its resident pages, in kB.
RESIDENT = "Rss:"


@dataclass(frozen=True, slots=True)
class ProcessMemory:
    """Bytes."""

    anonymous: int  # resident pages of no file
    files: int  # resident pages of mapped files
    shared: int
    malloc: int  # handed out
    malloc_free: int
    small_objects: int  # Python objects of at most 512 bytes
    small_free: int  # kept for them
    mapped: int  # size of private mappings that may be written, malloc's too, touched or not

    @property
    def resident(self) -> int:
        """Return the resident set size."""
        return self.anonymous + self.files + self.shared


def process_memory() -> ProcessMemory | None:
    """Measure the memory of this process, in 0.2 ms; None if the system or an allocator does not tell."""
    allocators = _heap.allocator_bytes()
    found: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(("Rss", MAPPED)):
                name, value = line.split()[:2]
                found[name] = int(value) << 10
    if min(allocators) < 0 or not found.keys() >= {ANONYMOUS, FILES, SHARED, MAPPED}:
        return None
    return ProcessMemory(found[ANONYMOUS], found[FILES], found[SHARED], *allocators, found[MAPPED])


def largest_mapped_file() -> str:
    """Return the path of the file that is no program code and has the most resident pages; "" if there is none."""
    sizes: dict[str, int] = {}
    name = ""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/smaps").read_text(encoding="utf-8", errors="replace").splitlines():
            head, *words = line.split(maxsplit=5)
            if not head.endswith(":"):  # "7f12-7f34 r--p 00000000 08:01 123 /data/train.bin"
                is_data = len(words) == 5 and words[4].startswith("/") and "x" not in words[0] and ".so" not in words[4]
                name = words[4] if is_data else ""
            elif head == RESIDENT and name:
                sizes[name] = sizes.get(name, 0) + int(words[0])
    return max(sizes, key=sizes.__getitem__, default="")
