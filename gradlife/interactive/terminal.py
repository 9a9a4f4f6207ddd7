"""Terminal features: a persistent history and tab completion."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

#: Lines kept.
MAX_LINES = 1000


@contextlib.contextmanager
def history() -> Iterator[None]:
    """Load earlier sessions' lines for the arrow keys, if there is a terminal."""
    try:
        import readline
    except ImportError:
        readline = None  # type: ignore[assignment]
    if readline is None or not sys.stdin.isatty():
        yield
        return
    path = history_path()
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(MAX_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            readline.write_history_file(path)


def history_path() -> str:
    """Return the file of the line history."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gradlife", "history")
