"""Threads of gradlife's own in the program."""

from __future__ import annotations

import threading
from contextlib import suppress


class OwnThread(threading.Thread):
    """A daemon thread that may outlive a change of what `threading` calls a thread.

    `gevent.monkey.patch_all` does that in programs that gradlife has started. A thread that began before is then not
    found under its identity, and its end would print a traceback.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)

    def _delete(self) -> None:
        with suppress(KeyError):
            super()._delete()  # type: ignore[misc]
