"""The shared memory of a program and its children, read from outside: mappings, descriptors, and files in /dev/shm.

Nothing is called in the program. The names that torch and `multiprocessing` give to shared memory tell how it is shared,
and torch's also the process that made it.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import re
import struct
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gradlife.hunting.process.cuda_ipc import count_unreleased, is_counters
from gradlife.hunting.process.forked import COPY
from gradlife.hunting.process.process_tree import processes, tree_of
from gradlife.model.ranks import SharedLedger, SharedLeftover, SharedStorages

#: Where POSIX shared memory has its files.
FOLDER = "/dev/shm"

#: The program itself in a ledger.
PROGRAM = "the program"

DESCRIPTOR, FILE_SYSTEM, CUDA_IPC, BLOCK, HEAP, ANONYMOUS, MEMFD, OTHER = (
    "torch, file descriptor",
    "torch, file_system",
    "torch, CUDA IPC counters",
    "SharedMemory",
    "multiprocessing",
    "anonymous",
    "memfd",
    "other",
)

#: Anonymous memory of one page is not counted: gradlife shares as much with each copy that it makes of the process.
OWN_BYTES = mmap.PAGESIZE

#: The end of the path of a file without a name.
DELETED = " (deleted)"

#: Seconds between two looks, and the least pause in multiples of a look: each takes some milliseconds per process.
INTERVAL, MIN_PAUSE = 1.0, 50.0

#: Seconds to wait for files to be removed: at least, while a process of the program lives, and between two checks.
MIN_WAIT, LONGEST_WAIT, SHORT_WAIT = 1.0, 10.0, 0.05

#: Most rows and leftovers of a ledger.
MOST = 12

#: The file in the hunt's folder with what the hunted process had shared at each of its snapshots, a line each.
NOTED = "shared_memory.noted"

#: A segment: device and inode.
Key = tuple[int, int, int]


@dataclass
class Segment:
    """One shared segment at one moment."""

    path: str
    bytes: int
    mappings: Counter[int] = field(default_factory=Counter)  # by process
    descriptors: Counter[int] = field(default_factory=Counter)  # by process

    @functools.cached_property
    def kind(self) -> str:
        """How it is shared."""
        found = kind_of(self.path)
        return CUDA_IPC if found == FILE_SYSTEM and is_counters(self.path, self.mappings) else found

    @property
    def waiting(self) -> int:
        """How often it was handed over and not mapped yet; of CUDA's tensors, how many were sent and not released yet.

        Torch keeps one descriptor for each mapping; each further one waits in a queue. Its files in /dev/shm begin
        with the number of their users. Of other shared memory it is unknown.
        """
        if self.kind == CUDA_IPC:
            return count_unreleased(self.path)
        if self.kind == FILE_SYSTEM:
            return max(0, users_of(self.path) - self.mappings.total())
        if self.kind != DESCRIPTOR:
            return 0
        return sum(max(0, count - self.mappings[pid]) for pid, count in self.descriptors.items())


def kind_of(path: str) -> str:
    """Return how the shared memory of a path is shared."""
    name = path.removeprefix(f"{FOLDER}/")
    if name.startswith("torch_"):
        return DESCRIPTOR if path.endswith(DELETED) else FILE_SYSTEM
    kinds = {"psm_": BLOCK, "pym-": HEAP, "/memfd:": MEMFD, "/dev/zero": ANONYMOUS}
    return next((kind for start, kind in kinds.items() if name.startswith(start)), OTHER)


def maker_of(path: str) -> int | None:
    """Return the process that made shared memory, if its name tells."""
    found = re.match(rf"{FOLDER}/(?:torch_|pym-)([0-9]+)[_-]", path)
    return int(found[1]) if found is not None else None


def users_of(path: str) -> int:
    """Read how many processes use a torch file, including those that it is on the way to; 0 if it is gone."""
    with suppress(OSError, struct.error), open(path, "rb") as file:
        return max(0, int(struct.unpack("i", file.read(4))[0]))
    return 0


def mappings_of(pid: int) -> Iterator[tuple[Key, str, int]]:
    """Yield the shared memory that a process has mapped: key, path and bytes."""
    with suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            words = line.split(None, 5)
            if len(words) < 6 or words[1][3] != "s" or not is_memory(words[5]):
                continue
            first, _, end = words[0].partition("-")
            major, _, minor = words[3].partition(":")
            path, nbytes = words[5].rstrip("\n"), int(end, 16) - int(first, 16)
            if kind_of(path) != ANONYMOUS or nbytes > OWN_BYTES:
                yield (int(major, 16), int(minor, 16), int(words[4])), path, nbytes


def descriptors_of(pid: int) -> Iterator[tuple[Key, str, int]]:
    """Yield the same for each descriptor of shared memory that a process has open."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                link = f"/proc/{pid}/fd/{name}"
                path = os.readlink(link)
                if is_memory(path):
                    found = os.stat(link)
                    yield key_of(found), path, found.st_size


