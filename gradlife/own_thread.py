"""Threads of gradlife's own in the program."""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident, start_new_thread  # before the program can replace them, as gevent does
from collections.abc import Callable
from contextlib import suppress

from gradlife.output import say


class OwnThread:
    """A daemon thread that the program does not see: `threading` does not list it, and gives it no trace or profile function.

    An error in it is one line on standard error. The program's `threading.excepthook` is not called, and it goes on.
    """

    def __init__(self, name: str, work: Callable[[], object] | None = None) -> None:
        self.name = name
        self.ident: int | None = None
        self._work = work
        self._runs = allocate_lock()

    def start(self) -> None:
        """Start the thread. RuntimeError: the process may start no more threads."""
        self._runs.acquire()
        try:
            start_new_thread(self._run, ())
        except BaseException:
            self._runs.release()
            raise

    def run(self) -> None:
        """Do the work, in the thread."""
        if self._work is not None:
            self._work()

    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._runs.locked()

    def join(self, timeout: float = -1) -> None:
        """Wait until the thread has ended, at most so many seconds."""
        if self._runs.acquire(timeout=timeout):
            self._runs.release()

    def _run(self) -> None:
        self.ident = get_ident()
        try:
            self.run()
        except BaseException as error:
            self._say(f"{type(error).__name__}: {error}")
        finally:
            self._runs.release()

    def _say(self, reason: str) -> None:
        with suppress(BaseException):  # the program may have closed its standard error
            say(f"gradlife: the thread '{self.name}' has ended: {reason}; the program goes on")


def is_main_thread() -> bool:
    """Whether this is the main thread. `threading.current_thread()` would list a thread of gradlife as the program's."""
    threading = sys.modules.get("threading")
    return threading is None or bool(threading.main_thread().ident == get_ident())


__all__ = ["OwnThread", "is_main_thread"]
