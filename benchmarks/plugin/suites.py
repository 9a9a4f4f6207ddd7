"""Suites of tests to time: empty ones, training steps, and one that is marked."""

from __future__ import annotations

from collections.abc import Callable

EMPTY = "def test_{number}():\n    pass\n\n\n"

TRAINING_HEAD = """import pytest
import torch

kept = []


@pytest.fixture
def model():
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def step(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(4, 8)).sum()
    loss.backward()
    optimizer.step()
    return loss


"""

TRAINING = "def test_{number}(model):\n    step(model)\n\n\n"
MARKED = "@pytest.mark.no_leaks\ndef test_{number}(model):\n    step(model)\n\n\n"
LEAKY = "@pytest.mark.no_leaks\ndef test_{number}(model):\n    kept.append(step(model))\n\n\n"


def many(head: str, test: str) -> Callable[[int], str]:
    """Return a suite of any number of equal tests."""
    return lambda count: head + "".join(test.format(number=number) for number in range(count))


empty = many("", EMPTY)
empty_beside_torch = many("import torch\n\n\n", EMPTY)
training = many(TRAINING_HEAD, TRAINING)
marked = many(TRAINING_HEAD, MARKED)
leaky = many(TRAINING_HEAD, LEAKY)
