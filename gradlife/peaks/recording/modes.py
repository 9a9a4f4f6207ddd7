"""The place of the recorder's dispatch mode among those of the program: below all of them.

A program may enter a mode before the recording starts and leave it while it runs, or the other way round. Each takes the
topmost mode off, so the recorder's must never be that while one of the program's is there.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from gradlife.safe_access import LibraryObject, stored_attribute


def put_below(modes: ModuleType, mode: LibraryObject) -> None:
    """Enter a dispatch mode below those of the program. ``modes``: torch's module of dispatch modes."""
    with without(modes, modes_of_program(modes)):
        mode.__enter__()


def take_out(modes: ModuleType, mode: LibraryObject) -> bool:
    """Leave a dispatch mode wherever it is; return whether this thread had it."""
    ours = modes_of_program(modes)
    if not any(one is mode for one in ours):
        return False
    at = next(number for number, one in enumerate(ours) if one is mode)
    with without(modes, ours[at + 1 :]):
        mode.__exit__(None, None, None)
    return True


def modes_of_program(modes: ModuleType) -> list[Any]:
    """Return this thread's modes, without those that torch keeps apart for itself."""
    found = modes._get_current_dispatch_mode_stack()
    return [one for one in found if stored_attribute(one, "_mode_key") is None]


@contextmanager
def without(modes: ModuleType, above: list[Any]) -> Iterator[None]:
    """Take some modes off for a moment, without what else the program does as it enters and leaves them."""
    plain = modes.TorchDispatchMode
    for one in reversed(above):
        plain.__exit__(one, None, None, None)
    try:
        yield
    finally:
        for one in above:
            plain.__enter__(one)


def pass_on(_: Any, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Run an operation as if there were no mode."""
    return function(*args, **(kwargs or {}))


class Leaving:
    """Takes a mode out in its own thread, as soon as a module runs there: no other thread can."""

    def __init__(self, modes: ModuleType, mode: LibraryObject, thread: int, module_module: ModuleType) -> None:
        self._modes, self._mode, self._thread = modes, mode, thread
        mode.__torch_dispatch__ = types.MethodType(pass_on, mode)
        self._handle = module_module.register_module_forward_pre_hook(self._look)

    def _look(self, *_: Any) -> None:
        is_gone = self._thread not in sys._current_frames()
        if is_gone or (threading.get_ident() == self._thread and take_out(self._modes, self._mode)):
            self._handle.remove()