def key_of(found: os.stat_result) -> Key:
    """Return the key of a file."""
    return os.major(found.st_dev), os.minor(found.st_dev), found.st_ino


def is_memory(path: str) -> bool:
    """Whether a path is shared memory: no semaphore, and no temporary file without a name, as snapshots are."""
    is_there = path.startswith((f"{FOLDER}/", "/memfd:", "/dev/zero"))
    return is_there and not path.startswith((f"{FOLDER}/sem.", f"{FOLDER}/#"))


def name_of(pid: int) -> str:
    """Return the name of a process's main thread, and its ID; empty if it is gone."""
    with suppress(OSError):
        return f"{Path(f'/proc/{pid}/comm').read_text(errors='replace').strip()} {pid}"
    return ""


def segments_of(pids: Iterable[int]) -> dict[Key, Segment]:
    """Read the shared memory of some processes."""
    found: dict[Key, Segment] = {}
    for pid in pids:
        for key, path, nbytes in mappings_of(pid):
            one = found.setdefault(key, Segment(path, nbytes))
            one.mappings[pid] += 1
            one.bytes = max(one.bytes, nbytes)
        for key, path, nbytes in descriptors_of(pid):
            found.setdefault(key, Segment(path, nbytes)).descriptors[pid] += 1
    return found


def files_there() -> Iterator[tuple[Key, str]]:
    """Yield the key and path of each file in the folder of shared memory."""
    with suppress(OSError):
        for entry in os.scandir(FOLDER):
            with suppress(OSError):
                yield key_of(entry.stat(follow_symlinks=False)), entry.path


def note_shared_memory(folder: str) -> None:
    """Note what this process shares now. A program may end before the watching process has looked at it."""
    segments = segments_of([os.getpid()])
    if segments:
        found = [
            (key, one.path, one.bytes, one.mappings.total(), one.descriptors.total()) for key, one in segments.items()
        ]
        with suppress(OSError), open(os.path.join(folder, NOTED), "a", encoding="utf-8") as file:
            file.write(f"{json.dumps((os.getpid(), found))}\n")


def noted_segments(folder: str) -> Iterator[tuple[int, dict[Key, Segment]]]:
    """Yield what a process shared at each snapshot, with the process."""
    with suppress(OSError, ValueError), open(os.path.join(folder, NOTED), encoding="utf-8") as file:
        for line in file:
            pid, found = json.loads(line)
            yield (
                pid,
                {
                    tuple(key): Segment(path, nbytes, +Counter({pid: mapped}), +Counter({pid: described}))
                    for key, path, nbytes, mapped, described in found
                },
            )


