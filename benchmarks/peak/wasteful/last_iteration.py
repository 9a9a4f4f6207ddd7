"""Outputs of the last iteration of a loop while the next are computed (the mechanism of allenai/open-instruct#777)."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, Output, batch, setup

model, optimizer = setup()


def step():
    for _ in range(3):
        tokens, labels = batch()
        outputs = Output(model(tokens))
        logits = outputs.logits
        shifted = logits[:, :-1, :].contiguous()
        loss = F.cross_entropy(shifted.view(-1, VOCABULARY), labels[:, 1:].reshape(-1))
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
