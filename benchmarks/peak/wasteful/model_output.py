"""The output of a model under a name that is bound twice (the mechanism of foundation-model-stack/fms-fsdp#152)."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, Output, batch, setup

model, optimizer = setup()


def run(tokens):
    return Output(model(tokens))


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    output = run(tokens)
    output = output.logits if hasattr(output, "logits") else output
    loss = F.cross_entropy(output.view(-1, VOCABULARY), labels.view(-1))
    loss.backward()
    optimizer.step()
