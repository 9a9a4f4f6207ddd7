"""Logits that the last statement but one of a line reads: the line ends with the backward pass."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    logits = model(tokens); loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1)); loss.backward()  # fmt: skip  # noqa: E702
    optimizer.step()
