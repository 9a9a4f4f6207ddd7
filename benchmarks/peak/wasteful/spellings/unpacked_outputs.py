"""Logits and a flat view of them, each bound with another value by one statement."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def forward(tokens):
    hidden = model.blocks(model.tokens(tokens))
    return model.head(hidden), hidden


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    logits, hidden = forward(tokens)
    flat, target = logits.view(-1, VOCABULARY), labels.view(-1)
    loss, size = F.cross_entropy(flat, target), hidden.detach().norm()
    loss.backward()
    optimizer.step()
    return size
