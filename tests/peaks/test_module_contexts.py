"""The names of the modules in which operations ran."""

from __future__ import annotations

from typing import Any

import pytest

from gradlife.peaks.recording.torch import Contexts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def names_of(*calls: Any) -> list[str]:
    """Run callables and return the names of their contexts, in order of first use."""
    contexts = Contexts()
    handles = contexts.start(torch.nn.modules.module)
    try:
        for module in calls:
            module(torch.ones(1, 2))
    finally:
        contexts.stop()
        for handle in handles:
            handle.remove()
    return contexts.names[1:]


def model() -> Any:
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())


def test_two_models_do_not_share_the_names_of_their_parts() -> None:
    """The activations of a generator and of a discriminator stood in one row."""
    named = type("Discriminator", (torch.nn.Sequential,), {})
    first, second, third = model(), model(), named(*model())
    assert names_of(first, second, third, first) == [
        *("Sequential", "0", "1"),
        *("Sequential2", "Sequential2.0", "Sequential2.1"),
        *("Discriminator", "Discriminator.0", "Discriminator.1"),
    ]


def test_a_part_that_is_called_alone_keeps_its_path() -> None:
    net = torch.nn.Sequential(model(), torch.nn.ReLU())
    assert names_of(net, net[0]) == ["Sequential", "0", "0.0", "0.1", "1"]


def test_models_of_which_one_lives_at_a_time_share_their_names() -> None:
    assert names_of(*(lambda x: model()(x),) * 3) == ["Sequential", "0", "1"]
