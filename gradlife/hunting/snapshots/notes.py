"""What forked copies of this process found in a snapshot, in an unnamed file: the next copy need not find it again."""

from __future__ import annotations

import fcntl
import io
import os
import pickle
import tempfile
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class Notes:
    """Values by key, which copies share and this process itself never loads. A record that is not whole is no record."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] | None = None
        with tempfile.TemporaryFile(prefix="gradlife-notes-") as file:
            self.descriptor = os.dup(file.fileno())
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
                os.write(self.descriptor, pickle.dumps((key, found)))
        value: T = self._known[key]
        return value

    def _read(self) -> dict[Hashable, Any]:
        found = {}
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            text = io.BytesIO(os.pread(self.descriptor, os.fstat(self.descriptor).st_size, 0))
            while True:
                key, value = pickle.load(text)
                found[key] = value
        return found
