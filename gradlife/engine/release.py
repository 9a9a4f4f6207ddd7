"""The PyTorch release of this thread's profile, for the Python layer."""

from __future__ import annotations

from gradlife import _engine

NEWEST = (2, 13)


def release() -> tuple[int, int]:
    """Return (major, minor); profiles of other frameworks count as the newest."""
    framework, number = _engine._current_release()
    return divmod(number, 100) if framework == "torch" else NEWEST


def is_oneflow() -> bool:
    """Return whether this thread's profile stands for a release of OneFlow."""
    return _engine._current_release()[0] == "oneflow"


def drops_gradients() -> bool:
    """Return whether ``zero_grad()`` drops gradients instead of filling them with zeros: from 2.0 on, and not in
    OneFlow.
    """
    return not is_oneflow() and release() >= (2, 0)
