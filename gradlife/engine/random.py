"""Random numbers: the seed and the state of the one generator. A state is a tensor of int64 here, not of bytes."""

from __future__ import annotations

from typing import Any

from gradlife import _engine

__all__ = ["get_rng_state", "initial_seed", "manual_seed", "set_rng_state"]


def manual_seed(seed: int) -> None:
    """Start the sequence of random numbers that belongs to ``seed``, anything that has an integer part."""
    _engine.manual_seed(int(seed))


def initial_seed() -> int:
    """Return the seed that the sequence began with."""
    return _engine.initial_seed()


def get_rng_state() -> Any:
    """Return the generator's state, as a tensor for `set_rng_state`."""
    return _engine.tensor(list(_engine._generator_state()), dtype=_engine.int64)


def set_rng_state(new_state: Any) -> None:
    """Continue from a state that `get_rng_state` returned."""
    _engine._set_generator_state(tuple(new_state.tolist()))
