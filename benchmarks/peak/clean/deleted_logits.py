"""Logits that are deleted before the backward pass."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step() -> None:
    tokens, labels = batch()
    logits = model(tokens)
    shifted = logits[..., :-1, :].contiguous()
    del logits
    loss = F.cross_entropy(shifted.view(-1, VOCABULARY), labels[..., 1:].reshape(-1))
    del shifted
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
