"""The last report of a program, which takes seconds to make: an impatient second Ctrl-C must not lose it by accident."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from gradlife.output import say
from gradlife.own_thread import is_main_thread

#: What the first interrupt prints while the report is made, and the second.
WAITS = "gradlife: the report is being made; Ctrl-C again gives it up"
GIVEN_UP = "gradlife: interrupted: there is no report"


@contextmanager
def undisturbed() -> Iterator[None]:
    """Make a report in the block: the first interrupt only prints a line, the second ends the block and prints another."""
    if not is_main_thread() or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        say_quietly(WAITS)

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    except KeyboardInterrupt:
        say_quietly(GIVEN_UP)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def say_quietly(words: str) -> None:
    """Print a line on standard error, which the program may have closed."""
    with suppress(Exception):
        say(words)
