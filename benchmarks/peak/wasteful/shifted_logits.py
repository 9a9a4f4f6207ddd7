"""Logits, and a copy of them without the last position (the mechanism of meta-pytorch/torchtune#1046)."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    logits = model(tokens)
    shifted = logits[..., :-1, :].contiguous()
    wanted = labels[..., 1:].contiguous()
    loss = F.cross_entropy(shifted.view(-1, VOCABULARY), wanted.view(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
