"""Replaces an attribute of the program for a while: a method of a class of torch, a function of a module."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping

from gradlife.after_fork import after_fork
from gradlife.errors import UsageError
from gradlife.safe_access import LibraryObject

#: The lock of the one that listens in this process. A forked child gets a new one: its listener has stayed behind.
_turns = [threading.Lock()]


def replaced(owner: LibraryObject, name: str, own: object) -> Callable[[], None]:
    """Replace an attribute, and return what restores it. What the program has put in its place meanwhile stays."""
    original = inspect.getattr_static(owner, name)
    is_inherited = name not in attributes_of(owner, {name: original})
    setattr(owner, name, own)

    def restore() -> None:
        if attributes_of(owner, {}).get(name, own) is not own:
            return
        if is_inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    return restore


def attributes_of(owner: LibraryObject, without: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object's own attributes; ``without`` if it has slots."""
    found: Mapping[str, object] = getattr(owner, "__dict__", without)
    return found


def take_turn() -> Callable[[], None]:
    """Refuse a second listener in this process: what the first one restores would take the second one's wrappers away.

    Returns what ends the turn. Raises UsageError.
    """
    turn = _turns[0]
    if not turn.acquire(blocking=False):
        raise UsageError("gradlife counts the steps of this process already", "again when the other hunt has ended")
    return turn.release


def renew_turns() -> None:
    """Let a forked child listen."""
    _turns[0] = threading.Lock()


after_fork(renew_turns)
