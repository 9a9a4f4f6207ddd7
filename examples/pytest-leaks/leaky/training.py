"""A small training loop with the three leaks that suites meet most often."""

from __future__ import annotations

import torch
from torch import nn

_features: dict[int, torch.Tensor] = {}


class Batches:
    """Counts what a model is called with."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.count = 0
        model.register_forward_hook(self.note)  # the model holds the hook, the hook this, and this the model

    def note(self, model: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        """A forward hook."""
        self.count += 1


class Trainer:
    """Trains a model step by step."""

    def __init__(self, width: int = 8) -> None:
        self.model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.batches = Batches(self.model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.losses: list[torch.Tensor] = []

    def step(self, batch: torch.Tensor) -> float:
        """One step; the loss as a number."""
        loss = self.model(batch).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss)  # the graph of every step hangs on it
        return loss.item()


def features(number: int) -> torch.Tensor:
    """What a sample looks like; worked out once."""
    if number not in _features:
        _features[number] = torch.full((256,), float(number)).cos()  # of every sample there ever was
    return _features[number]