class SharedMemoryWatch:
    """Watches the shared memory of one program and its descendants. ``before``: the files that were there before it."""

    def __init__(self, pid: int, before: Collection[Key] = ()) -> None:
        self._pid = pid
        self._before = before
        self._names = {pid: PROGRAM}
        self._first: dict[Key, int] = {}  # the process that was first seen with a segment
        self._paths: dict[Key, str] = {}
        self._kinds: dict[Key, str] = {}
        self._mapped: set[Key] = set()  # at one look at least
        self._most = SharedLedger()
        self._due = 0.0

    def look_if_due(self) -> None:
        """Read what is shared once per interval."""
        began = time.monotonic()
        if began >= self._due:
            self.look()
            now = time.monotonic()
            self._due = now + max(INTERVAL, MIN_PAUSE * (now - began))

    def look(self) -> None:
        """Read what is shared now; keep the ledger with the most bytes."""
        segments = segments_of(self._program_processes())
        self._keep(segments)
        for key in [key for key, path in self._paths.items() if key not in segments and not os.path.exists(path)]:
            del self._first[key], self._paths[key], self._kinds[key]
            self._mapped.discard(key)

    def add_noted(self, folder: str) -> None:
        """Add what the hunted process has noted in the hunt's folder."""
        for pid, segments in noted_segments(folder):
            self._names.setdefault(pid, f"process {pid}")
            self._keep(segments)

    def _keep(self, segments: dict[Key, Segment]) -> None:
        for key, one in segments.items():
            self._first.setdefault(key, min(one.mappings | one.descriptors))
            self._paths[key], self._kinds[key] = one.path, one.kind
            if one.mappings:
                self._mapped.add(key)
        nbytes = sum(one.bytes for one in segments.values())
        if nbytes > self._most.bytes:
            self._most = SharedLedger(nbytes, len(segments), tuple(self._rows(segments))[:MOST])

    def _program_processes(self) -> list[int]:
        """Return the program and its descendants, without gradlife's own copies."""
        found = []
        for pid in sorted(tree_of([self._pid], list(processes()))):
            name = name_of(pid)
            if name and not name.startswith(COPY):
                self._names.setdefault(pid, name)
                found.append(pid)
        return found

    def _rows(self, segments: dict[Key, Segment]) -> list[SharedStorages]:
        alike: dict[tuple[str, str, tuple[int, ...]], list[Segment]] = {}
        for key, one in segments.items():
            maker = self._maker(key, one.path)
            alike.setdefault((one.kind, maker, tuple(sorted(one.mappings))), []).append(one)
        rows = [
            SharedStorages(
                kind,
                maker,
                len(members),
                sum(one.bytes for one in members),
                tuple(self._names[pid] for pid in pids),
                sum(one.waiting for one in members),
                members[0].path,
            )
            for (kind, maker, pids), members in alike.items()
        ]
        return sorted(rows, key=lambda row: (-row.bytes, row.kind, row.made_by))

    def _maker(self, key: Key, path: str) -> str:
        pid = maker_of(path) or self._first[key]
        return self._names.get(pid, f"process {pid}, which has ended")

    def ledger(self) -> SharedLedger:
        """Return the ledger of a program that has ended, with what it left."""
        left = sorted(self._lasting_leftovers(), key=lambda one: (-one.bytes, one.path))
        return SharedLedger(self._most.bytes, self._most.segments, self._most.rows, tuple(left[:MOST]))

    def _lasting_leftovers(self) -> list[SharedLeftover]:
        """Return what is left once those that remove files for others have ended: Python's tracker, torch's manager."""
        begin = time.monotonic()
        while left := list(self._leftovers()):
            waited = time.monotonic() - begin
            if waited > LONGEST_WAIT or (waited > MIN_WAIT and not self._has_living()):
                break
            time.sleep(SHORT_WAIT)
        return left

    def _has_living(self) -> bool:
        return any(pid in self._names and state != "Z" for pid, _, state, _ in processes())

    def _leftovers(self) -> Iterator[SharedLeftover]:
        """Yield files of the program's processes that no process maps now."""
        mine = dict(self._files())
        if not mine:
            return
        used = segments_of(pid for pid, *_ in processes()).keys()
        for key, path in mine.items():
            if key not in used:
                with suppress(OSError):
                    pid = maker_of(path)
                    maker = self._names.get(pid, "") if pid is not None else self._maker(key, path)
                    kind = self._kinds.get(key) or kind_of(path)
                    yield SharedLeftover(path, kind, os.stat(path).st_size, maker)

    def _files(self) -> Iterator[tuple[Key, str]]:
        """Yield files that the program has made, as far as that can be known: new ones, not only opened as files are."""
        for key, path in files_there():
            is_memory_of_it = key in self._mapped or self._kinds.get(key, OTHER) != OTHER
            is_known = self._paths.get(key) == path and is_memory_of_it
            if key not in self._before and (is_known or maker_of(path) in self._names):
                yield key, path
