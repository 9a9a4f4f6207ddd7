"""The random number generators: seeds, states, and sequences of their own."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife.engine as torch
from gradlife import _engine
from gradlife.engine.random import drawing_from, fork_rng


def drawn() -> list[float]:
    values: list[float] = torch.rand(3).tolist() + torch.randn(3).tolist()
    return values


def test_a_seed_starts_the_same_sequence_again() -> None:
    assert torch.manual_seed(5) is torch.default_generator
    first = drawn()
    torch.manual_seed(5)
    assert drawn() == first
    assert torch.initial_seed() == 5


def test_a_state_can_be_put_back_in_the_middle_of_a_pair_of_normal_numbers() -> None:
    torch.manual_seed(1)
    torch.randn(1)
    state = torch.get_rng_state()
    first = drawn()
    torch.set_rng_state(state)
    assert drawn() == first


def test_a_fork_leaves_no_trace() -> None:
    state = torch.get_rng_state().tolist()
    with fork_rng():
        torch.manual_seed(3)
        drawn()
    assert torch.get_rng_state().tolist() == state


def test_a_generator_has_a_sequence_of_its_own() -> None:
    generator = torch.Generator().manual_seed(9)
    torch.manual_seed(9)
    expected = drawn()
    with drawing_from(generator):
        assert drawn() == expected
    state = generator.get_state()
    with generator.drawing():
        further = drawn()
    with generator.set_state(state).drawing():
        assert drawn() == further
    assert generator.initial_seed() == 9
    assert generator.seed() == generator.initial_seed()


def test_an_error_inside_gives_the_default_generator_back() -> None:
    torch.manual_seed(2)
    state = torch.get_rng_state().tolist()

    def fail() -> None:
        with torch.Generator().drawing():
            raise ValueError(torch.rand(2))

    with pytest.raises(ValueError):
        fail()
    assert torch.get_rng_state().tolist() == state


@pytest.mark.parametrize("state", [(), (1, 2), [0] * 7, ("x",) * 7, (2**80,) * 7])
def test_what_is_no_state_is_refused(state: Any) -> None:
    before = _engine._generator_state()
    with pytest.raises((TypeError, OverflowError)):
        _engine._set_generator_state(state)
    assert _engine._generator_state() == before


DRAWS = {
    "rand": lambda fw, generator: fw.rand(3, generator=generator),
    "randn": lambda fw, generator: fw.randn(3, generator=generator),
    "randint": lambda fw, generator: fw.randint(0, 1000, (3,), generator=generator),
    "randperm": lambda fw, generator: fw.randperm(9, generator=generator),
    "normal": lambda fw, generator: fw.normal(0.0, 1.0, (3,), generator=generator),
    "uniform_": lambda fw, generator: fw.empty(3).uniform_(generator=generator),
    "kaiming_normal_": lambda fw, generator: fw.nn.init.kaiming_normal_(fw.empty(3, 3), generator=generator),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_from_a_generator_repeats_with_its_seed_and_leaves_the_default_one_alone(name: str) -> None:
    generator = torch.Generator()
    default = torch.get_rng_state().tolist()
    first = DRAWS[name](torch, generator.manual_seed(3)).tolist()
    again = DRAWS[name](torch, generator.manual_seed(3)).tolist()
    other = DRAWS[name](torch, generator).tolist()
    assert first == again != other
    assert torch.get_rng_state().tolist() == default


def test_an_error_in_a_draw_gives_the_default_generator_back() -> None:
    generator = torch.Generator()
    default = torch.get_rng_state().tolist()
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.rand(-1, generator=generator)
    assert torch.get_rng_state().tolist() == default


def test_what_is_no_generator_is_refused() -> None:
    with pytest.raises(TypeError, match=r"argument 'generator' must be torch\.Generator, not int"):
        torch.rand(2, generator=3)


def test_what_draws_nothing_takes_no_generator() -> None:
    with pytest.raises(TypeError, match=r"zeros\(\) got an unexpected keyword argument 'generator'"):
        torch.zeros(2, generator=torch.Generator())


def test_a_seed_is_any_number_of_64_bits_with_a_sign_or_without() -> None:
    seeds: list[Any] = [-(2**63), 2**64 - 1, 2.5, True]
    for seed in seeds:
        assert torch.manual_seed(seed) is torch.default_generator
    for seed in (-(2**63) - 1, 2**64):
        with pytest.raises(ValueError, match=r"^Overflow when unpacking long long$"):
            torch.manual_seed(seed)
    with pytest.raises(RuntimeError, match=r"^manual_seed expected a long, but got float"):
        torch.Generator().manual_seed(seeds[2])
