"""Predictions that a name holds through the backward pass (the mechanism of pytorch/torchtitan#391)."""

import torch.nn.functional as F

from benchmarks.peak.language_model import batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    predictions = model(tokens)
    loss = F.cross_entropy(predictions.flatten(0, 1), labels.flatten())
    loss.backward()
    optimizer.step()
