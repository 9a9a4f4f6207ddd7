"""Random numbers: the generator that every draw comes from, others beside it, and their states."""

from __future__ import annotations

import contextlib
import random as standard
from collections.abc import Iterator
from typing import Any

from gradlife import _engine
from gradlife.engine.tensors import device as device_type

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


class Generator:
    """A sequence of random numbers of its own. States are int64 words here: the engine has no bytes (uint8)."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device_type(device)
        self._state: tuple[int, ...] = ()
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Starts the sequence that belongs to ``seed``."""
        with self.drawing():
            _engine.manual_seed(seed)
        return self

    def seed(self) -> int:
        """Starts a sequence that nobody can foretell, and gives its seed."""
        chosen = standard.SystemRandom().getrandbits(63)
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed that the sequence began with."""
        with self.drawing():
            return _engine.initial_seed()

    def get_state(self) -> Any:
        """The state, as a tensor for `set_state`."""
        with self.drawing():
            return get_rng_state()

    def set_state(self, new_state: Any) -> Generator:
        """Goes on from a state that `get_state` gave."""
        with self.drawing():
            set_rng_state(new_state)
        return self

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Every draw inside the block comes from this generator."""
        default = _engine._generator_state()
        if self._state:
            _engine._set_generator_state(self._state)
        try:
            yield
        finally:
            try:
                self._state = _engine._generator_state()
            finally:  # where no memory is left for its state, the default one still goes on where it was
                _engine._set_generator_state(default)


class _DefaultGenerator(Generator):
    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        yield

    def __init__(self) -> None:
        self.device = device_type("cpu")


default_generator: Generator = _DefaultGenerator()


@contextlib.contextmanager
def drawing_from(generator: Generator | None) -> Iterator[None]:
    """Every draw inside the block comes from ``generator``, or from the default one."""
    with (default_generator if generator is None else generator).drawing():
        yield


def manual_seed(seed: int) -> Generator:
    """Starts the default generator's sequence anew; unlike a generator's own method with anything that has an integer part."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Starts the default generator on a sequence that nobody can foretell, and gives its seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator began with."""
    return _engine.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state, as a tensor for `set_rng_state`."""
    return _engine.tensor(list(_engine._generator_state()), dtype=_engine.int64)


def set_rng_state(new_state: Any) -> None:
    """Has the default generator go on from a state that `get_rng_state` gave."""
    _engine._set_generator_state(tuple(new_state.tolist()))


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Puts the default generator's state back at the end of the block."""
    state = _engine._generator_state()
    try:
        yield
    finally:
        if enabled:
            _engine._set_generator_state(state)
