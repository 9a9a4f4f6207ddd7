"""The report that a process writes when its memory runs out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from gradlife._version import __version__
from gradlife.model.device.memory import DeviceMemory
from gradlife.model.heap import Owner
from gradlife.model.hunt import Explained

FORMAT = "gradlife.oom/1"


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of one type since the program began."""

    type: str
    objects: int  # more than at the start
    bytes: int


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The holders of memory, and what grew most since the start."""

    cause: str  # "MemoryError: ...", "7.4 of 8.0 GiB are resident"
    time: str
    pid: int
    rank: int | None  # in a run of several processes
    resident_bytes: int
    limit_bytes: int
    devices: dict[str, int]  # bytes of live storages by device
    owners: tuple[Owner, ...]
    growth: tuple[Growth, ...]
    held: tuple[Explained, ...]  # held by the failed step
    device_memory: tuple[DeviceMemory, ...] = ()  # owners of the allocators' blocks, fragmentation, advice

    def dumps(self) -> str:
        """Return the report as JSON text."""
        document: dict[str, Any] = {"format": FORMAT, "gradlife": __version__, **asdict(self)}
        return json.dumps(document, indent=1) + "\n"
