"""Memory that processes share, as plain values: who made it, who has it mapped, who has not taken it yet, what is left."""

from __future__ import annotations

from dataclasses import dataclass

#: The object of a finding about shared memory that a program leaves behind.
LEFT = "file of shared memory"


@dataclass(frozen=True, slots=True)
class SharedStorages:
    """Shared segments of one kind with the same maker, mapped by the same processes."""

    kind: str  # "torch, file descriptor", "torch, file_system", "SharedMemory"
    made_by: (
        str  # "pt_data_worker 4711"; of a segment whose name does not tell, the process that was first seen with it
    )
    count: int
    bytes: int
    mapped_by: tuple[str, ...]  # "the program", "pt_data_worker 4711"
    waiting: int = 0  # handed to another process that has not mapped them yet
    example: str = ""  # the path of one


@dataclass(frozen=True, slots=True)
class SharedLeftover:
    """A file of shared memory that no process maps any more: it takes memory until it is removed."""

    path: str
    kind: str
    bytes: int
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class SharedLedger:
    """The shared memory of a program and its children at the moment when it was largest, and what was left at the end."""

    bytes: int = 0
    segments: int = 0
    rows: tuple[SharedStorages, ...] = ()  # the largest first
    leftovers: tuple[SharedLeftover, ...] = ()  # the largest first
