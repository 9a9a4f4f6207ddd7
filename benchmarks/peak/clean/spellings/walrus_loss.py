"""A loss that a condition binds."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    if (loss := F.cross_entropy(model(tokens).view(-1, VOCABULARY), labels.view(-1))).isfinite():
        loss.backward()
        optimizer.step()
    return loss.item()
