"""The same file in both suites: with the leaky training three of its tests fail."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from training import Trainer, features


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    """One for all tests, as a long run has one for all steps."""
    return Trainer()


@pytest.mark.no_leaks
def test_a_step_leaves_nothing_behind(trainer: Trainer) -> None:
    trainer.step(torch.ones(4, 8))


def test_the_model_dies_with_its_last_name(lifetimes: Any) -> None:
    lifetimes.expect_freed(lambda: Trainer().model)


def test_features_have_a_length() -> None:
    assert features(3).shape == (256,)


def test_the_loss_is_a_number(trainer: Trainer) -> None:
    assert trainer.step(torch.zeros(4, 8)) >= 0
