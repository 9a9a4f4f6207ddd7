"""The report that a process writes when its memory runs out."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from typing import Any

from gradlife._version import __version__
from gradlife.errors import shortened
from gradlife.model.codec import CodecError
from gradlife.model.device.memory import DeviceMemory
from gradlife.model.from_json import built, document_text, parsed

FORMAT = "gradlife.oom/1"

#: Characters before the format in a report.
MAX_BEFORE = 32

#: The beginning of a message up to the sentence with the size that was wanted.
WITH_SIZE = re.compile(r".*?\d\s*(?:[KMGTP]i?B|kB|B|bytes)\b.*?(?=\.(?:\s|$)|$)")

#: Most characters of a message on the first screen and on the error stream.
MAX_HEADLINE = 200


@dataclass(frozen=True, slots=True)
class LiveOwner:
    """Objects of one place that retain much."""

    name: str  # "module __main__: global variable 'kept': list"
    bytes: int
    objects: int = 1
    is_part: bool = False  # another owner retains all of them: items of a list


@dataclass(frozen=True, slots=True)
class HeldByStep:
    """What a variable of the failed step holds."""

    kind: str
    what: str  # "local variable 'hidden' of Trainer.step, train.py:14: list"
    bytes: int
    storages: int = 1

    @property
    def text(self) -> str:
        """The variable with the number of its storages."""
        return self.what if self.storages == 1 else f"{self.what}, {self.storages:,} storages"


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
    owners: tuple[LiveOwner, ...]
    growth: tuple[Growth, ...]
    held: tuple[HeldByStep, ...]
    device_memory: tuple[DeviceMemory, ...] = ()  # owners of the allocators' blocks, fragmentation, advice

    @property
    def headline(self) -> str:
        """The cause up to the size that was wanted: PyTorch's messages go on for a dozen lines."""
        return headline(self.cause)

    def dumps(self) -> str:
        """Return the report as JSON text."""
        document: dict[str, Any] = {"format": FORMAT, "gradlife": __version__, **asdict(self)}
        return json.dumps(document, indent=1) + "\n"


def headline(cause: str) -> str:
    """Return a message on one line up to the sentence with a size, else its beginning."""
    text = " ".join(cause.split())
    found = WITH_SIZE.match(text)
    return shortened(found[0] if found is not None else text, MAX_HEADLINE)


def out_of_memory_in(path: str) -> OutOfMemory | None:
    """Return the report in a file; None if it is another file. Raises CodecError if the report is damaged."""
    if not os.path.isfile(path):  # a pipe would wait for its other end
        return None
    try:
        with open(path, encoding="utf-8") as file:
            is_report = FORMAT in file.read(len(FORMAT) + MAX_BEFORE)
            document = parsed(document_text(path)) if is_report else {}
    except (OSError, ValueError):
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return None
    try:
        found: OutOfMemory = built(OutOfMemory, document)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CodecError(f"{path} is a damaged report: {type(error).__name__}") from None
    return found
