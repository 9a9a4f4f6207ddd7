"""A line of several statements that deletes what it has used."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    logits, target = model(tokens), labels.view(-1)
    loss = F.cross_entropy(logits.view(-1, VOCABULARY), target); del logits; loss.backward()  # fmt: skip  # noqa: E702
    optimizer.step()
