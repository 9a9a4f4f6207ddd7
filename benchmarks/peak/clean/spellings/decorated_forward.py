"""A decorator that counts calls and keeps no result."""

import torch.nn.functional as F

from benchmarks.peak.language_model import VOCABULARY, batch, setup

model, optimizer = setup()

calls = [0]


def counted(function):
    def wrapper(*args):
        calls[0] += 1
        return function(*args)

    return wrapper


@counted
def loss_of(tokens, labels):
    return F.cross_entropy(model(tokens).view(-1, VOCABULARY), labels.view(-1))


def step():
    tokens, labels = batch()
    optimizer.zero_grad()
    loss_of(tokens, labels).backward()
    optimizer.step()
