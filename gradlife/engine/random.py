"""The state of the random number generator: read, put back, and kept for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from gradlife import _engine

__all__ = ["fork_rng", "get_rng_state", "set_rng_state"]


def get_rng_state() -> Any:
    """The state as a tensor for `set_rng_state`: int64 words here, since the engine has no bytes (uint8)."""
    return _engine.tensor(list(_engine._generator_state()), dtype=_engine.int64)


def set_rng_state(new_state: Any) -> None:
    """Goes on from a state that `get_rng_state` gave."""
    _engine._set_generator_state(tuple(new_state.tolist()))


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Puts the state back at the end of the block."""
    state = _engine._generator_state()
    try:
        yield
    finally:
        if enabled:
            _engine._set_generator_state(state)
