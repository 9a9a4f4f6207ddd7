"""A search that keeps the best scores of each round only."""

import torch

from benchmarks.peak.language_model import batch, setup

model, _ = setup()


def best_of(tokens):
    return torch.log_softmax(model(tokens), -1).topk(4, -1).values.sum()


def step():
    tokens, _ = batch()
    with torch.no_grad():
        return torch.stack([best_of(tokens) for _ in range(3)]).sum().item()
