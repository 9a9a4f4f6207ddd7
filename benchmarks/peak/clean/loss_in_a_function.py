"""Logits in a function that returns the loss."""

from typing import Any

import torch.nn.functional as F

from benchmarks.peak.language_model import batch, setup

model, optimizer = setup()


def loss_of(tokens: Any, labels: Any) -> Any:
    logits = model(tokens)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def step() -> None:
    loss = loss_of(*batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
