"""The notes of a snapshot: versions, time, and the identity of its process."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator

from gradlife._version import __version__
from gradlife.heap.program_modules import program_modules
from gradlife.safe_access import loaded

#: The note that names one of the program's modules.
PROGRAM = "program"


def make_notes(limits: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Return the origin of a snapshot, without the machine's name and paths."""
    yield "gradlife", __version__
    yield "python", platform.python_version()
    yield "platform", f"{sys.platform} {platform.machine()}"
    yield "taken", time.strftime("%Y-%m-%d %H:%M:%S %z")
    yield "process", process_identity()
    for name in program_modules():
        yield PROGRAM, name
    torch = loaded("torch")
    if torch is not None:
        yield "torch", str(vars(torch).get("__version__", "?"))
    for limit in limits:
        yield "limit", limit


def process_identity() -> str:
    """Identify the process by its number and start time."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        started = ""
    return f"{os.getpid()}-{started}"
