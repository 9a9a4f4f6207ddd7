"""Random numbers: the seed and the state of the one generator. A state is a tensor of int64 here, not of bytes."""

from __future__ import annotations

import contextlib
import random as standard
from collections.abc import Iterator
from typing import Any

from gradlife import _engine

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


def manual_seed(seed: int) -> None:
    """Start the sequence of random numbers that belongs to ``seed``, anything that has an integer part."""
    _engine.manual_seed(int(seed))


def seed() -> int:
    """Start an unpredictable sequence, and return its seed."""
    chosen = standard.SystemRandom().getrandbits(63)
    _engine.manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """Return the seed that the sequence began with."""
    return _engine.initial_seed()


def get_rng_state() -> Any:
    """Return the generator's state, as a tensor for `set_rng_state`."""
    return _engine.tensor(list(_engine._generator_state()), dtype=_engine.int64)


def set_rng_state(new_state: Any) -> None:
    """Continue from a state that `get_rng_state` returned."""
    _engine._set_generator_state(tuple(new_state.tolist()))


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Restore the generator's state at the end of the block."""
    state = _engine._generator_state()
    try:
        yield
    finally:
        if enabled:
            _engine._set_generator_state(state)
