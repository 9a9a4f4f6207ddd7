"""Intermediate tensors of a loss that outlive their use (the mechanism of huggingface/trl#5882)."""

import torch

from benchmarks.peak.language_model import batch, setup

model, optimizer = setup()
reference, _ = setup()


def log_probabilities(logits, labels):
    every = torch.log_softmax(logits, -1)
    return torch.gather(every, 2, labels.unsqueeze(2)).squeeze(2)


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    with torch.no_grad():
        reference_logits = reference(tokens)
        reference_every = torch.log_softmax(reference_logits, -1)
        wanted = torch.gather(reference_every, 2, labels.unsqueeze(2)).squeeze(2)
    logits = model(tokens)
    scaled = logits / 0.7
    found = log_probabilities(scaled, labels)
    loss = (found - wanted).square().mean()
    loss.backward()
    optimizer.step()
