"""Predictions of a validation loop in a list that nobody reads."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(100, 400), nn.ReLU(), nn.Linear(400, 1000))
opt = torch.optim.SGD(net.parameters(), 0.01)


def validate():
    preds = []
    total = 0.0
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(256, 100)
            y = torch.randint(1000, (256,))
            p = net(x)
            total += F.cross_entropy(p, y).item()
            preds.append(p)
    return total


def step():
    x = torch.randn(32, 100)
    y = torch.randint(1000, (32,))
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
    validate()
