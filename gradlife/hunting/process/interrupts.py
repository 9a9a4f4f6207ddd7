"""Interrupts (Ctrl-C) while gradlife starts a program: they wait until the program runs, and are no traceback of imports."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from gradlife.output import say


@contextmanager
def held() -> Iterator[None]:
    """Hold interrupts back in processes that are started in the block, until they call `admit`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def admit() -> bool:
    """Let interrupts in. False, with a line on standard error, if one has come meanwhile."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except KeyboardInterrupt:
        say("gradlife: interrupted before the program began")
        return False
    return True
