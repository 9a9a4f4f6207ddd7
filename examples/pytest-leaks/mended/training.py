"""The same training loop without its leaks."""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import torch
from torch import nn


class Batches:
    """Counts what a model is called with."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, model: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        """A forward hook; nothing leads from here back to the model."""
        self.count += 1


class Trainer:
    """Trains a model step by step."""

    def __init__(self, width: int = 8) -> None:
        self.model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.batches = Batches()
        self.model.register_forward_hook(self.batches.note)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.losses: deque[float] = deque(maxlen=100)

    def step(self, batch: torch.Tensor) -> float:
        """One step; the loss as a number."""
        loss = self.model(batch).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())  # a number holds no graph
        return loss.item()


@lru_cache(maxsize=64)
def features(number: int) -> torch.Tensor:
    """What a sample looks like; worked out once, and let go when 64 others came."""
    return torch.full((256,), float(number)).cos()
