"""Switches of checkpoints for a block of code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from gradlife import _engine
from gradlife.engine.release import release

_early_stop: list[bool | None] = [None]
_debug: list[bool | None] = [None]


@contextlib.contextmanager
def _switched(switch: list[bool | None], value: bool | None) -> Iterator[None]:
    previous = switch[0]
    switch[0] = value
    try:
        yield
    finally:
        switch[0] = previous


def set_checkpoint_early_stop(enable: bool) -> contextlib.AbstractContextManager[None]:
    """Set whether checkpoints made inside the block stop recomputing once everything saved is restored."""
    return _switched(_early_stop, enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> contextlib.AbstractContextManager[None]:
    """Set whether checkpoints made inside the block record their operations; ``None`` leaves it to each."""
    return _switched(_debug, enabled)


def early_stop_enabled(otherwise: bool) -> bool:
    """Return the innermost block's early-stopping setting, if the release has it and passes its exception on."""
    wanted = otherwise if _early_stop[0] is None else _early_stop[0]
    return wanted and release() >= (2, 1) and not _engine._current_policy()[0].startswith("oneflow")


def debug_enabled(otherwise: bool) -> bool:
    """Return the innermost block's setting of debugging."""
    return otherwise if _debug[0] is None else _debug[0]
