"""Acts before `os._exit` ends this process, which runs nothing else then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradlife import _heap


@contextmanager
def before_exit(act: Callable[[], object]) -> Iterator[None]:
    """Act also if the program in the block ends at once, by `os._exit`, unless it is a fork of this process."""
    pid = os.getpid()

    def act_once(status: int) -> None:
        if os.getpid() == pid:
            _heap.call_before_exit(None)
            act()

    _heap.call_before_exit(act_once)
    try:
        yield
    finally:
        _heap.call_before_exit(None)
