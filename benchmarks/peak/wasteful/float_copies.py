"""Half-precision logits beside their copies in float32 (the mechanism of radixark/miles#108)."""

import torch
import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        half = model(tokens)
    logits = half.float()
    scaled = logits.div(0.9)
    loss = F.cross_entropy(scaled.view(-1, VOCABULARY), labels.view(-1))
    loss.backward()
    optimizer.step()
