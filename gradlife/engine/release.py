"""Which PyTorch release this thread's profile stands for: what the Python layer asks where releases differ."""

from __future__ import annotations

from gradlife import _engine

NEWEST = (2, 13)


def release() -> tuple[int, int]:
    """The release as (major, minor); profiles of other frameworks count as the newest."""
    framework, number = _engine._current_release()
    return divmod(number, 100) if framework == "torch" else NEWEST
