"""Random numbers: seed and state of the only generator. A state is an int64 tensor here, not bytes."""

from __future__ import annotations

from typing import Any

from gradlife import _engine


def manual_seed(seed: int) -> None:
    """Start the random sequence of ``seed``, which must have an integer part."""
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
