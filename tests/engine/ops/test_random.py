"""The random number generator: seeds and states."""

from __future__ import annotations

import gradlife.engine as torch


def drawn() -> list[float]:
    values: list[float] = torch.rand(3).tolist() + torch.randn(3).tolist()
    return values


def test_a_seed_starts_the_same_sequence_again() -> None:
    torch.manual_seed(5)
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
