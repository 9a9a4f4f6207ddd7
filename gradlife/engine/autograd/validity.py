"""The check whether a reentrant checkpoint may run in the current backward."""

from __future__ import annotations

import threading


class _State(threading.local):
    valid = True


_state = _State()


class restricting:
    """A block around a backward; in a ``partial`` one a reentrant checkpoint would run too much."""

    __slots__ = ("partial", "previous")

    def __init__(self, partial: bool) -> None:
        self.partial = partial
        self.previous = True

    def __enter__(self) -> None:
        self.previous = _state.valid
        if self.partial:
            _state.valid = False

    def __exit__(self, *error: object) -> None:
        _state.valid = self.previous


def is_checkpoint_valid() -> bool:
    """Return whether every running backward of this thread runs its whole graph."""
    return _state.valid
