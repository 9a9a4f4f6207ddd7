"""What forked copies of this process found in a snapshot, in an unnamed file: the next copy need not find it again."""

from __future__ import annotations

import fcntl
import os
import pickle
import struct
import tempfile
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from gradlife.descriptors import move_up
from gradlife.hunting.process.own_folders import roomy_folder

T = TypeVar("T")

#: The head of a record: the length and the checksum of its content.
HEAD = struct.Struct("<QI")


class Notes:
    """Values by key, which copies share and this process itself never loads. A record that is not whole is no record."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] | None = None
        with tempfile.TemporaryFile(prefix="gradlife-notes-", dir=roomy_folder()) as file:
            self.descriptor = move_up(os.dup(file.fileno()))
        fcntl.fcntl(self.descriptor, fcntl.F_SETFL, os.O_APPEND)  # two copies of a service may write at once

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)

    def find(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return the value noted for a key, else find and note it."""
        if self._known is None:
            self._known = self._read()
        if key not in self._known:
            self._known[key] = found = find()
            with suppress(OSError):  # on a full disk the next copy finds it again
                os.write(self.descriptor, record_of(key, found))
        value: T = self._known[key]
        return value

    def _read(self) -> dict[Hashable, Any]:
        found = {}
        with suppress(OSError):
            text = os.pread(self.descriptor, os.fstat(self.descriptor).st_size, 0)
            for key, value in records_in(text):
                found[key] = value
        return found


def record_of(key: Hashable, value: object) -> bytes:
    """Return a record: its length and checksum, then the pickled pair."""
    content = pickle.dumps((key, value))
    return HEAD.pack(len(content), zlib.crc32(content)) + content


def records_in(text: bytes) -> Iterator[tuple[Hashable, Any]]:
    """Yield the records up to the first that is not whole: what follows it may begin anywhere."""
    at = 0
    while at + HEAD.size <= len(text):
        length, checksum = HEAD.unpack_from(text, at)
        content = text[at + HEAD.size : at + HEAD.size + length]
        if len(content) < length or zlib.crc32(content) != checksum:
            return
        yield pickle.loads(content)
        at += HEAD.size + length
