"""What gradlife does in a forked child: after `os.fork`, and in its own copies, for which no function of the program runs."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable

from gradlife.safe_access import member

#: Locks of Python's own modules that another thread may have held when a copy was made, and that the copy may need.
LOCKS = (("threading", "_active_limbo_lock"), ("threading", "_shutdown_locks_lock"), ("logging", "_lock"))

_in_copies: list[Callable[[], object]] = []


def after_fork(function: Callable[[], object], *, in_copies: bool = True) -> None:
    """Call a function of gradlife in each child that the program forks, and in gradlife's copies if ``in_copies``."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)
    if in_copies:
        _in_copies.append(function)


def renew_copy() -> None:
    """Make a new copy usable: free the locks whose threads it does not have. Runs no code of the program."""
    for module, name in LOCKS:
        free(module, name)
    for function in _in_copies:
        function()


def free(module: str, name: str) -> None:
    """Free a lock of a module, if it is loaded and has one of Python's own kinds there."""
    lock = member(module, name)
    if type(lock) is _thread.LockType or type(lock) is _thread.RLock:
        lock._at_fork_reinit()  # type: ignore[union-attr]


__all__ = ["after_fork", "renew_copy"]
