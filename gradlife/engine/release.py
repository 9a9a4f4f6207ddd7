"""Which PyTorch release this thread's profile stands for: what the Python layer asks where releases differ."""

from __future__ import annotations

from gradlife import _engine

NEWEST = (2, 13)


def release() -> tuple[int, int]:
    """The release as (major, minor); profiles of other frameworks and the teaching ones count as the newest."""
    framework, _, version = _engine._current_policy()[0].rpartition("-")
    if framework != "torch" or not version[:1].isdigit():
        return NEWEST
    major, minor = version.split(".")[:2]
    return int(major), int(minor)
